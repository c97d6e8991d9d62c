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

from selftests.lib.command import refused, run
from selftests.lib.gate import RECORDS, Device, Gate, flow, tcp_flow

pytestmark = pytest.mark.faults

NEWQDISC, DELQDISC, GETQDISC = 36, 37, 38
GETTCLASS, NEWTFILTER, DELTFILTER, GETTFILTER = 42, 44, 45, 46
ERROR, DONE = 2, 3
REQUEST, ACK, DUMP, REPLACE, EXCL, CREATE = 1, 4, 0x300, 0x100, 0x200, 0x400
ROOT = 0xFFFFFFFF
KIND, OPTIONS = 1, 2  # TCA_*
NESTED = 0x8000
CLASSID = 1  # TCA_MATCHALL_*
FLOWS = 3  # TCA_LAS_FLOWS, and all others'
# All that a change can change, each other than by default
ALL = {
    # LIMIT, MEMORY_LIMIT, IDLE, FAIR, FORGIVE, LOG, SPLIT_GSO, BUFFER, FORGIVE_SHARE
    "las": {1: 2, 2: 1 << 20, 4: 5000, 5: 65536, 6: 8000, 7: 1000, 8: 0, 9: 100, 10: 50},
    # LIMIT, MEMORY_LIMIT, IDLE, THRESHOLD, SPAN, ORDER, LEARN, OTHER, GUARANTEE, SPLIT_GSO, BUFFER
    "run2c": {1: 2, 2: 1 << 20, 4: 5000, 5: 1024, 6: 4096, 7: 0, 8: 0, 9: 1, 10: 10}
    | {11: 0, 12: 100},
    # LIMIT, MEMORY_LIMIT, IDLE, PROBABILITY, EVERY, SAMPLES, BYTES, SLOW, GUARANTEE, HIGH, LOW,
    # RED and its six, SPLIT_GSO, SEED, BUFFER
    "sift": {1: 2, 2: 1 << 20, 4: 5000, 5: 20000000, 6: 10, 7: 2, 8: 1, 9: 2000, 10: 10}
    | {11: 5, 12: 6, 13: 3, 14: 7, 15: 8, 16: 10000, 17: 3, 18: 5000, 19: 1, 20: 0, 21: 9, 22: 100},
    # LIMIT, MEMORY_LIMIT, IDLE, POLICY, QUANTUM, DROP_HEAD, SPLIT_GSO
    "sqf": {1: 2, 2: 1 << 20, 4: 5000, 5: 2, 6: 3000, 7: 1, 8: 0},
}
# As the qdisc of `held` begins
BEFORE = {
    "las": {1: 10000, 2: 32 << 20, 4: 60000, 5: 0, 6: 0, 7: 500, 8: 1, 9: 0, 10: 0},
    "run2c": {1: 10000, 2: 32 << 20, 4: 60000, 5: 32768, 6: 4 << 20, 7: 1, 8: 1, 9: 0, 10: 0}
    | {11: 1, 12: 0},
    "sift": {1: 10000, 2: 32 << 20, 4: 60000, 5: 10000000, 6: 1, 7: 1, 8: 0, 9: 0, 10: 0}
    | {
        11: 0,
        12: 0,
        13: 0,
        14: 5,
        15: 15,
        16: 100000000,
        17: 9,
        18: 1250000,
        19: 0,
        20: 1,
        21: 1,
        22: 0,
    },
    "sqf": {1: 1000, 2: 32 << 20, 4: 60000, 5: 0, 6: 1514, 7: 0, 8: 1},
}
DEBUG = "/sys/kernel/debug"
MCL_CURRENT, MCL_FUTURE = 1, 2

State = list[tuple[int, bytes]]


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


def attribute(number: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, number) + data + bytes(-length % 4)


def options(values: dict[int, int]) -> bytes:
    """TCA_OPTIONS of 32-bit attributes"""
    nest = b"".join(attribute(number, struct.pack("=I", n)) for number, n in values.items())
    return attribute(OPTIONS | NESTED, nest)


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        length, number = struct.unpack_from("=HH", data)
        found[number & 0x3FFF] = data[4:length]
        data = data[length + 3 & ~3 :]
    return found


