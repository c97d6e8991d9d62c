# SPDX-License-Identifier: GPL-2.0
"""Numbers of runs: by case, qdisc and seed, kept as CSVs, and their means.

A metric whose name has an @ is a point of a curve, what comes after it is where. Those have a CSV
of their own, a line for each point.
"""

import csv
import io
from collections.abc import Iterable

import numpy as np

Metrics = dict[str, float]
Rows = dict[tuple[str, str, int], Metrics]  # by case, qdisc (or floor) and seed
Means = dict[str, dict[str, Metrics]]  # by case and qdisc, over the seeds

KEYS = ("case", "qdisc", "seed")
AT = "@"
SIZES = ("<=8", "21-100", ">100")  # of reading.CLASSES: those that are compared
LOSSY = 40  # packets: las-rai2004, section 5.2, tells of flows that lose some by this size


def to_csv(rows: Rows) -> str:
    """A line for each run, without curves; what a run has not is empty.

    Names are in the order in which runs have a number of them, as when they are read again.
    """
    cells_of = (cell for values in rows.values() for cell in values.items())
    names = list(dict.fromkeys(n for n, y in cells_of if AT not in n and not np.isnan(y)))
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
