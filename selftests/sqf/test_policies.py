# SPDX-License-Identifier: GPL-2.0
"""Which queue is served, and which loses a packet."""

import random
from collections.abc import Callable

import pytest
from las.lib import flow, identity
from sqf.lib import Pair, SqfGate

A, B, C = flow(0), flow(1), flow(2)


def test_shortest_goes_first(gate: Callable[..., SqfGate]) -> None:
    d0 = gate()
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    assert d0.order() == [4, 2, 3, 0, 1]  # 1400, 1600 bytes, 2000


def test_longest_goes_first(gate: Callable[..., SqfGate]) -> None:
    d0 = gate("policy lqf")
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    # 2000 1600 1400, then 1000 1600 1400, 1000 100 1400, 1000 100 0, 100
    assert d0.order() == [0, 2, 4, 1, 3]


@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_equal_queues_go_by_arrival(gate: Callable[..., SqfGate], policy: str) -> None:
    d0 = gate(f"policy {policy}")
    for ident in range(30):
        d0.send(flow(ident).frame(500, ident))
    assert d0.order() == list(range(30))


@pytest.mark.parametrize("quantum", [256, 1514, 6000])
def test_fair_in_bytes(gate: Callable[..., SqfGate], quantum: int) -> None:
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


def test_idle_flow_gains_nothing(gate: Callable[..., SqfGate]) -> None:
    """One that has been away takes its turn, it does not catch up."""
    d0 = gate("policy fq")
    for ident in range(40):
        d0.send(A.frame(1514, ident))
    d0.order(20)
    for ident in range(100, 110):
        d0.send(B.frame(1514, ident))
    order = d0.order(12)
    assert 5 <= sum(ident >= 100 for ident in order) <= 7


@pytest.mark.parametrize("drop, lost", [("tail", 5), ("head", 0)])
def test_longest_queue_loses(gate: Callable[..., SqfGate], drop: str, lost: int) -> None:
    d0 = gate(f"limit 8 policy fq drop {drop}")
    for ident in range(6):
        d0.send(A.frame(1000, ident))
    for ident in (10, 11, 12):
        assert d0.send(B.frame(900, ident))
    assert sorted(d0.order()) == sorted({*range(6), 10, 11, 12} - {lost})


def test_newcomer_loses_if_it_is_among_the_longest(gate: Callable[..., SqfGate]) -> None:
    d0 = gate("limit 4")
    for ident, each in enumerate([A, A, B, C]):
        assert d0.send(each.frame(1000, ident))
    assert not d0.send(B.frame(1000, 4))  # 2000 bytes, as A has
    assert d0.send(B.frame(900, 5))  # A has more
    assert sorted(d0.order()) == [0, 2, 3, 5]


def test_any_of_equals_may_lose(gate: Callable[..., SqfGate]) -> None:
    d0, lost = gate(), set()
    for _ in range(20):
        d0.renew("limit 4")
        for ident, each in enumerate([A, A, B, B]):
            d0.send(each.frame(1000, ident))
        d0.send(C.frame(500, 4))
        lost |= set(range(5)) - set(d0.order())
    assert lost == {1, 3}


@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_bundles(gate: Callable[..., SqfGate], policy: str) -> None:
    """The segments of a GSO packet are queued one by one."""
    rng = random.Random(policy)
    d0 = gate(f"limit 30 policy {policy} flows 65536 idle 86400s")
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


def test_overflow_is_served_last(gate: Callable[..., SqfGate]) -> None:
    d0 = gate()
    for policy in ("sqf", "lqf", "fq"):
        d0.renew(f"flows 8 policy {policy}")
        for number in range(8):
            d0.send(flow(number).frame(1000, number))
        d0.send(flow(8).frame(100, 20))
        d0.send(flow(9).frame(100, 21))
        d0.send(flow(8).frame(100, 22))
        shown = d0.show()
        assert (shown["overflow"], shown["flows_queued"]) == (3, 9)
        assert d0.order() == [*range(8), 20, 21, 22]
