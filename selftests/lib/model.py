# SPDX-License-Identifier: GPL-2.0
"""What the reference models have in common: the limits, what is counted, and what goes out.

A kind adds where a packet is put, which one is dropped and which one is served. What is parked has
left the kind's queues: it counts in qlen and backlog, but not against the limits.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BasePacket:
    ident: int
    flow: Any  # whatever tells flows apart
    length: int  # qdisc_pkt_len()
    truesize: int


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


class BandsModel(BaseModel):
    """Of kinds with two bands, of which the low one is guaranteed a part, in percent."""

    def __init__(self, limit: int, memory_limit: int, guarantee: int) -> None:
        super().__init__(limit, memory_limit)
        self.bands: list[list[Any]] = [[], []]
        self.guarantee = guarantee
        self.credit = 0

    @property
    def waiting(self) -> list[Any]:
        return self.bands[HIGH] + self.bands[LOW]

    def _next_band(self) -> int:
        """The one that is served next"""
        high, low = self.bands
        if not low:
            self.credit = 0
            return HIGH
        if not high:
            return LOW
        price = low[0].length * (100 - self.guarantee)
        if self.guarantee and self.credit >= price:
            self.credit -= price
            return LOW
        self.credit += high[0].length * self.guarantee
        return HIGH

    def _full_band(self) -> int:
        """The one that loses a packet of the buffer that both share"""
        if self.guarantee and len(self.bands[LOW]) == 1 and len(self.bands[HIGH]) > 1:
            return HIGH
        high, low = (sum(packet.length for packet in band) for band in self.bands)
        return LOW if low * (100 - self.guarantee) > high * self.guarantee else HIGH
