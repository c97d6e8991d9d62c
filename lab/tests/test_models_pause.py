# SPDX-License-Identifier: GPL-2.0
"""The guarantee, and whether a run that breaks it is found (lab/models/pause.py)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models.pause import PAUSE, TURNS, Longest, allowed, longest

RATE = 125000.0  # bytes per second
SIZE = 1250.0  # bytes, which take 10 ms
Packet = tuple[float, float, int]  # arrival, departure, flow


def of(*packets: Packet) -> Longest:
    columns = (np.array(column) for column in zip(*packets, strict=True))
    arrival, departure, flow = columns
    return longest(arrival, departure, flow, SIZE, RATE)


def test_what_is_allowed() -> None:
    assert allowed(3, SIZE, RATE) == PAUSE + 3 * TURNS * 0.01


def test_a_flow_that_is_alone() -> None:
    found = of((0, 1, 0))
    assert found.seconds == 1 and found.part == pytest.approx(1 / allowed(1, SIZE, RATE))
    assert of((0, 6, 0)).part > 1


def test_it_counts_from_its_last_packet() -> None:
    """Or from when the next one came, if nothing was waiting then."""
    assert of((0, 1, 0), (0, 3, 0), (10, 10.75, 0)).seconds == 2


def test_flows_that_wait_are_counted() -> None:
    """At the same time: those before and after it do not make it longer."""
    one = of((0, 7, 0))
    others = [(1.0, 2.0, number) for number in range(1, 100)]
    assert of((0, 7, 0), *others).part == pytest.approx(7 / allowed(100, SIZE, RATE))
    late = [(8.0, 8.1, number) for number in range(1, 100)]
    assert of((0, 7, 0), *late).part == pytest.approx(one.part)


def test_flows_wait_one_after_the_other() -> None:
    others = [(float(number), number + 0.9, number) for number in range(1, 7)]
    assert of((0, 8, 0), *others).part == pytest.approx(8 / allowed(2, SIZE, RATE))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), min_size=1, max_size=60))
def test_round_robin_keeps_it(arrivals: list[tuple[int, int]]) -> None:
    """A packet of each flow in turn takes no longer than one packet of each."""
    queues: dict[int, list[float]] = {}
    for at, flow in sorted(arrivals):
        queues.setdefault(flow, []).append(at / 100)
    now, sent, turn = 0.0, [], 0
    while any(queues.values()):
        names = sorted(queues)
        ready = [
            name
            for name in names[turn % len(names) :] + names[: turn % len(names)]
            if queues[name] and queues[name][0] <= now
        ]
        if not ready:
            now = min(queue[0] for queue in queues.values() if queue)
            continue
        turn = names.index(ready[0]) + 1
        now += 0.01
        sent.append((queues[ready[0]].pop(0), now, ready[0]))
    assert of(*sent).seconds <= 0.01 * (len(queues) + 1) + 1e-9
