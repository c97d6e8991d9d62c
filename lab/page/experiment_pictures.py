# SPDX-License-Identifier: GPL-2.0
"""Pictures of an experiment: qdiscs side by side, as lines and points or, where there is much, in
fields; by an option; and response by size of flow.

Error bars are the 95 % confidence interval of the mean over seeds.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from lab.measure.formulas import binned
from lab.measure.reading import Run
from lab.measure.rows import Rows, interval, means, seeds_of
from lab.measure.tables import LESS
from lab.page.costs import REFERENCE
from lab.page.looks import Look, known_look, look
from lab.page.svg import logarithmic, new_figure, save
from lab.run.experiment import Experiment
from lab.run.keys import UNITS
from lab.run.qdiscs import FLOOR

Axes = Any  # matplotlib's, which is only imported when there is something to draw
Seeds = dict[tuple[str, str], dict[str, list[float]]]  # as seeds_of

# Of flows: metric, what it says at the axis
PANELS = {"excess": "excess slowdown", "ms <=8": "response up to 8 packets, ms"}
DELAYS = {"p50": 0.35, "p99": 0.65, "max": 1.0}  # and how dark
MOST_DELAYS = 4  # panels of steady flows; of more, and of groups of fetch, there are fields
# The metrics that have a panel of fields, and what it says
FIELDS = {
    r"(bulk|tcp|download|others) Mbit/s": "throughput of {}, Mbit/s",
    "excess": "excess slowdown",
    "slowdown": "slowdown of downloads",
    "ms <=8": "response up to 8 packets, ms",
    r"(shorts) done": "how many of {} have ended",
    r"(shorts) ms": "response of {} that have ended, ms",
    r"(web) page ms": "response of whole pages of {}, ms",
    r"(\w+) p99 ms": "delay of {}, 99th percentile, ms",
    r"(\w+) loss %": "loss of {}, %",
    r"(\w+) late %": "late or lost of {}, %",
}
FETCHED = r"(?!bulk )\w+ (Mbit/s|done|page ms)"
DEEPEST = 10  # times the reference, or percent more or less of all, beyond which a colour stays
OPTION = Look("black", "o")  # of an option's values, which are no qdiscs
AXES = {"rtt": "round trip, ms", "load": "load", "bit": "rate, Mbit/s"}  # else the name


def varied(cases: list[str]) -> tuple[str, list[float]] | None:
    """What is varied and its values, if each case is named after a number."""
    found = [re.fullmatch(r"(?:(\w+)-)?(\d+(?:\.\d+)?)(?:([kmg]?)(bit))?", c) for c in cases]
    if len(cases) < 2 or not all(found):
        return None
    parts = [each.groups(default="") for each in found if each]
    names = {bit or key for key, _, _, bit in parts}
    if len(names) > 1:
        return None
    name = names.pop()
    scale = 1e-6 if name == "bit" else 1
    return AXES.get(name, name), [float(x) * UNITS[unit] * scale for _, x, unit, _ in parts]


def intervals(seeds: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The means, and how far the ends of their intervals are: there is none of one seed."""
    mean, half = np.transpose([interval(each) for each in seeds])
    return mean, np.nan_to_num(half)


def lines(axis: Axes, seeds: Seeds, metric: str, cases: list[str], values: list[float]) -> None:
    """The metric against what is varied, a line for each qdisc."""
    qdiscs = list(dict.fromkeys(qdisc for _, qdisc in seeds))
    for qdisc in qdiscs:
        of = [seeds.get((case, qdisc), {}).get(metric, [np.nan]) for case in cases]
        mean, half = intervals(of)
        axis.errorbar(
            values, mean, half, capsize=2, elinewidth=0.6, markersize=4, label=qdisc,
            **look(qdisc, qdiscs).style,
        )  # fmt: skip
    if min(values) > 0 and max(values) >= 5 * min(values):
        axis.set_xscale("log")
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.set_xticks([], minor=True)


def dots(axis: Axes, seeds: Seeds, metric: str, cases: list[str]) -> None:
    """A group of points for each case, a point for each qdisc."""
    qdiscs = list(dict.fromkeys(qdisc for _, qdisc in seeds))
    for i, qdisc in enumerate(qdiscs):
        of = [seeds.get((case, qdisc), {}).get(metric, [np.nan]) for case in cases]
        mean, half = intervals(of)
        at = np.arange(len(cases)) + (i - (len(qdiscs) - 1) / 2) * 0.85 / len(qdiscs)
        point(axis, at, mean, half, look(qdisc, qdiscs), label=qdisc)
    # "ecn-true" below each other; one case needs no name
    shown = [case.replace("-", "\n") for case in cases] if len(cases) > 1 else [""]
    axis.set_xticks(range(len(cases)), shown)


