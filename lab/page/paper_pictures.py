# SPDX-License-Identifier: GPL-2.0
"""The picture of a paper's figure, from its panels."""

import math
from pathlib import Path
from typing import Any

from lab.page.looks import look
from lab.page.svg import logarithmic, new_figure, save
from lab.papers.vocabulary import At, Item, Line, Panel, Results, value_of

FEW = 60  # points: more of them have no marks


def points_of(line: Line, results: Results) -> list[tuple[float, float]]:
    if isinstance(line.points, At):
        return line.points.curve(results)
    found = [(x, value_of(at, results)) for x, at in line.points]
    return [(x, y) for x, y in found if y is not None]


def draw(axis: Any, panel: Panel, results: Results) -> None:
    measured = [line.label for line in panel.lines if not line.model]
    names = measured or [line.label for line in panel.lines]
    for i, line in enumerate(panel.lines):
        points = points_of(line, results)
        if not points:
            continue
        if line.model and measured:
            of = line.label.removeprefix("model, ")
            colour = look(of, names).colour if of in measured else "black"
            style = {"linestyle": ("--", ":", "-.")[i % 3], "color": colour}
        else:
            style = look(line.label, names).style | {"markersize": 3}
            if panel.dots:
                style |= {"linestyle": "", "marker": ".", "markersize": 4}
            elif line.model or len(points) > FEW or "time" in panel.x:
                style["marker"] = ""
        axis.plot(*zip(*points, strict=True), **(style | {"linewidth": 1}), label=line.label)
    for i, (name, x, y) in enumerate(panel.paper):
        axis.plot(x, y, "x+*"[i % 3], color="black", label=f"paper, {name}", markersize=8)
    for i, (name, y) in enumerate(panel.levels):
        axis.axhline(
            y, color="black", linestyle=(":", "-.")[i % 2], linewidth=0.8, label=f"paper, {name}"
        )
    for way in panel.log:
        logarithmic(axis, way, "symlog" if "flows" in panel.y else "log")
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x, fontsize=8)
    axis.set_ylabel(panel.y, fontsize=8)
    axis.tick_params(which="both", labelsize=7)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        # Lines over time leave no room
        wide = len(panel.lines) > 8 or "time" in panel.x
        beside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if wide else {}
        axis.legend(fontsize=6, frameon=False, **beside)


def picture(item: Item, results: Results, where: Path) -> None:
    columns = min(item.columns, len(item.panels))
    rows = math.ceil(len(item.panels) / columns)
    figure, axes = new_figure(4.6 * columns, 3.4 * rows, rows, columns)
    every = list(axes.flat) if len(item.panels) > 1 else [axes]
    for axis, panel in zip(every, item.panels, strict=False):
        draw(axis, panel, results)
    for axis in every[len(item.panels) :]:
        axis.axis("off")
    save(figure, where / item.key, png=False)
