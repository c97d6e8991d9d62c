# SPDX-License-Identifier: GPL-2.0
"""Processes that do things to a device at once.

Each has processes of iproute2 of its own: one that stays answers only who has started it.
"""

import ctypes
import fcntl
import multiprocessing
import os
import random
import re
import selectors
import socket
import struct
import termios
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from errno import ENETDOWN, ENOBUFS, ENODEV, ENXIO
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from selftests.lib.command import Batch
from selftests.lib.gate import PACKET_VNET_HDR, SO_SNDBUFFORCE, SOL_PACKET, Device, flow
from selftests.lib.options import of

PROCESSORS = sorted(os.sched_getaffinity(0))
BURST = 64  # packets, handed over by one call
BURSTS = 8  # that a sender has ready
FLOWS = 300
MEMORY = 32 << 20  # bytes that a qdisc may hold, less than a sender's socket
PAUSE = 0.02  # s after a command
UNREACHABLE = {ENETDOWN, ENXIO, ENODEV}  # there is no such device, or not now


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct msghdr"""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("namelen", ctypes.c_uint),
        ("iov", ctypes.POINTER(_Iovec)),
        ("iovlen", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Sent(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (("message", _Message), ("length", ctypes.c_uint))


_libc = ctypes.CDLL(None, use_errno=True)


class Burst:
    """Frames that one call sends"""

    def __init__(self, frames: Sequence[bytes]) -> None:
        self.frames = frames
        self.iovecs = (_Iovec * len(frames))(*((frame, len(frame)) for frame in frames))
        self.messages = (_Sent * len(frames))()
        for each, iovec in zip(self.messages, self.iovecs, strict=True):
            each.message.iov, each.message.iovlen = ctypes.pointer(iovec), 1

    def send(self, sock: socket.socket) -> tuple[int, int]:
        """How many have come to the device, all unless one of them was dropped there, which ends
        the call; and the error of the first, 0 if there was none."""
        sent = _libc.sendmmsg(sock.fileno(), self.messages, len(self.messages), 0)
        error = ctypes.get_errno() if sent < 0 else 0
        if error not in {0, ENOBUFS}:
            return 0, error
        return min(max(sent, 0) + 1, len(self.messages)), 0


class Sender:
    """A socket of a device and what is sent by it: flows of all sorts, also in bundles"""

    def __init__(self, dev: str, number: int, room: int, bundles: bool) -> None:
        """room: bytes of memory that what it has sent may take until it is freed"""
        rng = random.Random(f"{dev} {number}")
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, room)
        if bundles:
            self.sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.sock.bind((dev, 0))
        self.bursts = [
            Burst([self._frame(rng, bundles) for _ in range(BURST)]) for _ in range(BURSTS)
        ]

    @staticmethod
    def _frame(rng: random.Random, bundles: bool) -> bytes:
        each = flow(
            rng.randrange(FLOWS), rng.choice(("A", "A", "A", "S", "FA")), rng.getrandbits(32)
        )
        if not bundles:
            return each.frame(rng.choice((each.shortest, 600, 1514)), 0)
        if not each.tcp or rng.random() < 0.7:
            return bytes(10) + each.frame(rng.choice((each.shortest, 1514)), 0)
        segments, size = rng.randint(2, 20), rng.choice((100, 1400))
        return Device.bundle(each, list(range(segments)), size, size)

    def unfreed(self) -> int:
        """Bytes of what was sent"""
        return struct.unpack("=i", fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(4)))[0]

    def run(self, cpu: int) -> Iterator[int]:
        """Send, on one processor: numbers of packets."""
        os.sched_setaffinity(0, {cpu})
        rng = random.Random(cpu)
        while True:
            # What the classes of packets are called where the handle is the first of all tests
            self.sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_PRIORITY, rng.choice((0, 0, 0, 0x100001, 0x100002))
            )
            number, error = rng.choice(self.bursts).send(self.sock)
            if error in UNREACHABLE:
                time.sleep(0.001)
            elif error:
                raise OSError(error, os.strerror(error))
            yield number


@dataclass
class _Member:
    name: str
    process: multiprocessing.process.BaseProcess
    told: Connection


class Crowd:
    """All that is done at once: by generators, each in a process of its own, which yield how much
    they have done since the last time, as long as nobody ends it."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("fork")
        self.over = self.context.Event()
        self.beginners = self.context.Value("i", 0)
        self.members: list[_Member] = []

    def begin(self, do: Callable[..., Iterator[int]], *args: Any, idle: bool = False) -> None:
        """Of one that is not `idle` something has to be done before all ends."""
        here, there = multiprocessing.Pipe(duplex=False)

        def beginning(more: int) -> None:
            with self.beginners.get_lock():  # those that are there already begin meanwhile
                self.beginners.value += more

        def work() -> None:
            beginner, done, steps = not idle, 0, do(*args)
            try:
                for step in steps:
                    done += step
                    if beginner and done:
                        beginner = False
                        beginning(-1)
                    if self.over.is_set():
                        break
                steps.close()
                there.send((done, ""))
            except BaseException:
                there.send((done, traceback.format_exc()))
            if beginner:
                beginning(-1)

        beginning(not idle)
        process = self.context.Process(target=work, daemon=True)
        process.start()
        there.close()
        self.members.append(_Member(f"{do.__qualname__}{args}", process, here))

    def go_on(self, seconds: float) -> None:
        """For so long, or longer on a busy machine: until all have begun, or one is killed"""
        end = time.monotonic() + seconds
        while time.monotonic() < end or self.beginners.value:
            if any(member.process.exitcode for member in self.members):
                return  # end() tells of it
            time.sleep(0.05)

    def end(self) -> list[int]:
        """How much each has done"""
        self.over.set()
        found, wrong = [], []
        for member in self.members:
            try:
                done, error = member.told.recv()
            except EOFError:
                done, error = 0, "there is no word of its end"
            member.process.join()
            found.append(done)
            wrong += [f"{member.name}: {error}"] * bool(error)
        assert not wrong, "\n".join(wrong)
        return found


