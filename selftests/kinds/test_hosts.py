# SPDX-License-Identifier: GPL-2.0
"""Hosts (hosts.h): what one of them does is its own loss; by examples."""

import itertools
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Dot1Q

from selftests.lib.command import run
from selftests.lib.gate import (
    Flow,
    Gate,
    arp,
    attain,
    ethertype,
    flow_of,
    host_flow,
    identity,
)
from selftests.lib.options import of
from selftests.lib.told import classes

pytestmark = pytest.mark.has("hosts")

HUGE_IDLE = "idle 86400s"
FAIR = 16384
MODES = ("none", "src", "dst", "both")
WARM = 100  # packets until no host is behind the others for what it has sent before
BY = pytest.mark.parametrize("by", MODES[1:])


@pytest.fixture
def words(kind: str) -> str:
    """What makes it one with groups, and nothing else"""
    return of(kind).text(of(kind).grouped)


def of_host(by: str, host: int, number: int) -> Flow:
    """The flow of this number of a host, where these are told apart so"""
    if by == "dst":
        return host_flow(number, 1, 100 + host)
    return host_flow(number, 100 + host, 2)


def long_flows(d0: Gate, flows: Iterable[Flow]) -> None:
    for each in flows:
        attain(d0, each, FAIR + 1500)


def fill(d0: Gate, flows: Iterable[Flow], packets: int, length: int, ident: int) -> None:
    for each in flows:
        for _ in range(packets):
            d0.send(each.frame(length, ident))


def had(frames: list[bytes]) -> dict[int, int]:
    """The bytes of each identity"""
    found: dict[int, int] = {}
    for frame in frames:
        found[identity(frame)] = found.get(identity(frame), 0) + len(frame)
    return found


# Who is a host


def known(d0: Gate, *flows: Flow) -> int:
    """How many hosts these are"""
    before = int(d0.show()["hosts_known"])
    for each in flows:
        d0.send(each.frame(each.shortest + 100, 0))
    d0.release()
    return int(d0.show()["hosts_known"]) - before


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize(
    ("by", "src", "dst", "ports"), [("src", 2, 1, 1), ("dst", 1, 2, 1), ("both", 2, 2, 1)]
)
def test_who_is_a_host(
    gate: Callable[..., Gate], words: str, by: str, version: int, src: int, dst: int, ports: int
) -> None:
    d0 = gate(f"{words} hosts {by} {HUGE_IDLE}")
    one, other = (2 * number + (version == 6) for number in (1, 2))
    assert known(d0, host_flow(one, 1, 2)) == 1
    assert known(d0, host_flow(one, 300, 2)) == src - 1
    assert known(d0, host_flow(one, 1, 300)) == dst - 1
    assert known(d0, host_flow(other, 1, 2)) == ports - 1
    assert known(d0, host_flow(one, 2, 1)) == 1  # another way
    assert known(d0, host_flow(one ^ 1, 1, 2)) == 1  # the other version


@pytest.mark.parametrize("by", MODES)
def test_a_flow_tells_whose_it_is(gate: Callable[..., Gate], words: str, by: str) -> None:
    d0 = gate(f"{words} hosts {by} host_records 8 {HUGE_IDLE}")
    hosts = 2 if by == "none" else 11  # three of which find no record
    for host in range(hosts):
        for number in (2, 4):
            d0.send(of_host(by, host, number).frame(100 + host, host))
    told: dict[int, set[int]] = {}
    for each in classes().values():
        told.setdefault(each["backlog"] - 100, set()).add(each["host"])
    if by == "none":
        assert told == {0: {0}, 1: {0}}
        return
    numbers = [number for (number,) in told.values()]  # each host's is one
    assert numbers.count(1) == hosts - 8
    assert len({*numbers}) == 9 and min(numbers) == 1


def test_none_is_known(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} {HUGE_IDLE}")
    assert known(d0, host_flow(0, 1, 2), host_flow(0, 2, 3)) == 0
    assert (d0.show()["hosts_over"], d0.show()["host_evictions"]) == (0, 0)


@BY
def test_packets_of_other_kinds(gate: Callable[..., Gate], words: str, by: str) -> None:
    """Without ports, or tagged, they are of the same host; what is not IP is one of its own."""
    d0 = gate(f"{words} hosts {by} {HUGE_IDLE}")
    ip4, ip6 = IP(src="10.0.0.1", dst="10.0.0.2"), IPv6(src="fd00::1", dst="fd00::2")
    fragment4 = IP(src="10.0.0.1", dst="10.0.0.2", frag=2, proto=17)
    assert known(d0, flow_of("v4", ip4 / UDP()), flow_of("v6", ip6 / UDP())) == 2
    fragments = (
        flow_of("fragment", fragment4),
        flow_of("fragment", ip6 / IPv6ExtHdrFragment(offset=2, nh=17)),
    )
    assert known(d0, *fragments) == 0
    assert known(d0, *(flow_of("tagged", Dot1Q(vlan=5) / ip / UDP()) for ip in (ip4, ip6))) == 0
    assert known(d0, arp(1), arp(2)) == 1
    assert known(d0, ethertype(0x88B5)) == 1


