# SPDX-License-Identifier: GPL-2.0
"""Mistakes that other qdiscs have made, by name; ours must not repeat them.

All that qlen counts is in gso_skb, and something has to be dropped (CVE-2025-38115, -38637):
    test_drop_while_parked; test_limits.py, test_random.py
The same in change (CVE-2025-39677): test_change_while_parked; test_limits.py
A parent that peeks before it takes (CVE-2023-4921, CVE-2026-43496): test_peeked_through
Drops in enqueue, after which the parent's class is put to sleep twice or with packets
(CVE-2025-37797, -37798, -37823, -38000, -38350): test_class_is_not_put_to_sleep; test_parents.py,
    and the gate of all tests is such a parent
netem duplicates, and enqueue is entered again (CVE-2025-37890): test_duplicates; test_parents.py
Values that are tiny or overflow (CVE-2024-57996, CVE-2025-37752, -38193): test_extreme_values;
    test_limits.py, test_netlink.py
Timers and workers (CVE-2025-38083, -38107, -38108): ours have neither; churn.sh
Graft below another parent, to what is no class, classid root (CVE-2025-21700, -21971, -38457):
    test_graft_elsewhere, test_no_class_to_graft; test_classes.py
Errors of init and change free what is in use (CVE-2026-22976, -22999): test_netlink.py
Lengths run past an array (CVE-2023-3611, -31436): test_size_table_makes_giants; test_gso.py
"""

import random
import time
from collections.abc import Callable

import pytest

from selftests.lib.command import refused, run
from selftests.lib.gate import Device, Flow, Gate, flow, identity, show_at
from selftests.lib.options import of

# One full packet passes at once, none for two minutes; tbf has peeked at the next.
SLOW = "rate 100bit burst 1600 limit 1mb"
FAST = "rate 1gbit burst 4kb limit 1mb"


