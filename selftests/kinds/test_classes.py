# SPDX-License-Identifier: GPL-2.0
"""The list of flows that all kinds show as classes."""

import subprocess
from collections.abc import Callable

import pytest

from selftests.lib.command import refused
from selftests.lib.gate import Gate, tcp_flow
from selftests.lib.options import of
from selftests.lib.told import classes, flows

A, B = tcp_flow(2), tcp_flow(5)


@pytest.fixture
def gate(gate: Callable[..., Gate], kind: str) -> Callable[..., Gate]:
    return lambda options: gate(f"{options} {of(kind).text(of(kind).records)}")


def test_queues_are_listed(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 64 idle 86400s")
    assert classes() == {}
    d0.send(A.frame(700, 0))
    d0.release()
    assert classes() == {}  # those that hold packets
    for ident in range(3):
        d0.send(A.frame(1000, ident))
    d0.send(B.frame(500, 3))
    found = sorted((each["backlog"], each["qlen"]) for each in classes().values())
    assert found == [(500, 1), (3000, 3)]
    assert all(0x8000 <= minor < 0x8000 + 64 for minor in classes())
    d0.command("park 4")
    assert classes() == {}


def test_lab_sees_the_same(gate: Callable[..., Gate]) -> None:
    """lab/guest/queues lists flows in the order in which they are first seen."""
    d0 = gate("idle 86400s")
    sampler = ["lab/guest/queues", "--dev", "d0", "--flows", "2", "--interval", "0.1"]
    for each, packets in ((B, 2), (A, 3)):
        for ident in range(packets):
            d0.send(each.frame(1000, ident))
    text = subprocess.run([*sampler, "--duration", "0.2"], capture_output=True, text=True).stdout
    head, *rows, end = text.splitlines()
    assert (head, end) == ("queues flows 2 interval_us 100000", "#end intervals 2")
    assert rows[0] == rows[1] and sorted(rows[0].split(",")) == ["2000", "3000"]
    assert len(classes()) == 2


def test_classes_cannot_be_made(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate("idle 86400s")
    d0.send(A.frame(100, 1))
    for minor in (1, 2, 3, next(iter(classes()))):
        refused(f"tc class add dev d0 parent 10: classid 10:{minor:x} {kind}")
        refused(f"tc class change dev d0 parent 10: classid 10:{minor:x} {kind}")
        refused(f"tc class del dev d0 classid 10:{minor:x}")
        refused(f"tc qdisc add dev d0 parent 10:{minor:x} pfifo")
    assert d0.order() == [1]


def test_flows_without_a_number_have_the_last(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 131072 limit 4000 idle 86400s")
    for number in range(400):
        d0.send(tcp_flow(number).frame(100, number))
    listed = [each for each in flows() if each.qlen]
    assert len({each.numbers["record"] for each in listed}) == len(listed) == 400
    assert all(each.minor == min(0x8000 + each.numbers["record"], 0xFFFF) for each in listed)
    assert 200 < [each.minor for each in listed].count(0xFFFF) < 350  # three quarters


def test_flows_without_a_record_are_none(gate: Callable[..., Gate]) -> None:
    d0 = gate("flows 8 idle 86400s")
    for number in range(10):
        d0.send(tcp_flow(number).frame(100, number))
    assert len([each for each in flows() if each.qlen]) == 8
