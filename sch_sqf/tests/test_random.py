# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model."""

import random
from collections.abc import Callable, Sequence

import pytest

from selftests.lib.gate import Gate, flow, host_flow
from selftests.lib.groups import BOTH, DST, NEVER, SRC

from .pair import Pair, words

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
            if pair.is_plain(chosen, length):
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


@pytest.mark.parametrize(("policy", "seed"), [("sqf", 1), ("lqf", 5), ("fq", 2)])
def test_memory_limit(gate: Callable[..., Gate], policy: str, seed: int) -> None:
    """Seeds with packets for which several are lost, the second by a tie were it sent."""
    d0 = gate(f"limit 1000 memory_limit 30000b policy {policy} {HUGE}")
    pair = Pair(d0, limit=1000, memory_limit=30000, policy=policy)
    play(pair, random.Random(seed), 30, 1000, 40)
    assert pair.model.drop_memory > 100
    pair.release()
    assert d0.show()["memory"] == 0


def test_options_that_change(gate: Callable[..., Gate]) -> None:
    """Each keeps every packet that the new limits allow, and the order is the new policy's."""
    rng = random.Random(4)
    d0 = gate(f"limit 60 {HUGE}")
    pair = Pair(d0, limit=60)
    for _ in range(30):
        policy = rng.choice(POLICIES)
        if "fq" in (policy, pair.model.opt.policy):
            pair.release()  # in what order those that wait begin to take turns is not said
        pair.change(policy=policy, drop=rng.choice(["tail", "head"]))
        pair.change(quantum=rng.choice([256, 1514, rng.randint(256, 20000)]))
        pair.compare()
        play(pair, rng, 20, pair.sent + 25, 50)
    pair.release()


GROUPS = {
    "sqf": {"known": 50, "newcomers": 5},
    "long": {"known": 30, "fair": 16384, "quantum": 3000},
    "lqf": {"policy": "lqf", "known": 50, "fair": 16384},
    "fq": {"policy": "fq", "known": 50, "newcomers": 5},
    "head": {"known": 50, "fair": 16384, "drop": "head"},
}


@pytest.mark.parametrize("case", GROUPS)
def test_everything(gate: Callable[..., Gate], case: str) -> None:
    """Packets and bundles, limits and options that change, in 3000 packets."""
    rng = random.Random(case)
    options = GROUPS[case]
    d0 = gate(f"split_gso limit 40 {words(**options)} {HUGE}")
    pair = Pair(d0, 40, **options)
    while pair.sent < 3000:
        what = rng.random()
        if what < 0.5:
            chosen = flow(rng.randrange(1 + rng.randrange(60)))
            for _ in range(rng.randint(1, 8)):
                length = rng.randint(chosen.shortest, 1514)
                if not pair.model.ties(chosen.name, length):
                    pair.send(chosen, length)
        elif what < 0.6:
            tcp = flow(rng.randrange(60) | 2)
            size = rng.randint(100, 1440)
            if not pair.model.ties(tcp.name, len(tcp.headers) + size):
                pair.send_bundle(tcp, rng.randint(2, 12), size, rng.randint(4, size))
        elif what < 0.65:
            pair.park(1)
        elif what < 0.67:
            pair.change(
                known=rng.choice([10, 50, 90]),
                newcomers=rng.choice([3, options.get("newcomers", 1 << 32)]),
                quantum=rng.choice([256, 1514, 5000]),
            )
        elif what < 0.68:
            pair.release()  # in what order short flows that wait become long is not said
            pair.change(fair=rng.choice([NEVER, 16384, rng.randint(16384, 200000)]))
            pair.change(policy=rng.choice(POLICIES), drop=rng.choice(["tail", "head"]))
        else:
            pair.release(rng.randint(1, 12))
        pair.compare()
        if rng.random() < 0.01:
            pair.compare_statistics()
    assert pair.model.drop_limit > 200 and pair.bundles > 40
    pair.compare_statistics()
    pair.release()
    assert d0.show()["evictions"] == 0


HOSTS = {
    "src": {"known": 50, "fair": 16384, "hosts": SRC},
    "dst": {"known": 30, "fair": 16384, "quantum": 3000, "hosts": DST},
    "both": {"policy": "fq", "known": 50, "hosts": BOTH},
    "head": {"known": 50, "fair": 16384, "drop": "head", "hosts": SRC},
}


@pytest.mark.clock  # no host is over its share as long as the rate of the link is not known
@pytest.mark.parametrize("case", HOSTS)
def test_hosts(gate: Callable[..., Gate], case: str) -> None:
    """Bursts of long flows of a few hosts, which are told apart in other ways meanwhile."""
    rng = random.Random(case)
    options = HOSTS[case]
    d0 = gate(f"limit 60 {words(**options)} host_records 1024 {HUGE}")
    pair = Pair(d0, 60, **options)
    flows = [host_flow(n, 1 + n % 5, 20 + n % 3) for n in range(24)]
    turns = 0

    def burst() -> None:
        nonlocal turns
        turns += pair.model.hosts_told["hosts_over"] > 1
        chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])
        for _ in range(rng.randint(1, 12)):
            length = rng.randint(chosen.shortest, 1514)
            if not pair.model.ties(chosen.name, length):
                pair.send(chosen, length)

    def other() -> None:
        what = rng.random()
        if what < 0.5:
            pair.change(quantum=rng.choice([256, 1514, 5000]), known=rng.choice([10, 50, 90]))
        elif what < 0.75:
            pair.change(hosts=rng.randrange(4))
        else:
            pair.release()

    pair.play(rng, 3000, 50, burst, other)
    assert pair.model.drop_limit > 200 and turns > 30
    pair.release()
    assert d0.show()["evictions"] == 0
