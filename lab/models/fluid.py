# SPDX-License-Identifier: GPL-2.0
"""The fluid model of long TCP flows under SQF, LQF and FQ: Carofiglio and Muscariello 2009.

Flows share a link and a buffer, which drops from the longest queue. Equation numbers are theirs;
where theirs is a misprint (docs/misprints.md), the corrected form is here, and says so.

Outside, rates are in Mbit/s on the wire, queues in packets, times in seconds. Inside, rates are in
packets/s, as the model wants them: it adds a packet to the window in each round trip and halves the
rate for each packet that is lost, so it is not the same in other units.

There are two solvers. In both the rates on each side of a switch, where one queue overtakes another
or empties, are those of the equations:

    saturated   two flows and a full buffer, with scipy, from event to event: (3), (4), (6).
                Queues that meet cross each other or stay together; either is known beforehand
    solve       any number of flows, from an empty buffer, the round trip with the queue in it and
                the loss seen a round trip later: (1) to (4), in small fixed steps. Those are more
                robust here. The delay depends on the state, which scipy does not solve, and with
                three or more queues those that stay together change all the time. A step serves
                one, the next another, and the mean is that of (14) and (17) without a rule for it
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf, erfcx

POLICIES = ("fq", "lqf", "sqf")


@dataclass(frozen=True)
class Link:
    """The bottleneck."""

    rate: float = 10.0  # Mbit/s, above 0: C
    buffer: float = 100.0  # packets, above 0: B
    packet: float = 1500.0  # bytes on the wire

    @property
    def scale(self) -> float:
        """Mbit in a packet."""
        return self.packet * 8 / 1e6

    @property
    def capacity(self) -> float:
        """C in packets/s."""
        return self.rate / self.scale


def growth(rtts: Sequence[float]) -> np.ndarray:
    """1 / R^2 in packets/s^2, alpha and beta of (7) and (8), of round trips in s, above 0."""
    values = np.asarray(rtts, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(values > 0):
        raise ValueError("round trips are above 0 seconds")
    return values**-2.0


def _known(policy: str) -> None:
    if policy not in POLICIES:
        raise ValueError(f"{policy}: none of {', '.join(POLICIES)}")


def _two(rtts: Sequence[float]) -> np.ndarray:
    values = growth(rtts)
    if values.size != 2:
        raise ValueError("this is known of two flows only")
    return values


# Closed forms


def shares(policy: str, rtts: Sequence[float]) -> np.ndarray:
    """(21), (22), (23): the part of the link, 0 to 1, that each flow gets in the long run.

    Round trips are in s. It is exact for LQF and FQ, and for SQF the limit of `cycle` where C R is
    many packets and the buffer at least `least_buffer`; with three flows or more it is the paper's
    conjecture, which `solve` does not bear out.
    """
    _known(policy)
    weights = growth(rtts) ** {"fq": 0, "lqf": 1, "sqf": -1}[policy]
    return weights / weights.sum()


def throughput(policy: str, link: Link, rtts: Sequence[float]) -> np.ndarray:
    """Corollary 5.3, Lemmas 5.4 and 5.5, (21) to (23): Mbit/s that each flow gets; rtts in s."""
    return link.rate * shares(policy, rtts)


def decay(
    link: Link, first: float, other: float, rtt: float, time: float | np.ndarray
) -> np.ndarray:
    """(9) with (7), or (8), corrected: under SQF, the rate in Mbit/s of the flow that loses.

    The flow with the longer queue sent `first` Mbit/s (above 0) when the buffer was full, `time`
    seconds ago (0 or more). The other, with a round trip of `rtt` s, sent `other` Mbit/s (0 or
    more), and sends more ever since, being served. Together they sent more than the link takes.
    """
    (beta,) = growth([rtt])
    root = 2 * np.sqrt(beta)
    low = (other / link.scale - link.capacity) / root
    high = low + beta * np.asarray(time, dtype=float) / root
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.exp(high**2 - low**2)
        # e^(high^2) (erf(high) - erf(low)), whose parts alone may be too large
        area = np.where(
            low >= 0,
            erfcx(low) * grown - erfcx(high),
            np.where(
                high <= 0,
                erfcx(-high) - erfcx(-low) * grown,
                np.exp(high**2) * (erf(high) - erf(low)),
            ),
        )
        return link.scale / (grown / (first / link.scale) + np.sqrt(np.pi / beta) * area / 2)


def _turn(capacity: float, rate: float, slope: float) -> float:
    """Log of what half the integral of e^(-half of what the queue has grown by) is in a turn.

    The flow that is served begins with `rate` packets/s, as its queue is half the buffer, and gains
    `slope` each second, until it is half the buffer again.
    """
    edge = (capacity - rate) / (2 * np.sqrt(slope))
    return float(edge**2 + np.log(np.sqrt(np.pi / slope) * erf(edge)))


@dataclass(frozen=True)
class Cycle:
    """The turns that two flows take under SQF, each value for the first and the second."""

    begin: np.ndarray  # Mbit/s that a flow sends as its turn begins; 0 in Lemma 5.1
    turns: np.ndarray  # s
    throughput: np.ndarray  # Mbit/s, the mean
    sending: np.ndarray  # Mbit/s, the mean
    queues: np.ndarray  # packets, the mean
    least_buffer: float  # packets: with less, a queue empties in its turn, and this is not so

    @property
    def period(self) -> float:
        """s."""
        return float(self.turns.sum())


def cycle(link: Link, rtts: Sequence[float], ideal: bool = False) -> Cycle:
    """Lemma 5.1, Corollary 5.3 and (31) to (34) for two flows with these round trips in s.

    A turn begins and ends as the queues meet. The flow that has it begins with e and ends with
    2 C - e, after 2 (C - e) R^2. The paper has e = 0 (`ideal`), which is the limit for C R of many
    packets. It is small, but not 0, where C R is 4 packets or so, and then what follows from it is
    exact for (4) and (6). Where C R is below 1 or so there are no turns, and ValueError.
    """
    slopes, c = _two(rtts), link.capacity
    begin = np.zeros(2)
    for _ in range(0 if ideal else 1000):
        before = begin
        for i in range(2):  # one after the other, as it happens
            # as a logarithm: what is lost may be too much for a number
            most = 2 * c - begin[i]
            lost = np.logaddexp(-np.log(most), _turn(c, begin[1 - i], slopes[1 - i]))
            begin = np.where(np.arange(2) == i, np.exp(-lost), begin)
            if begin[i] > 0.9 * c:
                raise ValueError("round trips so short that no flow has the link alone")
        if np.all(abs(begin - before) <= 1e-14 * c):
            break
    turns = 2 * (c - begin) / slopes
    period = turns.sum()
    own = c * turns
    others = [
        2 * np.logaddexp(0, np.log(2 * c - begin[i]) + _turn(c, begin[1 - i], slopes[1 - i]))
        for i in range(2)
    ]
    below = 2 / 3 * (c - begin) ** 3 / slopes**2
    queue = (below[1] - below[0]) / period
    return Cycle(
        begin * link.scale,
        turns,
        link.rate * turns / period,
        (own + others) / period * link.scale,
        link.buffer / 2 + np.array([queue, -queue]),
        float(np.max((c - begin) ** 2 / slopes)),
    )


def corollary_5_3(link: Link, rtts: Sequence[float], factor: float = 1) -> np.ndarray:
    """Corollary 5.3 as printed: Mbit/s that two flows send under SQF; round trips in s.

    `factor` multiplies the logarithm. As printed, 1, it is near `cycle`, 0.2 % off for table 3: the
    decay (7) and so the logarithm's argument is that of a loss that counts twice, which makes up
    for the 2 that is missing. With 2 it is, but for 0.4 %, what table 3 has, see `table3`, and
    what no equation gives.
    """
    slopes, c = _two(rtts), link.capacity
    other = slopes[::-1]
    edge = c / np.sqrt(2 * other)
    log = np.logaddexp(0, np.log(2 * np.sqrt(2 * np.pi / other) * c * erf(edge)) + edge**2)
    each = other / slopes.sum() * c + factor * slopes.prod() / (2 * c * slopes.sum()) * log
    return each * link.scale


def sending(policy: str, link: Link, rtts: Sequence[float]) -> np.ndarray:
    """(16), (20) corrected, Corollary 5.3 corrected: Mbit/s that each flow sends; rtts in s.

    Any number of flows under FQ and LQF, two under SQF. What it is more than `throughput` is lost.
    """
    if policy == "sqf":
        return cycle(link, rtts).sending
    part, slopes, c = shares(policy, rtts), growth(rtts), link.capacity
    if policy == "lqf":
        return part * link.rate * (1 + np.sqrt(1 + 8 * slopes.sum() / c**2)) / 2
    n = slopes.size
    return part * link.rate * (1 + np.sqrt(1 + 8 * n * slopes / c**2)) / 2


def queues(policy: str, link: Link, rtts: Sequence[float]) -> np.ndarray:
    """(18), (33), (34), Lemma 5.4: the mean queue of each flow in packets; round trips in s."""
    if policy == "sqf":
        return cycle(link, rtts).queues
    _known(policy)
    return np.full(len(rtts), link.buffer / len(rtts))


def table3(policy: str, link: Link, rtts: Sequence[float]) -> np.ndarray:
    """Table 3's model column, without the sums: A1, A2, X1, X2 in Mbit/s; round trips in s.

    X is (21) to (23). For LQF A is the approximation of Lemma 5.4, X. For FQ it is (20) as printed.
    For SQF a flow that has not the link sends half of what it takes, on average. That is Corollary
    5.3 with twice the logarithm, of which only the largest part is left.
    """
    got, slopes = throughput(policy, link, rtts), _two(rtts)
    if policy == "sqf":
        sent = got + (link.rate - got) / 2
    elif policy == "lqf":
        sent = got
    else:
        sent = got * (1 + np.sqrt(1 + 4 * slopes / link.capacity**2)) / 2
    return np.concatenate([sent, got])


@dataclass(frozen=True)
class Mixed:
    """One TCP flow beside UDP, Mbit/s."""

    udp_loss: float
    tcp: float  # what gets through
    tcp_sending: float


def mixed(policy: str, link: Link, rtt: float, udp: float) -> Mixed:
    """Section 6.2: TCP with a round trip of `rtt` s beside UDP of `udp` Mbit/s, 0 to less than C.

    (25), (28), and (26) corrected: what UDP loses is what it sends less what (26) has, and so (27)
    and table 4's LQF do not follow. See `mixed_as_printed`.
    """
    _known(policy)
    if not 0 <= udp < link.rate:
        raise ValueError("UDP sends from 0 to less than the link takes")
    (slope,) = growth([rtt])
    c, x = link.capacity, udp / link.scale
    if policy == "lqf":
        sent = (c - x + np.sqrt((c - x) ** 2 + 8 * slope)) / 2
        got = c * sent / (sent + x)
    else:
        got = c - (x if policy == "sqf" else min(x, c / 2))
        # TCP alone on what is left: slope got / C = A (A - got) / 2
        sent = (got + np.sqrt(got**2 + 8 * slope * got / c)) / 2
    return Mixed(*(float(v) * link.scale for v in (x - (c - got), got, sent)))


def mixed_as_printed(policy: str, link: Link, udp: float) -> tuple[float, float]:
    """(25), (27), (28): what UDP of `udp` Mbit/s loses and TCP gets, table 4's model column."""
    _known(policy)
    lost = {"sqf": 0.0, "lqf": udp, "fq": max(udp - link.rate / 2, 0.0)}[policy]
    return lost, link.rate - (udp - lost)


