# SPDX-License-Identifier: GPL-2.0
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from sftop.tests.host.programs import HERE, LIVE, build
from vm.root import cache_dir, locked


@pytest.fixture(scope="session")
def sftop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It reads what $SFTOP_REPLAY has."""
    where = tmp_path_factory.mktemp("sftop")
    return build(where / "sftop", LIVE, HERE / "replay.c", HERE / "resolver.c")


@pytest.fixture(scope="session")
def promtool() -> Path:
    """That of Debian's package of Prometheus, which is unpacked only: installed, it is a server."""
    found = shutil.which("promtool")
    kept = cache_dir() / "promtool"
    if found or kept.exists():
        return Path(found or kept)
    with locked(kept.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=cache_dir()) as where:
        subprocess.run(["chown", "_apt", where], check=True)
        for command in (
            "apt-get -q update",
            "apt-get -q download prometheus",
            "sh -c 'dpkg-deb -x prometheus_*.deb .'",
        ):
            subprocess.run(command, shell=True, cwd=where, check=True, capture_output=True)
        (Path(where) / "usr/bin/promtool").rename(kept)
    return kept