class Netlink:
    """Requests about the qdiscs of a device"""

    def __init__(self, device: str) -> None:
        self.index = socket.if_nametoindex(device)
        self.connect()

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.bind((0, 0))
        self.sock.settimeout(10)

    def message(
        self,
        kind: int,
        flags: int,
        handle: int = 0,
        parent: int = 0,
        info: int = 0,
        more: bytes = b"",
    ) -> bytes:
        body = struct.pack("=BxHiIII", 0, 0, self.index, handle, parent, info) + more
        return struct.pack("=IHHII", 16 + len(body), kind, flags | REQUEST, 1, 0) + body

    def new(self, kind: str, flags: int, handle: int, parent: int, more: bytes = b"") -> bytes:
        named = attribute(KIND, kind.encode() + b"\0") + more
        return self.message(NEWQDISC, flags | ACK, handle, parent, 0, named)

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """Type and content of what comes until the end"""
        while True:
            data = self.sock.recv(1 << 20)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                yield kind, data[16:length]
                data = data[length + 3 & ~3 :]
                if kind in (ERROR, DONE):
                    return

    def ask(self, request: bytes) -> State:
        """Send a request and take its answer."""
        self.sock.send(request)
        found = []
        for kind, data in self.answers():
            if kind in (ERROR, DONE):
                error = -struct.unpack_from("=i", data)[0]
                if error:
                    raise OSError(error, os.strerror(error))
            else:
                found.append((kind, data))
        return found

    def dump(self, kind: int, parent: int = 0) -> State:
        # The numbers of another device's classes and filters do not matter.
        answers = self.ask(self.message(kind, DUMP, parent=parent))
        return [(k, d) for k, d in answers if struct.unpack_from("=4xi", d)[0] == self.index]

    def state(self) -> State:
        """All that is there, but for statistics"""
        found = []
        for kind, data in self.dump(GETQDISC):
            told = attributes(data[20:])
            kept = b"".join(attribute(n, told[n]) for n in (KIND, OPTIONS) if n in told)
            found.append((kind, data[:16] + kept))  # without tcm_info, which counts references
        return found + self.dump(GETTFILTER, 0x100000)

    def failing(self, faults: Faults, number: int, step: Callable[[], object]) -> tuple[bool, int]:
        """Do something while memory is short: has it been, and the error number."""
        error = 0
        faults.begin(number)
        try:
            step()
        except OSError as e:
            error = e.errno or -1
        injected = faults.end()
        if error:  # there may be more to read, of a dump, say
            self.sock.close()
            self.connect()
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
        injected, error = netlink.failing(faults, number, step)
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


def add(device: Device, netlink: Netlink, place: str, flows: int, faults: Faults) -> None:
    commands, parent = PLACES[place]
    for command in commands:
        run(f"tc {command}")
    more = options({FLOWS: flows}) if flows else b""
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
    add(device, netlink, place, flows, Nth())


@pytest.mark.parametrize("flows", [0, 1024, 65536])
def test_no_pages(device: Device, netlink: Netlink, flows: int) -> None:
    add(device, netlink, "root", flows, NoPages())


@pytest.mark.parametrize("there", ["pfifo", "itself"])
def test_replace(device: Device, netlink: Netlink, kind: str, there: str) -> None:
    there = kind if there == "itself" else there
    run(f"tc qdisc replace dev d0 root handle 20: {there}")
    device.send(flow(0).frame(100, 1))
    new = netlink.new(kind, CREATE | REPLACE, 0x100000, ROOT, options(ALL[kind]))
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
    d0 = gate(RECORDS.get(kind, ""))
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

    def put_back() -> None:
        below.ask(below.new(held.kind, 0, 0x100000, 0x10001, options(BEFORE[held.kind])))
        for ident in range(21 - held.state()["qlen"]):
            held.send(tcp_flow(ident % 10).frame(500, ident))

    put_back()
    each_fails(
        below,
        lambda: below.ask(below.new(held.kind, 0, 0x100000, 0x10001, options(ALL[held.kind]))),
        put_back,
        lambda: held.send(flow(20).frame(100, 30)) and held.state(),
    )


def test_change_that_needs_records(device: Device, netlink: Netlink, kind: str) -> None:
    """Without `learn` run2c has none."""
    if kind != "run2c":
        return
    learn = 8
    without = netlink.new(kind, CREATE | REPLACE, 0x100000, ROOT, options({learn: 0}))
    change = netlink.new(kind, 0, 0x100000, ROOT, options({learn: 1}))

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


def test_filter(held: Gate, below: Netlink) -> None:
    """A filter that names the second class, where there is one"""
    if held.kind == "sqf":
        refused("tc filter add dev d0 parent 10: matchall classid 10:1")
        return
    more = attribute(KIND, b"matchall\0") + options({CLASSID: 0x100002})
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
            injected, error = below.failing(faults, number, lambda: sock.send(bundle))
            held.state()
            if not injected:
                break
            assert error in (0, errno.ENOMEM, errno.ENOBUFS), os.strerror(error)
    assert number > 3 and not injected
    split = [ident for ident in held.order() if ident >= 40]
    whole = len(split) // 3 * [40, 41, 42]
    assert split and split in (whole, sorted(whole))  # of each bundle, or of all by their rank
