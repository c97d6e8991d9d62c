# SPDX-License-Identifier: GPL-2.0
"""What runs have given side by side: the tables, and which qdisc is worse than another."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lab.measure.formulas import excess, select, slowdown
from lab.measure.lag import CLASSES, UNITS
from lab.measure.reading import Link, Run
from lab.measure.rows import LOSSY, SIZES, Rows, interval, means, seeds_of
from lab.run.qdiscs import FLOOR, ORACLE, OURS, PEERS

Columns = list[tuple[str, str, int]]  # head, metric, digits
# The columns of the tables: head, metric, digits
FLOWS = [
    ("flows", "flows", 0),
    *((f"{size} ms", f"ms {size}", 1) for size in SIZES),
    (">100 kbit/s", "kbit/s >100", 0),
    ("slowdown", "slowdown", 3),
    ("excess", "excess", 3),
    ("Jain index", "Jain", 3),
    ("of >100", "Jain >100", 3),
    ("drops", "drops", 0),
    ("failed", "failed", 0),
    ("records", "records", 0),
]
LOSS = [
    ("loss %", "loss %", 2),
    *((f"of {size}", f"loss % {size}", 2) for size in SIZES),
    ("flows with loss", "flows with loss", 0),
    (f"of <={LOSSY}", f"flows with loss <={LOSSY}", 0),
]
# Beside another qdisc, or policy of a pair
BESIDE = [
    ("faster %", "faster %", 1),
    ("slower %", "slower %", 1),
    ("equal %", "equal %", 1),
    ("gain s", "gain s", 2),
    ("loss s", "loss s", 3),
    ("bytes apart %", "bytes apart %", 2),
]
STEADY = [
    ("packets", "packets", 0),
    ("loss %", "loss %", 2),
    ("p50 ms", "p50 ms", 2),
    ("p99", "p99 ms", 2),
    ("max", "max ms", 2),
    ("jitter", "jitter ms", 3),
    ("late %", "late %", 2),
]
# Of which metrics less is better, and of which more; others are not compared. Groups of fetch are
# if they have these names: what is beside them, as rude, is not to fare well
LESS = re.compile(
    r"ms (<=8|21-100|>100)|excess|slowdown|failed|loss %( \S+)?"
    r"|\w+ (late %|loss %|(p50|p99|max|jitter) ms)|(shorts|web|web page) ms"
)
MORE = re.compile(
    r"kbit/s >100|Jain( >100)?|bulk (Mbit/s|Jain)|(tcp|download|others) Mbit/s|(shorts|web) done"
)
INSTEAD = {"slowdown": "excess"}  # what is compared only where the other is not known
FETCHED = [
    ("Mbit/s", "Mbit/s", 3),
    ("begun", "begun", 0),
    ("done", "done", 0),
    ("ms", "ms", 1),
    ("longest", "longest ms", 1),
    ("pages", "pages", 0),
    ("pages done", "pages done", 0),
    ("page ms", "page ms", 0),
]
APART = [("apart %", "apart %", 2)]
HEEDLESS = [("wire Mbit/s", "wire Mbit/s", 3), ("dropped %", "dropped %", 2)]
BULK = [
    ("Mbit/s", "bulk Mbit/s", 3),
    ("Jain index", "bulk Jain", 4),
    ("short term", "bulk Jain, short", 4),
    ("apart %", "bulk apart %", 2),
    ("packets/s", "packets/s", 1),
    ("least", "packets/s, least", 1),
    ("halts", "halts", 0),
    ("drops", "drops", 0),
]
# Where senders have groups, or some flows are sampled
GROUPS = [
    ("flows", "flows", 0),
    ("in progress", "in progress", 1),
    ("most", "in progress, most", 0),
    ("ms", "ms all", 1),
    ("<=20 ms", "ms <=20", 1),
    ("longest", "max ms <=20", 1),
    ("short", "flows short", 0),
    ("long", "flows long", 0),
    ("short ms", "ms short", 1),
    ("long ms", "ms long", 1),
]
BANDS = [("high, most", "high, most", 0), ("low, most", "low, most", 0)]
LAG = [
    *(
        (f"{size} kB {what}", f"{what} {size} {UNITS[what]}", 1)
        for size in CLASSES
        for what in UNITS
    ),
    ("pause", "pause ms", 0),
    ("% of allowed", "pause %", 0),
]
# Where bulk's flows have round trips of their own: Mbit/s on the wire, kB of the queue
EACH = re.compile(r"[AX]\d*|kB\d+|received / sent|one has the link %|turn s")
# What each table is of: what it shows
TABLES = {
    "flows": "Downloads: their number, mean response by packets, mean slowdown, what waiting adds "
    "to it (excess), and Jain's index of their throughput",
    "loss": "Loss of the downloads' packets, and how many downloads lose any",
    "groups": "Downloads by group: how many at a time, and their mean response",
    "bands": "The most packets in each band",
    "steady": "Streams: loss, delay of what arrives, jitter, and the time in which one is late",
    "beside": "Each download beside the same one under another policy",
    "apart": "How far apart from another policy what is beside it gets",
    "fetched": "Fetched: throughput, how many connections and pages have ended, and mean response",
    "heedless": "What senders that heed nothing put on the wire, and what of it is dropped",
    "bulk": "Downloads without an end: throughput, how even, and drops",
    "lag": "How far the worst flow was behind ideal fair queueing, by the kB that came of it: late "
    "in ms, behind and lost in kB",
    "each": "Each download without an end: what it sends (A) and what arrives (X), Mbit/s",
}
SHOWN = ("all", "<=8", "<=20", "21-100", ">100")  # of the demo


def table(rows: Rows, prefixes: list[str], columns: list[tuple[str, str, int]]) -> Iterator:
    """The rows of a table: a line for each case, qdisc and prefix of the metrics' names."""
    for (case, qdisc), values in seeds_of(rows).items():
        for prefix in prefixes:
            cells = []
            for _, name, digits in columns:
                mean, half = interval(values.get(prefix + name, [np.nan]))
                shown = "-" if np.isnan(mean) else f"{mean:.{digits}f}"
                cells.append(shown + ("" if np.isnan(half) else f" ±{half:.{digits}f}"))
            if any(cell != "-" for cell in cells):
                yield [f"{case} {qdisc} {prefix}".strip(), *cells]


