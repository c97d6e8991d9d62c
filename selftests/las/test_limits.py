# SPDX-License-Identifier: GPL-2.0
"""Limits, also with a packet parked in gso_skb by a parent's peek."""

import time
from collections.abc import Callable

import pytest
from las.lib import Gate, Pair, flow, run

A, B, C = flow(0), flow(2), flow(4)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("parked", [0, 1])
def test_tiny_limit(gate: Callable[..., Gate], limit: int, parked: int) -> None:
    pair = Pair(gate(f"limit {limit}"), limit)
    pair.send(A, 1000)
    pair.park(parked)
    for each in (A, B, C, A, B, C):
        pair.send(each, 100)
        pair.compare()
    pair.compare_statistics()
    pair.release(1)
    pair.send(A, 100)
    pair.compare()
    pair.release()
    pair.compare()


def test_memory_limit_drops_the_end(gate: Callable[..., Gate]) -> None:
    pair = Pair(gate("memory_limit 4096b"), 10000, 4096)
    while pair.send(A, 60):
        pass
    assert pair.sent > 3
    assert pair.send(B, 60)  # pushes out the last of A
    assert pair.model.drop_memory == 2
    pair.compare_statistics()
    pair.release()


def test_one_packet_can_push_out_several(gate: Callable[..., Gate]) -> None:
    pair = Pair(gate("memory_limit 5000b"), 10000, 5000)
    while pair.send(A, 60):
        pass
    before = pair.model.drops
    assert pair.send(B, 1514)
    assert pair.model.drops > before + 1
    pair.compare()
    pair.release()


def test_packet_larger_than_memory_limit(gate: Callable[..., Gate]) -> None:
    """It takes nobody along, though it would rank before them."""
    pair = Pair(gate("memory_limit 4096b"), 10000, 4096)
    pair.send(A, 1000)
    pair.release()
    pair.send(A, 100)
    assert not pair.send(B, 8000)
    pair.compare()
    pair.compare_statistics()
    pair.release()


def test_parked_packet_is_not_memory(gate: Callable[..., Gate]) -> None:
    pair = Pair(gate("memory_limit 4096b"), 10000, 4096)
    while pair.send(A, 60):
        pass
    pair.park(1)
    assert pair.send(B, 60)  # room, since the parked one has left the flows
    pair.compare_statistics()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
@pytest.mark.parametrize("limit", [1, 2, 5, 29, 30])
def test_change_trims_from_the_end(gate: Callable[..., Gate], parked: int, limit: int) -> None:
    pair = Pair(gate("limit 30"), 30)
    for number in range(30):
        pair.send((A, A, B, C)[number % 4], 100 + number)
    pair.park(parked)
    pair.change(limit=limit)
    pair.compare()
    assert len(pair.model.order) == min(limit, 30 - parked)
    pair.compare_statistics()
    pair.send(A, 100)
    pair.send(C, 100)
    pair.compare()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
def test_change_of_memory_limit_trims(gate: Callable[..., Gate], parked: int) -> None:
    pair = Pair(gate(), 10000)
    for _ in range(10):
        for each in (A, B, C):
            pair.send(each, 1514)
    pair.park(parked)
    pair.change(memory=10000)
    pair.compare()
    assert 0 < pair.model.memory <= 10000
    pair.change(memory=4096)
    pair.compare_statistics()
    pair.release()


def test_change_to_larger_limits_loses_nothing(gate: Callable[..., Gate]) -> None:
    pair = Pair(gate("limit 5 memory_limit 20000b"), 5, 20000)
    for _ in range(8):
        pair.send(A, 200)
    pair.change(limit=50, memory=1 << 20)
    for _ in range(40):
        pair.send(B, 100)
    pair.compare()
    assert pair.model.qlen == 45
    pair.release()


def test_change_can_empty_the_queue(gate: Callable[..., Gate]) -> None:
    """The parent has to hear of it: its class holds nothing from now on."""
    d0 = gate()
    pair = Pair(d0, 10000)
    pair.send(A, 8000)
    before = d0.state()["notified"]
    pair.change(memory=4096)
    pair.compare()
    assert d0.state()["qlen"] == 0
    assert d0.state()["notified"] > before
    pair.send(A, 100)
    pair.compare()
    pair.release()


