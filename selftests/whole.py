# SPDX-License-Identifier: GPL-2.0
"""A pytest plugin: the mark `long`, and the option --whole.

A test marked `long` is left out, unless it lies below a folder or file that --whole names. In
guests selftests/guest.py asks is_whole() about shares too, and leaves tests out itself.
"""

import os
from pathlib import Path

import pytest

from .report import WHY

TOP = Path(__file__).resolve().parents[1]
REASON = "takes long: make test-all"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole",
        action="append",
        default=[],
        help="a folder or file whose tests are all run, whatever the share, also those marked long",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "long: takes long or waits in real time; `make test-all` runs it, and `make test` where the"
        " change touches its folder",
    )


def is_whole(config: pytest.Config, item: pytest.Item) -> bool:
    """Does it lie below a path that --whole names?"""
    return any(item.path.is_relative_to(TOP / path) for path in config.getoption("--whole"))


def is_left_out(config: pytest.Config, item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None and not is_whole(config, item)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "SF_MODE" in os.environ:  # selftests/guest.py does it
        return
    left = [item for item in items if is_left_out(config, item)]
    for item in left:
        item.stash[WHY] = REASON
    items[:] = [item for item in items if item not in left]
    if left:
        config.hook.pytest_deselected(items=left)
