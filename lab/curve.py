# SPDX-License-Identifier: GPL-2.0
"""The demo's downloads (D1) under a qdisc: how the slowdown goes by its options.

Excess is what waiting adds to the slowdown of the flows each alone on the link, and is given as a
part of cake's. Every case has cake and that floor with it, and fq_codel; the case "default", which
is the qdisc as it is, also las.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from analysis import COLOURS, Link, Run, excess, format_rows, new_figure, parse_run, save
from demo import FLOOR, downloads
from runner import Job

LINK = Link()
LOAD, DURATION = 0.9, 150


@dataclass(frozen=True)
class Curve:
    """Of one kind, by the names that experiment.py wants of a module."""

    kind: str
    CASES: dict[str, list[str]]  # the options of each point
    most: float | None = None  # the goal: its excess by default, as a part of cake's

    QDISCS = {"fq_codel": "fq_codel", "cake": "cake besteffort flows"}

    def jobs(self, qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
        return downloads(qdiscs | dict(self.points(cases)), LINK, LOAD, DURATION, seed)

    def points(self, cases: list[str]) -> Iterator[tuple[str, str]]:
        for case in cases:
            for i, words in enumerate(self.CASES[case]):
                yield f"{case}-{i}", f"{self.kind} {words}".strip()
        if "default" in cases:
            yield "las", "las"

    def report(
        self, data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
    ) -> tuple[str, bool]:
        runs = {name: parse_run(name, text) for name, text in data.items()}
        floor = runs[FLOOR]
        chosen = dict(qdiscs) | dict(self.points(cases))
        waiting = {name: excess(runs[name], floor, LINK) for name in chosen}
        rows = [["", "excess", "/ cake", "<=8 ms", "/ cake", "21-100", ">100", "records", "drops"]]
        for name, words in chosen.items():
            run = runs[name]
            peak = run.statistic(self.kind, "records_peak")
            short = [mean(each, 0, 8) for each in (run, runs["cake"])]
            rows.append(
                [words, f"{waiting[name]:.3f}", f"{waiting[name] / waiting['cake']:.3f}"]
                + [f"{short[0]:.1f}", f"{short[0] / short[1]:.3f}"]
                + [f"{mean(run, 20, 100):.0f}", f"{mean(run, 100, np.inf):.0f}"]
                + ["-" if peak is None else str(peak), str(run.drops)]
            )
        text = format_rows(rows) + "\n"
        ok = True
        if self.most and "default" in cases:
            ok = waiting["default-0"] <= self.most * waiting["cake"]
            text += f"{self.kind}: excess at most {self.most:g} of cake's: "
            text += f"{'met' if ok else 'NOT MET'}\n"
        if any(len(self.CASES[case]) > 1 for case in cases):
            self.picture(waiting, cases, where / "curve")
            text += f"picture: {where / 'curve.svg'}\n"
        return text, ok

    def picture(self, waiting: dict[str, float], cases: list[str], path: Path) -> None:
        cases = [case for case in cases if len(self.CASES[case]) > 1]
        figure, axes = new_figure(8, 2.2 * len(cases), len(cases))
        for axis, case in zip(np.atleast_1d(axes), cases, strict=True):
            words = self.CASES[case]
            values = [waiting[f"{case}-{i}"] / waiting["cake"] for i in range(len(words))]
            axis.plot(words, values, "o-", color=COLOURS[3])
            axis.set_ylim(0)
            axis.set_ylabel("excess / cake's", fontsize=8)
            axis.tick_params(labelsize=7)
        save(figure, path)


def mean(run: Run, least: float, most: float) -> float:
    return float(np.nanmean(run.response[(run.packets > least) & (run.packets <= most)]))
