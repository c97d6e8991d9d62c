# SPDX-License-Identifier: GPL-2.0
"""What experiments of files are to reach, by the name that a file gives as `goals`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from lab.measure.numbers import Means
from lab.measure.reading import COLOURS, new_figure, save
from lab.run.experiment import Experiment

Goals = list[tuple[str, bool]]


def old_flows(means: Means, experiment: Experiment) -> Goals:
    """Old flows that are slow: what las may do to them, beside fq_codel."""
    result = []
    for case, settings in experiment.cases.items():
        of = means[case]
        for flow in settings["steady"] if {"las", "fq_codel"} <= of.keys() else ():
            loss, p99 = of["las"][f"{flow} loss %"], of["las"][f"{flow} p99 ms"]
            goal, reached = met(flow, loss, p99, of["fq_codel"][f"{flow} p99 ms"])
            result.append((f"las, {flow}: {goal}", reached))
    return result


def met(flow: str, loss: float, p99: float, reference: float) -> tuple[str, bool]:
    """The goal of las for this flow: loss in percent; `reference` is fq_codel's percentile."""
    if flow == "vpn":
        bound = max(20.0, 2 * reference)
        return f"loss <= 0.1 %, p99 <= {bound:.1f} ms", loss <= 0.1 and p99 <= bound
    bound = 20.0 if flow == "turned" else 3.0
    return f"no loss, p99 <= {bound:g} ms", loss == 0 and p99 <= bound


def bulk(means: Means, experiment: Experiment) -> Goals:
    """Neither throughput nor fairness is the price of las."""
    result = []
    for case, of in means.items():
        if "las" not in of:
            continue
        fair = of["las"].get("bulk Jain")
        if fair is not None:
            result.append((f"las, {case}: Jain index >= 0.95", fair >= 0.95))
        elif "fq_codel" in of:
            ratio = of["las"]["bulk Mbit/s"] / of["fq_codel"]["bulk Mbit/s"]
            result.append((f"las, {case}: goodput >= 0.97 of fq_codel's", ratio >= 0.97))
    return result


def run2c_curve(means: Means, experiment: Experiment) -> Goals:
    of = means.get("default", {})
    if not {"run2c", "cake"} <= of.keys():
        return []
    reached = of["run2c"]["excess"] <= 0.5 * of["cake"]["excess"]
    return [("run2c: excess at most 0.5 of cake's", reached)]


GOALS: dict[str, Callable[[Means, Experiment], Goals]] = {
    "old-flows": old_flows,
    "bulk": bulk,
    "run2c-curve": run2c_curve,
}


def curves(means: Means, experiment: Experiment, path: Path, png: bool = True) -> bool:
    """A picture of the excess by the qdiscs that only one case has, where there are such."""
    own = {
        case: [name for name in settings["qdiscs"] if name not in experiment.common]
        for case, settings in experiment.cases.items()
    }
    own = {case: qdiscs for case, qdiscs in own.items() if len(qdiscs) > 1}
    if not own or not experiment.against:
        return False
    figure, axes = new_figure(8, 2.2 * len(own), len(own))
    for axis, (case, qdiscs) in zip(np.atleast_1d(axes), own.items(), strict=True):
        reference = means[case][experiment.against]["excess"]
        axis.plot(qdiscs, [means[case][q]["excess"] / reference for q in qdiscs], "o-")
        axis.lines[0].set_color(COLOURS[3])
        axis.set_ylim(0)
        axis.set_title(case, fontsize=8)
        axis.set_ylabel(f"excess / {experiment.against}'s", fontsize=8)
        axis.tick_params(labelsize=7)
    save(figure, path, png)
    return True
