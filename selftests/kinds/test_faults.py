# SPDX-License-Identifier: GPL-2.0
"""Memory is short at any point of a request: a clean error, and nothing half made.

Faults can be told to hit this process only. So the requests are made here rather than by tc, and
netlink is spoken by hand. That nothing was leaked is seen by test_left_over.py.
"""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Device, Gate, flow, host_flow, tcp_flow
from selftests.lib.netlink import (
    ACK,
    CREATE,
    DELQDISC,
    DELTFILTER,
    EXCL,
    GETQDISC,
    GETTCLASS,
    KIND,
    NEWTFILTER,
    REPLACE,
    ROOT,
    Netlink,
    attribute,
    options,
)
from selftests.lib.options import Values, of

pytestmark = [pytest.mark.faults, pytest.mark.debug_kernel]

CLASSID = 1  # TCA_MATCHALL_*
DEBUG = "/sys/kernel/debug"
MCL_CURRENT, MCL_FUTURE = 1, 2


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


class Faults(Protocol):
    """A way to let allocations of this process fail: the numbers to try, and what they are."""

    name: str
    numbers: Iterable[int]

    def begin(self, number: int) -> None: ...

    def end(self) -> bool:
        """Has any failed?"""
        ...


class Nth:
    """The n-th allocation fails, by kmalloc or of pages."""

    name = "allocation"
    numbers = range(1, 1000)

    def __init__(self) -> None:
        self.file = os.open("/proc/self/fail-nth", os.O_RDWR)

    def begin(self, number: int) -> None:
        os.write(self.file, b"%d" % number)

    def end(self) -> bool:
        done = os.pread(self.file, 16, 0).strip() == b"0"
        os.write(self.file, b"0")
        return done


class NoPages:
    """After so many pages there are no more, so that kvmalloc fails, too."""

    name = "pages"
    numbers = [0, 1, 2, 3] + [round(4 * 1.4**n) for n in range(30)]
    TIMES = 1 << 30

    def __init__(self) -> None:
        # Where there are no pages, nothing more can be opened
        self.file = os.open("/proc/self/make-it-fail", os.O_WRONLY)

    def begin(self, number: int) -> None:
        write(f"{DEBUG}/fail_page_alloc/times", str(self.TIMES))
        write(f"{DEBUG}/fail_page_alloc/space", str(number))
        os.pwrite(self.file, b"1", 0)

    def end(self) -> bool:
        os.pwrite(self.file, b"0", 0)
        with open(f"{DEBUG}/fail_page_alloc/times") as file:
            return int(file.read(), 0) != self.TIMES


def failing(
    netlink: Netlink, faults: Faults, number: int, step: Callable[[], object]
) -> tuple[bool, int]:
    """Do something while memory is short: has it been, and the error number."""
    error = 0
    faults.begin(number)
    try:
        step()
    except OSError as e:
        error = e.errno or -1
    injected = faults.end()
    if error:  # there may be more to read, of a dump, say
        netlink.sock.close()
        netlink.connect()
    return injected, error


def module_users() -> list[int]:
    """Of each of our kinds"""
    return [int(path.read_text()) for path in sorted(Path("/sys/module").glob("sch_*/refcnt"))]


def each_fails(
    netlink: Netlink,
    step: Callable[[], object],
    restore: Callable[[], object],
    alive: Callable[[], object],
    faults: Faults | None = None,
) -> None:
    """Let a step fail at each point, until it is through; `restore` undoes it."""
    faults = faults or Nth()
    before, users = netlink.state(), module_users()
    step()
    after = netlink.state()
    restore()
    assert netlink.state() == before and module_users() == users
    failed = through = 0
    for number in faults.numbers:
        injected, error = failing(netlink, faults, number, step)
        now = netlink.state()
        what = f"{faults.name} {number}, {os.strerror(error)}"
        if not injected:
            assert (error, now) == (0, after), what
            break
        # ENOBUFS: it was the answer that had no memory, so that all may be done.
        assert error in (0, errno.ENOMEM, errno.ENOBUFS), what
        assert now == before if error == errno.ENOMEM else now in (before, after), what
        assert now == after or error, what
        failed += bool(error)
        through += not error
        alive()
        if now != before:
            restore()
            assert netlink.state() == before, what
        elif after != before:
            assert module_users() == users, what
    else:
        raise AssertionError("still not through")
    alive()
    restore()
    assert netlink.state() == before and module_users() == users
    print(f"up to {faults.name} {number}: {failed} errors, {through} got by without")
    assert failed


