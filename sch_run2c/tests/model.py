# SPDX-License-Identifier: GPL-2.0
"""The reference model of run2c: lists of packets, and the numbers that connections began with.

There is no time here, so no `idle`. Records are unlimited.
"""

from dataclasses import dataclass
from typing import Any

from selftests.lib.model import HIGH, LOW, BandsModel, BasePacket

NUMBERS = 1 << 32
WINDOW = 1 << 30  # bytes: the largest of TCP
LAST = 1 << 64  # the rank of what comes last


@dataclass(frozen=True)
class Packet(BasePacket):
    seq: int | None = None  # None: it has no rank


@dataclass
class Record:
    first: int
    top: int = 0  # the highest rank so far
    closing: bool = False

    def rank(self, seq: int) -> int:
        """No further than a window from the highest so far; else it is the last of all."""
        ahead = (seq - self.first - self.top + WINDOW) % NUMBERS - WINDOW
        if ahead > WINDOW:
            return LAST
        self.top = max(self.top, self.top + ahead)
        return max(self.top + min(ahead, 0), 0)


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
    ) -> None:
        super().__init__(limit, memory_limit, guarantee)
        self.threshold, self.span, self.other = threshold, span, other
        self.learn, self.order = learn, order
        self.split_gso = split_gso
        # with order all is in the low band
        self.ranks: dict[int, int] = {}  # of packets, by their identity
        self.holds: dict[int, Any] = {}  # those that keep a record alive, and whose
        self.flows: dict[Any, Record] = {}
        self.tcp = self.others = self.learned = 0

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

    def _rank(self, packet: Packet, record: Record | None, syn: bool) -> int:
        if packet.seq is None:
            self.others += 1
            return 0 if self.other == "high" else LAST
        self.tcp += 1
        if record:
            return record.rank(packet.seq)
        return 0 if syn and self.learn else packet.seq % self.span

    def _put(self, packet: Packet) -> None:
        """At its rank, behind those of the same"""
        rank = self.ranks[packet.ident]
        if self.order:
            before = [each for each in self.bands[LOW] if self.ranks[each.ident] <= rank]
            self.bands[LOW].insert(len(before), packet)
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
        if record and packet in self.bands[LOW]:
            self.holds[packet.ident] = name

    def _drop(self) -> Packet:
        self._count_drop()
        gone = self.bands[LOW if self.order else self._full_band()].pop()
        self._forget_ended()
        return gone

    def _begin(self, name: Any, seq: int, flags: str) -> None:
        """The record of a flow, if it needs one or this is a new connection of its ports"""
        if "S" in flags and name in self.flows:
            self.flows[name].closing = True
            self._forget_ended()
        if name not in self.flows:
            if set(flags) & set("SR"):
                return
            self.learned += 1
        elif "S" not in flags:
            return
        self.flows[name] = Record(seq)

    def enqueue(self, *packets: Packet, flags: str = "", band: int | None = None) -> bool:
        """A packet or its segments, in a band if a filter has named it; False if none is left.

        A flow of None is one that no record may be made of.
        """
        before = self.qlen
        name = packets[0].flow if self.learn and band is None else None
        dropped = []
        if name is not None:
            self._begin(name, packets[0].seq, flags)
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
        if left and "R" in flags and name in self.flows:
            self.flows[name].closing = True
            self._forget_ended()
        self.told += left > 0 and (bool(own) or (before > 0 and left == self.qlen))
        return left > 0

    def _serve(self) -> Packet:
        packet = self.bands[LOW if self.order else self._next_band()].pop(0)
        self._forget_ended()
        return packet

    def change(self, **options: Any) -> None:
        order = self.order
        for name, value in options.items():
            setattr(self, name, value)
        if self.order != order:
            packets = self.waiting
            self.bands = [[], []]
            for packet in packets:
                self._put(packet)
        while self._over():
            self._drop()
