# SPDX-License-Identifier: GPL-2.0
"""What goes on at a time: flows in progress, and who has the link."""

import numpy as np

SMOOTH = 0.1  # seconds, of rates
OWNED = 0.8  # of what all send: the one that does has the link


def in_progress(begin: np.ndarray, response: np.ndarray, seconds: float, step: float) -> np.ndarray:
    """How many flows are, each `step`; what failed is until the end. Times are in ms."""
    end = np.sort(np.nan_to_num(begin + response, nan=np.inf))
    time = np.arange(0, seconds * 1000, step)
    begun = np.searchsorted(np.sort(begin), time, side="right")
    return begun - np.searchsorted(end, time, side="right")


def smooth(values: np.ndarray, count: int) -> np.ndarray:
    """Of each column the mean of so many intervals."""
    kernel = np.ones(count) / count
    return np.stack([np.convolve(column, kernel, mode="same") for column in values.T], axis=1)


def turns(rates: np.ndarray, interval: float) -> tuple[float, float]:
    """The part of the time in which one flow has the link, and how long a turn is, in seconds."""
    share = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-6)
    owner = np.where(share.max(axis=1) > OWNED, share.argmax(axis=1), -1)
    owned = owner[owner >= 0]
    if not owned.size:
        return 0.0, 0.0
    changes = 1 + np.count_nonzero(np.diff(owned))
    return owned.size / owner.size, owned.size * interval / changes


def largest(queues: np.ndarray, count: int) -> np.ndarray:
    """Those queues that have ever been longest, in the order they are in.

    The others are of single packets that the kernel itself sends; under lqf they stay.
    """
    return queues[:, np.sort(np.argsort(queues.max(axis=0), kind="stable")[-count:])]