def without_empty(lines: list[list[str]]) -> list[list[str]]:
    """Without the columns that tell nothing."""
    keep = [i for i in range(len(lines[0])) if any(line[i] != "-" for line in lines[1:])]
    return [[line[i] for i in keep] for line in lines]


def tables(rows: Rows, against: str | None = None) -> str:
    """All that the runs have measured. The mean of seeds has its 95 % confidence interval."""
    return "\n".join(format_rows(lines) for _, lines in every_table(rows, against))


def every_table(rows: Rows, against: str | None = None) -> list[tuple[str, list[list[str]]]]:
    """Each with what it is of, which is a name in TABLES."""
    known = dict.fromkeys(name for values in rows.values() for name in values)
    downloads = {key: values for key, values in rows.items() if "flows" in values}
    behind = {key: values for key, values in downloads.items() if key[1] != FLOOR}
    parts: list[tuple[str, list[list[str]]]] = []

    def add(what: str, some: Rows, prefixes: list[str], columns: Columns) -> None:
        head = ["", *(head for head, _, _ in columns)]
        parts.append((what, [head, *table(some, prefixes, columns)]))

    if downloads:
        add("flows", downloads, [""], FLOWS)
        if against:
            last = ratios(downloads, against)
            lines = [[*line, cell] for line, cell in zip(parts[-1][1], last, strict=True)]
            parts[-1] = ("flows", lines)
        add("loss", behind, [""], LOSS)
    groups = [name.removesuffix("in progress") for name in known if name.endswith("in progress")]
    if len(groups) > 1 or "flows short" in known:
        add("groups", behind, sorted(groups), GROUPS)
    if "high, most" in known:
        shares = [(name, name, 2) for name in known if name.startswith("high, >")]
        add("bands", rows, [""], [*BANDS, *shares])
    steady = sorted(name.removesuffix("p50 ms") for name in known if name.endswith(" p50 ms"))
    if steady:
        add("steady", rows, steady, STEADY)
    if {"faster %", "bytes apart %"} & known.keys():
        add("beside", behind if downloads else rows, [""], BESIDE)
    apart = [name.removesuffix("apart %") for name in known if name.endswith(" apart %")]
    apart = [name for name in apart if name not in ("bulk ", "bytes ")]
    if apart:
        add("apart", rows, apart, APART)
    for what, columns in (("fetched", FETCHED), ("heedless", HEEDLESS)):
        end = f" {columns[0][1]}"
        groups = [name.removesuffix(end) + " " for name in known if name.endswith(end)]
        groups = [name for name in groups if name != "bulk "]
        if columns is FETCHED:
            groups = [name for name in groups if not name.endswith(" wire ")]
        if groups:
            add(what, rows, groups, columns)
    if "bulk Mbit/s" in known:
        bulk = {key: values for key, values in rows.items() if "bulk Mbit/s" in values}
        add("bulk", bulk, [""], BULK)
        each = [(name, name, 2) for name in known if EACH.fullmatch(name)]
        if each:
            add("each", bulk, [""], each)
    if LAG[0][1] in known:
        add("lag", rows, [""], LAG)
    return [(what, without_empty(lines)) for what, lines in parts if len(lines) > 1]


def ratios(rows: Rows, against: str) -> Iterator[str]:
    """A column for the flows: the mean excess as a part of another qdisc's."""
    yield f"/ {against}"
    for of_qdiscs in means(rows).values():
        reference = of_qdiscs.get(against, {}).get("excess")
        for values in of_qdiscs.values():
            mine = values.get("excess")
            yield f"{mine / reference:.3f}" if reference and mine is not None else "-"


