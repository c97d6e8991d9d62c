# SPDX-License-Identifier: GPL-2.0
"""Segments of TCP in headers of many shapes, the gate above run2c, and the model beside it."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, reduce
from operator import truediv
from typing import Any

from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import GRE, Dot1Q
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from selftests.lib.gate import Flow, Gate, flow_of
from selftests.lib.pair import CLASSES, BandsPair, Sent
from selftests.lib.told import classes

from .model import HIGH, LOW, NUMBERS, Model, Packet

FAULT = "the kernel differs from its model"  # selftests/report.py
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16}
V4 = {"src": "10.0.0.1", "dst": "10.0.0.2"}
V6 = {"src": "fd00::1", "dst": "fd00::2"}
AUTHENTICATION = 51


@dataclass(frozen=True)
class Segment(Flow):
    """What `name` says is the key of its record."""

    seq: int | None = None  # None: it has no rank
    flags: str = ""
    learned: bool = False


def _authenticated(transport: ScapyPacket) -> ScapyPacket:
    """The length is in 32-bit words, less two."""
    return Raw(struct.pack("!BBHII", 6, 4, 0, 1, 1) + bytes(12)) / transport


# Around a header of TCP, which is the last. A record is kept of these,
LEARNED = {
    "4": lambda tcp: IP(**V4) / tcp,
    "6": lambda tcp: IPv6(**V6) / tcp,
    "4, options": lambda tcp: IP(options=[IPOption(b"\x01\x01\x01\x00")], **V4) / tcp,
    "6, hop by hop": lambda tcp: IPv6(**V6) / IPv6ExtHdrHopByHop() / tcp,
    "6, more": lambda tcp: IPv6(**V6) / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt() / tcp,
    "4, VLAN": lambda tcp: Dot1Q(vlan=7) / IP(**V4) / tcp,
    "6, VLAN": lambda tcp: Dot1Q(vlan=7) / IPv6(**V6) / tcp,
    "4, options, VLAN": lambda tcp: Dot1Q() / IP(options=[IPOption(b"\1\1\1\0")], **V4) / tcp,
    "6, hop by hop, VLAN": lambda tcp: Dot1Q() / IPv6(**V6) / IPv6ExtHdrHopByHop() / tcp,
    "4, QinQ": lambda tcp: Dot1Q(vlan=7) / Dot1Q(vlan=8) / IP(**V4) / tcp,
    "6, QinQ": lambda tcp: Dot1Q(vlan=7) / Dot1Q(vlan=8) / IPv6(**V6) / tcp,
}
# these have a rank all the same,
RANKED = {
    "4, first fragment": lambda tcp: IP(flags="MF", **V4) / tcp,
    "6, first fragment": lambda tcp: IPv6(**V6) / IPv6ExtHdrFragment(m=1) / tcp,
    "6, authenticated": lambda tcp: IPv6(nh=AUTHENTICATION, **V6) / _authenticated(tcp),
}
# and these have none.
UNRANKED = {
    "4, later fragment": lambda tcp: IP(frag=100, proto=6, **V4) / tcp,
    "4, last fragment": lambda tcp: IP(frag=100, flags="MF", proto=6, **V4) / tcp,
    "6, later fragment": lambda tcp: IPv6(**V6) / IPv6ExtHdrFragment(offset=99, nh=6) / tcp,
    "tunnel, 4 in 4": lambda tcp: IP(**V4) / IP(src="192.0.2.1", dst="192.0.2.2") / tcp,
    "tunnel, 6 in 4": lambda tcp: IP(**V4) / IPv6(src="fd00::3", dst="fd00::4") / tcp,
    "tunnel, 4 in 6": lambda tcp: IPv6(**V6) / IP(src="192.0.2.1", dst="192.0.2.2") / tcp,
    "tunnel, GRE": lambda tcp: IP(**V4) / GRE() / IP(src="192.0.2.1", dst="192.0.2.2") / tcp,
    "4, authenticated": lambda tcp: IP(proto=AUTHENTICATION, **V4) / _authenticated(tcp),
    "ESP": lambda tcp: IP(proto=50, **V4) / Raw(bytes(tcp)),
    "UDP": lambda tcp: IP(**V4) / UDP(sport=0, dport=80) / Raw(bytes(tcp)),
}
# Nor has it here, where the kernel finds ports all the same.
STRANGE = {
    "6, wrong version": lambda tcp: IPv6(version=7, **V6) / tcp,
    "6, nine extensions": lambda tcp: IPv6(**V6) / reduce(truediv, [IPv6ExtHdrDestOpt()] * 9) / tcp,
}
SHAPES = LEARNED | RANKED | UNRANKED | STRANGE


@cache
def _headers(shape: str) -> bytes:
    return flow_of("", SHAPES[shape](TCP(sport=0, dport=80))).headers


def _name(shape: str, number: int) -> str:
    """Fragments have no ports, and what is encrypted has a number (SPI) in their place."""
    if shape.endswith("fragment"):
        return f"{shape[0]}, fragments"
    if shape.startswith("tunnel"):
        return f"inner {'6' if shape == 'tunnel, 6 in 4' else '4'}, port {1024 + number}"
    if shape == "ESP":
        return f"ESP, {1024 + number}"
    return f"{shape[0]}, port {1024 + number}" if shape in LEARNED else shape


def segment(number: int, seq: int, flags: str = "A", shape: str = "4") -> Segment:
    """Of the connection of this number. The sequence number is modulo 2^32."""
    headers = bytearray(_headers(shape))
    struct.pack_into("!H", headers, len(headers) - 20, 1024 + number)
    struct.pack_into("!I", headers, len(headers) - 16, seq % NUMBERS)
    headers[-7] = sum(FLAGS[flag] for flag in flags)
    return Segment(
        _name(shape, number),
        bytes(headers),
        "S" in flags,
        seq % NUMBERS if shape in LEARNED | RANKED else None,
        flags,
        shape in LEARNED,
    )


def as_segment(flow: Flow) -> Segment:
    """What lib.gate has made"""
    if isinstance(flow, Segment):
        return flow
    ethertype, protocol = flow.headers[12:14], {b"\x08\x00": 23, b"\x86\xdd": 20}
    if ethertype not in protocol or flow.headers[protocol[ethertype]] != 6:
        return Segment(flow.name, flow.headers)
    seq = struct.unpack_from("!I", flow.headers, len(flow.headers) - 16)[0]
    flags = "".join(flag for flag, bit in FLAGS.items() if flow.headers[-7] & bit)
    return Segment(flow.name, flow.headers, flow.begins, seq, flags, True)


class Pair(BandsPair):
    """For a gate whose run2c has `no_learn` unless told otherwise"""

    def __init__(
        self, gate: Gate, limit: int = 1000, flows: Iterable[Flow] = (), **options: Any
    ) -> None:
        super().__init__(gate, Model(limit, **options))
        self.find_queues(flows)

    def expected(
        self, flow: Flow, packets: list[Sent], band: int | None = None, whole: int = 1
    ) -> bool:
        """`whole`: so many segments are one packet"""
        of, queue = as_segment(flow), self.queue_of(flow)
        sent, seq = [], of.seq
        for ident, length, truesize in packets:
            data = length - whole * len(of.headers)
            told = {"data": data if length > 60 else 0, "numbered": of.learned, "queue": queue}
            sent.append(Packet(ident, of.name, length, truesize, seq, **told))
            if seq is not None:
                seq = (seq + data) % NUMBERS
        return self.model.enqueue(*sent, flags=of.flags, band=band)

    def send(self, flow: Flow, length: int, band: int | None = None) -> bool:
        return super().send(flow, length, CLASSES.get(band, 0), band=band)

    def send_whole(self, flow: Flow, segments: int, size: int) -> bool:
        """A bundle, for a qdisc that does not split."""
        length = segments * (len(flow.headers) + size)
        sent = [(self.sent + 1, length, 0)]
        if self.model.queues > 1 and self.ties(lambda: self.expected(flow, sent, whole=segments)):
            return True
        self.sent += 1
        accepted = self.gate.send_bundle(flow, [self.sent] * segments, size, size)
        truesize = self.gate.state()["last_truesize"]
        expected = self.expected(flow, [(self.sent, length, truesize)], whole=segments)
        assert accepted == expected, f"bundle {self.sent}: accepted {accepted}, not {expected}"
        return accepted

    def change(self, **options: Any) -> None:
        if self.model.queues > 1 and self.ties(lambda: self.model.change(**options)):
            return
        self.gate.change(words(options))
        self.model.change(**options)

    def statistics(self) -> dict[str, Any]:
        model = self.model
        listed = sorted((c["rank"], c["qlen"], c["backlog"]) for c in classes().values())
        assert [each[:2] for each in listed] == [each[:2] for each in model.classes]
        for found, expected in zip(listed, model.classes, strict=True):
            assert abs(found[2] - expected[2]) < 16
        return {
            "drop_buffer": 0,
            "tcp": model.tcp,
            "other": model.others,
            "flows_learned": model.learned,
            "records": len(model.flows),
            "high_qlen": len(model.bands[HIGH]),
            "low_qlen": len(model.low),
            "high_backlog": sum(packet.length for packet in model.bands[HIGH]),
            "low_backlog": sum(packet.length for packet in model.low),
            "high_queues": len(model.bands[HIGH].ring),
            "low_queues": len(model.bands[LOW].ring),
        }


def words(options: dict[str, Any]) -> str:
    """As tc has them"""
    found = []
    for name, value in options.items():
        if isinstance(value, bool):
            found.append(name if value else f"no_{name}")
        else:
            unit = "b" if name in ("threshold", "span", "memory_limit", "quantum") else ""
            unit = "s" if name == "linger" else unit
            found.append(f"{name} {value}{unit}")
    return " ".join(found)


class CommonPair(Pair):
    """Flow 0 is in the low band, so that newcomers of others push it out, as in other kinds."""

    def send(self, flow: Flow, length: int, band: int | None = None) -> bool:
        return super().send(flow, length, LOW if flow.name == "flow 0" else band)
