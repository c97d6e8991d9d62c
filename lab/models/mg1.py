# SPDX-License-Identifier: GPL-2.0
"""M/G/1 queues: the mean response time of a flow of a given size.

Flows arrive whole, as a Poisson process, and a link serves their bytes by one of five policies.
Units: sizes and thresholds in one unit, such as bytes or packets; the rate in that unit per second;
response times in seconds. Sizes may lie where the distribution has none: then it is what an extra
flow of that size would see.

Papers: run2c is Avrachenkov et al. 2004, las Rai et al. 2004, sched-tcp Ayesta et al. 2014.
Below, r(x) = lambda E[min(S, x)] is the load of flows cut at x, and F the distribution function.

Misprints and mistakes found in them:

- run2c, section II.A, how LAS's response time grows where the variance is infinite, for alpha from
  1 to 2: the term in x^(2 - alpha) is that of W(x) / (1 - r(x)) alone. x / (1 - r(x)) has one, too:
  with P(S > x) = (k / x)^alpha, rho - r(x) = lambda k^alpha x^(1 - alpha) / (alpha - 1), so it is
  x / (1 - rho) - lambda k^alpha x^(2 - alpha) / ((alpha - 1) (1 - rho)^2) + ... Together:
  lambda k^alpha (2 alpha - 3) / ((1 - rho)^2 (2 - alpha) (alpha - 1)) x^(2 - alpha).
  For alpha below 1.5, such as 1.1, this is negative: the largest flows gain by LAS over PS.
- run2c, section II.A, calls E[S^2] the variance. With a finite one the asymptote is right.
- run2c, below equation 8: b is not the mean number of flows that come to the lower level at once,
  but of those that come with a given one, E[N (N - 1)] / E[N] (see `companions`), and n is the mean
  number, not a fraction.
- run2c, equation 14, second line: the slope is at least alpha* / (1 - r(th)) >= 1 / (1 - rho), by
  equations 12 and 13, not 1 / (1 - r(th)) >= 1 / (1 - rho), which is false.
- run2c, appendix A, the contraction: the factor is lambda (E[S] - E[min(S, th)]) / (1 - r(th));
  the n before it is one too many, as the integral of B is (E[S] - E[min(S, th)]) / (1 - F(th)).
  In the last limit the second 1 - F(th) is too many, and the index is x - x* + th.
- run2c, section III.A: 1460 is bytes, not Kbytes.
- las, section 3.2: n = 2^(k + 1) packets take k + 2 windows of 1, 2, 4, ...: the first k + 1 hold
  2^(k + 1) - 1 packets. That n is what takes k round trips until its last window is sent.
- las, Table 1: a Pareto distribution of minimum 1 and shape 1.2 has a mean of 6, not 12, which
  takes a minimum of 2.
- sched-tcp, section 6.2: with E[S] = 5 MB in bytes, the load is 8 lambda E[S] / C; the factor 1448
  is for sizes in segments.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from lab.models.sizes import Sizes, integral

POINTS = 300  # of the integral equation


@dataclass(frozen=True)
class Queue:
    """Flows of these sizes that make up a load, 0 <= load < 1, of a link of that rate."""

    sizes: Sizes
    load: float
    rate: float = 1

    def __post_init__(self) -> None:
        if not 0 <= self.load < 1:
            raise ValueError(f"the load is {self.load:g}: the queue is stable from 0 to below 1")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"the rate is {self.rate:g}, not above 0")

    @classmethod
    def of_arrivals(cls, sizes: Sizes, arrivals: float, rate: float = 1) -> "Queue":
        """So many flows per second instead of a load."""
        return cls(sizes, arrivals * sizes.mean / rate, rate)

    @property
    def arrivals(self) -> float:
        """Flows per second."""
        return self.per_work * self.rate

    @property
    def per_work(self) -> float:
        """Flows that arrive while the link sends one unit."""
        return self.load / self.sizes.mean

    def load_of_cut(self, x: ArrayLike) -> np.ndarray:
        """The load when all flows are cut at x: run2c, before equation 4."""
        return self.per_work * self.sizes.truncated(1, x)

    def wait_of_cut(self, x: ArrayLike) -> np.ndarray:
        """W(x), the mean work that waits when all flows are cut at x: run2c, equation 5."""
        work = self.per_work * self.sizes.truncated(2, x)
        return work / (2 * (1 - self.load_of_cut(x)))


Policy = Callable[[Queue, ArrayLike], np.ndarray]


def _sizes(x: ArrayLike) -> np.ndarray:
    x = np.asarray(x, float)
    if not (x >= 0).all():
        raise ValueError("a size is below 0")
    return x


def fifo(queue: Queue, x: ArrayLike) -> np.ndarray:
    """Seconds that a flow of size x >= 0 takes under first come, first served.

    The formula of Pollaczek and Khinchin; infinite if E[S^2] is.
    """
    x = _sizes(x)
    wait = queue.per_work * queue.sizes.moment(2) / (2 * (1 - queue.load)) if queue.load else 0
    return (wait + x) / queue.rate


def ps(queue: Queue, x: ArrayLike) -> np.ndarray:
    """Seconds that a flow of size x >= 0 takes under processor sharing: run2c, equation 1."""
    return _sizes(x) / (1 - queue.load) / queue.rate


def las(queue: Queue, x: ArrayLike) -> np.ndarray:
    """Seconds that a flow of size x >= 0 takes under LAS: run2c, equations 4 and 5."""
    x = _sizes(x)
    return (queue.wait_of_cut(x) + x) / (1 - queue.load_of_cut(x)) / queue.rate


def srpt(queue: Queue, x: ArrayLike) -> np.ndarray:
    """Seconds that a flow of size x >= 0 takes under shortest remaining processing time.

    Schrage and Miller 1966, with flows of equal size in order of arrival. Where a size has a
    probability above 0, only shorter flows pass one that waits.
    """
    x, sizes, lam = _sizes(x), queue.sizes, queue.per_work

    def shorter(t: np.ndarray) -> np.ndarray:
        """1 less the load of flows shorter than t."""
        return 1 - lam * (sizes.partial(1, t) - t * sizes.atom(t))

    upto = 1 - lam * sizes.partial(1, x)
    wait = lam * sizes.truncated(2, x) / (2 * upto * shorter(x))
    return (wait + integral(lambda t: 1 / shorter(t), sizes.panels, x)) / queue.rate


@dataclass(frozen=True)
class LowerLevel:
    """The lower of PS+PS's two levels: a processor-sharing queue with arrivals in batches.

    Its clock runs only while the upper level is empty. Flows come whenever the upper level's busy
    period ends, and bring what they have beyond the threshold.
    """

    queue: Queue
    threshold: float  # in the unit of sizes, >= 0
    points: int = POINTS

    @cached_property
    def rest(self) -> Sizes | None:
        """The sizes of the flows here: S - th where S > th. None if there are none."""
        return self.queue.sizes.rest(self.threshold) if self.threshold < math.inf else None

    @cached_property
    def passing(self) -> float:
        """The share of flows that get here, 1 - F(th)."""
        return float(self.queue.sizes.tail(self.threshold))

    @cached_property
    def idle(self) -> float:
        """The share of time left to this level, 1 - r(th)."""
        return 1 - float(self.queue.load_of_cut(self.threshold))

    @cached_property
    def wait(self) -> float:
        """W(th) of equation 5."""
        return float(self.queue.wait_of_cut(self.threshold))

    @cached_property
    def batch(self) -> float:
        """n of equation 8: flows that come here after a busy period, on average."""
        return self.passing / self.idle

    @cached_property
    def load(self) -> float:
        """This level's load by its own clock, (rho - r(th)) / (1 - r(th)): appendix A."""
        return 1 - (1 - self.queue.load) / self.idle

    @cached_property
    def companions(self) -> float:
        """b of equation 8: flows that come here in the same batch as a given one, on average.

        The given flow's busy period goes on for (W(th) + th) / (1 - r(th)) after it has arrived;
        who follows then is half of them, as each pair has a first.
        """
        lam = self.queue.per_work
        return 2 * lam * self.passing * (self.wait + self.threshold) / self.idle

    @cached_property
    def _solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Points z and A(z), the integral of equation 9's solution from 0 to z.

        Equation 9 integrated, with H'' = B and a = lambda n, is

            A(x) = a int_0^inf A(y) (B(y) - B(x + y)) dy + a int_0^x A(y) B(x - y) dy + b H'(x).

        A is continuous even where B is not. It is taken as linear between the points and constant
        after the last; then the integrals are second differences of H, which has a closed form.
        """
        rest = self.rest
        if rest is None or self.load <= 0:
            return np.zeros(2), np.zeros(2)
        first = rest.scale / 20
        # With bounded sizes, A' falls by exp(-30) over this reach at the slowest. Further on than
        # so many first steps, differences of H would be lost in rounding
        reach = rest.top * (1 + 30 / math.log(1 / self.load))
        reach = min(reach, first * 1e12)
        z = first * np.expm1(np.linspace(0, math.log1p(reach / first), self.points))
        z = np.unique([*z, *(kink for kink in rest.kinks if kink > first / 10)])

        def h(at: np.ndarray) -> np.ndarray:
            at = np.maximum(at, 0)
            return at * rest.truncated(1, at) - rest.truncated(2, at) / 2

        def weights(value: np.ndarray, end: np.ndarray) -> np.ndarray:
            """Integrals of B, whose second integral at the points is `value`, by A's parts."""
            slope = np.diff(value) / np.diff(z)
            return np.diff(np.column_stack([slope, end]))

        mean = np.full(len(z), rest.mean)
        ahead = weights(h(z)[None, :].repeat(len(z), 0), mean)
        ahead -= weights(h(z[:, None] + z[None, :]), mean)
        behind = weights(h(z[:, None] - z[None, :]), np.zeros(len(z)))
        # A(0) is 0, so that the first point has no column
        system = np.eye(len(z) - 1) - self.queue.per_work * self.batch * (ahead + behind)[1:]
        forced = self.companions * rest.truncated(1, z[1:])
        return z, np.append(0, np.linalg.solve(system, forced))

    def alpha(self, x: ArrayLike) -> np.ndarray:
        """alpha of run2c, equation 7: the time by this clock, at rate 1, for x >= 0 after th."""
        x = np.asarray(x, float)
        points, values = self._solution
        return x / (1 - self.load) + np.interp(x, points, values)


