# SPDX-License-Identifier: GPL-2.0
"""Ideal fair queueing (generalized processor sharing) of packets, and how far behind it a run was.

All backlogged flows share the link's rate equally, at every instant and in parts of bytes as small
as one likes. It is computed in virtual time (Demers, Keshav and Shenker 1989): V grows by the rate
over the number of backlogged flows, and a packet's finish tag is max(V, the tag of its flow's last
packet) + its length. The packet has been served when V reaches its tag.
"""

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np

LOST = np.inf  # the time at which a dropped packet is served


class Fluid:
    """The state of the ideal link; times in seconds, rate in bytes per second"""

    def __init__(self, rate: float, buffer: float = np.inf) -> None:
        self.rate, self.buffer = rate, buffer
        self.now = self.virtual = 0.0
        self.waiting: list[tuple[float, int, int]] = []  # heap of (tag, packet, flow)
        self.queues: dict[int, deque[tuple[float, int, float]]] = {}  # flow: (tag, packet, length)
        self.longest: list[tuple[float, int]] = []  # heap of (-last tag, flow); some are outdated
        self.last_tags = 0.0  # their sum over the backlogged flows
        self.dropped: set[int] = set()
        self.served: list[tuple[int, float]] = []  # (packet, time)

    @property
    def backlog(self) -> float:
        """Bytes that wait, of all flows"""
        return self.last_tags - len(self.queues) * self.virtual

    def advance(self, until: float) -> None:
        """Serve what is served by then."""
        while self.queues:
            tag, packet, flow = self.waiting[0]
            if packet in self.dropped:
                heapq.heappop(self.waiting)
                continue
            end = self.now + max(tag - self.virtual, 0) * len(self.queues) / self.rate
            if end > until:
                self.virtual += (until - self.now) * self.rate / len(self.queues)
                break
            heapq.heappop(self.waiting)
            self.now, self.virtual = end, max(tag, self.virtual)
            self.served.append((packet, end))
            queue = self.queues[flow]
            queue.popleft()
            if not queue:
                del self.queues[flow]
                self.last_tags -= tag
        if not self.queues:  # nothing is left over from rounding
            self.virtual = self.last_tags = 0.0
            self.waiting.clear()
            self.longest.clear()
        self.now = until

    def arrive(self, packet: int, flow: int, length: float) -> None:
        """At the time to which it has advanced"""
        queue = self.queues.get(flow)
        last = queue[-1][0] if queue else self.virtual
        tag = max(last, self.virtual) + length
        if queue:
            queue.append((tag, packet, length))
            self.last_tags += tag - last
        else:
            self.queues[flow] = deque([(tag, packet, length)])
            self.last_tags += tag
        heapq.heappush(self.waiting, (tag, packet, flow))
        heapq.heappush(self.longest, (-tag, flow))
        while self.backlog > self.buffer:
            self._drop()

    def _drop(self) -> None:
        """The last packet of the flow with the most bytes"""
        while True:
            tag, flow = heapq.heappop(self.longest)
            queue = self.queues.get(flow)
            if queue and queue[-1][0] == -tag:
                break
        last, packet, _ = queue.pop()
        self.dropped.add(packet)
        if queue:
            self.last_tags -= last - queue[-1][0]
            heapq.heappush(self.longest, (-queue[-1][0], flow))
        else:
            del self.queues[flow]
            self.last_tags -= last


def finish(
    arrival: np.ndarray, flow: np.ndarray, length: np.ndarray, rate: float, buffer: float = np.inf
) -> np.ndarray:
    """When each packet has been served, LOST if it is dropped. Arrivals are in order.

    `buffer` is in bytes; when it is full the longest queue loses its last packet.
    """
    fluid = Fluid(rate, buffer)
    ends = np.full(len(arrival), LOST)
    for i, (at, of, size) in enumerate(zip(arrival, flow, length, strict=True)):
        fluid.advance(float(at))
        fluid.arrive(i, int(of), float(size))
    fluid.advance(np.inf)
    for packet, end in fluid.served:
        ends[packet] = end
    return ends


@dataclass(frozen=True)
class Behind:
    """The most that a flow was behind its ideal service"""

    bytes: float
    seconds: float  # that one packet left later than in the ideal


def behind(departure: np.ndarray, ideal: np.ndarray, length: np.ndarray) -> Behind:
    """Of one flow, whose packets are in the order in which they arrived.

    A packet that is lost was never served; how late one is counts where it was served in both.
    """
    sent, due = np.isfinite(departure), np.isfinite(ideal)
    both = sent & due
    late = float(np.max(departure[both] - ideal[both], initial=0.0))
    times = np.sort(ideal[due])  # at these moments the ideal has served one more packet
    owed = np.cumsum(length[due][np.argsort(ideal[due], kind="stable")])
    order = np.argsort(departure[sent], kind="stable")
    left = departure[sent][order]
    got = np.concatenate([[0.0], np.cumsum(length[sent][order])])
    return Behind(
        float(np.max(owed - got[np.searchsorted(left, times, "right")], initial=0.0)), late
    )
