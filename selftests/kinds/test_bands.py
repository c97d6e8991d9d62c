# SPDX-License-Identifier: GPL-2.0
"""Two bands, the part of the bytes that is guaranteed to the low one, and turns inside of each."""

import random
from collections.abc import Callable

import pytest

from selftests.guest import SLOW
from selftests.lib.command import run
from selftests.lib.gate import Flow, Gate, flow
from selftests.lib.options import of

HIGH, LOW = 0x100001, 0x100002
A = flow(0)

pytestmark = pytest.mark.has("guarantee")


@pytest.fixture
def words(kind: str) -> str:
    """What leaves all to the classes"""
    return of(kind).text(of(kind).by_class)


def test_guarantee(gate: Callable[..., Gate], words: str) -> None:
    """The low band's share in bytes is what was asked for, whatever the sizes."""
    d0 = gate(f"{words} limit 3000")
    for share in (10, 35, 80):
        d0.change(f"guarantee {share}")
        for ident in range(800):
            d0.send(A.frame(1500, ident), LOW)
            d0.send(A.frame(500 if ident % 2 else 900, 1000 + ident), HIGH)
        out = d0.release(400)
        low = sum(len(frame) for frame in out if len(frame) == 1500)
        assert abs(low / sum(map(len, out)) - share / 100) < 1500 * 1.5 / sum(map(len, out))
        d0.release()


@pytest.mark.parametrize("share", [10, 50, 90])
def test_guarantee_in_a_full_buffer(gate: Callable[..., Gate], words: str, share: int) -> None:
    """Of the high band comes twice what leaves, and as much of the low one."""
    d0 = gate(f"{words} limit 40 guarantee {share}")
    out = []
    for ident in range(500):
        d0.send(A.frame(1000, ident), LOW)
        d0.send(A.frame(1000, 1000 + 2 * ident), HIGH)
        d0.send(A.frame(1000, 1001 + 2 * ident), HIGH)
        out += d0.order(1)
    low = sum(ident < 1000 for ident in out[100:])
    assert abs(low / len(out[100:]) - share / 100) < 0.02


@pytest.mark.parametrize(("share", "length", "limit"), [(2, 1000, 40), (10, 60, 60)])
def test_guarantee_of_a_packet_at_a_time(
    gate: Callable[..., Gate], words: str, share: int, length: int, limit: int
) -> None:
    """The share of a full buffer is less than a packet of the low band: one waits all the same."""
    d0 = gate(f"{words} limit {limit} guarantee {share}")
    out = []
    for ident in range(1000):
        d0.send(A.frame(1500, ident), LOW)
        d0.send(A.frame(length, 1000 + 2 * ident), HIGH)
        d0.send(A.frame(length, 1001 + 2 * ident), HIGH)
        out += [len(frame) for frame in d0.release(1)]
    low = sum(size for size in out[100:] if size == 1500)
    assert abs(low / sum(out[100:]) - share / 100) < 0.02


@pytest.mark.parametrize("used", [False, True])
def test_bytes_that_wrap_around(gate: Callable[..., Gate], words: str, used: bool) -> None:
    """The low band is not empty, though its backlog in 32 bits is 0."""
    d0 = gate(words, stab=f"stab overhead {(1 << 30) - 1000}")
    if used:
        d0.send(A.frame(1000, 9), HIGH)
        assert d0.order() == [9]
    assert d0.send(A.frame(1000, 0), LOW)
    count, rest = divmod(1 << 32, d0.state()["backlog"])
    assert rest == 0
    d0.change(f"limit {count - 1}")
    for ident in range(1, count):
        assert d0.send(A.frame(1000, ident), LOW) == (ident < count - 1)
    assert d0.order() == [*range(count - 1)]


