# SPDX-License-Identifier: GPL-2.0
"""gtcp, Algorithms 1 to 4 of sched-tcp (Ayesta, Bertaux, Carvin 2014), as a simulation of events.

Each flow i has an application, which writes segments into the flow's real queue q_i, and a server
(a TCP connection), which also has a virtual queue q_i^v: what would be left in q_i if the server
carried nothing else. A server knows its own services only. Each time it sends, a policy chooses
whose data that is, and nothing but the real queues depends on it:

    wri     q_i and q_i^v grow by l                     Algorithm 1   on_wri
    serve   server i sends j's data: q_i^v - 1, q_j - 1 Algorithm 2   _schedule, _send
    ack     cwnd_i and a_i change, i goes on            Algorithm 3   on_ack, on_rto
    ready   i's socket takes j's data, to send later    Algorithm 4   _offer

So all servers send at the same times, whatever the policy (Proposition 1), and virtual queues make
up as much as real ones: as long as there are data, there is a server that will send.

Times are integers (ticks), data whole segments: what is said to be equal is equal.

What differs from the article, and what it leaves open:

- Algorithm 3, third_dupack: printed is serve(i, s) with the s that is acknowledged. What is to be
  repeated is not this one, but what three later ones have overtaken.
- Algorithm 3 takes other data for a service that is repeated, and unmarks its former data only when
  the service is acknowledged. Meanwhile there are fewer data than the virtual queues say: a server
  may have to send, and schedule() has nothing. Here former data return to their queue at once.
- Even so that is right only if the former segment is lost. If it is late, or its acknowledgment is
  lost, its data may go with one more service, which then brings nothing new: at the end data are
  left and there is no server that will send them. No choice avoids that: of a service of which two
  copies are under way, nobody knows which one will come first, and the other's data are thrown
  away. V(t) is the same all the time, but the transfer does not end. With Algorithm 4 it does, as
  its TCP repeats what it has sent.
- Algorithm 4 has chosen what is in a socket. So what Proposition 2 says of FAIR and SRPT holds
  for when data are put into sockets, not for when they arrive.
- There is nothing about flows that are reset: see `reset`.
- Proposition 2, LAS and mu: see `las` and `mu`.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

Data = tuple[int, int]  # (j, s'): segment s' of flow j
Write = tuple[int, int, int]  # when, flow, segments
LOST, UNACKED = -1, -2


@dataclass(frozen=True)
class Path:
    """What is between origin and destination: a bottleneck, FIFO, then the same delay for all.

    The n-th segment that is sent has the n-th fate, if there are so many: `LOST` before it gets to
    the bottleneck, `UNACKED` if only its acknowledgment is lost, or so many ticks later than usual.
    """

    segment: int = 1  # ticks that the bottleneck takes
    delay: int = 10  # ticks each way
    buffer: float = inf  # segments
    fates: Sequence[int] = ()
    rto: int = 10**9  # ticks until a timeout; after each the double
    window: float = inf  # the most that a server has under way, segments

    @property
    def longest(self) -> float:
        """A round trip, at most, without a fate."""
        return 2 * self.delay + self.segment * (self.buffer + 1)


@dataclass
class Flow:
    """What an application sends."""

    index: int
    size: int  # segments that it will write, all in all
    type: int = 0
    begun: int = 0  # when it first wrote
    unwritten: int = 0  # segments that find no room in the sender's buffer
    written: int = 0
    next: int = 0  # the first segment that was never sent
    back: list[int] = field(default_factory=list)  # earlier ones that wait again, in order
    acked: set[int] = field(default_factory=set)
    got: set[int] = field(default_factory=set)  # segments at the receiver
    read: int = 0  # of those, by the receiving application
    sent_at: int | None = None  # when the last one was sent, or was known to be received
    got_at: int | None = None  # when all had been received
    gone: bool = False

    @property
    def attained(self) -> int:
        return self.next - len(self.back)

    @property
    def queue(self) -> int:
        """q_i: written, not sent."""
        return self.written - self.attained

    @property
    def left(self) -> int:
        """Not sent, written or not."""
        return self.size - self.attained


@dataclass
class Server:
    """A TCP connection: up_cong_state, here `acked` and `timed_out`, is a plain Reno with SACK."""

    virtual: int = 0  # q_i^v
    s: int = 0  # the next service
    a: int = 0  # the first that is not acknowledged
    cwnd: float = 2
    ssthresh: float = inf
    rwnd: float = inf
    recover: int = 0  # a below this: the window has shrunk already
    repair: int = 0  # a below this: what was under way at a timeout
    sacked: set[int] = field(default_factory=set)  # services from a on that are acknowledged
    judged: int = 0  # the first service not known to be lost, nor to be acknowledged
    repeated: set[int] = field(default_factory=set)  # since the timeout
    backoff: int = 0
    timer: int = 0  # which one counts
    expected: int = 0  # at the receiver: the first service that has not come
    socket: deque[Data] = field(default_factory=deque)  # Algorithm 4

    @property
    def credit(self) -> int:
        """cr_i."""
        return int(min(self.cwnd, self.rwnd)) + self.a - self.s

    def acked(self, s: int, cumulative: int, rwnd: float) -> list[int]:
        """The receiver has service s and all below `cumulative`: what is to be repeated?"""
        self.rwnd = rwnd
        lost = []
        if cumulative > self.a:
            self.a, self.backoff = cumulative, 0
            self.sacked = {service for service in self.sacked if service >= cumulative}
            self.judged = max(self.judged, cumulative)
            if self.a < self.repair:
                if self.a not in self.repeated:
                    lost.append(self.a)
                self.judged = max(self.judged, self.a + 1)
            elif self.a >= self.recover:
                self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd
        if s >= self.a:
            self.sacked.add(s)
            while self.judged < s - 2:  # three later ones: duplicate acknowledgments
                if self.judged not in self.sacked:
                    lost.append(self.judged)
                self.judged += 1
        if lost and self.a >= self.recover:
            self._shrink()
            self.cwnd = self.ssthresh
        self.repeated.update(lost)
        return lost

    def timed_out(self) -> None:
        self._shrink()
        self.cwnd, self.repair = 1, self.s
        self.repeated = {self.a}
        self.judged = max(self.judged, self.a + 1)
        self.backoff += 1

    def _shrink(self) -> None:
        self.recover = self.s
        self.ssthresh = max((self.s - self.a) / 2, 2)


class Gtcp:
    """All of one pair. `run` it; then there is what was sent when, and each flow's ends.

    With `room` None it is Algorithms 1 to 3: the policy chooses again for what is repeated. With a
    number it is Algorithm 4: so many segments, chosen already, wait in each server's socket, and
    what is repeated is the same. `sender` is how many segments of a flow may be written and not
    acknowledged, `receiver` how many may wait for the receiving application, which reads one each
    `reading` ticks.
    """

    def __init__(
        self,
        writes: Iterable[Write],
        path: Path,
        policy: "Policy",
        room: int | None = None,
        sender: float = inf,
        receiver: float = inf,
        reading: int = 0,
        types: Sequence[int] = (),
    ) -> None:
        self.path, self.policy, self.room = path, policy, room
        self.sender, self.receiver, self.reading = sender, receiver, reading
        self.now = 0
        self.events: list[tuple[int, int, Callable, tuple]] = []
        self.count = 0  # of events: of those at the same time the first goes first
        self.free_at = 0  # the bottleneck
        self.carried: dict[Data, Data] = {}  # by (i, s): (j, s') that was sent last
        self.kept: dict[Data, Data] = {}  # by (i, s): what the receiver got first
        self.ended: dict[int, int] = {}  # servers that have sent all of their own, in that order
        self.sent: list[tuple[int, int, int]] = []  # when, server, service: V(t), and more
        self.active: dict[int, Flow] = {}  # flows with a queue
        self.numbers: list[tuple[int, int]] = []  # when, how many of them: N(t), after each event
        writes = list(writes)
        self.flows = [
            Flow(i, sum(n for _, j, n in writes if j == i), types[i] if types else 0)
            for i in range(1 + max((j for _, j, _ in writes), default=-1))
        ]
        self.servers = [Server(rwnd=min(receiver, path.window)) for _ in self.flows]
        for when, i, segments in writes:
            self._at(when, self._write, i, segments)

    def run(self) -> "Gtcp":
        while self.events:
            self.now, _, happens, about = heappop(self.events)
            happens(*about)
            self.after_event()
        return self

    def after_event(self) -> None:
        self.numbers.append((self.now, len(self.active)))

    def _at(self, when: int, happens: Callable, *about: Any) -> None:
        self.count += 1
        heappush(self.events, (when, self.count, happens, about))

    # The sender

    def _write(self, i: int, segments: int) -> None:
        """The application of flow i has data: wri, as far as there is room."""
        flow = self.flows[i]
        if not flow.written:
            flow.begun = self.now
        flow.unwritten += segments
        room = self.sender - (flow.written - len(flow.acked))
        length = int(min(flow.unwritten, room))
        if length > 0 and not flow.gone:
            flow.unwritten -= length
            self.on_wri(i, length)

    def on_wri(self, i: int, length: int) -> None:
        """Algorithm 1."""
        self.flows[i].written += length
        self.servers[i].virtual += length
        self.active[i] = self.flows[i]
        self._offer(i)

    def _offer(self, i: int) -> None:
        """The loop of Algorithms 1 and 3, and Algorithm 4, On_connection_ready."""
        server = self.servers[i]
        # What is sent at once is chosen one by one: nothing happens in between
        while server.virtual > 0 and len(server.socket) < (self.room or 0) + server.credit:
            server.socket.append(self._schedule(i))
            server.virtual -= 1
            if not server.virtual and self.flows[i].written == self.flows[i].size:
                self.ended.setdefault(i, len(self.ended))
        while server.socket and server.credit > 0:
            if server.s == server.a:
                self._set_timer(i)
            server.s += 1
            self._send(i, server.s - 1, server.socket.popleft())

    def _schedule(self, i: int) -> Data:
        flow = self.flows[self.policy(self, i)]
        if flow.back:
            s = flow.back.pop(0)
        else:
            s, flow.next = flow.next, flow.next + 1
        self._changed(flow)
        return flow.index, s

    def _put_back(self, data: Data) -> None:
        flow = self.flows[data[0]]
        if data[1] not in flow.acked and not flow.gone:
            insort(flow.back, data[1])
            self._changed(flow)

    def _changed(self, flow: Flow) -> None:
        if flow.queue:
            self.active[flow.index] = flow
        else:
            self.active.pop(flow.index, None)
            flow.sent_at = self.now

    def _send(self, i: int, s: int, data: Data) -> None:
        """Algorithm 2, less what it chooses, and what the path does."""
        path, n = self.path, len(self.sent)
        self.carried[i, s] = data
        self.sent.append((self.now, i, s))
        fate = path.fates[n] if n < len(path.fates) else 0
        waits = max(self.free_at - self.now, 0)
        if fate == LOST or waits > path.segment * path.buffer:
            return
        self.free_at = self.now + waits + path.segment
        late = max(fate, 0)
        self._at(self.free_at + path.delay + late, self._rcv, i, s, data, fate != UNACKED)

    def _again(self, i: int, s: int) -> None:
        """serve(i, s) of a service that is taken to be lost: it is preempted."""
        data = self.carried[i, s]
        if self.room is None and not self.flows[data[0]].gone:
            self._put_back(data)
            data = self._schedule(i)
        self._send(i, s, data)

    def on_ack(self, i: int, s: int, cumulative: int, rwnd: float) -> None:
        """Algorithm 3."""
        server = self.servers[i]
        before = server.a
        lost = server.acked(s, cumulative, rwnd)
        for service in range(before, server.a):
            self._free(i, service)
        if server.a > before or lost:
            self._set_timer(i)
        for service in lost:
            self._again(i, service)
        self._offer(i)

    def _free(self, i: int, s: int) -> None:
        """Unmark all associations of (i, s); acknowledgments tell which one the receiver kept."""
        data, kept = self.carried.pop((i, s)), self.kept.pop((i, s))
        flow = self.flows[kept[0]]
        flow.acked.add(kept[1])
        if kept[1] in flow.back:
            flow.back.remove(kept[1])
            self._changed(flow)
        if data != kept:
            self._put_back(data)
        self._write(flow.index, 0)

    def _set_timer(self, i: int) -> None:
        server = self.servers[i]
        server.timer += 1
        self._at(self.now + (self.path.rto << server.backoff), self.on_rto, i, server.timer)

    def on_rto(self, i: int, timer: int) -> None:
        server = self.servers[i]
        if timer == server.timer and server.a < server.s:
            server.timed_out()
            self._set_timer(i)
            self._again(i, server.a)

    def reset(self, i: int) -> int:
        """Flow i ends at once: what waits in both of its queues is dropped.

        What is under way or in sockets goes on, since it is other flows' as well. Returns d =
        q_i^v - q_i. If it is above 0, others are behind by d and lack d services: servers of those
        whose q_k is above q_k^v get them. If it is below 0, others are ahead, and servers of those
        whose q_k^v is above q_k lose them. As the sums are equal with i, they differ by d without
        it, so there are always enough of those. V(t) is no longer tcp's, which would end with d
        services less: that cannot be helped, as flow i has already sent, or left out, as much.
        """
        flow, server = self.flows[i], self.servers[i]
        difference = rest = server.virtual - flow.queue
        flow.gone = True
        flow.written, flow.unwritten, flow.size, flow.back = flow.next, 0, flow.next, []
        server.virtual = 0
        self._changed(flow)
        for other, its in zip(self.flows, self.servers, strict=True):
            gap = other.queue - its.virtual
            step = min(max(gap, 0), rest) if rest > 0 else max(min(gap, 0), rest)
            its.virtual += step
            rest -= step
        if rest:
            raise AssertionError(f"{rest} segments of no flow")
        for other in self.flows:
            self._offer(other.index)
        return difference

    # The receiver

    def _rcv(self, i: int, s: int, data: Data, told: bool) -> None:
        server = self.servers[i]
        if s >= server.expected and (i, s) not in self.kept:
            self.kept[i, s] = data
            flow = self.flows[data[0]]
            flow.got.add(data[1])
            if len(flow.got) == flow.size and flow.got_at is None:
                flow.got_at = self.now
            if data[1] == flow.read and self.receiver < inf:
                self._at(self.now + self.reading, self._read, flow.index)
            while (i, server.expected) in self.kept:
                server.expected += 1
        if told:
            when = self.now + self.path.delay
            self._at(when, self.on_ack, i, s, server.expected, self._window(i))

    def _window(self, i: int) -> float:
        flow = self.flows[i]
        return min(self.path.window, self.receiver - (len(flow.got) - flow.read))

    def _read(self, i: int) -> None:
        flow = self.flows[i]
        flow.read += 1
        if flow.read in flow.got:
            self._at(self.now + self.reading, self._read, i)
        self._at(self.now + self.path.delay, self._on_window, i, self._window(i))

    def _on_window(self, i: int, rwnd: float) -> None:
        self.servers[i].rwnd = rwnd
        self._offer(i)


# Policies: whose data server i sends next, one of net.active

Policy = Callable[[Gtcp, int], int]


def least(rank: Callable[[Gtcp, Flow], Any]) -> Policy:
    """Who has the least rank; of equal ones, who came first."""

    def policy(net: Gtcp, i: int) -> int:
        return min(net.active.values(), key=lambda flow: (rank(net, flow), flow.index)).index

    return policy


def tcp(net: Gtcp, i: int) -> int:
    """A server sends its own flow's data."""
    return i


