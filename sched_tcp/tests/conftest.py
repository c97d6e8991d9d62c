# SPDX-License-Identifier: GPL-2.0
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """The markers of selftests/guest.py, which is not loaded on the host."""
    for mark in ("long: takes minutes", "one_kernel: one kernel is enough"):
        config.addinivalue_line("markers", mark)
