# SPDX-License-Identifier: GPL-2.0
"""What an experiment has given: numbers of each run, as CSVs, and the tables.

A metric whose name has an @ is a point of a curve, what comes after it is where. Those have a CSV
of their own, a line for each point.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lab.commands.demo import FLOOR
from lab.measure.reading import (
    HEADER,
    PAYLOAD,
    DataError,
    Run,
    binned,
    excess,
    fairness,
    format_rows,
    jain,
    loss,
    parse_run,
    select,
    slowdown,
    split_bulk,
    split_steady,
)
from lab.run.experiment import Experiment, Settings, link

Metrics = dict[str, float]
Rows = dict[tuple[str, str, int], Metrics]  # by case, qdisc (or floor) and seed
Means = dict[str, dict[str, Metrics]]  # by case and qdisc, over the seeds

KEYS = ("case", "qdisc", "seed")
AT = "@"
CDF = np.linspace(0.02, 1, 50)
# By the names that experiments give them
OURS = ("las", "sqf", "sift", "run2c")
PEERS = ("pfifo", "fq_codel", "cake", "cake-rate", "fq", "sfq", "hhf")
ORACLE = ("srpt",)  # is told the sizes
SIZES = ("<=8", "21-100", ">100")  # of analysis.CLASSES
LOSSY = 40  # packets: las-rai2004, section 5.2, tells of flows that lose some by this size
NO_FLOWS = f"{HEADER}\n#end flows 0 failed 0\n"
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
STEADY = [
    ("packets", "packets", 0),
    ("loss %", "loss %", 2),
    ("p50 ms", "p50 ms", 2),
    ("p99", "p99 ms", 2),
    ("max", "max ms", 2),
    ("jitter", "jitter ms", 3),
]
# Of which metrics less is better, and of which more; others are not compared
LESS = re.compile(
    r"ms (<=8|21-100|>100)|excess|failed|loss %( \S+)?|\w+ (loss %|(p50|p99|max|jitter) ms)"
)
MORE = re.compile(r"kbit/s >100|Jain( >100)?|bulk (Mbit/s|Jain)")
BULK = [("Mbit/s", "bulk Mbit/s", 3), ("Jain index", "bulk Jain", 4), ("drops", "drops", 0)]


def parse(name: str, settings: Settings, data: str, floor: bool) -> tuple[Run, Metrics]:
    """The flows of a run, and what is to be told of all else."""
    values: Metrics = {}
    steady, rest = split_steady(name, data)
    if set(steady) != (set() if floor else set(settings.get("steady", {}))):
        raise DataError(f"{name}: not the flows that were to be measured")
    for flow, one in steady.items():
        values |= {f"{flow} packets": one.delay.size, f"{flow} loss %": 100 * one.loss}
        for label, q in (("p50", 50), ("p99", 99), ("max", 100)):
            values[f"{flow} {label} ms"] = one.percentile(q)
        values[f"{flow} jitter ms"] = one.jitter
    if settings.get("bulk") and not floor:
        rates, _, rest = split_bulk(name, rest)
        each = rates.mean(axis=0)
        values["bulk Mbit/s"] = each.sum() / 1e6
        if each.size > 1:
            values["bulk Jain"] = jain(each)
    run = parse_run(name, rest if settings.get("flows") else NO_FLOWS + rest)
    peaks = [q["records_peak"] for q in run.qdiscs if "records_peak" in q]
    return run, values | {"drops": run.drops} | ({"records": peaks[0]} if peaks else {})


def of_flows(run: Run, settings: Settings, floor: Run | None) -> Metrics:
    ends = link(settings, run.ports[:, 0])
    values: Metrics = {"flows": len(run.status), "failed": run.failed}
    for size in SIZES:
        times = select(run, size)
        values[f"ms {size}"] = times.mean() if times.size else np.nan
    long = (run.packets > 100) & ~np.isnan(run.response)
    rates = run.packets[long] * PAYLOAD * 8 / run.response[long]  # kbit/s
    values["kbit/s >100"] = rates.mean() if rates.size else np.nan
    ratios = slowdown(run, ends)
    values["slowdown"] = np.nan if np.isnan(ratios).all() else np.nanmean(ratios)
    for size in ("all", *SIZES):
        values[f"loss % {size}".removesuffix(" all")] = 100 * loss(run, size)
    values["flows with loss"] = np.sum(run.lost > 0)
    values[f"flows with loss <={LOSSY}"] = np.sum((run.lost > 0) & (run.packets <= LOSSY))
    if floor and floor is not run:
        values["excess"] = excess(run, floor, ends)
        values["Jain"] = fairness(run, floor, "all")
        values["Jain >100"] = fairness(run, floor, ">100")
    size, mean, _, number = binned(run)
    values |= points("ms", size, mean) | points("flows", size, number)
    if (run.lost > 0).any():
        values |= points("CDF", np.quantile(run.packets[run.lost > 0], CDF), CDF)
    return values


def measure(experiment: Experiment, data: dict[str, str]) -> Rows:
    """The numbers of every run; `data` is what each job has written."""
    result: Rows = {}
    floors: dict[tuple[str, int], Run] = {}  # each is the first of its case and seed
    for (case, qdisc, seed), job in experiment.runs.items():
        settings, alone = experiment.cases[case], qdisc == FLOOR
        run, values = parse(job.name, settings, data[job.name], alone)
        if alone:
            floors[case, seed] = run
        if settings.get("flows"):
            values |= of_flows(run, settings, floors.get((case, seed)))
        result[case, qdisc, seed] = values
    return result


def to_csv(rows: Rows) -> str:
    """A line for each run, without curves; what a run has not is empty."""
    names = dict.fromkeys(n for values in rows.values() for n in values if AT not in n)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*KEYS, *names])
    for key, values in rows.items():
        cells = [values.get(name, np.nan) for name in names]
        writer.writerow([*key, *("" if np.isnan(cell) else f"{cell:.7g}" for cell in cells)])
    return out.getvalue()


def from_csv(text: str) -> Rows:
    lines = csv.reader(io.StringIO(text))
    names = next(lines)[len(KEYS) :]
    result: Rows = {}
    for case, qdisc, seed, *cells in lines:
        pairs = zip(names, cells, strict=True)
        result[case, qdisc, int(seed)] = {name: float(cell) for name, cell in pairs if cell}
    return result


def curves_to_csv(rows: Rows) -> str:
    """A line for each point of a curve."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*KEYS, "curve", "x", "y"])
    for key, values in rows.items():
        for name, value in values.items():
            if AT in name and not np.isnan(value):
                writer.writerow([*key, *name.rsplit(AT, 1), f"{value:.5g}"])
    return out.getvalue()


