# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model."""

import random
from collections.abc import Callable

import pytest

from selftests.lib.gate import Flow, Gate, flow

from .model import OVERFLOW
from .pair import Pair

HUGE_IDLE = "idle 86400s"


def length_for(rng: random.Random, flow: Flow) -> int:
    kind = rng.random()
    if kind < 0.25:
        return 1514
    if kind < 0.5:
        return flow.shortest
    return rng.randint(flow.shortest, 1514)


def play(pair: Pair, rng: random.Random, flows: list[Flow], packets: int, full: int) -> None:
    """Bursts of a flow, and SYNs; no packet for which any of two records could go."""

    def burst() -> None:
        chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])  # the first ones more often
        for _ in range(rng.randint(1, 6)):
            if not pair.model.ambiguous(chosen.name):
                pair.send(chosen, length_for(rng, chosen))

    def begin() -> None:
        syn = flow(rng.randrange(len(flows)), "S")
        if not pair.model.ambiguous(syn.name):
            pair.send(syn, syn.shortest)

    pair.play(rng, packets, full, burst, begin)


@pytest.mark.parametrize("mode", ["direct", "peeked"])
def test_limit(gate: Callable[..., Gate], mode: str) -> None:
    d0 = gate(f"limit 25 flows 65536 {HUGE_IDLE}")
    d0.command(f"mode {mode}")
    pair = Pair(d0, 25)
    play(pair, random.Random(mode), [flow(n) for n in range(40)], 2000, 40)
    assert pair.model.drop_limit > 100
    pair.release()
    assert d0.show()["evictions"] == 0  # else the comparison would have been with another table


def test_memory_limit(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 1000 memory_limit 30000b flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 1000, 30000)
    play(pair, random.Random(3), [flow(n) for n in range(30)], 1200, 40)
    assert pair.model.drop_memory > 100
    pair.release()
    assert d0.show()["memory"] == 0


def test_limits_that_change(gate: Callable[..., Gate]) -> None:
    rng = random.Random(4)
    d0 = gate(f"limit 10 flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 10)
    for _ in range(40):
        pair.change(limit=rng.choice([1, 2, 3, rng.randint(4, 60)]))
        pair.compare()
        if rng.random() < 0.3:
            pair.change(memory_limit=rng.choice([4096, rng.randint(4097, 50000), 1 << 20]))
            pair.compare()
        play(pair, rng, [flow(n) for n in range(20)], pair.sent + 30, 40)
    assert pair.model.drop_limit > 100 and pair.model.drop_memory > 10


def test_table_of_one_set(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 30 flows 8 {HUGE_IDLE}")
    pair = Pair(d0, 30, records=8)
    play(pair, random.Random(5), [flow(n) for n in range(16)], 1500, 20)
    assert pair.model.overflow > 50 and pair.model.evictions > 50
    pair.release()


def test_many_flows_at_once(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 10000 flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 10000)
    rng = random.Random(6)
    order = list(range(600)) * 2
    rng.shuffle(order)
    for number in order:
        pair.send(flow(number), length_for(rng, flow(number)))
    pair.compare_statistics()
    pair.release(900)
    pair.compare()
    pair.release()
    shown = d0.show()
    assert (shown["records"], shown["flows_seen"], shown["evictions"]) == (600, 600, 0)


def test_many_flows_overloaded(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 300 flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 300)
    rng = random.Random(8)
    flows = [flow(n) for n in range(200)]
    for _ in range(2500):
        each = rng.choice(flows)
        pair.send(each, length_for(rng, each))
        if pair.sent % 7 == 0:
            pair.release(rng.randrange(7))
    pair.compare_statistics()
    assert pair.model.drop_limit > 800
    pair.release()
    assert d0.show()["evictions"] == 0


def test_everything(gate: Callable[..., Gate]) -> None:
    """Packets and bundles, both classes, limits and options that change, in 6000 packets."""
    rng = random.Random(7)
    d0 = gate(f"limit 40 fair 16384b flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 40, fair=16384)
    flows = [flow(n) for n in range(60)]
    while pair.sent < 6000:
        what = rng.random()
        if what < 0.45:
            chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])
            for _ in range(rng.randint(1, 8)):
                pair.send(chosen, length_for(rng, chosen), rng.random() < 0.2)
        elif what < 0.5:
            syn = flow(rng.randrange(len(flows)), "S")
            pair.send(syn, syn.shortest)
        elif what < 0.6:
            tcp = flow(rng.randrange(len(flows)) | 2)
            size = rng.randint(100, 1440)
            pair.send_bundle(tcp, rng.randint(2, 12), size, rng.randint(4, size))
        elif what < 0.65:
            pair.park(1)
        elif what < 0.68:
            pair.change(
                limit=rng.choice([None, 1, 2, rng.randint(3, 100), 60]),
                fair=rng.choice([None, OVERFLOW, 16384, rng.randint(16384, 200000)]),
                log=rng.choice([None, 250, 500, 1000, rng.randint(250, 4000)]),
            )
        else:
            pair.release(rng.randint(1, 12))
        pair.compare()
        if rng.random() < 0.01:
            pair.compare_statistics()
    assert pair.model.drop_limit > 500 and pair.bundles > 100 and pair.model.told > 10
    pair.compare_statistics()
    pair.release()
    assert d0.show()["evictions"] == 0
