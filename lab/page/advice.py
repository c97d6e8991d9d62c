# SPDX-License-Identifier: GPL-2.0
"""Which one should I use: the order of the kinds by each criterion, from the comparisons' CSVs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lab.measure.rows import Rows, means
from lab.measure.tables import LESS, winners
from lab.page.costs import REFERENCE, costs
from lab.page.markdown import digits, markdown, part
from lab.run.qdiscs import ORACLE, OURS, PEERS


@dataclass(frozen=True)
class Criterion:
    title: str
    metric: str
    unit: str
    part: bool = True  # can be seen as a part of another's, which may not be 0

    @property
    def short(self) -> str:
        return self.title[0].lower() + self.title[1:].split(":")[0]


CRITERIA = (
    Criterion("Response of short flows, up to 8 packets", "ms <=8", "ms"),
    Criterion("Response of flows of 21 to 100 packets", "ms 21-100", "ms"),
    Criterion("Response of long flows, over 100 packets", "ms >100", "ms"),
    Criterion("Throughput of long flows, over 100 packets", "kbit/s >100", "kbit/s"),
    Criterion("Throughput of a download without an end", "bulk Mbit/s", "Mbit/s"),
    Criterion("Delay of a call, 99th percentile", "call p99 ms", "ms"),
    Criterion("Loss of a call", "call loss %", "%", False),
    Criterion("Jitter of a call", "call jitter ms", "ms"),
    Criterion("Delay of a live video, 99th percentile", "live p99 ms", "ms"),
    Criterion("Loss of a live video", "live loss %", "%", False),
    Criterion("Jitter of a live video", "live jitter ms", "ms"),
    Criterion("Excess: what waiting adds to the slowdown", "excess", ""),
    Criterion("Fairness among downloads, Jain's index", "Jain", ""),
    Criterion("Loss of downloads", "loss %", "%", False),
)


def ranking(rows: Rows, case: str, metric: str) -> list[str]:
    """Better first; ours are bold."""
    sign = 1 if LESS.fullmatch(metric) else -1
    found = [
        (sign * values[metric], qdisc)
        for qdisc, values in means(rows).get(case, {}).items()
        if metric in values and qdisc in (*OURS, *PEERS, *ORACLE)
    ]
    bold = {qdisc: f"**{qdisc}**" for qdisc in OURS}
    return [f"{bold.get(qdisc, qdisc)} {digits(sign * mean)}" for mean, qdisc in sorted(found)]


def overall(chosen: list[Rows], criterion: Criterion) -> tuple[int, dict[str, float]]:
    """How many cases there are, and the mean of those of ours and of the peers that are in all.

    It is the geometric mean of what they have as a part of the reference's, or else the mean.
    A case that two comparisons have counts once.
    """
    metric = criterion.metric
    cases = [
        {q: values[metric] for q, values in of.items() if metric in values}
        for rows in chosen
        for of in means(rows).values()
    ]
    cases = [of for of in cases if REFERENCE in of]
    names = [q for q in (*OURS, *PEERS) if cases and all(q in of for of in cases)]
    found = np.array(list(dict.fromkeys(tuple(of[q] for q in names) for of in cases)))
    if not names:
        return 0, {}
    if criterion.part:
        parts = found / found[:, [names.index(REFERENCE)]]
        middle = np.exp(np.log(parts).mean(axis=0))
    else:
        middle = found.mean(axis=0)
    return len(found), dict(zip(names, map(float, middle), strict=True))


def in_short(chosen: list[Rows]) -> Iterator[list[str]]:
    """A table: a criterion a line, a column for each that is measured everywhere."""
    every = {criterion: overall(chosen, criterion) for criterion in CRITERIA}
    every = {criterion: found for criterion, found in every.items() if found[1]}
    names = [q for q in (*OURS, *PEERS) if any(q in of for _, of in every.values())]
    yield ["", "cases", *names]
    for criterion, (cases, of) in every.items():
        best = (min if LESS.fullmatch(criterion.metric) else max)(of.values())
        cells = {q: part(value) for q, value in of.items()}
        cells |= {q: f"**{cells[q]}**" for q, value in of.items() if value == best}
        title = criterion.title + ("" if criterion.part else f", {criterion.unit}")
        yield [title, str(cases), *(cells.get(q, "-") for q in names)]


def in_words(chosen: list[Rows]) -> Iterator[str]:
    """Of each of ours: where it is the best of ours and the peers, and where not even REFERENCE."""
    best: dict[str, list[str]] = {qdisc: [] for qdisc in OURS}
    behind: dict[str, list[str]] = {qdisc: [] for qdisc in OURS}
    for criterion in CRITERIA:
        _, of = overall(chosen, criterion)
        sign = 1 if LESS.fullmatch(criterion.metric) else -1
        for qdisc in (q for q in OURS if q in of):
            first = min(sign * value for value in of.values())
            if sign * of[qdisc] == first < sign * of[REFERENCE]:
                best[qdisc].append(criterion.short)
            if sign * of[qdisc] > sign * of[REFERENCE] and part(of[qdisc]) != part(1):
                than = "" if criterion.part else f" against {part(of[REFERENCE])} {criterion.unit}"
                behind[qdisc].append(f"{criterion.short} ({part(of[qdisc])}{than})")
    for qdisc in (q for q in OURS if best[q] or behind[q]):
        told = f"Best: {'; '.join(best[qdisc]) or 'nowhere'}."
        yield f"- `{qdisc}`. {told} Behind {REFERENCE}: {'; '.join(behind[qdisc]) or 'nowhere'}."


def choose(chosen: dict[str, Rows]) -> Iterator[str]:
    """The lines of the page, of these comparisons."""
    yield "## Which one should I use\n"
    table = list(in_short(list(chosen.values())))
    if len(table) > 1:
        yield (
            f"Of all cases the geometric mean, as a part of {REFERENCE}'s; of loss the mean. Of "
            "throughput and of Jain's index more is better, of all else less; the best is bold.\n"
        )
        yield from markdown(table)
        yield ""
        yield from in_words(list(chosen.values()))
        yield ""
    yield (
        f"In the lists the best is first, by the mean. `{ORACLE[0]}` is told the sizes of the "
        "flows, which nobody is outside the lab. Ours are bold; below is where they are behind.\n"
    )
    for criterion in CRITERIA:
        # Comparisons share cases: those are one line
        lines: dict[tuple[str, ...], list[str]] = {}
        for name, rows in chosen.items():
            for case in dict.fromkeys(case for case, _, _ in rows):
                order = tuple(ranking(rows, case, criterion.metric))
                if len(order) > 1:
                    where = name if case == "base" else f"{name}, {case}"
                    lines.setdefault(order, []).append(where)
        if lines:
            unit = f", {criterion.unit}" if criterion.unit else ""
            yield f"### {criterion.title}{unit}\n"
            yield "| case | best first |\n|---|---|"
            yield from (f"| {'; '.join(w)} | {', '.join(order)} |" for order, w in lines.items())
            yield ""
    if chosen:
        yield "### Where ours are behind\n"
        yield (
            "Of all that is measured the best, and which of ours are worse than which peers by "
            "more than chance makes it: docs/experiments.md tells how that is decided. A `-` says "
            "that so few seeds do not show any to be worse, not that none is.\n"
        )
    for name, rows in chosen.items():
        head, *lines = winners(rows)
        yield f"#### {name}\n"
        yield "\n".join(markdown([head, *lines])) + "\n"
    yield from costs()
