# SPDX-License-Identifier: GPL-2.0
"""SIFT as Psounis, Ghosh and Prabhakar 2004 analyse it: sections 3.1 to 3.5, figures 3 to 7.

Flows arrive in a Poisson stream, all packets of one at once, at a link of one queue or two. Each
packet is sampled with a probability p. What comes before a flow's T_s-th sample (before its first,
in the paper) is high, the sample and what follows low. High goes first, preemptively.

The paper's sizes are integers m to M with probabilities in proportion to x^(-alpha-1), not a
continuous bounded Pareto: with m 1, M 1e6, alpha 1.1, p 0.01 and T 100 these give P_m = 2.62 %,
as the paper has it, a continuous one 3.85 %. A load of 0.9986, the highest of its figure 4, is then
0.193 flows per packet's time.

Delays come in two kinds:

    parts    the paper's: a sampled flow counts twice, its high part among the short, its low part,
             from the flow's arrival on, among the long. All flows count among the short: one
             without a high packet waits for those there (FIFO), or not at all (PS, SRPT)
    flows    each flow counts once, until its last packet: among the long if it was sampled.
             This is what can be measured

Misprints and slips in the paper:

    2.5 %    of the short flows are misclassified, section 3.2: it is 2.57 %, rounded down. P_m and
             15.8 % are rounded (2.62, 15.79).
    97.2 %   of flows are short, sections 3.3 and 3.4: that is of parts, lambda_h out of
             lambda_h + lambda_l = 1 / (1 + 0.0287) = 97.21 %. Of flows, 1 - 0.0287 = 97.13 % are
             never sampled. Overall delays have the weights of 97.21 %, too.
    (3)      does not add up to 1: the sum over x >= 1 of p (1-p)^(y-x) is 1 - (1-p)^y = P_s(y) for
             each y, so that of P_l is that of P_s P_p = lambda_l / lambda. Divided by that it is
             the distribution of S_l that the propositions need.
    (4)      has to begin at x = 0, whatever m: a flow whose first packet is sampled leaves nothing
             high. From 1 on the sum is only (1-p)^y + sum of p (1-p)^x over 1 <= x < y = 1 - p,
             and lambda_h = lambda counts the flows of no packets as well.
    Prop. 4  has rho_l = lambda E(S_l) in its proof: this is lambda_l E(S_l), or rho_h + rho_l would
             not be rho, which (7) needs. (With (3) as printed, not normalized, it is right.)
    Prop. 2  has lambda E(S^2) in the second formula. Two independent streams, which section 3.1
             assumes, have lambda_h E(S_h^2) + lambda_l E(S_l^2) instead, which is smaller by
             2 lambda E(S_h S_l) (by 0.2 % here). With lambda E(S^2) the wait is that of the true
             system, in which both parts arrive at once, but for the flow's own high part,
             E(S - S_l | sampled) / (1 - rho_h). Likewise Prop. 1 leaves out E(S - S_l | sampled),
             13 packets here, and Prop. 4 this over 1 - rho_h. `flows` has them.
    Fig. 1   sends a packet low if `sampled_packets > threshold`, and a sampled packet high. With
             the threshold of one that section 2 names it would take two samples, and only the
             packets after the second would be low. The text of 3.1, (2) and (3) have it otherwise:
             one sample, which is low itself. So it is here.
    3.5      compares overall delays: to the sentence, SRPT's is over whole flows, SIFT's over
             parts. Here both are over the same, as `srpt` is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter
from scipy.special import betainc
from scipy.stats import nbinom

WHOLE = 10**6  # sizes up to this are kept one by one
LUMPS = 1000  # for each factor of e beyond
M_LEAST, M_MOST, ALPHA, PROBABILITY, THRESHOLD = 1, 10**6, 1.1, 0.01, 100  # the paper's
MAX_LOAD = 0.9986  # of figure 4


@dataclass(frozen=True)
class Sizes:
    """Flow sizes in packets, ascending, and the probability of each.

    The first `whole` are 1, 2, 3 and so on (with a probability of 0 where there is none); larger
    ones, if any, are means of ranges of sizes.
    """

    x: np.ndarray
    p: np.ndarray
    whole: int

    def average(self, values: np.ndarray) -> float:
        """The mean of what has a value for each of the sizes."""
        return float(self.p @ values)

    @cached_property
    def mean(self) -> float:
        """E(S), packets."""
        return self.average(self.x)

    @cached_property
    def square(self) -> float:
        """E(S^2), packets^2."""
        return self.average(self.x**2)

    @cached_property
    def beyond(self) -> np.ndarray:
        """The probability of more than each of the sizes."""
        return np.append(np.cumsum(self.p[:0:-1])[::-1], 0)


def discrete(probabilities: ArrayLike) -> Sizes:
    """Flows of 1, 2, 3... packets with probabilities in proportion to those given."""
    p = np.asarray(probabilities, float)
    if p.ndim != 1 or not p.size or p.min() < 0 or not p.sum() > 0:
        raise ValueError("no probabilities")
    return Sizes(np.arange(1.0, len(p) + 1), p / p.sum(), len(p))


def bounded_pareto(
    least: int = M_LEAST, most: int = M_MOST, alpha: float = ALPHA, round_up: bool = False
) -> Sizes:
    """Equation 1: P_p(x) = c x^(-alpha-1) for integers x from least to most, in packets.

    1 <= least <= 1e6, least <= most, alpha > 0. With `round_up` sizes are those of a continuous
    bounded Pareto, rounded up, as in a simulator. Beyond 1e6 packets sizes are put together by
    0.1 %, which changes E(S^2) by less than 1e-6.
    """
    if not 1 <= least <= min(most, WHOLE) or not alpha > 0:
        raise ValueError(f"bounded Pareto from {least} to {most}, {alpha}")
    whole = min(most, WHOLE)
    x = np.arange(1.0, whole + 1)
    if round_up:
        low = np.clip(x - 1, least, None)
        p = np.where(x >= least, low**-alpha - np.maximum(x, least) ** -alpha, 0)
        p[least - 1] += least == most
        shift = 0.0
    else:
        p = np.where(x >= least, x ** (-alpha - 1), 0)
        shift = 0.5
    if most > whole:
        # A sum over integers beyond `whole` is an integral from half below to half above
        count = int(np.ceil(LUMPS * np.log(most / whole)))
        edges = np.unique(np.round(np.geomspace(whole, most, count + 1))) + shift
        mass = -np.diff(edges**-alpha)
        mean = integral(edges, alpha) / mass
        x = np.append(x, mean + (0.5 - shift))
        p = np.append(p, mass if round_up else mass / alpha)
    return Sizes(x, p / p.sum(), whole)


def integral(edges: np.ndarray, alpha: float) -> np.ndarray:
    """Of alpha t^-alpha between each two edges."""
    if alpha == 1:
        return np.diff(np.log(edges))
    return alpha / (1 - alpha) * np.diff(edges ** (1 - alpha))


def sampled(x: ArrayLike, probability: float = PROBABILITY, samples: int = 1) -> np.ndarray:
    """Equation 2 and section 3.2: P_s(x), the probability that x packets have T_s samples.

    x >= 0 packets, probability 0 to 1 of each packet, samples T_s >= 1. It is 1 - (1 - p)^x for one
    sample and the upper tail of a binomial distribution for more.
    """
    if not 0 <= probability <= 1 or samples < 1:
        raise ValueError(f"{samples} samples with a probability of {probability}")
    x = np.asarray(x, float)
    if samples == 1 and probability < 1:
        return -np.expm1(x * np.log1p(-probability))
    enough = betainc(samples, np.maximum(x - samples + 1, 1), probability)
    return np.where(x >= samples, enough, 0.0)


def packet_probability(threshold: float = THRESHOLD, samples: int = 1) -> float:
    """Section 3.2: p = T_s / T, so that it takes T packets on average to be sampled, T >= T_s."""
    if not 1 <= samples <= threshold:
        raise ValueError(f"{samples} samples in {threshold} packets")
    return samples / threshold


@dataclass(frozen=True)
class Misclassified:
    """Probabilities: P_m of any flow, and that of a short flow and of a long one."""

    all: float
    short: float
    long: float


def misclassified(
    sizes: Sizes, threshold: float = THRESHOLD, samples: int = 1, probability: float | None = None
) -> Misclassified:
    """Section 3.2: the probability that a flow of less than T packets is sampled, or another not.

    threshold T in packets, probability of a packet (T_s / T if not given).
    """
    if probability is None:
        probability = packet_probability(threshold, samples)
    short = sizes.x < threshold
    found = sampled(sizes.x, probability, samples)
    wrong = sizes.p * np.where(short, found, 1 - found)
    parts = [float(wrong[group].sum()) for group in (short, ~short)]
    with np.errstate(invalid="ignore"):
        shares = [parts[i] / sizes.p[group].sum() for i, group in enumerate((short, ~short))]
    return Misclassified(sum(parts), float(shares[0]), float(shares[1]))


@dataclass(frozen=True)
class Split:
    """How sampling divides flows: section 3.1.

    probability 0 < p < 1 of a packet, samples T_s >= 1.
    """

    sizes: Sizes
    probability: float = PROBABILITY
    samples: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1 or not self.share:
            raise ValueError(f"nothing to divide with a probability of {self.probability}")
        if len(self.sizes.x) > self.sizes.whole and self.sampled[self.sizes.whole] < 1 - 1e-9:
            raise ValueError(f"a probability of {self.probability} is too small for these sizes")

    @cached_property
    def sampled(self) -> np.ndarray:
        """P_s of each size, equation 2."""
        return sampled(self.sizes.x, self.probability, self.samples)

    @cached_property
    def share(self) -> float:
        """lambda_l / lambda: the part of flows that is sampled, 0 to 1."""
        return self.sizes.average(self.sampled)

    @property
    def short_parts(self) -> float:
        """lambda_h / (lambda_h + lambda_l): the paper's part of short flows, 0 to 1."""
        return 1 / (1 + self.share)

    @cached_property
    def high(self) -> np.ndarray:
        """Equation 4: P_h(x), the probability that x = 0, 1, 2... packets of a flow go high."""
        whole = slice(self.sizes.whole)
        own = self.sizes.p[whole] * (1 - self.sampled[whole])
        # T_s-th sample at packet x + 1
        packets = np.arange(self.sizes.whole + 1)
        hit = nbinom.pmf(packets + 1 - self.samples, self.samples, self.probability)
        return np.append(0, own) + hit * np.append(1, self.sizes.beyond[whole])

    @cached_property
    def low(self) -> np.ndarray:
        """Equation 3 before it is normalized: the probability that x packets of a flow go low.

        For x = 1, 2, 3... of flows that are not put together. The sum is `share` if none are.
        """
        backwards = self.sizes.p[: self.sizes.whole][::-1]
        for _ in range(self.samples):
            backwards = lfilter([self.probability], [1, self.probability - 1], backwards)
        low = np.append(backwards[::-1], np.zeros(self.samples - 1))
        return np.maximum(low[self.samples - 1 :], 0)

    @property
    def first(self) -> float:
        """E(N) = T_s / p: packets until the flow is sampled, that one included, if it has them."""
        return self.samples / self.probability

    @cached_property
    def mean_high(self) -> float:
        """E(S_h), packets, by equation 4."""
        return float(self.high @ np.arange(len(self.high)))

    @cached_property
    def square_high(self) -> float:
        """E(S_h^2), packets^2, by equation 4."""
        return float(self.high @ np.arange(len(self.high), dtype=float) ** 2)

    @cached_property
    def mean_low(self) -> float:
        """E(S_l), packets, by equation 3."""
        return self.average_low(self.sizes.x)

    @cached_property
    def square_low(self) -> float:
        """E(S_l^2), packets^2, by equation 3."""
        vary = self.samples * (1 - self.probability) / self.probability**2
        lumps = self.sizes.p[self.sizes.whole :].sum()
        return self.average_low(self.sizes.x**2) + float(vary * lumps / self.share)

    @cached_property
    def mean_kept(self) -> float:
        """E(S | not sampled), packets."""
        return self.average_kept(self.sizes.x)

    @cached_property
    def mean_sampled(self) -> float:
        """E(S | sampled), packets, high and low."""
        return self.average_sampled(self.sizes.x)

    def average_kept(self, values: np.ndarray) -> float:
        """The mean over flows that are not sampled of what has a value for each size."""
        return self.sizes.average((1 - self.sampled) * values) / (1 - self.share)

    def average_sampled(self, values: np.ndarray) -> float:
        """The mean over sampled flows of what has a value for each size."""
        return self.sizes.average(self.sampled * values) / self.share

    def average_high(self, values: np.ndarray) -> float:
        """The mean over S_h of what has a value for each size and is 0 for no packets."""
        return float(self.high[1:] @ values[: self.sizes.whole])

    def average_low(self, values: np.ndarray) -> float:
        """The mean over S_l of what has a value for each size."""
        whole = self.sizes.whole
        total = self.low @ values[:whole]
        if len(self.sizes.x) > whole:
            # These lose T_s / p - 1 packets of more than a million: a straight line over those
            rest = np.interp(self.sizes.x[whole:] - self.first + 1, self.sizes.x, values)
            total += self.sizes.p[whole:] @ rest
        return float(total / self.share)