@pytest.fixture(autouse=True)
def faults(kind: str) -> None:
    assert os.path.isdir(f"{DEBUG}/failslab"), "this kernel lets no allocation fail"
    run(f"modprobe sch_{kind}")  # that it is loaded meanwhile is not what is looked at
    # This process goes on with the pages it has, since it gets none itself.
    assert ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE) == 0
    # Also those that may wait, vmalloc's and single pages; and say nothing of it
    for name, value in [
        ("failslab/ignore-gfp-wait", "N"),
        ("failslab/verbose", "0"),
        ("fail_page_alloc/ignore-gfp-wait", "N"),
        ("fail_page_alloc/ignore-gfp-highmem", "N"),
        ("fail_page_alloc/min-order", "0"),
        ("fail_page_alloc/verbose", "0"),
        ("fail_page_alloc/task-filter", "Y"),
        ("fail_page_alloc/probability", "100"),
    ]:
        write(f"{DEBUG}/{name}", value)


@pytest.fixture
def device(device: Device) -> Iterator[Device]:
    yield device
    run("tc qdisc replace dev d0 root handle ffff: pfifo")  # for close() to delete


@pytest.fixture
def netlink(device: Device) -> Iterator[Netlink]:
    made = Netlink(device.dev)
    yield made
    made.sock.close()


# What is there before, as tc commands, and where ours goes
PLACES = {
    "root": ([], ROOT),
    "htb": (
        [
            "qdisc replace dev d0 root handle 1: htb default 1",
            "class add dev d0 parent 1: classid 1:1 htb rate 10gbit",
        ],
        0x10001,
    ),
    "prio": (["qdisc replace dev d0 root handle 1: prio"], 0x10001),
}


def passes(device: Device) -> None:
    device.frames()
    assert device.send(flow(0).frame(100, 1))
    assert len(device.frames()) == 1


def add(device: Device, netlink: Netlink, place: str, given: Values, faults: Faults) -> None:
    commands, parent = PLACES[place]
    for command in commands:
        run(f"tc {command}")
    more = options(of(device.kind).attributes(given)) if given else b""
    new = netlink.new(device.kind, CREATE | EXCL, 0x100000, parent, more)
    gone = netlink.message(DELQDISC, ACK, 0x100000, parent)
    each_fails(
        netlink,
        lambda: netlink.ask(new),
        lambda: netlink.ask(gone),
        lambda: passes(device),
        faults,
    )


@pytest.mark.parametrize(
    ("place", "flows"), [("root", 0), ("root", 1024), ("root", 65536), ("htb", 8), ("prio", 8)]
)
def test_add(device: Device, netlink: Netlink, place: str, flows: int) -> None:
    """Of 8 flows the tables are small, of 65536 they are vmalloc's."""
    add(device, netlink, place, {"flows": flows} if flows else {}, Nth())


def test_add_with_every_option(device: Device, netlink: Netlink, kind: str) -> None:
    """A rate, hosts, records of them and of flows, queues: whatever the kind has"""
    table = of(kind)
    given = {option.name: max(option.good) for option in table.options if option.fixed}
    add(device, netlink, "root", table.together(table.others | given), Nth())


@pytest.mark.parametrize("flows", [0, 1024, 65536])
def test_no_pages(device: Device, netlink: Netlink, flows: int) -> None:
    add(device, netlink, "root", {"flows": flows} if flows else {}, NoPages())


@pytest.mark.has("hosts")
def test_no_pages_for_hosts(device: Device, netlink: Netlink) -> None:
    add(device, netlink, "root", {"hosts": 3, "host_records": 32768}, NoPages())


@pytest.mark.parametrize("there", ["pfifo", "itself"])
def test_replace(device: Device, netlink: Netlink, kind: str, there: str) -> None:
    there, table = kind if there == "itself" else there, of(kind)
    run(f"tc qdisc replace dev d0 root handle 20: {there}")
    device.send(flow(0).frame(100, 1))
    new = netlink.new(
        kind, CREATE | REPLACE, 0x100000, ROOT, options(table.attributes(table.others))
    )
    old = netlink.new(there, CREATE | REPLACE, 0x200000, ROOT)
    each_fails(
        netlink,
        lambda: netlink.ask(new),
        lambda: netlink.ask(old),
        lambda: passes(device),
    )


