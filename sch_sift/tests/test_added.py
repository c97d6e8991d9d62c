# SPDX-License-Identifier: GPL-2.0
"""Who sets flags does not go first for it: what is not the article's."""

import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow

A = flow(2)


def bands(d0: Gate) -> tuple[int, int]:
    shown = d0.show()
    return shown["high_qlen"], shown["low_qlen"]


@pytest.mark.parametrize("flags", ["FA", "RA", "R", "S", "SA"])
@pytest.mark.parametrize("each", [1, 2, 12])
def test_flag_forgets_nothing(gate: Callable[..., Gate], flags: str, each: int) -> None:
    """While data flows: only what comes before the first sample is high."""
    d0 = gate("every 5 linger 60s")
    for ident in range(200):
        d0.send(flow(2, "A" if ident % each else flags).frame(1000, ident))
        d0.release()
    shown = d0.show()
    assert (shown["high_packets"], shown["low_packets"]) == (4, 196)
    assert (shown["records"], shown["flows_sampled"]) == (1, 1)


@pytest.mark.parametrize("flags", ["FA", "RA", "S"])
def test_lingers(gate: Callable[..., Gate], flags: str) -> None:
    """The flow begins anew when nothing has come for so long, and not before."""
    d0 = gate()
    for _ in range(10):  # unless the machine pauses
        d0.renew("every 1 linger 1s")
        began = time.monotonic()
        d0.send(A.frame(100, 1))
        d0.send(flow(2, flags).frame(100, 2))
        d0.change("probability 0")
        d0.order()
        d0.send(A.frame(100, 3))
        d0.send(flow(2, flags).frame(100, 4))
        if time.monotonic() - began < 0.8:
            break
    assert bands(d0) == (0, 2)
    d0.order()
    time.sleep(1.5)
    d0.send(A.frame(100, 5))
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 0)


def test_data_goes_on(gate: Callable[..., Gate]) -> None:
    """After a FIN that was none: silence alone does not end a flow before `idle`."""
    d0 = gate("every 1 linger 200ms")
    d0.send(flow(2, "FA").frame(100, 1))
    d0.send(A.frame(100, 2))
    d0.change("probability 0")
    d0.order()
    time.sleep(0.6)
    d0.send(A.frame(100, 3))
    assert bands(d0) == (0, 1)


def test_syn_after_silence(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1 linger 200ms")
    d0.send(A.frame(100, 1))
    d0.change("probability 0")
    time.sleep(0.6)
    d0.send(flow(2, "S").frame(100, 2))
    assert bands(d0) == (0, 2)  # not while it has packets
    d0.order()
    time.sleep(0.6)
    d0.send(flow(2, "S").frame(100, 3))
    assert (bands(d0), d0.show()["records"]) == ((1, 0), 0)


def test_ended_ones_go_first(gate: Callable[..., Gate]) -> None:
    """Of a full table the record that lingers, before those that were silent for longer"""
    d0 = gate("every 1 flows 8 linger 100ms idle 86400s")
    for number in range(8):
        d0.send(flow(2 + 4 * number, "FA" if number == 5 else "A").frame(100, number))
        d0.order()
        time.sleep(0.02)
    time.sleep(0.3)
    d0.send(flow(50).frame(100, 20))
    d0.order()
    assert (d0.show()["records"], d0.show()["evictions"]) == (8, 0)
    d0.change("probability 0")
    for number in range(8):
        d0.send(flow(2 + 4 * number).frame(100, number))
    assert bands(d0) == (1, 7) and d0.order(1) == [5]


def test_ended_lately_goes_like_others(gate: Callable[..., Gate]) -> None:
    """While it lingers it is not the first to go: that is who has been silent for longest."""
    d0 = gate("every 1 flows 8 linger 60s idle 86400s")
    for number in range(8):
        d0.send(flow(2 + 4 * number, "FA" if number == 5 else "A").frame(100, number))
        d0.order()
        time.sleep(0.02)
    d0.send(flow(50).frame(100, 20))
    d0.order()
    assert d0.show()["evictions"] == 1
    d0.change("probability 0")
    for number in range(8):
        d0.send(flow(2 + 4 * number).frame(100, number))
    assert bands(d0) == (1, 7) and d0.order(1) == [0]


def test_new_ports_leave_a_part(gate: Callable[..., Gate]) -> None:
    """As it is by default: a port for each packet is high, and others have their part."""
    d0 = gate("guarantee 30 queues 256 buffer 0 limit 100 probability 0.3 bytes slow 144kbit")
    out = []
    for ident in range(600):
        for number in range(2):
            d0.send(flow(4 * (10 + 2 * ident + number)).frame(1000, 0))
        d0.send(A.frame(1000, 1))
        out += d0.order(1)
    assert out[100:].count(1) >= 0.25 * len(out[100:])
