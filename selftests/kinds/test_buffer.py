# SPDX-License-Identifier: GPL-2.0
"""What waits is bounded by the link's rate, in las, run2c and sift. Other limits: test_limits.py"""

import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow

A, B = flow(0), flow(2)
# The packets of A that go before those of B: in las A has attained more
LOW = {"las": 0, "run2c": 0x100002, "sift": 0x100002}
ROOM = {"las": 65536, "run2c": 16384, "sift": 16384}  # however slow the link is


pytestmark = pytest.mark.parametrize("kind", LOW)


def test_buffer_follows_the_link(gate: Callable[..., Gate], kind: str) -> None:
    """What may wait goes by what has been sent lately, while the queue is not empty."""
    d0 = gate("buffer 1s")
    for ident in range(200):
        d0.send(A.frame(1500, ident), LOW[kind])
    assert d0.show()["room"] == 0  # not known
    time.sleep(0.2)
    assert d0.order(1) == [0]  # a link of 60 kbit/s at most
    assert (d0.show()["room"], d0.show()["drop_buffer"]) == (ROOM[kind], 0)
    assert not d0.send(A.frame(1500, 200), LOW[kind])  # another one goes with it, and no more
    assert (d0.show()["qlen"], d0.show()["drop_buffer"]) == (198, 2)
    accepted = 0
    while d0.show()["backlog"] > ROOM[kind]:
        assert d0.send(B.frame(100, 1000 + accepted))
        accepted += 1
    drops = d0.show()["drop_buffer"]
    assert 200 + 1 + accepted == 1 + d0.show()["qlen"] + drops
    d0.change("limit 20000")  # forgets what was known
    assert d0.send(A.frame(1500, 201), LOW[kind])
    kept = [*range(1, 200 - (drops - 1)), 201, *range(1000, 1000 + accepted)]
    assert sorted(d0.order()) == kept
    for ident in range(100):  # the link has been idle
        assert d0.send(A.frame(1500, ident), LOW[kind])
    assert d0.show()["drop_buffer"] == drops


def test_buffer_counts_its_own_drops(gate: Callable[..., Gate], kind: str) -> None:
    """It drops two for itself beside what another limit drops."""
    d0 = gate()
    d0.send(A.frame(1500, 0), LOW[kind])
    truesize = d0.state()["last_truesize"]
    d0.renew(f"buffer 1s memory_limit {100 * truesize}b")
    for ident in range(100):
        assert d0.send(A.frame(1500, ident), LOW[kind])
    time.sleep(0.2)
    d0.release(1)
    assert d0.show()["room"] == ROOM[kind]
    assert d0.send(B.frame(8000, 200))
    shown = d0.show()
    assert shown["drop_memory"] >= 2 and shown["drop_buffer"] == 2
