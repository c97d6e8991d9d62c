# SPDX-License-Identifier: GPL-2.0
"""What all kinds tell of flows and hosts, and to whom."""

import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q

from selftests.lib.command import alone, run
from selftests.lib.gate import (
    Flow,
    Gate,
    arp,
    ethertype,
    flow,
    flow_of,
    host_flow,
    icmp,
    tcp_flow,
)
from selftests.lib.netlink import GETTCLASS, KIND, Netlink, attributes
from selftests.lib.options import of
from selftests.lib.told import Told, flows, hosts, told

A, B = tcp_flow(2), tcp_flow(5)
HUGE_IDLE = "idle 86400s"
GROUPS = ("las", "sqf")  # kinds that know of every flow when it leaves, and of hosts


@pytest.fixture
def gate(gate: Callable[..., Gate], kind: str) -> Callable[..., Gate]:
    """All flows have records."""
    return lambda options: gate(f"{options} {of(kind).text(of(kind).records)}")


def only(found: list[Told]) -> Told:
    assert len(found) == 1, found
    return found[0]


def head(each: Told, kind: str) -> str:
    """The line that tc begins with"""
    units = {"level": "b", "waited": "us", "silent": "ms"}
    numbers = [f"{name} {value}{units.get(name, '')}" for name, value in each.numbers.items()]
    who = [each.sort, each.proto, each.src, each.dst and f"> {each.dst}"]
    words = ["rest" if each.type == "overflow" else each.type, *filter(None, who), *numbers]
    return f"class {kind} 10:{each.minor:x} parent 10: {' '.join(words)}"


def lines(each: Told, kind: str) -> list[str]:
    """All that tc prints of it"""
    own = {
        name: f"{v}b" if name in ("attained", "rank") else v for name, v in each.statistics.items()
    }
    found = [
        head(each, kind),
        f" Sent {each.bytes} bytes {each.packets} pkt"
        f" (dropped {each.drops}, overlimits {each.marks} requeues 0)",
        f" backlog {each.backlog}b {each.qlen}p requeues 0",
    ]
    if own:
        order = sorted(own)  # attained, host
        found.append("  " + " ".join(f"{name} {own[name]}" for name in order))
    return [without_times(line) for line in found]


def in_json(each: Told, kind: str) -> dict[str, Any]:
    units = {"waited": "_us", "silent": "_ms"}
    found = {"class": kind, "handle": f"10:{each.minor:x}", "parent": "10:"}
    found |= {name + units.get(name, ""): value for name, value in each.attributes.items()}
    found["type"] = "rest" if each.type == "overflow" else each.type
    if each.sort:
        found["sort"] = each.sort
    if found.pop("ethertype", None):
        found["proto"] = each.proto
    queue = {"overlimits": each.marks, "requeues": 0, "backlog": each.backlog, "qlen": each.qlen}
    sent = {"bytes": each.bytes, "packets": each.packets, "drops": each.drops}
    return found | {"stats": sent | queue | each.statistics}


def without_times(text: str) -> str:
    return re.sub(r"(waited|silent|level) \d+", r"\1 N", text)


def said_by_tc(who: str = "") -> list[str]:
    """Of all but the gate's class, without what changes with time"""
    printed = without_times(run(f"{who} tc -s class show dev d0")).splitlines()
    return [line.rstrip() for line in printed if line and not line.startswith("class gate")]


@pytest.mark.each_kernel
def test_tc_says_the_same(gate: Callable[..., Gate], kind: str) -> None:
    """In text, and in JSON where it has classes in that"""
    d0 = gate(f"{'hosts src host_records 8' * (kind in GROUPS)} flows 8 {HUGE_IDLE}")
    for number in range(12):
        d0.send(host_flow(number, 1 + number).frame(1000, number))
        d0.release(1 if number < 3 else 0)
    seen = told()
    assert {each.type for each in seen} == {"flow", *["host", "overflow"] * (kind in GROUPS)}
    assert said_by_tc() == [line for each in seen for line in lines(each, kind)]
    printed = run("tc -s -j class show dev d0")
    if not printed.startswith("["):
        return
    times = ("waited_us", "silent_ms", "level")
    assert [each | {n: 0 for n in times if n in each} for each in json.loads(printed)[1:]] == [
        each | {n: 0 for n in times if n in each} for each in (in_json(e, kind) for e in seen)
    ]


