# SPDX-License-Identifier: GPL-2.0
"""The guarantee of las and sqf: for how long a backlogged flow may send nothing.

Whatever the others send, a flow that has packets waiting sends one within PAUSE seconds, and the
time in which the link sends TURNS packets of each flow that is backlogged. docs/design.md has the
proof. It holds for packets that are sent: one that is dropped is not waited for.
"""

from dataclasses import dataclass

import numpy as np

PAUSE = 5.0  # seconds
TURNS = 40  # packets of each backlogged flow
LEAST = 0.5  # seconds: what is shorter is not compared with what is allowed


@dataclass(frozen=True)
class Longest:
    """Of all flows"""

    seconds: float
    part: float  # of what is allowed, the most


def allowed(flows: float, packet: float, rate: float) -> float:
    """Seconds, where `flows` are backlogged at most; `packet` in bytes, rate in bytes/s"""
    return PAUSE + TURNS * flows * packet / rate


def longest(
    arrival: np.ndarray, departure: np.ndarray, flow: np.ndarray, packet: float, rate: float
) -> Longest:
    """Of packets that were all sent; a flow's leave in the order in which they arrived."""
    order = np.lexsort((departure, flow))
    arrival, departure, flow = arrival[order], departure[order], flow[order]
    before = np.concatenate([[-np.inf], departure[:-1]])
    before[np.concatenate([[True], flow[1:] != flow[:-1]])] = -np.inf
    begin = np.maximum(arrival, before)  # since then it is the first of its flow
    fresh = arrival > before  # its flow had nothing waiting
    ends = departure[np.concatenate([fresh[1:], [True]])]
    times = np.concatenate([arrival[fresh], ends])
    steps = np.concatenate([np.ones(fresh.sum()), -np.ones(len(ends))])
    sort = np.lexsort((-steps, times))  # who begins counts before who ends at the same time
    times, backlogged = times[sort], np.cumsum(steps[sort])
    pauses = departure - begin
    part = 0.0
    for i in np.flatnonzero(pauses > LEAST):
        first = max(int(np.searchsorted(times, begin[i], "right")) - 1, 0)
        last = int(np.searchsorted(times, departure[i], "left"))
        most = float(backlogged[first : max(last, first + 1)].max())
        part = max(part, float(pauses[i]) / allowed(most, packet, rate))
    return Longest(float(pauses.max(initial=0.0)), part)
