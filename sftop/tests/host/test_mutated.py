# SPDX-License-Identifier: GPL-2.0
"""Messages of which some bytes are others, or the end is missing."""

import subprocess
from pathlib import Path

import pytest

from sftop.tests.host import messages as m
from sftop.tests.host.programs import HERE, MODEL, build


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fuzz") / "fuzz", MODEL, HERE / "fuzz.c")


@pytest.mark.parametrize("seed", range(4))
def test_mutated(fuzz: Path, tmp_path: Path, seed: int) -> None:
    flows = [m.flow(record, waited=record, qlen=1, backlog=1500) for record in range(20)]
    flows += [m.flow(20, src="2001:db8::1", dst="2001:db8::2", ethertype=0x86DD, silent=1)]
    flows += [m.host(number) for number in range(2, 6)]
    flows += [{"type": m.OVERFLOW, "bytes": 1, "packets": 1}]
    statistics = bytes(range(256))
    qdiscs = [
        m.Qdisc(2, kind, number, app=statistics, classes=flows)
        for number, kind in enumerate(("las", "sqf", "sift", "run2c"), 1)
    ]
    m.look(tmp_path, 1, qdiscs, {1: "lo", 2: "eth0"})
    files = [tmp_path / f"1.{part}" for part in ("link", "qdisc", "class")]
    done = subprocess.run([fuzz, "300", str(seed), *files], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    understood, told = map(int, done.stderr.split(" of "))
    assert 0.3 * told < understood < 0.95 * told
