# SPDX-License-Identifier: GPL-2.0
"""The reference model of the kinds with groups of flows (groups.h), by lists that are searched.

Newcomers are flows of which nothing was served yet; they go by arrival, their sorts in turn. The
others go by their rank, which is the kind's, but for long ones, which take turns. Nothing here
depends on the time, but for when a flow was seen last: no `forgive`, `forgive_share`, `buffer` and
`target`. What long flows are owed depends on the rate of the link, so `long_share` is only for who
is dropped.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from selftests.lib.model import TURNS_OWED, TURNS_PASSED, BaseModel, BasePacket
from selftests.lib.options import Table

SILENCE = 1.0  # seconds: a SYN begins a new flow if nothing of the old one was seen for so long
ABOUT = 0.03  # seconds: times that differ by less may be the same for the kernel, or the other way
NEW, SHORT, LONG = "new", "short", "long"
NEVER = 2**62  # as fair: no flow is long
FAIR_MARGIN = 64 << 10  # what a long flow may attain beyond fair
SORTS = 4  # of newcomers
SMALL = 512  # bytes of a first packet that is

# How the options of models are called, and what is not the same there
NAMES = {"visible": "rank", "known": "known_share", "long": "long_share"}
UNBOUNDED = {"fair": (NEVER, 0), "newcomers": (1 << 32, 0)}


def typed(table: Table, options: dict[str, int | None]) -> str:
    """What is typed for options of the model; those that are None are left as they are."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, (none, zero) in UNBOUNDED.items():
        if given.get(name) == none:
            given[name] = zero
    return table.text({NAMES.get(name, name): value for name, value in given.items()})


def about_silent(seconds: float) -> bool:
    return abs(seconds - SILENCE) < ABOUT


@dataclass(frozen=True)
class Packet(BasePacket):
    begins: bool = False  # a SYN: a new flow, if the old one is silent
    priority: bool = False  # of a class that has it
    tcp: bool = False

    @property
    def sort(self) -> int:
        """Of newcomers, which it is if it is the first of its flow"""
        return 2 * (not self.tcp) + (self.length > SMALL)


@dataclass
class Queue:
    """A flow's, or that of all that wait elsewhere"""

    elsewhere: bool = False
    packets: list[tuple[int, Packet]] = field(default_factory=list)  # with their arrivals
    attained: int = 0
    known: bool = False
    priority: bool = False
    deficit: int = 0
    seen: float = 0.0  # when it last had a packet
    group: str = ""  # "" while it has no packets
    two: bool = False  # it has had that many since it was empty
    sort: int = 0  # of a newcomer

    @property
    def backlog(self) -> int:
        return sum(packet.length for _, packet in self.packets)


@dataclass
class Options:
    fair: int = NEVER
    newcomers: int = 1 << 32
    known: int = 0
    long: int = 0
    quantum: int = 1514


