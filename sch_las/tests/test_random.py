# SPDX-License-Identifier: GPL-2.0
"""Random sequences, step by step against the model."""

import random
import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Flow, Gate, flow, host_flow
from selftests.lib.groups import BOTH, DST, NEVER, SILENCE, SRC

from .pair import Pair, words

HUGE_IDLE = "idle 86400s"


def length_for(rng: random.Random, flow: Flow) -> int:
    kind = rng.random()
    if kind < 0.25:
        return 1514
    if kind < 0.5:
        return flow.shortest
    return rng.randint(flow.shortest, 1514)


def play(pair: Pair, rng: random.Random, flows: list[Flow], packets: int, full: int) -> None:
    """Bursts of a flow, and SYNs; no packet that the kernel's clock decides about."""

    def burst() -> None:
        chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])  # the first ones more often
        for _ in range(rng.randint(1, 6)):
            if not pair.ambiguous(chosen):
                pair.send(chosen, length_for(rng, chosen))

    def begin() -> None:
        syn = flow(rng.randrange(len(flows)), "S")
        if not pair.ambiguous(syn):
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


@pytest.mark.clock  # who is silent for longest is known to 30 ms
def test_table_of_one_set(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 30 flows 8 {HUGE_IDLE}")
    pair = Pair(d0, 30, records=8)
    pair.pause = 0.04
    play(pair, random.Random(5), [flow(n) for n in range(16)], 1000, 20)
    assert pair.model.overflow > 20 and pair.model.evictions > 20
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


# What las adds to the paper, one by one and together
ADDED = {
    "attained": {"visible": 0, "fair": 16384},
    "visible": {"visible": 1},
    "long": {"visible": 1, "fair": 16384, "quantum": 3000},
    "newcomers": {"visible": 1, "fair": 16384, "newcomers": 5, "known": 50},
}


HOSTS = {
    "src": {"visible": 1, "fair": 16384, "hosts": SRC},
    "dst": {"visible": 1, "fair": 16384, "newcomers": 5, "known": 50, "hosts": DST},
    "both": {"visible": 0, "fair": 20000, "quantum": 300, "hosts": BOTH},
}


@pytest.mark.clock  # no host is over its share as long as the rate of the link is not known
@pytest.mark.parametrize("case", HOSTS)
def test_hosts(gate: Callable[..., Gate], case: str) -> None:
    """Bursts of long flows of a few hosts, which are told apart in other ways meanwhile."""
    rng = random.Random(case)
    options = HOSTS[case]
    d0 = gate(f"split_gso limit 60 {words(**options)} flows 65536 host_records 1024 {HUGE_IDLE}")
    pair = Pair(d0, 60, **options)
    flows = [host_flow(n, 1 + n % 5, 20 + n % 3) for n in range(24)]
    turns = 0

    def burst() -> None:
        nonlocal turns
        turns += pair.model.hosts_told["hosts_over"] > 1
        chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])
        if chosen.tcp and rng.random() < 0.2:
            size = rng.randint(100, 1440)
            pair.send_bundle(chosen, rng.randint(2, 12), size, rng.randint(4, size))
            return
        if rng.random() < 0.1:
            chosen = host_flow(rng.randrange(100, 1000), 1 + rng.randrange(6), 20)
        for _ in range(rng.randint(1, 12)):
            pair.send(chosen, length_for(rng, chosen), rng.random() < 0.05)

    def other() -> None:
        what = rng.random()
        if what < 0.5:
            pair.change(
                limit=rng.choice([None, 1, rng.randint(3, 100), 60]),
                known=rng.choice([None, 0, 50, 90]),
                quantum=rng.choice([None, 256, 1514, 5000]),
            )
        elif what < 0.75:
            pair.change(hosts=rng.randrange(4))
        else:
            pair.release()

    pair.play(rng, 6000, 50, burst, other)
    assert pair.model.drop_limit > 300 and pair.bundles > 20 and turns > 100
    pair.release()
    assert d0.show()["evictions"] == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", ADDED)