@BY
def test_filter_names_the_host(gate: Callable[..., Gate], words: str, by: str) -> None:
    """Whatever the addresses are, by the major number, if that is not the qdisc's."""
    d0 = gate(f"{words} hosts {by} {HUGE_IDLE}")
    many = [host_flow(0, 1, 2), host_flow(1, 3, 4), host_flow(6, 5, 6), arp(1)]
    for classid, more in (("5:", 1), ("5:1", 0), ("6:2", 1), ("10:1", 4), ("ffff:0", 1)):
        run(f"tc filter replace dev d0 parent 10: pref 1 protocol all matchall classid {classid}")
        assert known(d0, *many) == more, classid
        run("tc filter del dev d0 parent 10: pref 1")
    assert known(d0, *many) == 0


def test_filter_names_no_host_without_hosts(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} {HUGE_IDLE}")
    run("tc filter add dev d0 parent 10: protocol all matchall classid 5:1")
    assert known(d0, host_flow(0, 1, 2)) == 0


def test_hosts_that_filters_name_share_the_link(gate: Callable[..., Gate], words: str) -> None:
    """Flows of many addresses, and a flow of a host that has other ones."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    run("tc filter add dev d0 parent 10: pref 1 protocol ipv6 matchall classid 5:1")
    many = [of_host("src", 1 + number, 2 * number + 1) for number in range(4)]
    one = of_host("src", 1, 20)
    long_flows(d0, [*many, one])
    fill(d0, many, 100, 1000, 1)
    fill(d0, [one], 400, 500, 2)
    d0.release(WARM)
    out = had(d0.release(120))
    assert abs(out[1] - out[2]) <= 2000


# Long flows


@BY
@pytest.mark.parametrize("version", [4, 6])
def test_hosts_have_equal_bytes(
    gate: Callable[..., Gate], words: str, by: str, version: int
) -> None:
    """However many flows they have, and whatever the size of packets"""
    d0 = gate(f"{words} fair {FAIR}b hosts {by} {HUGE_IDLE}")
    many = [of_host(by, 1, 2 * number + (version == 6)) for number in range(4)]
    one = [of_host(by, 2, 8 + (version == 6))]
    long_flows(d0, many + one)
    fill(d0, many, 100, 1000, 1)
    fill(d0, one, 400, 500, 2)
    assert d0.show()["hosts_over"] == 2
    d0.release(WARM)
    out = had(d0.release(120))
    assert abs(out[1] - out[2]) <= 2000


@pytest.mark.parametrize("version", [4, 6])
def test_without_hosts_flows_have_equal_bytes(
    gate: Callable[..., Gate], words: str, version: int
) -> None:
    d0 = gate(f"{words} fair {FAIR}b hosts none {HUGE_IDLE}")
    many = [of_host("src", 1, 2 * number + (version == 6)) for number in range(4)]
    one = [of_host("src", 2, 8 + (version == 6))]
    long_flows(d0, many + one)
    fill(d0, many, 100, 1000, 1)
    fill(d0, one, 400, 500, 2)
    d0.release(WARM)
    out = had(d0.release(120))
    assert abs(out[1] - 4 * out[2]) <= 8000


@BY
def test_own_flows_take_turns(gate: Callable[..., Gate], words: str, by: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b hosts {by} {HUGE_IDLE}")
    flows = [of_host(by, 1 + number // 3, 2 * number) for number in range(6)]
    long_flows(d0, flows)
    for ident, each in enumerate(flows):
        fill(d0, [each], 60, 1000, ident)
    d0.release(WARM)
    out = had(d0.release(120))
    assert max(out.values()) - min(out.values()) <= 3000


def test_flows_of_other_hosts_with_the_same_ports(gate: Callable[..., Gate], words: str) -> None:
    """By both, one source is as many hosts as it has destinations."""
    d0 = gate(f"{words} fair {FAIR}b hosts both {HUGE_IDLE}")
    flows = [host_flow(0, 1, 2), host_flow(0, 1, 3), host_flow(0, 2, 2), host_flow(2, 2, 2)]
    long_flows(d0, flows)
    for ident, each in enumerate(flows):
        fill(d0, [each], 100, 1000, ident)
    d0.release(WARM)
    out = had(d0.release(120))
    assert [round(out[ident] / 10000) for ident in range(4)] == [4, 4, 2, 2]


def test_host_that_comes_back(gate: Callable[..., Gate], words: str) -> None:
    """What it has not had while it had nothing to send it is owed, but no more than 32 KiB."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    busy, back = (of_host("src", host, 0) for host in (1, 2))
    long_flows(d0, [busy, back])
    fill(d0, [busy], 200, 1000, 1)
    d0.release(100)
    fill(d0, [back], 200, 1000, 2)
    out = [identity(frame) for frame in d0.release(80)]
    assert 32 <= out.index(1) <= 34
    assert abs(out[40:].count(1) - 20) <= 1


