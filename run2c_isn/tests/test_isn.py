# SPDX-License-Identifier: GPL-2.0
"""run2c_isn: the numbers that connections between two network namespaces begin with.

    netns isn1                      netns isn2
    e1 -------------------------------- e2
    10.9.0.1, fd09::1               10.9.0.2, fd09::2
    10.9.0.3, fd09::3: never hear from e2

Both ends are this kernel's: the module numbers the SYNs of the one and the SYN-ACKs of the other.
All of them are captured at e1.
"""

import ctypes
import errno
import functools
import itertools
import math
import operator
import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from selftests.lib.command import do, run

pytestmark = [pytest.mark.kprobes, pytest.mark.each_kernel, pytest.mark.debug_kernel]

SPAN, LOW = 4 << 20, 10
DEFAULTS = {"span": str(SPAN), "low": "10", "ports": "0-65535", "enabled": "Y"}
FAMILIES = [socket.AF_INET, socket.AF_INET6]
PORT = 8000  # of all servers
BATCH = 500  # connections at a time
E2 = "02:00:00:00:00:02"
MODULE = Path("/sys/module/run2c_isn")
PROBES = Path("/sys/kernel/debug/kprobes/list")
# A connection takes the place of one in TIME_WAIT: its number is this much after the last one's
# next. Who begins it always knows; who accepts it forgets it on the way before Linux 6.10.
FURTHER = 65535 + 2
NUMBERS_ACCEPTED = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 10)
# Where a machine is slow a FIN is sent again. Its ACK finds nobody, and his RST would end
# TIME_WAIT.
NO_RST = {"tcp_rfc1337": "1"}

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33
SOL_PACKET, PACKET_STATISTICS = 263, 6
# Load the IP version's byte; of TCP's flags, at 33 or 53, SYN: take the packet
SYN_FILTER = [
    (0x30, 0, 0, 0),
    (0x54, 0, 0, 0xF0),
    (0x15, 2, 0, 0x60),
    (0x30, 0, 0, 33),
    (0x05, 0, 0, 1),
    (0x30, 0, 0, 53),
    (0x45, 0, 1, 2),
    (0x06, 0, 0, 65535),
    (0x06, 0, 0, 0),
]
libc = ctypes.CDLL(None, use_errno=True)

Family = socket.AddressFamily


class Segment(NamedTuple):
    """A SYN or SYN-ACK"""

    family: Family
    accepted: bool  # it is a SYN-ACK
    local: int  # port of who numbers it
    remote: int
    seq: int
    tsval: int

    @property
    def structured(self) -> bool:
        return self.seq % SPAN < 1 << LOW


class Side:
    """One of the namespaces"""

    def __init__(self, number: int) -> None:
        self.name = f"isn{number}"
        self.device = f"e{number}"
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.file = os.open(f"/run/netns/{self.name}", os.O_RDONLY)

    def close(self) -> None:
        os.close(self.home)
        os.close(self.file)

    @contextmanager
    def inside(self) -> Iterator[None]:
        assert libc.setns(self.file, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(self.home, CLONE_NEWNET) == 0

    def socket(self, family: Family, kind: int = socket.SOCK_STREAM) -> socket.socket:
        with self.inside():
            return socket.socket(family, kind)

    def counters(self) -> dict[str, int]:
        with self.inside():
            names, values = Path("/proc/thread-self/net/netstat").read_text().splitlines()[:2]
        return dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))

    @contextmanager
    def sysctl(self, **wanted: str) -> Iterator[None]:
        before = {}
        with self.inside():
            for name, value in wanted.items():
                file = Path("/proc/sys/net/ipv4", name)
                before[file] = file.read_text()
                file.write_text(value)
        try:
            yield
        finally:
            with self.inside():
                for file, value in before.items():
                    file.write_text(value)


