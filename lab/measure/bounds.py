# SPDX-License-Identifier: GPL-2.0
"""What an experiment's file wants of its numbers, and whether they are so."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from lab.measure.rows import Means, Rows, means
from lab.run.experiment import Bound, Experiment, listed
from lab.run.keys import Settings


class Verdict(NamedTuple):
    what: str
    met: bool


def ratio(value: float, other: float) -> float:
    """Two that are 0 are as much as each other."""
    return value / other if other else math.inf if value else 1.0


def is_met(bound: Bound, value: float, part: float) -> bool:
    """`part` is the value as a part of the other's, or the value."""
    if bound.at_least is not None and part < bound.at_least:
        return bound.enough is not None and value >= bound.enough
    if bound.at_most is not None and part > bound.at_most:
        return bound.enough is not None and value <= bound.enough
    return True


def verdict(bound: Bound, found: Means, case: str, qdisc: str, metric: str) -> Verdict | None:
    """None if it cannot be told: what it is a part of has not run, or there is none of it."""
    value = part = found[case][qdisc][metric]
    than = ""
    if bound.of:
        other = {"case": case, "qdisc": qdisc, "metric": metric} | bound.of
        beside = [found.get(other["case"], {}).get(one, {}) for one in listed(other["qdisc"])]
        wholes = [of.get(other["metric"], math.nan) for of in beside]
        better = min if bound.at_least is None else max  # of those that there are
        whole = better((one for one in wholes if not math.isnan(one)), default=math.nan)
        part = ratio(value, whole)
        than = " of " + ", ".join(" or ".join(listed(other[key])) for key in bound.of) + "'s"
    if math.isnan(part):
        return None
    limits = [
        f"{word} {limit:g}{than}"
        for word, limit in (("at least", bound.at_least), ("at most", bound.at_most))
        if limit is not None
    ]
    if bound.enough is not None:
        limits.append(f"or {bound.enough:g}")
    what = f"{case}, {qdisc}: {metric} {', '.join(limits)} ({part:.4g})"
    return Verdict(what, is_met(bound, value, part))


def verdicts(experiment: Experiment, rows: Rows) -> Iterator[Verdict]:
    """Of all that has run, and of each group of senders. What no run has measured is not met."""
    found = means(rows)
    for bound in experiment.bounds:
        runs = [(case, q) for case, of in found.items() for q in of if bound.is_of(case, q)]
        for name in bound.metric if runs else ():
            named = [
                (case, qdisc, metric)
                for case, qdisc in runs
                for metric in with_groups(name, experiment.cases[case])
                if metric in found[case][qdisc]
            ]
            if not named:
                yield Verdict(f"{name} is not measured", False)
            for case, qdisc, metric in named:
                one = verdict(bound, found, case, qdisc, metric)
                if one:
                    yield one


def with_groups(metric: str, settings: Settings) -> list[str]:
    return [metric, *(f"{group} {metric}" for group in settings["network"].get("groups", {}))]