class Sender:
    """Frames of 1000 bytes and more, which are numbered."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.sent = 0

    def __call__(self, each: Flow, length: int = 1000, priority: int = 0) -> bool:
        self.sent += 1
        return self.device.send(each.frame(length, self.sent), priority)


def tbf_above(kind: str, options: str) -> None:
    run(f"tc qdisc add dev d0 root handle 1: tbf {SLOW}")
    run(f"tc qdisc add dev d0 parent 1:1 handle 10: {kind} {options}")


def drained(device: Device, parents: list[str]) -> list[bytes]:
    """Let tbf send everything; all counts below it have to come back to 0."""
    run(f"tc qdisc change dev d0 root handle 1: tbf {FAST}")
    assert not device.send(flow(0).frame(5000, 0))  # too much for tbf, but makes it look
    device.wait_until_empty("tbf")
    for parent in ["root", *parents]:
        shown = show_at(parent) if parent != "root" else device.show("tbf")
        assert (shown["qlen"], shown["backlog"]) == (0, 0), parent
    return device.frames()


def test_drop_while_parked(device: Device, kind: str, variant: str) -> None:
    tbf_above(kind, f"{variant} limit 1")
    send = Sender(device)
    send(flow(0), 1500)
    for number in range(1, 9):
        send(flow(number))
        shown = show_at("1:1")
        # the one that tbf has peeked at, and the one that limit lets wait
        assert (shown["qlen"], shown["backlog"]) == (min(number, 2), 1000 * min(number, 2))
    assert device.show("tbf")["qlen"] == 2
    assert show_at("1:1")["drops"] == 6
    assert len(drained(device, ["1:1"])) == 3


@pytest.mark.parametrize("change", ["limit 1", "memory_limit 4096b"])
def test_change_while_parked(device: Device, kind: str, variant: str, change: str) -> None:
    tbf_above(kind, f"{variant} limit 10")
    send = Sender(device)
    send(flow(0), 1500)
    for number in range(10):
        send(flow(number), 1500)
    run(f"tc qdisc change dev d0 parent 1:1 {kind} {change}")
    shown = show_at("1:1")
    assert (shown["qlen"], shown["backlog"]) == (2, 3000) and shown["drops"] == 8
    assert device.show("tbf")["qlen"] == 2
    send(flow(20))
    assert len(drained(device, ["1:1"])) == 3


@pytest.mark.parametrize("between", ["drr", "hfsc", "htb", "prio", "qfq"])
def test_peeked_through(device: Device, kind: str, variant: str, between: str) -> None:
    """tbf peeks at the one between, which peeks at our kind or takes a packet early."""
    run(f"tc qdisc add dev d0 root handle 1: tbf {SLOW}")
    run(f"tc qdisc add dev d0 parent 1:1 handle 2: {between}")
    if between != "prio":
        run(f"tc class add dev d0 parent 2: classid 2:1 {CLASSES[between]}")
    run(f"tc qdisc add dev d0 parent 2:1 handle 10: {kind} {variant} limit 6")
    send = Sender(device)
    for number in range(30):
        send(flow(number % 7), 1000, 0x20001)
        shown = show_at("2:1")
        assert shown["qlen"] <= 7 and shown["backlog"] == 1000 * shown["qlen"]
    drops = show_at("2:1")["drops"]
    assert len(drained(device, ["2:1"])) == send.sent - drops


CLASSES = {
    "drr": "drr quantum 1000",
    "ets": None,
    "hfsc": "hfsc sc rate 1gbit ul rate 1gbit",
    "htb": "htb rate 1gbit",
    "prio": None,
    "qfq": "qfq weight 1 maxpkt 2048",
}


@pytest.mark.parametrize("parent", CLASSES)
def test_class_is_not_put_to_sleep(device: Device, kind: str, variant: str, parent: str) -> None:
    """
    Two classes, in each of which a newcomer replaces what waits, below a link that lets packets
    out between: a class that was put to sleep twice, or with packets, would never be emptied.
    """
    rng = random.Random(parent)
    run("tc qdisc add dev d0 root handle 1: tbf rate 400kbit burst 1600 limit 1mb")
    run(f"tc qdisc add dev d0 parent 1:1 handle 2: {parent} {'bands 2' if parent == 'ets' else ''}")
    for minor in (1, 2):
        if CLASSES[parent]:
            run(f"tc class add dev d0 parent 2: classid 2:{minor} {CLASSES[parent]}")
        run(f"tc qdisc add dev d0 parent 2:{minor} handle {minor}0: {kind} {variant} limit 1")
    send = Sender(device)
    drops = 0
    while drops <= 100 or send.sent < 400:  # a busy machine sends no faster than the link does
        assert send.sent < 4000
        for _ in range(40):
            each = flow(rng.randrange(12), seq=1000 * send.sent)
            send(each, rng.randint(each.shortest, 1514), 0x20000 + rng.choice([1, 1, 2]))
        run(f"tc qdisc change dev d0 parent 2:1 {kind} limit {rng.randint(1, 3)}")
        drops = show_at("2:1")["drops"] + show_at("2:2")["drops"]
    assert len(drained(device, ["2:1", "2:2"])) == send.sent - drops


@pytest.mark.mended  # a class is inserted twice
@pytest.mark.parametrize("root", ["drr", "hfsc", "qfq"])
def test_duplicates(device: Device, kind: str, variant: str, root: str) -> None:
    """netem puts its copy in at the root, which is in the middle of an enqueue."""
    run("tc qdisc add dev d0 root handle 1: tbf rate 400kbit burst 1600 limit 1mb")
    run(f"tc qdisc add dev d0 parent 1:1 handle 2: {root}")
    for minor in (1, 2):
        run(f"tc class add dev d0 parent 2: classid 2:{minor} {CLASSES[root]}")
    run("tc qdisc add dev d0 parent 2:1 handle 3: netem duplicate 100%")
    run(f"tc qdisc add dev d0 parent 3:1 handle 10: {kind} {variant} limit 2")
    run(f"tc qdisc add dev d0 parent 2:2 handle 20: {kind} {variant} limit 2")
    send = Sender(device)
    while show_at("3:1")["drops"] <= 50:  # netem hands on when the link asks for more
        assert send.sent < 4000
        time.sleep(0.02)
        for number in range(200):
            send(flow(number % 10), 1000, 0x20001 + number % 3 // 2)
    assert len(drained(device, ["3:1", "2:2"])) > 5


def test_extreme_values(device: Device, kind: str) -> None:
    for extreme in of(kind).extremes:
        tbf_above(kind, of(kind).text(of(kind).brisk(extreme)))
        send = Sender(device)
        for number in range(200):
            each = flow(number % 30, seq=number << 24)
            send(each, 1500, 0x100002 if number % 5 == 0 else 0)
        drops = show_at("1:1")["drops"]
        assert len(drained(device, ["1:1"])) == send.sent - drops
        for number in range(20):  # and again, after a pause in which the link was measured
            send(flow(number), 1500)
        drained(device, ["1:1"])
        run("tc qdisc del dev d0 root")
    run("tc qdisc add dev d0 root pfifo")  # for close() to delete


@pytest.mark.mended
def test_graft_elsewhere(device: Device, kind: str) -> None:
    """A qdisc that has packets and a class is not to be another class's too."""
    run(f"tc qdisc add dev d0 root handle 1: tbf {SLOW}")
    run("tc qdisc add dev d0 parent 1:1 handle 2: drr")
    for minor in (1, 2):
        run(f"tc class add dev d0 parent 2: classid 2:{minor} drr")
    run(f"tc qdisc add dev d0 parent 2:1 handle 10: {kind} limit 5")
    send = Sender(device)
    for number in range(9):
        send(flow(number), 1000, 0x20001)
    refused(f"tc qdisc replace dev d0 parent 2:2 handle 10: {kind} limit 3")
    shown = show_at("2:1")
    assert shown["options"]["limit"] == 5 and shown["qlen"] in (5, 6)
    drops = shown["drops"]
    assert len(drained(device, ["2:1"])) == send.sent - drops


@pytest.mark.parametrize("parent", ["10:", "10:1", "10:2", "10:7", "10:8001", "10:ffff"])
def test_no_class_to_graft(device: Device, kind: str, parent: str) -> None:
    run(f"tc qdisc add dev d0 root handle 10: {kind}")
    device.send(flow(1).frame(1000, 1))
    refused(f"tc qdisc add dev d0 parent {parent} handle 20: pfifo")
    refused(f"tc qdisc replace dev d0 parent {parent} handle 20: {kind}")
    for classid in (parent, "root", "10:9"):
        refused(f"tc class add dev d0 parent {parent} classid {classid} drr")
    assert len(run("tc qdisc show dev d0").splitlines()) == 1


def test_size_table_makes_giants(gate: Callable[..., Gate]) -> None:
    """Three packets of two thousand million bytes are more than 32 bits can count."""
    d0 = gate("limit 100 idle 86400s", stab="stab overhead 2000000000")
    for ident in range(5):
        d0.send(flow(0).frame(1000, ident))
        d0.send(flow(1).frame(1000, 10 + ident))
    order = d0.order()
    assert [ident for ident in order if ident < 10] == list(range(5))
    assert [ident for ident in order if ident >= 10] == list(range(10, 15))
    d0.send(flow(0).frame(1000, 20))
    d0.send(flow(2).frame(1000, 21))
    d0.change("limit 1")
    assert [identity(frame) for frame in d0.release()] in ([20], [21])
    assert d0.state()["backlog"] == 0