@lru_cache(maxsize=64)
def lower_level(queue: Queue, threshold: float) -> LowerLevel:
    """The lower level under this threshold >= 0; computed once."""
    if not threshold >= 0:
        raise ValueError("a threshold is below 0")
    return LowerLevel(queue, threshold)


def ps_ps(queue: Queue, x: ArrayLike, threshold: float) -> np.ndarray:
    """Seconds that a flow of size x >= 0 takes under PS+PS: run2c, equations 6, 7 and 8.

    Flows share the link until they have received the threshold, >= 0; the others share what those
    leave. Accurate to 2e-4 up to a load of 0.9, and to 5e-4 at 0.97.
    """
    x = _sizes(x)
    low = lower_level(queue, threshold)
    after = 0.0
    if threshold < math.inf:
        after = low.wait + threshold + low.alpha(np.maximum(x - threshold, 0))
    return np.where(x <= threshold, x, after) / low.idle / queue.rate


def mean_response(queue: Queue, policy: Policy, cuts: Iterable[float] = ()) -> float:
    """E[T], the mean seconds that a flow takes; `cuts` are sizes where the policy's curve jumps."""
    x, weights = queue.sizes.nodes(cuts)
    return float(policy(queue, x) @ weights)


def mean_slowdown(
    queue: Queue, policy: Policy, delay: float = 0, cuts: Iterable[float] = ()
) -> float:
    """The mean of (T + delay) / (S / rate + delay), delay >= 0 in seconds: the round-trip time."""
    x, weights = queue.sizes.nodes(cuts)
    return float((policy(queue, x) + delay) / (x / queue.rate + delay) @ weights)


