# SPDX-License-Identifier: GPL-2.0
"""What sqf adds to the article so that nobody starves; most is in selftests/kinds/test_groups.py"""

from collections.abc import Callable

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Flow, Gate, attain, flow, host_flow, identity
from selftests.lib.options import of

from .test_random import HUGE

A, B, C = flow(0), flow(2), flow(4)
FAIR = 16384
DEFAULT = of("sqf").text(of("sqf").together(of("sqf").defaults))


def test_shortest_of_the_short(gate: Callable[..., Gate]) -> None:
    """By what waits and a quarter of what a flow has attained: 3875, 3850 and 1975"""
    d0 = gate(f"known_share 50 {HUGE}")
    attain(d0, A, 8000)
    attain(d0, B, 400)
    attain(d0, C, 400)
    d0.send(B.frame(1500, 2))
    d0.send(B.frame(1500, 3))
    d0.send(C.frame(1500, 4))
    d0.send(A.frame(1500, 1))
    assert d0.order() == [4, 2, 3, 1]


# For long_share, too, somebody goes first who has waited for long by the clock.
@pytest.mark.parametrize(("share", "first"), [(0, 5), pytest.param(50, 1, marks=pytest.mark.clock)])
def test_patience(gate: Callable[..., Gate], share: int, first: int) -> None:
    """Who has waited while much was sent goes before those with somewhat less."""
    d0 = gate(f"long_share {share} {HUGE}")
    d0.send(A.frame(1500, 1))
    # A's rank is 256 * (1500 + 1500 / 4), B's 1000 + 256 * 250 more each time
    for _ in range(3):
        d0.send(B.frame(1000, 5))
        assert d0.order(1) == [5]
    d0.send(B.frame(1000, 5))
    assert d0.order(1) == [first]


def test_longest_of_the_short(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"known_share 50 policy lqf {HUGE}")
    for each in (A, B, C):
        attain(d0, each, 400)
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    assert d0.order() == [0, 2, 4, 1, 3]


def test_one_priority_pass(gate: Callable[..., Gate]) -> None:
    """Under fq a newcomer's first packet goes first, the next after all who wait for their turn."""
    d0 = gate(f"known_share 50 policy fq quantum 1000b {HUGE}")
    for each in (A, B):
        attain(d0, each, 3000)
    for ident in range(10, 14):
        d0.send(A.frame(1000, ident))
        d0.send(B.frame(1000, 10 + ident))
    assert d0.order(1) == [10]
    for ident in range(3):
        d0.send(C.frame(1000, ident))
    assert d0.order() == [0, 20, 1, 11, 21, 2, 12, 22, 13, 23]


def served(d0: Gate, ident: int, turns: int, more: Callable[[int], None]) -> float:
    """The part of what leaves that has this identity, while A always has a packet waiting"""
    out = []
    for turn in range(turns):
        if turn % 50 == 0:
            for _ in range(50):
                d0.send(A.frame(1500, ident))
        more(turn)
        out += d0.order(1)
    return out.count(ident) / len(out)


@pytest.mark.clock
@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_ever_new_tuples(gate: Callable[..., Gate], policy: str) -> None:
    """As many as the link takes: the others have as much, if they are late."""
    d0 = gate(f"{DEFAULT} policy {policy}")
    attain(d0, A, 300000)

    def more(turn: int) -> None:
        d0.send(flow(2 * turn + 2).frame(1500, 0))

    # Nothing is known of the link, so that they are late at once.
    assert abs(served(d0, 1, 400, more) - 0.5) < 0.02


@pytest.mark.clock
@pytest.mark.parametrize("policy", ["sqf", "fq"])
def test_who_never_queues(gate: Callable[..., Gate], policy: str) -> None:
    """One flow as fast as the link has no more than one that waits."""
    d0 = gate(f"{DEFAULT} forgive_share 0 policy {policy}")
    attain(d0, A, 300000)
    attain(d0, B, 300000)

    def more(_: int) -> None:
        d0.send(B.frame(1500, 0))

    assert served(d0, 1, 400, more) > 0.4


