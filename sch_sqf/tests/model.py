# SPDX-License-Identifier: GPL-2.0
"""The reference model of sqf: a list of packets for each flow, nothing clever.

When a limit is exceeded after the newcomer is in, the flow with most bytes loses a packet; which of
several is up to the kernel. Served is the flow with least bytes (sqf), with most (lqf), or by
rounds of a quantum (fq); of equals the one that has been so for longest. There is no `idle` here,
since it depends on the time.
"""

from dataclasses import dataclass, field
from typing import Any

from selftests.lib.model import BaseModel, BasePacket


@dataclass(frozen=True)
class Packet(BasePacket):
    arrival: int


@dataclass
class Queue:
    packets: list[Packet] = field(default_factory=list)
    round: int = 0  # of the first packet
    used: int = 0  # bytes sent in that round
    since: int = 0  # when it got its length
    joined: int = 0  # when it came into that round, or got its first packet

    @property
    def backlog(self) -> int:
        return sum(packet.length for packet in self.packets)


class Model(BaseModel):
    def __init__(
        self,
        limit: int,
        memory_limit: int = 32 << 20,
        policy: str = "sqf",
        quantum: int = 1514,
        drop: str = "tail",
    ) -> None:
        super().__init__(limit, memory_limit)
        self.policy, self.quantum, self.drop = policy, quantum, drop
        self.queues: dict[Any, Queue] = {}
        self.round = 0  # of the packet served last
        self.arrivals = 0
        self.changes = 0  # of queues

    @property
    def busy(self) -> list[Queue]:
        return [queue for queue in self.queues.values() if queue.packets]

    @property
    def waiting(self) -> list[Packet]:
        return [packet for queue in self.busy for packet in queue.packets]

    @property
    def flows_queued(self) -> int:
        return len(self.busy)

    @property
    def longest(self) -> int:
        return max((queue.backlog for queue in self.busy), default=0)

    def _changed(self, queue: Queue) -> None:
        self.changes += 1
        queue.since = self.changes

    def _joins(self, queue: Queue) -> None:
        self.changes += 1
        queue.joined = self.changes

    def _drop(self) -> Packet:
        self._count_drop()
        longest = [queue for queue in self.busy if queue.backlog == self.longest]
        assert len(longest) == 1, "a tie: which one goes is up to the kernel"
        self._changed(longest[0])
        return longest[0].packets.pop(0 if self.drop == "head" else -1)

    def ties(self, flow: Any, length: int) -> bool:
        """Would it be up to the kernel which of two queues loses a packet?"""
        lengths = {name: queue.backlog for name, queue in self.queues.items()}
        lengths[flow] = lengths.get(flow, 0) + length
        found = sorted(lengths.values(), reverse=True)
        return found[:1] == found[1:2]

    def enqueue(self, flow: Any, *packets: tuple[int, int, int]) -> bool:
        """(ident, length, truesize) of one packet or of its segments; False if none is left."""
        before, own_lost = self.qlen, False
        queue = self.queues.setdefault(flow, Queue())
        sent, dropped = [], []
        for ident, length, truesize in packets:
            packet = Packet(ident, flow, length, truesize, self.arrivals)
            sent.append(packet)
            if truesize > self.memory_limit:
                self.drop_memory += 1
                dropped.append(packet)
                continue
            self.arrivals += 1
            if not queue.packets:
                if queue.round < self.round:
                    queue.round, queue.used = self.round, 0
                self._joins(queue)
            queue.packets.append(packet)
            self._changed(queue)
            while self._over():
                dropped.append(self._drop())
                own_lost |= dropped[-1].flow == flow and dropped[-1] not in sent
        left = len(set(sent) - set(dropped))
        self.told += left > 0 and (own_lost or before > 0 and left == self.qlen)
        return left > 0

    def _next(self) -> Queue:
        def key(queue: Queue) -> tuple[int, int]:
            return {
                "sqf": (queue.backlog, queue.since),
                "lqf": (-queue.backlog, queue.since),
                "fq": (queue.round, queue.joined),
            }[self.policy]

        return min(self.busy, key=key)

    def _serve(self) -> Packet:
        queue = self._next()
        packet = queue.packets.pop(0)
        self._changed(queue)
        if self.policy == "fq":
            self.round = queue.round
            rounds, queue.used = divmod(queue.used + packet.length, self.quantum)
            if rounds:
                queue.round += rounds
                self._joins(queue)
            if not self.busy:
                self.round += 4096  # more than any flow is ahead: all are equal again
        return packet

    def change(self, **options: Any) -> None:
        if options.get("policy") == "fq" != self.policy:
            for queue in sorted(self.busy, key=lambda queue: queue.packets[0].arrival):
                self._joins(queue)
        for name, value in options.items():
            setattr(self, name, value)
        while self._over():
            self._drop()