def test_hosts_that_come_back_one_by_one(gate: Callable[..., Gate], words: str) -> None:
    """Each is owed that beside who has sent all the time, not beside the one before."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    busy, *others = (of_host("src", host, 0) for host in range(8))
    long_flows(d0, [*others, busy])
    fill(d0, [busy], 700, 1000, 1)
    d0.release(400)
    for each in others:
        fill(d0, [each], 100, 1000, 2)
        d0.release(1)
    out = [identity(frame) for frame in d0.release(400)]
    assert out.index(1) <= 7 * 33


# Short flows of hosts that are over their share


def measure(d0: Gate, *flows: Flow) -> None:
    """Let the link be known as one of 80 Kbit/s for each of these, all active, and be busy."""
    d0.send(of_host("src", 50, 0).frame(1000, 0))
    fill(d0, flows, 2, 1000, 0)
    d0.release(2 * len(flows) - 1)
    time.sleep(0.2)
    d0.release(1)
    assert d0.show()["qlen"] == 1


def over(d0: Gate, number: int = 1000, by: str = "src", host: int = 1) -> None:
    """Let the host send short flows of 30000 bytes: more than that link does in a second"""
    for each in range(30):
        d0.send(of_host(by, host, number + 4 * each).frame(1000, 0))
    d0.release(30)


@pytest.mark.clock
@BY
@pytest.mark.parametrize("others", [0, 1])
def test_newcomers_of_a_host_that_is_over(
    gate: Callable[..., Gate], words: str, by: str, others: int
) -> None:
    """They go after those of another, which was there or comes; of a host alone as they come."""
    d0 = gate(f"{words} fair {FAIR}b hosts {by} {HUGE_IDLE}")
    quiet = [of_host(by, 2, 0)] * others
    d0.send(of_host(by, 1, 0).frame(1000, 0))
    fill(d0, [of_host(by, 1, 2), of_host(by, 1, 4), *quiet], 2, 1000, 0)
    d0.release(3)
    time.sleep(0.2)
    d0.release(1)
    over(d0, by=by)
    d0.release()
    d0.send(of_host(by, 1, 100).frame(1000, 1))
    assert d0.show()["hosts_over"] == others
    d0.send(of_host(by, 2, 104).frame(1000, 2))
    assert d0.order() == [2, 1]
    time.sleep(1)  # who stops is not over his share any more
    d0.send(of_host(by, 1, 200).frame(1000, 1))
    d0.send(of_host(by, 2, 204).frame(1000, 2))
    assert d0.show()["hosts_over"] == 0
    assert d0.order() == [1, 2]


@pytest.mark.clock
@pytest.mark.parametrize("number", [0x0806, 0x88F7], ids=hex)  # below IP's numbers, and above
def test_what_is_not_ip_is_nobody(gate: Callable[..., Gate], words: str, number: int) -> None:
    """Beside it a host is alone, and not over its share."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    d0.send(of_host("src", 1, 0).frame(1000, 0))
    fill(d0, [of_host("src", 1, 2), ethertype(number)], 2, 1000, 0)
    d0.release(3)
    time.sleep(0.2)
    d0.release(1)
    over(d0)
    d0.release()
    d0.send(of_host("src", 1, 100).frame(1000, 1))
    assert d0.show()["hosts_over"] == 0


@pytest.mark.clock
def test_what_waits_of_a_host_that_comes_to_be_over(gate: Callable[..., Gate], words: str) -> None:
    """It goes after others', too, though it has come before."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    one, quiet = of_host("src", 1, 0), of_host("src", 2, 0)
    measure(d0, one, quiet)
    d0.release()
    for number in range(100, 140):
        d0.send(of_host("src", 1, 4 * number).frame(1000, 1))
    d0.send(of_host("src", 2, 100).frame(1000, 2))
    out = d0.order(39)
    assert 20 <= out.index(2) <= 32  # what the link does in a second; eight queues move at a time


@pytest.mark.clock
def test_within_a_host_that_is_over(gate: Callable[..., Gate], words: str) -> None:
    """Its quiet flow goes before its bulk, and both after another host's."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    call, quiet = of_host("src", 1, 0), of_host("src", 2, 0)
    bulk = of_host("src", 1, 2)
    long_flows(d0, [bulk])
    attain(d0, call, 100)
    attain(d0, quiet, 100)
    measure(d0, call, quiet)
    over(d0)
    d0.release()
    fill(d0, [bulk], 5, 1000, 3)
    d0.send(of_host("src", 1, 4).frame(1000, 2))  # a newcomer
    d0.send(call.frame(200, 1))
    d0.send(quiet.frame(1000, 0))
    assert d0.show()["hosts_over"] == 1
    out = d0.order()
    assert out[0] == 0 and sorted(out[1:3]) == [1, 2] and out[3:] == [3] * 5