def mean_ps_ps(queue: Queue, threshold: float) -> float:
    """E[T] under PS+PS, in seconds: run2c, Figure 1."""
    return mean_response(queue, partial(ps_ps, threshold=threshold), [threshold])


def best_threshold(queue: Queue, low: float, high: float) -> tuple[float, float]:
    """The threshold between 0 < low < high with the least E[T] under PS+PS, and that E[T]."""

    def mean(log: float) -> float:
        return mean_ps_ps(queue, math.exp(log))

    grid = np.linspace(math.log(low), math.log(high), 17)
    best = int(np.argmin([mean(log) for log in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(mean, bounds=bounds, method="bounded", options={"xatol": 0.01})
    return math.exp(found.x), float(found.fun)


def slow_start(packets: ArrayLike, rtt: float, window: int) -> np.ndarray:
    """Seconds that slow start takes: run2c, end of section II, to be added to a response time.

    For sizes of packets > 0 (a part counts as a whole), a round-trip time in seconds, and TCP's
    largest window in packets >= 1. The window is 1, 2, 4, ... up to it, then a packet takes
    rtt / window; exact if the largest is a power of 2.
    """
    packets = np.ceil(_sizes(packets))
    if not (packets >= 1).all() or window < 1:
        raise ValueError("slow start takes at least one packet and a window of one")
    doubled = 2.0 ** (math.ceil(math.log2(window)) + 1)
    rounds = np.floor(np.log2(np.minimum(packets, doubled))) + 1
    return (rounds + np.maximum(packets - doubled, 0) / window) * rtt


def own_time(packets: ArrayLike, rtt: float, window: int) -> np.ndarray:
    """Seconds of TCP's own, of at least a packet: a round trip of the handshake, and slow start."""
    return rtt + slow_start(np.maximum(packets, 1), rtt, window)