def point(axis: Axes, x: Any, y: Any, half: Any, mine: Look, **more: Any) -> None:
    """Points, and how far their intervals reach."""
    style = mine.style | {"linestyle": "", "markersize": 5, "elinewidth": 0.8} | more
    axis.errorbar(x, y, half, **style)


def delays(axis: Axes, of: dict[str, dict[str, list[float]]], flow: str) -> None:
    """Percentiles of the delay of a steady flow, by qdisc."""
    for i, qdisc in enumerate(of):
        for j, (label, shade) in enumerate(DELAYS.items()):
            mean, half = intervals([of[qdisc][f"{flow} {label} ms"]])
            if np.isfinite(mean).all():  # else nothing arrived
                point(axis, [i + (j - 1) * 0.25], mean, half, look(qdisc, of), alpha=shade)
    axis.set_xticks(range(len(of)), list(of), rotation=45)


def comparable(axis: Axes) -> bool:
    """Points that can be seen beside each other: a logarithmic axis would distort them."""
    points = [line for line, *_ in axis.containers if line.get_linestyle() == "None"]
    heights = np.concatenate([line.get_ydata() for line in points] or [[]])
    heights = heights[np.isfinite(heights)]
    return heights.size > 0 and heights.max() < 20 * heights.min()


def shown_in_fields(known: set[str]) -> dict[str, str]:
    """The metrics, and what their panels say."""
    result = {}
    for pattern, text in FIELDS.items():
        for name in sorted(known):
            found = re.fullmatch(pattern, name)
            if found and not (name == "slowdown" and "excess" in known):
                result[name] = text.format(*found.groups())
    return result


def better(values: np.ndarray, reference: np.ndarray, metric: str) -> np.ndarray:
    """From -1, by far worse than the reference, to 1; what there is none of is the worst."""
    less = LESS.fullmatch(metric) is not None
    if metric.endswith("%"):
        score = (reference - values) / DEEPEST
    else:
        worst = np.inf if less else 0
        ends = (np.where(np.isfinite(each), each, worst) for each in (reference, values))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(*ends)
            score = (1 if less else -1) * np.log10(ratio) / np.log10(DEEPEST)
    return np.clip(np.nan_to_num(score, nan=0, posinf=1, neginf=-1), -1, 1)


def short_number(value: float) -> str:
    """Three digits, or all before the point."""
    return "none" if not np.isfinite(value) else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def fields(axis: Axes, seeds: Seeds, metric: str, cases: list[str], qdiscs: list[str]) -> None:
    """A line for each case, a column for each qdisc: the mean, coloured by how it compares."""
    of = [[seeds.get((case, q)) for q in qdiscs] for case in cases]
    measured = [any(values and metric in values for values in line) for line in of]
    means_of = [[np.mean((v or {}).get(metric, [np.nan])) for v in line] for line in of]
    values = np.array(means_of, float)
    first = qdiscs.index(REFERENCE) if REFERENCE in qdiscs else 0
    there = [
        [here and v is not None for v in line] for here, line in zip(measured, of, strict=True)
    ]
    score = np.ma.array(better(values, values[:, [first]], metric), mask=~np.array(there))
    # Not as far as the darkest, on which black could not be read
    axis.pcolormesh(score, cmap="RdBu", vmin=-1.7, vmax=1.7, edgecolors="white", linewidth=0.8)
    for i, j in zip(*np.nonzero(there), strict=True):
        axis.text(
            j + 0.5, i + 0.5, short_number(values[i, j]), ha="center", va="center", fontsize=6.5
        )
    axis.set_yticks(np.arange(len(cases)) + 0.5, cases, fontsize=7)
    axis.set_xticks(np.arange(len(qdiscs)) + 0.5, qdiscs, fontsize=7)
    axis.set_ylim(len(cases), 0)
    axis.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for side in axis.spines.values():
        side.set_visible(False)


