# SPDX-License-Identifier: GPL-2.0
"""Who writes what he likes into his headers does not go first for it: what is not the article's."""

import random
import time
from collections.abc import Callable

import pytest
from scapy.layers.inet import IP, TCP

from selftests.lib.gate import Flow, Gate, flow, flow_of, icmp
from selftests.lib.told import classes

from .model import NUMBERS
from .pair import LEARNED, RANKED, UNRANKED, V4, Segment, segment

FAR = 40000  # is more than the threshold
COUNT = "other count slow 0"


def bands(d0: Gate) -> tuple[int, int]:
    shown = d0.show()
    return shown["high_qlen"], shown["low_qlen"]


def high_bytes(d0: Gate, packets: int, make: Callable[[int], Flow], length: int = 1500) -> int:
    """How much of so many packets goes high, each sent before the next comes"""
    before = d0.show()["high_bytes"]
    for ident in range(packets):
        assert d0.send(make(ident).frame(length, ident))
        d0.release()
    return int(d0.show()["high_bytes"] - before)


LIES: dict[str, Callable[[int], Segment]] = {
    "the same number": lambda i: segment(1, 7),
    "one after another": lambda i: segment(1, 7 + i),
    "backwards": lambda i: segment(1, -1000 * i),
    "older and older": lambda i: segment(1, 0 if i == 0 else -500_000_000 - i),
    "two by turns": lambda i: segment(1, 7 + 1000 * (i % 2)),
    "a SYN each": lambda i: segment(1, 1000 * i, "S"),
    "a SYN each, the same": lambda i: segment(1, 7, "S"),
    "a SYN now and then": lambda i: segment(1, 1446 * i, "A" if i % 12 else "S"),
    "a RST each": lambda i: segment(1, 0, "R"),
    "a RST now and then": lambda i: segment(1, 1446 * i, "A" if i % 12 else "RA"),
    "SYN and RST": lambda i: segment(1, 1446 * i, "SR"),
    "no flag": lambda i: segment(1, 0, ""),
    "strays": lambda i: segment(
        1, 1446 * i if i % 12 else 3_000_000_000 + i, "A" if i % 6 else "S"
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_low_before_long(gate: Callable[..., Gate], lie: str) -> None:
    """After less than five thresholds, of 23"""
    d0 = gate("learn linger 60s resent 50")
    assert high_bytes(d0, 500, LIES[lie]) < 5 * 32768
    assert bands(d0) == (0, 0) and d0.show()["records"] == 1


def test_honest_repeats(gate: Callable[..., Gate]) -> None:
    """What is sent again is high as far as it was, and counts half: a tenth costs a twentieth."""
    d0 = gate("learn resent 50")
    seqs = [1446 * (i - i // 10) for i in range(30)]  # each tenth is that before once more
    put = [d0.send(segment(1, seq).frame(1500, ident)) for ident, seq in enumerate(seqs)]
    assert all(put)
    high = [ident for ident in d0.order() if seqs[ident] + 723 * (ident // 10) < 32768]
    assert d0.show()["high_packets"] == len(high) == 24


def test_acknowledgments_stay_high(gate: Callable[..., Gate]) -> None:
    """What has no data is not sent again: a receiver's number stays the same."""
    d0 = gate("learn resent 50 other count")
    assert high_bytes(d0, 3000, lambda i: segment(1, 7), 60) == 3000 * 60


def test_rank_is_no_less_than_a_part(gate: Callable[..., Gate]) -> None:
    d0 = gate("learn order resent 50")
    for ident, seq in enumerate([0, 90000, 44000, 46000, 1000]):
        d0.send(segment(1, seq).frame(60, ident))
    assert d0.order() == [0, 2, 4, 3, 1]  # 44000 and 1000 are as 45000


@pytest.mark.parametrize("flags", ["R", "S"])
def test_lingers(gate: Callable[..., Gate], flags: str) -> None:
    """A flag begins a connection anew when nothing has come for a second, and not before."""
    d0 = gate("learn linger 1s")
    for _ in range(10):  # unless the machine pauses
        d0.renew("learn linger 1s")
        d0.send(segment(1, 0).frame(100, 0))
        began = time.monotonic()
        d0.send(segment(1, FAR).frame(100, 1))
        d0.send(segment(1, FAR, flags).frame(100, 2))
        d0.order()
        d0.send(segment(1, 2 * FAR).frame(100, 3))
        d0.send(segment(1, 2 * FAR, flags).frame(100, 4))
        if time.monotonic() - began < 0.8:
            break
    assert bands(d0) == (0, 2)
    d0.order()
    time.sleep(1.5)
    d0.send(segment(1, 5 * FAR, "A").frame(100, 5))
    assert bands(d0) == (1, 0)


def test_syn_after_silence(gate: Callable[..., Gate]) -> None:
    d0 = gate("learn linger 200ms")
    d0.send(segment(1, 0).frame(100, 0))
    d0.send(segment(1, FAR).frame(100, 1))
    time.sleep(0.5)
    d0.send(segment(1, 2 * FAR, "S").frame(100, 2))  # not while it has packets
    assert bands(d0) == (1, 2)
    d0.order()
    time.sleep(0.5)
    d0.send(segment(1, 77, "S").frame(100, 3))
    d0.send(segment(1, 78).frame(100, 4))
    assert bands(d0) == (2, 0)


OTHERS: dict[str, Callable[[int], Flow]] = {
    "UDP": lambda i: flow(0),
    "UDP over IPv6": lambda i: flow(1),
    "ICMP": lambda i: icmp(0),
    "fragments": lambda i: segment(i, 0, "A", ("4, first fragment", "4, later fragment")[i % 2]),
    "fragments of IPv6": lambda i: segment(
        i, 0, shape=("6, first fragment", "6, later fragment")[i % 2]
    ),
    "in a tunnel": lambda i: segment(1, 0, "S", "tunnel, GRE"),
    "encrypted": lambda i: segment(1, i, "A", "ESP"),
    "authenticated": lambda i: segment(i, 0, "A", "6, authenticated"),
}


@pytest.mark.parametrize("learn", ["learn", "no_learn"])
@pytest.mark.parametrize("other", OTHERS)
def test_counted(gate: Callable[..., Gate], other: str, learn: str) -> None:
    """The first 32 kB of a flow without numbers are high."""
    d0 = gate(f"{learn} {COUNT}")
    assert high_bytes(d0, 100, OTHERS[other], 1000) == 33000
    shown = d0.show()
    assert (shown["records"], shown["flows_learned"], shown["other"]) == (1, 1, 100)


def test_bucket_leaks(gate: Callable[..., Gate]) -> None:
    d0 = gate("other count slow 80kbit threshold 1024b")
    for ident in range(10):
        d0.send(flow(0).frame(1000, ident))
    assert bands(d0) == (2, 8)
    time.sleep(0.6)
    d0.send(flow(0).frame(100, 10))
    assert bands(d0) == (2, 9)  # its packets are here
    assert d0.order() == list(range(11))
    time.sleep(0.6)
    d0.send(flow(0).frame(100, 11))
    assert bands(d0) == (1, 0)


def test_call_stays_high(gate: Callable[..., Gate]) -> None:
    """64 kbit/s at most, in packets of 20 ms: more in all than the threshold here"""
    d0 = gate("other count threshold 4096b slow 256kbit")
    for ident in range(150):
        time.sleep(0.02)  # also after a pause: no burst makes up for it
        d0.send(flow(0).frame(214, ident))
        d0.release()
    assert d0.show()["high_packets"] == 150


def test_counted_in_order(gate: Callable[..., Gate]) -> None:
    """With `order` the rank is what the flow has sent before, and it is not reordered."""
    d0 = gate(f"order learn {COUNT}")
    for ident in range(4):
        d0.send(flow(0).frame(1000, ident))
    for ident, seq in enumerate([0, 1500, 2500, 3500], 4):
        d0.send(segment(1, seq).frame(100, ident))
    assert d0.order() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_fragments_stay_together(gate: Callable[..., Gate]) -> None:
    """In the order in which they came, whichever of them has the header"""
    d0 = gate(f"learn {COUNT} queues 256 threshold 1024b")
    shapes = ["4, first fragment", "4, later fragment", "4, last fragment"]
    for ident in range(30):
        d0.send(segment(ident % 7, FAR * ident, "A", shapes[ident % 3]).frame(500, ident))
    assert bands(d0) == (3, 27)
    assert d0.order() == list(range(30))


def test_no_room_for_a_count(gate: Callable[..., Gate]) -> None:
    """Who finds no record is high; all that has one waits here."""
    d0 = gate(f"{COUNT} flows 8 threshold 1024b")
    for number in range(8):
        for _ in range(3):
            d0.send(flow(4 * number).frame(1000, number))
    assert bands(d0) == (16, 8)
    d0.send(flow(400).frame(1000, 9))
    assert (bands(d0), d0.show()["overflow"]) == ((17, 8), 1)


def test_one_kind_of_record(gate: Callable[..., Gate]) -> None:
    """What has a connection's ports in a tunnel as well goes last there."""
    d0 = gate(f"learn {COUNT}")
    d0.send(segment(1, 0).frame(100, 0))
    same = flow_of("the same", IP(**V4) / IP(**V4) / TCP(sport=1025, dport=80))
    d0.send(same.frame(100, 1))
    assert (bands(d0), d0.show()["records"]) == ((1, 1), 1)
    d0.send(segment(1, 100).frame(100, 2))
    assert (bands(d0), d0.show()["other"]) == ((2, 1), 1)


def test_resent_in_bundles(gate: Callable[..., Gate]) -> None:
    """Split or whole, the data that comes again counts."""
    d0 = gate()
    for options in ("split_gso", "no_split_gso"):
        d0.renew(f"learn resent 50 {options}")
        for _ in range(20):
            d0.send_bundle(segment(1, NUMBERS - 5000), [*range(10)], 1000, 1000)
            d0.release()
        assert d0.show()["high_bytes"] < 4 * 32768
        d0.send(segment(1, NUMBERS - 5000).frame(100, 1))
        assert classes().popitem()[1]["rank"] > 100000
        d0.release()


def test_queue_of_a_class(gate: Callable[..., Gate]) -> None:
    """What a filter sends to a band takes its turn there, read or not."""
    rng = random.Random(1)
    d0 = gate()
    for options in ("no_learn", "learn", "no_learn other count"):
        d0.renew(f"{options} queues 4096")
        for ident in range(20):
            d0.send(segment(1, rng.randrange(NUMBERS)).frame(1500, ident), 0x100001)
        for number in range(2, 8):
            d0.send(segment(number, 0).frame(1500, 20 + number), 0x100001)
        order = d0.order()
        assert sum(ident >= 20 for ident in order[:8]) >= 4
        assert [ident for ident in order if ident < 20] == list(range(20))


def test_shapes_are_what_they_were(gate: Callable[..., Gate]) -> None:
    """Of all the shapes those with numbers of their own are learned, and all others are counted."""
    d0 = gate(f"learn {COUNT}")
    shapes = {**LEARNED, **RANKED, **UNRANKED}
    for ident, shape in enumerate(shapes):
        d0.send(segment(1, FAR, shape=shape).frame(200, ident))
    shown = d0.show()
    assert (shown["tcp"], shown["other"]) == (len(LEARNED), len(RANKED) + len(UNRANKED))
