# SPDX-License-Identifier: GPL-2.0
"""Fixtures for a conftest.py to import; `kind` is its own."""

import os
from collections.abc import Callable, Iterator

import pytest
from lib.gate import Device, Gate


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.path.isdir("/sys/kernel/debug/sch_gate"):
        pytest.exit("sch_gate is not loaded: run this by selftests/run.sh, in a virtual machine", 1)


@pytest.fixture
def gate(kind: str) -> Iterator[Callable[..., Gate]]:
    """Make a device with gate and qdisc; it is taken down and checked after the test."""
    made: list[Gate] = []

    def make(*args: str | None, **kwargs: str) -> Gate:
        made.append(Gate(kind, *args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def device(kind: str) -> Iterator[Device]:
    made = Device(kind)
    yield made
    made.close()