def draw_fields(seeds: Seeds, panels: dict[str, str], title: str, base: Path, png: bool) -> None:
    cases = list(dict.fromkeys(case for case, _ in seeds))
    qdiscs = list(dict.fromkeys(qdisc for _, qdisc in seeds))
    lines = -(-len(panels) // 2)
    figure, grid = new_figure(11, lines * (0.8 + 0.2 * len(cases)) + 0.4, lines, 2)
    for i, axis in enumerate(grid.flat):
        axis.set_visible(i < len(panels))
    for i, (axis, (metric, text)) in enumerate(zip(grid.flat, panels.items(), strict=False)):
        fields(axis, seeds, metric, cases, qdiscs)
        axis.set_title(text, fontsize=9)
        if i % 2:
            axis.set_yticks([])
    first = REFERENCE if REFERENCE in qdiscs else qdiscs[0]
    figure.suptitle(f"{title}\nblue: better than {first}, red: worse", fontsize=11)
    save(figure, base, png)


def draw(rows: Rows, title: str, base: Path, png: bool = True) -> bool:
    """As `base`.svg and, unless told, `base`.png; False if there is nothing to show.

    Of downloads excess (or slowdown) and the response of the short ones: lines against the number
    that is varied, or else points. Of steady flows the delay. Of many of these, or where there are
    groups of fetch, fields.
    """
    seeds = seeds_of({key: values for key, values in rows.items() if key[1] != FLOOR})
    known = {name for values in seeds.values() for name in values}
    panels = {name: text for name, text in PANELS.items() if name in known}
    if "excess" not in known and "slowdown" in known:
        panels = {"slowdown": "slowdown", **panels}
    steady: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for (case, qdisc), values in seeds.items():
        for name in values:
            if name.endswith(" p50 ms"):
                steady.setdefault((case, name.removesuffix(" p50 ms")), {})[qdisc] = values
    inside = shown_in_fields(known)
    if len(steady) > MOST_DELAYS or any(re.fullmatch(FETCHED, name) for name in inside):
        draw_fields(seeds, inside, title, base, png)
        return True
    count = len(panels) + len(steady)
    if not count:
        return False
    figure, grid = new_figure(11, 3.6 * -(-count // 2), -(-count // 2), 2)
    axes = grid.flat
    cases = list(dict.fromkeys(case for case, _ in seeds))
    along = varied(cases)
    for axis, (metric, text) in zip(axes, panels.items(), strict=False):
        if along:
            lines(axis, seeds, metric, cases, along[1])
        else:
            dots(axis, seeds, metric, cases)
        axis.set(ylabel=text, xlabel=along[0] if along else "")
    if panels:
        beside = grid.flat[len(panels) - 1]
        beside.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    for axis, ((case, flow), of) in zip(axes[len(panels) :], steady.items(), strict=False):
        delays(axis, of, flow)
        shown = flow if len(cases) == 1 else f"{case}, {flow}"
        axis.set(ylabel="delay, ms", title=f"{shown}: median, 99th percentile, most")
    for axis in axes[:count]:
        if comparable(axis):
            axis.set_ylim(0)
        elif axis.dataLim.y1 > 0:
            logarithmic(axis, "y")
        axis.grid(alpha=0.3, which="major", axis="y")
        axis.set_axisbelow(True)
    for axis in axes[count:]:
        axis.set_visible(False)
    figure.suptitle(title)
    save(figure, base, png)
    return True


def by_option(rows: Rows, experiment: Experiment, base: Path, png: bool = True) -> bool:
    """A picture of the excess by the qdiscs that only one case has, where there are such."""
    own = {
        case: [name for name in settings["qdiscs"] if name not in experiment.common]
        for case, settings in experiment.cases.items()
    }
    own = {case: qdiscs for case, qdiscs in own.items() if len(qdiscs) > 1}
    if not own or not experiment.against:
        return False
    found = means(rows)
    figure, axes = new_figure(8, 2.2 * len(own), len(own))
    for axis, (case, qdiscs) in zip(np.atleast_1d(axes), own.items(), strict=True):
        reference = found[case][experiment.against]["excess"]
        parts = [found[case][q]["excess"] / reference for q in qdiscs]
        if not all(map(known_look, qdiscs)):
            axis.plot(qdiscs, parts, "-", color="black", linewidth=1)
        for qdisc, value in zip(qdiscs, parts, strict=True):
            mine = known_look(qdisc) or OPTION
            axis.plot([qdisc], [value], **mine.style | {"linestyle": ""})
        axis.set_ylim(0)
        axis.set_title(case, fontsize=8)
        axis.set_ylabel(f"excess / {experiment.against}'s", fontsize=8)
        axis.tick_params(labelsize=7)
    save(figure, base, png)
    return True


def draw_experiment(rows: Rows, experiment: Experiment, base: Path, png: bool = True) -> bool:
    """By its options, or else side by side; False if there is nothing to show."""
    return by_option(rows, experiment, base, png) or draw(rows, experiment.title, base, png)


def by_size(runs: list[Run], floor: Run, title: str, base: Path) -> None:
    """Response time against size, as `base`.svg and `base`.png; the same data, the same bytes."""
    figure, axes = new_figure(8, 5.5)
    names = [run.name for run in runs]
    for run in [*runs, floor]:
        size, mean, p99, _ = binned(run)
        mine = look(run.name, names)
        axes.plot(size, mean, **mine.style, markersize=4, label=run.name)
        axes.plot(size, p99, color=mine.colour, linewidth=0.6, alpha=0.7)
    axes.set(xlabel="flow size, packets", ylabel="response time, ms", title=title)
    for way in "xy":
        logarithmic(axes, way)
    axes.grid(alpha=0.3, which="major")
    axes.legend(title="mean; thin: 99th percentile", frameon=False)
    save(figure, base)
