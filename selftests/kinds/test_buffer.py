# SPDX-License-Identifier: GPL-2.0
"""What waits is bounded by the link's rate. Other limits: test_limits.py"""

import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow
from selftests.lib.options import of

A, B = flow(0), flow(2)
pytestmark = pytest.mark.has("buffer")


@pytest.fixture
def low(kind: str) -> int:
    """The class of the packets of A that go before those of B: without bands A has attained more"""
    return 0x100002 if "guarantee" in of(kind) else 0


@pytest.fixture
def room(kind: str) -> int:
    return of(kind).room


def test_buffer_follows_the_link(gate: Callable[..., Gate], low: int, room: int) -> None:
    """What may wait goes by what has been sent lately, while the queue is not empty."""
    d0 = gate("buffer 1s")
    for ident in range(200):
        d0.send(A.frame(1500, ident), low)
    assert d0.show()["room"] == 0  # not known
    time.sleep(0.2)
    assert d0.order(1) == [0]  # a link of 60 kbit/s at most
    assert (d0.show()["room"], d0.show()["drop_buffer"]) == (room, 0)
    assert not d0.send(A.frame(1500, 200), low)  # another one goes with it, and no more
    assert (d0.show()["qlen"], d0.show()["drop_buffer"]) == (198, 2)
    accepted = 0
    while d0.show()["backlog"] > room:
        assert d0.send(B.frame(100, 1000 + accepted))
        accepted += 1
    drops = d0.show()["drop_buffer"]
    assert 200 + 1 + accepted == 1 + d0.show()["qlen"] + drops
    d0.change("limit 20000")  # forgets what was known
    assert d0.send(A.frame(1500, 201), low)
    kept = [*range(1, 200 - (drops - 1)), 201, *range(1000, 1000 + accepted)]
    assert sorted(d0.order()) == kept
    d0.change("limit 20001")  # whether that took long enough to be measured or not
    for ident in range(room // 1500 + 2):
        assert d0.send(A.frame(1500, ident), low)
    assert d0.show()["drop_buffer"] == drops


def test_one_packet_may_wait(gate: Callable[..., Gate], low: int, room: int) -> None:
    """However long it is, but not two that are too much together."""
    d0 = gate("buffer 1s split_gso off")
    for ident in range(2):
        d0.send(A.frame(100, ident), low)
    time.sleep(0.2)
    d0.release()
    assert d0.show()["room"] == room
    for ident in range(3):
        d0.send_bundle(B, [ident] * (room // 1400), 1400, 1400)
        assert d0.show()["qlen"] == 1
    assert d0.show()["drop_buffer"] == 2


def test_buffer_counts_its_own_drops(gate: Callable[..., Gate], low: int, room: int) -> None:
    """It drops two for itself beside what another limit drops."""
    d0 = gate()
    d0.send(A.frame(1500, 0), low)
    truesize = d0.state()["last_truesize"]
    d0.renew(f"buffer 1s memory_limit {100 * truesize}b")
    for ident in range(100):
        assert d0.send(A.frame(1500, ident), low)
    time.sleep(0.2)
    d0.release(1)
    assert d0.show()["room"] == room
    assert d0.send(B.frame(8000, 200))
    shown = d0.show()
    assert shown["drop_memory"] >= 2 and shown["drop_buffer"] == 2
