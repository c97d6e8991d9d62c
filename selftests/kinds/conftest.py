# SPDX-License-Identifier: GPL-2.0
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import las.lib  # noqa: E402
import lib.fixtures  # noqa: E402
import run2c.lib  # noqa: E402
import sift.lib  # noqa: E402
import sqf.lib  # noqa: E402
from lib.fixtures import *  # noqa: E402, F403

PAIRS = {
    "las": las.lib.Pair,
    "run2c": run2c.lib.LongPair,
    "sift": sift.lib.LongPair,
    "sqf": sqf.lib.Pair,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    On the debug kernel, where all takes long, do a third of each test's sets of parameters with
    each kind, other ones with the next kind.
    """
    lib.fixtures.pytest_collection_modifyitems(config, items)
    if not os.uname().release.endswith("-debug"):
        return
    groups: dict[tuple[Path, str, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            if kind := item.callspec.params.get("kind"):
                groups.setdefault((item.path, item.originalname, kind), []).append(item)
    left = set()
    for (_, _, kind), same in groups.items():
        left |= set(same) - set(same[list(PAIRS).index(kind) % min(3, len(same)) :: 3])
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(params=PAIRS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def pair_of(kind: str) -> Callable[..., Any]:
    """Make a gate and the kind's model beside it: every step is done by both and compared."""
    return PAIRS[kind]
