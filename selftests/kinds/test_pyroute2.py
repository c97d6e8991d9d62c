# SPDX-License-Identifier: GPL-2.0
"""The plugin of pyroute2 (python/): what it makes of requests and of what the kernel tells."""

import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl.tcmsg import plugins, tcmsg

from python.shortfirst_pyroute2 import OPTIONS
from selftests.lib.command import run
from selftests.lib.gate import Device, Gate, tcp_flow
from selftests.lib.options import Option, Table, Values, of
from selftests.lib.refusals import Spare

HANDLE = 0x100000
HANDLED = {"handle": "10:"}


@pytest.fixture
def route() -> Iterator[IPRoute]:
    with IPRoute() as made:
        yield made


def keyword(kind: str, option: Option) -> str:
    """Its attribute's name, where tc may have words"""
    return OPTIONS[kind][option.number][0].removeprefix(f"TCA_{kind.upper()}_").lower()


def given(table: Table, values: Values) -> dict[str, int]:
    return {keyword(table.kind, table[name]): value for name, value in values.items()}


def qdisc(route: IPRoute, index: int) -> Any:
    """The message about that with our handle"""
    found = [q for q in route.get_qdiscs() if (q["index"], q["handle"]) == (index, HANDLE)]
    assert len(found) == 1
    return found[0]


def shown(route: IPRoute, kind: str, index: int) -> dict[str, int]:
    """The options of the qdisc"""
    message = qdisc(route, index)
    assert message.get_attr("TCA_KIND") == kind
    told = {each[0]: each[1] for each in message.get_attr("TCA_OPTIONS")["attrs"]}
    prefix = f"TCA_{kind.upper()}_"
    return {n.removeprefix(prefix).lower(): told[n] for n in told if not n.endswith("_PAD")}


def test_what_is_typed(kind: str, option: Option) -> None:
    """As tc takes it, it is what the tests say that tc makes of it, and nothing else is taken."""
    parameters = plugins[kind].get_parameters
    name, attribute = keyword(kind, option), OPTIONS[kind][option.number][0]
    assert name == option.name or option.name == "drop"
    for value in option.values:
        same = option.valued and name == option.name
        typed = [text.split()[-1] for text in option.spellings(value) if same]
        if option.special and value == option.special[0]:
            typed = [option.special[1].split()[-1]]
        for way in (value, *typed):
            assert parameters({name: way}) == {"attrs": [[attribute, value]]}, way
    for wrong in ("", "5parsec", "1.2.3", "-", "nan", 1.5, b"1", 1 << 64):
        with pytest.raises((ValueError, TypeError)):
            parameters({name: wrong})


def test_attributes(kind: str) -> None:
    """Those that the tests know by themselves, and of the same size"""
    sizes = {"=I": "uint32", "=i": "int32", "=Q": "uint64"}
    known = {option.number: sizes[option.unit.format] for option in of(kind).options}
    made = {number: row[1] for number, row in enumerate(OPTIONS[kind])}
    assert {number: made[number] for number in known} == known
    assert {made[number] for number in made.keys() - known} == {"none", "hex"}


def test_an_unknown_option(kind: str) -> None:
    with pytest.raises(TypeError, match=f"{kind} has no option 'limits'"):
        plugins[kind].get_parameters({"kind": kind, "parent": 1, "limits": 3})


@pytest.mark.each_kernel
def test_options(route: IPRoute, kind: str, spare: Spare) -> None:
    table, index = of(kind), spare.bare.index
    route.tc("add", kind, index, **HANDLED)
    assert shown(route, kind, index) == given(table, table.defaults)
    route.tc("change", kind, index, **HANDLED, **given(table, table.others))
    assert shown(route, kind, index) == given(table, table.after({}, table.others))
    route.tc("change", kind, index, **HANDLED, rate="19mbit", overhead="raw", buffer="2s")
    changed = table.others | {"rate": 2375000, "overhead": -65, "buffer": 2000}
    assert shown(route, kind, index) == given(table, table.after({}, changed))
    with pytest.raises(NetlinkError):
        route.tc("change", kind, index, **HANDLED, limit=0)
    for values in table.extremes[:3]:
        route.tc("del", kind, index, **HANDLED)
        route.tc("add", kind, index, **HANDLED, **given(table, values))
        assert shown(route, kind, index) == given(table, table.after({}, values))


@pytest.mark.each_kernel
def test_statistics(route: IPRoute, gate: Callable[..., Gate], kind: str) -> None:
    """They are those that tc prints, by name."""
    table = of(kind)
    d0 = gate(f"limit 6 {table.text(table.records)}")
    for ident in range(9):
        d0.send(tcp_flow(ident % 3).frame(1000, ident))
    d0.release(2)
    message = qdisc(route, socket.if_nametoindex("d0"))
    found = message.get_attr("TCA_STATS2").get_attr("TCA_STATS_APP")
    told = d0.show()
    assert {name: found[name] for name in table.statistics} == {
        n: told[n] for n in table.statistics
    }
    assert found["drop_limit"] == 3 and found["type"] == 0


def test_of_a_module_with_less_or_more(kind: str) -> None:
    """Members are appended, and never taken away."""
    message = tcmsg()
    message["header"]["type"] = 36
    members = plugins[kind].stats(message)
    whole = members.fields
    for left in (len(whole) - 3, len(whole), 1, 0):
        size = sum(8 if form == "Q" else 4 for _, form in whole[:left])
        content = bytes(range(size)) + bytes(4 if left == len(whole) else 0)
        read = members(len(content + b"    ").to_bytes(2, sys.byteorder) + bytes(2) + content)
        read.decode()
        assert [n for n, _ in whole if n in read] == [n for n, _ in whole[:left]]


@pytest.mark.each_kernel
def test_general_statistics(route: IPRoute, device: Device, kind: str) -> None:
    """What readers that know no kind show of a root: libnl, node_exporter"""
    run(f"tc qdisc replace dev d0 root handle 10: {kind} rate 8bit limit 5 buffer 0 split_gso off")
    index = socket.if_nametoindex("d0")
    for ident in range(9):
        device.send(tcp_flow(0).frame(1000, ident))
    sent = device.frames()
    message = qdisc(route, index)
    old, new = message.get_attr("TCA_STATS"), message.get_attr("TCA_STATS2")
    basic, queue = new.get_attr("TCA_STATS_BASIC"), new.get_attr("TCA_STATS_QUEUE")
    assert len(sent) == 1  # however long that took
    assert basic == {"bytes": 1000 * len(sent), "packets": len(sent)}
    overlimits = queue.pop("overlimits")
    waits = 9 - len(sent) - queue["drops"]
    assert queue == {"qlen": waits, "backlog": 1000 * waits, "drops": 4 - len(sent), "requeues": 0}
    assert waits > 0 and overlimits > 0
    same = {"bytes": 0, "packets": 0, "qlen": 0, "backlog": 0, "overlimits": 0}
    assert {name: old[name] for name in same} == {
        name: (basic | queue | {"overlimits": overlimits})[name] for name in same
    }
    assert old["drop"] == queue["drops"]
