# SPDX-License-Identifier: GPL-2.0
"""How a number comes from flows: slowdown, excess, fairness, loss, and response by size."""

import numpy as np

from lab.measure.reading import CLASSES, DataError, Link, Run


def jain(rates: np.ndarray) -> float:
    """Jain's index of fairness: 1 if all are equal, 1/n if one has all."""
    return float(rates.sum() ** 2 / (rates.size * (rates**2).sum()))


def slowdown(run: Run, link: Link) -> np.ndarray:
    """Response time over what the size takes on the wire plus one round trip."""
    return run.response / (run.packets * link.mtu * 8 / link.rate * 1000 + link.rtt)


def excess(run: Run, floor: Run, link: Link) -> float:
    """What waiting adds to the mean slowdown, over the flows that ended in both runs."""
    if not np.array_equal(run.packets, floor.packets):
        raise DataError(f"{run.name} and {floor.name} have not had the same flows")
    return float(np.nanmean(slowdown(run, link) - slowdown(floor, link)))


def of_class(run: Run, size_class: str) -> np.ndarray:
    """Which flows are of a size class."""
    low, high = CLASSES[size_class]
    return (run.packets > low) & (run.packets <= high)


def select(run: Run, size_class: str) -> np.ndarray:
    """Response times of the finished flows of a size class."""
    return run.response[of_class(run, size_class) & ~np.isnan(run.response)]


def loss(run: Run, size_class: str) -> float:
    """The part of its packets that was dropped; NaN if it has sent none."""
    keep = of_class(run, size_class)
    sent = run.sent[keep].sum()
    return float(run.lost[keep].sum() / sent) if sent else np.nan


def fairness(run: Run, floor: Run, size_class: str) -> float:
    """Jain's index of what each flow has got of the throughput that it has alone.

    1 if waiting made all of them longer by the same factor. Only of flows that ended in both
    runs; NaN if there is none.
    """
    shares = (floor.response / run.response)[of_class(run, size_class)]
    shares = shares[~np.isnan(shares)]
    return jain(shares) if shares.size else np.nan


def binned(run: Run, per_decade: int = 6, least: int = 8) -> tuple[np.ndarray, ...]:
    """Per logarithmic bin of at least `least` flows: mean size, mean and p99 response, how many.

    Sizes are in whole packets here. Of less than 50 flows there is no 99th percentile to show.
    """
    done = ~np.isnan(run.response)
    packets, response = np.ceil(run.packets[done]), run.response[done]
    bins = np.floor(np.log10(packets) * per_decade)
    groups = [bins == b for b in np.unique(bins) if np.sum(bins == b) >= least]
    return (
        np.array([packets[g].mean() for g in groups]),
        np.array([response[g].mean() for g in groups]),
        np.array([np.percentile(response[g], 99) if g.sum() >= 50 else np.nan for g in groups]),
        np.array([g.sum() for g in groups]),
    )
