# SPDX-License-Identifier: GPL-2.0
"""What rank a packet has, what follows from it, and who is remembered."""

import random
import struct
import time
from collections.abc import Callable, Iterable

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Flow, Gate, arp, flow, icmp
from selftests.lib.told import classes

from .model import HIGH, LOW, NUMBERS, WINDOW
from .pair import CLASSES, LEARNED, RANKED, STRANGE, UNRANKED, segment

FAR = 40000  # is more than the threshold
DATA = 46  # bytes of what put() sends of TCP over IPv4


def bands(d0: Gate) -> tuple[int, int]:
    """Packets in the two"""
    shown = d0.show()
    return shown["high_qlen"], shown["low_qlen"]


def put(d0: Gate, *flows: Flow, begin: int = 0, length: int = 100) -> None:
    """They are accepted, and numbered. Of 60 bytes they have no data."""
    for ident, each in enumerate(flows, begin):
        assert d0.send(each.frame(max(length, each.shortest), ident))


def numbers(rng: random.Random, threshold: int, span: int, count: int) -> list[int]:
    """Of the whole space, at random and around each edge there is"""
    found = [0, NUMBERS - 1, NUMBERS // 2 - 1, NUMBERS // 2]
    for base in {0, NUMBERS - span, *(rng.randrange(NUMBERS // span) * span for _ in range(8))}:
        for edge in (0, threshold, span):
            found += [(base + edge + by) % NUMBERS for by in (-1, 0, 1)]
    found += [rng.randrange(NUMBERS) for _ in range(count)]
    found += [(seq & -span) + rng.randrange(2 * threshold) for seq in found[-count:]]
    return [seq % NUMBERS for seq in found]


SPACES = [
    (16 << 10, 4 << 20),
    (1 << 10, 4 << 10),
    (1 << 10, 1 << 31),
    (1 << 17, 1 << 18),
    (1 << 30, 1 << 31),
]


@pytest.mark.parametrize(("threshold", "span"), SPACES)
def test_number_tells(gate: Callable[..., Gate], threshold: int, span: int) -> None:
    d0 = gate(f"threshold {threshold}b span {span}b")
    rng = random.Random(threshold)
    seqs = numbers(rng, threshold, span, 150)
    put(d0, *(segment(i, seq, shape=rng.choice("46")) for i, seq in enumerate(seqs)))
    high = [i for i, seq in enumerate(seqs) if seq & (span - 1) < threshold]
    low = [i for i, seq in enumerate(seqs) if seq & (span - 1) >= threshold]
    assert bands(d0) == (len(high), len(low)) and min(bands(d0)) > 50
    assert d0.order() == high + low


@pytest.mark.parametrize(("threshold", "span"), SPACES)
def test_order_by_number(gate: Callable[..., Gate], threshold: int, span: int) -> None:
    """Ascending modulo span, and equal ranks as they came"""
    d0 = gate(f"order threshold {threshold}b span {span}b")
    rng = random.Random(span)
    seqs = numbers(rng, threshold, span, 100)
    seqs += rng.choices(seqs, k=100)
    put(d0, *(segment(i, seq) for i, seq in enumerate(seqs)))
    assert d0.order() == sorted(range(len(seqs)), key=lambda i: seqs[i] & (span - 1))


@pytest.mark.parametrize("first", [0, 1, 1 << 22, NUMBERS - 1, NUMBERS - 9000])
def test_threshold_from_the_first(gate: Callable[..., Gate], first: int) -> None:
    """Wherever a connection begins, and where its numbers wrap around"""
    d0 = gate("learn")
    ranks = [0, 1, 5000, 32766, 32767, 32768, 32769, 60000, 1 << 20, 1 << 30]
    put(d0, *(segment(1, first + rank) for rank in ranks))
    assert bands(d0) == (5, 5)
    assert classes().popitem()[1] == {"backlog": 500, "qlen": 5, "rank": (1 << 30) + DATA}
    put(d0, segment(1, first + 32767), segment(1, first + 32768), begin=10)
    assert d0.order() == [0, 1, 2, 3, 4, 10, 5, 6, 7, 8, 9, 11]


def test_more_than_four_gigabytes(gate: Callable[..., Gate]) -> None:
    """In `order` a rank goes on where 32 bits end, again and again."""
    d0 = gate("learn order")
    first, step = NUMBERS - 1000, (1 << 30) - 60
    ranks = [step * i for i in range(24)]
    put(d0, *(segment(1, first + rank) for rank in ranks))
    assert classes().popitem()[1]["rank"] == 23 * step + DATA > 5 * NUMBERS
    # What is sent again finds its place, as far back as can be told
    top = first + 23 * step
    put(d0, segment(1, top - 1), segment(1, top + DATA - (1 << 30)), begin=30)
    assert d0.order() == [*range(22), 31, 22, 30, 23]


def test_sent_again_keeps_its_rank(gate: Callable[..., Gate]) -> None:
    d0 = gate("learn order")
    put(d0, *(segment(1, 7000 + 1000 * i) for i in range(6)))
    put(d0, segment(1, 9000), segment(1, 7000), segment(1, 11000), begin=6)
    put(d0, segment(1, 13000), begin=9)
    assert d0.order() == [0, 7, 1, 2, 6, 3, 4, 8, 5, 9]
    assert d0.show()["flows_learned"] == 1


def test_older_than_the_first(gate: Callable[..., Gate]) -> None:
    """What was on its way before the first that was seen has the lowest rank."""
    d0 = gate("learn order")
    put(d0, segment(1, 500), segment(1, 1500), segment(1, 400), segment(1, 1546 - (1 << 30)))
    put(d0, segment(1, 1400), begin=4)
    assert d0.order() == [0, 2, 3, 4, 1]


@pytest.mark.parametrize(
    "leap",
    [1_000_000_000, 3001 + DATA + WINDOW, 1 << 31, 3_000_000_000, NUMBERS + 2999 - WINDOW],
)
def test_leap_does_no_harm(gate: Callable[..., Gate], leap: int) -> None:
    """After a number that is far out, the others mean what they did."""
    d0 = gate("learn order")
    put(d0, segment(1, 0), segment(1, 3000), segment(1, leap), segment(1, 2000))
    put(d0, segment(1, 4000), begin=4)
    assert d0.order() == [0, 3, 1, 4, 2]


def test_passed_by_unseen(gate: Callable[..., Gate]) -> None:
    """Further off than a window is not what was sent before, however far."""
    d0 = gate("learn")
    put(d0, segment(1, 0), segment(1, 3_000_000_000), segment(1, 3_000_001_000))
    assert bands(d0) == (1, 2)
    assert d0.order() == [0, 1, 2]


@pytest.mark.parametrize("mode", ["", "learn"])
def test_highest_rank_is_pushed_out(gate: Callable[..., Gate], mode: str) -> None:
    d0 = gate(f"order limit 3 {mode}")
    put(d0, segment(1, 0))
    put(d0, *(segment(1, rank) for rank in (3000, 2000, 1000)), begin=1)  # 3000 goes
    assert not d0.send(segment(1, 2000).frame(100, 4))  # the last of its rank
    assert not d0.send(segment(1, 9000).frame(100, 5))
    put(d0, segment(1, 1000), begin=6)
    assert (d0.show()["drops"], d0.show()["drop_limit"], d0.show()["low_drops"]) == (4, 4, 4)
    assert d0.order() == [0, 3, 6]


def test_low_band_is_pushed_out(gate: Callable[..., Gate]) -> None:
    """Its last one, and if there is none the newcomer"""
    d0 = gate("limit 3")
    put(d0, segment(1, FAR), segment(1, FAR), segment(2, 0))
    assert not d0.send(segment(1, FAR).frame(100, 3))
    put(d0, segment(2, 0), segment(2, 0), begin=4)
    assert not d0.send(segment(2, 0).frame(100, 6))
    assert (d0.show()["low_drops"], d0.show()["high_drops"]) == (3, 1)
    assert d0.order() == [2, 4, 5]


@pytest.mark.parametrize("mode", ["", "learn"])
@pytest.mark.parametrize("order", ["", "order"])
def test_other(gate: Callable[..., Gate], mode: str, order: str) -> None:
    """What is not TCP counts as the lowest rank or as the highest."""
    d0 = gate(f"{order} {mode} other high")
    put(d0, segment(1, 0), segment(1, 100), segment(1, FAR), flow(0), icmp(1), arp(1))
    assert (d0.show()["tcp"], d0.show()["other"]) == (3, 3)
    assert d0.order() == ([0, 3, 4, 5, 1, 2] if order else [0, 1, 3, 4, 5, 2])
    d0.change("other low")
    put(d0, flow(1), icmp(0), segment(1, 0), segment(1, FAR), segment(1, 100))
    assert d0.order() == ([2, 4, 3, 0, 1] if order else [2, 4, 0, 1, 3])


@pytest.mark.parametrize("shape", [*LEARNED, *RANKED])
def test_has_a_rank(gate: Callable[..., Gate], shape: str) -> None:
    """With `learn` it is by the first number only where it is plain whose it is."""
    d0 = gate("other low")
    put(d0, segment(1, 100, shape=shape), segment(1, FAR, shape=shape))
    assert bands(d0) == (1, 1)
    assert (d0.show()["tcp"], d0.show()["other"]) == (2, 0)
    d0.release()
    d0.change("learn")
    put(d0, segment(1, FAR, shape=shape), segment(1, 2 * FAR, shape=shape))
    assert bands(d0) == ((1, 1) if shape in LEARNED else (0, 2))
    assert d0.show()["records"] == (1 if shape in LEARNED else 0)


@pytest.mark.parametrize("shape", [*UNRANKED, *STRANGE])
@pytest.mark.parametrize("mode", ["", "learn"])
def test_has_no_rank(gate: Callable[..., Gate], shape: str, mode: str) -> None:
    d0 = gate(f"{mode} other low")
    put(d0, segment(1, 100, shape=shape), segment(1, 1 << 22, "FA", shape=shape))
    assert bands(d0) == (0, 2)
    d0.change("other high")
    put(d0, segment(1, FAR, shape=shape), segment(2, FAR, "S", shape=shape), begin=2)
    shown = d0.show()
    assert bands(d0) == (2, 2)
    assert (shown["tcp"], shown["other"]) == (0, 4)
    assert (shown["records"], shown["flows_learned"], shown["overflow"]) == (0, 0, 0)


def test_fragments_are_nobodys(gate: Callable[..., Gate]) -> None:
    """All first fragments of two hosts look alike but for their numbers."""
    d0 = gate("learn")
    pieces = [segment(i, seq, shape="4, first fragment") for i, seq in enumerate([FAR, 5, FAR])]
    put(d0, *pieces)
    assert d0.order() == [1, 0, 2]
    assert d0.show()["records"] == 0


def test_tags_do_not_matter(gate: Callable[..., Gate]) -> None:
    """A connection is the same whatever is around its headers."""
    d0 = gate("learn")
    four = [shape for shape in LEARNED if shape[0] == "4"]
    put(d0, *(segment(1, 1000 + FAR * i, shape=shape) for i, shape in enumerate(four)))
    assert bands(d0) == (1, len(four) - 1)
    put(d0, segment(1, 1000 + FAR, shape="6"))
    assert (bands(d0)[0], d0.show()["records"]) == (2, 2)


@pytest.mark.parametrize("shape", [*LEARNED, *RANKED])
def test_header_in_pages(gate: Callable[..., Gate], shape: str) -> None:
    """Nothing but the Ethernet header is where it is read at once."""
    d0 = gate("other low")
    nothing_to_do = struct.pack("=BBHHHH", 0, 0, 14, 0, 0, 0)
    with d0.bundle_socket() as sock:
        for ident, seq in enumerate((100, FAR)):
            sock.send(nothing_to_do + segment(1, seq, shape=shape).frame(8000, ident))
    assert bands(d0) == (1, 1)
    assert (d0.show()["tcp"], d0.show()["other"]) == (2, 0)
    assert d0.order() == [0, 1]


def far(d0: Gate, number: int = 1) -> None:
    """A connection that is beyond the threshold, but has no packets"""
    put(d0, segment(number, 0), segment(number, FAR))
    assert d0.order() == [0, 1]


def test_last_ack(gate: Callable[..., Gate]) -> None:
    """After a FIN its sender acknowledges the other one's, and may repeat what was lost."""
    d0 = gate("learn")
    far(d0)
    put(d0, segment(1, 2 * FAR, "FA"))
    d0.order()
    put(d0, segment(1, 2 * FAR + 1), segment(1, FAR))
    shown = d0.show()
    assert (bands(d0), shown["records"], shown["flows_learned"]) == ((0, 2), 1, 1)


@pytest.mark.parametrize("flags", ["R", "RA"])
def test_end(gate: Callable[..., Gate], flags: str) -> None:
    """The record goes, at once or with the last packet in the low band."""
    d0 = gate("learn")
    far(d0)
    put(d0, segment(1, 2 * FAR, flags))
    assert (bands(d0), d0.show()["records"]) == ((0, 1), 1)
    d0.order()
    assert d0.show()["records"] == 0
    put(d0, segment(1, 2 * FAR))
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 1)
    put(d0, segment(1, 2 * FAR, flags))
    assert (bands(d0), d0.show()["records"]) == ((2, 0), 0)


@pytest.mark.parametrize("flags", ["RA", "A"])
@pytest.mark.parametrize("order", ["", "order"])
def test_after_the_end(gate: Callable[..., Gate], order: str, flags: str) -> None:
    """What comes after a RST does not pass by what is here of its connection."""
    d0 = gate(f"learn {order}")
    put(d0, segment(1, 0), segment(1, FAR), segment(1, 2 * FAR, "RA"))
    put(d0, segment(1, 2 * FAR + (flags == "A"), flags), begin=3)
    assert d0.order() == [0, 1, 2, 3]
    assert d0.show()["records"] == 0


def test_end_that_was_dropped(gate: Callable[..., Gate]) -> None:
    """Nobody behind this hears of it, so that the connection may go on."""
    d0 = gate("learn limit 2")
    far(d0)
    put(d0, segment(2, 0), segment(2, 0))
    assert not d0.send(segment(1, FAR, "RA").frame(100, 2))
    assert d0.show()["records"] == 2


def test_port_used_again(gate: Callable[..., Gate]) -> None:
    """A new connection is ranked by its own numbers, and keeps no one waiting."""
    d0 = gate("learn")
    far(d0)
    put(d0, segment(1, FAR), segment(1, 77, "S"), segment(1, 78), segment(1, 77 + FAR))
    assert classes().popitem()[1] == {"backlog": 200, "qlen": 2, "rank": FAR + DATA}
    assert d0.order() == [1, 2, 0, 3]
    assert d0.show()["records"] == 1
    put(d0, segment(1, FAR + 9, "S"), length=60)
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 0)


def test_flood_leaves_no_record(gate: Callable[..., Gate]) -> None:
    """What has only begun is high, a RST where its number tells, and neither drives anyone out."""
    d0 = gate("learn flows 8")
    far(d0)
    for number in range(40):
        flags = ("S", "SA", "R", "RA")[number % 4]
        put(d0, segment(2 + number, FAR * number, flags), length=60)
    shown = d0.show()
    assert (bands(d0), shown["records"], shown["evictions"]) == ((20, 20), 1, 0)
    put(d0, segment(1, 2 * FAR))
    assert bands(d0) == (20, 21)


def test_idle(gate: Callable[..., Gate]) -> None:
    """A silent connection is forgotten, but not while it has packets in the low band."""
    d0 = gate("learn idle 2s")
    for _ in range(10):  # unless the machine pauses
        d0.renew("learn idle 2s")
        far(d0)
        time.sleep(2.5)
        began = time.monotonic()
        put(d0, segment(1, FAR), segment(1, 2 * FAR))
        if time.monotonic() - began < 1.6:
            break
    assert bands(d0) == (1, 1)
    time.sleep(2.5)
    put(d0, segment(1, 3 * FAR), segment(1, 4 * FAR), begin=2)
    assert (bands(d0), d0.show()["records"]) == ((1, 3), 1)
    assert d0.order() == [0, 1, 2, 3]
    put(d0, segment(1, 5 * FAR))
    assert bands(d0) == (1, 0)


def test_not_idle(gate: Callable[..., Gate]) -> None:
    """What counts is how long ago the last segment came."""
    d0 = gate("learn idle 5s")
    for number in range(10):  # unless the machine pauses: then this connection is forgotten
        far(d0, number)
        began, longest = time.monotonic(), 0.0
        seen = []
        for _ in range(4):
            time.sleep(1.5)
            put(d0, segment(number, FAR))
            seen.append(bands(d0))
            d0.order()
            now = time.monotonic()
            began, longest = now, max(longest, now - began)
        if longest < 4:
            break
    assert seen == [(0, 1)] * 4


def test_strays_are_no_sign_of_life(gate: Callable[..., Gate]) -> None:
    """A connection that goes on where nobody believes it begins anew after `idle`."""
    d0 = gate("learn idle 1s")
    for _ in range(10):  # unless the machine pauses
        d0.renew("learn idle 1s")
        began = time.monotonic()
        far(d0)
        put(d0, segment(1, FAR + 2 * WINDOW))
        if time.monotonic() - began < 0.8:
            break
    assert bands(d0) == (0, 1)
    for _ in range(6):
        d0.order()
        time.sleep(0.4)
        put(d0, segment(1, FAR + 2 * WINDOW))
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 1)


def test_full_table(gate: Callable[..., Gate]) -> None:
    """Of 8 records: those with packets stay, of the others the oldest goes."""
    d0 = gate("learn flows 8")
    for number in range(8):
        put(d0, segment(number, 0), segment(number, FAR))
        if number < 5:
            d0.order()
            time.sleep(0.02)
    put(d0, segment(1, FAR + 1))
    d0.release(3)  # the high ones
    put(d0, segment(20, FAR))
    shown = d0.show()
    assert (shown["records"], shown["records_peak"]) == (8, 8)
    assert (shown["evictions"], shown["overflow"]) == (1, 0)
    before = bands(d0)
    put(d0, segment(2, FAR), segment(1, FAR))  # these are known
    assert bands(d0) == (before[0], before[1] + 2)
    put(d0, segment(0, FAR))  # this is not
    assert bands(d0) == (before[0] + 1, before[1] + 2)


def test_table_full_of_packets(gate: Callable[..., Gate]) -> None:
    """Who finds no room has the rank that the number tells."""
    d0 = gate("learn flows 8")
    for number in range(8):
        put(d0, segment(number, 5), segment(number, FAR))
    assert bands(d0) == (8, 8)
    put(d0, segment(20, FAR), segment(21, 1 << 22), segment(20, FAR, "RA"), begin=2, length=60)
    shown = d0.show()
    assert (bands(d0), shown["overflow"]) == ((9, 10), 2)
    assert (shown["records"], shown["evictions"], shown["flows_queued"]) == (8, 0, 8)
    assert [ident for ident in d0.order() if ident > 1] == [3, 2, 4]
    put(d0, segment(20, FAR))
    assert (bands(d0), d0.show()["evictions"]) == ((1, 0), 1)


def in_order(frames: Iterable[int], flows: int) -> bool:
    """For each flow; its packets have its number modulo this."""
    out = list(frames)
    mine = [[ident for ident in out if ident % flows == number] for number in range(flows)]
    return all(each == sorted(each) for each in mine)


@pytest.mark.parametrize("shape", ["4", "6"])
@pytest.mark.parametrize("mode", ["learn", "learn order", ""])
def test_no_reordering(gate: Callable[..., Gate], mode: str, shape: str) -> None:
    """
    Of what is sent once, though connections begin where they like, are silent, end and begin
    anew; without `learn` as far as the next multiple of span.
    """
    rng = random.Random(mode)
    d0 = gate(f"limit 100000 {mode} threshold 8192b flows 4096 idle 50ms")
    flows, out, ident = 40, [], 0
    seqs = [rng.randrange(NUMBERS) for _ in range(flows)]
    if not mode:
        seqs = [seq & ~((4 << 20) - 1) for seq in seqs]
    for _ in range(1500):
        number = rng.randrange(1 + rng.randrange(flows))
        for _ in range(rng.randint(1, 4)):
            flags = "FA" if rng.random() < 0.05 else "A"
            ident += flows
            each = segment(number, seqs[number], flags, shape)
            assert d0.send(each.frame(100, ident + number))
            if seqs[number] % (4 << 20) < 4_000_000 or mode:
                seqs[number] += rng.choice([0, 1448, 1448, 1448])
        if rng.random() < 0.3:
            out += d0.order(rng.randint(1, 8))
        if rng.random() < 0.01:
            time.sleep(0.06)
    out += d0.order()
    assert len(out) == ident // flows and in_order(out, flows)


def test_begins_anew_at_span(gate: Callable[..., Gate]) -> None:
    """Without `learn` nothing else is known."""
    d0 = gate("threshold 16384b span 65536b")
    put(d0, *(segment(1, 0x70000 + 1000 * i) for i in range(70)))
    assert bands(d0) == (17 + 4, 66 - 17)
    assert d0.order() == [*range(17), *range(66, 70), *range(17, 66)]


def test_guarantee_is_not_for_order(gate: Callable[..., Gate]) -> None:
    """There it does nothing; it has a default, so that it is not refused."""
    d0 = gate("order guarantee 50")
    put(d0, *(segment(1, rank) for rank in (FAR, 2 * FAR, 0, 5)))
    assert d0.order() == [2, 3, 0, 1]


def test_filter(gate: Callable[..., Gate]) -> None:
    """Filters and skb->priority know better than any number, and leave no record."""
    d0 = gate("learn")
    run("tc filter add dev d0 parent 10: protocol ip u32 match ip sport 1025 0xffff classid 10:1")
    run("tc filter add dev d0 parent 10: protocol ip u32 match ip sport 1026 0xffff classid 10:2")
    put(d0, segment(2, 0), segment(1, 0), segment(1, FAR), segment(3, 0))
    d0.send(segment(3, 0).frame(100, 4), CLASSES[LOW])
    d0.send(segment(3, FAR).frame(100, 5), CLASSES[HIGH])
    shown = d0.show()
    assert bands(d0) == (4, 2)
    assert (shown["tcp"], shown["other"], shown["records"]) == (1, 0, 1)
    assert d0.order() == [1, 2, 3, 5, 0, 4]
    d0.change("order")
    put(d0, segment(2, 0), segment(3, FAR), segment(1, FAR), segment(3, 0))
    assert d0.order() == [2, 3, 1, 0]


def test_segments_of_a_bundle(gate: Callable[..., Gate]) -> None:
    """Each has the rank of its own first byte."""
    d0 = gate("learn threshold 16384b split_gso")
    d0.send_bundle(segment(1, NUMBERS - 5000), [*range(20)], 1000, 1000)
    assert bands(d0) == (17, 3)
    d0.send_bundle(segment(1, 10000), [*range(20, 30)], 1000, 500)
    assert d0.order() == [*range(17), 20, 21, *range(17, 20), *range(22, 30)]
    assert (d0.show()["tcp"], d0.show()["flows_learned"]) == (30, 1)
    d0.change("no_learn")
    d0.send_bundle(segment(1, (1 << 22) - 3000), [*range(20)], 1000, 1000)
    assert d0.order() == [*range(3, 20), 0, 1, 2]


def test_whole_bundle(gate: Callable[..., Gate]) -> None:
    """It has the rank of its first byte, whatever else is in it."""
    d0 = gate("learn no_split_gso")
    for ident, seq in enumerate((0, 30000, 40000)):
        d0.send_bundle(segment(1, seq), [ident] * 10, 1000, 1000)
    assert bands(d0) == (2, 1)
    assert d0.show()["tcp"] == 3
    assert d0.order() == [0, 1, 2]


def test_record_lost_between_segments(gate: Callable[..., Gate]) -> None:
    """
    The connection that ends loses its last packet to a segment of its own: the next ones have
    the rank that the number tells.
    """
    d0 = gate("learn buffer 1s split_gso")
    base = 1 << 21
    put(d0, segment(1, base), *(segment(20 + i, 0) for i in range(5)))
    d0.release()
    for ident in range(100):
        d0.send(segment(20 + ident % 5, FAR).frame(1500, ident))
    put(d0, segment(1, base + FAR, "RA"), begin=100)
    time.sleep(0.2)
    assert d0.order(1) == [0]
    assert d0.show()["room"] == 16384 and d0.show()["records"] == 6
    assert d0.send_bundle(segment(1, base), [200, 201, 202, 203], 1000, 1000)
    shown = d0.show()
    assert (shown["drop_buffer"], shown["records"], shown["records_peak"]) == (8, 5, 6)
    assert d0.order() == [200, *range(1, 96)]
    assert d0.show()["flows_queued"] == 0


def test_reset_forgets(gate: Callable[..., Gate]) -> None:
    d0 = gate("learn")
    for number in range(20):
        put(d0, segment(number, 0), segment(number, FAR))
    d0.bounce()
    shown = d0.show()
    assert (shown["records"], shown["flows_queued"]) == (0, 0)
    assert (shown["high_qlen"], shown["low_qlen"]) == (0, 0)
    put(d0, segment(3, FAR))
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 1)


