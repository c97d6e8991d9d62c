# SPDX-License-Identifier: GPL-2.0
"""A run beside another one with the same flows: which are faster, and who has got how much when.

What is told of a pair of sched-tcp (watch.against): whether flows end sooner than under tcp, and
whether the pair, and who is beside it, have got as much as then at any time.
"""

import numpy as np

from lab.measure.reading import DataError, Run
from lab.measure.rows import Metrics

SAME = 0.01  # of the other's response: what differs by no more is equal


def of_each(run: Run, other: Run) -> Metrics:
    """How many flows are faster, slower and equal, in percent, and by how many seconds.

    Of those that have ended in both; NaN if there is none.
    """
    if not np.array_equal(run.packets, other.packets):
        raise DataError(f"{run.name} and {other.name} have not had the same flows")
    ended = ~np.isnan(run.response) & ~np.isnan(other.response)
    mine, theirs = run.response[ended], other.response[ended]
    more = (mine - theirs) / 1000
    equal = np.abs(mine - theirs) <= SAME * theirs
    faster, slower = (more < 0) & ~equal, (more > 0) & ~equal
    values: Metrics = {
        f"{name} %": 100 * which.mean() if ended.any() else np.nan
        for name, which in {"faster": faster, "slower": slower, "equal": equal}.items()
    }
    values["gain s"] = -more[faster].mean() if faster.any() else np.nan
    values["loss s"] = more[slower].mean() if slower.any() else np.nan
    return values


def most_apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    """In percent of theirs, of the times at which they have any; NaN if they never have."""
    count = min(mine.size, theirs.size)
    some = theirs[:count] > 0
    if not some.any():
        return np.nan
    return float(100 * np.max(np.abs(mine[:count][some] / theirs[:count][some] - 1)))
