# SPDX-License-Identifier: GPL-2.0
"""Which one should I use: the order of the kinds by each criterion, from the comparisons' CSVs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from lab.measure.rows import Means, Rows, means
from lab.measure.tables import INSTEAD, LESS
from lab.page.costs import REFERENCE
from lab.page.markdown import digits, markdown, part
from lab.run.qdiscs import LISTS, ORACLE, OURS, PEERS


@dataclass(frozen=True)
class Criterion:
    title: str
    metric: str
    unit: str
    part: bool = True  # can be seen as a part of another's, which may not be 0

    @property
    def sign(self) -> int:
        """With which less is better."""
        return 1 if LESS.fullmatch(self.metric) else -1

    @property
    def short(self) -> str:
        return self.title[0].lower() + self.title[1:].split(":")[0]


CRITERIA = (
    Criterion("Response of short flows, up to 8 packets", "ms <=8", "ms"),
    Criterion("Response of flows of 21 to 100 packets", "ms 21-100", "ms"),
    Criterion("Response of long flows, over 100 packets", "ms >100", "ms"),
    Criterion("Throughput of long flows, over 100 packets", "kbit/s >100", "kbit/s"),
    Criterion("Throughput of a download without an end", "bulk Mbit/s", "Mbit/s"),
    Criterion("Throughput of five downloads or more beside others", "tcp Mbit/s", "Mbit/s", False),
    Criterion(
        "Throughput of a host's download beside another host", "download Mbit/s", "Mbit/s", False
    ),
    Criterion("Response of flows of 10 packets, one each 0.2 s", "shorts ms", "ms", False),
    Criterion("Such flows that have ended", "shorts done", "flows", False),
    Criterion("Delay of a call, 99th percentile", "call p99 ms", "ms"),
    Criterion("Loss of a call", "call loss %", "%", False),
    Criterion("Jitter of a call", "call jitter ms", "ms"),
    Criterion("Delay of a live video, 99th percentile", "live p99 ms", "ms"),
    Criterion("Loss of a live video", "live loss %", "%", False),
    Criterion("Jitter of a live video", "live jitter ms", "ms"),
    Criterion("Delay of a large video, 99th percentile", "video p99 ms", "ms"),
    Criterion("Loss of a large video", "video loss %", "%", False),
    Criterion("Time in which a large video is late", "video late %", "%", False),
    Criterion("Response of a page's connections", "web ms", "ms"),
    Criterion("Response of whole pages", "web page ms", "ms"),
    Criterion("Excess: what waiting adds to the slowdown", "excess", ""),
    Criterion("Slowdown of downloads", "slowdown", ""),
    Criterion("Fairness among downloads, Jain's index", "Jain", ""),
    Criterion("Loss of downloads", "loss %", "%", False),
)


def measured(of: Means, metric: str) -> dict[str, dict[str, float | None]]:
    """By case and qdisc, where the case has it: None is of who has none of it, as of no end."""
    result = {}
    for case, values in of.items():
        every = {name for each in values.values() for name in each}
        if metric in every and INSTEAD.get(metric) not in every:
            known = {q: each.get(metric, inf) for q, each in values.items()}
            result[case] = {q: value if isfinite(value) else None for q, value in known.items()}
    return result


def ranking(of: dict[str, float | None], criterion: Criterion) -> list[str]:
    """Of a case: better first, and at the end who has none; ours are bold."""
    known = {q: value for q, value in of.items() if q in (*OURS, *PEERS, *ORACLE)}
    found = sorted((criterion.sign * x, q) for q, x in known.items() if x is not None)
    bold = {qdisc: f"**{qdisc}**" for qdisc in OURS}
    result = [f"{bold.get(q, q)} {digits(criterion.sign * mean)}" for mean, q in found]
    return result + [f"{bold.get(q, q)} none" for q, x in sorted(known.items()) if x is None]


@dataclass(frozen=True)
class Overall:
    """Of all cases: what each qdisc has, or else in how many there is none of it."""

    told: int = 0  # so many of the cases count
    cases: int = 0
    of: dict[str, float] = field(default_factory=dict)
    none: dict[str, int] = field(default_factory=dict)

    def first(self, sign: int) -> float:
        return min((sign * value for value in self.of.values()), default=inf)


def overall(chosen: list[Means], criterion: Criterion) -> Overall:
    """The mean of those of ours and of the peers that have run in all of the cases.

    It is the geometric mean of what they have as a part of the reference's, where that has any, or
    else the mean. A case that two comparisons have counts once. Who has none in a case has no
    mean: without the case he would look better than those who have some in it.
    """
    cases = [
        (every[case], of)
        for every in chosen
        for case, of in measured(every, criterion.metric).items()
        if REFERENCE in of
    ]
    names = [q for q in (*OURS, *PEERS) if cases and all(q in of for _, of in cases)]
    if not names:
        return Overall()
    # Those of the same runs are alike in every metric, others maybe in this one
    distinct = {
        tuple(frozenset(every[q].items()) for q in names): [of[q] for q in names]
        for every, of in cases
    }
    found = np.array(list(distinct.values()), float)
    number = len(found)
    if criterion.part:
        whole = found[:, [names.index(REFERENCE)]]
        found, whole = found[whole[:, 0] > 0], whole[whole[:, 0] > 0]
        if not len(found):
            return Overall()
        with np.errstate(divide="ignore"):  # 0 is the least part
            middle = np.exp(np.log(found / whole).mean(axis=0))
    else:
        middle = found.mean(axis=0)
    none = {q: int(n) for q, n in zip(names, np.isnan(found).sum(axis=0), strict=True) if n}
    of = {q: float(x) for q, x in zip(names, middle, strict=True) if q not in none}
    return Overall(len(found), number, of, none)


def in_short(chosen: list[Means]) -> Iterator[list[str]]:
    """A table: a criterion a line, a column for each that is measured everywhere."""
    every = {criterion: overall(chosen, criterion) for criterion in CRITERIA}
    every = {criterion: found for criterion, found in every.items() if found.told}
    known = {q for found in every.values() for q in (*found.of, *found.none)}
    names = [q for q in (*OURS, *PEERS) if q in known]
    yield ["", "cases", *names]
    for criterion, found in every.items():
        cells = {q: part(value) for q, value in found.of.items()}
        best = found.first(criterion.sign)
        cells |= {q: f"**{cells[q]}**" for q, x in found.of.items() if criterion.sign * x == best}
        cells |= {q: f"none in {number}" for q, number in found.none.items()}
        title = criterion.title + ("" if criterion.part else f", {criterion.unit}")
        count = f"{found.told} of {found.cases}" if found.told < found.cases else str(found.told)
        yield [title, count, *(cells.get(q, "-") for q in names)]


def in_words(chosen: list[Means]) -> Iterator[str]:
    """Of each of ours: where it is the best of ours and the peers, and where not even REFERENCE."""
    best: dict[str, list[str]] = {qdisc: [] for qdisc in OURS}
    behind: dict[str, list[str]] = {qdisc: [] for qdisc in OURS}
    for criterion in CRITERIA:
        found, sign = overall(chosen, criterion), criterion.sign
        theirs = sign * found.of[REFERENCE] if REFERENCE in found.of else inf
        for qdisc in (q for q in OURS if q in found.of):
            mine = found.of[qdisc]
            if sign * mine == found.first(sign) < theirs:
                best[qdisc].append(criterion.short)
            if sign * mine > theirs and part(mine) != part(1):
                than = f" against {part(sign * theirs)} {criterion.unit}"
                than = "" if criterion.part else than
                behind[qdisc].append(f"{criterion.short} ({part(mine)}{than})")
        for qdisc in (q for q in OURS if found.none.get(q, 0) > found.none.get(REFERENCE, 0)):
            behind[qdisc].append(f"{criterion.short} (none in {found.none[qdisc]})")
    for qdisc in (q for q in OURS if best[q] or behind[q]):
        told = f"Best: {'; '.join(best[qdisc]) or 'nowhere'}."
        yield f"- `{qdisc}`. {told} Behind {REFERENCE}: {'; '.join(behind[qdisc]) or 'nowhere'}."


def by_peers(chosen: dict[str, Rows]) -> list[dict[str, Rows]]:
    """Those that have run the same ones of the list together: in a mean over others these would
    be missing."""
    result: dict[frozenset[str], dict[str, Rows]] = {}
    for name, rows in chosen.items():
        peers = frozenset(q for _, q, _ in rows if q in LISTS["peers"])
        result.setdefault(peers, {})[name] = rows
    return list(result.values())


def legend(table: list[list[str]]) -> str:
    """What such a table shows."""
    shown = {line[0] for line in table}
    told = [one for one in CRITERIA if not one.part and f"{one.title}, {one.unit}" in shown]
    units = any(not one.metric.endswith("loss %") for one in told)
    ended = ", of flows that have ended" if any(one.unit == "flows" for one in told) else ""
    text = (
        f"Of all cases the geometric mean, as a part of {REFERENCE}'s; of "
        f"{'what has a unit' if units else 'loss'} the mean. Of throughput{ended} and of Jain's "
        "index more is better, of all else less; the best is bold."
    )
    if any(cell.startswith("none") for line in table for cell in line):
        text += " Who has none in some of the cases, as where no flow has ended, has no mean."
    if any(" of " in line[1] for line in table):
        text += f" Cases in which {REFERENCE} has none, or 0, do not count for a part."
    return text


def choose(chosen: dict[str, Rows]) -> Iterator[str]:
    """The lines of the page, of these comparisons, below its picture."""
    alike = by_peers(chosen)
    for some in alike:
        found = [means(rows) for rows in some.values()]
        table = list(in_short(found))
        if len(table) > 1:
            if len(alike) > 1:
                yield f"## {', '.join(some)}\n"
            yield legend(table) + "\n"
            yield from markdown(table)
            yield ""
            yield from in_words(found)
            yield ""
    yield (
        f"In the lists the best is first, by the mean. `{ORACLE[0]}` is told the sizes of the "
        "flows, which nobody is outside the lab. Ours are bold; where they are behind by more than "
        "chance is on the page of each comparison.\n"
    )
    every = {name: means(rows) for name, rows in chosen.items()}
    for criterion in CRITERIA:
        # Comparisons share cases: those are one line
        lines: dict[tuple[str, ...], list[str]] = {}
        for name, of in every.items():
            for case, values in measured(of, criterion.metric).items():
                order = tuple(ranking(values, criterion))
                if len(order) > 1:
                    where = name if case == "base" else f"{name}, {case}"
                    lines.setdefault(order, []).append(where)
        if lines:
            unit = f", {criterion.unit}" if criterion.unit else ""
            yield f"### {criterion.title}{unit}\n"
            yield "| case | best first |\n|---|---|"
            yield from (f"| {'; '.join(w)} | {', '.join(order)} |" for order, w in lines.items())
            yield ""