@pytest.mark.parametrize("options", ["", "order"])
def test_learn_later(gate: Callable[..., Gate], options: str) -> None:
    """Without `learn` there are no records; what was learned is kept, and what waits, too."""
    d0 = gate(f"{options} flows 16 idle 86400s")
    put(d0, segment(1, 100), segment(1, FAR))
    d0.change("learn")
    put(d0, segment(2, FAR), segment(2, 2 * FAR), begin=2)
    d0.change("no_learn")
    assert (d0.show()["records"], d0.show()["flows_queued"]) == (1, 1)
    put(d0, segment(2, 3 * FAR), begin=4)
    d0.change("learn")
    put(d0, segment(2, FAR + 50), segment(2, 4 * FAR), begin=5)
    assert d0.show()["flows_learned"] == 1
    d0.change("no_learn")
    assert d0.order() == ([2, 5, 0, 1, 3, 4, 6] if options else [0, 2, 5, 1, 3, 4, 6])
    assert d0.show()["flows_queued"] == 0


def test_from_bands_to_order_and_back(gate: Callable[..., Gate]) -> None:
    """All goes over, and what comes later finds the beginning and the end of each queue."""
    d0 = gate("limit 100")
    ranks = [FAR + 2, 5, FAR, 9000, 5, FAR + 1]
    put(d0, *(segment(1, rank) for rank in ranks))
    d0.change("order")
    assert bands(d0) == (0, 6) and d0.state()["backlog"] == d0.show()["low_backlog"] == 600
    put(d0, segment(1, 7), begin=6)
    d0.command("park 1")  # 1
    d0.change("no_order")
    assert bands(d0) == (3, 3)
    assert (d0.show()["high_backlog"], d0.show()["low_backlog"]) == (300, 300)
    put(d0, segment(1, 4), segment(1, FAR), begin=7)
    d0.change("limit 6")  # takes from the end
    assert d0.order(2) == [1, 4]
    d0.change("order threshold 8192b")
    d0.change("no_order")
    assert bands(d0) == (2, 3)
    put(d0, segment(1, 1), begin=9)
    d0.change("limit 1")
    assert d0.order() == [7]


