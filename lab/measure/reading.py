# SPDX-License-Identifier: GPL-2.0
"""What a run has written: reading it, what a number is of its flows, and the demo's table.

Sizes are in packets of 1448 payload bytes, times in ms.
"""

import json
import re
from dataclasses import dataclass

import numpy as np

HEADERS = 52  # bytes of a packet of TCP that are not payload
PAYLOAD = 1500 - HEADERS
WIRE_BITS = 1500 * 8
ETHERNET = 14  # bytes
HEADER = "id,start_us,bytes,response_us,status,sender,receiver,sent,lost"
# Size classes: more than, up to
CLASSES = {
    "all": (0, np.inf),
    "<=8": (0, 8),
    "<=20": (0, 20),
    "21-40": (20, 40),
    "21-100": (20, 100),
    ">100": (100, np.inf),
}


class DataError(Exception):
    """Measured data that is incomplete or does not fit together."""


@dataclass(frozen=True)
class Link:
    """What a flow has to itself: of all, or of each."""

    rate: float | np.ndarray = 1e7  # bit/s
    rtt: float | np.ndarray = 6  # ms
    mtu: int = 1500


@dataclass(frozen=True)
class Run:
    """All flows of one run in order; a failed flow's response is NaN."""

    name: str
    start: np.ndarray
    packets: np.ndarray
    response: np.ndarray
    status: list[str]
    qdiscs: list[dict]  # tc -s -j qdisc show, of the bottleneck
    ports: np.ndarray  # the sender's and the receiver's
    sent: np.ndarray  # the sender's packets, of any kind, and those that did not arrive
    lost: np.ndarray
    payload: int = PAYLOAD  # bytes of a packet

    @property
    def rates(self) -> np.ndarray:
        """Of each flow, kbit/s of payload from its beginning to its end."""
        return self.packets * self.payload * 8 / self.response

    @property
    def failed(self) -> int:
        return len(self.status) - self.status.count("ok")

    @property
    def drops(self) -> int:
        """Packets dropped by the qdisc under test, the one with handle 10:, or the command's."""
        found = [q["drops"] for q in self.qdiscs if q.get("handle") in ("10:", "1f1:")]
        if len(found) != 1:
            raise DataError(f"{self.name}: no statistics of the qdisc 10:")
        return found[0]


def parse_run(name: str, text: str, mtu: int = 1500) -> Run:
    """What a job wrote to its data channel: flowgen's CSV with its trailer, then tc's JSON."""
    payload = mtu - HEADERS
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines) if line.startswith("#end ")]
    if not lines or lines[0] != HEADER or not ends:
        raise DataError(f"{name}: the list of flows is truncated")
    words = lines[ends[0]].split()
    rows = [line.split(",") for line in lines[1 : ends[0]]]
    if (
        words != ["#end", "flows", str(len(rows)), "failed", words[-1]]
        or [row[0] for row in rows] != [str(i) for i in range(len(rows))]
        or any(len(row) != len(HEADER.split(",")) for row in rows)
        or sum(row[4] != "ok" for row in rows) != int(words[-1])
    ):
        raise DataError(f"{name}: the list of flows does not add up to its last line")
    try:
        qdiscs = json.loads("".join(lines[ends[0] + 1 :]))
    except ValueError:
        raise DataError(f"{name}: the qdisc statistics are truncated") from None
    return Run(
        name,
        np.array([float(row[1]) / 1000 for row in rows]),
        np.array([float(row[2]) / payload for row in rows]),
        np.array([float(row[3]) / 1000 if row[4] == "ok" else np.nan for row in rows]),
        [row[4] for row in rows],
        qdiscs,
        np.array([[int(port) for port in row[5:7]] for row in rows]),
        np.array([int(row[7]) for row in rows]),
        np.array([int(row[8]) for row in rows]),
        payload,
    )


