# SPDX-License-Identifier: GPL-2.0
"""A packet that finds the root qdisc empty is sent without it, unless something depends on it."""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from selftests.lib.command import alone
from selftests.lib.gate import flow

DEV = "e0"
PACKETS = 5


@pytest.fixture
def empty(kind: str) -> Iterator[str]:
    """A device without a queue of its own, and the root qdisc of this kind"""
    alone(f"ip link add {DEV} type dummy")
    alone(f"ip link set {DEV} up")
    alone(f"sysctl -qw net.ipv6.conf.{DEV}.disable_ipv6=1")
    alone(f"tc qdisc add dev {DEV} root handle 10: {kind}")
    yield kind
    alone(f"ip link del {DEV}")


def sent(counter: str) -> tuple[int, int]:
    """Send some packets, one at a time. How many the device has sent, and what this counter adds"""
    before = shown()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((DEV, 0))
        for number in range(PACKETS):
            sock.send(flow(number).frame(1000, number))
    time.sleep(0.05)  # a rate lets them go one by one
    after = shown()
    return after["packets"] - before["packets"], after[counter] - before[counter]


def shown() -> dict[str, int]:
    only = json.loads(alone(f"tc -s -j qdisc show dev {DEV}"))[0]
    return only | only.pop("options")


@pytest.mark.each_kernel
@pytest.mark.has("plain")
def test_who_counts(empty: str) -> None:
    """Nobody, unless there is a rate, a filter, or the policy as published."""
    assert sent("flows_seen") == (PACKETS, 0)
    for words, undo in (("rate 1gbit", "rate unlimited"), ("plain", "noplain")):
        alone(f"tc qdisc change dev {DEV} root {empty} {words} idle 1ms")
        assert sent("flows_seen") == (PACKETS, PACKETS)
        alone(f"tc qdisc change dev {DEV} root {empty} {undo}")
        assert sent("flows_seen") == (PACKETS, 0)
    alone(f"tc filter add dev {DEV} parent 10: pref 1 matchall classid 10:1")
    assert sent("flows_seen") == (PACKETS, PACKETS)
    alone(f"tc filter del dev {DEV} parent 10: pref 1")
    assert sent("flows_seen") == (PACKETS, 0)


@pytest.mark.each_kernel
def test_filters_are_asked(empty: str) -> None:
    """Also those that name no class."""
    assert sent("drops") == (PACKETS, 0)
    alone(f"tc filter add dev {DEV} parent 10: pref 1 matchall action drop")
    assert sent("drops") == (0, PACKETS)
    alone(f"tc filter add dev {DEV} parent 10: pref 2 matchall action ok")
    alone(f"tc filter del dev {DEV} parent 10: pref 1")
    assert sent("drops") == (PACKETS, 0)
    alone(f"tc filter add dev {DEV} parent 10: pref 1 matchall action drop")
    alone(f"tc filter del dev {DEV} parent 10:")
    assert sent("drops") == (PACKETS, 0)