@dataclass(frozen=True)
class Delays:
    """Mean delays in seconds, waiting and service, one for each load."""

    short: np.ndarray
    long: np.ndarray
    all: np.ndarray


class Queue:
    """What the propositions need of an M/G/1 queue: of loads 0 < rho < 1, `rate` packets/s.

    `short` and `long` are mean packets of parts, or of flows, `weight` is the share of the short.
    """

    def __init__(self, split: Split, load: ArrayLike, rate: float, flows: bool = False) -> None:
        self.rate = rate
        self.weight = 1 - split.share if flows else split.short_parts
        self.short = split.mean_kept if flows else split.mean_high
        self.long = split.mean_sampled if flows else split.mean_low
        self.load = np.asarray(load, float)
        if self.load.size and not 0 < self.load.min() <= self.load.max() < 1 or not rate > 0:
            raise ValueError("a load is between 0 and 1, a rate above 0")
        self.arrivals = self.load / split.sizes.mean  # lambda, flows per packet's time
        self.high = self.arrivals * split.mean_high  # rho_h
        self.work_high = self.arrivals * split.square_high / (2 * (1 - self.high))  # E(V_h)
        self.wait = self.arrivals * split.sizes.square / (2 * (1 - self.load))

    def delays(self, short: np.ndarray, long: np.ndarray) -> Delays:
        """From packets' times; overall is weighted by how many flows, or parts, there are."""
        overall = self.weight * short + (1 - self.weight) * long
        return Delays(short / self.rate, long / self.rate, overall / self.rate)