@dataclass(frozen=True)
class Steady:
    """A flow of constant rate: of each packet the delay that the queue added, NaN if lost."""

    delay: np.ndarray

    @property
    def loss(self) -> float:
        return float(np.isnan(self.delay).mean())

    @property
    def arrived(self) -> np.ndarray:
        return self.delay[~np.isnan(self.delay)]

    @property
    def jitter(self) -> float:
        """How much the delay of a packet that arrived differs from the one before it, on average;
        infinite if there are no two."""
        return float(np.abs(np.diff(self.arrived)).mean()) if self.arrived.size > 1 else np.inf

    def late(self, ms: float) -> float:
        """The part of the packets, and so of the time, that waited longer, or was lost."""
        return float(np.mean(~(self.delay <= ms)))

    def percentile(self, q: float) -> float:
        """Over the packets that arrived; infinite if none did."""
        return float(np.percentile(self.arrived, q)) if self.arrived.size else np.inf


_SECTION = re.compile(
    r"^cbr (\S+) bytes \d+ least_us (\d+)\n((?:\d+\n|lost\n)*)#end packets (\d+) lost (\d+)\n",
    re.MULTILINE,
)


def split_steady(name: str, text: str) -> tuple[dict[str, Steady], str]:
    """Take cbr's sections out of what a job wrote; returns its flows and the rest."""
    flows = {}
    text = "\n".join([*text.splitlines(), ""])
    for flow, least, lines, packets, lost in _SECTION.findall(text):
        delay = [np.nan if line == "lost" else int(line) - int(least) for line in lines.split()]
        flows[flow] = Steady(np.array(delay) / 1000)
        if len(delay) != int(packets) or np.isnan(delay).sum() != int(lost):
            raise DataError(f"{name}: {flow}'s packets do not add up to their last line")
    rest = _SECTION.sub("", text)
    if re.search(r"^(cbr |lost$)", rest, re.MULTILINE):
        raise DataError(f"{name}: a list of packets is truncated")
    return flows, rest


@dataclass(frozen=True)
class Fetched:
    """A group of fetch: what it has got, and of each connection that counts its burst and times."""

    seconds: float
    bytes: int
    burst: np.ndarray
    response: np.ndarray  # ms; NaN if it has not ended
    after: np.ndarray  # ms from the beginning of the burst to that of the connection

    @property
    def pages(self) -> np.ndarray:
        """Of each burst the time until its last byte, ms; NaN if that has not come."""
        end = self.after + self.response
        return np.array([end[self.burst == one].max() for one in np.unique(self.burst)])


@dataclass(frozen=True)
class Heedless:
    """A group of packets: how many it has sent, and how many and how much have arrived."""

    seconds: float
    sent: int
    arrived: int
    bytes: int


_FETCH = re.compile(
    r"^fetch (\S+) seconds (\S+) bytes (\d+)\n((?:\d+,\d+,-?\d+,\d+\n)*)"
    r"#end begun (\d+) done (\d+)\n",
    re.MULTILINE,
)
_PACKETS = re.compile(
    r"^packets (\S+) seconds (\S+) sent (\d+) arrived (\d+) bytes (\d+)\n", re.MULTILINE
)


def split_fetch(name: str, text: str) -> tuple[dict[str, Fetched], str]:
    """Take fetch's sections out of what a job wrote; returns its groups and the rest."""
    text = "\n".join([*text.splitlines(), ""])
    groups = {}
    for group, seconds, size, lines, begun, done in _FETCH.findall(text):
        rows = np.array([[int(cell) for cell in line.split(",")] for line in lines.split()])
        rows = rows.reshape(-1, 4)
        response = np.where(rows[:, 2] < 0, np.nan, rows[:, 2] / 1000)
        after = rows[:, 3] / 1000
        groups[group] = Fetched(float(seconds), int(size), rows[:, 0], response, after)
        if len(rows) != int(begun) or np.sum(~np.isnan(response)) != int(done):
            raise DataError(f"{name}: {group}'s connections do not add up to their last line")
    rest = _FETCH.sub("", text)
    if re.search(r"^fetch ", rest, re.MULTILINE):
        raise DataError(f"{name}: a list of connections is truncated")
    return groups, rest


def split_packets(name: str, text: str) -> tuple[dict[str, Heedless], str]:
    """Take the lines of packets out of what a job wrote; returns its groups and the rest."""
    text = "\n".join([*text.splitlines(), ""])
    groups = {
        group: Heedless(float(seconds), *map(int, counts))
        for group, seconds, *counts in _PACKETS.findall(text)
    }
    rest = _PACKETS.sub("", text)
    if re.search(r"^packets ", rest, re.MULTILINE):
        raise DataError(f"{name}: a line of packets is truncated")
    return groups, rest


