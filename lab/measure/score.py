# SPDX-License-Identifier: GPL-2.0
"""The scoreboard: how a qdisc compares, case by case, with its peers and with stored figures.

A case's score is the ratio of its worst metric: 1.10 is 10 % worse than the better of the peers.
"""

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lab.measure.reading import DataError
from lab.measure.rows import Rows, seeds_of

LIST = Path(__file__).parents[1] / "scoreboard.toml"
MOST = 1.10  # a case above this ratio falls short
SPREAD = 2.0  # the worst seed over the median
KEYS = {"experiment", "cases", "seeds", "options", "peers", "less", "more"}


@dataclass(frozen=True)
class Part:
    """Some cases of an experiment, and what of them counts"""

    experiment: str
    peers: dict[str, str]
    cases: list[str] | None = None
    seeds: list[int] | None = None
    options: str = ""  # given to each qdisc that is compared
    less: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.experiment} {self.options}".strip()

    def words(self, qdisc: str) -> str:
        return f"{qdisc} {self.options}".strip()


@dataclass(frozen=True)
class Board:
    """lab/scoreboard.toml"""

    parts: list[Part]
    enough: dict[str, float]


@dataclass(frozen=True)
class Ratio:
    """A metric of a case: a value, what it is compared with, and how many times worse it is"""

    metric: str
    value: float
    other: float
    worse: float

    def __str__(self) -> str:
        return f"{self.metric} {self.value:.4g}, not {self.other:.4g}"


@dataclass(frozen=True)
class Score:
    """Of a qdisc in a case: its worst metric against the peers, against the stored figures, and the
    worst seed against the median of the seeds; None where there is nothing to compare with"""

    part: Part
    case: str
    qdisc: str
    peers: Ratio | None
    stored: Ratio | None
    seeds: Ratio | None


def load(path: Path = LIST) -> Board:
    given = tomllib.loads(path.read_text())
    parts = []
    for each in given["part"]:
        if unknown := sorted(set(each) - KEYS):
            raise DataError(f"{path.name}: a part has {unknown[0]}; it may have {sorted(KEYS)}")
        metrics = {key: tuple(each.get(key, ())) for key in ("less", "more")}
        if not any(metrics.values()):
            raise DataError(f"{path.name}: the part {each['experiment']} has no metric")
        parts.append(Part(**{"peers": given["peers"]} | each | metrics))
    return Board(parts, given["enough"])


def ratio(value: float, other: float, more: bool, least: float = 0.0) -> float:
    """How many times worse `value` is; both count as `least` where they are less."""
    bad, good = (other, value) if more else (value, other)
    bad, good = max(bad, least), max(good, least)
    if math.isnan(bad) or math.isnan(good):
        return math.nan
    if not good or math.isinf(bad):
        return 1.0 if bad == good else math.inf
    return bad / good


def worst(ratios: Iterator[Ratio]) -> Ratio | None:
    known = (each for each in ratios if not math.isnan(each.worse))
    return max(known, key=lambda each: each.worse, default=None)


@dataclass(frozen=True)
class Case:
    """The values of the seeds by qdisc and metric, in one case of a part"""

    part: Part
    values: dict[str, dict[str, list[float]]]
    enough: dict[str, float]

    def _metrics(self) -> Iterator[tuple[str, bool]]:
        known = {name for of in self.values.values() for name in of}
        yield from ((name, False) for name in self.part.less if name in known)
        yield from ((name, True) for name in self.part.more if name in known)

    def _mean(self, qdisc: str, metric: str, more: bool) -> float:
        """Without a value, as of no download that ended, it could not be worse."""
        values = self.values[qdisc].get(metric)
        return sum(values) / len(values) if values else 0 if more else math.inf

    def _ratio(self, value: float, other: float, metric: str, more: bool) -> Ratio:
        return Ratio(metric, value, other, ratio(value, other, more, self.enough.get(metric, 0)))

    def against_peers(self, qdisc: str) -> Iterator[Ratio]:
        for metric, more in self._metrics():
            others = [self._mean(peer, metric, more) for peer in self.part.peers]
            other = max(others) if more else min(others)
            yield self._ratio(self._mean(qdisc, metric, more), other, metric, more)

    def against_stored(self, qdisc: str, stored: dict[str, list[float]]) -> Iterator[Ratio]:
        for metric, more in self._metrics():
            if metric in stored:
                other = sum(stored[metric]) / len(stored[metric])
                yield self._ratio(self._mean(qdisc, metric, more), other, metric, more)

    def against_median(self, qdisc: str) -> Iterator[Ratio]:
        for metric, more in self._metrics():
            values = self.values[qdisc].get(metric, [])
            if len(values) > 1:
                value = min(values) if more else max(values)
                yield self._ratio(value, median(values), metric, more)


def scores(
    part: Part, rows: Rows, qdiscs: Sequence[str], stored: dict[str, Rows], enough: dict[str, float]
) -> Iterator[Score]:
    """Of each case and qdisc; `stored` has the rows that a qdisc is compared with, by its name."""
    of_all = seeds_of(rows)
    kept = {qdisc: seeds_of(some) for qdisc, some in stored.items()}
    for case in dict.fromkeys(case for case, _, _ in rows):
        values = {qdisc: of for (name, qdisc), of in of_all.items() if name == case}
        one = Case(part, values, enough)
        for qdisc in qdiscs:
            before = next((of for (name, _), of in kept.get(qdisc, {}).items() if name == case), {})
            yield Score(
                part,
                case,
                qdisc,
                worst(one.against_peers(qdisc)),
                worst(one.against_stored(qdisc, before)),
                worst(one.against_median(qdisc)),
            )