# Solvers


@dataclass(frozen=True)
class Orbit:
    """A solution over time: an array of rows for moments, columns for flows."""

    time: np.ndarray  # s
    sent: np.ndarray  # Mbit/s: A
    queues: np.ndarray  # packets: Q
    # since the beginning, in Mbit
    all_sent: np.ndarray
    served: np.ndarray
    lost: np.ndarray
    waited: np.ndarray  # queue times time, packets s

    def between(self, begin: float, end: float) -> dict[str, np.ndarray]:
        """The means of all flows from `begin` to `end` s: sent, served, lost in Mbit/s, queues."""
        names = {
            "sent": self.all_sent,
            "served": self.served,
            "lost": self.lost,
            "queues": self.waited,
        }

        def at(values: np.ndarray, when: float) -> np.ndarray:
            return np.array([np.interp(when, self.time, column) for column in values.T])

        return {
            name: (at(values, end) - at(values, begin)) / (end - begin)
            for name, values in names.items()
        }


# The state of two flows: their rates, the first one's queue, then what was sent, served and lost by
# each, and the first one's queue times time
_SENT, _SERVED, _LOST, _WAITED = slice(3, 5), slice(5, 7), slice(7, 9), 9
Rates = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _mode(policy: str, mode: str, short: int, c: float) -> Rates:
    """D and L of (2) and section 3.3 in packets/s, the buffer being full, by what is sent.

    apart   the queue `short` is shorter than the other
    empty   it is empty and sends less than it could get, which the other one gets
    tied    both are half the buffer
    """

    def rates(sent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if mode == "tied":
            served = np.full(2, c / 2) if policy == "fq" else c * sent / sent.sum()
            return served, sent - served
        first = {"fq": c / 2, "lqf": 0.0, "sqf": c}[policy] if mode == "apart" else sent[short]
        served, lost = np.full(2, c - first), np.zeros(2)
        served[short] = first
        lost[1 - short] = max(sent.sum() - c, 0.0)
        return served, lost

    return rates


def saturated(
    policy: str,
    link: Link,
    rtts: Sequence[float],
    duration: float,
    start: Sequence[float],
    queue: float,
    udp: bool = False,
    points: int = 200,
) -> Orbit:
    """(3), (4) and (6) for two flows and a full buffer, solved from event to event.

    Round trips and `duration` are in s. The flows send `start` Mbit/s in the beginning, together
    more than the link takes, and the first has `queue` packets, between 0 and the buffer. With
    `udp` the second sends the same all the time. The loss is known at once and the round trips are
    constant (5). `points` is how many rows there are for each of the phases between events.

    Queues that have met stay together if each flow sends at least what it would get with the
    shorter queue: always under LQF, from C / 2 under FQ. Otherwise the one that sends less gets the
    shorter queue, and so they cross under SQF.
    """
    _known(policy)
    slopes, c, half = _two(rtts), link.capacity, link.buffer / 2
    alone = {"fq": c / 2, "lqf": 0.0, "sqf": c}[policy]
    state = np.zeros(10)
    state[:2] = np.asarray(start, dtype=float) / link.scale
    state[2] = queue
    if state[:2].sum() <= c or not 0 <= queue <= link.buffer:
        raise ValueError("the flows send more than the link takes, and the buffer is full")
    reacts = np.array([1.0, 0.0 if udp else 1.0])

    def met(sent: np.ndarray) -> tuple[str, int]:
        less = int(sent[1] < sent[0])
        return ("tied", 0) if sent[less] >= alone else ("apart", less)

    mode, short = ("apart", int(queue > half)) if queue != half else met(state[:2])
    now, times, states = 0.0, [], []
    while now < duration:
        if mode == "apart" and policy != "lqf":
            mine = state[2] if short == 0 else link.buffer - state[2]
            if mine <= 0 and state[short] < alone:
                mode = "empty"
        rates = _mode(policy, mode, short, c)

        def change(_: float, y: np.ndarray, rates: Rates = rates) -> np.ndarray:
            served, lost = rates(y[:2])
            up = reacts * (slopes * served / c - y[:2] * lost / 2)
            return np.concatenate([up, [y[0] - served[0] - lost[0]], y[:2], served, lost, y[2:3]])

        def meet(_: float, y: np.ndarray, sign: int = 1 - 2 * short) -> float:
            return sign * (y[2] - half)

        def empty(_: float, y: np.ndarray, short: int = short) -> float:
            return y[2] if short == 0 else link.buffer - y[2]

        def fill(_: float, y: np.ndarray, short: int = short) -> float:
            return y[short] - alone

        def part(_: float, y: np.ndarray) -> float:
            return min(y[0], y[1]) - alone

        events = {"apart": [meet, empty], "empty": [fill], "tied": [part]}[mode]
        for event in events:
            event.terminal = True
            event.direction = 1.0 if event in (meet, fill) else -1.0
        found = solve_ivp(
            change,
            (now, duration),
            state,
            "DOP853",
            events=events,
            dense_output=True,
            rtol=1e-9,
            atol=1e-9,
        )
        if not found.success:
            raise RuntimeError(found.message)
        moments = np.linspace(now, found.t[-1], points)
        times.append(moments)
        states.append(found.sol(moments).T)
        states[-1][-1] = found.y[:, -1]
        now, state = float(found.t[-1]), found.y[:, -1].copy()
        if found.status == 0:
            break
        if mode == "apart" and found.t_events[0].size:
            state[2] = half
            mode, short = met(state[:2])
        elif mode == "apart":
            state[2] = 0.0 if short == 0 else link.buffer
            mode = "empty"
        elif mode == "empty":
            mode = "apart"
            state[short] = alone
        else:
            mode, short = "apart", int(state[1] < state[0])
    y, time = np.concatenate(states), np.concatenate(times)
    both = np.column_stack([y[:, 2], link.buffer - y[:, 2]])
    waited = np.column_stack([y[:, _WAITED], link.buffer * time - y[:, _WAITED]])
    scaled = (y[:, part] * link.scale for part in (_SENT, _SERVED, _LOST))
    return Orbit(time, y[:, :2] * link.scale, both, *scaled, waited)


def _serve(policy: str, queue: list[float], rate: list[float], c: float, step: float) -> list:
    """D of section 3.3 in packets/s: no queue gives more than it has and gets."""
    n = len(queue)
    most = [queue[k] / step + rate[k] for k in range(n)]
    served, left = [0.0] * n, c
    if policy == "fq":
        order = sorted(range(n), key=lambda k: most[k])
        for i, k in enumerate(order):
            served[k] = min(most[k], left / (n - i))
            left -= served[k]
        return served
    sign = 1 if policy == "sqf" else -1
    for k in sorted(range(n), key=lambda k: (sign * queue[k], sign * rate[k])):
        served[k] = min(most[k], left)
        left -= served[k]
    return served


def solve(
    policy: str,
    link: Link,
    rtts: Sequence[float],
    duration: float,
    udp: float = 0.0,
    start: Sequence[float] = (),
    delayed: bool = True,
    step: float = 1e-4,
    rows: int = 2000,
) -> Orbit:
    """(1) to (4): TCP flows with these round trips in s, and then UDP of `udp` Mbit/s, if any.

    The buffer is empty in the beginning and each TCP flow sends as in `start`, Mbit/s, or a packet
    in a round trip. With `delayed` the round trip is R plus the queue over C, and a loss is felt a
    round trip later; without, (5) and (6). `duration` and `step` are in s; a step is well below
    1 / C and R, and what is found is off by about `step` C packets. But under SQF, delayed, beside
    UDP, it depends on chance which queue is first when both are empty. `rows` is how many are kept.

    Who is served and who loses in a step is told by the queues before it. The longest one loses
    what does not fit into the buffer, as in the first line of (2): its second line, for longest
    queues that are equal, is what comes out as the mean of the steps.
    """
    _known(policy)
    base = [1 / slope**0.5 for slope in growth(rtts)]
    tcp, c, scale = len(base), link.capacity, link.scale
    rate = [x / scale for x in start] if len(start) else [1 / r for r in base]
    if len(rate) != tcp:
        raise ValueError("a rate for each flow of TCP")
    if udp:
        rate.append(udp / scale)
    n = len(rate)
    queue, totals = [0.0] * n, [0.0] * (4 * n)
    steps = round(duration / step)
    keep = max(steps // rows, 1)
    history: list[list[float]] = []
    times, kept = [], []
    for number in range(steps + 1):
        if number % keep == 0:
            times.append(number * step)
            kept.append([*rate, *queue, *totals])
        served = _serve(policy, queue, rate, c, step)
        change = [rate[k] - served[k] for k in range(n)]
        lost = [0.0] * n
        over = sum(queue) / step + sum(change) - link.buffer / step
        if over > 0:
            lost[max(range(n), key=lambda k: (queue[k], rate[k]))] = over
        filled = sum(queue) > 0
        if delayed:
            history.append(lost)
        for k in range(n):
            for i, value in enumerate((rate[k], served[k], lost[k], queue[k])):
                totals[i * n + k] += value * step
            if k < tcp:
                trip = base[k] + queue[k] / c if delayed else base[k]
                felt = lost[k]
                if delayed:
                    then = number - round(trip / step)
                    felt = history[then][k] if then >= 0 else 0.0
                gain = served[k] / c if filled else 1.0
                # the decay of a step as a whole, so that a rate stays above 0
                rate[k] = rate[k] * exp(-felt * step / 2) + gain * step / trip**2
            queue[k] = max(queue[k] + (change[k] - lost[k]) * step, 0.0)
    y = np.array(kept).reshape(len(kept), 6, n)
    return Orbit(
        np.array(times),
        y[:, 0] * scale,
        y[:, 1],
        y[:, 2] * scale,
        y[:, 3] * scale,
        y[:, 4] * scale,
        y[:, 5],
    )
