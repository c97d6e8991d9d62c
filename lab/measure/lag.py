# SPDX-License-Identifier: GPL-2.0
"""How far flows were behind ideal fair queueing, in a run whose packets were recorded.

Two ideals get the arrivals of the run. One has a buffer without bounds and only those packets that
the run has delivered: how late these were, and how many bytes a flow was behind, shows the order of
service alone. The other one has all packets and a finite buffer, whose longest queue loses: what it
has delivered more is what a flow lost by the order and by drops together.

Beside that: the longest time for which a backlogged flow sent nothing, and which part that is of
what las and sqf guarantee (lab/models/pause.py).
"""

import numpy as np

from lab.measure.reading import Record
from lab.measure.rows import Metrics
from lab.models.gps import behind, finish
from lab.models.pause import longest

BUFFER = 0.5  # seconds at the link's rate, as the default of our `buffer`
UNITS = {"late": "ms", "behind": "kB", "lost": "kB"}
# Flows by the bytes that arrived: the name in kB; more than, up to
CLASSES = {"<=20": (0, 20e3), "20-200": (20e3, 200e3), ">200": (200e3, np.inf)}


def of_record(record: Record, rate: float) -> Metrics:
    """`rate` in bit/s. The worst flow of each class; "late" in ms, the others in kB.

    The record has when a packet left the queue; it is served when the link has sent it.
    """
    arrival, flow, length = record.arrival, record.flow, record.length
    served = record.departure + length * 8 / rate
    sent = np.isfinite(record.departure)
    ordered = np.full(len(arrival), np.inf)
    ordered[sent] = finish(arrival[sent], flow[sent], length[sent], rate / 8)
    whole = finish(arrival, flow, length, rate / 8, BUFFER * rate / 8)
    worst = {name: dict.fromkeys(UNITS, 0.0) for name in CLASSES}
    for some in np.split(np.argsort(flow, kind="stable"), np.cumsum(np.bincount(flow))[:-1]):
        size = length[some].sum()
        name = next(name for name, (least, most) in CLASSES.items() if least < size <= most)
        of = worst[name]
        order = behind(served[some], ordered[some], length[some])
        both = behind(served[some], whole[some], length[some])
        values = (order.seconds * 1e3, order.bytes / 1e3, both.bytes / 1e3)
        for what, value in zip(UNITS, values, strict=True):
            of[what] = max(of[what], value)
    pause = longest(
        arrival[sent], record.departure[sent], flow[sent], length.max(initial=0.0), rate / 8
    )
    return {
        f"{what} {name} {UNITS[what]}": value
        for name, of in worst.items()
        for what, value in of.items()
    } | {"pause ms": 1e3 * pause.seconds, "pause %": 100 * pause.part}
