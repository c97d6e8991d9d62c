# SPDX-License-Identifier: GPL-2.0
"""Limits of all kinds, also with a packet parked in gso_skb by a parent's peek."""

from collections.abc import Callable
from typing import Any

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Gate, flow

A, B, C = flow(0), flow(2), flow(4)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("parked", [0, 1])
def test_tiny_limit(
    gate: Callable[..., Gate], pair_of: Callable[..., Any], limit: int, parked: int
) -> None:
    pair = pair_of(gate(f"limit {limit}"), limit)
    pair.send(A, 1000)
    pair.park(parked)
    for each, length in ((A, 100), (B, 90), (C, 80)) * 2:  # no ties
        pair.send(each, length)
        pair.compare()
    pair.compare_statistics()
    pair.release(1)
    pair.send(A, 100)
    pair.compare()
    pair.release()
    pair.compare()


def test_memory_limit_drops_the_end(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    pair = pair_of(gate("memory_limit 4096b"), 10000, memory_limit=4096)
    while pair.send(A, 60):
        pass
    assert pair.sent > 3
    assert pair.send(B, 60)  # pushes out the last of A
    assert pair.model.drop_memory == 2
    pair.compare_statistics()
    pair.release()


def test_one_packet_can_push_out_several(
    gate: Callable[..., Gate], pair_of: Callable[..., Any]
) -> None:
    pair = pair_of(gate("memory_limit 40000b"), 10000, memory_limit=40000)
    while pair.send(A, 60):
        pass
    before = pair.model.drops
    assert pair.send(B, 1514)
    assert pair.model.drops > before + 1
    pair.compare()
    pair.release()


def test_packet_larger_than_memory_limit(
    gate: Callable[..., Gate], pair_of: Callable[..., Any]
) -> None:
    """It takes nobody along, though it would rank before them."""
    pair = pair_of(gate("memory_limit 4096b"), 10000, memory_limit=4096)
    pair.send(A, 1000)
    pair.release()
    pair.send(A, 100)
    assert not pair.send(B, 8000)
    pair.compare()
    pair.compare_statistics()
    pair.release()


def test_parked_packet_is_not_memory(
    gate: Callable[..., Gate], pair_of: Callable[..., Any]
) -> None:
    pair = pair_of(gate("memory_limit 4096b"), 10000, memory_limit=4096)
    while pair.send(A, 60):
        pass
    pair.park(1)
    assert pair.send(B, 60)  # room, since the parked one has left the flows
    pair.compare_statistics()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
@pytest.mark.parametrize("limit", [1, 2, 5, 29, 30])
def test_change_trims_from_the_end(
    gate: Callable[..., Gate], pair_of: Callable[..., Any], parked: int, limit: int
) -> None:
    pair = pair_of(gate("limit 30"), 30)
    for number in range(30):
        pair.send((A, A, B, C)[number % 4], 100 + number)
    pair.park(parked)
    pair.change(limit=limit)
    pair.compare()
    assert pair.model.qlen - parked == min(limit, 30 - parked)
    pair.compare_statistics()
    pair.send(A, 100)
    pair.send(C, 90)
    pair.compare()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
def test_change_of_memory_limit_trims(
    gate: Callable[..., Gate], pair_of: Callable[..., Any], parked: int
) -> None:
    pair = pair_of(gate(), 10000)
    for _ in range(10):
        for each, length in ((A, 1514), (B, 1500), (C, 1490)):  # no ties
            pair.send(each, length)
    pair.park(parked)
    pair.change(memory_limit=10000)
    pair.compare()
    assert 0 < pair.model.memory <= 10000
    pair.change(memory_limit=4096)
    pair.compare_statistics()
    pair.release()


def test_change_to_larger_limits_loses_nothing(
    gate: Callable[..., Gate], pair_of: Callable[..., Any]
) -> None:
    pair = pair_of(gate("limit 5 memory_limit 20000b"), 5, memory_limit=20000)
    for _ in range(8):
        pair.send(A, 200)
    pair.change(limit=50, memory_limit=1 << 20)
    for _ in range(40):
        pair.send(B, 100)
    pair.compare()
    assert pair.model.qlen == 45
    pair.release()


def test_change_can_empty_the_queue(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    """The parent has to hear of it: its class holds nothing from now on."""
    d0 = gate()
    pair = pair_of(d0, 10000)
    pair.send(A, 8000)
    before = d0.state()["notified"]
    pair.change(memory_limit=4096)
    pair.compare()
    assert d0.state()["qlen"] == 0
    assert d0.state()["notified"] > before
    pair.send(A, 100)
    pair.compare()
    pair.release()


def test_more_parked_than_limit(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    """As when a root's device is busy: the core puts several segments back into gso_skb."""
    pair = pair_of(gate("limit 10"), 10)
    for _ in range(8):
        pair.send(A, 1000)
    pair.park(6)
    pair.change(limit=1)
    pair.compare()
    assert (pair.model.qlen, pair.model.drops) == (7, 1)
    assert not pair.send(A, 100)
    assert pair.send(B, 90)  # pushes out A's
    assert not pair.send(B, 90)
    pair.compare()
    pair.compare_statistics()
    pair.release()


def test_newcomer_that_replaces_all(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    """The parent must not see an empty class, not even for a moment."""
    d0 = gate("limit 1")
    pair = pair_of(d0, 1)
    pair.send(A, 1000)
    pair.release()
    pair.send(A, 1000)
    before = d0.state()["notified"]
    assert pair.send(B, 100)
    pair.compare()
    assert (d0.state()["cn"], d0.state()["notified"]) == (1, before)
    pair.release()
    pair.change(limit=100, memory_limit=5000)
    assert pair.send(A, 3000)
    assert pair.send(C, 2900)  # leaves no room for anything else
    pair.compare()
    assert (d0.state()["cn"], pair.model.qlen) == (2, 1)
    pair.release()


def test_link_down_forgets_all(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    d0 = gate("limit 20")
    pair = pair_of(d0, 20)
    for number in range(30):
        pair.send((A, B)[number % 2], 300 + number)
    pair.park(1)
    d0.bounce()
    assert (d0.state()["qlen"], d0.state()["backlog"], d0.show()["memory"]) == (0, 0, 0)
    assert (d0.show()["records"], d0.show()["flows_queued"]) == (0, 0)
    pair = pair_of(d0, 20)
    for number in range(30):
        pair.send((A, B, C)[number % 3], 300 + number)
        pair.compare()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
@pytest.mark.parametrize("new", ["replace parent 1:1 handle 20: KIND", "del parent 1:1"])
def test_graft_drops_all(gate: Callable[..., Gate], kind: str, parked: int, new: str) -> None:
    d0 = gate()
    for number in range(30):
        d0.send((A, B, C)[number % 3].frame(300, number))
    d0.command(f"park {parked}")
    verb, rest = new.replace("KIND", kind).split(" ", 1)
    run(f"tc qdisc {verb} dev d0 {rest}")
    d0.assert_freed()
    assert (d0.state()["qlen"], d0.state()["backlog"]) == (0, 0)
    assert d0.send(A.frame(60, 1))
    assert d0.order() == [1]


@pytest.mark.parametrize("parked", [0, 1])
def test_delete_with_packets(gate: Callable[..., Gate], parked: int) -> None:
    d0 = gate()
    for number in range(30):
        d0.send((A, B, C)[number % 3].frame(300, number))
    d0.command(f"park {parked}")
    assert d0.unfreed() > 0  # close() deletes and sees that this becomes 0