class Groups(BaseModel):
    """`records` bounds the flows that can be known, for a table of one set; None: no bound."""

    options: type[Options] = Options

    def __init__(
        self,
        limit: int,
        memory_limit: int = 32 << 20,
        records: int | None = None,
        **options: int,
    ) -> None:
        super().__init__(limit, memory_limit)
        self.opt = self.options(**options)
        self.records = records
        self.now = 0.0  # in seconds
        self.queues: dict[Any, Queue] = {}  # of the flows that have a record
        self.elsewhere = Queue(elsewhere=True)
        self.lists: dict[str, list[Queue]] = {NEW: [], LONG: []}
        self.credit = 0  # of the known
        self.had = [0] * SORTS  # of newcomers, bytes, or as much as the others
        self.had_last = 0
        self.arrivals = self.overflow = self.evictions = self.drop_new = 0
        self.not_split = 0  # bundles that were refused as a whole
        self.drop_head = False

    @property
    def waiting(self) -> list[Packet]:
        return [packet for queue in self._busy() for _, packet in queue.packets]

    @property
    def flows_queued(self) -> int:
        return len(self._busy())

    @property
    def drops(self) -> int:
        return super().drops + self.drop_new

    def _busy(self) -> list[Queue]:
        return [q for q in (*self.queues.values(), self.elsewhere) if q.packets]

    def ambiguous(self, flow: Any, begins: bool) -> bool:
        """Does it depend on the kernel's clock what becomes of a packet of this flow?"""
        if flow in self.queues:
            return begins and about_silent(self.now - self.queues[flow].seen)
        oldest = sorted(q.seen for q in self.queues.values() if not q.packets)[:2]
        full = len(self.queues) == self.records
        return full and len(oldest) == 2 and oldest[1] - oldest[0] < ABOUT

    def _record(self, flow: Any) -> Queue | None:
        if flow in self.queues:
            return self.queues[flow]
        if self.elsewhere.packets:
            return None
        if len(self.queues) == self.records:
            idle = [f for f, q in self.queues.items() if not q.packets]
            if not idle:
                return None
            del self.queues[min(idle, key=lambda f: self.queues[f].seen)]
            self.evictions += 1
        return self.queues.setdefault(flow, Queue(seen=self.now))

    # Where a queue is

    @abstractmethod
    def _rank(self, queue: Queue) -> int:
        """Of a short flow"""

    @abstractmethod
    def _loss(self, queue: Queue) -> tuple[int, int]:
        """Of what is no long flow's the least is the first to lose a packet; and of equals."""

    def _fair(self) -> int:
        """What a long flow has attained"""
        return self.opt.fair

    def _apart(self) -> bool:
        """Are newcomers a group?"""
        return True

    def _singles(self) -> bool:
        """Can a queue lose the only packet that it has had while others have more?"""
        return False

    def _last(self, found: list[Queue]) -> Queue | None:
        """Who loses of what is no long flow's, if that does not go by shares"""
        return None

    def _group(self, queue: Queue) -> str:
        if queue.elsewhere:
            return LONG
        if not queue.known and self._apart():
            return NEW
        return LONG if queue.attained >= self._fair() and not queue.priority else SHORT

    def _leave(self, queue: Queue) -> None:
        if queue.group in self.lists:
            self.lists[queue.group].remove(queue)
        queue.group = ""

    def _place(self, queue: Queue) -> None:
        queue.seen = self.now
        if not queue.packets:
            self._leave(queue)
            queue.two = False
            return
        group = self._group(queue)
        if group == LONG:
            queue.attained = min(queue.attained, self._fair() + FAIR_MARGIN)
        if group == queue.group:
            return
        self._leave(queue)
        queue.group = group
        if group == LONG:
            queue.deficit = min(queue.deficit, 0) + self.opt.quantum
        if group == NEW:
            queue.sort = queue.packets[0][1].sort
            if not self._fresh(queue.sort):
                self.had[queue.sort] = max(self.had[queue.sort], self.had_last)
        if group in self.lists:
            self.lists[group].append(queue)

    def _fresh(self, sort: int) -> list[Queue]:
        return [queue for queue in self.lists[NEW] if queue.sort == sort]

    def _next_new(self) -> list[Queue]:
        fresh = self.lists[NEW]
        if self.opt.known:
            fresh = sorted(fresh, key=lambda queue: (self.had[queue.sort], queue.sort))
        return fresh[:1]

    def _newest(self) -> list[Queue]:
        fresh = self.lists[NEW]
        if self.opt.known:
            fresh = sorted(fresh, key=lambda q: (len(self._fresh(q.sort)), -q.sort))
        return fresh[-1:]

    def _ranked(self) -> list[Queue]:
        found = [q for q in self.queues.values() if q.group == SHORT]
        return sorted(found, key=lambda q: (self._rank(q), q.packets[0][0]))

    # What goes out

    def _next_short(self) -> Queue | None:
        fresh, ranked = self._next_new(), self._ranked()[:1]
        if not ranked:
            self.credit = 0 if fresh else self.credit
            return fresh[0] if fresh else None
        if not fresh:
            return ranked[0]
        part = self.opt.known
        if not part:
            first = not self._rank(ranked[0]) and ranked[0].packets[0][0] < fresh[0].packets[0][0]
            return ranked[0] if first else fresh[0]
        price = ranked[0].packets[0][1].length * (100 - part)
        if self.credit >= price:
            self.credit -= price
            return ranked[0]
        self.credit += fresh[0].packets[0][1].length * part
        return fresh[0]

    def _serve(self) -> Packet:
        queue = self._next_short()
        if queue:
            queue.known = True
            meet = self.opt.known and len({each.sort for each in self.lists[NEW]}) > 1
            if queue.group == NEW and meet:
                self.had_last = self.had[queue.sort]
                self.had[queue.sort] += queue.packets[0][1].length
        else:
            turns = self.lists[LONG]
            least = -TURNS_OWED * self.opt.quantum
            found = None
            for _ in range(TURNS_PASSED):
                queue = turns[0]
                if queue.deficit > 0:
                    break
                queue.deficit = max(queue.deficit, least) + self.opt.quantum
                turns.append(turns.pop(0))
                if not found or queue.deficit > found.deficit:
                    found = queue
            else:
                queue = found  # who owes least
            queue.deficit = max(queue.deficit - queue.packets[0][1].length, least)
        _, packet = queue.packets.pop(0)
        self._place(queue)
        return packet

    # What is dropped

    def _losers(self) -> list[Queue]:
        """The first is to lose a packet"""

        def loss(queue: Queue) -> tuple[int, int, int]:
            if queue.group == LONG:
                return 0, -queue.backlog, self._loss(queue)[1]
            return 1, *self._loss(queue)

        return sorted((q for q in self._busy() if q.two or self._singles()), key=loss)

    def _victim(self) -> Queue:
        losers = self._losers()[:1]
        newest, ranked = self._newest(), self._ranked()[-1:]
        first = losers[0].group if losers else ""
        fresh, short, long = (self._waiting(group) for group in (NEW, SHORT, LONG))
        too_much = 100 * long > self.opt.long * (fresh + short + long)
        if self.lists[LONG] and (too_much or not newest and not ranked):
            return losers[0] if first == LONG else self.lists[LONG][-1]
        if first == LONG:
            losers = []
        found = [*losers, *ranked, *newest]
        if last := self._last(found):
            return last
        if 100 * fresh > (100 - self.opt.known) * (fresh + short):
            same = first == NEW and (not self.opt.known or losers[0].sort == newest[0].sort)
            return losers[0] if same else newest[0]
        return found[0]

    def _waiting(self, group: str) -> int:
        return sum(queue.backlog for queue in self._busy() if queue.group == group)

    def _trim(self) -> list[Packet]:
        dropped = []
        while self._over():
            self._count_drop()
            queue = self._victim()
            _, packet = queue.packets.pop(0 if self.drop_head else -1)
            if queue.group != LONG:
                queue.attained -= min(queue.attained, packet.length)
            self._place(queue)
            dropped.append(packet)
        return dropped

    # What comes

    def _begins(self, packet: Packet, queue: Queue) -> bool:
        silent = self.now - queue.seen >= SILENCE
        return packet.begins and silent and not queue.packets

    def _refused(self, packet: Packet) -> bool:
        if len(self.lists[NEW]) < self.opt.newcomers or packet.priority:
            return False
        if self.opt.known and len(self._fresh(packet.sort)) < self.opt.newcomers // SORTS:
            return False
        queue = self.queues.get(packet.flow, Queue())
        return not queue.packets and (not queue.known or self._begins(packet, queue))

    def enqueue(self, *packets: Packet) -> bool:
        """One packet, or the segments of one; False if none of them is left."""
        before = self.qlen
        if self._refused(packets[0]):
            self.drop_new += 1
            self.not_split += len(packets) > 1
            return False
        record = self._record(packets[0].flow)
        self.overflow += record is None
        queue = record or self.elsewhere
        if record and self._begins(packets[0], queue):
            queue.attained, queue.known, queue.deficit = 0, False, 0
        queue.seen = self.now
        dropped = []
        for packet in packets:
            if packet.truesize > self.memory_limit:
                self.drop_memory += 1
                dropped.append(packet)
                continue
            if record:
                queue.priority = packet.priority
                queue.attained += packet.length
            queue.packets.append((self.arrivals, packet))
            self.arrivals += 1
            queue.two |= len(queue.packets) > 1
            self._place(queue)
            dropped += self._trim()
        left = len(set(packets) - set(dropped))
        own_lost = any(packet.flow == packets[0].flow for packet in set(dropped) - set(packets))
        alone = before > 0 and left == self.qlen
        self.told += left > 0 and (own_lost or alone)
        return left > 0

    def change(
        self, limit: int | None = None, memory_limit: int | None = None, **options: int
    ) -> None:
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        for name, value in options.items():
            setattr(self.opt, name, value)
        self.had, self.had_last = [0] * SORTS, 0
        for queue in self._busy():
            self._place(queue)
        self._trim()
