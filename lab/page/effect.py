# SPDX-License-Identifier: GPL-2.0
"""The first picture, and what it says in words: what somebody at home notices of eight downloads of
another host, of what comes in, and where the queue is before the link."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.measure.rows import Rows, means, seeds_of
from lab.page.experiment_pictures import intervals, point
from lab.page.looks import look
from lab.page.svg import new_figure, save

EFFECT = "effect"  # the picture's name
ALT = "How long a page takes, and what a call waits, while another host downloads"


@dataclass(frozen=True)
class Side:
    """What is shown of an experiment: by a line's name the qdisc, and its cases while nobody
    downloads and while another host does."""

    experiment: str
    title: str
    lines: Mapping[str, tuple[str, str, str]]


COMES = Side(
    "ingress",
    "what comes in, by a provider's link of 12 Mbit/s,\nshaped to 11 Mbit/s at home",
    {
        "not shaped": ("isp", "unshaped-alone", "unshaped-pages"),
        "fq_codel": ("fq_codel", "alone", "pages"),
        "cake": ("cake", "alone", "pages"),
        "las": ("las", "alone", "pages"),
        "sqf": ("sqf", "alone", "pages"),
    },
)
BEFORE_THE_LINK = Side(
    "evening",
    "where the queue is before the link, of 20 Mbit/s,\nas for what is sent",
    {name: (name, "alone", "downloads") for name in ("pfifo", "fq_codel", "cake", "las", "sqf")},
)
SIDES = (COMES, BEFORE_THE_LINK)
# By metric: what it says, and of how many of its units one is shown
NOTICED = {
    "web page ms": ("until a page is there, s", 1000),
    "call p99 ms": ("99 % of a call's packets wait no more than, ms", 1),
}


def complete(results: Mapping[str, Rows]) -> bool:
    """Whether all of it has been measured."""
    return all(
        {(case, qdisc) for qdisc, *cases in side.lines.values() for case in cases}
        <= {run[:2] for run in results.get(side.experiment, {})}
        for side in SIDES
    )


def pages(results: Mapping[str, Rows], side: Side) -> Iterator[tuple[str, str]]:
    """Of each line what a page takes, while nobody downloads and while another host does."""
    found = means(results[side.experiment])
    for qdisc, *cases in side.lines.values():
        alone, beside = (found[case][qdisc]["web page ms"] / 1000 for case in cases)
        yield f"{alone:.1f} s", f"{beside:.1f} s"


def sentences(results: Mapping[str, Rows]) -> str:
    (_, plain), (_, fq_codel), (_, cake), (nobody, las), (_, sqf) = pages(results, COMES)
    text = (
        f"While another host has eight downloads by a provider's link of 12 Mbit/s, a page takes "
        f"{plain}. Where what comes in is shaped to 11 Mbit/s it takes {fq_codel} under fq_codel, "
        f"{cake} under cake, {las} under `las` and {sqf} under `sqf`; {nobody} if nobody else is "
        "there. "
    )
    (_, plain), (_, fq_codel), (_, cake), (nobody, las), _ = pages(results, BEFORE_THE_LINK)
    return text + (
        f"Where the queue is before the link, of 20 Mbit/s, it takes {plain} behind a FIFO, "
        f"{fq_codel} under fq_codel, {cake} under cake and {las} under `las`; {nobody} if nobody "
        "else is there."
    )


def draw(results: Mapping[str, Rows], base: Path) -> None:
    """A field for each side and metric, a line for each qdisc; pale while nobody downloads."""
    longest = max(len(side.lines) for side in SIDES)
    height = len(NOTICED) * (0.7 + 0.33 * longest) + 0.5
    figure, grid = new_figure(11, height, len(NOTICED), len(SIDES))
    for column, side in zip(grid.T, SIDES, strict=True):
        seeds = seeds_of(results[side.experiment])
        for axis, (metric, (text, unit)) in zip(column, NOTICED.items(), strict=True):
            for i, (name, (qdisc, *cases)) in enumerate(side.lines.items()):
                mine = look(name, side.lines)
                for case, shade in zip(cases, (0.35, 1.0), strict=True):
                    mean, half = (x / unit for x in intervals([seeds[case, qdisc][metric]]))
                    point(axis, mean, [i], None, mine, xerr=half, alpha=shade, markersize=7)
                shown = f"{mean[0]:.{1 if mean[0] < 10 else 0}f}"
                axis.annotate(
                    shown, (mean[0], i), (0, 6), textcoords="offset points", ha="center",
                    fontsize=8,
                )  # fmt: skip
            axis.set_yticks(range(len(side.lines)), list(side.lines))
            axis.set_ylim(len(side.lines) - 0.4, -0.8)
            most = axis.dataLim.x1
            axis.set_xlim(-0.02 * most, 1.08 * most)
            axis.set_title(text, fontsize=9)
            axis.grid(alpha=0.3, axis="both")
            axis.set_axisbelow(True)
        first = column[0]
        first.set_title(f"{side.title}\n\n{first.get_title()}", fontsize=9)
    figure.suptitle(
        "Full: while another host has eight downloads. Pale: while nobody else is there.\n"
        "The bars are 95 % confidence intervals",
        fontsize=10,
    )
    save(figure, base, png=False)