def fifo(split: Split, load: ArrayLike, rate: float = 1, flows: bool = False) -> Delays:
    """Proposition 1: seconds in one FIFO queue, of short and long parts, or of flows.

    load 0 < rho < 1, of one value or several, rate in packets per second. With `flows` it is exact.
    """
    q = Queue(split, load, rate, flows)
    return q.delays(q.short + q.wait, q.long + q.wait)


def sift_fifo(split: Split, load: ArrayLike, rate: float = 1, flows: bool = False) -> Delays:
    """Proposition 2: seconds in SIFT with FIFO queues, of short and long parts, or of flows.

    load 0 < rho < 1, of one value or several, rate in packets per second. With `flows` it is exact:
    a sampled flow ends when all work that it found, its own and all high work that has come since
    are done, (V + S) / (1 - rho_h); the others wait for the high work they find.
    """
    q = Queue(split, load, rate, flows)
    return q.delays(q.short + q.work_high, (q.wait + q.long) / (1 - q.high))


def ps(split: Split, load: ArrayLike, rate: float = 1, flows: bool = False) -> Delays:
    """Proposition 3: seconds in one PS queue, of short and long parts, or of flows.

    load 0 < rho < 1, of one value or several, rate in packets per second. With `flows` it is exact.
    """
    q = Queue(split, load, rate, flows)
    return q.delays(q.short / (1 - q.load), q.long / (1 - q.load))


