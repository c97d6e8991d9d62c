# SPDX-License-Identifier: GPL-2.0
"""GSO packets in all kinds, split and whole."""

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Flow, Gate, flow

UDP_SEGMENT = 103  # socket option
HUGE_IDLE = "idle 86400s"
UDP4, UDP6, TCP4, TCP6 = (flow(n) for n in range(4))
BOTH = pytest.mark.parametrize("each", [TCP4, TCP6], ids=["IPv4", "IPv6"])


@BOTH
def test_split(gate: Callable[..., Gate], pair_of: Callable[..., Any], each: Flow) -> None:
    """Each segment is a packet: counted, ranked and sent by itself."""
    d0 = gate(f"split_gso {HUGE_IDLE}")
    pair = pair_of(d0, 10000)
    pair.send(flow(40), 1000)
    pair.release()
    pair.send_bundle(each, 10, 1000, 300)
    pair.compare()
    pair.send(flow(40), 500)  # after the first
    pair.send_bundle(each, 2, 700, 700)
    pair.send_bundle(each, 3, 1400, 4)
    pair.compare()
    assert (d0.show()["gso_split"], d0.show()["qlen"]) == (3, 16)
    frames = d0.release()
    idents = [int.from_bytes(frame[-4:], "big") for frame in frames]
    assert idents == pair.model.release()
    lengths = [len(frame) for frame in frames if frame[12:54] != flow(40).headers[12:54]]
    header = len(each.headers)
    assert sorted(lengths)[-2:] == [header + 1400] * 2
    assert d0.show()["bytes"] == sum(map(len, frames)) + 1000
    assert d0.show()["packets"] == 17


@pytest.mark.clock
def test_auto_goes_by_the_measured_rate(gate: Callable[..., Gate]) -> None:
    """Two segments take the link 20 ms, but nobody knows it before it was busy for a while."""
    d0 = gate("split_gso auto buffer 10s")
    assert d0.send_bundle(TCP4, [100, 101], 1000, 1000)
    assert d0.show()["qlen"] == 1
    for ident in range(40):
        d0.send(TCP6.frame(1000, ident))
    for _ in range(30):
        time.sleep(0.01)
        d0.release(1)
    assert d0.show()["gso_split"] == 0
    qlen = d0.show()["qlen"]
    assert d0.send_bundle(TCP4, [102, 103], 1000, 1000)
    assert (d0.show()["gso_split"], d0.show()["qlen"]) == (1, qlen + 2)


def test_bundle_that_replaces_all(gate: Callable[..., Gate], pair_of: Callable[..., Any]) -> None:
    """The parent counts none of it and must not take its class for empty."""
    d0 = gate(f"split_gso limit 2 {HUGE_IDLE}")
    pair = pair_of(d0, 2)
    pair.send(UDP4, 1000)
    pair.release()
    pair.send(UDP4, 1000)
    pair.send(UDP4, 1000)
    cn = d0.state()["cn"]
    assert pair.send_bundle(TCP6, 3, 100, 100)  # two of them are left
    pair.compare()
    assert d0.state()["cn"] == cn + 1
    pair.release()


def test_memory_of_segments(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"split_gso memory_limit 30000b {HUGE_IDLE}")
    assert d0.send_bundle(TCP4, list(range(40)), 1000, 1000)
    shown = d0.show()
    assert 20000 < shown["memory"] <= 30000
    assert 0 < shown["qlen"] < 40 and shown["drop_memory"] == 40 - shown["qlen"]
    assert shown["memory"] % shown["qlen"] == 0  # all alike
    assert d0.order() == list(range(shown["qlen"]))
    assert d0.show()["memory"] == 0


def test_split_udp(gate: Callable[..., Gate]) -> None:
    """From a socket, since not every kernel takes such packets from elsewhere."""
    d0 = gate(f"split_gso {HUGE_IDLE}")
    run("ip addr add 192.0.2.1/24 dev d0")
    run("ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev d0")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 500)
            sock.connect(("192.0.2.2", 9))
            sock.send(bytes(1700))
            shown = d0.show()
            assert (shown["gso_split"], shown["qlen"]) == (1, 4)
            assert shown["backlog"] == d0.state()["backlog"] == 1700 + 4 * 42
            assert [len(frame) for frame in d0.release()] == [542, 542, 542, 242]
            d0.change("no_split_gso")
            sock.send(bytes(1700))
            shown = d0.show()
            assert (shown["gso_split"], shown["qlen"]) == (1, 1)
            assert shown["backlog"] == d0.state()["backlog"] == 1700 + 4 * 42
            d0.release()
    finally:
        run("ip addr del 192.0.2.1/24 dev d0")


@pytest.mark.parametrize("table", ["linklayer atm mtu 2048 tsize 512", ""])
def test_size_table(gate: Callable[..., Gate], table: str) -> None:
    """Each segment has the length it would have had by itself."""
    d0 = gate(f"split_gso {HUGE_IDLE}", stab=f"stab overhead 40 {table}")
    for length in (1054, 1054, 1054, 700, 100):
        d0.send(TCP4.frame(length, 1))
    single = d0.state()["backlog"]
    d0.release()
    plain = 3 * 1054 + 700 + 100 + 5 * 40
    assert single > plain if table else single == plain
    assert d0.send_bundle(TCP4, [1, 2, 3], 1000, 646)
    d0.send(TCP4.frame(1054, 4))
    d0.send(TCP4.frame(100, 5))
    assert d0.state()["backlog"] == single
    assert d0.order() == [1, 2, 3, 4, 5]
