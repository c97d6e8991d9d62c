# SPDX-License-Identifier: GPL-2.0
"""GSO packets, and the ranks of segments. What all kinds do with them: kinds/test_gso.py"""

from collections.abc import Callable

import pytest

from selftests.lib.gate import Flow, Gate, flow

from .pair import Pair

HUGE_IDLE = "idle 86400s"
UDP4, UDP6, TCP4, TCP6 = (flow(n) for n in range(4))
BOTH = pytest.mark.parametrize("each", [TCP4, TCP6], ids=["IPv4", "IPv6"])


@BOTH
def test_whole(gate: Callable[..., Gate], each: Flow) -> None:
    """It is one packet, and counts by all bytes that its segments will have."""
    d0 = gate(f"no_split_gso {HUGE_IDLE}")
    d0.send(flow(40).frame(1500, 1))
    d0.release()
    header = len(each.headers)
    assert d0.send_bundle(each, list(range(10)), 1000, 1000)
    length = 10 * (header + 1000)
    assert (d0.state()["qlen"], d0.state()["backlog"]) == (1, length)
    assert len(d0.release()[0]) == header + 10000
    d0.send(each.frame(90, 3))  # rank: all of it
    for ident in range(4, 20):
        d0.send(flow(40).frame(1514, ident))  # ranks 1500, 3014, ...
    served_before = 1500 + 1514 * d0.order().index(3)
    assert served_before >= length > served_before - 1514
    assert d0.show()["gso_split"] == 0


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 10])
def test_limit_within_a_bundle(gate: Callable[..., Gate], limit: int) -> None:
    """Its own end is dropped, or that of others, whichever is last in the order."""
    d0 = gate(f"split_gso limit {limit} {HUGE_IDLE}")
    pair = Pair(d0, limit)
    pair.send_bundle(TCP4, 8, 1000, 1000)  # alone
    pair.compare()
    pair.release()
    for step in range(6):
        for _ in range(step):
            pair.send(UDP6, 1200)
        pair.send_bundle(TCP6 if step % 2 else TCP4, 4, 900, 100)
        pair.compare()
        pair.send_bundle(flow(6), 2, 100, 100)  # ranks before the others, at least at first
        pair.compare()
        pair.park(step % 2)
        pair.send_bundle(TCP4, 3, 900, 100)
        pair.compare()
        pair.release(step)
        pair.compare()
    pair.compare()
    pair.release()


def test_bundle_that_is_dropped(gate: Callable[..., Gate]) -> None:
    """Nothing of it is left, which is a drop like any other."""
    d0 = gate(f"split_gso limit 3 {HUGE_IDLE}")
    pair = Pair(d0, 3)
    pair.send(TCP4, 1500)
    pair.release()
    for _ in range(3):
        pair.send(flow(41), 60 + 20)
    assert not pair.send_bundle(TCP4, 5, 1000, 1000)
    pair.compare()
    pair.compare_statistics()
    assert d0.show()["drops"] == 5
    pair.release()