@pytest.mark.clock
def test_who_is_over_does_not_lose_for_others(gate: Callable[..., Gate], words: str) -> None:
    """While these have more than their share, though his queues are as long, and none has much."""
    d0 = gate(f"{words} fair {FAIR}b long_share 50 hosts src limit 32 {HUGE_IDLE}")
    his = [of_host("src", 1, 2 * number) for number in range(2)]
    others = [of_host("src", number, 2 * number) for number in range(2, 28)]
    for each in [*his, *others]:
        attain(d0, each, 100)
    measure(d0, his[0], others[0])
    over(d0)
    d0.release()
    fill(d0, his, 2, 300, 1)
    fill(d0, others[:14], 2, 300, 2)
    assert (d0.show()["hosts_over"], d0.show()["qlen"]) == (1, 32)
    fill(d0, others[14:], 1, 100, 3)
    assert had(d0.release()) == {1: 1200, 2: 16 * 300, 3: 1200}


@pytest.mark.clock
def test_who_does_not_stop_is_over_for_good(gate: Callable[..., Gate], words: str) -> None:
    """What is sent of its own lists counts, too."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    one, quiet = of_host("src", 1, 0), of_host("src", 2, 0)
    measure(d0, one, quiet)
    over(d0)
    for number in range(100, 130):  # nearly all that the other one leaves
        fill(d0, [of_host("src", 1, 2 * number)], 1, 1000, 1)
        d0.send(quiet.frame(100, 2))
        assert d0.show()["hosts_over"] == 1
        time.sleep(0.05)
        d0.release(1)
        d0.release(1)
    fill(d0, [of_host("src", 1, 2)], 1, 1000, 1)
    d0.send(of_host("src", 2, 2).frame(1000, 2))
    assert d0.order()[-1] == 1


@pytest.mark.clock
def test_share_is_what_others_leave(gate: Callable[..., Gate], words: str) -> None:
    """Of eight hosts one has nearly all, and is over its share only if another one wants it."""
    d0 = gate(f"{words} fair {FAIR}b hosts src {HUGE_IDLE}")
    bulk, *calls = (of_host("src", host, 0) for host in range(2, 10))
    long_flows(d0, [bulk])
    numbers = itertools.count(100, 2)

    def over_after(turns: int) -> int:
        most = 0
        for _ in range(turns):
            for each in calls:
                d0.send(each.frame(100, 0))
            for number in itertools.islice(numbers, 4):
                d0.send(of_host("src", 1, number).frame(1000, 1))
            time.sleep(0.05)
            d0.release(len(calls) + 4)
            most = max(most, int(d0.show()["hosts_over"]))
        return most

    d0.send(calls[0].frame(100, 0))
    assert over_after(60) == 0
    fill(d0, [bulk], 100, 1000, 2)
    assert over_after(5) == 1  # whose long flow waits
    assert over_after(60) == 2


@pytest.mark.clock
def test_who_is_refused_wants_more(gate: Callable[..., Gate], words: str) -> None:
    """A flood of newcomers is over its share though no long flow waits, and no other host wants."""
    d0 = gate(f"{words} newcomers 8 known_share 50% hosts src {HUGE_IDLE}")
    call = of_host("src", 2, 0)
    attain(d0, call, 100)
    numbers = itertools.count(100, 2)
    for _ in range(200):
        for number in itertools.islice(numbers, 20):
            d0.send(of_host("src", 1, number).frame(1000, 1))
        for _ in range(2):
            d0.send(call.frame(1000, 2))
        time.sleep(0.05)
        d0.release(6)
    assert d0.show()["hosts_over"] == 1


def test_refused_newcomers_are_not_remembered(gate: Callable[..., Gate], words: str) -> None:
    """Nor do they take the records of others."""
    d0 = gate(f"{words} newcomers 8 hosts src host_records 128 {HUGE_IDLE}")
    for host in range(100):
        d0.send(of_host("src", host, 2).frame(1000, host))
    shown = d0.show()
    assert shown["hosts_known"] == shown["qlen"] < 9 and shown["host_evictions"] == 0


# A full buffer


@BY
def test_host_with_the_most_waiting_loses(gate: Callable[..., Gate], words: str, by: str) -> None:
    """Not the one that comes, nor the longest queue"""
    d0 = gate(f"{words} fair {FAIR}b limit 24 hosts {by} {HUGE_IDLE}")
    many = [of_host(by, 1, 2 * number) for number in range(4)]
    one = of_host(by, 2, 8)
    long_flows(d0, [*many, one])
    fill(d0, many, 4, 1000, 1)
    fill(d0, [one], 8, 1000, 2)
    for _ in range(4):
        assert d0.send(one.frame(1000, 2))
    out = had(d0.release())
    assert out == {1: 12000, 2: 12000}


@BY
def test_host_with_the_most_short_flows_loses(
    gate: Callable[..., Gate], words: str, by: str
) -> None:
    """Nobody is over his share while the rate is not known: these wait with all others'."""
    d0 = gate(f"{words} limit 24 hosts {by} {HUGE_IDLE}")
    many = [of_host(by, 1, 2 * number) for number in range(6)]
    one = of_host(by, 2, 20)
    for each in (*many, one):
        attain(d0, each, 1000 if each is not one else 5000)
    for each in many:
        fill(d0, [each], 3, 1000, 1)
    fill(d0, [one], 6, 1000, 2)
    for _ in range(4):
        assert d0.send(one.frame(1000, 2))
    out = had(d0.release())
    assert out == {1: 14000, 2: 10000}


