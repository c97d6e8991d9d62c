# SPDX-License-Identifier: GPL-2.0
"""Turns of flows that share a link: for how long one of them has nearly all of it."""

import numpy as np

INTERVAL = 0.01  # seconds: rates[interval, flow], measured or of the models
SMOOTH = 10  # intervals
OWNED = 0.8  # the part of the link that a flow has whose turn it is


def smooth(rates: np.ndarray) -> np.ndarray:
    """The mean of SMOOTH intervals around each."""
    kernel = np.ones(SMOOTH) / SMOOTH
    return np.stack([np.convolve(column, kernel, mode="same") for column in rates.T], axis=1)


def turns(rates: np.ndarray, interval: float) -> tuple[float, float]:
    """The part of the time in which one flow has the link, and how long a turn is, in seconds."""
    share = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1)
    owner = np.where(share.max(axis=1) > OWNED, share.argmax(axis=1), -1)
    owned = owner[owner >= 0]
    if not owned.size:
        return 0.0, 0.0
    changes = 1 + np.count_nonzero(np.diff(owned))
    return owned.size / owner.size, owned.size * interval / changes
