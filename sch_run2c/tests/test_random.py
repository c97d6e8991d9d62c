# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from selftests.lib.gate import Flow, Gate, arp, ethertype, flow, icmp

from .model import HIGH, LOW, NUMBERS
from .pair import LEARNED, RANKED, UNRANKED, Pair, Segment, segment, words

# So many records that no set of 8 is full, and all of them listed
HUGE = "flows 32768 idle 86400s"
EDGES = [0, 1, 1 << 15, 1 << 22, 1 << 31, NUMBERS - 1, NUMBERS - 3000]


class Connection:
    """What a sender might send next, and what it had better not"""

    def __init__(self, rng: random.Random, number: int, shape: str) -> None:
        self.rng, self.number, self.shape = rng, number, shape
        self.begin()

    def begin(self) -> None:
        self.first = self.rng.choice([*EDGES, self.rng.randrange(NUMBERS)])
        self.next = self.first

    def segment(self, payload: int, flags: str = "A") -> Segment:
        made = segment(self.number, self.next, flags, self.shape)
        self.next += payload + len(set(flags) & set("SF"))
        return made

    def odd(self) -> Segment:
        """Sent again, from another time, with a leap, an end or a beginning"""
        rng = self.rng
        what = rng.randrange(9)
        if what == 0:
            self.begin()
            return self.segment(0, "S")
        if what < 3:
            return self.segment(0, rng.choice(["FA", "R", "FA"]))
        if what == 3:
            self.next += rng.choice([1 << 13, 1 << 20, 1 << 30, (1 << 30) + 1, 1 << 31])
            return self.segment(0)
        if what == 4:
            return segment(self.number, self.first - rng.randrange(1, 1 << 20), "A", self.shape)
        if what == 5:
            return segment(self.number, rng.randrange(NUMBERS), "A", self.shape)
        sent = max(1, min(self.next - self.first, 1 << 30))
        return segment(self.number, self.next - rng.randrange(sent), "A", self.shape)


def other(rng: random.Random) -> Flow:
    number = rng.randrange(4)
    return rng.choice(
        [
            flow(4 * number),
            flow(4 * number + 1),
            icmp(number),
            arp(number),
            ethertype(0x88B5),
            *(segment(number, rng.randrange(NUMBERS), "A", shape) for shape in UNRANKED),
        ]
    )


def flows() -> list[Flow]:
    """All that there are, but for numbers and flags"""
    found = [segment(i, 0, "A", shape) for i in range(25) for shape in LEARNED]
    found += [segment(i, 0, "A", shape) for i in range(25) for shape in (*RANKED, *UNRANKED)]
    found += [flow(number) for i in range(4) for number in (4 * i, 4 * i + 1)]
    return found + [*map(icmp, range(4)), arp(0), ethertype(0x88B5)]


def play(pair: Pair, rng: random.Random, packets: int, full: int, bundles: bool) -> None:
    """Bursts of connections that end and begin, packets of no rank, or of a class"""
    shapes = [*(["4", "6"] * 4), *LEARNED, *RANKED]
    connections = [Connection(rng, i, rng.choice(shapes)) for i in range(25)]

    def send(each: Flow, band: int | None = None) -> None:
        pair.send(each, rng.randint(each.shortest, 1514), band)

    def burst() -> None:
        by = connections[rng.randrange(1 + rng.randrange(len(connections)))]
        what = rng.random()
        if what < 0.1:
            send(other(rng))
        elif what < 0.3:
            send(by.odd())
        elif what < 0.5 and bundles and by.shape in ("4", "6"):
            segments, size = rng.randint(2, 30), rng.choice([500, 1400])
            bundle = by.segment(segments * size, rng.choice(["A", "A", "A", "PA", "FA"]))
            if pair.model.split_gso:
                pair.send_bundle(bundle, segments, size, rng.randint(4, size))
            else:
                pair.send_whole(bundle, segments, size)
        else:
            for _ in range(rng.randint(1, 6)):
                send(by.segment(rng.choice([0, 1, 1448, 1448, 8000])))

    def classed() -> None:
        send(rng.choice(connections).segment(1000), rng.choice([HIGH, LOW]))

    pair.play(rng, packets, full, burst, classed)


