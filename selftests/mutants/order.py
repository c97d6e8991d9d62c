# SPDX-License-Identifier: GPL-2.0
"""A plugin of pytest in the guest of a mutant: which tests are run, and in what order."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", help="a file with the tests, one a line; all if there is none")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if order := config.getoption("--order"):
        numbers = {name: i for i, name in enumerate(Path(order).read_text().splitlines())}
        items[:] = [item for item in items if item.nodeid in numbers]
        items.sort(key=lambda item: numbers[item.nodeid])
