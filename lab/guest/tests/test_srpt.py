# SPDX-License-Identifier: GPL-2.0
"""The lab's qdisc that is told the sizes: which packet goes first, and which one is dropped."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6

from selftests.lib.command import refused
from selftests.lib.gate import Gate, flow, flow_of

TESTED = "srpt"
FILE = Path("/sys/kernel/debug/sch_srpt")
LIMIT = Path("/sys/module/sch_srpt/parameters/limit")
ISN = 0xFFFFF000  # numbers wrap in the first bytes
UNIT = 1000  # bytes of data


@dataclass(frozen=True)
class Stream:
    """The flow to a port of the receiver, IPv4 if that is even and else IPv6."""

    d0: Gate
    port: int
    sender: int

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.put(0, 0, 0, "SA")
        self.d0.release()

    def put(self, ident: int, at: int, length: int = UNIT, flags: str = "A") -> bool:
        """Bytes from a place in the stream on; what has none ends in its identity all the same."""
        tcp = TCP(
            sport=self.sender, dport=self.port, flags=flags, seq=(ISN + ("S" not in flags) + at)
        )
        tcp.seq %= 1 << 32
        net = IPv6(src="fd00::1", dst="fd00::2") if self.port % 2 else IP(dst="10.0.0.2")
        segment = flow_of("", net / tcp)
        if length:
            return self.d0.send(segment.frame(len(segment.headers) + length, ident))
        return self.d0.send(segment.headers[:-4] + struct.pack("!I", ident))  # checksum, urgent


@pytest.fixture
def stream(gate: Callable[..., Gate]) -> Callable[..., Stream]:
    """Make a flow of so many bytes, or one that nobody tells of."""
    made: list[Gate] = []

    def make(port: int, size: int | None = None, sender: int = 5000) -> Stream:
        if not made:
            made.append(gate())
        if size is not None:
            FILE.write_text(f"{sender} {port} {size}\n")
        return Stream(made[0], port, sender)

    return make


def test_least_left_goes_first_and_flows_stay_in_order(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 3 * UNIT)
    for i in range(4):
        a.put(i, i * UNIT)
    for i in range(3):
        b.put(10 + i, i * UNIT)
    assert a.d0.order() == [10, 11, 12, 0, 1, 2, 3]


def test_what_is_left_counts_and_not_the_size(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 3 * UNIT)
    for i in range(4):
        a.put(i, i * UNIT)
    assert a.d0.order(2) == [0, 1]
    for i in range(3):
        b.put(10 + i, i * UNIT)
    assert a.d0.order() == [2, 3, 10, 11, 12]


def test_a_newcomer_preempts(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, UNIT)
    for i in range(4):
        a.put(i, i * UNIT)
    assert a.d0.order(1) == [0]
    b.put(10, 0)
    assert a.d0.order() == [10, 1, 2, 3]


def test_of_equals_the_first_to_come_goes_first(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 2 * UNIT, sender=5001), stream(2000, 2 * UNIT)
    a.put(0, 0)
    b.put(10, 0)
    a.put(1, UNIT)
    b.put(11, UNIT)
    assert a.d0.order() == [0, 1, 10, 11]


def test_what_was_lost_is_still_to_be_sent(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 1500)
    for i in (0, 3):
        a.put(i, i * UNIT)
    a.d0.release()
    a.put(2, 2 * UNIT)  # 2000 left, 1000 from its place on
    b.put(10, 0)
    assert a.d0.order() == [10, 2]


def test_the_rank_of_what_is_sent_again_is_its_flows(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 1500)
    for i in (0, 2, 3):
        a.put(i, i * UNIT)
    a.d0.release()
    b.put(10, 0)
    a.put(1, UNIT)  # 1000 left, 3000 from its place on
    assert a.d0.order() == [1, 10]


def test_what_fills_a_gap_counts(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 5 * UNIT), stream(2001, 1500)
    for i in (0, 2, 3, 1):
        a.put(i, i * UNIT)
    a.d0.release()
    b.put(10, 0)
    a.put(4, 4 * UNIT)
    assert a.d0.order() == [4, 10]


def test_what_is_sent_twice_counts_once(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 2 * UNIT)
    for _ in range(3):
        a.put(0, 0)
    a.put(1, UNIT, UNIT // 2)
    a.put(2, 0, UNIT + UNIT // 2)
    a.d0.release()
    a.put(3, UNIT + UNIT // 2)  # 2500 left
    b.put(10, 0)
    assert a.d0.order() == [10, 3]


def test_what_has_no_data_goes_first(stream: Callable[..., Stream]) -> None:
    a, b, c = stream(2000, UNIT), stream(2001, 5 * UNIT), stream(2002)
    a.put(0, 0)
    b.put(10, 0)
    b.put(11, UNIT, 0)
    c.put(20, 0, 0, "SA")
    a.d0.send(flow(0).frame(100, 30))
    assert a.d0.order() == [11, 20, 30, 0, 10]


def test_the_end_does_not_pass_by_data(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 2 * UNIT), stream(2001, UNIT)
    a.put(0, 0)
    a.put(1, UNIT)
    a.put(2, 2 * UNIT, 0, "FA")
    b.put(10, 0)
    assert a.d0.order() == [10, 0, 1, 2]


def test_unknown_sizes_go_last(stream: Callable[..., Stream]) -> None:
    a, b = stream(3000), stream(2001, 1 << 40)
    a.put(0, 0)
    a.put(1, UNIT)
    b.put(10, 0)
    assert a.d0.order(1) == [10]
    b.put(11, UNIT)
    assert a.d0.order() == [11, 0, 1]


def test_a_connection_begins_anew(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 3 * UNIT), stream(2001, 2 * UNIT)
    for i in range(3):
        a.put(i, i * UNIT)
    a.d0.release()
    a.begin()
    a.put(3, 0)
    b.put(10, 0)
    assert a.d0.order() == [10, 3]


@pytest.fixture
def limit() -> Iterator[Callable[[int], object]]:
    """Of the qdisc that is made next"""
    before = LIMIT.read_text()
    yield lambda packets: LIMIT.write_text(str(packets))
    LIMIT.write_text(before)


def test_the_flow_with_most_left_loses_its_last(
    stream: Callable[..., Stream], limit: Callable[[int], object]
) -> None:
    limit(3)
    a, b = stream(2000, 4 * UNIT), stream(2001, 3 * UNIT)
    for i in range(3):
        assert a.put(i, i * UNIT)
    assert not a.put(3, 3 * UNIT)
    assert b.put(10, 0) and b.put(11, UNIT)
    assert a.d0.order(2) == [10, 11]
    assert b.put(12, 2 * UNIT) and a.put(1, UNIT)
    assert not a.put(2, 2 * UNIT)
    assert a.d0.order() == [12, 0, 1]


def test_reset(stream: Callable[..., Stream]) -> None:
    a, b = stream(2000, 4 * UNIT), stream(2001, 3 * UNIT)
    for i in range(3):
        a.put(i, i * UNIT)
        b.put(10 + i, i * UNIT)
    a.d0.bounce()
    assert a.d0.order() == []
    a.put(3, 3 * UNIT)
    assert a.d0.order() == [3]


def test_one_at_a_time(stream: Callable[..., Stream]) -> None:
    a = stream(2000, UNIT)
    for _ in range(2):
        assert "srpt: there is one already" in refused("tc qdisc add dev lo root srpt")
    a.put(0, 0)
    assert a.d0.order() == [0]


@pytest.mark.parametrize("text", ["1 2", "1 65536 1", "65536 1 1", "a b c", "1 2 " + 60 * "3"])
def test_refuses(text: str) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        FILE.write_text(text)
