# SPDX-License-Identifier: GPL-2.0
"""The two classes, what puts a packet into them, LAS-log, and the list of flows."""

import itertools
import random
from collections.abc import Callable

import pytest

from selftests.lib.command import refused, run
from selftests.lib.gate import Flow, Gate, flow
from selftests.lib.groups import LONG, SHORT
from selftests.lib.told import classes

from .pair import Pair
from .test_random import HUGE_IDLE

A, B = flow(4), flow(9)  # UDP, from port 1028 over IPv4 and from 1033 over IPv6
FILTERS = {
    "flower": "protocol ip flower ip_proto udp src_port 1028",
    "u32": "protocol ip u32 match ip sport 1028 0xffff",
    "matchall": "protocol ip matchall",
    "IPv6": "protocol ipv6 flower ip_proto udp src_port 1029",
}
ON_LAS = "dev d0 parent 10:"
NUMBERS = itertools.count()


def priority(d0: Gate, each: Flow, mark: int = 0) -> bool:
    """Is a packet of this flow, a new one, in the priority class?"""
    other = flow(4 * next(NUMBERS) + 1001)  # UDP over IPv6
    for ident in range(10):
        d0.send(each.frame(1000, ident), mark)
        d0.send(other.frame(1000, ident))
    d0.release()
    d0.send(each.frame(1000, 1), mark)  # rank 11236, which is 1500 * log2(10000 / 1500)^2
    d0.send(other.frame(1000, 2))  # rank 10000
    d0.send(each.frame(1000, 3), mark)  # some 12393
    d0.send(other.frame(1000, 4))  # rank 11000
    return d0.order() == [2, 4, 1, 3]


@pytest.mark.parametrize("minor, expected", [(1, False), (2, True), (3, False), (0, False)])
def test_skb_priority(gate: Callable[..., Gate], minor: int, expected: bool) -> None:
    d0 = gate(HUGE_IDLE)
    assert priority(d0, A, 0x100000 | minor) == expected


def test_skb_priority_of_another_qdisc(gate: Callable[..., Gate]) -> None:
    assert not priority(gate(HUGE_IDLE), A, 0x110002)


@pytest.mark.parametrize("mark", [1, 2])
def test_skb_priority_without_a_handle(gate: Callable[..., Gate], mark: int) -> None:
    """The default qdisc has the handle 0:, and 0:2 is what packets of bulk have."""
    run("sysctl -qw net.core.default_qdisc=las")
    try:
        d0 = gate(None)
    finally:
        run("sysctl -qw net.core.default_qdisc=pfifo_fast")
    assert "qdisc las 0: parent 1:1" in run("tc qdisc show dev d0 invisible")
    for ident in range(0, 20, 2):
        d0.send(A.frame(1000, ident), mark)
        d0.send(flow(1001).frame(1000, ident + 1))
    # As LAS-log ranks, the first flow would be behind the other
    assert d0.order() == [0, 1, *range(2, 20, 2), *range(3, 20, 2)]


@pytest.mark.parametrize("name", FILTERS)
def test_filter(gate: Callable[..., Gate], name: str) -> None:
    d0 = gate(HUGE_IDLE)
    run(f"tc filter add {ON_LAS} {FILTERS[name]} classid 10:2")
    inside, outside = (flow(5) if name == "IPv6" else A), flow(7)
    assert priority(d0, inside)
    assert not priority(d0, outside)
    run(f"tc filter del {ON_LAS}")
    d0.renew(HUGE_IDLE)
    assert not priority(d0, inside)


@pytest.mark.parametrize("classid, expected", [("10:1", False), ("10:2", True), ("10:7", False)])
def test_classid(gate: Callable[..., Gate], classid: str, expected: bool) -> None:
    d0 = gate(HUGE_IDLE)
    run(f"tc filter add {ON_LAS} protocol ip prio 1 flower ip_proto udp classid {classid}")
    run(f"tc filter add {ON_LAS} protocol ip prio 2 matchall classid 10:2")
    assert priority(d0, A) == expected
    assert priority(d0, flow(6))  # TCP
    assert not priority(d0, flow(10), 0x100001)  # skb->priority comes first


