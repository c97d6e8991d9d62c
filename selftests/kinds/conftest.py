# SPDX-License-Identifier: GPL-2.0
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import las.lib  # noqa: E402
import sift.lib  # noqa: E402
import sqf.lib  # noqa: E402
from lib.fixtures import *  # noqa: E402, F403

PAIRS = {"las": las.lib.Pair, "sift": sift.lib.LongPair, "sqf": sqf.lib.Pair}


@pytest.fixture(params=PAIRS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def pair_of(kind: str) -> Callable[..., Any]:
    """Make a gate and the kind's model beside it: every step is done by both and compared."""
    return PAIRS[kind]
