# SPDX-License-Identifier: GPL-2.0
"""The reference model of run2c: lists of packets, the numbers that connections began with, and
what the flows have sent that have none.

There is no time here: no `idle`, no bucket leaks, and who lingers does so for ever. Records are
unlimited.
"""

from dataclasses import dataclass
from typing import Any

from selftests.lib.model import HIGH, LOW, BandsModel, BasePacket

NUMBERS = 1 << 32
WINDOW = 1 << 30  # bytes: the largest of TCP
LAST = 1 << 64  # the rank of what comes last
COUNT_MAX = 4  # thresholds


@dataclass(frozen=True)
class Packet(BasePacket):
    seq: int | None = None  # None: it has no rank
    data: int = 0  # bytes from there
    numbered: bool = False  # it is plain whose they are


@dataclass
class Record:
    first: int = 0
    top: int = 0  # the highest rank so far, of what comes next
    closing: bool = False
    counted: bool = False
    newest: int = 0  # if it is counted: the rank of the last packet

    def rank(self, seq: int, data: int, resent: int) -> int:
        """No further than a window from the highest so far; else it is the last of all."""
        ahead = (seq - self.first - self.top + WINDOW) % NUMBERS - WINDOW
        if ahead > WINDOW:
            return LAST
        rank = max(self.top + ahead, self.top * resent // 100 if ahead < 0 else 0)
        new = max(ahead + data, 0)
        self.top += new
        again = (data - min(new, data)) * resent // 100
        self.top += again
        self.first -= again
        return max(rank, 0)

    def count(self, length: int, waits: bool, most: int) -> int:
        rank = max(self.top, self.newest) if waits else self.top
        self.top = min(self.top + length, most)
        self.newest = rank
        return rank


class Model(BandsModel):
    def __init__(
        self,
        limit: int,
        memory_limit: int = 32 << 20,
        threshold: int = 32 << 10,
        span: int = 4 << 20,
        learn: bool = False,
        order: bool = False,
        other: str = "high",
        guarantee: int = 0,
        split_gso: bool = True,
        queues: int = 1,
        quantum: int = 1514,
        linger: int = 0,
        resent: int = 0,
        slow: int = 0,
    ) -> None:
        super().__init__(limit, memory_limit, guarantee, queues, quantum)
        self.threshold, self.span, self.other = threshold, span, other
        self.learn, self.order = learn, order
        self.split_gso, self.linger, self.resent = split_gso, linger, resent
        self.slow = slow
        self.sorted: list[Packet] = []  # with order all that waits
        self.ranks: dict[int, int] = {}  # of packets, by their identity
        self.holds: dict[int, Any] = {}  # those that keep a record alive, and whose
        self.flows: dict[Any, Record] = {}
        self.tcp = self.others = self.learned = 0

    @property
    def waiting(self) -> list[Any]:
        return [*super().waiting, *self.sorted]

    @property
    def low(self) -> list[Packet]:
        """What counts as the low band's"""
        return [*self.bands[LOW], *self.sorted]

    def held(self, flow: Any) -> list[Packet]:
        """What keeps the record of a flow."""
        return [packet for packet in self.waiting if self.holds.get(packet.ident) == flow]

    @property
    def flows_queued(self) -> int:
        return len(self.classes)

    @property
    def classes(self) -> list[tuple[int, int, int]]:
        """Of each flow with a record and packets: highest rank, packets and backlog"""
        found = []
        for name, record in self.flows.items():
            if held := self.held(name):
                found.append((record.top, len(held), sum(p.length for p in held)))
        return sorted(found)

    def _forget_ended(self) -> None:
        for name, record in list(self.flows.items()):
            if record.closing and not self.held(name):
                del self.flows[name]

    def _has_rank(self, packet: Packet) -> bool:
        return packet.seq is not None and (packet.numbered or self.other != "count")

    def _rank(self, packet: Packet, record: Record | None, syn: bool) -> int:
        if not self._has_rank(packet):
            self.others += 1
            if self.other != "count":
                return 0 if self.other == "high" else LAST
            assert record and record.counted
            most = (1 << 32) - 1 if self.order else COUNT_MAX * self.threshold
            return record.count(packet.length, bool(self.held(packet.flow)), most)
        self.tcp += 1
        if record:
            return record.rank(packet.seq, packet.data, self.resent)
        return 0 if syn and self.learn else packet.seq % self.span

    def _put(self, packet: Packet) -> None:
        """At its rank, behind those of the same"""
        rank = self.ranks[packet.ident]
        if self.order:
            before = [each for each in self.sorted if self.ranks[each.ident] <= rank]
            self.sorted.insert(len(before), packet)
        else:
            self.bands[HIGH if rank < self.threshold else LOW].append(packet)

    def _insert(self, packet: Packet, name: Any, band: int | None, syn: bool) -> None:
        record = None
        if band is None:
            record = self.flows.get(name)
            self.ranks[packet.ident] = self._rank(packet, record, syn)
        else:
            self.ranks[packet.ident] = 0 if band == HIGH else LAST
        self._put(packet)
        if record and (self.order or self.ranks[packet.ident] >= self.threshold):
            self.holds[packet.ident] = name

    def _drop(self) -> Packet:
        self._count_drop()
        gone = self.sorted.pop() if self.order else self.bands[self._full_band()].drop()
        self._forget_ended()
        return gone

    def _begin(self, packet: Packet, flags: str) -> Any:
        """Whose record is that of a packet? It has one now if it needs one."""
        name = packet.flow
        if not self._has_rank(packet):
            if self.other != "count":
                return None
            if name not in self.flows:
                self.flows[name] = Record(counted=True)
                self.learned += 1
            return name
        if not self.learn or not packet.numbered:
            return None
        if "S" in flags and name in self.flows and not self.linger:
            self.flows[name].closing = True
            self._forget_ended()
        if name not in self.flows:
            if set(flags) & set("SR") and not packet.data:
                return name
            self.learned += 1
        elif "S" not in flags or self.linger:
            return name
        self.flows[name] = Record(packet.seq)
        return name

    def enqueue(self, *packets: Packet, flags: str = "", band: int | None = None) -> bool:
        """A packet or its segments, in a band if a filter has named it; False if none is left."""
        before = self.qlen
        dropped = []
        name = self._begin(packets[0], flags) if band is None else None
        for packet in packets:
            if packet.truesize > self.memory_limit:
                self.drop_memory += 1
                dropped.append(packet)
                continue
            self._insert(packet, name, band, "S" in flags)
            while self._over():
                dropped.append(self._drop())
        left = len(set(packets) - set(dropped))
        own = {name} & {self.holds.get(each.ident) for each in set(dropped) - set(packets)} - {None}
        ends = "R" in flags and self._has_rank(packets[0]) and not self.linger
        if left and ends and name in self.flows:
            self.flows[name].closing = True
            self._forget_ended()
        self.told += left > 0 and (bool(own) or (before > 0 and left == self.qlen))
        return left > 0

    def _serve(self) -> Packet:
        packet = self.sorted.pop(0) if self.order else self.bands[self._next_band()].take()
        self._forget_ended()
        return packet

    def change(self, **options: Any) -> None:
        order = self.order
        for name, value in options.items():
            setattr(self, name, value)
        if self.order != order:
            packets = sorted(self.waiting, key=lambda packet: packet.ident)
            if order:
                packets = self.sorted
            self.sorted = []
            self._renew_bands()
            for packet in packets:
                self._put(packet)
        while self._over():
            self._drop()
