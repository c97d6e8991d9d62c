# SPDX-License-Identifier: GPL-2.0
"""What a flow is, and what becomes of its record."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import GRE, Dot1AD, Dot1Q
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from selftests.lib.gate import Flow, Gate, arp, ethertype, flow, flow_of, icmp

from .pair import Pair


def v4(src: str = "10.0.0.1", dst: str = "10.0.0.2", **header: Any) -> ScapyPacket:
    return IP(src=src, dst=dst, **header)


def v6(src: str = "fd00::1", dst: str = "fd00::2", **header: Any) -> ScapyPacket:
    return IPv6(src=src, dst=dst, **header)


def udp(sport: int = 1000, dport: int = 80) -> ScapyPacket:
    return UDP(sport=sport, dport=dport)


def tcp(sport: int = 1000, dport: int = 80, **header: Any) -> ScapyPacket:
    return TCP(sport=sport, dport=dport, **{"flags": "A"} | header)


def fragment4(offset: int, proto: int = 17, **header: Any) -> ScapyPacket:
    return v4(flags="MF", frag=offset, proto=proto, **header) / Raw(b"\xff" * 20)


def fragment6(offset: int, **header: Any) -> ScapyPacket:
    extension = IPv6ExtHdrFragment(nh=17, offset=offset, m=1, id=7)
    return v6(**header) / extension / Raw(bytes(16))


def extended(*payload: ScapyPacket) -> ScapyPacket:
    """Behind each kind of extension header that hosts put before TCP and UDP."""
    packet = v6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
    for part in (IPv6ExtHdrRouting(addresses=["fd00::7"]), IPv6ExtHdrDestOpt(), *payload):
        packet = packet / part
    return packet


def esp(spi: int) -> ScapyPacket:
    return v4(proto=50) / Raw(spi.to_bytes(4, "big") + bytes(20))


DIFFERENT = {
    "source port": (v4() / udp(), v4() / udp(sport=1001)),
    "destination port": (v4() / udp(), v4() / udp(dport=81)),
    "protocol": (v4() / udp(), v4() / tcp()),
    "source": (v4() / udp(), v4(src="10.0.0.3") / udp()),
    "destination": (v4() / udp(), v4(dst="10.0.0.3") / udp()),
    "direction": (v4() / udp(), v4("10.0.0.2", "10.0.0.1") / udp(80, 1000)),
    "addresses swapped": (v4() / udp(), v4("10.0.0.2", "10.0.0.1") / udp()),
    "v6 source port": (v6() / tcp(), v6() / tcp(sport=1001)),
    "v6 protocol": (v6() / udp(), v6() / tcp()),
    # words that have moved: these are the same in a sum or an exclusive or
    "v6 source": (v6("fd00::1:0:0:2") / udp(), v6("fd00::2:0:0:1") / udp()),
    "v6 words": (v6("fd00:0:1::1") / udp(), v6("fd00:0:0:0:1::1") / udp()),
    "v6 destination": (v6(dst="fd00::1:2:0:0") / udp(), v6(dst="fd00::2:1:0:0") / udp()),
    # the same bits in both families
    "family": (v4("10.0.0.1", "10.0.0.2") / udp(), v6("a00:1::", "a00:2::") / udp()),
    "mapped": (v4() / udp(), v6("::ffff:10.0.0.1", "::ffff:10.0.0.2") / udp()),
    "icmp": (v4() / ICMP(), v4() / udp()),
    "fragments' hosts": (fragment4(0), fragment4(0, dst="10.0.0.3")),
    "fragments and datagrams": (fragment4(2), v4() / udp()),
    "v6 fragments' hosts": (fragment6(0), fragment6(0, dst="fd00::3")),
    "v6 extensions, source port": (extended(udp()), extended(udp(sport=1001))),
    "v6 extensions, destination port": (extended(tcp()), extended(tcp(dport=81))),
    "v6 extensions, protocol": (extended(udp()), extended(tcp())),
    "vlan, source port": (Dot1Q(vlan=5) / v4() / udp(), Dot1Q(vlan=5) / v4() / udp(sport=1001)),
    "vlan, v6 source port": (Dot1Q(vlan=5) / v6() / tcp(), Dot1Q(vlan=5) / v6() / tcp(sport=1001)),
    "vlan in vlan": (
        Dot1AD(vlan=5) / Dot1Q(vlan=6) / v4() / udp(),
        Dot1AD(vlan=5) / Dot1Q(vlan=6) / v4() / udp(sport=1001),
    ),
    "tunnel": (v4() / GRE() / v4() / udp(), v4() / GRE() / v4() / udp(sport=1001)),
    "security parameters index": (esp(1), esp(2)),
}

SAME = {
    "ttl, tos and id": (v4() / udp(), v4(ttl=1, tos=0xB8, id=9) / udp()),
    "tcp's fields": (v4() / tcp(seq=1), v4() / tcp(seq=99, ack=5, flags="FPAU", window=1)),
    "ip options": (v4() / udp(), v4(options=[IPOption(b"\x01"), IPOption(b"\x00")]) / udp()),
    "v6 flow label": (v6(fl=0) / udp(), v6(fl=5, tc=3, hlim=9) / udp()),
    "fragments": (fragment4(0), fragment4(100)),
    "fragments of two datagrams": (fragment4(0, id=1), fragment4(2, id=2)),
    "v6 fragments": (fragment6(0), fragment6(100)),
    "v6 extensions": (extended(udp()), v6() / udp()),
    "vlan priority": (Dot1Q(vlan=5, prio=0) / v4() / udp(), Dot1Q(vlan=5, prio=7) / v4() / udp()),
    "with and without vlan": (Dot1Q(vlan=5) / v4() / udp(), v4() / udp()),
}


def sharing(d0: Gate, cases: dict[str, tuple[ScapyPacket, ScapyPacket]]) -> list[str]:
    """Which of the pairs share a record?"""
    found = []
    for case, packets in cases.items():
        d0.renew("flows 8")
        if d0.same_flow(*(flow_of(case, packet) for packet in packets)):
            found.append(case)
    return found


def test_different(gate: Callable[..., Gate]) -> None:
    assert sharing(gate(), DIFFERENT) == []


def test_same(gate: Callable[..., Gate]) -> None:
    assert sharing(gate(), SAME) == list(SAME)


def test_spread(gate: Callable[..., Gate]) -> None:
    """In whatever part of addresses or ports many flows differ, they do not meet in the table."""
    d0 = gate()
    for packet, first, end in ((v4() / udp(), 26, 38), (v6() / udp(), 22, 58)):
        headers = flow_of("", packet).headers
        for at in range(first, end, 2):
            d0.renew("flows 4096")
            for number in range(128):
                part = number.to_bytes(2, "big")
                d0.send(Flow("", headers[:at] + part + headers[at + 2 :]).frame(100, number))
            assert d0.show()["overflow"] == 0, f"bytes {at} and {at + 1}"


def test_not_ip(gate: Callable[..., Gate]) -> None:
    """One flow for each EtherType, and one per protocol and hosts for what has no ports."""
    d0 = gate("idle 86400s")
    pair = Pair(d0, 10000)
    for number in range(1, 6):
        others = [arp(number), icmp(number), ethertype(0x88B5), ethertype(0x88B6 + number)]
        for each in [*others, flow(number)]:
            pair.send(each, 70 + 10 * number)
    pair.compare()
    pair.compare_statistics()
    pair.release()


def test_runts_and_garbage(gate: Callable[..., Gate]) -> None:
    """Headers that are cut short or lie about their length are packets like others."""
    d0 = gate()
    whole = bytes(v4() / udp()) + bytes(8)
    ethernet = flow(0).headers[:12]
    sent = []
    for kind in (b"\x08\x00", b"\x86\xdd", b"\x81\x00", b"\x88\x47", b"\x08\x06"):
        for end in range(0, 36, 5):
            sent.append(ethernet + kind + whole[:end])
        sent.append(ethernet + kind + b"\xff" * 46)
        sent.append(ethernet + kind + b"\x4f" * 46)
    for frame in sent:
        assert d0.send(frame)
    assert d0.state()["qlen"] == len(sent)
    assert sorted(d0.release()) == sorted(sent)


def test_idle_flow_is_forgotten(gate: Callable[..., Gate]) -> None:
    d0 = gate("idle 86400s")
    silent, other = flow(0), flow(1)
    d0.send(silent.frame(1000, 0))
    d0.send(other.frame(500, 1))
    d0.release()
    d0.change("idle 1ms")
    time.sleep(0.1)
    d0.send(silent.frame(1000, 2))  # rank 0, no longer 1000
    d0.change("idle 86400s")
    d0.send(other.frame(500, 3))  # rank 500
    assert d0.order() == [2, 3]


def test_flow_that_speaks_is_not_forgotten(gate: Callable[..., Gate]) -> None:
    d0 = gate("idle 86400s")
    d0.send(flow(0).frame(1000, 0))
    d0.send(flow(1).frame(500, 1))
    d0.release()
    time.sleep(0.1)
    d0.send(flow(0).frame(1000, 2))
    d0.send(flow(1).frame(500, 3))
    assert d0.order() == [3, 2]


def test_flow_with_packets_is_not_forgotten(gate: Callable[..., Gate]) -> None:
    d0 = gate("idle 86400s")
    d0.send(flow(1).frame(500, 0))
    d0.release()
    d0.send(flow(0).frame(1000, 1))
    d0.change("idle 1ms")
    time.sleep(0.1)
    d0.send(flow(0).frame(1000, 2))  # rank 1000, not 0
    d0.change("idle 86400s")
    d0.send(flow(1).frame(500, 3))  # rank 500
    assert d0.order() == [1, 3, 2]


def test_idle_record_is_reused_without_eviction(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 idle 1ms")
    for number in range(8):
        d0.send(flow(number).frame(1000, number))
    d0.release()
    time.sleep(0.1)
    d0.send(flow(8).frame(1000, 8))
    shown = d0.show()
    assert (shown["evictions"], shown["overflow"], shown["flows_seen"]) == (0, 0, 9)


def test_evicted_is_who_is_silent_for_longest(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 idle 86400s")
    pair = Pair(d0, 10000, records=8)
    pair.pause = 0.05
    for number in (3, 1, 4, 0, 2, 5, 6, 7):
        pair.send(flow(number), 1000 - 100 * number)
        pair.release()
    pair.send(flow(8), 100)  # takes the record of flow 3
    shown = d0.show()
    assert (shown["evictions"], shown["records"], shown["overflow"]) == (1, 8, 0)
    pair.send(flow(4), 100)  # rank 600 still
    pair.send(flow(3), 100)  # rank 0: forgotten; takes that of flow 1
    pair.send(flow(1), 100)  # rank 0; takes that of flow 0
    pair.send(flow(2), 100)
    pair.release()
    assert d0.show()["evictions"] == pair.model.evictions == 3


@pytest.mark.clock  # they leave in one jiffy
def test_evicted_is_who_attained_least_of_those(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 limit 8 idle 86400s")
    for number, length in enumerate([700, 300, 500, 200, 400, 900, 800, 600]):
        d0.send(flow(number).frame(length, number))
    d0.release()
    d0.send(flow(8).frame(100, 8))
    d0.send(flow(3).frame(100, 3))
    shown = d0.show()
    assert (shown["evictions"], shown["records"], shown["overflow"]) == (2, 8, 0)


def test_overflow_ranks_last_in_order_of_arrival(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 limit 20")
    for number in range(8):
        d0.send(flow(number).frame(1000, number))
    d0.send(flow(8).frame(100, 20))
    d0.send(flow(9).frame(100, 21))
    d0.send(flow(8).frame(100, 22))
    for number in range(8):
        d0.send(flow(number).frame(1000, 10 + number))
    assert d0.show()["overflow"] == 3
    assert d0.order() == [*range(8), *range(10, 18), 20, 21, 22]


def test_flow_in_overflow_keeps_its_order(gate: Callable[..., Gate]) -> None:
    """It finds a free record only when none of its packets waits without one any more."""
    d0 = gate("flows 8 idle 86400s")
    pair = Pair(d0, 10000, records=8)
    for number in range(8):
        pair.send(flow(number), 1000)
    pair.send(flow(8), 100)
    pair.send(flow(9), 100)
    pair.release(3)  # three records without packets
    pair.send(flow(8), 100)
    pair.send(flow(10), 100)  # a newcomer to the set waits likewise
    pair.send(flow(0), 100)  # has a record
    pair.release(6)
    assert pair.model.overflow == 4
    pair.change(limit=2)  # drops two of the four
    pair.release(2)
    pair.change(limit=1000)
    pair.send(flow(0), 3000)
    pair.send(flow(9), 200)  # rank 0
    pair.release()
    assert d0.show()["overflow"] == pair.model.overflow == 4
    for number in range(8):
        pair.send(flow(number), 1000)
    pair.send(flow(10), 100)
    d0.bounce()  # a reset forgets those that wait
    pair = Pair(d0, 10000, records=8)
    pair.send(flow(10), 1000)
    pair.send(flow(0), 100)
    pair.send(flow(10), 100)
    pair.release()


def test_overflow_is_dropped_first(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 limit 10")
    for number in range(8):
        d0.send(flow(number).frame(1000, number))
    assert d0.send(flow(8).frame(100, 20))
    assert d0.send(flow(9).frame(100, 21))
    assert not d0.send(flow(8).frame(100, 22))
    assert d0.send(flow(0).frame(1000, 10))  # pushes out 21
    assert d0.order() == [*range(8), 10, 20]


def test_more_flows_than_queues(gate: Callable[..., Gate]) -> None:
    """A large table has a queue for half of its flows. The others overflow, in order."""
    d0 = gate("flows 512 limit 5000")
    for number in range(400):
        assert d0.send(flow(number).frame(100, number))
    shown = d0.show()
    assert shown["flows_queued"] == 257  # with the overflow queue
    assert shown["overflow"] == 400 - 256
    order: list[int] = d0.order(100)
    sent = {number: [number] for number in range(400)}
    rng = random.Random(1)
    for ident in range(400, 2400):
        number = rng.randrange(400)
        assert d0.send(flow(number).frame(100, ident))
        sent[number].append(ident)
        if ident % 8 == 0:
            order += d0.order(rng.randrange(10))
    order += d0.order()
    assert len(order) == 2400
    for idents in sent.values():
        assert [ident for ident in order if ident in idents] == idents
    before = d0.show()["overflow"]
    assert d0.send(flow(0).frame(100, 0))
    shown = d0.show()
    assert (shown["flows_queued"], shown["overflow"]) == (1, before)


@pytest.mark.parametrize("flags", ["S", "SA"])
@pytest.mark.parametrize("number", [2, 3])
def test_syn_begins_a_flow(gate: Callable[..., Gate], number: int, flags: str) -> None:
    d0 = gate()
    for _ in range(10):  # unless the machine pauses
        d0.renew()
        began = time.monotonic()
        d0.send(flow(number).frame(1000, 0))
        d0.send(flow(0).frame(500, 1))
        d0.release()
        d0.send(flow(number, flags).frame(80, 2))  # rank 1000: it has been silent for too short
        if time.monotonic() - began < 0.8:
            break
    d0.send(flow(0).frame(200, 3))  # rank 500
    assert d0.order() == [3, 2]
    time.sleep(1.1)
    d0.send(flow(number, flags).frame(80, 4))  # rank 0
    d0.send(flow(0).frame(500, 5))  # rank 700
    d0.send(flow(number).frame(600, 6))  # rank 80
    d0.send(flow(number).frame(100, 7))  # rank 680
    d0.send(flow(number, flags).frame(80, 8))  # rank 780, since packets are waiting
    d0.send(flow(4).frame(60, 9))  # rank 0
    assert d0.order() == [4, 9, 6, 7, 5, 8]


def test_what_is_no_syn(gate: Callable[..., Gate]) -> None:
    """A UDP datagram or a fragment with the same byte where TCP has its flags."""
    d0 = gate()
    for packet in (v4() / udp() / Raw(b"\xff" * 40), fragment4(0, proto=6), fragment4(9, proto=6)):
        each = flow_of("", packet)
        d0.renew()
        d0.send(each.frame(1000, 0))
        d0.send(flow(0).frame(500, 1))
        d0.release()
        d0.send(each.frame(1000, 2))  # rank 1000
        d0.send(flow(0).frame(500, 3))  # rank 500
        assert d0.order() == [3, 2]
