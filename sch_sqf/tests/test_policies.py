# SPDX-License-Identifier: GPL-2.0
"""The policies as published: which queue is served, and which loses a packet."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow, identity

from .pair import Pair

A, B, C = flow(0), flow(1), flow(2)


def test_shortest_goes_first(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    assert d0.order() == [4, 2, 3, 0, 1]  # 1400, 1600 bytes, 2000


def test_longest_goes_first(gate: Callable[..., Gate]) -> None:
    d0 = gate("policy lqf")
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    # 2000 1600 1400, then 1000 1600 1400, 1000 100 1400, 1000 100 0, 100
    assert d0.order() == [0, 2, 4, 1, 3]


@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_equal_queues_go_by_arrival(gate: Callable[..., Gate], policy: str) -> None:
    d0 = gate(f"policy {policy}")
    for ident in range(30):
        d0.send(flow(ident).frame(500, ident))
    assert d0.order() == list(range(30))


@pytest.mark.parametrize("quantum", [256, 1514, 6000])
def test_fair_in_bytes(gate: Callable[..., Gate], quantum: int) -> None:
    """Each flow is served as many bytes as any other, but for a quantum and a packet."""
    d0 = gate(f"policy fq quantum {quantum}b")
    rng = random.Random(quantum)
    sizes = {A.name: [100], B.name: [1514], C.name: [60, 700, 1514]}
    owner = {}
    for each in (A, B, C):
        sent = 0
        while sent < 60000:
            length = max(rng.choice(sizes[each.name]), each.shortest)
            owner[len(owner)] = (each.name, length)
            d0.send(each.frame(length, len(owner) - 1))
            sent += length
    served = dict.fromkeys(sizes, 0)
    for frame in d0.release()[: len(owner) // 2]:
        name, length = owner[identity(frame)]
        served[name] += length
        assert max(served.values()) - min(served.values()) <= quantum + 2 * 1514


def test_idle_flow_gains_nothing(gate: Callable[..., Gate]) -> None:
    """One that has been away takes its turn, it does not catch up."""
    d0 = gate("policy fq")
    for ident in range(40):
        d0.send(A.frame(1514, ident))
    d0.order(20)
    for ident in range(100, 110):
        d0.send(B.frame(1514, ident))
    order = d0.order(12)
    assert 5 <= sum(ident >= 100 for ident in order) <= 7


def test_turns_of_those_who_come_and_go(gate: Callable[..., Gate]) -> None:
    """What a flow has sent beyond its turn is not forgotten with its queue."""
    d0 = gate("policy fq quantum 256b")
    d0.send(A.frame(1514, 0))  # nearly six turns
    d0.release()
    for ident in range(8):
        d0.send(A.frame(256, ident))
        d0.send(B.frame(256, 100 + ident))
    assert d0.order(8) == [100, 101, 102, 103, 0, 104, 1, 105]


@pytest.mark.parametrize("drop, lost", [("tail", 5), ("head", 0)])
def test_longest_queue_loses(gate: Callable[..., Gate], drop: str, lost: int) -> None:
    d0 = gate(f"limit 8 policy fq drop {drop}")
    for ident in range(6):
        d0.send(A.frame(1000, ident))
    for ident in (10, 11, 12):
        assert d0.send(B.frame(900, ident))
    assert sorted(d0.order()) == sorted({*range(6), 10, 11, 12} - {lost})


def test_newcomer_may_lose_if_it_is_among_the_longest(gate: Callable[..., Gate]) -> None:
    d0, lost = gate("limit 4"), Counter()
    for _ in range(100):
        for ident, each in enumerate([A, A, B, C]):
            assert d0.send(each.frame(1000, ident))
        d0.send(B.frame(1000, 4))  # 2000 bytes, as A has
        lost.update({1, 4} - set(d0.order()))
    assert sum(lost.values()) == 100
    assert 25 < lost[1] < 75


def test_no_flow_keeps_the_link(gate: Callable[..., Gate]) -> None:
    """Not with packets all alike either, one less of them in the queue that is served."""
    d0 = gate("limit 99")
    served = set()
    for step in range(120):
        for each in (A, B) * (60 if step == 0 else 3):
            d0.send(each.frame(1000, 0))
        for frame in d0.release(2):
            if step >= 40:
                served.add(frame[23])  # the protocol, UDP or TCP
    assert len(served) == 2
    d0.release()


@pytest.mark.parametrize("packets", [1, 2, 5])
def test_any_of_equals_may_lose(gate: Callable[..., Gate], packets: int) -> None:
    """Each as likely as any other, be the queues short or long."""
    d0, lost = gate(f"limit {4 * packets}"), Counter()
    for _ in range(200):
        for number in range(4):
            for _ in range(packets):
                d0.send(flow(number).frame(1000, number))
        d0.send(flow(4).frame(500, 4))
        left = Counter(d0.order())
        lost.update(number for number in range(4) if left[number] < packets)
    assert sum(lost.values()) == 200
    assert all(10 < lost[number] < 100 for number in range(4)), lost


def test_some_of_many_equals(gate: Callable[..., Gate]) -> None:
    """The draw is among a few of them, not always the same."""
    d0, lost = gate("limit 40"), Counter()
    for _ in range(100):
        for number in range(40):
            d0.send(flow(number).frame(1000, number))
        d0.send(flow(40).frame(500, 40))
        lost.update(set(range(41)) - set(d0.order()))
    assert sum(lost.values()) == 100
    assert 8 < len(lost) <= 16


@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_bundles(gate: Callable[..., Gate], policy: str) -> None:
    """The segments of a GSO packet are queued one by one."""
    rng = random.Random(policy)
    d0 = gate(f"split_gso limit 30 policy {policy} flows 65536 idle 86400s")
    pair = Pair(d0, limit=30, policy=policy)
    for _ in range(150):
        if rng.random() < 0.4:
            each = flow(rng.randrange(20) | 2)
            size = rng.randint(100, 1440)
            own, last = len(each.headers), rng.randint(4, size)
            if not pair.model.ties(each.name, own + size):
                pair.send_bundle(each, rng.randint(2, 6), size, last)
        else:
            each = flow(rng.randrange(20))
            length = rng.randint(each.shortest, 1514)
            if not pair.model.ties(each.name, length):
                pair.send(each, length)
        if rng.random() < 0.3:
            pair.release(rng.randint(1, 8))
        pair.compare()
    assert pair.bundles > 20
    pair.release()


def test_overflow_is_served_last(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    for policy in ("sqf", "lqf"):
        d0.renew(f"flows 8 policy {policy}")
        for number in range(8):
            d0.send(flow(number).frame(1000, number))
        d0.send(flow(8).frame(100, 20))
        d0.send(flow(9).frame(100, 21))
        d0.send(flow(8).frame(100, 22))
        shown = d0.show()
        assert (shown["overflow"], shown["flows_queued"]) == (3, 9)
        assert d0.order() == [*range(8), 20, 21, 22]


def test_overflow_takes_turns(gate: Callable[..., Gate]) -> None:
    """Under fq"""
    d0 = gate("flows 8 policy fq quantum 1000b")
    for number in range(8):
        for ident in (0, 100):
            d0.send(flow(number).frame(1000, ident + number))
    for ident in (20, 21):
        d0.send(flow(8).frame(1000, ident))
    assert d0.order() == [*range(8), 20, *range(100, 108), 21]