def compared(rows: Rows) -> Iterator[tuple[str, str, int]]:
    """Each case and metric of which less is better (1) or more is (-1)."""
    names: dict[str, dict[str, None]] = {}
    for (case, _, _), values in rows.items():
        names.setdefault(case, {}).update(dict.fromkeys(values))
    for case, of_case in names.items():
        for name in of_case:
            if INSTEAD.get(name) in of_case:
                continue
            if LESS.fullmatch(name) or MORE.fullmatch(name):
                yield case, name, 1 if LESS.fullmatch(name) else -1


def best(rows: Rows) -> dict[tuple[str, str], list[str]]:
    """By case and metric: the qdiscs with the best mean, but for those that are told the sizes."""
    found = means(rows)
    result = {}
    for case, metric, sign in compared(rows):
        values = {
            qdisc: sign * of[metric]
            for qdisc, of in found[case].items()
            if metric in of and qdisc not in (FLOOR, *ORACLE)
        }
        if values:
            least = min(values.values())
            result[case, metric] = [q for q, value in values.items() if value == least]
    return result


class Defeat(NamedTuple):
    """One of ours is worse than a peer; their means over the seeds that both have."""

    case: str
    metric: str
    ours: str
    peer: str
    mine: float
    theirs: float


def defeats(rows: Rows) -> list[Defeat]:
    """Where one of ours is worse than a peer by more than chance makes it.

    Seeds give both the same flows, so it is their difference for each seed of which the 95 %
    confidence interval has to be above 0. Of one seed any difference counts.
    """
    seeds = dict.fromkeys(seed for _, _, seed in rows)
    result = []
    for case, metric, sign in compared(rows):
        for ours, peer in ((a, b) for a in OURS for b in PEERS):
            both = [
                [rows.get((case, q, seed), {}).get(metric) for q in (ours, peer)] for seed in seeds
            ]
            pairs = np.array([pair for pair in both if None not in pair], float).reshape(-1, 2)
            # Delays are infinite if nothing arrived
            pairs = pairs[~np.isinf(pairs).all(axis=1)]
            if not len(pairs):
                continue
            more, half = interval(list(sign * (pairs[:, 0] - pairs[:, 1])))
            if more > (0 if np.isnan(half) else half):
                result.append(Defeat(case, metric, ours, peer, *map(float, pairs.mean(axis=0))))
    return result


def winners(rows: Rows) -> list[list[str]]:
    """A table: for each case and metric the best, and which of ours lose to which peers."""
    lost: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in defeats(rows):
        of = lost.setdefault((one.case, one.metric), {})
        of.setdefault(one.ours, []).append(one.peer)
    seeds = seeds_of(rows)
    result = [["case", "metric", "best", "its value", "of ours worse (than)"]]
    for (case, metric), names in best(rows).items():
        mean, half = interval(seeds[case, names[0]][metric])
        shown = f"{mean:.4g}" + ("" if np.isnan(half) else f" ±{half:.2g}")
        everybody = [q for c, q in seeds if c == case and q not in (FLOOR, *ORACLE)]
        worse = [f"{q} ({', '.join(peers)})" for q, peers in lost.get((case, metric), {}).items()]
        first = "all" if len(names) == len(everybody) > 1 else ", ".join(names)
        result.append([case, metric, first, shown, ", ".join(worse) or "-"])
    return result


def format_rows(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    return "\n".join(lines) + "\n"


def by_class(runs: list[Run], floor: Run, link: Link, against: str = "cake") -> str:
    """Response times by size class, then slowdown, excess, and losses; the floor comes last."""
    times = [["response, ms"], [""]]
    for label in SHOWN:
        times[0] += [label, ""]
        times[1] += ["mean", "p99"]
    rest = [["", "slowdown", "excess", f"/ {against}", "drops", "failed", "max <=8"]]
    reference = next((excess(r, floor, link) for r in runs if r.name == against), 0.0)
    for run in [*runs, floor]:
        cells = []
        for label in SHOWN:
            chosen = select(run, label)
            values = (chosen.mean(), np.percentile(chosen, 99)) if chosen.size else ()
            cells += [f"{v:.1f}" for v in values] or ["-", "-"]
        times.append([run.name, *cells])
        more = excess(run, floor, link)
        small = select(run, "<=8")
        rest.append(
            [
                run.name,
                f"{np.nanmean(slowdown(run, link)):.3f}",
                "-" if run is floor else f"{more:.3f}",
                "-" if run is floor or not reference else f"{more / reference:.3f}",
                str(run.drops),
                str(run.failed),
                f"{small.max():.1f}" if small.size else "-",
            ]
        )
    return format_rows(times) + "\n" + format_rows(rest)
