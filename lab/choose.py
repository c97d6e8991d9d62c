# SPDX-License-Identifier: GPL-2.0
"""Which one should I use: the order of the kinds by each criterion, from the comparisons' CSVs."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from bench import RATIOS
from items import PEERS
from metrics import Rows, interval, seeds_of

OURS = ("las", "sqf", "sift", "run2c")
KNOWS = "srpt"  # it is told the sizes, so that it is no peer
COMPARISONS = ("d1-load", "d1-rtt", "d1-rate", "d1-tcp", "web-rai2004", "mix", "quick")


@dataclass(frozen=True)
class Criterion:
    title: str
    metric: str
    unit: str
    sign: int = 1  # 1: less is better, -1: more is


CRITERIA = (
    Criterion("Response of short flows, up to 8 packets", "ms <=8", "ms"),
    Criterion("Throughput of long flows, over 100 packets", "kbit/s >100", "kbit/s", -1),
    Criterion("Throughput of a download without an end", "bulk Mbit/s", "Mbit/s", -1),
    Criterion("Delay of a call, 99th percentile", "call p99 ms", "ms"),
    Criterion("Loss of a call", "call loss %", "%"),
    Criterion("Jitter of a call", "call jitter ms", "ms"),
    Criterion("Jitter of a live video", "live jitter ms", "ms"),
    Criterion("Excess: what waiting adds to the slowdown", "excess", ""),
)

Means = list[tuple[float, float, str]]  # better first: mean, half of the interval, qdisc


def ranking(rows: Rows, case: str, criterion: Criterion) -> Means:
    found = []
    for (where, qdisc), values in seeds_of(rows).items():
        if where == case and criterion.metric in values and qdisc in (*OURS, *PEERS, KNOWS):
            found.append((*interval(values[criterion.metric]), qdisc))
    return sorted(found, key=lambda each: (criterion.sign * each[0], each[2]))


def apart(one: tuple[float, float, str], other: tuple[float, float, str]) -> bool:
    """Whether their intervals are; of one seed there is none."""
    both = sum(half for _, half, _ in (one, other) if half == half)
    return abs(one[0] - other[0]) > both


def number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def choose(results: dict[str, Rows]) -> Iterator[str]:
    """The lines of the page."""
    yield "## Which one should I use\n"
    yield (
        "Best first, by the mean. " + f"`{KNOWS}` is told the sizes of the flows, "
        "which nobody is outside the lab. Ours are bold; below each table is where one of ours "
        "is behind a peer, with the peers that are better. `~` is before a peer of which the 95 % "
        "confidence interval meets ours; where there is one seed, there is none.\n"
    )
    for criterion in CRITERIA:
        lines, lost = [], []
        for name in COMPARISONS:
            rows = results.get(name, {})
            for case in dict.fromkeys(case for case, _, _ in rows):
                order = ranking(rows, case, criterion)
                if len(order) < 2:
                    continue
                where = name if case == "base" else f"{name}, {case}"
                cells = [
                    f"{'**' if q in OURS else ''}{q}{'**' if q in OURS else ''} {number(mean)}"
                    for mean, _, q in order
                ]
                lines.append(f"| {where} | {', '.join(cells)} |")
                lost += losses(where, order, criterion)
        if lines:
            unit = f", {criterion.unit}" if criterion.unit else ""
            yield f"### {criterion.title}{unit}\n"
            yield "| case | best first |\n|---|---|"
            yield from lines
            yield ""
            yield from lost or ["None of ours is behind a peer."]
            yield ""
    yield from costs()


def losses(where: str, order: Means, criterion: Criterion) -> Iterator[str]:
    for mine in order:
        if mine[2] not in OURS:
            continue
        better = [
            other
            for other in order
            if other[2] in PEERS and criterion.sign * other[0] < criterion.sign * mine[0]
        ]
        if better:
            shown = [
                f"{'' if apart(mine, other) else '~'}{other[2]} {number(other[0])}"
                for other in better
            ]
            unit = f" {criterion.unit}" if criterion.unit else ""
            yield (
                f"- {where}: **{mine[2]}** has {number(mine[0])}{unit}, behind {', '.join(shown)}."
            )


def costs() -> Iterator[str]:
    """What a packet costs, of bench/ratios.csv."""
    with RATIOS.open() as lines:
        rows = list(csv.DictReader(lines))
    yield "### Cost of a packet, instructions, as a part of fq_codel's\n"
    yield "Measured by `make bench`, of ours only. Less than 1 is cheaper than fq_codel.\n"
    yield "| case | cheapest first |\n|---|---|"
    behind = []
    for case in dict.fromkeys(row["case"] for row in rows):
        found = sorted((float(r["ratio"]), r["qdisc"]) for r in rows if r["case"] == case)
        yield f"| {case} | {', '.join(f'{qdisc} {value:.2f}' for value, qdisc in found)} |"
        behind += [
            f"- {case}: **{qdisc}** has {value:.2f}, behind fq_codel 1."
            for value, qdisc in found
            if value > 1
        ]
    yield ""
    yield from behind or ["None of ours is behind fq_codel."]
    yield ""