@BY
def test_host_with_the_most_newcomers_loses(gate: Callable[..., Gate], words: str, by: str) -> None:
    d0 = gate(f"{words} limit 24 hosts {by} {HUGE_IDLE}")
    for number in range(24):
        assert d0.send(of_host(by, 1, 4 * number).frame(1000, 1))
    for number in range(8):
        assert d0.send(of_host(by, 2, 400 + 4 * number).frame(1000, 2))
    out = had(d0.release())
    assert out == {1: 16000, 2: 8000}


@pytest.mark.parametrize("first", [1, 2])
def test_of_equal_hosts_the_newest_loses(gate: Callable[..., Gate], words: str, first: int) -> None:
    """That of which a packet has come last"""
    d0 = gate(f"{words} fair {FAIR}b limit 6 hosts src {HUGE_IDLE}")
    flows = [of_host("src", host, 0) for host in (1, 2, 3)]
    long_flows(d0, flows)
    fill(d0, [flows[first - 1]], 3, 1000, first)
    fill(d0, [flows[2 - first]], 3, 1000, 3 - first)
    assert d0.send(flows[2].frame(1000, 3))
    assert had(d0.release()) == {first: 3000, 3 - first: 2000, 3: 1000}


@pytest.mark.parametrize("hosts", [5, 100])
def test_of_hosts_with_little_the_newest_newcomer_loses(
    gate: Callable[..., Gate], words: str, hosts: int
) -> None:
    """None has more than a full packet: it is as if there were no hosts."""
    d0 = gate(f"{words} limit {hosts - 1} hosts src host_records 4096 {HUGE_IDLE}")
    for host in range(hosts):
        d0.send(of_host("src", host, 0).frame({0: 700, 1: 1400}.get(host, 600), host))
    assert d0.order() == [*range(hosts - 1)]


@pytest.mark.parametrize(("share", "bulks", "left"), [(0, 1, 0), (50, 1, 1), (50, 5, 4)])
def test_of_hosts_with_little_long_flows_lose_by_share(
    gate: Callable[..., Gate], words: str, share: int, bulks: int, left: int
) -> None:
    """If all together have more than that waiting, and else they lose none"""
    d0 = gate(f"{words} fair {FAIR}b long_share {share}% hosts src {HUGE_IDLE}")
    flows = [of_host("src", 10 + number, 0) for number in range(bulks)]
    long_flows(d0, flows)
    d0.change(f"limit {bulks + 3}")
    fill(d0, flows, 1, 1000, 9)
    for host in range(4):
        d0.send(of_host("src", host, 0).frame(1000, host))
    assert sorted(d0.order()) == [*range(4 - (left == bulks)), *[9] * left]


def test_few_are_looked_at_for_the_host_with_the_most(
    gate: Callable[..., Gate], words: str
) -> None:
    """Who has sent is passed over, but no more than 64 of them each time."""
    d0 = gate(f"{words} fair {FAIR}b hosts src host_records 4096 {HUGE_IDLE}")
    many = [of_host("src", host, 2 * host) for host in range(100)]
    two = [of_host("src", host, 2 * host) for host in (200, 201)]
    last = [of_host("src", host, 2 * host) for host in range(300, 304)]  # beside whom all are owed
    long_flows(d0, [*two, *many, *last])
    for ident, each in enumerate(many):
        fill(d0, [each], 2, 1000, ident)
    assert sorted(d0.order(100)) == [*range(100)]
    fill(d0, two, 2, 800, 200)
    for limit, left in ((103, 4), (102, 3), (101, 2)):
        d0.change(f"limit {limit}")
        lengths = [each["backlog"] for each in classes().values()]
        assert sum(lengths) - 1000 * lengths.count(1000) == 800 * left
    d0.release()


# The table of hosts