def test_change_of_class_keeps_a_flow_in_order(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"log 4 {HUGE_IDLE}")
    d0.send(A.frame(9000, 0))
    d0.release()
    for ident in range(6):
        d0.send(A.frame(9000, ident))  # ranks from 9000 on
    run(f"tc filter add {ON_LAS} {FILTERS['u32']} classid 10:2")
    d0.send(A.frame(9000, 6))  # rank 2232 by itself
    d0.send(B.frame(100, 10))
    run(f"tc filter del {ON_LAS}")
    d0.send(A.frame(9000, 7))
    d0.send(B.frame(100, 11))
    assert d0.order() == [10, 11, *range(8)]


@pytest.mark.parametrize("k", [250, 500, 1000, 4000])
def test_log_against_the_model(gate: Callable[..., Gate], k: int) -> None:
    d0 = gate(f"limit 60 log {k / 1000} flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 60, log=k)
    rng = random.Random(k)
    for step in range(150):
        for _ in range(rng.randint(1, 6)):
            number = rng.randrange(8)
            each = flow(number)
            pair.send(each, rng.choice([each.shortest, 300, 1514, 6000]), priority=number < 4)
        pair.release(rng.randint(1, 5))
        pair.compare()
        if step == 100:
            pair.release()  # what waits would be ranked anew
            pair.change(log={250: 4000, 500: 1000, 1000: 250, 4000: 300}[k])
    pair.compare_statistics()
    pair.release()


def test_priority_is_never_behind_a_long_flow(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"log 0.25 fair 16384b {HUGE_IDLE}")
    pair = Pair(d0, 10000, fair=16384, log=250, visible=0)
    for _ in range(12):
        pair.send(A, 9000, priority=True)  # 4 bytes would make more than fair
        pair.send(B, 9000)
        pair.release()
    pair.send(B, 1000)
    pair.send(A, 1000, priority=True)
    assert pair.model.queues[A.name].group == SHORT and pair.model.queues[B.name].group == LONG
    pair.release()


def test_flows_are_listed(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"flows 64 {HUGE_IDLE}")
    assert classes() == {}
    d0.send(A.frame(700, 0))
    d0.send(B.frame(800, 0))
    d0.release()
    assert classes() == {}  # those that hold packets
    for ident in range(3):
        d0.send(A.frame(1000, ident))
    d0.send(B.frame(500, 3))
    listed = classes()
    assert all(0x8000 <= minor < 0x8000 + 64 for minor in listed)
    assert sorted(tuple(sorted(each.items())) for each in listed.values()) == [
        (("attained", 1300), ("backlog", 500), ("host", 0), ("qlen", 1)),
        (("attained", 3700), ("backlog", 3000), ("host", 0), ("qlen", 3)),
    ]
    d0.command("park 2")  # one of each: B holds none now
    assert [each["qlen"] for each in classes().values()] == [2]
    d0.release()
    assert classes() == {}


def test_classes_cannot_be_made(gate: Callable[..., Gate]) -> None:
    d0 = gate(HUGE_IDLE)
    d0.send(A.frame(100, 1))
    minor = next(iter(classes()))
    for number in ("1", "2", "3", f"{minor:x}"):
        refused(f"tc class add dev d0 parent 10: classid 10:{number} las")
        refused(f"tc class change dev d0 parent 10: classid 10:{number} las")
        refused(f"tc class del dev d0 classid 10:{number}")
        refused(f"tc qdisc add dev d0 parent 10:{number} pfifo")
    refused("tc qdisc replace dev d0 parent 10:0 pfifo")
    refused(f"tc filter add dev d0 parent 10:2 {FILTERS['u32']} classid 10:2")
    assert d0.order() == [1]
