# SPDX-License-Identifier: GPL-2.0
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes")