def sift_ps(split: Split, load: ArrayLike, rate: float = 1, flows: bool = False) -> Delays:
    """Proposition 4, equations 5 to 7: seconds in SIFT with PS queues, of parts, or of flows.

    load 0 < rho < 1, of one value or several, rate in packets per second. That of the long is an
    approximation: the time until the high queue is first empty, (6), of flows with their own high
    part, and the service after it as if low flows did not pile up while it is not, (7). Simulated
    flows of up to 1000 packets (p 0.01) take 6 % longer at a load of 0.5, about 25 % at 0.9; long
    parts, which in the formula are without their flow's high part, almost 40 % longer at both.
    """
    q = Queue(split, load, rate, flows)
    found = q.work_high + (split.mean_sampled - split.mean_low if flows else 0)
    long = found / (1 - q.high) + split.mean_low / (1 - q.load)
    return q.delays(q.short / (1 - q.high), long)


def srpt(split: Split, load: ArrayLike, rate: float = 1, flows: bool = False) -> Delays:
    """Section 3.5: seconds under SRPT, over the sizes of short and of long parts, or of flows.

    load 0 < rho < 1, of one value or several, rate in packets per second. A part has the time of a
    flow of its size, as in the paper; with `flows` it is exact.
    """
    q = Queue(split, load, rate, flows)
    found = []
    for rho in q.load.flat:
        times = srpt_response(split.sizes, rho)
        if flows:
            found.append((split.average_kept(times), split.average_sampled(times)))
        else:
            found.append((split.average_high(times), split.average_low(times)))
    short, long = np.reshape(found, (*q.load.shape, 2)).T if found else np.empty((2, 0))
    return q.delays(short.T, long.T)