@pytest.fixture
def held(gate: Callable[..., Gate], kind: str) -> Gate:
    """A qdisc that holds 20 packets of 10 flows, and one that was peeked at"""
    d0 = gate(f"{of(kind).text(of(kind).records)} split_gso")
    for ident in range(20):
        d0.send(tcp_flow(ident % 10).frame(500, ident))
    d0.command("park 1")
    return d0


@pytest.fixture
def below(held: Gate) -> Iterator[Netlink]:
    made = Netlink(held.dev)
    yield made
    made.sock.close()


def test_change(held: Gate, below: Netlink) -> None:
    """A change that drops packets"""
    table = of(held.kind)
    before = table.defaults | table.published | table.records
    before = {option.name: before[option.name] for option in table.changeable}

    def put_back() -> None:
        below.ask(below.new(held.kind, 0, 0x100000, 0x10001, options(table.attributes(before))))
        for ident in range(21 - held.state()["qlen"]):
            held.send(tcp_flow(ident % 10).frame(500, ident))

    others = options(table.attributes(table.others))
    change = below.new(held.kind, 0, 0x100000, 0x10001, others)
    put_back()
    each_fails(
        below,
        lambda: below.ask(change),
        put_back,
        lambda: held.send(flow(20).frame(100, 30)) and held.state(),
    )


@pytest.mark.has("learn")
def test_change_that_needs_records(device: Device, netlink: Netlink, kind: str) -> None:
    """Without `learn` there are none."""
    off, on = (options(of(kind).attributes({"learn": value})) for value in (0, 1))
    without = netlink.new(kind, CREATE | REPLACE, 0x100000, ROOT, off)
    change = netlink.new(kind, 0, 0x100000, ROOT, on)

    def anew() -> None:
        run("tc qdisc replace dev d0 root handle 20: pfifo")
        netlink.ask(without)

    anew()
    each_fails(netlink, lambda: netlink.ask(change), anew, lambda: passes(device))


@pytest.mark.parametrize("message", [GETQDISC, GETTCLASS])
def test_dump(held: Gate, below: Netlink, message: int) -> None:
    """Statistics of the qdisc, or one class for each of the ten flows"""
    parent = 0 if message == GETQDISC else 0x100000
    whole = len(below.dump(message, parent))
    assert whole == (2 if message == GETQDISC else 10)
    each_fails(below, lambda: below.dump(message, parent), lambda: None, held.state)


@pytest.mark.has("hosts")
def test_dump_of_hosts(gate: Callable[..., Gate], kind: str) -> None:
    """A class for each flow and each host"""
    table = of(kind)
    d0 = gate(table.text(table.records | {"hosts": 1}))
    for number in range(12):
        d0.send(host_flow(number, number % 4).frame(100, number))
    netlink = Netlink(d0.dev)
    assert len(netlink.dump(GETTCLASS, 0x100000)) == 12 + 4
    each_fails(netlink, lambda: netlink.dump(GETTCLASS, 0x100000), lambda: None, d0.state)
    netlink.sock.close()


def test_filter(held: Gate, below: Netlink) -> None:
    """A filter that names the second class, where there is one"""
    more = attribute(KIND, b"matchall\0") + options({CLASSID: struct.pack("=I", 0x100002)})
    priority_and_all = 1 << 16 | socket.htons(3)
    new = below.message(NEWTFILTER, CREATE | EXCL | ACK, 0, 0x100000, priority_and_all, more)
    gone = below.message(DELTFILTER, ACK, 0, 0x100000)
    each_fails(below, lambda: below.ask(new), lambda: below.ask(gone), held.state)


@pytest.mark.parametrize("number", [2, 3])
def test_gso(held: Gate, below: Netlink, number: int) -> None:
    """A packet that cannot be split is dropped; the gate sees that the counts agree."""
    bundle = held.bundle(flow(number), [40, 41, 42], 1000, 300)
    faults = Nth()
    with held.bundle_socket() as sock:
        for number in faults.numbers:
            injected, error = failing(below, faults, number, lambda: sock.send(bundle))
            held.state()
            if not injected:
                break
            assert error in (0, errno.ENOMEM, errno.ENOBUFS), os.strerror(error)
    assert number > 3 and not injected
    split = [ident for ident in held.order() if ident >= 40]
    whole = len(split) // 3 * [40, 41, 42]
    assert split and split in (whole, sorted(whole))  # of each bundle, or of all by their rank