def test_a_flow_is_told_when_it_waits_and_when_it_does_not(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"flows 64 {HUGE_IDLE}")
    assert told() == []
    for ident in range(3):
        d0.send(A.frame(1000, ident))
    each = only(flows())
    assert (each.qlen, each.proto, each.src, each.dst) == (3, "tcp", "10.0.0.1:1030", "10.0.0.2:80")
    assert 0x8000 <= each.minor == 0x8000 + each.numbers["record"] < 0x8040
    assert "silent" not in each.numbers
    d0.release()
    each = only(flows())
    assert (each.qlen, each.bytes, each.packets, each.drops) == (0, 3000, 3, 0)
    assert "silent" in each.numbers and "waited" not in each.numbers
    d0.send(B.frame(500, 0))
    other = only([each for each in flows() if each.qlen])
    assert (other.src, other.dst) == ("[fd00::1]:1035", "[fd00::2]:80")
    d0.bounce()  # which resets the qdisc
    assert told() == []


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize(
    ("each", "proto", "src", "dst"),
    [
        (flow(0), "udp", "10.0.0.1:1024", "10.0.0.2:80"),
        (flow(1), "udp", "[fd00::1]:1025", "[fd00::2]:80"),
        (icmp(2), "icmp", "10.0.0.1", "10.0.0.2"),
        (icmp(3), "icmpv6", "fd00::1", "fd00::2"),
        (arp(1), "0x0806", "", ""),
        (ethertype(0x88B5), "0x88b5", "", ""),
        (flow_of("vlan", Dot1Q(vlan=5) / IP(src="10.0.0.1", dst="10.0.0.2")
                 / TCP(sport=7, dport=9)),
         "tcp", "10.0.0.1:7", "10.0.0.2:9"),
        (flow_of("esp", IP(src="10.0.0.1", dst="10.0.0.2", proto=50)), "ip-50",
         "10.0.0.1", "10.0.0.2"),
        (flow_of("fragment", IP(src="10.0.0.1", dst="10.0.0.2", flags="MF") / UDP(sport=7)),
         "udp", "10.0.0.1", "10.0.0.2"),
        (flow_of("tunnel", IP(src="10.0.0.1", dst="10.0.0.2")
                 / IPv6(src="fd00::5", dst="fd00::6") / UDP(sport=7, dport=9)),
         "udp", "[fd00::5]:7", "[fd00::6]:9"),
    ],
    ids=lambda each: each.name if isinstance(each, Flow) else "",
)  # fmt: skip
def test_who_it_is(gate: Callable[..., Gate], each: Flow, proto: str, src: str, dst: str) -> None:
    d0 = gate(HUGE_IDLE)
    d0.send(each.frame(200, 0))
    for _ in range(2):
        seen = only(flows())
        assert (seen.proto, seen.src, seen.dst) == (proto, src, dst)
        d0.release()


@pytest.mark.each_kernel
def test_no_class_is_listed_without_cap_net_admin(gate: Callable[..., Gate]) -> None:
    """No flow, no host and no overflow queue: their order tells the numbers of records."""
    d0 = gate(HUGE_IDLE)
    d0.send(A.frame(1000, 0))
    everything = said_by_tc()
    assert everything == lines(only(flows()), d0.kind)
    assert said_by_tc("setpriv --bounding-set=-sys_admin") == everything
    without = "setpriv --bounding-set=-net_admin --inh-caps=-net_admin"
    for who in (without, f"{without} --reuid=65534 --clear-groups"):
        assert said_by_tc(who) == []
    if d0.kind not in GROUPS:
        return
    for number in range(3):
        d0.send(host_flow(number).frame(1000, number))
    d0.change("hosts src")
    assert {each.type for each in told()} == {"flow", "host"}
    assert said_by_tc(without) == []


@pytest.mark.user_namespaces
@pytest.mark.each_kernel
def test_root_of_another_user_namespace_lists_no_class(gate: Callable[..., Gate]) -> None:
    """It has all capabilities there, and is still in this network namespace."""
    d0 = gate(HUGE_IDLE)
    d0.send(A.frame(1000, 0))
    assert said_by_tc("unshare --user --map-root-user") == []


def named(dump: list[tuple[int, bytes]]) -> list[bytes]:
    """The qdiscs of these classes"""
    return [attributes(data[20:])[KIND].rstrip(b"\0") for _, data in dump]


@pytest.fixture
def siblings(kind: str) -> Iterator[None]:
    """The device told has prio, and below it the qdisc with a flow, and others with classes."""
    options = of(kind).text(of(kind).records)
    alone("ip link add told up type dummy")
    alone("tc qdisc add dev told root handle 1: prio bands 16 priomap" + 16 * " 0")
    alone(f"tc qdisc add dev told parent 1:1 handle 20: {kind} {HUGE_IDLE} {options}")
    for number in range(2, 17):
        alone(f"tc qdisc add dev told parent 1:{number:x} handle {number + 20}: drr")
        alone(f"tc class add dev told parent {number + 20}: classid {number + 20}:1 drr")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind(("told", 0))
        for ident in range(3):
            sock.send(A.frame(1000, ident))
    yield
    alone("ip link del told")