def show(dev: str, *words: str) -> Iterator[int]:
    """Look at its qdiscs and classes in turn: how often."""
    with closing(Batch("tc", *words, "-s")) as tc:
        for what in cycle(("qdisc", "class")):
            done = tc.do(f"{what} show dev {dev}")
            assert done.succeeded, done.stderr
            yield 1


class Options:
    """Those of one qdisc, for as long as it is there"""

    def __init__(self, kind: str, seed: str) -> None:
        self.kind, self.table, self.rng = kind, of(kind), random.Random(seed)
        self.values = self.table.defaults

    def text(self) -> str:
        """Some more, which go with the others"""
        while True:
            given = {}
            for option in self.rng.sample(self.table.changeable, self.rng.randint(1, 4)):
                given[option.name] = self.rng.choice(option.values)
            given = self.table.brisk(given)
            if self.rng.random() < 0.5:
                given["rate"] = self.rng.choice((125_000, 1_250_000, 12_500_000))
            after = self.table.after(self.values, given)
            if after["memory_limit"] <= MEMORY and not self.table.broken(after):
                self.values = after
                return self.table.text(given)


def change(dev: str, at: Sequence[tuple[str, Options]]) -> Iterator[int]:
    """Change options of the kinds at these places: how often."""
    rng = random.Random(f"change {dev}")
    with closing(Batch("tc")) as tc:
        while True:
            place, options = rng.choice(at)
            done = tc.do(f"qdisc change dev {dev} {place} {options.kind} {options.text()}")
            assert done.succeeded, done.stderr
            yield 1


FILTERS = (
    "protocol all matchall classid {0}1",
    "protocol all matchall classid {0}2",
    "protocol all matchall classid 77:5",  # a host
    "protocol ip flower ip_proto udp dst_port 80 classid {0}2",
    "protocol ip u32 match ip sport 1028 0x3 classid {0}1",
    "protocol ipv6 flower ip_proto tcp action drop",
)


def filters(dev: str, handles: Sequence[str]) -> Iterator[int]:
    """Give the qdiscs filters and take them away again: how many."""
    rng = random.Random(f"filters {dev}")
    with closing(Batch("tc")) as tc:
        while True:
            handle = rng.choice(handles)
            chosen = rng.sample(FILTERS, rng.randint(1, 3))
            for pref, each in enumerate(chosen, 1):
                text = each.format(handle)
                done = tc.do(f"filter add dev {dev} parent {handle} pref {pref} {text}")
                assert done.succeeded, done.stderr
            time.sleep(rng.random() / 50)
            for pref in range(1, len(chosen) + 1):
                done = tc.do(f"filter del dev {dev} parent {handle} pref {pref}")
                assert done.succeeded, done.stderr
            yield len(chosen)


def obeyed(commands: Sequence[str], excuse: str, *words: str) -> Iterator[int]:
    """Commands of tc or ip by turns, which may fail if they say such a thing: how many did not."""
    with closing(Batch("tc", *words)) as tc, closing(Batch("ip", *words)) as ip:
        for command in cycle(commands):
            program, rest = command.split(maxsplit=1)
            done = (tc if program == "tc" else ip).do(rest)
            assert done.succeeded or re.search(excuse, done.stderr), f"{command}: {done.stderr}"
            yield done.succeeded
            time.sleep(PAUSE)


def receive(space: str, port: int) -> Iterator[int]:
    """In a namespace, whatever is sent by TCP: how many bytes."""
    with open(f"/run/netns/{space}") as file:
        os.setns(file.fileno(), os.CLONE_NEWNET)
    with socket.create_server(("", port)) as server, selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(PAUSE):
                if key.fileobj is server:
                    selector.register(server.accept()[0], selectors.EVENT_READ)
                    continue
                with suppress(ConnectionError):
                    yield len(key.fileobj.recv(1 << 16))
            yield 0


def transmit(address: str, port: int) -> Iterator[int]:
    """Send by TCP, in one connection after another: how many bytes."""
    while True:
        with suppress(OSError):  # also if the flood took what asks for the neighbour's address
            with socket.create_connection((address, port), 1) as sock:
                while True:
                    yield sock.send(bytes(1 << 16))
        yield 0


def connect(port: int, cpu: int) -> Iterator[int]:
    """Connect to this machine again and again, from one processor: how often."""
    os.sched_setaffinity(0, {cpu})
    with socket.create_server(("127.0.0.1", port), backlog=1) as server:
        while True:
            with socket.create_connection(server.getsockname()), server.accept()[0]:
                yield 1


def write(values: dict[str, Sequence[str]]) -> Iterator[int]:
    """Write these to these files by turns, and read them: how often."""
    for path in cycle(values):
        for value in values[path]:
            Path(path).write_text(value)
            Path(path).read_text()
            yield 1