_INTERVALS = r"^{} flows (\d+) interval_us (\d+)\n((?:[\d,]+\n)*)#end intervals (\d+)\n"


def split_intervals(name: str, text: str, what: str) -> tuple[np.ndarray, float, str]:
    """Take a section of numbers out of what a job wrote.

    Returns them by interval and flow, the interval in seconds, and the rest of the text.
    """
    text = "\n".join([*text.splitlines(), ""])
    found = re.search(_INTERVALS.format(what), text, re.MULTILINE)
    if not found:
        raise DataError(f"{name}: the list of intervals is truncated")
    flows, us, lines, intervals = found.groups()
    rows = [[int(cell) for cell in line.split(",")] for line in lines.split()]
    if len(rows) != int(intervals) or {len(row) for row in rows} != {int(flows)}:
        raise DataError(f"{name}: the list of intervals does not add up to its last line")
    return np.array(rows), int(us) / 1e6, text[: found.start()] + text[found.end() :]


def split_bulk(name: str, text: str) -> tuple[np.ndarray, np.ndarray, str]:
    """What bulk's flows have received and sent, bit/s[interval, flow], and the rest."""
    received, seconds, rest = split_intervals(name, text, "bulk")
    sent, _, rest = split_intervals(name, rest, "sent")
    return received * 8 / seconds, sent * 8 / seconds, rest


@dataclass(frozen=True)
class Record:
    """The packets that came to the bottleneck, in the order of their arrival"""

    arrival: np.ndarray  # seconds since the first one
    departure: np.ndarray  # infinite of what was dropped
    flow: np.ndarray  # the number of its 5-tuple
    length: np.ndarray  # bytes on the wire


_RECORD = re.compile(
    r"^record packets (\d+) flows (\d+)\n((?:[\d.]+,-?[\d.]+,\d+,\d+\n)*)#end record\n",
    re.MULTILINE,
)


def split_record(name: str, text: str) -> tuple[Record, str]:
    """Take the packets that record has seen out of what a job wrote; returns them and the rest."""
    text = "\n".join([*text.splitlines(), ""])
    found = _RECORD.search(text)
    if not found:
        raise DataError(f"{name}: the record of packets is truncated")
    packets, flows, lines = found.groups()
    rows = np.loadtxt(lines.splitlines(), delimiter=",", ndmin=2).reshape(-1, 4)
    flow = rows[:, 2].astype(int)
    if len(rows) != int(packets) or len(np.unique(flow)) != int(flows):
        raise DataError(f"{name}: the record of packets does not add up to its first line")
    arrival, delay = rows[:, 0] / 1e6, rows[:, 1] / 1e6
    departure = np.where(delay < 0, np.inf, arrival + delay)
    rest = text[: found.start()] + text[found.end() :]
    return Record(arrival, departure, flow, rows[:, 3]), rest


def split_samples(name: str, text: str) -> tuple[set[tuple[int, int]], str]:
    """The ports of the flows that were sampled, and the rest."""
    lines = text.splitlines()
    found = {tuple(map(int, line.split()[1:])) for line in lines if line.startswith("long ")}
    rest = "\n".join(line for line in lines if not line.startswith("long "))
    if any(len(ports) != 2 for ports in found):
        raise DataError(f"{name}: a line of the sampled flows is truncated")
    return found, rest


def split_lengths(name: str, text: str) -> tuple[np.ndarray, str]:
    """What was seen of the qdisc each time: seconds, packets in its high band, and in its low one,
    and the bytes that it has sent.

    A qdisc without bands is like the high one.
    """
    lines = text.splitlines()
    rows = []
    for line in lines:
        if line.startswith("lengths "):
            try:
                _, at, shown = line.split(" ", 2)
                qdisc = next(each for each in json.loads(shown) if each.get("handle") == "10:")
                high, low = qdisc.get("high_qlen", qdisc["qlen"]), qdisc.get("low_qlen", 0)
                rows.append((float(at), high, low, qdisc.get("bytes", 0)))
            except (ValueError, StopIteration):
                raise DataError(f"{name}: a line of the qdisc's lengths is truncated") from None
    rest = "\n".join(line for line in lines if not line.startswith("lengths "))
    if not rows:
        raise DataError(f"{name}: there are no lengths of the qdisc")
    return np.array(rows), rest
