# SPDX-License-Identifier: GPL-2.0
"""Distributions of flow sizes, with the truncated moments that queueing formulas need.

Sizes are in bytes, packets or seconds of service: any one unit. E[S^n; S <= x] means the integral
of y^n dF(y) up to and including x. What takes a size or a probability takes arrays, too.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

SPAN = 45  # exp(-45) counts as nothing
GAUSS_X, GAUSS_W = np.polynomial.legendre.leggauss(16)


def gauss(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Gauss-Legendre quadrature between each `low` and `high`."""
    half = (high - low)[..., None] / 2
    return low[..., None] + half * (1 + GAUSS_X), half * GAUSS_W


def integral(f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, x: ArrayLike) -> np.ndarray:
    """The integral of f from edges[0] to each x; f is smooth between the edges."""
    x = np.asarray(x, float)
    points, weights = gauss(edges[:-1], edges[1:])
    total = np.append(0, np.cumsum((f(points) * weights).sum(-1)))
    last = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 1)
    points, weights = gauss(edges[last], x)
    return total[last] + (f(points) * weights).sum(-1)


class Sizes(ABC):
    """A distribution of positive sizes S."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The tail changes little over a small part of this size."""

    @property
    @abstractmethod
    def top(self) -> float:
        """The largest size, or one that is next to never exceeded."""

    @property
    @abstractmethod
    def kinks(self) -> tuple[float, ...]:
        """Sizes where the tail or its slope jumps."""

    @abstractmethod
    def tail(self, x: ArrayLike) -> np.ndarray:
        """P(S > x) for x >= 0."""

    def atom(self, x: ArrayLike) -> np.ndarray:
        """P(S = x)."""
        return np.zeros_like(np.asarray(x, float))

    @abstractmethod
    def moment(self, n: int) -> float:
        """E[S^n], n >= 1; infinite where it is."""

    @abstractmethod
    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        """E[S^n; S <= x] for n >= 1, x >= 0."""

    def truncated(self, n: int, x: ArrayLike) -> np.ndarray:
        """E[min(S, x)^n] for n >= 1, x >= 0: run2c (Avrachenkov et al. 2004), before equation 4."""
        x, tail = np.asarray(x, float), self.tail(x)
        return self.partial(n, x) + np.where(tail > 0, x, 0) ** n * tail

    @abstractmethod
    def rest(self, x: float) -> "Sizes | None":
        """The distribution of S - x of those S > x; None if there are none."""

    @abstractmethod
    def nodes(self, cuts: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights: E[f(S)] is the sum of weight * f(point).

        f is smooth except at `cuts` and grows no faster than the size.
        """

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """So many independent sizes."""

    @cached_property
    def mean(self) -> float:
        return self.moment(1)

    @cached_property
    def panels(self) -> np.ndarray:
        """From 0 to past the top: between two of them the tail is smooth."""
        first = self.scale / 16
        count = math.ceil(math.log2(self.top / first)) + 1
        return np.unique([0.0, *(first * 2.0 ** np.arange(count + 1)), *self.kinks])


class Continuous(Sizes):
    """A distribution with a density. What has no closed form is integrated numerically."""

    span = SPAN  # how far to integrate, in -log(tail)

    @abstractmethod
    def quantile(self, tail: ArrayLike) -> np.ndarray:
        """The size that is exceeded with this probability, 0 < tail <= 1."""

    @property
    def top(self) -> float:
        return float(self.quantile(math.exp(-SPAN)))

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float)
        upto = -np.log(np.maximum(self.tail(x), math.exp(-self.span)))
        edges = np.arange(self.span + 1.0)
        return integral(lambda w: self.quantile(np.exp(-w)) ** n * np.exp(-w), edges, upto)

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        tails = self.tail(np.array([*cuts, *self.kinks]))
        at = -np.log(tails[tails > math.exp(-self.span)])
        edges = np.unique([*np.arange(0, self.span + 0.5, 0.5), *at])
        points, weights = (a.ravel() for a in gauss(edges[:-1], edges[1:]))
        return self.quantile(np.exp(-points)), weights * np.exp(-points)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return self.quantile(1 - rng.random(count))


@dataclass(frozen=True)
class Exponential(Continuous):
    """P(S > x) = exp(-x / average)."""

    average: float
    kinks = ()

    def __post_init__(self) -> None:
        _need(self.average > 0, "an exponential distribution has a mean above 0")

    @property
    def scale(self) -> float:
        return self.average

    def tail(self, x: ArrayLike) -> np.ndarray:
        return np.exp(-np.asarray(x, float) / self.average)

    def quantile(self, tail: ArrayLike) -> np.ndarray:
        return -self.average * np.log(tail)

    def moment(self, n: int) -> float:
        return self.average**n * math.factorial(n)

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        return self.moment(n) * special.gammainc(n + 1, np.asarray(x, float) / self.average)

    def rest(self, x: float) -> Sizes | None:
        return self


@dataclass(frozen=True)
class BoundedPareto(Continuous):
    """BP(k, p, alpha): a density like x^(-alpha-1) from k to p; p may be infinite if alpha > 1."""

    k: float
    p: float
    alpha: float

    def __post_init__(self) -> None:
        _need(0 < self.k < self.p, "a bounded Pareto distribution has 0 < k < p")
        least = 1 if math.isinf(self.p) else 0
        _need(self.alpha > least, f"this Pareto distribution has alpha > {least}")

    @property
    def span(self) -> int:
        return SPAN if self.p < math.inf else math.ceil(SPAN * self.alpha / (self.alpha - 1))

    @property
    def scale(self) -> float:
        return self.k / self.alpha

    @property
    def top(self) -> float:
        return self.p if self.p < math.inf else super().top

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.k, self.p)[: 1 + (self.p < math.inf)]

    @property
    def _least(self) -> float:
        """The tail of the unbounded distribution at p."""
        return (self.k / self.p) ** self.alpha

    def tail(self, x: ArrayLike) -> np.ndarray:
        at = self.k / np.clip(x, self.k, self.p)
        return (at**self.alpha - self._least) / (1 - self._least)

    def quantile(self, tail: ArrayLike) -> np.ndarray:
        tail = np.asarray(tail, float)
        return self.k * (self._least + tail * (1 - self._least)) ** (-1 / self.alpha)

    def moment(self, n: int) -> float:
        return float(self.partial(n, self.p))

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        span = np.log(np.clip(x, self.k, self.p) / self.k)
        over = n - self.alpha
        power = np.expm1(over * span) / over if over else span
        return self.alpha * self.k**n / (1 - self._least) * power

    def rest(self, x: float) -> Sizes | None:
        if x >= self.p:
            return None
        return Shifted(BoundedPareto(max(self.k, x), self.p, self.alpha), x) if x > 0 else self


@dataclass(frozen=True)
class Lomax(Continuous):
    """P(S > x) = (1 + c x)^-alpha, alpha > 1: sched-tcp (Ayesta et al. 2014), section 6.2."""

    c: float
    alpha: float
    kinks = ()

    def __post_init__(self) -> None:
        _need(self.c > 0 and self.alpha > 1, "a Lomax distribution has c > 0 and alpha > 1")

    @property
    def span(self) -> int:
        return math.ceil(SPAN * self.alpha / (self.alpha - 1))

    @property
    def scale(self) -> float:
        return 1 / (self.c * self.alpha)

    def tail(self, x: ArrayLike) -> np.ndarray:
        return (1 + self.c * np.asarray(x, float)) ** -self.alpha

    def quantile(self, tail: ArrayLike) -> np.ndarray:
        return np.expm1(-np.log(tail) / self.alpha) / self.c

    def moment(self, n: int) -> float:
        if self.alpha <= n:
            return math.inf
        return math.factorial(n) * math.gamma(self.alpha - n) / math.gamma(self.alpha) / self.c**n

    def rest(self, x: float) -> Sizes | None:
        return Lomax(self.c / (1 + self.c * x), self.alpha)


@dataclass(frozen=True)
class Fixed(Sizes):
    """All flows are of this size."""

    size: float

    def __post_init__(self) -> None:
        _need(self.size > 0, "a fixed size is above 0")

    @property
    def scale(self) -> float:
        return self.size

    @property
    def top(self) -> float:
        return self.size

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.size,)

    def tail(self, x: ArrayLike) -> np.ndarray:
        return (np.asarray(x) < self.size).astype(float)

    def atom(self, x: ArrayLike) -> np.ndarray:
        return (np.asarray(x) == self.size).astype(float)

    def moment(self, n: int) -> float:
        return self.size**n

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        return self.size**n * (np.asarray(x) >= self.size)

    def rest(self, x: float) -> Sizes | None:
        return Fixed(self.size - x) if x < self.size else None

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        return np.array([float(self.size)]), np.ones(1)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return np.full(count, float(self.size))


@dataclass(frozen=True)
class Shifted(Sizes):
    """S - by, where S is `sizes`, never below `by`."""

    sizes: Continuous
    by: float

    @property
    def scale(self) -> float:
        return self.sizes.scale

    @property
    def top(self) -> float:
        return self.sizes.top - self.by

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(kink - self.by for kink in self.sizes.kinks if kink > self.by)

    def tail(self, x: ArrayLike) -> np.ndarray:
        return self.sizes.tail(np.asarray(x) + self.by)

    def _powers(self, n: int, what: Callable[[int], np.ndarray], zeroth: ArrayLike) -> np.ndarray:
        powers = [math.comb(n, i) * (-self.by) ** (n - i) * what(i) for i in range(1, n + 1)]
        return sum(powers) + (-self.by) ** n * np.asarray(zeroth)

    def moment(self, n: int) -> float:
        return float(self._powers(n, self.sizes.moment, 1))

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, float) + self.by
        return self._powers(n, lambda i: self.sizes.partial(i, x), 1 - self.sizes.tail(x))

    def rest(self, x: float) -> Sizes | None:
        return self.sizes.rest(self.by + x)

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        points, weights = self.sizes.nodes([cut + self.by for cut in cuts])
        return points - self.by, weights

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return self.sizes.draw(rng, count) - self.by


@dataclass(frozen=True)
class Mixture(Sizes):
    """A size is drawn from one of `parts`, with these probabilities, which make up 1."""

    weights: tuple[float, ...]
    parts: tuple[Sizes, ...]

    def __post_init__(self) -> None:
        _need(
            len(self.weights) == len(self.parts) > 0
            and min(self.weights) > 0
            and math.isclose(sum(self.weights), 1),
            "a mixture's weights are above 0 and make up 1",
        )

    @property
    def scale(self) -> float:
        return min(part.scale for part in self.parts)

    @property
    def top(self) -> float:
        return max(part.top for part in self.parts)

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(sorted({kink for part in self.parts for kink in part.kinks}))

    def _mix(self, values: Iterable) -> np.ndarray:
        return sum(weight * value for weight, value in zip(self.weights, values, strict=True))

    def tail(self, x: ArrayLike) -> np.ndarray:
        return self._mix(part.tail(x) for part in self.parts)

    def atom(self, x: ArrayLike) -> np.ndarray:
        return self._mix(part.atom(x) for part in self.parts)

    def moment(self, n: int) -> float:
        return float(self._mix(part.moment(n) for part in self.parts))

    def partial(self, n: int, x: ArrayLike) -> np.ndarray:
        return self._mix(part.partial(n, x) for part in self.parts)

    def rest(self, x: float) -> Sizes | None:
        rests = [
            (weight * float(part.tail(x)), part.rest(x))
            for weight, part in zip(self.weights, self.parts, strict=True)
        ]
        rests = [(weight, rest) for weight, rest in rests if rest and weight > 0]
        if not rests:
            return None
        total = sum(weight for weight, _ in rests)
        return Mixture(tuple(w / total for w, _ in rests), tuple(rest for _, rest in rests))

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
        cuts = [*cuts, *self.kinks]
        found = [part.nodes(cuts) for part in self.parts]
        weights = [weight * part for weight, (_, part) in zip(self.weights, found, strict=True)]
        return np.concatenate([points for points, _ in found]), np.concatenate(weights)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        which = rng.choice(len(self.parts), count, p=np.array(self.weights) / sum(self.weights))
        return np.choose(which, [part.draw(rng, count) for part in self.parts])


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise ValueError(text)


def pareto(k: float, alpha: float) -> BoundedPareto:
    """P(S > x) = (k / x)^alpha for x >= k, alpha > 1."""
    return BoundedPareto(k, math.inf, alpha)


def lomax(mean: float, alpha: float) -> Lomax:
    """P(S > x) = (1 + x / (mean (alpha - 1)))^-alpha, alpha > 1."""
    _need(mean > 0 and alpha > 1, "a Lomax distribution has a mean > 0 and alpha > 1")
    return Lomax(1 / (mean * (alpha - 1)), alpha)


KINDS = {
    "exp": Exponential,
    "fixed": Fixed,
    "pareto": pareto,
    "lomax": lomax,
    "bp": BoundedPareto,
}
TERM = re.compile(r"(?:([^*()]+)\*)?([a-z]+)\(([^()]*)\)")


def parse(text: str) -> Sizes:
    """A distribution as flowgen has it: "0.8*exp(4)+0.2*bp(13,5000,1.1)", weights of any sum.

    The kinds are exp(mean), fixed(size), pareto(k,alpha), lomax(mean,alpha) and bp(k,p,alpha).
    """
    weights, parts, at = [], [], 0
    while term := TERM.match(text, at):
        weight, kind, numbers = term.groups()
        try:
            weights.append(float(weight or 1))
            parts.append(KINDS[kind](*map(float, numbers.split(","))))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no distribution of sizes: {term[0]!r}: {error}") from error
        at = term.end() + 1
        if text[at - 1 : at] != "+":
            break
    if not parts or at <= len(text) or not min(weights) > 0:
        raise ValueError(f"no distribution of sizes: {text!r}")
    if len(parts) == 1:
        return parts[0]
    return Mixture(tuple(weight / sum(weights) for weight in weights), tuple(parts))