def test_more_parked_than_limit(gate: Callable[..., Gate]) -> None:
    """As when a root's device is busy: the core puts several segments back into gso_skb."""
    pair = Pair(gate("limit 10"), 10)
    for _ in range(8):
        pair.send(A, 1000)
    pair.park(6)
    pair.change(limit=1)
    pair.compare()
    assert (pair.model.qlen, pair.model.drops) == (7, 1)
    assert not pair.send(A, 100)
    assert pair.send(B, 100)  # pushes out A's
    assert not pair.send(B, 100)
    pair.compare()
    pair.compare_statistics()
    pair.release()


def test_newcomer_that_replaces_all(gate: Callable[..., Gate]) -> None:
    """The parent must not see an empty class, not even for a moment."""
    d0 = gate("limit 1")
    pair = Pair(d0, 1)
    pair.send(A, 1000)
    pair.release()
    pair.send(A, 1000)
    before = d0.state()["notified"]
    assert pair.send(B, 100)
    pair.compare()
    assert (d0.state()["cn"], d0.state()["notified"]) == (1, before)
    pair.release()
    pair.change(limit=100, memory=5000)
    for _ in range(3):
        assert pair.send(A, 60)
    assert pair.send(C, 3000)  # leaves no room for anything else
    pair.compare()
    assert (d0.state()["cn"], pair.model.qlen) == (2, 1)
    pair.release()


def test_link_down_forgets_all(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 20")
    pair = Pair(d0, 20)
    for number in range(30):
        pair.send((A, B)[number % 2], 300 + number)
    pair.park(1)
    d0.bounce()
    assert (d0.state()["qlen"], d0.state()["backlog"], d0.show()["memory"]) == (0, 0, 0)
    assert (d0.show()["records"], d0.show()["flows_queued"]) == (0, 0)
    pair = Pair(d0, 20)
    for number in range(30):
        pair.send((A, B, C)[number % 3], 300 + number)
        pair.compare()
    pair.release()


@pytest.mark.parametrize("parked", [0, 1])
@pytest.mark.parametrize("new", ["replace parent 1:1 handle 20: las", "del parent 1:1"])
def test_graft_drops_all(gate: Callable[..., Gate], parked: int, new: str) -> None:
    d0 = gate()
    for number in range(30):
        d0.send((A, B, C)[number % 3].frame(300, number))
    d0.command(f"park {parked}")
    verb, rest = new.split(" ", 1)
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


def test_buffer_follows_the_link(gate: Callable[..., Gate]) -> None:
    """What may wait goes by what has been sent lately, while the queue is not empty."""
    d0 = gate("buffer 1s")
    for ident in range(200):
        d0.send(A.frame(1500, ident))
    assert d0.show()["room"] == 0  # not known
    time.sleep(0.2)
    assert d0.order(1) == [0]  # a link of 60 kbit/s at most
    assert (d0.show()["room"], d0.show()["drop_buffer"]) == (65536, 0)
    assert not d0.send(A.frame(1500, 200))  # another one goes with it, and no more
    assert (d0.show()["qlen"], d0.show()["drop_buffer"]) == (198, 2)
    accepted = 0
    while d0.show()["backlog"] > 65536:
        assert d0.send(B.frame(100, 1000 + accepted))
        accepted += 1
    drops = d0.show()["drop_buffer"]
    assert 200 + 1 + accepted == 1 + d0.show()["qlen"] + drops
    d0.change("limit 20000")  # forgets what was known
    assert d0.send(A.frame(1500, 201))
    kept = [*range(1, 200 - (drops - 1)), 201, *range(1000, 1000 + accepted)]
    assert sorted(d0.order()) == kept
    for ident in range(100):  # the link has been idle
        assert d0.send(A.frame(1500, ident))
    assert d0.show()["drop_buffer"] == drops
