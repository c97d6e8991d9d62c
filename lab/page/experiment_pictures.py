# SPDX-License-Identifier: GPL-2.0
"""Pictures of an experiment: qdiscs side by side, by an option, and response by size of flow.

Error bars are the 95 % confidence interval of the mean over seeds.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from lab.measure.formulas import binned
from lab.measure.reading import Run
from lab.measure.rows import Rows, interval, means, seeds_of
from lab.page.looks import look, pale
from lab.page.svg import new_figure, save
from lab.run.experiment import Experiment
from lab.run.keys import UNITS
from lab.run.qdiscs import FLOOR

Axes = Any  # matplotlib's, which is only imported when there is something to draw
Seeds = dict[tuple[str, str], dict[str, list[float]]]  # as seeds_of

# Of flows: metric, what it says at the axis
PANELS = {"excess": "excess slowdown", "ms <=8": "response up to 8 packets, ms"}
DELAYS = {"p50": 0.35, "p99": 0.65, "max": 1.0}  # and how dark
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


def bars(axis: Axes, seeds: Seeds, metric: str, cases: list[str]) -> None:
    """A group of bars for each case, a bar for each qdisc: ours are solid, others pale."""
    from matplotlib.colors import to_rgba

    qdiscs = list(dict.fromkeys(qdisc for _, qdisc in seeds))
    width = 0.85 / len(qdiscs)
    for i, qdisc in enumerate(qdiscs):
        of = [seeds.get((case, qdisc), {}).get(metric, [np.nan]) for case in cases]
        mean, half = intervals(of)
        colour = look(qdisc, qdiscs).colour
        face = to_rgba(colour, 0.25) if pale(qdisc) else colour
        at = np.arange(len(cases)) + (i - (len(qdiscs) - 1) / 2) * width
        axis.bar(
            at,
            mean,
            0.85 * width,
            yerr=half,
            label=qdisc,
            error_kw={"lw": 0.6},
            facecolor=face,
            edgecolor=colour,
        )
    # "ecn-true" below each other; one case needs no name
    shown = [case.replace("-", "\n") for case in cases] if len(cases) > 1 else [""]
    axis.set_xticks(range(len(cases)), shown)


def delays(axis: Axes, of: dict[str, dict[str, list[float]]], flow: str) -> None:
    """Percentiles of the delay of a steady flow, by qdisc."""
    for i, (label, shade) in enumerate(DELAYS.items()):
        mean, half = intervals([values[f"{flow} {label} ms"] for values in of.values()])
        mean[~np.isfinite(mean)] = np.nan
        at = np.arange(len(of)) + (i - 1) * 0.27
        colour = [look(q, of).colour for q in of]
        axis.bar(
            at, mean, 0.25, yerr=half, color=colour, alpha=shade, error_kw={"lw": 0.6}, label=label
        )
    axis.set_xticks(range(len(of)), list(of), rotation=45)


def logarithmic(axis: Axes) -> None:
    """With numbers that can be read, however short it is."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=30))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def comparable(axis: Axes) -> bool:
    """Bars that can be seen beside each other: a logarithmic axis would distort them."""
    heights = [bar.get_height() for bar in axis.patches]
    return bool(heights) and np.nanmax(heights) < 20 * np.nanmin(heights)


def draw(rows: Rows, title: str, base: Path, png: bool = True) -> bool:
    """As `base`.svg and, unless told, `base`.png; False if there is nothing to show.

    Of downloads excess (or slowdown) and the response of the short ones: lines against the number
    that is varied, or else bars. Of steady flows the delay.
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
            bars(axis, seeds, metric, cases)
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
            logarithmic(axis)
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
        axis.plot(
            qdiscs, [found[case][q]["excess"] / reference for q in qdiscs], "o-", color="black"
        )
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
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="flow size, packets",
        ylabel="response time, ms",
        title=title,
    )
    axes.grid(alpha=0.3, which="major")
    axes.legend(title="mean; thin: 99th percentile", frameon=False)
    save(figure, base)
