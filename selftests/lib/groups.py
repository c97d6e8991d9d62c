# SPDX-License-Identifier: GPL-2.0
"""The reference model of the kinds with groups of flows (policy.h), by lists that are searched.

Newcomers are flows of which nothing was served yet; they go by arrival, their sorts in turn. The
others go by their rank, which is the kind's, but for long ones, which take turns. Nothing here
depends on the time, but for when a flow was seen last: no `forgive`, `forgive_share`, `buffer` and
`target`. What long flows are owed depends on the rate of the link, so `long_share` is only for who
is dropped. With `hosts` long flows wait in lists of their hosts, which go by what they have sent;
the rate of the link has to be unknown then, so that no host is over its share. All have records.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from selftests.lib.model import TURNS_OWED, TURNS_PASSED, BaseModel, BasePacket
from selftests.lib.options import Table

SILENCE = 1.0  # seconds: a SYN begins a new flow if nothing of the old one was seen for so long
ABOUT = 0.03  # seconds: times that differ by less may be the same for the kernel, or the other way
NEW, SHORT, LONG = "new", "short", "long"
NEVER = 2**62  # as fair: no flow is long
FAIR_MARGIN = 64 << 10  # what a long flow may attain beyond fair
SORTS = 4  # of newcomers
SMALL = 512  # bytes of a first packet that is, and of a queue
AHEAD_PART = 8  # small flows go ahead of others for one of so many bytes of these
AHEAD = AHEAD_PART * 1514  # and for no more of such a part at a time
NO_HOSTS, SRC, DST, BOTH = range(4)  # the values of `hosts`
OWED = 100 * 1514  # who has waited for long is owed a packet from so many hundredths of bytes on
LAG = 32 << 10  # bytes that a host which comes back may be behind the others
MUCH = 1515  # bytes: hosts with less waiting lose no packet while one has as much
PATIENCE = 256  # bytes that the link sends for each by which a short flow grows shorter
ATTAINED_PART = 4  # of its visible size
LONGEST_OF = 16  # of a host's long flows in turn so many are looked at for who is to lose
HEAP_FIXES = 128  # of more than these the longest need not be known

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
    """A step takes long on a slow machine, and when in it the kernel saw a packet is not known."""
    return SILENCE / 2 < seconds < 2 * SILENCE


@dataclass(frozen=True)
class Packet(BasePacket):
    begins: bool = False  # a SYN: a new flow, if the old one is silent
    priority: bool = False  # of a class that has it
    tcp: bool = False
    addresses: tuple[bytes, bytes] = (b"", b"")

    @property
    def sort(self) -> int:
        """Of newcomers, which it is if it is the first of its flow"""
        return 2 * (not self.tcp) + (self.length > SMALL)


@dataclass(eq=False)
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
    host: Any = 0  # whose it is while it has packets

    @property
    def backlog(self) -> int:
        return sum(packet.length for _, packet in self.packets)


@dataclass
class Host:
    tag: int = 0  # what it has sent in its turns, or as much as the others
    turns: list[Queue] = field(default_factory=list)  # long flows that wait
    grown: int = 0  # the arrival of its newest packet, here or not


class Heap:
    """Of names; which of equals is first depends on how they came in, as in flow_heap.h."""

    CHILDREN = 4

    def __init__(self) -> None:
        self.nodes: list[tuple[tuple[int, int], Any]] = []  # by what they are ordered, the name

    @property
    def first(self) -> Any:
        return self.nodes[0][1]

    def _at(self, name: Any) -> int:
        return next(i for i, node in enumerate(self.nodes) if node[1] == name)

    def _less(self, i: int, j: int) -> bool:
        """Those two change places if the first is less."""
        if less := self.nodes[i][0] < self.nodes[j][0]:
            self.nodes[i], self.nodes[j] = self.nodes[j], self.nodes[i]
        return less

    def _up(self, i: int) -> None:
        while i and self._less(i, parent := (i - 1) // self.CHILDREN):
            i = parent

    def _down(self, i: int) -> None:
        first = self.CHILDREN * i + 1
        below = range(first, min(first + self.CHILDREN, len(self.nodes)))
        if below and self._less(least := min(below, key=lambda j: self.nodes[j][0]), i):
            self._down(least)

    def add(self, name: Any, by: tuple[int, int]) -> None:
        self.nodes.append((by, name))
        self._up(len(self.nodes) - 1)

    def lower(self, name: Any, by: tuple[int, int]) -> None:
        i = self._at(name)
        self.nodes[i] = by, name
        self._down(i)

    def remove(self, name: Any) -> None:
        i, last = self._at(name), self.nodes.pop()
        if last[1] != name:
            before, self.nodes[i] = self.nodes[i], last
            (self._up if last[0] < before[0] else self._down)(i)


@dataclass
class Options:
    fair: int = NEVER
    newcomers: int = 1 << 32
    known: int = 0
    long: int = 0
    quantum: int = 1514
    hosts: int = NO_HOSTS


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
        self.news: list[Queue] = []
        self._forget_hosts()
        self.credit = 0  # of the known
        self.ahead = 0  # bytes * AHEAD_PART that small ones may go ahead
        self.overdue = 0  # would be owed, if the rate of the link were known
        self.crowd = False  # too many short flows have waited, since there were any
        self.had = [0] * SORTS  # of newcomers, bytes, or as much as the others
        self.had_last = 0
        self.arrivals = self.overflow = self.evictions = self.drop_new = 0
        self.sent = 0  # bytes
        self.sent_before: dict[int, int] = {}  # what had been when a packet came, by its identity
        self.anew = 0  # flows that a SYN began
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

    # Hosts; 0 is that of what has none, and of all if they are not told apart

    def _forget_hosts(self) -> None:
        self.hosts: dict[Any, Host] = {0: Host()}
        self.turns = Heap()  # of those with long flows that wait, unless there is one host
        self.sent_most = 0  # the highest tag of a host that was served

    def _host(self, packet: Packet) -> Any:
        src, dst = packet.addresses
        return (0, src, dst, (src, dst))[self.opt.hosts]

    @property
    def hosts_told(self) -> dict[str, int]:
        """In statistics; what is called over is all with packets in lists of their own."""
        own = sum(bool(host.turns) for host in self.hosts.values()) if self.opt.hosts else 0
        return {"hosts_known": len(self.hosts) - 1, "hosts_over": own, "host_evictions": 0}

    def _most(self) -> Any:
        """The host with the most bytes waiting, of equals that to which a packet came last; None if
        that is not much."""
        waiting = dict.fromkeys(self.hosts, 0)
        for queue in self._busy():
            waiting[queue.host] += queue.backlog
        most = max(waiting, key=lambda name: (waiting[name], self.hosts[name].grown))
        return most if waiting[most] >= MUCH else None

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

    def _sent_before(self, queue: Queue) -> int:
        """What the link had sent when its first packet came"""
        return self.sent_before[queue.packets[0][1].ident]

    def _visible_size(self, queue: Queue) -> int:
        return queue.backlog + queue.attained // ATTAINED_PART

    def _rank_of_size(self, queue: Queue, size: int) -> int:
        return self._sent_before(queue) + PATIENCE * size

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
        if queue.attained >= self._fair() and not queue.priority:
            return LONG
        return NEW if queue.group != SHORT and self._crowded_out(queue) else SHORT

    def _crowded_out(self, queue: Queue) -> bool:
        """It comes to the newcomers though it is known: without `forgive_share` all are young."""
        return self.crowd and self.opt.known > 0 and not queue.priority

    def _leave(self, queue: Queue) -> None:
        if queue.group == NEW:
            self.news.remove(queue)
        elif queue.group == LONG:
            turns = self.hosts[queue.host].turns
            turns.remove(queue)
            if self.opt.hosts and not turns:
                self.turns.remove(queue.host)
        queue.group = ""
        self.crowd &= any(other.group == SHORT for other in self._busy())

    def _take_turns(self, queue: Queue) -> None:
        """As a long flow"""
        host = self.hosts[queue.host]
        if self.opt.hosts and not host.turns:
            host.tag = max(host.tag, self.sent_most - LAG)
            self.turns.add(queue.host, (host.tag, self.arrivals))
        host.turns.append(queue)

    def _rotate(self, queue: Queue) -> None:
        """One that is a newcomer although it is known takes turns with others."""
        if queue.group == NEW and queue.known:
            self.news.remove(queue)
            self.news.append(queue)

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
        if group == SHORT:
            shorts = sum(other.group == SHORT for other in self._busy())
            self.crowd |= shorts >= self.opt.newcomers
        if group == LONG:
            queue.deficit = min(queue.deficit, 0) + self.opt.quantum
            self._take_turns(queue)
        if group == NEW:
            queue.sort = queue.packets[0][1].sort
            if not self._fresh(queue.sort):
                self.had[queue.sort] = max(self.had[queue.sort], self.had_last)
            self.news.append(queue)

    def _fresh(self, sort: int) -> list[Queue]:
        return [queue for queue in self.news if queue.sort == sort]

    def _next_new(self) -> list[Queue]:
        fresh = self.news
        if self.opt.known:
            fresh = sorted(fresh, key=lambda queue: (self.had[queue.sort], queue.sort))
        return fresh[:1]

    def _newest(self, of: Callable[[Queue], bool]) -> list[Queue]:
        fresh = [queue for queue in self.news if of(queue)]
        if self.opt.known:
            fresh = sorted(fresh, key=lambda q: (len(self._fresh(q.sort)), -q.sort))
        return fresh[-1:]

    def _ranked(self) -> list[Queue]:
        found = [q for q in self.queues.values() if q.group == SHORT]
        return sorted(found, key=lambda q: (self._rank(q), q.packets[0][0]))

    def _in_lists(self) -> list[Queue]:
        """All with packets, in the order in which options that change are about them"""
        fresh = [queue for sort in range(SORTS) for queue in self._fresh(sort)]
        if not self.opt.hosts:
            return [*fresh, *self.hosts[0].turns, *self._ranked()]
        hosts = [self.hosts[name] for _, name in self.turns.nodes]
        return [*fresh, *self._ranked(), *(queue for host in hosts for queue in host.turns)]

    # What goes out

    def _goes_ahead(self) -> Queue | None:
        """Of newcomers and long flows"""
        ranked = self._ranked()[:1]
        others = self.news or any(queue.group == LONG for queue in self._busy())
        others = others or self.overdue >= OWED
        if not ranked or not others or not self.opt.known or self.ahead <= 0:
            return None
        return ranked[0] if ranked[0].backlog <= SMALL else None

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
        ahead, name = self._goes_ahead(), None
        queue = ahead or self._next_short()
        length = queue.packets[0][1].length if queue else 0
        if ahead:
            self.ahead -= AHEAD_PART * length
        elif queue and queue.group == NEW:
            self.ahead = min(self.ahead + length, AHEAD)
        if queue:
            queue.known = True
            meet = self.opt.known and len({each.sort for each in self.news}) > 1
            if queue.group == NEW and meet:
                self.had_last = self.had[queue.sort]
                self.had[queue.sort] += queue.packets[0][1].length
        else:
            name = self.turns.first if self.opt.hosts else 0
            turns = self.hosts[name].turns
            self.sent_most = max(self.sent_most, self.hosts[name].tag)
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
            length = queue.packets[0][1].length
            queue.deficit = max(queue.deficit - length, least)
            self.ahead = min(self.ahead + length, AHEAD)
        _, packet = queue.packets.pop(0)
        self.sent += packet.length
        self._place(queue)
        self._rotate(queue)
        if not ahead and name is None:
            if self.overdue >= OWED:
                self.overdue = 0  # nobody has waited for long
            share = self.opt.known if self.crowd else 0
            self.overdue += packet.length * max(share, self.opt.long)
        if name is not None and self.opt.hosts:
            host = self.hosts[name]
            host.tag += packet.length
            if host.turns:
                self.turns.lower(name, (host.tag, self.arrivals))
        return packet

    # What is dropped

    def _losers(self) -> list[Queue]:
        """The first is to lose a packet"""

        def loss(queue: Queue) -> tuple[int, int, int]:
            if queue.group == LONG:
                return 0, -queue.backlog, self._loss(queue)[1]
            return 1, *self._loss(queue)

        found = sorted((q for q in self._busy() if q.two or self._singles()), key=loss)
        assert len(found) <= HEAP_FIXES
        return found

    def _victim(self) -> Queue:
        """With `hosts`: of the host with the most, of its long flows if there are any. If none has
        much, one with long flows if these are to lose, or else a queue of whatever host."""
        name = self._most() if self.opt.hosts else None
        if name is None and self.turns.nodes and self._longs_lose():
            name = self.turns.nodes[-1][1]
        turns = [] if self.opt.hosts and name is None else self.hosts[name or 0].turns

        def of_host(queue: Queue) -> bool:
            return name is None or queue.host == name

        ranked, newest = [*filter(of_host, self._ranked())], self._newest(of_host)
        losers = [*filter(of_host, self._losers())]
        if self.opt.hosts and turns:
            ranked, newest = [], []
            losers = [queue for queue in losers if queue.group == LONG]
        losers, ranked = losers[:1], ranked[-1:]
        first = losers[0].group if losers else ""
        if turns and (self._longs_lose() or not newest and not ranked):
            if first == LONG:
                return losers[0]
            last = max(turns[:LONGEST_OF], key=lambda queue: queue.backlog)
            return last if self.opt.hosts else turns[-1]
        if first == LONG:
            losers = []
        found = [*losers, *ranked, *newest]
        if last := self._last(found):
            return last
        fresh, short = self._waiting(NEW), self._waiting(SHORT)
        if newest and 100 * fresh > (100 - self.opt.known) * (fresh + short):
            same = first == NEW and (not self.opt.known or losers[0].sort == newest[0].sort)
            return losers[0] if same else newest[0]
        return found[0]

    def _longs_lose(self) -> bool:
        """Have long flows more than their share of what waits, or has nobody else anything?"""
        others = self._waiting(NEW) + self._waiting(SHORT)
        long = self._waiting(LONG)
        return not others or 100 * long > self.opt.long * (others + long)

    def _waiting(self, group: str) -> int:
        return sum(queue.backlog for queue in self._busy() if queue.group == group)

    def _trim(self) -> list[Packet]:
        dropped = []
        while self._over():
            self._count_drop()
            queue = self._victim()
            place = -1
            if self.drop_head:
                place = 0
            elif self.opt.known and queue.group != LONG:
                place = min(1, len(queue.packets) - 1)  # the first keeps its age
            _, packet = queue.packets.pop(place)
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
        if len(self.news) < self.opt.newcomers or packet.priority:
            return False
        if self.opt.known and len(self._fresh(packet.sort)) < self.opt.newcomers // SORTS:
            return False
        queue = self.queues.get(packet.flow, Queue())
        if queue.known and queue.attained < self._fair() and self._crowded_out(queue):
            return not queue.packets
        return not queue.packets and (not queue.known or self._begins(packet, queue))

    def enqueue(self, *packets: Packet) -> bool:
        """One packet, or the segments of one; False if none of them is left."""
        before = self.qlen
        waiting = self.queues.get(packets[0].flow)
        if waiting and waiting.packets:
            host = waiting.host  # that of all of it, until there is none
        else:
            host = self._host(packets[0])
        if self._refused(packets[0]):
            self.drop_new += 1
            self.not_split += len(packets) > 1
            return False
        self.sent_before |= {packet.ident: self.sent for packet in packets}
        self.hosts.setdefault(host, Host(self.sent_most))
        record = self._record(packets[0].flow)
        self.overflow += record is None
        queue = record or self.elsewhere
        if record and self._begins(packets[0], queue):
            queue.attained, queue.known, queue.deficit = 0, False, 0
            self.anew += 1
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
                if not queue.packets:
                    queue.host = host
            queue.packets.append((self.arrivals, packet))
            self.hosts[queue.host].grown = self.arrivals
            self.arrivals += 1
            queue.two |= len(queue.packets) > 1
            self._place(queue)
            dropped += self._trim()
            if len(self.waiting) == 1:  # a busy period begins
                self.overdue = 0
        left = len(set(packets) - set(dropped))
        own_lost = any(packet.flow == packets[0].flow for packet in set(dropped) - set(packets))
        alone = before > 0 and left == self.qlen
        self.told += left > 0 and (own_lost or alone)
        return left > 0

    def change(
        self, limit: int | None = None, memory_limit: int | None = None, **options: int
    ) -> None:
        before = (self.limit, self.memory_limit, replace(self.opt))
        self.limit = limit or self.limit
        self.memory_limit = memory_limit or self.memory_limit
        busy = self._in_lists()
        if options.get("hosts", self.opt.hosts) != self.opt.hosts:
            for queue in busy:
                self._leave(queue)
                queue.host = 0
            self._forget_hosts()
            self.overdue = 0
        for name, value in options.items():
            setattr(self.opt, name, value)
        if before == (self.limit, self.memory_limit, self.opt):
            return
        if (before[2].known > 0) != (self.opt.known > 0):
            self.had, self.had_last, self.ahead = [0] * SORTS, 0, 0
        for queue in busy:
            self._place(queue)
            host = self.hosts[queue.host]
            host.grown = max(host.grown, queue.packets[-1][0])
        self._trim()
