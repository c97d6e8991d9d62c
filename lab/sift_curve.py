# SPDX-License-Identifier: GPL-2.0
"""The demo's downloads (D1) under sift: how the slowdown goes by its options.

    probability   of a packet's bytes, with what the defaults are else
    packets       the same without regard to their size
    samples       as many packets on average up to the last sample: T times the probability
    slow          what a flow has to be faster than to be sent low; 0 is the article's
    buffer        what may wait in both bands together
    low           what may wait in the low band, and no other bound
    article       probabilities of a packet, with slow 0 and 500 ms of buffer
    default       sift as it is, and las

Excess is what waiting adds to the slowdown of the flows each alone on the link, and is given as a
part of cake's. Every case has cake and that floor with it, and fq_codel.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from analysis import COLOURS, Link, Run, excess, format_rows, new_figure, parse_run, save
from demo import FLOOR, downloads
from runner import Job

QDISCS = {"fq_codel": "fq_codel", "cake": "cake besteffort flows"}
PROBABILITIES = (0.03, 0.1, 0.2, 0.3, 0.5, 1)
CASES = {
    "probability": [f"probability {p}" for p in PROBABILITIES],
    "packets": [f"probability {p} packets" for p in PROBABILITIES],
    "samples": [f"probability {round(0.3 * t, 1)} samples {t}" for t in (1, 2, 3)],
    "slow": [f"slow {rate}" for rate in ("0", "72kbit", "144kbit", "288kbit", "576kbit")],
    "buffer": [f"buffer {ms}ms" for ms in (15, 30, 60, 125, 250, 500)],
    "low": [f"low {packets} buffer 0" for packets in (25, 50, 100, 200)],
    "article": [f"probability {p} packets slow 0 buffer 500ms" for p in PROBABILITIES],
    "default": [""],
}
LINK = Link()
LOAD, DURATION = 0.9, 150


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    return downloads(qdiscs | dict(points(cases)), LINK, LOAD, DURATION, seed)


def points(cases: list[str]) -> Iterator[tuple[str, str]]:
    for case in cases:
        for i, words in enumerate(CASES[case]):
            yield f"{case}-{i}", f"sift {words}".strip()
    if "default" in cases:
        yield "las", "las"


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    runs = {name: parse_run(name, text) for name, text in data.items()}
    floor = runs[FLOOR]
    chosen = dict(qdiscs) | dict(points(cases))
    waiting = {name: excess(runs[name], floor, LINK) for name in chosen}
    rows = [["", "excess", "/ cake", "<=8 ms", "/ cake", "21-100", ">100", "records", "drops"]]
    for name, words in chosen.items():
        run = runs[name]
        peak = run.statistic("sift", "records_peak")
        short = [mean(each, 0, 8) for each in (run, runs["cake"])]
        rows.append(
            [words, f"{waiting[name]:.3f}", f"{waiting[name] / waiting['cake']:.3f}"]
            + [f"{short[0]:.1f}", f"{short[0] / short[1]:.3f}"]
            + [f"{mean(run, 20, 100):.0f}", f"{mean(run, 100, np.inf):.0f}"]
            + ["-" if peak is None else str(peak), str(run.drops)]
        )
    text = format_rows(rows) + "\n"
    if len(cases) > 1 or len(CASES[cases[0]]) > 1:
        picture(waiting, cases, where / "curve")
        text += f"picture: {where / 'curve.svg'}\n"
    return text, True


def mean(run: Run, least: float, most: float) -> float:
    return float(np.nanmean(run.response[(run.packets > least) & (run.packets <= most)]))


def picture(waiting: dict[str, float], cases: list[str], path: Path) -> None:
    cases = [case for case in cases if len(CASES[case]) > 1]
    figure, axes = new_figure(8, 2.2 * len(cases), len(cases))
    for axis, case in zip(np.atleast_1d(axes), cases, strict=True):
        words = CASES[case]
        values = [waiting[f"{case}-{i}"] / waiting["cake"] for i in range(len(words))]
        axis.plot(words, values, "o-", color=COLOURS[3])
        axis.set_ylim(0)
        axis.set_ylabel("excess / cake's", fontsize=8)
        axis.tick_params(labelsize=7)
    save(figure, path)
