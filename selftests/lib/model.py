# SPDX-License-Identifier: GPL-2.0
"""What the reference models have in common: the limits, what is counted, and what goes out.

A kind adds where a packet is put, which one is dropped and which one is served. What is parked has
left the kind's queues: it counts in qlen and backlog, but not against the limits.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BasePacket:
    ident: int
    flow: Any  # whatever tells flows apart
    length: int  # qdisc_pkt_len()
    truesize: int
    queue: int = field(default=0, kw_only=True)  # of its band


class BaseModel(ABC):
    def __init__(self, limit: int, memory_limit: int) -> None:
        self.limit, self.memory_limit = limit, memory_limit
        self.parked: list[BasePacket] = []  # in gso_skb
        self.drop_limit = self.drop_memory = 0
        self.told = 0  # times NET_XMIT_CN was returned

    @property
    @abstractmethod
    def waiting(self) -> list[BasePacket]:
        """The packets in the kind's queues."""

    @property
    @abstractmethod
    def flows_queued(self) -> int:
        """How many flows tc shows as such that have packets waiting."""

    @abstractmethod
    def _serve(self) -> BasePacket:
        """Take the next packet out of the kind's queues, which are not empty."""

    @property
    def qlen(self) -> int:
        return len(self.waiting) + len(self.parked)

    @property
    def backlog(self) -> int:
        return sum(packet.length for packet in self.waiting + self.parked)

    @property
    def memory(self) -> int:
        return sum(packet.truesize for packet in self.waiting)

    @property
    def drops(self) -> int:
        return self.drop_limit + self.drop_memory

    def _over(self) -> bool:
        return len(self.waiting) > self.limit or self.memory > self.memory_limit

    def _count_drop(self) -> None:
        """Before a packet is dropped since a limit is exceeded."""
        if len(self.waiting) > self.limit:
            self.drop_limit += 1
        else:
            self.drop_memory += 1

    def park(self, count: int) -> None:
        for _ in range(min(count, len(self.waiting))):
            self.parked.append(self._serve())

    def release(self, count: int | None = None) -> list[int]:
        """The identities of the next packets, all if no count is given."""
        if count is None:
            count = self.qlen
        self.park(count - len(self.parked))
        out, self.parked = self.parked[:count], self.parked[count:]
        return [packet.ident for packet in out]


HIGH, LOW = 0, 1
TURNS_OWED = 64
TURNS_PASSED = 64
TURNS_ALIKE = 2
FEW_PART = 3


class Tie(Exception):
    """Which of several queues loses a packet is up to the kernel."""


class Band:
    """Queues of packets that take turns, as band_queues.h has them; they are named."""

    def __init__(self, quantum: int) -> None:
        self.quantum = self.begun = quantum
        self.queues: dict[Any, list[Any]] = {}
        self.deficit: dict[Any, int] = {}
        self.ring: list[Any] = []  # those with packets, in turn

    def __iter__(self) -> Iterator[Any]:
        return (packet for name in self.ring for packet in self.queues[name])

    def __len__(self) -> int:
        return sum(len(self.queues[name]) for name in self.ring)

    @property
    def first(self) -> Any:
        """The packet that is sent next"""
        return self.queues[self.ring[0]][0]

    def append(self, packet: Any) -> None:
        name = packet.queue
        if name not in self.ring:
            self.ring.append(name)
            self.deficit.setdefault(name, self.begun)
        self.queues.setdefault(name, []).append(packet)

    def take(self) -> Any:
        name, most = self.ring[0], TURNS_OWED * self.quantum
        packet = self.queues[name].pop(0)
        self.deficit[name] = max(self.deficit[name] - min(packet.length, most), -most)
        if not self.queues[name]:
            self.ring.remove(name)
            if self.deficit[name] <= 0:
                self.deficit[name] += self.quantum
            if self.deficit[name] <= 0 and not self.ring:  # nobody waits for it
                self.deficit[name] = self.quantum
        if len(self.ring) == 1 and self.deficit[self.ring[0]] <= 0:
            self.deficit[self.ring[0]] = self.quantum
        for _ in range(TURNS_PASSED if self.ring else 0):
            if self.deficit[self.ring[0]] > 0:
                break
            self.deficit[self.ring[0]] += self.quantum
            self.ring.append(self.ring.pop(0))
        return packet

    def drop(self) -> Any:
        """The last packet of the longest queue; most count as no shorter than two quanta."""
        queues = [self.queues[name] for name in self.ring]
        lengths = [sum(packet.length for packet in queue) for queue in queues]
        for i, queue in enumerate(queues):
            if len(queue) * FEW_PART * len(queues) >= len(self):
                lengths[i] = max(lengths[i], TURNS_ALIKE * self.quantum)
        if lengths.count(max(lengths)) > 1:
            raise Tie
        name = self.ring[lengths.index(max(lengths))]
        packet = self.queues[name].pop()
        if not self.queues[name]:
            self.ring.remove(name)
        return packet


class BandsModel(BaseModel):
    """Of kinds with two bands, of which the low one is guaranteed a part, in percent.

    In which queue of its band a packet is, it tells.
    """

    def __init__(
        self, limit: int, memory_limit: int, guarantee: int, queues: int, quantum: int
    ) -> None:
        super().__init__(limit, memory_limit)
        self.guarantee, self.queues = guarantee, queues
        self._quantum = quantum
        self._renew_bands()

    def _renew_bands(self) -> None:
        self.bands = [Band(self._quantum), Band(self._quantum)]
        self.credit = 0

    @property
    def quantum(self) -> int:
        return self._quantum

    @quantum.setter
    def quantum(self, quantum: int) -> None:
        self._quantum = quantum
        for band in self.bands:
            band.quantum = quantum

    @property
    def waiting(self) -> list[Any]:
        return [*self.bands[HIGH], *self.bands[LOW]]

    def _next_band(self) -> int:
        """The one that is served next"""
        high, low = self.bands
        if not len(low):
            self.credit = 0
            return HIGH
        if not len(high):
            return LOW
        price = low.first.length * (100 - self.guarantee)
        if self.guarantee and self.credit >= price:
            self.credit -= price
            return LOW
        self.credit += high.first.length * self.guarantee
        return HIGH

    def _full_band(self) -> int:
        """The one that loses a packet of the buffer that both share"""
        if self.guarantee and len(self.bands[LOW]) == 1 and len(self.bands[HIGH]) > 1:
            return HIGH
        high, low = (sum(packet.length for packet in band) for band in self.bands)
        return LOW if low * (100 - self.guarantee) > high * self.guarantee else HIGH