def apart(d0: Gate, count: int, length: int = 1514) -> list[Flow]:
    """Flows of queues of their own; what is sent to find out leaves nothing owed"""
    found: list[Flow] = []
    for number in range(500):
        each = flow(4 * number)
        for ident, one in enumerate([*found, *found, each]):
            d0.send(one.frame(length, ident), HIGH)
        if d0.order().index(2 * len(found)) == len(found):
            found.append(each)
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("band", [HIGH, LOW])
def test_turns(gate: Callable[..., Gate], words: str, band: int) -> None:
    """Who has much to send does not hold back who has little, in either band."""
    d0 = gate(f"{words} queues 16")
    a, b, c = apart(d0, 3)
    for ident in range(20):
        d0.send(a.frame(1000, ident), band)
    for each, ident in ((b, 20), (c, 21), (b, 22)):
        d0.send(each.frame(1000, ident), band)
    shown = d0.show()
    assert shown["high_queues"] + shown["low_queues"] == 3
    out = d0.order()
    assert out[:7] == [0, 1, 20, 22, 21, 2, 3]  # 1514 bytes a turn, or what began in it
    assert [ident for ident in out if ident < 20] == list(range(20))


# 200 large frames stand beside as many bytes in small ones: 30,000 of 60 bytes
@pytest.mark.parametrize("sizes", [(1500, 300), (9000, 150 if SLOW else 60), (256, 1000)])
@pytest.mark.parametrize("quantum", [256, 1514, 9000])
def test_turns_are_fair_in_bytes(
    gate: Callable[..., Gate], words: str, quantum: int, sizes: tuple[int, int]
) -> None:
    d0 = gate(f"{words} queues 256 limit 100000 memory_limit 1g")
    a, b = apart(d0, 2)
    d0.change(f"quantum {quantum}b")
    large, small = max(sizes), min(sizes)
    for ident in range(200):
        d0.send(a.frame(large, ident), LOW)
    for ident in range(200 * large // small):
        d0.send(b.frame(small, ident), LOW)
    out = [len(frame) for frame in d0.release(100 + 100 * large // small)]
    sent = {size: size * out.count(size) for size in sizes}
    assert abs(sent[large] - sent[small]) <= 2 * max(quantum, large) + large


def test_debts_are_not_forgotten(gate: Callable[..., Gate], words: str) -> None:
    """Who comes with one large packet at a time has no more of the link than others."""
    d0 = gate(f"{words} queues 256 quantum 1000b")
    a, b = apart(d0, 2, 1000)
    sent = {9000: 0, 1000: 0}
    waits = 0
    for ident in range(100):
        d0.send(b.frame(1000, ident), HIGH)
    for ident in range(90):
        if not waits:
            d0.send(a.frame(9000, 1000 + ident), HIGH)
            waits = 1
        size = len(d0.release(1)[0])
        sent[size] += size
        waits -= size == 9000
    assert abs(sent[9000] - sent[1000]) <= 18000


@pytest.mark.parametrize("band", [HIGH, LOW])
def test_longest_queue_loses(gate: Callable[..., Gate], words: str, band: int) -> None:
    d0 = gate(f"{words} queues 16 limit 20")
    a, b, c = apart(d0, 3)
    for ident in range(30):
        d0.send(a.frame(1000, ident), band)
    for ident in range(30, 35):
        assert d0.send(b.frame(1000, ident), band)
        assert d0.send(c.frame(1400, 100 + ident), band)
    out = d0.order()
    assert [ident for ident in out if ident < 30] == list(range(10))
    assert sorted(ident for ident in out if ident >= 30) == [*range(30, 35), *range(130, 135)]


def test_tiny_packets_do_not_push_out(gate: Callable[..., Gate], words: str) -> None:
    """Of those that have no more than a turn to send one is drawn, not the one with most bytes."""
    d0 = gate(f"{words} queues 4096 limit 20")
    kept = 0
    for turn in range(120):
        d0.send(flow(0).frame(1514, 0), HIGH)
        for number in range(30):
            d0.send(flow(4 * (30 * turn + number + 1)).frame(60, 1 + number), HIGH)
        kept += 0 in d0.order()
    # At the end it is one of 21 who may lose, eleven times: kept in three of five turns
    assert 40 < kept < 110


def test_many_tiny_packets_do_not_push_out_few(gate: Callable[..., Gate], words: str) -> None:
    """Who has a packet or two where others have eight loses only if he has the most bytes."""
    d0 = gate(f"{words} queues 256")
    few, *many = apart(d0, 11)
    d0.change("limit 82")
    for _ in range(5):
        for ident in range(3):
            d0.send(few.frame(1500, ident), HIGH)
        for ident in range(20):
            for each in many:
                d0.send(each.frame(60, 3 + ident), HIGH)
        assert [ident for ident in d0.order() if ident < 3] == [0, 1]


def test_equals_lose_by_turns(gate: Callable[..., Gate], words: str) -> None:
    """Four streams that keep their places: none of them loses all that is lost."""
    d0 = gate(f"{words} queues 256 limit 8")
    streams = apart(d0, 4)
    seen = dict.fromkeys(range(4), 0)
    for _ in range(200):
        for number, each in enumerate(streams):
            d0.send(each.frame(1000, number), LOW)
        for number in d0.order(3):
            seen[number] += 1
    assert all(100 < count < 200 for count in seen.values()), seen


def test_many_queues(gate: Callable[..., Gate], words: str) -> None:
    """More than are compared at a time: who has most is found all the same."""
    d0 = gate(f"{words} queues 4096 limit 1000")
    for ident in range(600):
        d0.send(flow(4 * (1 + ident)).frame(60, ident), HIGH)
    for ident in range(600, 1000):
        d0.send(flow(0).frame(1500, ident), HIGH)
    assert d0.show()["high_queues"] > 500
    lost = 0
    for ident in range(1000, 1300):
        lost += not d0.send(flow(4 * (1 + ident)).frame(60, ident), HIGH)
    kept = d0.order()
    # Who comes to flow 0's queue, of 4096, may be its last packet.
    assert lost <= 4 and len([ident for ident in kept if 600 <= ident < 1000]) < 110


@pytest.mark.parametrize("queues", [1, 16, 4096])
def test_flows_stay_in_order(gate: Callable[..., Gate], words: str, queues: int) -> None:
    """In each band, while limits drop and turns change"""
    d0 = gate(f"{words} queues {queues} limit 50 quantum 300b guarantee 30")
    rng = random.Random(queues)
    out: list[int] = []
    for ident in range(3000):
        number = rng.randrange(20)
        band = HIGH if number % 2 else LOW
        d0.send(flow(number).frame(rng.randint(100, 1514), 20 * ident + number), band)
        if ident % 3 == 0:
            out += d0.order(2)
        if ident % 500 == 0:
            d0.change(f"quantum {rng.randint(256, 3000)}b")
    out += d0.order()
    for number in range(20):
        mine = [ident for ident in out if ident % 20 == number]
        assert mine == sorted(mine) and len(mine) > 10
    assert d0.show()["high_queues"] == d0.show()["low_queues"] == 0


@pytest.mark.clock  # by the rate of the link, where it is known, less may wait
def test_nobody_is_starved_by_default(gate: Callable[..., Gate], kind: str) -> None:
    """As it is: a flow that fills the high band leaves the low one a part, and others theirs."""
    d0 = gate(None)
    run(f"tc qdisc replace dev d0 parent 1:1 handle 10: {kind}")
    a, b = apart(d0, 2)
    for ident in range(300):
        d0.send(a.frame(1000, ident), HIGH)
        d0.send(a.frame(1000, 1000 + ident), LOW)
    d0.send(b.frame(1000, 2000), HIGH)
    out = d0.order(100)
    assert 2000 in out[:5]
    assert sum(1000 <= ident < 2000 for ident in out) >= 9


def test_no_guarantee(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(words)
    for ident in range(100):
        d0.send(A.frame(1500, ident), LOW)
        d0.send(A.frame(500, 100 + ident), HIGH)
    assert d0.order() == [*range(100, 200), *range(100)]


def test_guarantee_costs_nothing_when_alone(gate: Callable[..., Gate], words: str) -> None:
    """What the low band had while the high one was empty is not taken from its share."""
    d0 = gate(f"{words} guarantee 50")
    for ident in range(10):
        d0.send(A.frame(1000, ident), LOW)
    assert d0.order(6) == list(range(6))
    for ident in range(10, 20):
        d0.send(A.frame(1000, ident), HIGH)
    assert d0.order(6) == [10, 6, 11, 7, 12, 8]