def some_options(rng: random.Random) -> dict[str, Any]:
    bits = rng.choice([10, 12, 14, 14, 17, 30])
    order = rng.random() < 0.4
    return {
        "threshold": 1 << bits,
        "span": 1 << rng.randint(max(bits + 1, 12), 31),
        "order": order,
        "learn": rng.random() < 0.6,
        "other": rng.choice(["high", "low", "count", "count"]),
        "slow": 0,
        "resent": rng.choice([0, 50, 50, 100]),
        "guarantee": rng.choice([0, 0, 10, 50, 99]),
        "quantum": rng.choice([256, 700, 1514]),
    }


def fixed_options(rng: random.Random, seed: int) -> dict[str, Any]:
    """What waits may be lingering still, so that cannot be changed here."""
    return {"queues": rng.choice([1, 4, 256, 4096]), "linger": 60 * (seed % 2)}


def seeds(count: int) -> list[Any]:
    """Where records linger the test has to be over before they do not any more."""
    clock = pytest.mark.clock
    return [pytest.param(seed, marks=clock) if seed % 2 else seed for seed in range(count)]


@pytest.mark.parametrize("seed", seeds(20))
def test_options(gate: Callable[..., Gate], seed: int) -> None:
    """Segments of a GSO packet have no memory that is known here, so it is one or the other."""
    rng = random.Random(seed)
    options = some_options(rng) | fixed_options(rng, seed)
    options |= {"limit": rng.choice([5, 25, 25])}
    bundles = seed % 3 == 0
    if seed % 3 == 1:
        options |= {"limit": 1000, "memory_limit": 30000, "queues": 1}
    elif seed % 3 == 2:
        options |= {"split_gso": False}
    d0 = gate(f"split_gso {HUGE} {words(options)}")
    pair = Pair(d0, flows=flows(), **options)
    play(pair, rng, 2000 if bundles else 1000, 40, bundles or seed % 3 == 2)
    assert pair.model.drops > 50 and pair.model.tcp > 500 and pair.model.others > 5
    assert pair.model.learned > 5 or not options["learn"]
    pair.release()
    shown = d0.show()
    assert (shown["evictions"], shown["overflow"], shown["memory"]) == (0, 0, 0)


@pytest.mark.parametrize("seed", seeds(8))
def test_options_that_change(gate: Callable[..., Gate], seed: int) -> None:
    """Each keeps every packet that the new limits allow, in its order."""
    rng = random.Random(100 + seed)
    fixed = fixed_options(rng, seed) | {"quantum": 256, "slow": 0}
    d0 = gate(f"split_gso limit 60 {HUGE} {words(fixed)}")
    pair = Pair(d0, limit=60, flows=flows(), **fixed)
    for _ in range(25):
        options = some_options(rng)
        if rng.random() < 0.5:
            options = {"order": options["order"], "guarantee": options["guarantee"]}
        pair.change(**options, **({"limit": rng.randint(3, 60)} if rng.random() < 0.3 else {}))
        pair.compare()
        play(pair, rng, pair.sent + 30, 50, bundles=seed % 4 > 1)
    pair.release()


@pytest.mark.parametrize("mode", ["", "order"])
@pytest.mark.parametrize("idle", ["1ms", "86400s"])
def test_few_records(gate: Callable[..., Gate], idle: str, mode: str) -> None:
    """Who has a record then, the model cannot say; but all that is let in comes out once."""
    rng = random.Random(mode)
    d0 = gate(f"limit 40 learn flows 8 idle {idle} threshold 4096b {mode}")
    connections = [Connection(rng, i, "4") for i in range(30)]
    out: list[int] = []
    ident = 0
    for step in range(600):
        by = rng.choice(connections)
        for _ in range(rng.randint(1, 10)):
            each = by.odd() if rng.random() < 0.05 else by.segment(1448)
            ident += 1
            d0.send(each.frame(100, ident))
        if rng.random() < 0.9:
            out += d0.order(rng.randint(1, 8))
        if step % 100 == 0:
            assert d0.show()["records"] <= 8
    # On a slow machine all of them have been silent for a millisecond
    if idle != "1ms":
        assert d0.show()["overflow"] > 100 and d0.show()["evictions"] > 10
    out += d0.order()
    assert len(out) == len(set(out)) == ident - d0.show()["drops"]
    assert d0.show()["flows_queued"] == 0