def srpt_response(sizes: Sizes, load: float, rate: float = 1) -> np.ndarray:
    """Mean seconds under SRPT for each of the sizes (Schrage and Miller 1966), 0 <= load < 1.

    Flows of equal sizes are served in order: what arrives later counts only if it is smaller, what
    is there already also if it is as large. rate in packets per second.
    """
    arrivals = load / sizes.mean
    upto = arrivals * np.cumsum(sizes.p * sizes.x)
    below = np.append(0, upto[:-1])
    square = np.cumsum(sizes.p * sizes.x**2) + sizes.x**2 * sizes.beyond
    wait = arrivals * square / (2 * (1 - upto) * (1 - below))
    # What is left of a flow loses to those below it
    served = np.cumsum(np.diff(sizes.x, prepend=0) / (1 - below))
    return (wait + served) / rate


SCHEMES: dict[str, Callable[..., Delays]] = {
    "fifo": fifo,
    "ps": ps,
    "sift-fifo": sift_fifo,
    "sift-ps": sift_ps,
    "srpt": srpt,
}
FIGURES = {
    4: ("sift-fifo", "fifo"),
    5: ("sift-ps", "ps"),
    6: ("sift-fifo", "fifo", "srpt"),
    7: ("sift-ps", "ps", "srpt"),
}


def figure3(
    samples: Sequence[int] = (1, 2, 5, 10, 100),
    x: ArrayLike = tuple(range(1, 501)),
    threshold: float = THRESHOLD,
) -> dict[int, np.ndarray]:
    """Figure 3: P_s(x) for flows of x packets by T_s, with p = T_s / T, threshold T in packets."""
    return {n: sampled(x, packet_probability(threshold, n), n) for n in samples}


def figure(
    number: int,
    loads: ArrayLike,
    split: Split | None = None,
    rate: float = 1,
    flows: bool = False,
) -> dict[str, Delays]:
    """Figures 4 to 7: mean delays by load, of what each compares, in seconds.

    loads 0 < rho < 1 (the paper's figure 4 goes up to 0.9986), rate in packets per second (at 1,
    delays are in packets' times), of the paper's sizes and sampling if no others are given.
    """
    split = split or Split(bounded_pareto())
    return {name: SCHEMES[name](split, loads, rate, flows) for name in FIGURES[number]}
