# SPDX-License-Identifier: GPL-2.0
"""Ideal fair queueing against examples by hand and a plain simulation in real time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.measure.lag import of_record
from lab.measure.reading import DataError, Record, split_record
from lab.models.gps import LOST, behind, finish

Packet = tuple[float, int, float]  # arrival, flow, bytes


def ends(packets: list[Packet], rate: float, buffer: float = np.inf) -> list[float]:
    arrival, flow, length = (np.array(column) for column in zip(*packets, strict=True))
    return finish(arrival, flow, length, rate, buffer).tolist()


def test_flows_share_the_link() -> None:
    assert ends([(0, 1, 100), (0, 2, 100), (0, 1, 100)], 100) == [2, 2, 3]
    # The second one comes when the first has 50 bytes left, and needs less
    assert ends([(0, 1, 100), (0.5, 2, 25)], 100) == [1.25, 1]
    # Idle in between
    assert ends([(0, 1, 100), (5, 1, 100), (5, 2, 100)], 100) == [1, 7, 7]


def test_the_longest_queue_loses() -> None:
    packets = [(0, 1, 100), (0, 2, 100), (0, 1, 100)]
    assert ends(packets, 100, 250) == [2, 2, LOST]
    # The last packet is of another flow
    assert ends([(0, 1, 100), (0, 1, 100), (0, 2, 100)], 100, 250) == [2, LOST, 2]


def plain(packets: list[Packet], rate: float, buffer: float) -> list[float]:
    """The same without virtual time: step by step, with what is left of each packet"""
    result = [LOST] * len(packets)
    queues: dict[int, list[list[float]]] = {}
    now = 0.0

    def serve(until: float) -> None:
        nonlocal now
        while queues:
            step = min(queue[0][1] for queue in queues.values()) * len(queues) / rate
            step = min(step, until - now)
            now += step
            for queue in queues.values():
                queue[0][1] -= step * rate / len(queues)
            for flow, queue in list(queues.items()):
                if queue[0][1] < 1e-9:
                    result[int(queue.pop(0)[0])] = now
                    if not queue:
                        del queues[flow]
            if now >= until:
                break
        now = until

    for i, (at, flow, size) in enumerate(packets):
        serve(at)
        queues.setdefault(flow, []).append([i, size])
        while sum(left for queue in queues.values() for _, left in queue) > buffer + 1e-9:
            longest = max(queues, key=lambda f: sum(left for _, left in queues[f]))
            queues[longest].pop()
            if not queues[longest]:
                del queues[longest]
    serve(np.inf)
    return result


GAPS = st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.7, 2.0, 5.3])
PACKETS = st.lists(st.tuples(GAPS, st.integers(0, 4), st.integers(1, 50)), min_size=1, max_size=40)


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(PACKETS)
def test_is_the_same_in_real_time(steps: list[tuple[float, int, int]]) -> None:
    now, packets = 0.0, []
    for i, (gap, flow, size) in enumerate(steps):
        now += gap
        packets.append((now, flow, size + i / 1000))  # no two queues are of the same length
    assert ends(packets, 40) == pytest.approx(plain(packets, 40, np.inf), rel=1e-9, abs=1e-9)
    assert ends(packets, 40, 60) == pytest.approx(plain(packets, 40, 60), rel=1e-9, abs=1e-9)


def test_behind() -> None:
    length = np.array([100.0, 100, 100])
    ideal = np.array([1.0, 2, 3])
    assert behind(ideal, ideal, length) == behind(np.array([1.0, 2, 2]), ideal, length)
    late = behind(np.array([1.0, 4, 5]), ideal, length)
    assert (late.seconds, late.bytes) == (2, 200)
    # One lost: it is behind for good, and later packets may make up for it
    lost = behind(np.array([1.0, LOST, 2.5]), ideal, length)
    assert (lost.seconds, lost.bytes) == (0, 100)
    # A packet that the ideal has dropped is not owed
    assert behind(np.array([1.0, LOST, 3]), np.array([1.0, LOST, 3]), length).bytes == 0


TEXT = "record packets 4 flows 2\n0.000,1000.000,0,1000\n0.000,3000.000,1,1000\n"
TEXT += "0.000,-1,1,1000\n0.000,2000.000,0,1000\n#end record\n"


def test_a_record_is_read() -> None:
    record, rest = split_record("x", f"a\n{TEXT}b\n")
    assert rest == "a\nb\n"
    assert record.departure.tolist() == [0.001, 0.003, np.inf, 0.002]
    # 1 MB/s: in the ideal all are served at 2 or 3 ms; flow 1's packet has been sent at 4
    found = of_record(record, 8e6)
    assert found["late <=20 ms"] == pytest.approx(2)
    assert (found["behind <=20 kB"], found["lost <=20 kB"]) == (1, 1)
    assert found["late >200 ms"] == 0


@pytest.mark.parametrize(
    "text", ["", TEXT.replace("#end record", ""), TEXT.replace("packets 4", "packets 5")]
)
def test_a_broken_record_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        split_record("x", text)


def test_record_in_order() -> None:
    """No flow is behind in a run that serves in the order of the ideal."""
    record = Record(np.zeros(3), np.array([0.0, 1, 2]), np.array([0, 1, 0]), np.full(3, 1000.0))
    found = of_record(record, 8e3)
    assert found["late <=20 ms"] == 0 and found["behind <=20 kB"] == 0
