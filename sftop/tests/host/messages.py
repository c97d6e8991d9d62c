# SPDX-License-Identifier: GPL-2.0
"""What the kernel would tell, for replay.c: links, qdiscs, and their classes."""

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RTM_NEWLINK, RTM_NEWQDISC, RTM_NEWTCLASS = 16, 36, 40
IFLA_IFNAME = 3
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
BASIC, QUEUE, APP, PKT64 = 1, 3, 4, 8  # TCA_STATS_*
ROOT = 0xFFFFFFFF
FLOW, HOST, OVERFLOW = 1, 2, 3
NEW, SHORT, LONG = 1, 2, 3
TCP, UDP = 6, 17

# TCA_SF_CLASS_*, and how they are packed; ports have the network's byte order
ATTRIBUTES = {
    "type": (1, "=I"),
    "record": (2, "=I"),
    "sort": (3, "=I"),
    "host": (4, "=I"),
    "ethertype": (5, "!H"),
    "proto": (6, "=B"),
    "src": (7, ""),
    "dst": (8, ""),
    "sport": (9, "!H"),
    "dport": (10, "!H"),
    "named": (11, "=I"),
    "attained": (12, "=Q"),
    "bytes": (13, "=Q"),
    "packets": (14, "=Q"),
    "drops": (15, "=I"),
    "marks": (16, "=I"),
    "waited": (17, "=I"),
    "silent": (18, "=I"),
    "flows": (19, "=I"),
    "level": (20, "=I"),
    "over": (21, "=I"),
    "inner": (22, "=I"),
}


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind: int, head: bytes, attributes: bytes) -> bytes:
    return (
        struct.pack("=IHHII", 16 + len(head) + len(attributes), kind, 2, 1, 0) + head + attributes
    )


def link(ifindex: int, name: str | bytes) -> bytes:
    raw = name.encode() if isinstance(name, str) else name
    head = struct.pack("=BxHiII", 0, 1, ifindex, 0x1043, 0)
    return message(RTM_NEWLINK, head, attribute(IFLA_IFNAME, raw + b"\0"))


def statistics(
    bytes_: int, packets: int, queue: Sequence[int] = (0, 0, 0, 0, 0), app: bytes = b""
) -> bytes:
    """The queue's are qlen, backlog, drops, requeues, overlimits."""
    told = attribute(BASIC, struct.pack("=QIxxxx", bytes_, packets & 0xFFFFFFFF))
    told += attribute(PKT64, struct.pack("=Q", packets))
    told += attribute(QUEUE, struct.pack("=5I", *queue))
    return attribute(TCA_STATS2, told + (attribute(APP, app) if app else b""))


@dataclass
class Qdisc:
    ifindex: int = 2
    kind: str = "las"
    handle: int = 1
    parent: int = ROOT
    bytes: int = 0
    packets: int = 0
    queue: Sequence[int] = (0, 0, 0, 0, 0)
    app: bytes = b""
    classes: list[dict] = field(default_factory=list)

    def tc(self, kind: int, handle: int, parent: int, more: bytes) -> bytes:
        head = struct.pack("=BxxxiIII", 0, self.ifindex, handle, parent, 1)
        return message(kind, head, attribute(TCA_KIND, self.kind.encode() + b"\0") + more)

    def message(self) -> bytes:
        told = statistics(self.bytes, self.packets, self.queue, self.app)
        return self.tc(RTM_NEWQDISC, self.handle << 16, self.parent, told)

    def class_message(self, told: dict) -> bytes:
        """Of qlen, backlog, and attributes by their names"""
        options, packed = b"", dict(told)
        queue = [packed.pop(name, 0) for name in ("qlen", "backlog")]
        for name, value in packed.items():
            number, how = ATTRIBUTES[name]
            data = struct.pack(how, value) if how else ipaddress.ip_address(value).packed
            options += attribute(number, data)
        minor = min((0x4000 if told["type"] == HOST else 0x8000) + told.get("record", 0), 0xFFFF)
        stats = statistics(
            told.get("bytes", 0), told.get("packets", 0), [*queue, told.get("drops", 0), 0, 0]
        )
        more = attribute(TCA_OPTIONS, options) + stats
        return self.tc(RTM_NEWTCLASS, self.handle << 16 | minor, self.handle << 16, more)


def look(where: Path, number: int, qdiscs: Iterable[Qdisc], links: dict[int, str | bytes]) -> None:
    """Write what is told at this look."""
    qdiscs = list(qdiscs)
    classes = (q.class_message(told) for q in qdiscs for told in q.classes)
    (where / f"{number}.class").write_bytes(b"".join(classes))
    (where / f"{number}.qdisc").write_bytes(b"".join(q.message() for q in qdiscs))
    partial = where / f"{number}.partial"
    partial.write_bytes(b"".join(link(*each) for each in links.items()))
    partial.rename(where / f"{number}.link")  # the last, by which the look is found


def flow(record: int, **told: object) -> dict:
    """One of TCP, that has sent a packet and has none"""
    known = {
        "type": FLOW,
        "record": record,
        "sort": SHORT,
        "ethertype": 0x0800,
        "proto": TCP,
        "src": f"10.0.{record >> 8 & 255}.{record & 255}",
        "dst": "192.0.2.1",
        "sport": 10000 + record % 50000,
        "dport": 443,
        "attained": 1500,
        "bytes": 1500,
        "packets": 1,
        "drops": 0,
        "marks": 0,
    }
    return known | told


def host(number: int, **told: object) -> dict:
    known = {"type": HOST, "host": number, "src": f"10.0.0.{number}", "bytes": 1500, "packets": 1}
    return known | {"drops": 0, "marks": 0, "flows": 0, "level": 0, "over": 0} | told
