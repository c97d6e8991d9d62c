# SPDX-License-Identifier: GPL-2.0
"""A peer that may break the rules: it says whatever frames a test wants it to (wire.h)."""

import os
import socket
import struct

HELLO, WELCOME, OPEN, OPENED, DATA, RESET, CREDIT, BYE = range(1, 9)
FIN = 1
HEAD = struct.Struct("!BBHII")
ID_LEN = 16
Frame = tuple[int, int, int, int, bytes]  # type, flags, flow, offset, what follows


def frame(kind: int, flow: int = 0, offset: int = 0, data: bytes = b"", flags: int = 0) -> bytes:
    return HEAD.pack(kind, flags, len(data), flow, offset) + data


def hello(session: bytes, flow: int = 1, kind: int = HELLO) -> bytes:
    return frame(kind, flow, 0, b"SFT\1" + session)


def opening(host: str, port: int) -> bytes:
    """To an address of IPv4: no sizes, the last type, and nothing of its client."""
    address = b"\4" + socket.inet_aton(host) + struct.pack("!H", port)
    return struct.pack("!QQB", 0, 0, 0) + b"\0\0\0" + b"\0" + address


class Peer:
    """Its one carrier, and what came on it."""

    def __init__(self, made: socket.socket, session: bytes | None = None) -> None:
        self.socket = made
        self.session = session or os.urandom(ID_LEN)
        self.bytes = b""

    def say(self, *frames: bytes) -> None:
        try:
            self.socket.sendall(b"".join(frames))
        except (BrokenPipeError, ConnectionResetError):
            pass  # thrown out in the middle of it

    def next(self) -> Frame | None:
        """None: it has ended."""
        while len(self.bytes) < HEAD.size or len(self.bytes) < self.whole():
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.bytes += data
        kind, flags, _, flow, offset = HEAD.unpack_from(self.bytes)
        data = self.bytes[HEAD.size : self.whole()]
        self.bytes = self.bytes[self.whole() :]
        return kind, flags, flow, offset, data

    def whole(self) -> int:
        return HEAD.size + HEAD.unpack_from(self.bytes)[2]

    def until(self, kind: int) -> Frame:
        while got := self.next():
            if got[0] == kind:
                return got
        raise AssertionError(f"it ended before a frame of type {kind}")

    def ends(self) -> bool:
        """Whatever it says before."""
        while self.next():
            pass
        return True