# Of those that know sizes, Proposition 2 has: N under SRPT is never more than under any other
srpt = least(lambda net, flow: flow.left)

# LAS needs no sizes. Proposition 2 has it that N under it is stochastically least, if the hazard
# rate decreases, of all policies that look at nothing but what each flow has got. That leaves out
# what gtcp knows by itself: the size of a flow whose server has ended. With that one can do better.
las = least(lambda net, flow: flow.attained)
las_by_ends = least(
    lambda net, flow: (0, flow.left) if flow.index in net.ended else (1, flow.attained)
)

# The daemon's SRPT for sizes that nobody has told: an end that is in the queue tells them
untold = least(lambda net, flow: flow.queue + (flow.attained if flow.written < flow.size else 0))

fcfs = least(lambda net, flow: 0)


def mu(means: Sequence[float]) -> Policy:
    """Types by their mean sizes, the smallest first; of one type, who has got least.

    Proposition 2 has E[N] least. That is so for geometric sizes, of all policies that do not know
    them; with a decreasing hazard rate LAS may do better, and with sizes known SRPT always does.
    """
    return least(lambda net, flow: (means[flow.type], flow.attained))


def order_of(net: Gtcp) -> list[int]:
    """Flows by when they end."""
    return sorted(range(len(net.flows)), key=lambda i: (net.flows[i].sent_at, i))