@pytest.mark.each_kernel
def test_no_class_is_listed_on_a_socket_that_an_unprivileged_process_opened(
    siblings: None, kind: str
) -> None:
    """A privileged program reads from it. All classes of other qdiscs are listed."""
    whole = named(Netlink("told").dump(GETTCLASS))
    assert whole.count(kind.encode()) >= 1 and whole.count(b"drr") == 15
    os.seteuid(65534)
    try:
        opened = Netlink("told")
    finally:
        os.seteuid(0)
    assert named(opened.dump(GETTCLASS)) == [each for each in whole if each != kind.encode()]


def test_idle_flows_are_not_told(gate: Callable[..., Gate]) -> None:
    d0 = gate(HUGE_IDLE)
    d0.send(A.frame(1000, 0))
    d0.release()
    assert len(flows()) == 1
    d0.change("idle 500ms")
    run("sleep 1")
    assert flows() == []
    d0.send(B.frame(1000, 0))
    assert only(flows()).src.startswith("[fd00::1]")


@pytest.mark.parametrize("kind", GROUPS)
def test_another_flow_begins_with_nothing(gate: Callable[..., Gate]) -> None:
    """One that comes back after idle"""
    d0 = gate("flows 8 idle 500ms")
    d0.send(A.frame(1000, 0))
    d0.release()
    run("sleep 1")
    d0.send(A.frame(300, 0))
    d0.change(HUGE_IDLE)
    d0.release()
    each = only(flows())
    assert (each.bytes, each.packets) == (300, 1)


@pytest.mark.parametrize("kind", GROUPS)
def test_another_flow_with_the_same_record(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"flows 8 {HUGE_IDLE}")
    for number in range(9):
        d0.send(tcp_flow(number).frame(100 + number, 0))
        d0.release()
    assert sorted(each.bytes for each in flows())[-1] == 108
    assert all(each.bytes < 109 for each in flows())


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("by", ["none", "src"])
def test_what_was_dropped(gate: Callable[..., Gate], by: str) -> None:
    """Of a full buffer, those too large, and of the host, too, newcomers too many"""
    d0 = gate(f"limit 4 hosts {by} {HUGE_IDLE}")
    d0.send(A.frame(200, 0))
    d0.release()
    for ident in range(9):
        d0.send(A.frame(1000, ident))
    each = only(flows())
    assert (each.drops, each.bytes, each.qlen) == (5, 200, 4)
    d0.release()
    d0.change("memory_limit 4096")
    assert not d0.send(A.frame(5000, 0))
    each = only(flows())
    assert (each.drops, each.bytes, each.packets) == (6, 4200, 5)
    if by == "none":
        assert hosts() == {}
        return
    host = only([*hosts().values()])
    assert (host.drops, host.bytes, host.packets) == (6, 4200, 5)
    if d0.kind != "las":
        return  # none is refused as one newcomer too many
    d0.change("memory_limit 1Mb limit 1000 newcomers 1 known_share 0")
    d0.send(B.frame(100, 0))
    for _ in range(3):
        assert not d0.send(host_flow(40).frame(100, 0))
    assert hosts()[host.numbers["host"]].drops == 9
    assert sum(each.drops for each in flows()) == 6  # who is refused is not remembered


