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


def test_buffer_follows_the_link(gate: Callable[..., Gate], kind: str, low: int, room: int) -> None:
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
    accepted, drops = 0, 0
    while drops != d0.show()["drop_buffer"]:
        drops = d0.show()["drop_buffer"]
        assert d0.send(B.frame(100, 1000 + accepted))
        accepted += 1
    # las and sqf let an eighth more wait, for B, but no more than B has waiting.
    spared = min(room // 8, 100 * accepted) if "known_share" in of(kind) else 0
    assert room - 2 * 1500 < d0.show()["backlog"] <= room + spared
    assert 200 + 1 + accepted == 1 + d0.show()["qlen"] + drops
    d0.change("limit 20000")  # forgets nothing
    assert d0.show()["room"] == room
    d0.change("buffer 0ms")
    assert d0.show()["room"] == 0
    assert d0.send(A.frame(1500, 201), low)
    kept = [*range(1, 200 - (drops - 1)), 201, *range(1000, 1000 + accepted)]
    assert sorted(d0.order()) == kept
    d0.change("buffer 60s")
    most = d0.show()["room"]  # it may have been measured anew meanwhile
    d0.change("buffer 10ms")
    assert room <= d0.show()["room"] <= most
    assert d0.show()["drop_buffer"] == drops


def test_less_buffer_drops_as_more_comes(gate: Callable[..., Gate], low: int, room: int) -> None:
    d0 = gate("buffer 60s")
    for ident in range(200):
        d0.send(A.frame(1500, ident), low)
    time.sleep(0.2)
    d0.order(1)
    d0.change("buffer 1s")
    shown = d0.show()
    assert (shown["qlen"], shown["drop_buffer"], shown["room"]) == (199, 0, room)
    assert not d0.send(A.frame(1500, 200), low)
    assert (d0.show()["qlen"], d0.show()["drop_buffer"]) == (198, 2)


@pytest.mark.clock
def test_a_pause_is_not_measured(gate: Callable[..., Gate], low: int) -> None:
    """Nor is the link known by what was sent before it"""
    d0 = gate("buffer 1s")
    for ident in range(2):
        for _ in range(50):
            d0.send(A.frame(1500, ident), low)
        d0.release()
        assert d0.show()["room"] == 0
        time.sleep(0.3)


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