def fair(order: Sequence[int]) -> Policy:
    """The flow that ends first under tcp, given their order there: none ends later than there."""
    place = {flow: at for at, flow in enumerate(order)}
    return least(lambda net, flow: place[flow.index])


def guess(rate: Callable[[Server], float]) -> Policy:
    """FAIR without knowing what tcp would do, as the daemon has it.

    First those whose servers have ended, in that order: tcp would be through with them. Then those
    whose servers will have ended next if they go on at this `rate`, or at the mean of all those
    that go on, if that is more: one that has just begun is slow, but not for long.
    """

    def policy(net: Gtcp, i: int) -> int:
        flows = net.active.values()
        rates = {j: rate(net.servers[j]) for j in net.active if j not in net.ended}
        mean = sum(rates.values()) / max(len(rates), 1)

        def rank(flow: Flow) -> tuple[int, float, int]:
            j = flow.index
            if j in net.ended:
                return 0, net.ended[j], j
            rest = net.servers[j].virtual + flow.size - flow.written
            return 1, rest / max(rates[j], mean, 1e-9), j

        return min(flows, key=rank).index

    return policy


fair_equal = guess(lambda server: 1)
fair_window = guess(lambda server: server.s - server.a)


def random(seed: int) -> Policy:
    """Anyone."""
    rng = Random(seed)
    return lambda net, i: rng.choice(list(net.active))
