# SPDX-License-Identifier: GPL-2.0
"""Pictures of many comparisons at once: by criterion, and what a packet costs by case."""

from pathlib import Path
from typing import Any

from lab.measure.rows import Rows, means
from lab.page.advice import CRITERIA, by_peers, overall
from lab.page.costs import MEASURED, REFERENCE, read_costs
from lab.page.looks import look
from lab.page.svg import logarithmic, new_figure, save
from lab.run.qdiscs import OURS

BESIDE = ("pfifo", "cake", "fq")  # of the peers, in the picture of all criteria


def draw_rows(axis: Any, names: list[str], of: dict[str, list[float | None]]) -> None:
    """A line for each name, in it a point for each qdisc, on a logarithmic axis."""
    for qdisc, values in of.items():
        some = [(x, i) for i, x in enumerate(values) if x]
        if some:
            style = look(qdisc, of).style | {"linestyle": "", "markersize": 6}
            axis.plot(*zip(*some, strict=True), **style, label=qdisc)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    logarithmic(axis, "x")
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))


def draw_advice(chosen: dict[str, Rows], base: Path) -> bool:
    """How many times better than the reference, by criterion; False if there is none."""
    panels = []
    for some in by_peers(chosen):
        every = [means(rows) for rows in some.values()]
        found = {each: overall(every, each) for each in CRITERIA if each.part}
        found = {each: one for each, one in found.items() if one.told}
        names = [q for q in (*BESIDE, *OURS) if any(q in one.of for one in found.values())]
        of = {
            q: [(one.of.get(q) or 0) ** -each.sign if one.of.get(q) else None
                for each, one in found.items()]
            for q in names
        }  # fmt: skip
        if found and names:
            panels.append((", ".join(some), [each.title.split(":")[0] for each in found], of))
    if not panels:
        return False
    height = 0.6 + sum(0.7 + 0.24 * len(names) for _, names, _ in panels)
    figure, axes = new_figure(9, height, len(panels), 1)
    for axis, (title, names, of) in zip(getattr(axes, "flat", [axes]), panels, strict=True):
        draw_rows(axis, names, of)
        axis.axvline(1, color="black", linewidth=0.6)
        axis.set_title(title, fontsize=9)
    figure.suptitle(f"How many times better than {REFERENCE}: right of the line is better")
    save(figure, base, png=False)
    return True


def draw_costs(base: Path) -> None:
    """Instructions for a packet, by case."""
    costs = read_costs()
    cases = list(dict.fromkeys(case for case, _ in costs))
    of = {shown: [costs[case, name].both for case in cases] for name, shown in MEASURED.items()}
    figure, axis = new_figure(9, 0.8 + 0.24 * len(cases))
    draw_rows(axis, cases, of)
    axis.set_xlabel("instructions for a packet, in and out")
    save(figure, base, png=False)
