# SPDX-License-Identifier: GPL-2.0
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib.fixtures import *  # noqa: E402, F403


@pytest.fixture
def kind() -> str:
    return "srpt"