@pytest.mark.clock
def test_more_hosts_than_records(gate: Callable[..., Gate], words: str) -> None:
    """Those without one are one host together: it has a turn, too, and shares it."""
    d0 = gate(f"{words} fair {FAIR}b host_records 8 hosts src {HUGE_IDLE}")
    flows = [of_host("src", host, 2 * host) for host in range(12)]
    for each in flows:
        long_flows(d0, [each])
        time.sleep(0.03)  # so they are forgotten in this order, and none has a turn to come
    assert (d0.show()["hosts_known"], d0.show()["host_evictions"]) == (8, 4)
    for ident, each in enumerate(flows):
        fill(d0, [each], 90, 1000, ident)
    shown = d0.show()
    assert (shown["hosts_known"], shown["hosts_over"]) == (8, 9)
    d0.release(360)
    out = had(d0.release(360))
    assert all(abs(out[ident] - 40000) <= 2000 for ident in range(8)), out
    assert all(abs(out[ident] - 10000) <= 2000 for ident in range(8, 12)), out
    fill(d0, flows, 30, 1000, 0)
    assert len(d0.release()) == 12 * 120 - 720
    assert d0.show()["hosts_over"] == 0
    assert known(d0, *flows) == 0


@pytest.mark.clock
def test_without_a_record_under_load(gate: Callable[..., Gate], words: str) -> None:
    """Nobody is locked out, though all with a record are within their share."""
    d0 = gate(f"{words} fair {FAIR}b host_records 8 long_share 10% hosts src {HUGE_IDLE}")
    for turn in range(30):
        for host in range(16):
            d0.send(of_host("src", host, 2 * (turn * 16 + host)).frame(1000, host))
        time.sleep(0.02)
        d0.release(14)
    out = []
    for turn in range(30, 60):
        for host in range(16):
            d0.send(of_host("src", host, 2 * (turn * 16 + host)).frame(1000, host))
        time.sleep(0.02)
        out += d0.order(14)
    assert d0.show()["hosts_over"]
    assert all(out.count(host) for host in range(16))
    d0.release()


def test_who_is_silent_for_longest_is_forgotten(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} host_records 8 hosts src {HUGE_IDLE}")

    def evictions(*hosts: int) -> int:
        for host in hosts:
            d0.send(of_host("src", host, 2).frame(100, host))
            d0.release()
            time.sleep(0.03)
        assert d0.show()["hosts_known"] == 8
        return int(d0.show()["host_evictions"])

    assert evictions(*range(8), 0) == 0
    assert evictions(8) == 1  # that of host 1
    assert evictions(0, *range(2, 8)) == 1
    assert evictions(1) == 2


@pytest.mark.clock
def test_of_equally_silent_who_has_had_least_of_late_is_forgotten(
    gate: Callable[..., Gate], words: str
) -> None:
    """What was in its bucket, and has leaked, does not count."""
    d0 = gate(f"{words} fair {FAIR}b host_records 8 hosts src {HUGE_IDLE}")
    before, late = of_host("src", 1, 0), of_host("src", 2, 0)
    others = [of_host("src", host, 0) for host in (50, *range(3, 8))]
    long_flows(d0, [before, late])
    measure(d0, *others[1:3])
    d0.release()
    for number, each in ((12, 1), (6, 2)):
        for flow in range(number):
            d0.send(of_host("src", each, 1000 + 4 * flow).frame(1000, 0))
        d0.release()
        time.sleep(3 * (each == 1))
    fill(d0, [before, late], 1, 100, 0)
    assert d0.show()["hosts_over"] == 2
    d0.release(2)
    time.sleep(0.03)
    assert known(d0, *others) == 3

    def evictions(host: int) -> int:
        d0.send(of_host("src", host, 2).frame(100, 0))
        d0.release()
        return int(d0.show()["host_evictions"])

    assert [evictions(host) for host in (30, 2, 1)] == [1, 1, 2]


def test_host_with_packets_stays(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} host_records 8 hosts src {HUGE_IDLE}")
    for host in range(7):
        d0.send(of_host("src", host, 2).frame(100, host))
    for host in range(10, 30):
        d0.send(of_host("src", host, 2).frame(100, host))
        d0.send(of_host("src", host, 4).frame(100, host))
    shown = d0.show()
    assert (shown["hosts_known"], shown["host_evictions"]) == (8, 0)
    d0.release(7)
    d0.send(of_host("src", 30, 2).frame(100, 30))
    shown = d0.show()
    assert (shown["hosts_known"], shown["host_evictions"]) == (8, 1)
    assert len(d0.order()) == 41


def test_records_after_a_change(gate: Callable[..., Gate], words: str) -> None:
    """All can be another's again, though their hosts had packets then."""
    d0 = gate(f"{words} host_records 8 hosts src {HUGE_IDLE}")
    for host in range(8):
        d0.send(of_host("src", host, 2).frame(100, host))
    d0.change("hosts both")
    d0.change("hosts src")
    d0.release()
    assert known(d0, *(of_host("src", host, 2) for host in range(8))) == 8
    known(d0, *(of_host("src", host, 2) for host in range(10, 18)))
    shown = d0.show()
    assert (shown["hosts_known"], shown["host_evictions"]) == (8, 8)


def test_idle_hosts_are_no_evictions(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} host_records 8 hosts src idle 500ms")
    assert known(d0, *(of_host("src", host, 2) for host in range(8))) == 8
    time.sleep(1)
    assert known(d0, *(of_host("src", host, 2) for host in range(8, 16))) == 0
    assert d0.show()["host_evictions"] == 0


