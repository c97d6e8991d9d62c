# SPDX-License-Identifier: GPL-2.0
"""What a paper's room says its rows, panels and model curves in.

`paper` is what an article says in its text or tables, nothing is read off a picture. Where it says
"more than" or "at most", `bound` is ">=" or "<=".
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lab.measure.rows import AT, Metrics, Rows

Results = dict[str, Rows]  # by experiment; "theory" is one
THEORY = "theory"
# What a model gives, in the form of what is measured: the case is the figure, the qdisc a policy or
# what the paper compares; the values
Found = Iterator[tuple[str, str, Metrics]]
PACKETS = "flow size, packets"
CALCULATED = "Calculated, as in the article"


@dataclass(frozen=True)
class At:
    """A number of an experiment: a value for each seed. Its curve is that of the first seed, or,
    where it is pooled, the mean of all."""

    experiment: str
    case: str
    qdisc: str
    metric: str
    pooled: bool = False

    def values(self, results: Results) -> list[float]:
        rows = results.get(self.experiment, {})
        found = [
            values[self.metric]
            for (case, qdisc, _), values in rows.items()
            if (case, qdisc) == (self.case, self.qdisc) and self.metric in values
        ]
        return [value for value in found if not math.isnan(value)]

    def curve(self, results: Results) -> list[tuple[float, float]]:
        """Its points; of several seeds those that all have that have such a curve."""
        rows, begin = results.get(self.experiment, {}), self.metric + AT
        found: dict[float, list[float]] = {}
        seeds = 0
        for (case, qdisc, _), values in rows.items():
            if (case, qdisc) != (self.case, self.qdisc) or (seeds and not self.pooled):
                continue
            mine = [(n[len(begin) :], y) for n, y in values.items() if n.startswith(begin)]
            seeds += 1 if mine or not self.pooled else 0
            for x, y in mine:
                found.setdefault(float(x), []).append(y)
        return [(x, float(np.mean(ys))) for x, ys in found.items() if len(ys) == seeds]


@dataclass(frozen=True)
class Of:
    """What follows from several numbers."""

    what: Callable[..., float]
    parts: tuple["At | Of", ...]

    def values(self, results: Results) -> list[float]:
        found = [part.values(results) for part in self.parts]
        if not all(found) or len({len(each) for each in found}) > 1:
            return []
        return [float(self.what(*each)) for each in zip(*found, strict=True)]


def ratio(above: At, below: At) -> Of:
    return Of(lambda a, b: a / b if b else math.nan, (above, below))


def percent(part: At, whole: At) -> Of:
    return Of(lambda a, b: 100 * a / b if b else math.nan, (part, whole))


def mean(*parts: At) -> Of:
    return Of(lambda *values: np.mean(values), parts)


def greatest(*parts: At | Of) -> Of:
    return Of(lambda *values: max(values), parts)


def total(*parts: At) -> Of:
    return Of(lambda *values: sum(values), parts)


@dataclass(frozen=True)
class Benefit:
    """Percent of flows whose size gets through sooner, on average, by the curves of two runs."""

    mine: At
    other: At

    @property
    def count(self) -> At:
        """How many flows are of each size."""
        return replace(self.mine, metric="flows by size")

    def values(self, results: Results) -> list[float]:
        pair = [dict(at.curve(results)) for at in (self.mine, self.other)]
        count = dict(self.count.curve(results))
        sizes = sorted(set(pair[0]) & set(pair[1]) & set(count))
        total = sum(count[x] for x in sizes)
        sooner = sum(count[x] for x in sizes if pair[0][x] < pair[1][x])
        return [100 * sooner / total] if total else []


@dataclass(frozen=True)
class Least:
    """The least part of another curve that a curve has, of sizes up to `most`."""

    mine: At
    other: At
    most: float = math.inf

    def values(self, results: Results) -> list[float]:
        mine, other = (dict(at.curve(results)) for at in (self.mine, self.other))
        sizes = [x for x in mine if x <= self.most and x in other]
        return [min(mine[x] / other[x] for x in sizes)] if sizes else []


@dataclass(frozen=True)
class Apart:
    """The most that a curve is apart from another, in percent of that, from `since` on."""

    mine: At
    other: At
    since: float = 0

    def values(self, results: Results) -> list[float]:
        mine, other = (dict(at.curve(results)) for at in (self.mine, self.other))
        common = [x for x in mine if other.get(x) and x >= self.since]
        return [max(100 * abs(mine[x] / other[x] - 1) for x in common)] if common else []


Value = At | Of | Benefit | Least | Apart


def value_of(value: Value | None, results: Results) -> float | None:
    """The mean of the seeds."""
    found = value.values(results) if value else []
    return sum(found) / len(found) if found else None


def parts_of(value: Value | None) -> Iterator[tuple[At, bool]]:
    """What a value follows from, and whether that is a whole curve."""
    if isinstance(value, At):
        yield value, False
    elif isinstance(value, Of):
        for part in value.parts:
            yield from parts_of(part)
    elif isinstance(value, Benefit):
        yield from ((at, True) for at in (value.mine, value.other, value.count))
    elif isinstance(value, Least | Apart):
        yield from ((at, True) for at in (value.mine, value.other))


@dataclass(frozen=True)
class Row:
    what: str
    measured: Value | None = None  # None: of the models only
    paper: float | None = None
    bound: str = ""  # ">=" or "<=": the paper gives that
    model: Value | None = None
    scale: float | None = None  # what deviations are a part of, where the paper's number is small


@dataclass(frozen=True)
class Line:
    label: str
    points: At | tuple[tuple[float, At], ...]  # a curve, or numbers by x
    model: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    paper: tuple[tuple[str, float, float], ...] = ()  # what, x and y
    levels: tuple[tuple[str, float], ...] = ()  # what, and y, of the paper
    log: str = ""  # of "x", "y" and "xy"
    dots: bool = False  # points are each of its own


@dataclass(frozen=True)
class Item:
    key: str
    title: str
    experiment: str | None  # None: of the models only
    rows: tuple[Row, ...] = ()
    panels: tuple[Panel, ...] = ()
    columns: int = 2  # of panels
    reason: str = ""  # what is not here, and why


def theory(figure: str, what: str, metric: str) -> At:
    return At(THEORY, figure, what, metric)


def taken_of(item: Item) -> Iterator[tuple[At, bool]]:
    """All that an item takes from somewhere, and whether it is a whole curve."""
    for row in item.rows:
        yield from parts_of(row.measured)
        yield from parts_of(row.model)
    for line in (line for panel in item.panels for line in panel.lines):
        if isinstance(line.points, At):
            yield line.points, True
        else:
            yield from ((at, False) for _, at in line.points)