@pytest.mark.clock
@pytest.mark.parametrize("policy", ["sqf", "lqf", "fq"])
def test_one_connection_after_another(gate: Callable[..., Gate], policy: str) -> None:
    """Each of 240 kB, as fast as the link: they leave something to those that go on."""
    d0 = gate(f"{DEFAULT} policy {policy}")
    attain(d0, A, 300000)

    def more(turn: int) -> None:
        d0.send(flow(2 * (turn // 160) + 2).frame(1500, 0))

    assert served(d0, 1, 800, more) > 0.03


def test_policies_that_change(gate: Callable[..., Gate]) -> None:
    """What waits is sorted anew by the lengths of now."""
    d0 = gate(f"known_share 50 policy fq {HUGE}")
    for each in (A, B, C):
        attain(d0, each, 400)
    for ident, (each, length) in enumerate([(A, 1000), (A, 1000), (B, 1500), (B, 100), (C, 1400)]):
        d0.send(each.frame(length, ident))
    assert d0.show()["flows_long"] == 3
    d0.change("policy lqf")
    assert d0.show()["flows_long"] == 0
    assert d0.order(1) == [0]
    d0.change("policy sqf")
    assert d0.order() == [1, 4, 2, 3]


def test_priority_is_no_way_around_filters(gate: Callable[..., Gate]) -> None:
    """There are no classes that it might name."""
    d0 = gate(HUGE)
    run("tc filter add dev d0 parent 10: protocol all matchall action drop")
    for mark in (0, 0x100001, 0x100002):
        d0.send(A.frame(100, 1), mark)
    assert (d0.show()["drops"], d0.show()["qlen"]) == (3, 0)


def losers(d0: Gate, flows: list[Flow], length: int, last: int) -> set[int]:
    """Which of eight equal flows lose a packet, one each time, for one of a ninth"""
    for each in flows:
        attain(d0, each, 400)
    lost = set()
    for _ in range(160):  # enough for each, if chance is fair
        for ident, each in enumerate(flows[:8]):
            d0.send(each.frame(length, ident))
            d0.send(each.frame(length, ident))
        d0.send(flows[8].frame(last, 8))
        out = [identity(frame) for frame in d0.release()]
        lost |= {ident for ident in range(8) if out.count(ident) == 1}
    return lost


# By the rate of the link, where it is known, some host has much.
@pytest.mark.parametrize("hosts", ["none", pytest.param("src", marks=pytest.mark.clock)])
def test_of_equal_flows_one_is_drawn(gate: Callable[..., Gate], hosts: str) -> None:
    """Also if each has a host of its own, none of which has much"""
    d0 = gate(f"known_share 50 limit 16 hosts {hosts} {HUGE}")
    flows = [host_flow(2 * number, 100 + number, 2) for number in range(9)]
    lost = losers(d0, flows, 300, 100)
    assert len(lost) == 8


def test_none_is_drawn_but_of_the_host_with_the_most(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"known_share 50 limit 16 hosts src {HUGE}")
    flows = [host_flow(2 * number, 100 + (number == 3), 2) for number in range(9)]
    lost = losers(d0, flows, 900, 60)
    assert len(lost) > 1 and 3 not in lost


def test_none_is_drawn_of_another_group(gate: Callable[..., Gate]) -> None:
    """Newcomers have more than their share: known flows with as much waiting lose nothing."""
    d0 = gate(f"known_share 50 limit 16 {HUGE}")
    known = [flow(4 * number) for number in range(2)]
    for each in known:
        attain(d0, each, 400)
    for turn in range(1, 21):
        *fresh, last = (flow(4 * (7 * turn + number)) for number in range(7))
        for ident, each in enumerate([*known, *fresh]):
            d0.send(each.frame(1000, ident))
            d0.send(each.frame(1000, ident))
        d0.send(last.frame(1000, 8))
        out = d0.order()
        assert len(out) == 16 and out.count(0) == out.count(1) == 2
