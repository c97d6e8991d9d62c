# SPDX-License-Identifier: GPL-2.0
"""Each kind under the kernel's other qdiscs, while it pushes packets out."""

import json
import random
from collections.abc import Callable

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Device, Gate, flow, show_at

pytestmark = pytest.mark.each_kernel

# What to put under the gate, and the class that the kind is to be in
MATCHALL = "tc filter add dev d0 parent {}: protocol all matchall classid {}:1"
ONE_BAND = "bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
HFSC = [
    "tc qdisc replace dev d0 parent 1:1 handle 2: hfsc default 1",
    "tc class add dev d0 parent 2: classid 2:1 hfsc sc rate 10gbit",
]
PARENTS = {
    "prio": [f"tc qdisc replace dev d0 parent 1:1 handle 2: prio {ONE_BAND}"],
    "ets": [f"tc qdisc replace dev d0 parent 1:1 handle 2: ets {ONE_BAND}"],
    "drr": [
        "tc qdisc replace dev d0 parent 1:1 handle 2: drr",
        "tc class add dev d0 parent 2: classid 2:1 drr quantum 300",
        MATCHALL.format(2, 2),
    ],
    "qfq": [
        "tc qdisc replace dev d0 parent 1:1 handle 2: qfq",
        "tc class add dev d0 parent 2: classid 2:1 qfq weight 1 maxpkt 2048",
        MATCHALL.format(2, 2),
    ],
    "hfsc": HFSC,
    "hfsc, drr": [
        *HFSC,
        "tc qdisc replace dev d0 parent 2:1 handle 3: drr",
        "tc class add dev d0 parent 3: classid 3:1 drr quantum 300",
        MATCHALL.format(3, 3),
    ],
    "hfsc, prio": [*HFSC, f"tc qdisc replace dev d0 parent 2:1 handle 3: prio {ONE_BAND}"],
    "htb": [
        "tc qdisc replace dev d0 parent 1:1 handle 2: htb default 1",
        "tc class add dev d0 parent 2: classid 2:1 htb rate 10gbit burst 10mb cburst 10mb",
    ],
    "tbf": ["tc qdisc replace dev d0 parent 1:1 handle 2: tbf rate 10gbit burst 10mb limit 1mb"],
}


@pytest.mark.parametrize("parent", PARENTS)
def test_under(gate: Callable[..., Gate], kind: str, variant: str, parent: str) -> None:
    """The gate checks the parent's counts, which are right only if those below are."""
    d0 = gate()
    for step in PARENTS[parent]:
        run(step)
    above = "3:1" if "," in parent else "2:1"
    run(f"tc qdisc replace dev d0 parent {above} handle 10: {kind} {variant} limit 8")
    rng = random.Random(parent)
    sent = accepted = out = 0
    for step in range(120):
        for _ in range(rng.randint(1, 6)):
            sent += 1
            each = flow(rng.randrange(10), seq=5000 * step)
            accepted += d0.send(each.frame(rng.randint(each.shortest, 1514), sent))
        d0.state()
        if step in (40, 80):
            run(f"tc qdisc change dev d0 parent {above} handle 10: {kind} limit {81 // step}")
        out += len(d0.release(rng.randint(0, 5)))
    for number in range(3):
        sent += 1
        accepted += d0.send(flow(100 + number).frame(1000, sent))
    held, shown = d0.state(), show_at(above)
    between = held["qlen"] - shown["qlen"]  # what a qdisc between may have taken by a peek
    assert shown["qlen"] > 0 and 0 <= between <= parent.count(",")
    assert between or held["backlog"] == shown["backlog"]
    out += len(d0.release())
    shown = show_at(above)
    assert d0.state()["qlen"] == shown["qlen"] == 0
    assert out == sent - shown["drops"] == shown["packets"]
    assert sent > accepted > out  # newcomers were refused and others pushed out


@pytest.mark.parametrize(
    "root",
    [
        "tbf rate 20mbit burst 4kb limit 100kb",
        # Which once counted its own packets and its child's in one place
        pytest.param("netem rate 20mbit duplicate 50%", marks=pytest.mark.mended),
        pytest.param("netem delay 3ms 1ms", marks=pytest.mark.mended),
    ],
)
def test_under_a_root_that_takes_its_time(
    device: Device, kind: str, variant: str, root: str
) -> None:
    run(f"tc qdisc add dev d0 root handle 1: {root}")
    run(f"tc qdisc add dev d0 parent 1:1 handle 10: {kind} {variant} limit 8")
    for ident in range(400):
        each = flow(ident % 10)
        device.send(each.frame(each.shortest + ident, ident))
    device.wait_until_empty(root.split()[0])
    assert len(device.frames()) >= 8  # more on a fast machine
    for each in (kind, root.split()[0]):
        assert (device.show(each)["qlen"], device.show(each)["backlog"]) == (0, 0)


class WideDevice(Device):
    dev = "d1"
    queues = 2


def test_under_mq(kind: str) -> None:
    """mq has no counts of its own: those of its children have to add up."""
    device = WideDevice(kind)
    try:
        run("tc qdisc add dev d1 root handle 1: mq")
        for queue in (1, 2):
            slow = "tbf rate 100bit burst 1600 limit 1mb"
            run(f"tc qdisc add dev d1 parent 1:{queue} handle {queue}0: {slow}")
            run(f"tc qdisc add dev d1 parent {queue}0:1 handle {queue}1: {kind} limit 6")
        for limit in (6, 2):
            for queue in (1, 2):
                run(f"tc qdisc change dev d1 parent {queue}0:1 {kind} limit {limit}")
            for number in range(100):
                device.send(flow(number).frame(1400, number))
            shown = json.loads(run("tc -s -j qdisc show dev d1"))
            mq, *others = (shown[0], *(each for each in shown if each["kind"] == kind))
            # one is with tbf, which has peeked at it
            assert [each["qlen"] for each in others] == [limit + 1] * 2
            for key in ("qlen", "backlog", "drops"):
                assert mq[key] == sum(each[key] for each in others), key
    finally:
        device.close()
