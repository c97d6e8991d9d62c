# SPDX-License-Identifier: GPL-2.0
"""What a kind tells of its flows and hosts, by pyroute2 with our plugin (python/)."""

import socket
import struct
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from python.shortfirst_pyroute2 import SORTS, TYPES

NUMBERS = ("record", "inner", "host", "named", "flows", "level", "over", "waited", "silent")
PROTOS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}


@dataclass
class Told:
    type: str
    minor: int
    sort: str
    proto: str  # as tc has it, like addresses with ports
    src: str
    dst: str
    numbers: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    packets: int = 0
    drops: int = 0
    marks: int = 0
    qlen: int = 0
    backlog: int = 0
    attained: int = 0
    statistics: dict[str, int] = field(default_factory=dict)  # of its kind
    attributes: dict[str, Any] = field(default_factory=dict)  # all of TCA_OPTIONS


@cache
def route() -> IPRoute:
    return IPRoute()


def classes_of(dev: str) -> list[Any]:
    """The messages about them, but for the gate's"""
    listed = route().get_classes(socket.if_nametoindex(dev))
    return [each for each in listed if each.get_attr("TCA_KIND") != "gate"]


def message(kind: int, content: bytes) -> Any:
    """Of one that was read without pyroute2"""
    made = tcmsg(struct.pack("=IHHII", 16 + len(content), kind, 0, 0, 0) + content)
    made.decode()
    return made


def _place(attributes: dict[str, Any], address: str, port: str) -> str:
    text = attributes.get(address, "")
    if port in attributes:
        text = f"[{text}]:{attributes[port]}" if ":" in text else f"{text}:{attributes[port]}"
    return text


def of_message(about: Any) -> Told:
    options = about.get_attr("TCA_OPTIONS")["attrs"]
    found = {each[0].removeprefix("TCA_SF_CLASS_").lower(): each[1] for each in options}
    statistics = about.get_attr("TCA_STATS2")
    basic, queue, packets, own = (
        statistics.get_attr(f"TCA_STATS_{name}") for name in ("BASIC", "QUEUE", "PKT64", "APP")
    )
    # What is said twice is the same.
    assert found.get("bytes", 0) == basic["bytes"]
    assert found.get("packets", 0) == (packets or basic["packets"])
    for name, number in (("drops", "drops"), ("marks", "overlimits")):
        assert found.get(name, 0) == queue[number]
    proto, ethertype = found.get("proto"), found.get("ethertype")
    named = PROTOS.get(proto, f"ip-{proto}") if proto else f"0x{ethertype:04x}" if ethertype else ""
    return Told(
        TYPES[found["type"]],
        about["handle"] & 0xFFFF,
        SORTS[found["sort"]] if "sort" in found else "",
        named,
        _place(found, "src", "sport"),
        _place(found, "dst", "dport"),
        {name: found[name] for name in NUMBERS if name in found},
        *(found.get(name, 0) for name in ("bytes", "packets", "drops", "marks")),
        queue["qlen"],
        queue["backlog"],
        found.get("attained", 0),
        {name: value for name, value in (own or {}).items() if name not in ("type", "unused")},
        found,
    )


def told(dev: str = "d0") -> list[Told]:
    return [of_message(each) for each in classes_of(dev)]


def flows() -> list[Told]:
    return [each for each in told() if each.type == "flow"]


def hosts() -> dict[int, Told]:
    return {each.numbers["host"]: each for each in told() if each.type == "host"}


def classes() -> dict[int, dict[str, int]]:
    """The flows with packets, by minor number: what waits, and the statistics of the kind"""
    return {
        each.minor: {"backlog": each.backlog, "qlen": each.qlen, **each.statistics}
        for each in told()
        if each.qlen
    }
