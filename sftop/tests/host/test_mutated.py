# SPDX-License-Identifier: GPL-2.0
"""Messages of which some bytes are others, or the end is missing."""

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sftop.tests.host import messages as m
from sftop.tests.host.programs import HERE, MODEL, build


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fuzz") / "fuzz", MODEL, HERE / "fuzz.c")


@pytest.mark.parametrize("seed", range(1, 5))
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


def short_messages() -> Iterator[bytes]:
    """Each attribute is the last one, with less in it than it should have."""

    def last(kind: int, data: bytes) -> bytes:
        """Without what makes its length a multiple of four"""
        return struct.pack("=HH", 4 + len(data), kind) + data

    qdisc = m.Qdisc(2)
    shown = m.attribute(m.ATTRIBUTES["type"][0], struct.pack("=I", m.FLOW))
    for number, how in m.ATTRIBUTES.values():
        for size in range(struct.calcsize(how) if how else 16):
            options = shown + last(number, bytes(size))
            yield qdisc.tc(m.RTM_NEWTCLASS, 0x18000, 0x10000, last(m.TCA_OPTIONS, options))
    for number, full in ((m.BASIC, 12), (m.QUEUE, 20), (m.PKT64, 8), (m.APP, 300)):
        for size in range(full):
            stats = last(m.TCA_STATS2, last(number, bytes(size)))
            yield qdisc.tc(m.RTM_NEWQDISC, 0x10000, m.ROOT, stats)
            options = m.attribute(m.TCA_OPTIONS, shown)
            yield qdisc.tc(m.RTM_NEWTCLASS, 0x18000, 0x10000, options + stats)


def test_short(fuzz: Path, tmp_path: Path) -> None:
    for i, each in enumerate(short_messages()):
        length = struct.unpack_from("=I", each)[0]
        (tmp_path / f"{i}").write_bytes(each + bytes(-length % 4))
    files = [tmp_path / "link", *sorted(tmp_path.glob("[0-9]*"))]
    (tmp_path / "link").write_bytes(m.link(2, "eth0"))
    done = subprocess.run([fuzz, "1", "0", *files], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    # Those whose own statistics are short, and two addresses of IPv4
    assert done.stderr.startswith("302 of ")