@pytest.mark.parametrize("kind", GROUPS)
def test_what_codel_does(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair 16384b hosts src ecn target 1us {HUGE_IDLE}")
    ect = flow_of("ect", IP(src="10.0.0.1", dst="10.0.0.2", tos=2) / TCP(sport=7, dport=9))
    for each in (A, ect):
        for _ in range(13):
            d0.send(each.frame(1500, 0))
            d0.release()
    for _ in range(20):
        for each in (A, ect):
            for ident in range(20):
                d0.send(each.frame(1500, ident))
        run("sleep 0.05")
        d0.command("park 8")  # so many leave: CoDel begins to wait
        run("sleep 0.05")
        d0.release()
    by_port = {each.src: each for each in flows()}
    plain, marked = by_port["10.0.0.1:1030"], by_port["10.0.0.1:7"]
    shown = d0.show()
    assert plain.sort == marked.sort == "long"
    assert plain.drops == shown["drop_codel"] > 0 and plain.marks == 0
    assert marked.marks == shown["marked"] > 0 and marked.drops == 0
    assert plain.packets == 13 + 400 - plain.drops and marked.packets == 13 + 400
    host = only([*hosts().values()])
    assert (host.drops, host.marks) == (plain.drops, marked.marks)
    assert host.packets == plain.packets + marked.packets


@pytest.mark.parametrize("kind", GROUPS)
def test_sorts(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair 16384b {HUGE_IDLE}")
    d0.send(A.frame(1000, 0))
    assert only(flows()).sort == ("new" if d0.kind == "las" else "short")
    d0.release()
    assert only(flows()).sort == "short"
    d0.send(A.frame(1000, 0))
    assert only(flows()).sort == "short"
    for _ in range(15):
        d0.send(A.frame(1500, 0))
        d0.release()
    assert only(flows()).sort == "long"
    d0.send(A.frame(1000, 0))
    assert only(flows()).sort == "long"


@pytest.mark.parametrize("kind", GROUPS)
def test_how_long_it_has_waited(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"hosts src {HUGE_IDLE}")
    d0.send(A.frame(1000, 0))
    run("sleep 0.3")
    d0.send(A.frame(1000, 0))
    waited = only(flows()).numbers["waited"]
    assert 300_000 <= waited < 30_000_000
    d0.release()
    run("sleep 0.3")
    for each in (only(flows()), only([*hosts().values()])):
        assert 300 <= each.numbers["silent"] < 30_000


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("by", ["src", "dst", "both"])
def test_hosts_are_told(gate: Callable[..., Gate], by: str) -> None:
    d0 = gate(f"hosts {by} {HUGE_IDLE}")
    for number, src, dst in ((0, 1, 2), (2, 1, 2), (1, 3, 4)):
        d0.send(host_flow(number, src, dst).frame(1000, number))
    found = {(each.src, each.dst): each for each in hosts().values()}
    whose = {"src": slice(0, 1), "dst": slice(1, 2), "both": slice(0, 2)}[by]
    for addresses, queued in ((("10.0.0.1", "10.0.0.2"), 2), (("fd00::3", "fd00::4"), 1)):
        shown = tuple(a if a in addresses[whose] else "" for a in addresses)
        each = found.pop(shown)
        assert (each.numbers["flows"], each.numbers["over"]) == (queued, 0)
        assert each.minor == 0x4000 + each.numbers["host"] and each.numbers["host"] > 1
    assert not found
    d0.release()
    assert sorted(each.bytes for each in hosts().values()) == [1000, 2000]
    # Of whom the flows are that have nothing waiting
    for each in flows():
        assert hosts()[each.numbers["host"]].bytes == (1000 if "fd00" in each.src else 2000)
    d0.change("hosts none")
    assert hosts() == {} and all("host" not in each.numbers for each in flows())


@pytest.mark.clock
@pytest.mark.parametrize("kind", GROUPS)
def test_what_a_host_has_sent(gate: Callable[..., Gate]) -> None:
    """Of short flows, less what leaks, and no more than an eighth beyond a second of the link"""
    d0 = gate(f"hosts src buffer 0 {HUGE_IDLE}")
    for _ in range(2):
        d0.send(A.frame(1500, 0))
    run("sleep 0.3")
    d0.release()  # a link of 40 kbit/s, unless the machine is slow
    for _ in range(20):
        d0.send(A.frame(1500, 0))
        d0.release()
    assert 2_500 < only([*hosts().values()]).numbers["level"] <= 5_625


@pytest.mark.parametrize("kind", GROUPS)
def test_hosts_beyond_the_last_minor_number(gate: Callable[..., Gate]) -> None:
    """They share it, and none has a flow's."""
    d0 = gate(f"hosts src host_records 32768 {HUGE_IDLE}")
    for src in range(64):
        d0.send(host_flow(2, src).frame(1000, src))
    found = hosts()
    assert max(found) > 0x4000
    for number, each in found.items():
        assert each.minor == min(0x4000 + number, 0x7FFF)


@pytest.mark.parametrize("kind", GROUPS)
def test_a_host_that_a_filter_names(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"hosts src {HUGE_IDLE}")
    run("tc filter add dev d0 parent 10: protocol all matchall classid 5:")
    d0.send(A.frame(1000, 0))
    each = only([*hosts().values()])
    assert (each.numbers["named"], each.src) == (5, "")


@pytest.mark.parametrize("kind", GROUPS)
def test_who_has_no_record(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"flows 8 hosts src host_records 8 {HUGE_IDLE}")
    for number in range(12):
        d0.send(host_flow(2 * number, 1 + number).frame(1000, number))
    rest = only([each for each in told() if each.type == "overflow"])
    assert (rest.qlen, rest.sort, rest.minor) == (4, "long", 0x8008)
    assert 1 in hosts() and hosts()[1].src == ""
    d0.release()
    rest = only([each for each in told() if each.type == "overflow"])
    assert (rest.qlen, rest.bytes, rest.packets) == (0, 4000, 4)
    assert sum(each.bytes for each in hosts().values()) == 12000


@pytest.mark.parametrize("kind", GROUPS)
def test_who_has_no_record_and_is_refused(gate: Callable[..., Gate]) -> None:
    """A packet that takes more than all memory"""
    d0 = gate(f"flows 8 memory_limit 9216b {HUGE_IDLE}")
    for number in range(8):
        assert d0.send(host_flow(2 * number).frame(100, 1))
    last = host_flow(2 * 8)
    assert d0.send(last.frame(100, 2)) and not d0.send(last.frame(9000, 3))
    rest = only([each for each in told() if each.type == "overflow"])
    assert (rest.drops, d0.show()["drop_memory"]) == (1, 1)
    assert d0.order() == 8 * [1] + [2]


@pytest.mark.parametrize("kind", GROUPS)
def test_parts_of_any_length(gate: Callable[..., Gate]) -> None:
    """Wherever a part of the dump ends, what does not fit is in the next."""
    d0 = gate(f"hosts src {HUGE_IDLE}")
    for number in range(40):
        d0.send(host_flow(2 * number, 1 + number).frame(1000, number))

    def dump(*room: int) -> list[bytes]:
        return [data[:12] for _, data in Netlink("d0", *room).dump(GETTCLASS)]

    whole = dump()
    assert len(whole) >= 2 * 40
    for room in range(4096, 4496, 4):
        assert dump(room) == whole


@pytest.mark.each_kernel
@pytest.mark.parametrize("kind", ["las"])
def test_all_of_many_are_told(gate: Callable[..., Gate]) -> None:
    """In many parts, none of which is lost or told twice"""
    many = 65536
    d0 = gate(f"flows 131072 limit 100000 memory_limit 1Gb newcomers 0 buffer 0 {HUGE_IDLE}")
    frame = bytearray(flow(0).frame(100, 0))
    for number in range(many):
        frame[30:34] = number.to_bytes(4, "big")
        d0.send(bytes(frame))
    shown = d0.show()
    assert shown["records"] + shown["overflow"] == many and shown["overflow"] < many / 50
    said = run("tc class show dev d0")  # pyroute2 takes a minute for so many
    records = [int(number) for number in re.findall(r" record (\d+)", said)]
    assert len({*records}) == len(records) == shown["records"]
    assert max(records) > 100_000 and " 10:ffff " in said


def test_nobody_is_told_of_what_is_gone(gate: Callable[..., Gate]) -> None:
    """While tc reads, flows come and go."""
    d0 = gate(f"flows 256 {HUGE_IDLE}")
    for number in range(600):
        d0.send(tcp_flow(number).frame(100, number))
        d0.release()
        if number % 50 == 0:
            assert all(each.src for each in flows())


@pytest.mark.parametrize("kind", ["run2c", "sift"])
def test_what_is_dropped_was_not_sent(gate: Callable[..., Gate]) -> None:
    """In the low band, where it is known whose a packet is"""
    d0 = gate(f"limit 5 {HUGE_IDLE}")
    for ident in range(9):
        d0.send(A.frame(1000, ident))
    each = only(flows())
    assert (each.bytes, each.packets, each.drops, each.qlen) == (5000, 5, 4, 5)
    d0.release()
    assert only(flows()).bytes == 5000


@pytest.mark.parametrize("kind", GROUPS)
def test_a_silent_flow_of_those_without_a_host(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"hosts src host_records 8 {HUGE_IDLE}")
    for number in range(9):
        d0.send(host_flow(2 * number, 1 + number).frame(1000, number))
    d0.release()
    assert [each.numbers["host"] for each in flows()].count(1) == 1


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("words", ["", "nat"])
def test_a_silent_flow_is_not_told_another_host(gate: Callable[..., Gate], words: str) -> None:
    """Its host's record has become another's."""
    d0 = gate(f"hosts src {words} host_records 8 {HUGE_IDLE}")
    d0.send(host_flow(0, 1).frame(1000, 0))
    d0.release()
    assert only(flows()).numbers["host"] > 1
    for number in range(1, 9):
        run("sleep 0.05")
        d0.send(host_flow(2 * number, 1 + number).frame(1000, number))
        d0.release()
    first = only([each for each in flows() if each.src.startswith("10.0.0.1:")])
    assert "host" not in first.numbers
    assert all("host" in each.numbers for each in flows() if each.src != first.src)
