# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model, which samples the same packets."""

import random
from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow

from .model import HIGH, LOW, ONE
from .pair import Pair

# So many records that no set of 8 is full
HUGE = "flows 65536 idle 86400s"


def play(pair: Pair, rng: random.Random, flows: int, packets: int, full: int) -> None:
    """Bursts of flows that end and begin, and packets that are sent to a class."""

    def burst() -> None:
        number = rng.randrange(1 + rng.randrange(flows))  # the first ones more often
        flags = rng.choice(["A"] * 30 + ["FA", "R", "S"])
        chosen = flow(number, flags)
        ends = flags if number // 2 % 2 else ""  # the others are UDP
        for _ in range(1 if ends != "A" else rng.randint(1, 6)):
            pair.send(chosen, max(chosen.shortest, rng.randint(60, 1514)), ends)

    def classed() -> None:
        pair.send(flow(rng.randrange(flows)), 500, band=rng.choice([HIGH, LOW]))

    pair.play(rng, packets, full, burst, classed)


CASES = {
    "default": {},
    "probability": {"probability": ONE // 5},
    "every": {"every": 4},
    "samples": {"probability": ONE // 3, "samples": 3},
    "bytes": {"probability": ONE // 4, "bytes": True},
    "guarantee": {"probability": ONE // 8, "guarantee": 30},
    "split": {"probability": ONE // 6, "high": 12, "low": 9},
    "queues": {"probability": ONE // 6, "guarantee": 30, "queues": 4096, "quantum": 300},
    "few queues": {"probability": ONE // 6, "queues": 4, "quantum": 1514},
    "linger": {"probability": ONE // 6, "queues": 256, "quantum": 256, "linger": 60},
}


def words(options: dict[str, int]) -> str:
    found = ""
    for name, value in options.items():
        if name == "bytes":
            found += " bytes"
        elif name in ("quantum", "linger"):
            found += f" {name} {value}{'b' if name == 'quantum' else 's'}"
        else:
            found += f" {name} {value / ONE:.9f}" if name == "probability" else f" {name} {value}"
    return found


# A linger of 60 s is for ever where the clock is virtual, as in the model.
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.clock) if case == "linger" else case for case in CASES],
)
def test_case(gate: Callable[..., Gate], case: str) -> None:
    options = CASES[case]
    d0 = gate(f"limit 25 {HUGE} {words(options)}")
    pair = Pair(d0, limit=25, flows=40, **options)
    play(pair, random.Random(case), 40, 2000, 40)
    assert pair.model.drops > 100
    assert pair.model.began > 10
    pair.release()
    shown = d0.show()
    assert (shown["evictions"], shown["overflow"]) == (0, 0)


def test_memory_limit(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 1000 memory_limit 30000b {HUGE} probability 0.1")
    pair = Pair(d0, limit=1000, memory_limit=30000, probability=ONE // 10)
    play(pair, random.Random(1), 30, 1000, 40)
    assert pair.model.drop_memory > 100
    pair.release()
    assert d0.show()["memory"] == 0


@pytest.mark.parametrize("queues", [1, 256])
def test_bundles(gate: Callable[..., Gate], queues: int) -> None:
    """Each segment is sampled: those up to the sample go high, the others low."""
    rng = random.Random(2)
    options = {"probability": ONE // 20, "queues": queues, "quantum": 256}
    d0 = gate(f"split_gso limit 60 {HUGE} {words(options)}")
    pair = Pair(d0, limit=60, flows=82, **options)
    while pair.sent < 2000:
        number = 2 + 4 * rng.randrange(20) + rng.randrange(2)
        if rng.random() < 0.5:
            pair.send_bundle(flow(number), rng.randint(2, 44), 1000, rng.randint(100, 1000))
        else:
            pair.release(rng.randint(1, 40))
        pair.compare()
    pair.compare_statistics()
    pair.release()


@pytest.mark.parametrize("queues", [1, 256])
def test_options_that_change(gate: Callable[..., Gate], queues: int) -> None:
    """Each keeps every packet that the new limits allow."""
    rng = random.Random(4)
    d0 = gate(f"limit 60 {HUGE} queues {queues} quantum 256b")
    pair = Pair(d0, limit=60, flows=20, queues=queues, quantum=256)
    for _ in range(40):
        pair.change(
            **rng.choice(
                [
                    {"probability": rng.choice([0, ONE, rng.randrange(ONE)])},
                    {"every": rng.choice([1, 2, 30])},
                    {"bytes": rng.choice([False, True])},
                    {"samples": rng.randint(1, 4)},
                    {"guarantee": rng.choice([0, 10, 99])},
                    {"high": rng.choice([0, 5, 20]), "low": rng.choice([0, 5, 20])},
                    {"limit": rng.randint(5, 60)},
                    {"quantum": rng.choice([256, 1000, 1514, 9000])},
                ]
            )
        )
        pair.compare()
        play(pair, rng, 20, pair.sent + 40, 50)
    pair.release()
