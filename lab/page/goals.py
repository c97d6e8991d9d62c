# SPDX-License-Identifier: GPL-2.0
"""What experiments of files are to reach, by the name that a file gives as `goals`."""

from collections.abc import Callable

from lab.measure.numbers import Means
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