def test_everything(gate: Callable[..., Gate], case: str, seed: int) -> None:
    """Packets and bundles, both classes, limits and options that change, in 3000 packets."""
    rng = random.Random(f"{case} {seed}")
    options = ADDED[case]
    d0 = gate(f"split_gso limit 40 {words(**options)} flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 40, **options)
    flows = [flow(n) for n in range(60)]
    pauses = 0
    while pair.sent < 3000:
        what = rng.random()
        if pair.sent > 1000 * pauses + 500:
            pauses += 1
            time.sleep(2.5 * SILENCE)
        elif what < 0.45:
            chosen = rng.choice(flows[: 1 + rng.randrange(len(flows))])
            for _ in range(rng.randint(1, 8)):
                pair.send(chosen, length_for(rng, chosen), rng.random() < 0.2)
        elif what < 0.5:
            syn = flow(rng.randrange(len(flows)), "S")
            if not pair.ambiguous(syn):
                pair.send(syn, syn.shortest)
        elif what < 0.6:
            tcp = flow(rng.randrange(len(flows)) | 2)
            size = rng.randint(100, 1440)
            pair.send_bundle(tcp, rng.randint(2, 12), size, rng.randint(4, size))
        elif what < 0.65:
            pair.park(1)
        elif what < 0.67:
            pair.change(
                limit=rng.choice([None, 1, 2, rng.randint(3, 100), 60]),
                log=rng.choice([None, 250, 500, 1000, rng.randint(250, 4000)]),
                known=rng.choice([None, 0, 50, 90]),
                newcomers=rng.choice([None, 3, options.get("newcomers")]),
            )
        elif what < 0.68:
            pair.release()  # in what order short flows that wait become long is not said
            pair.change(fair=rng.choice([NEVER, 16384, rng.randint(16384, 200000)]))
            pair.change(quantum=rng.choice([256, 1514, 5000]), visible=rng.randrange(2))
        else:
            pair.release(rng.randint(1, 12))
        pair.compare()
        if rng.random() < 0.01:
            pair.compare_statistics()
    assert pair.model.drop_limit > 300 and pair.bundles > 50
    assert pair.model.told > 0 and pair.model.anew > 0
    pair.compare_statistics()
    pair.release()
    assert d0.show()["evictions"] == 0


@pytest.mark.parametrize("case", [(0, 0), (50, 0), (0, 30), (50, 30), (90, 10)])
def test_victims(gate: Callable[..., Gate], case: tuple[int, int]) -> None:
    """Who is dropped by the shares of the groups, and what is left of each flow after that."""
    rng = random.Random(str(case))
    options = {"visible": 1, "fair": 16384, "known": case[0], "long": case[1]}
    d0 = gate(f"split_gso limit 60 {words(**options)} flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 60, **options)
    news = 1000
    for turn in range(40):
        limit = rng.randint(10, 60)
        pair.change(limit=limit)
        long = rng.randrange(4)  # more packets of each: groups differ in what they have waiting
        for _ in range(rng.randint(5, 80)):
            what = rng.random()
            if what < 0.3:
                news += 1
                chosen = flow(news)
            elif what < 0.5:
                chosen = flow(rng.randrange(4))
            else:
                chosen = flow(100 + turn // 8 * 12 + rng.randrange(12))  # others after a while
            for _ in range(rng.randint(1, 1 + 3 * long)):
                pair.send(chosen, length_for(rng, chosen))
            pair.compare()
        pair.compare_statistics()
        if turn % 3 == 0:
            pair.change(limit=rng.randint(1, limit))
            pair.compare()
        # In what order they leave depends on what long flows are owed, but who is left does not.
        assert sorted(d0.order()) == sorted(pair.model.release())
        pair.compare()
        while pair.model.queues[flow(0).name].attained < options["fair"]:
            pair.send(flow(0), 1514)
            pair.release()
        pair.send(flow(0), 1514)
        pair.release()  # a long flow that is alone is not late
    assert pair.model.drop_limit > 500
