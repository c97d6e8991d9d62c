# SPDX-License-Identifier: GPL-2.0
from pathlib import Path

import pytest

from sched_tcp.tests.programs import build


@pytest.fixture(scope="session")
def config_say(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("config") / "config_say"
    wrap = "malloc calloc reallocarray strdup"
    return build(to, "config.c log.c tests/host/config_say.c", wrap=wrap)


@pytest.fixture(scope="session")
def log_say(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("log") / "log_say"
    return build(to, "log.c tests/host/log_say.c", wrap="clock_gettime")


@pytest.fixture(scope="session")
def control_say(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("control") / "control_say"
    wrap = "bufferevent_set_timeouts setsockopt"
    return build(to, "control.c log.c tests/host/control_say.c", wrap=wrap)