@pytest.mark.parametrize("limits", ["", "limit 4", "limit 1"])
def test_emptied_by_change(gate: Callable[..., Gate], limits: str) -> None:
    """Queues that a change has emptied take packets again."""
    d0 = gate("limit 100")
    for options in ("order", "no_order") * 2:
        put(d0, *(segment(1, rank) for rank in (FAR, 0, FAR, 0)))
        d0.change(f"{options} {limits}")
        assert d0.order() == ([1, 3, 0, 2] if limits != "limit 1" else [1])
        d0.change("limit 100")
        put(d0, segment(1, FAR), segment(1, 0))
        assert d0.order() == [1, 0]


def test_statistics(gate: Callable[..., Gate]) -> None:
    d0 = gate("learn limit 4")
    put(d0, segment(1, 0), segment(1, FAR), segment(2, 0))
    put(d0, flow(0), begin=3)
    assert not d0.send(segment(1, FAR).frame(100, 4))
    shown = d0.show()
    assert {key: shown[key] for key in ("high_qlen", "high_backlog", "high_packets")} == {
        "high_qlen": 3,
        "high_backlog": 300,
        "high_packets": 0,
    }
    assert (shown["low_qlen"], shown["low_backlog"], shown["low_drops"]) == (1, 100, 1)
    assert (shown["flows_queued"], shown["records_peak"]) == (1, 2)
    d0.release(3)
    d0.release()
    shown = d0.show()
    assert (shown["high_packets"], shown["high_bytes"]) == (3, 300)
    assert (shown["low_packets"], shown["low_bytes"]) == (1, 100)
