# SPDX-License-Identifier: GPL-2.0
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sqf.lib import SqfGate  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.path.isdir("/sys/kernel/debug/sch_gate"):
        pytest.exit("sch_gate is not loaded: run this by selftests/run.sh, in a virtual machine", 1)


@pytest.fixture
def gate() -> Iterator[Callable[..., SqfGate]]:
    """Make a device with gate and sqf; it is taken down and checked after the test."""
    made: list[SqfGate] = []

    def make(*args: str, **kwargs: str) -> SqfGate:
        made.append(SqfGate(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.close()
