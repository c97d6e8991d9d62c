# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model: at every drop the victim is a longest queue."""

import random
from collections.abc import Callable, Sequence

import pytest

from selftests.lib.gate import Gate, flow

from .pair import Pair

HUGE = "flows 65536 idle 86400s"
POLICIES = ["sqf", "lqf", "fq"]


def play(
    pair: Pair,
    rng: random.Random,
    flows: int,
    packets: int,
    full: int,
    sizes: Sequence[int] = range(60, 1515),
) -> None:
    """Bursts of a flow, as far as it is plain which queue would lose a packet."""

    def burst() -> None:
        chosen = flow(rng.randrange(1 + rng.randrange(flows)))  # the first ones more often
        for _ in range(rng.randint(1, 6)):
            length = max(chosen.shortest, rng.choice(sizes))
            if not pair.model.ties(chosen.name, length):
                pair.send(chosen, length)

    pair.play(rng, packets, full, burst)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("drop", ["tail", "head"])
def test_limit(gate: Callable[..., Gate], policy: str, drop: str) -> None:
    d0 = gate(f"limit 25 policy {policy} drop {drop} {HUGE}")
    pair = Pair(d0, limit=25, policy=policy, drop=drop)
    play(pair, random.Random(policy + drop), 40, 1500, 40)
    assert pair.model.drop_limit > 100
    pair.release()
    assert d0.show()["evictions"] == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_equals(gate: Callable[..., Gate], policy: str) -> None:
    """Sizes of which sums are often the same, below and above what makes a queue long."""
    d0 = gate(f"limit 60 policy {policy} {HUGE}")
    pair = Pair(d0, limit=60, policy=policy)
    play(pair, random.Random(policy), 25, 1500, 60, [512, 1024])
    assert pair.model.drop_limit > 20
    pair.release()


@pytest.mark.parametrize("policy", POLICIES)
def test_memory_limit(gate: Callable[..., Gate], policy: str) -> None:
    d0 = gate(f"limit 1000 memory_limit 30000b policy {policy} {HUGE}")
    pair = Pair(d0, limit=1000, memory_limit=30000, policy=policy)
    play(pair, random.Random(policy), 30, 1000, 40)
    assert pair.model.drop_memory > 100
    pair.release()
    assert d0.show()["memory"] == 0


def test_options_that_change(gate: Callable[..., Gate]) -> None:
    """Each keeps every packet that the new limits allow, and the order is the new policy's."""
    rng = random.Random(4)
    d0 = gate(f"limit 60 {HUGE}")
    pair = Pair(d0, limit=60)
    for _ in range(30):
        pair.change(policy=rng.choice(POLICIES), drop=rng.choice(["tail", "head"]))
        pair.change(quantum=rng.choice([256, 1514, rng.randint(256, 20000)]))
        pair.compare()
        play(pair, rng, 20, pair.sent + 25, 50)
    pair.release()