class Net:
    def __init__(self) -> None:
        for number in (1, 2):
            run(f"ip netns add isn{number}")
        run(f"ip link add e1 netns isn1 type veth peer name e2 address {E2} netns isn2")
        for number in (1, 2):
            inside = f"ip -n isn{number}"
            run(f"{inside} link set e{number} up")
            run(f"{inside} addr add 10.9.0.{number}/24 dev e{number}")
            run(f"{inside} addr add fd09::{number}/64 dev e{number} nodad")
        for address, more in (("10.9.0.3/24", ""), ("fd09::3/64", "nodad preferred_lft 0")):
            run(f"ip -n isn1 addr add {address} dev e1 {more}")
            run(f"ip -n isn2 neigh add {address[:-3]} lladdr 02:00:00:00:00:99 dev e2")
        # Whoever asks for e2 from an address that never hears from it would not be answered.
        for address in ("10.9.0.2", "fd09::2"):
            run(f"ip -n isn1 neigh add {address} lladdr {E2} dev e1")
        self.client, self.server = Side(1), Side(2)
        self.ports = itertools.cycle(range(10000, 40000))
        self.capture = self.client.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
        code = b"".join(struct.pack("HBBI", *each) for each in SYN_FILTER)
        buffer = ctypes.create_string_buffer(code)
        program = struct.pack("HP", len(SYN_FILTER), ctypes.addressof(buffer))
        self.capture.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        self.capture.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.capture.bind(("e1", ETH_P_ALL))
        self.capture.settimeout(10)
        self.seen: set[tuple] = set()  # what captured() has returned, without tsval

    def close(self) -> None:
        for each in (self.capture, self.client, self.server):
            each.close()
        for number in (1, 2):
            run(f"ip netns del isn{number}")

    def captured(self, count: int) -> list[Segment]:
        """So many segments, in order; what is sent again is not one of them, since listen()."""
        found: list[Segment] = []
        while len(found) < count:
            data = self.capture.recv(256)
            if data[0] >> 4 == 4 and data[9] == socket.IPPROTO_TCP:
                family, tcp = socket.AF_INET, data[20:]
            elif data[0] >> 4 == 6 and data[6] == socket.IPPROTO_TCP:
                family, tcp = socket.AF_INET6, data[40:]
            else:
                continue
            # After the ports and the number: flags, and the options MSS, SACK and timestamp
            local, remote, seq, flags, tsval = struct.unpack_from(">HHI5xB14xI", tcp)
            key = (family, bool(flags & 0x10), local, remote, seq)
            if key not in self.seen:
                self.seen.add(key)
                found.append(Segment(*key, tsval))
        dropped = struct.unpack("II", self.capture.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
        assert dropped == 0
        return found

    def listen(self, family: Family, backlog: int = 2 * BATCH) -> socket.socket:
        """Also forgets what has been captured."""
        self.capture.setblocking(False)
        with suppress(BlockingIOError):
            while self.capture.recv(1):
                pass
        self.capture.settimeout(10)
        self.seen.clear()
        listener = self.server.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", PORT))
        listener.listen(backlog)
        listener.settimeout(10)
        return listener

    def begin(
        self, family: Family, ports: Iterable[int | None], last: int = 1
    ) -> list[socket.socket]:
        """Connections from these local ports, None being any; they come about by themselves."""
        prefix = "10.9.0." if family == socket.AF_INET else "fd09::"
        sockets = []
        with self.client.inside():
            for port in ports:
                each = socket.socket(family)
                each.setblocking(False)
                if port is not None:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    each.bind((f"{prefix}{last}", port))
                end = time.monotonic() + 10
                while (error := each.connect_ex((f"{prefix}2", PORT))) == errno.EADDRNOTAVAIL:
                    # The last one from this port may not be gone yet.
                    assert port is not None and time.monotonic() < end
                    time.sleep(0.01)
                assert error == errno.EINPROGRESS, os.strerror(error)
                each.settimeout(10)
                sockets.append(each)
        return sockets

    def numbers(
        self, count: int, family: Family = socket.AF_INET, ports: Sequence[int] = ()
    ) -> list[Segment]:
        """How both ends number so many connections, all of which are cut off then."""
        segments = []
        for done in range(0, count, BATCH):
            now = min(BATCH, count - done)
            with closing(self.listen(family)):
                chosen = ports or list(itertools.islice(self.ports, now))
                sockets = self.begin(family, chosen)
                segments += self.captured(2 * now)
            for each in sockets:
                # Its port is free at once, whether the other end has gone or not.
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.close()
        return segments

    def talk(
        self, listener: socket.socket, clients: list[socket.socket], ping: bytes = b"ping"
    ) -> list[socket.socket]:
        """Each sends one segment, and gets four bytes; the other ends of these connections."""
        servers = []
        for each in clients:
            each.send(ping)
        for _ in clients:
            server, _ = listener.accept()
            server.settimeout(10)
            assert server.recv(2 * len(ping)) == ping
            server.send(b"pong")
            servers.append(server)
        for each in clients:
            assert each.recv(9) == b"pong"
        return servers


def end(first: list[socket.socket], second: list[socket.socket]) -> None:
    """Close the first ends, which are then in TIME_WAIT, and then the second."""
    for each in first:
        each.shutdown(socket.SHUT_WR)
    for each in second:
        assert each.recv(9) == b""
        each.close()
    for each in first:
        assert each.recv(9) == b""
        each.close()


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    made = Net()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def loaded() -> Iterator[None]:
    """With the defaults, before and after"""
    if not MODULE.exists():
        run("modprobe run2c_isn")
    assert parameters() == DEFAULTS
    yield
    if MODULE.exists():
        put("low", "0")  # does with any span
        for name, value in DEFAULTS.items():
            put(name, value)


@pytest.fixture(scope="module")
def many(net: Net) -> list[Segment]:
    """10,000 of them; what the kernel numbers itself is none of these."""
    if not MODULE.exists():
        run("modprobe run2c_isn")
    before = [side.counters() for side in (net.client, net.server)]
    missed = int((MODULE / "parameters/missed").read_text())
    found = [each for family in FAMILIES for each in net.numbers(2500, family)]
    after = [side.counters() for side in (net.client, net.server)]
    for name in ("SyncookiesSent", "TW", "TWRecycled"):
        assert [each[name] for each in after] == [each[name] for each in before], name
    assert int((MODULE / "parameters/missed").read_text()) == missed
    return found


def put(name: str, value: str) -> None:
    (MODULE / "parameters" / name).write_text(value)


def parameters() -> dict[str, str]:
    return {name: (MODULE / "parameters" / name).read_text().strip() for name in DEFAULTS}


def unstructured(segments: list[Segment]) -> bool:
    """Whether these are 32 random bits: 12 of them are 0 by chance in one of 4096."""
    assert len(segments) >= 200
    return sum(each.structured for each in segments) < 6  # 1 in 10^11


def all_structured(segments: list[Segment]) -> bool:
    return all(each.structured for each in segments)


def even(values: Iterable[int], cells: int) -> bool:
    """Chi-square of how often each cell is hit, too large or too small once in 10^9"""
    counts = [0] * cells
    for value in values:
        counts[value] += 1
    expected = sum(counts) / cells
    chi2 = sum((count - expected) ** 2 for count in counts) / expected
    # Its cube root is nearly normal (Wilson and Hilferty).
    spread = 2 / (9 * (cells - 1))
    return abs((chi2 / (cells - 1)) ** (1 / 3) - (1 - spread)) < 6 * math.sqrt(spread)


def test_structure(many: list[Segment]) -> None:
    assert len(many) == 10000
    for family, accepted in itertools.product(FAMILIES, (False, True)):
        kind = [each for each in many if (each.family, each.accepted) == (family, accepted)]
        assert len(kind) == 2500
    assert [each for each in many if not each.structured] == []


def test_free_bits(many: list[Segment]) -> None:
    """High and low ones, each with and without the other, in each kind of segment"""
    free = [(each.seq // SPAN, each.seq % SPAN) for each in many]
    assert even((high for high, _ in free), 1024)
    assert even((low for _, low in free), 1024)
    assert even((high % 32 * 32 + low % 32 for high, low in free), 1024)
    assert even((high // 32 * 32 + low // 32 for high, low in free), 1024)
    for family, accepted in itertools.product(FAMILIES, (False, True)):
        kind = [each for each in many if (each.family, each.accepted) == (family, accepted)]
        assert even((each.seq // SPAN // 4 for each in kind), 256)
        assert even((each.seq % SPAN // 4 for each in kind), 256)


def test_timestamps(net: Net) -> None:
    """Their offset, the other half of the kernel's result, is as it was."""
    ports = range(20000, 20020)
    adapted = net.numbers(20, ports=ports)
    put("enabled", "0")
    plain = net.numbers(20, ports=ports)
    for before, after in zip(sorted(adapted), sorted(plain), strict=True):
        assert before[:4] == after[:4]
        assert (after.tsval - before.tsval) % 2**32 < 60000  # ms


@pytest.mark.parametrize("family", FAMILIES)
def test_begun_in_time_wait(net: Net, family: Family) -> None:
    """There is no port left but those in TIME_WAIT: the kernel takes them, and numbers the SYNs."""
    any_port = [None] * 20
    with (
        net.client.sysctl(tcp_tw_reuse="1", ip_local_port_range="50000 50019", **NO_RST),
        closing(net.listen(family)) as listener,
    ):
        clients = net.begin(family, any_port)
        before = net.captured(40)
        end(clients, net.talk(listener, clients))
        time.sleep(2.1)  # before that it does not
        clients = net.begin(family, any_port)
        after = net.captured(40)
        end(net.talk(listener, clients), clients)
    assert all_structured(before)
    begun = {each.local: each.seq for each in before if not each.accepted}
    again = {each.local: each.seq for each in after if not each.accepted}
    # SYN, four bytes and FIN
    assert again == {port: (seq + 6 + FURTHER) % 2**32 for port, seq in begun.items()}
    assert all_structured([each for each in after if each.accepted])


@pytest.mark.parametrize("family", FAMILIES)
def test_accepted_in_time_wait(net: Net, family: Family) -> None:
    """The same port again: the other end has it in TIME_WAIT, and numbers the SYN-ACK or not."""
    ports = range(50100, 50120)
    with net.server.sysctl(**NO_RST), closing(net.listen(family)) as listener:
        clients = net.begin(family, ports)
        before = net.captured(40)
        end(net.talk(listener, clients), clients)
        # Until their clock has gone on by `span`, for 0.27 s, one in 1024 SYNs has the old one's
        # number, and would be taken for that one, sent again.
        time.sleep(0.3)
        clients = net.begin(family, ports)
        after = net.captured(40)
        end(net.talk(listener, clients), clients)
    assert all_structured(before)
    assert all_structured([each for each in after if not each.accepted])
    accepted = {each.remote: each.seq for each in before if each.accepted}
    again = {each.remote: each.seq for each in after if each.accepted}
    if NUMBERS_ACCEPTED:
        assert again == {port: (seq + 6 + FURTHER) % 2**32 for port, seq in accepted.items()}
    else:
        assert len(again) == 20
        assert all_structured([each for each in after if each.accepted])


@pytest.mark.parametrize("family", FAMILIES)
def test_time_wait_without_timestamps(net: Net, family: Family) -> None:
    """
    At once, when the SYN's number may seem an old one: it comes about, if late. The old ones
    are of more than 2^low bytes, so that no SYN has the number of an old FIN: what acknowledges
    that would seem to acknowledge the SYN, until TIME_WAIT has ended.
    """
    ports = range(50200, 50210)
    with net.client.sysctl(tcp_timestamps="0"), closing(net.listen(family)) as listener:
        for _ in range(2):
            clients = net.begin(family, ports)
            end(net.talk(listener, clients, bytes(1200)), clients)


@pytest.mark.parametrize("family", FAMILIES)
def test_cookies(net: Net, family: Family) -> None:
    """Each SYN-ACK is one."""
    before = net.server.counters()
    with net.server.sysctl(tcp_syncookies="2"), closing(net.listen(family)) as listener:
        clients = net.begin(family, itertools.islice(net.ports, 200))
        end(net.talk(listener, clients), clients)
        segments = net.captured(400)
    after = net.server.counters()
    assert all_structured([each for each in segments if not each.accepted])
    assert unstructured([each for each in segments if each.accepted])
    assert after["SyncookiesRecv"] - before["SyncookiesRecv"] == 200
    # A SYN that is sent again gets another one.
    assert after["SyncookiesSent"] - before["SyncookiesSent"] >= 200


@pytest.mark.parametrize("family", FAMILIES)
def test_flood(net: Net, family: Family) -> None:
    """SYNs without an end, and those who want to talk get through, with cookies."""
    before = net.server.counters()
    # Of a backlog of 8 the kernel would give up half of who has not answered for 7 s.
    with net.server.sysctl(tcp_syncookies="1"), closing(net.listen(family, 4)) as listener:
        flood = net.begin(family, itertools.islice(net.ports, 300), last=3)
        segments = net.captured(600)
        for _ in range(5):  # no more than the backlog at a time
            clients = net.begin(family, itertools.islice(net.ports, 4))
            # TIME_WAIT is where the listener is. He would take an ACK that comes too late, as
            # where a machine is slow, for one more cookie: both numbers are farther by the same.
            end(net.talk(listener, clients), clients)
        segments += net.captured(40)
        for each in flood:
            each.close()
    after = net.server.counters()
    assert all_structured([each for each in segments if not each.accepted])
    accepted = [each for each in segments if each.accepted]
    sent = after["SyncookiesSent"] - before["SyncookiesSent"]
    # As many connections as the backlog have no cookies; their SYN-ACKs may be sent again
    assert 4 <= len({each.remote for each in accepted if each.structured}) < 4 + 1 + 6
    assert sent >= len(accepted) - 5
    assert after["SyncookiesRecv"] - before["SyncookiesRecv"] == 20


def test_enabled(net: Net) -> None:
    put("enabled", "0")
    assert unstructured(net.numbers(100))
    put("enabled", "1")
    assert all_structured(net.numbers(100))


@pytest.mark.parametrize(
    "span, low", [(1 << 22, 0), (1 << 16, 10), (2, 0), (1 << 31, 0), (1 << 31, 30), (1 << 22, 21)]
)
def test_span_and_low(net: Net, span: int, low: int) -> None:
    """Those bits are 0 that are to be, and all others are not."""
    put("low", "0")
    put("span", str(span))
    put("low", str(low))
    numbers = [each.seq for each in net.numbers(50)]
    zero = (span - 1) & ~((1 << low) - 1)
    assert {number & zero for number in numbers} == {0}
    assert functools.reduce(operator.or_, numbers) == ~zero & 0xFFFFFFFF


@pytest.mark.parametrize("family", FAMILIES)
def test_ports(net: Net, family: Family) -> None:
    """Who numbers from one of these ports, whether it began the connection or not"""

    def adapted(ports: str) -> set[int]:
        put("ports", ports)
        segments = net.numbers(20, family, range(30000, 30020))
        return {each.local for each in segments if each.seq % 2**31 == 0}

    put("low", "0")
    put("span", str(2**31))  # all but one bit are 0, by chance in none
    some = set(range(30000, 30020))
    assert adapted("0-65535") == some | {PORT}
    assert adapted("30003-30017") == set(range(30003, 30018))
    assert adapted("8000-8000") == {PORT}
    assert adapted("7999-30004") == set(range(30000, 30005)) | {PORT}
    assert adapted("8001-29999") == set()
    assert adapted("0-7999") == set()
    assert adapted("30020-65535") == set()


BAD = [
    ("span", "0"),
    ("span", "1"),
    ("span", "1024"),  # 2^low
    ("span", "3000000"),
    ("span", "4294967296"),
    ("span", "-4194304"),
    ("span", "4M"),
    ("span", ""),
    ("low", "22"),
    ("low", "31"),
    ("low", "4294967296"),
    ("low", "-1"),
    ("low", "ten"),
    ("enabled", "2"),
    ("enabled", ""),
    ("ports", "80"),
    ("ports", "80-"),
    ("ports", "-80"),
    ("ports", "80-79"),
    ("ports", "0-65536"),
    ("ports", "0-4294967297"),
    ("ports", "4294967297-4294967298"),
    ("ports", "80-90,100-110"),
    ("ports", "http-https"),
    ("ports", ""),
]


def test_refused(net: Net) -> None:
    """And all is as it was."""
    for name, value in BAD:
        with pytest.raises(OSError) as error:
            put(name, value + "\n")
        assert error.value.errno in (errno.EINVAL, errno.ERANGE), (name, value)
        assert parameters() == DEFAULTS, (name, value)
    assert all_structured(net.numbers(50))


def load(options: str) -> str:
    """Unload it, and load it again with these; what insmod says if it cannot"""
    if MODULE.exists():
        run("rmmod run2c_isn")
    return do(f"modprobe run2c_isn {options}").stderr


def test_refused_at_loading() -> None:
    for options in (
        "span=3000000 low=22 span=1024 span=512,low=9 low=64,span=8 ports=80-79 enabled=2 missed=1"
    ).split():
        assert load(options.replace(",", " ")), options
        assert not MODULE.exists() and probes() == [], options


@pytest.mark.parametrize("options", ["span=512 low=4", "low=4 span=512", "low=25 span=0x4000000"])
def test_loading(net: Net, options: str) -> None:
    """In any order, though with the other's default neither may do"""
    assert load(options + " ports=30000-30009") == ""
    wanted = {k: str(int(v, 0)) for k, v in (word.split("=") for word in options.split())}
    assert parameters() == {**DEFAULTS, **wanted, "ports": "30000-30009"}
    segments = net.numbers(10, ports=range(30000, 30010))
    span, low = int(wanted["span"]), int(wanted["low"])
    assert all(each.seq % span < 1 << low for each in segments if not each.accepted)


def test_loading_disabled(net: Net) -> None:
    assert load("enabled=0") == ""
    assert unstructured(net.numbers(100))
    put("enabled", "1")
    assert all_structured(net.numbers(50))


def probes() -> list[str]:
    return [line for line in PROBES.read_text().splitlines() if "secure_tcp" in line]


def test_unloading(net: Net) -> None:
    assert len(probes()) == 2
    run("rmmod run2c_isn")
    assert probes() == [] and not MODULE.exists()
    assert unstructured(net.numbers(100))


@pytest.fixture
def one_processor() -> Iterator[None]:
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    yield
    os.sched_setaffinity(0, processors)


@pytest.mark.usefixtures("one_processor")
def test_loading_under_load(net: Net) -> None:
    """
    Again and again, while connections are made, all on one processor: QEMU's TCG may let another
    one come to a breakpoint that the kernel has taken out before, and the kernel then jumps to 0.
    """
    words = "rmmod run2c_isn && modprobe run2c_isn || exit"
    with subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5; do {words}; done"]) as loading:
        while loading.poll() is None:
            net.numbers(50)
    assert loading.returncode == 0
    assert all_structured(net.numbers(50))
