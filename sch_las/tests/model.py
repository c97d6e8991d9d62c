# SPDX-License-Identifier: GPL-2.0
"""The reference model of las as published: a list of packets in order, nothing clever.

A packet's rank is what its flow had attained when it arrived, waiting bytes included; equal ranks
go by arrival. The newcomer is put in its place, then packets are dropped from the end of the order
while a limit is exceeded, and a drop gives its bytes back to its flow.

Priority packets rank by LAS-log. Of time it knows when a flow was seen last. What las adds to the
paper is in groups.py.
"""

import bisect
from typing import Any

from selftests.lib.groups import ABOUT, SILENCE, Packet, about_silent
from selftests.lib.model import BaseModel

OVERFLOW = 2**64 - 1  # the rank of packets whose flow found no record


def log2(x: int) -> int:
    """floor(log2(x) * 2^20)"""
    exp = x.bit_length() - 1
    mantissa = x >> (exp - 31) if exp > 31 else x << (31 - exp)
    for _ in range(20):
        mantissa = mantissa * mantissa >> 31
        exp = exp << 1 | mantissa >> 32
        mantissa >>= mantissa >> 32
    return exp


def log_rank(attained: int, k: int) -> int:
    """The rank of a priority packet, for K in thousandths: las_log.h in other words."""
    y = log2(attained) - 11063259 if attained > 1500 else 0
    if y <= 0:
        return 0
    e = (log2(y) - (20 << 20)) * (65536000 // k) >> 16
    exp, i, rest = e >> 20, e >> 16 & 15, e & 0xFFFF
    low, high = (int(2 ** (31 + j / 16)) for j in (i, i + 1))
    mantissa = (low + ((high - low) * rest >> 16)) * 1500
    return 0 if exp < -12 else mantissa << exp >> 31 if exp > 0 else mantissa >> (31 - exp)


class Model(BaseModel):
    """`records` bounds the flows that can be known, for a table of one set; None: no bound."""

    def __init__(
        self,
        limit: int,
        memory_limit: int = 32 << 20,
        records: int | None = None,
        log: int = 500,
    ) -> None:
        super().__init__(limit, memory_limit)
        self.log = log
        self.records = records
        self.now = 0.0  # in seconds
        self.attained: dict[Any, int] = {}
        self.seen: dict[Any, float] = {}  # when a flow last had a packet
        self.order: list[tuple[int, int, Packet]] = []  # rank, arrival, packet
        self.arrivals = 0
        self.overflow = 0
        self.evictions = 0

    @property
    def waiting(self) -> list[Packet]:
        return [packet for _, _, packet in self.order]

    @property
    def flows_queued(self) -> int:
        return len(self._busy()) + any(rank == OVERFLOW for rank, _, _ in self.order)

    def _busy(self) -> set[Any]:
        """Flows whose record has packets."""
        return {packet.flow for rank, _, packet in self.order if rank != OVERFLOW}

    def _evictable(self) -> list[Any]:
        """The other flows with a record, those that are silent for longest first."""
        others = set(self.attained) - self._busy()
        return sorted(others, key=lambda flow: self.seen[flow])

    def ambiguous(self, flow: Any, begins: bool) -> bool:
        """Does it depend on the kernel's clock what becomes of a packet of this flow?"""
        if flow in self.attained:
            return begins and about_silent(self.now - self.seen[flow])
        oldest = [self.seen[f] for f in self._evictable()[:2]]
        full = len(self.attained) == self.records
        return full and len(oldest) == 2 and oldest[1] - oldest[0] < ABOUT

    def _has_record(self, flow: Any) -> bool:
        if flow not in self.attained:
            if any(rank == OVERFLOW for rank, _, _ in self.order):
                return False
            if len(self.attained) == self.records:
                evictable = self._evictable()
                if not evictable:
                    return False
                del self.attained[evictable[0]]
                self.evictions += 1
            self.attained[flow] = 0
            self.seen[flow] = self.now
        return True

    def _rank(self, packet: Packet) -> int:
        flow = packet.flow
        own = [rank for rank, _, p in self.order if p.flow == flow and rank != OVERFLOW]
        last = own[-1] if own else 0
        if packet.begins and not own and self.now - self.seen[flow] >= SILENCE:
            self.attained[flow] = 0
        self.seen[flow] = self.now
        rank = self.attained[flow]
        self.attained[flow] += packet.length
        if packet.priority:
            rank = log_rank(rank, self.log)
        return max(rank, last)

    def _serve(self) -> Packet:
        _, _, packet = self.order.pop(0)
        self.seen[packet.flow] = self.now
        return packet

    def _trim(self) -> list[Packet]:
        dropped = []
        while self._over():
            self._count_drop()
            rank, _, packet = self.order.pop()
            self.seen[packet.flow] = self.now
            if rank != OVERFLOW:
                self.attained[packet.flow] -= min(self.attained[packet.flow], packet.length)
            dropped.append(packet)
        return dropped

    def enqueue(self, *packets: Packet) -> bool:
        """One packet, or the segments of one; False if none of them is left."""
        before = self.qlen
        known = self._has_record(packets[0].flow)
        self.overflow += not known
        dropped = []
        for packet in packets:
            if packet.truesize > self.memory_limit:
                self.drop_memory += 1
                dropped.append(packet)
                continue
            rank = self._rank(packet) if known else OVERFLOW
            bisect.insort(self.order, (rank, self.arrivals, packet))
            self.arrivals += 1
            dropped += self._trim()
        left = len(set(packets) - set(dropped))
        self.told += before > 0 and 0 < left == self.qlen  # the newcomer is left alone
        return left > 0

    def change(
        self,
        limit: int | None = None,
        memory_limit: int | None = None,
        log: int | None = None,
    ) -> None:
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        self.log = log or self.log
        self._trim()