# Changes


class Counted:
    """What was put in, which has to be what waits and what comes out."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.sent: dict[int, tuple[Flow, int]] = {}
        self.last: dict[str, int] = {}
        self.out = self.out_bytes = 0
        self.drops = int(gate.show()["drops"])

    def send(self, each: Flow, length: int) -> None:
        ident = len(self.sent) + 1
        self.sent[ident] = each, max(length, each.shortest)
        self.gate.send(each.frame(self.sent[ident][1], ident))

    def send_bundle(self, each: Flow, segments: int) -> None:
        """Of 1000 bytes each"""
        idents = [len(self.sent) + 1 + number for number in range(segments)]
        size = 1000 - len(each.headers)
        self.sent |= dict.fromkeys(idents, (each, 1000))
        self.gate.send_bundle(each, idents, size, size)

    def release(self, count: int | None = None) -> None:
        """Packets of a flow keep their order."""
        for frame in self.gate.release(count):
            each, length = self.sent[identity(frame)]
            assert len(frame) == length
            assert identity(frame) > self.last.get(each.name, 0)
            self.last[each.name] = identity(frame)
            self.out += 1
            self.out_bytes += length

    def compare(self) -> dict[str, Any]:
        """Nothing is lost that is not counted as dropped."""
        shown = self.gate.show()
        dropped = shown["drops"] - self.drops
        assert shown["qlen"] == len(self.sent) - self.out - dropped
        state = self.gate.state()
        assert (state["qlen"], state["backlog"]) == (shown["qlen"], shown["backlog"])
        if not dropped:
            sent = sum(length for _, length in self.sent.values())
            assert shown["backlog"] == sent - self.out_bytes
        return shown

    def empty(self) -> None:
        self.compare()
        self.release()
        shown = self.compare()
        left = ("qlen", "backlog", "flows_queued", "flows_new", "flows_long", "hosts_over")
        assert [shown[name] for name in left] == [0] * len(left)


def of_all_groups(d0: Gate, counted: Counted, mark: int) -> None:
    """Of three hosts packets of newcomers, short and long flows, and without a record"""
    for host in range(3):
        flows = [host_flow(2 * host + more, 10 + host, 20 + host) for more in (0, 6)]
        for _ in range(4):
            for each in flows:
                counted.send(each, 900)
    for number in range(4):
        counted.send(host_flow(mark + number, 10 + number % 3, 20 + number), 300 + number)
    assert d0.show()["overflow"]


@pytest.mark.clock
@pytest.mark.parametrize(("before", "after"), itertools.permutations(MODES, 2))
def test_change(gate: Callable[..., Gate], words: str, before: str, after: str) -> None:
    """While packets of all groups wait, and of a host that is over its share: none is lost."""
    d0 = gate(f"{words} fair {FAIR}b flows 8 hosts {before} {HUGE_IDLE}")
    long_flows(d0, [host_flow(2 * host, 10 + host, 20 + host) for host in range(3)])
    measure(d0, *(host_flow(2 * host + 6, 10 + host, 20 + host) for host in range(2)))
    for _ in range(5):
        d0.send(host_flow(6, 10, 20).frame(1000, 0))
    d0.release()
    counted = Counted(d0)
    of_all_groups(d0, counted, 100)
    if before != "none":
        assert d0.show()["hosts_over"]
    counted.release(3)
    shown = counted.compare()
    d0.change(f"hosts {after}")
    changed = counted.compare()
    assert changed["drops"] == shown["drops"] and changed["hosts_known"] == 0
    assert (changed["hosts_over"] == 1) == (after != "none")  # what waits is of one host
    counted.release(5)
    of_all_groups(d0, counted, 200)
    assert (counted.compare()["hosts_known"] > 0) == (after != "none")
    counted.release(10)
    d0.change(f"hosts {before}")
    counted.compare()
    of_all_groups(d0, counted, 300)
    counted.empty()
    for turn in range(3):
        of_all_groups(d0, counted, 400 + 10 * turn)
        counted.empty()
    assert counted.compare()["drops"] == shown["drops"]


@BY
def test_change_of_nat(gate: Callable[..., Gate], words: str, by: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b flows 8 hosts {by} {HUGE_IDLE}")
    long_flows(d0, [host_flow(2 * host, 10 + host, 20 + host) for host in range(3)])
    counted = Counted(d0)
    for turn, word in enumerate(("nat", "nonat", "nat")):
        of_all_groups(d0, counted, 100 * turn)
        assert counted.compare()["hosts_known"]
        d0.change(word)
        assert counted.compare()["hosts_known"] == 0
        counted.release(5)
    d0.change("nat")  # it is that
    of_all_groups(d0, counted, 1000)
    assert counted.compare()["hosts_known"]
    d0.change("nat")
    assert counted.compare()["hosts_known"]
    counted.empty()


@pytest.mark.parametrize("limit", ["limit 7", "limit 1", "memory_limit 20000b"])
@pytest.mark.parametrize(("before", "after"), [("none", "src"), ("src", "none"), ("src", "both")])
def test_change_with_less_room(
    gate: Callable[..., Gate], words: str, before: str, after: str, limit: str
) -> None:
    """What does not fit any more is counted, whosever it is."""
    d0 = gate(f"{words} fair {FAIR}b flows 8 hosts {before} {HUGE_IDLE}")
    long_flows(d0, [host_flow(2 * host, 10 + host, 20 + host) for host in range(3)])
    counted = Counted(d0)
    of_all_groups(d0, counted, 100)
    d0.change(f"hosts {after} {limit}")
    shown = counted.compare()
    assert 0 < shown["qlen"] < 28 - 5
    of_all_groups(d0, counted, 200)
    d0.change(f"hosts {before}")
    counted.compare()
    of_all_groups(d0, counted, 300)
    counted.empty()


@BY
def test_link_down_and_delete_while_full(gate: Callable[..., Gate], words: str, by: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b flows 8 limit 20 hosts {by} {HUGE_IDLE}")
    long_flows(d0, [host_flow(2 * host, 10 + host, 20 + host) for host in range(3)])
    of_all_groups(d0, Counted(d0), 100)
    d0.bounce()
    shown = d0.show()
    for name in ("qlen", "backlog", "memory", "flows_queued", "hosts_known", "hosts_over"):
        assert shown[name] == 0, name
    counted = Counted(d0)
    of_all_groups(d0, counted, 200)
    counted.empty()
    of_all_groups(d0, counted, 300)  # close() deletes and sees that nothing is left


@BY
@pytest.mark.parametrize("split", ["split_gso", "no_split_gso"])
def test_bundles(gate: Callable[..., Gate], words: str, by: str, split: str) -> None:
    """Their segments are of one host; the one with the most loses."""
    d0 = gate(f"{words} fair {FAIR}b limit 30 {split} hosts {by} {HUGE_IDLE}")
    tcp = [of_host(by, 1 + number // 2, 4 * number + 2) for number in range(4)]
    long_flows(d0, tcp)
    if split == "split_gso":
        counted = Counted(d0)
        for turn in range(6):
            for each in tcp:
                counted.send_bundle(each, 5 - turn % 2)
                counted.compare()
            counted.release(turn)
        assert counted.compare()["qlen"] == 25
        counted.empty()
        return
    for each in tcp:
        for _ in range(10):
            d0.send_bundle(each, [1] * 8, 900, 900)
    assert (d0.show()["qlen"], d0.show()["drops"]) == (30, 10)
    shares = [0, 0]
    for frame in d0.release():
        address = frame[33] if by == "dst" else frame[29]
        shares[address - 101] += 1
    assert shares == [15, 15]


@pytest.mark.clock
@pytest.mark.parametrize("seed", range(4))
def test_everything(gate: Callable[..., Gate], kind: str, seed: int) -> None:
    """What no model says: hosts that come to be over their share, live changes, a full table."""
    rng = random.Random(seed)
    d0 = gate(
        of(kind).text(of(kind).defaults | {"flows": 64, "host_records": 8, "limit": 200})
        + " split_gso"
        if seed % 2
        else f"split_gso fair {FAIR}b long_share 10% known_share 30%"
        " flows 64 host_records 8 limit 60"
    )
    counted = Counted(d0)
    were_over = 0
    for _ in range(3000):
        what = rng.random()
        if what < 0.5:
            host = rng.randrange(1 + rng.randrange(12))
            number = rng.randrange(6) if rng.random() < 0.8 else rng.randrange(1000)
            each = host_flow(number, 10 + host % 4, 20 + host)
            for _ in range(rng.randint(1, 12)):
                counted.send(each, rng.choice([60, 300, 1000, 1500]))
        elif what < 0.55:
            tcp = host_flow(rng.randrange(8) | 2, 10 + rng.randrange(4), 20)
            counted.send_bundle(tcp, rng.randint(2, 9))
        elif what < 0.85:
            time.sleep(rng.choice([0, 0.004, 0.02]))
            counted.release(rng.randint(1, 8))
        elif what < 0.86:
            counted.release()
        elif what < 0.87:
            d0.command("park 1")
        elif what < 0.9:
            d0.change(
                " ".join(
                    rng.sample(
                        [
                            f"hosts {rng.choice(MODES)}",
                            f"fair {rng.choice([16384, 50000, 0])}b",
                            f"limit {rng.choice([1, 3, 20, 60, 200])}",
                            rng.choice(["nat", "nonat"]),
                            f"long_share {rng.choice([0, 10, 50])}%",
                        ],
                        2,
                    )
                )
            )
        else:
            time.sleep(0.15)
            counted.release(1)
        d0.state()
        were_over += counted.compare()["hosts_over"] > 1
    assert were_over
    counted.empty()
