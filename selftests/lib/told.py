# SPDX-License-Identifier: GPL-2.0
"""What a kind tells of its flows and hosts, as tc prints it: in text, as all versions can."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .command import run

HEAD = re.compile(
    r"class (?P<kind>\w+) (?P<handle>[0-9a-f]+:[0-9a-f]+) parent \S+ "
    r"(?P<type>flow|host|rest)(?: (?P<sort>new|short|long))?"
    r"(?: (?P<proto>tcp|udp|icmpv6|icmp|ip-\d+|0x\w{4}))?"
    r"(?: (?P<src>\S*[.:]\S*))?(?: > (?P<dst>\S+))?(?P<numbers>(?: [a-z]+ [0-9]+[a-z]*)*)"
)
SENT = re.compile(r" Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits (\d+) requeues 0\)")
WAITS = re.compile(r" backlog (\S+) (\d+)p requeues 0")
ATTAINED = re.compile(r"  attained (\d+)b")


@dataclass
class Told:
    type: str
    minor: int
    sort: str
    proto: str
    src: str
    dst: str
    numbers: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    packets: int = 0
    drops: int = 0
    marks: int = 0
    qlen: int = 0
    attained: int = 0


def told(text: str | None = None, dev: str = "d0") -> Iterator[Told]:
    """Each class, of `text` if somebody else has asked tc"""
    current: Told | None = None
    for line in (text or run(f"tc -s class show dev {dev}")).splitlines():
        if line.startswith("class "):
            if current:
                yield current
            current = None
            if line.startswith("class gate "):
                continue
            head = HEAD.match(line)
            assert head, line
            numbers = dict(re.findall(r" ([a-z]+) (\d+)", head["numbers"]))
            current = Told(
                head["type"],
                int(head["handle"].partition(":")[2], 16),
                head["sort"] or "",
                head["proto"] or "",
                head["src"] or "",
                head["dst"] or "",
                {name: int(number) for name, number in numbers.items()},
            )
        elif current and (sent := SENT.match(line)):
            current.bytes, current.packets, current.drops, current.marks = map(int, sent.groups())
        elif current and (waits := WAITS.match(line)):
            current.qlen = int(waits[2])
        elif current and (attained := ATTAINED.match(line)):
            current.attained = int(attained[1])
    if current:
        yield current


def flows(text: str | None = None) -> list[Told]:
    return [each for each in told(text) if each.type == "flow"]


def hosts() -> dict[int, Told]:
    return {each.numbers["host"]: each for each in told() if each.type == "host"}
