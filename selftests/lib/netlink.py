# SPDX-License-Identifier: GPL-2.0
"""Netlink by hand, for requests that neither tc nor a library makes: malformed ones above all, and
those that this process has to make. What the kinds tell is read by pyroute2 (told.py)."""

import os
import socket
import struct
from collections.abc import Iterator

NEWQDISC, DELQDISC, GETQDISC = 36, 37, 38
NEWTCLASS, GETTCLASS, NEWTFILTER, DELTFILTER, GETTFILTER = 40, 42, 44, 45, 46
ERROR, DONE = 2, 3
REQUEST, ACK, DUMP, REPLACE, EXCL, CREATE = 1, 4, 0x300, 0x100, 0x200, 0x400
ROOT = 0xFFFFFFFF
KIND, OPTIONS = 1, 2  # TCA_*
NESTED = 0x8000
SOL_NETLINK, CAP_ACK, EXT_ACK = 270, 10, 11
MSG, OFFS, POLICY = 1, 2, 4  # NLMSGERR_ATTR_*
RANGES = {(2, 3): "=q", (4, 5): "=Q"}  # NL_POLICY_TYPE_ATTR_*: least and most, signed or not

State = list[tuple[int, bytes]]


def attribute(number: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, number) + data + bytes(-length % 4)


def options(values: dict[int, bytes]) -> bytes:
    """TCA_OPTIONS of these attributes"""
    nest = b"".join(attribute(number, data) for number, data in values.items())
    return attribute(OPTIONS | NESTED, nest)


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        length, number = struct.unpack_from("=HH", data)
        found[number & 0x3FFF] = data[4:length]
        data = data[length + 3 & ~3 :]
    return found


class Refused(OSError):
    def __init__(self, error: int, more: bytes) -> None:
        super().__init__(error, os.strerror(error))
        told = attributes(more)
        self.text = told.get(MSG, b"").rstrip(b"\0").decode()
        self.at = struct.unpack("=I", told[OFFS])[0] if OFFS in told else None
        policy = attributes(told.get(POLICY, b""))
        self.range = [  # what would be good
            struct.unpack(form, policy[end])[0]
            for ends, form in RANGES.items()
            for end in ends
            if end in policy
        ]


class Netlink:
    """Requests about the qdiscs of a device. An answer, or a part of one but for the first, has no
    more than `room` bytes."""

    def __init__(self, device: str, room: int = 1 << 20) -> None:
        self.index = socket.if_nametoindex(device)
        self.room = room
        self.connect()

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.bind((0, 0))
        self.sock.settimeout(10)
        for option in (EXT_ACK, CAP_ACK):
            self.sock.setsockopt(SOL_NETLINK, option, 1)

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
            data = self.sock.recv(self.room)
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
                    raise Refused(error, data[20:] if kind == ERROR else b"")
            else:
                found.append((kind, data))
        return found

    def dump(self, kind: int, parent: int = 0) -> State:
        # The numbers of another device's classes and filters do not matter.
        answers = self.ask(self.message(kind, DUMP, parent=parent))
        return [(k, d) for k, d in answers if struct.unpack_from("=4xi", d)[0] == self.index]

    def qdiscs(self) -> State:
        """But for statistics"""
        found = []
        for kind, data in self.dump(GETQDISC):
            told = attributes(data[20:])
            kept = b"".join(attribute(n, told[n]) for n in (KIND, OPTIONS) if n in told)
            found.append((kind, data[:16] + kept))  # without tcm_info, which counts references
        return found

    def state(self) -> State:
        """All that is there"""
        return self.qdiscs() + self.dump(GETTFILTER, 0x100000)
