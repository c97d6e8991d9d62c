# SPDX-License-Identifier: GPL-2.0
from pathlib import Path

import pytest

from sftop.tests.host.programs import HERE, LIVE, build


@pytest.fixture(scope="session")
def sftop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It reads what $SFTOP_REPLAY has."""
    where = tmp_path_factory.mktemp("sftop")
    return build(where / "sftop", LIVE, HERE / "replay.c", HERE / "resolver.c")