def add_curves(rows: Rows, text: str) -> None:
    """Those of such a CSV."""
    lines = csv.reader(io.StringIO(text))
    next(lines)
    for case, qdisc, seed, name, x, y in lines:
        rows.setdefault((case, qdisc, int(seed)), {})[f"{name}{AT}{x}"] = float(y)


def points(name: str, x: Iterable[float], y: Iterable[float]) -> Metrics:
    """A curve as metrics."""
    return {f"{name}{AT}{a:.6g}": float(b) for a, b in zip(x, y, strict=True)}


def interval(values: list[float]) -> tuple[float, float]:
    """The mean and how far the ends of its 95 % confidence interval are; NaN if of one value."""
    from scipy.special import stdtrit

    number = len(values)
    if number < 2 or not np.isfinite(values).all():
        return float(np.mean(values)), np.nan
    deviation = np.std(values, ddof=1) / np.sqrt(number)
    return float(np.mean(values)), float(stdtrit(number - 1, 0.975) * deviation)


def seeds_of(rows: Rows) -> dict[tuple[str, str], dict[str, list[float]]]:
    """By case and qdisc: of each metric the values of the seeds."""
    result: dict[tuple[str, str], dict[str, list[float]]] = {}
    for (case, qdisc, _), values in rows.items():
        for name, value in values.items():
            result.setdefault((case, qdisc), {}).setdefault(name, []).append(value)
    return result


def means(rows: Rows) -> Means:
    result: Means = {}
    for (case, qdisc), values in seeds_of(rows).items():
        mean = {name: float(np.mean(each)) for name, each in values.items()}
        result.setdefault(case, {})[qdisc] = mean
    return result


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
    known = {name for values in rows.values() for name in values}
    parts = []
    if "flows" in known:
        some = {key: values for key, values in rows.items() if "flows" in values}
        lines = [["", *(head for head, _, _ in FLOWS)], *table(some, [""], FLOWS)]
        if against:
            last = ratios(some, against)
            lines = [[*line, cell] for line, cell in zip(lines, last, strict=True)]
        parts.append(lines)
        some = {key: values for key, values in some.items() if key[1] != FLOOR}
        parts.append([["", *(head for head, _, _ in LOSS)], *table(some, [""], LOSS)])
    flows = sorted(name.removesuffix(" packets") for name in known if name.endswith(" packets"))
    if flows:
        prefixes = [f"{flow} " for flow in flows]
        parts.append([["", *(head for head, _, _ in STEADY)], *table(rows, prefixes, STEADY)])
    if "bulk Mbit/s" in known:
        some = {key: values for key, values in rows.items() if "bulk Mbit/s" in values}
        parts.append([["", *(head for head, _, _ in BULK)], *table(some, [""], BULK)])
    return "\n".join(format_rows(without_empty(part)) for part in parts)


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
