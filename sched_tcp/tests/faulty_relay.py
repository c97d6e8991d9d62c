# SPDX-License-Identifier: GPL-2.0
"""A relay that makes a mistake with one connection in ten: churn has to see each of them.

    faulty_relay.py LISTENER TO_PORT FAULT

LISTENER is a descriptor, inherited, on which it accepts; it goes on to TO_PORT of this host.
"""

import asyncio
import socket
import struct
import sys
from itertools import count

# What churn counts it as
FAULTS = {
    "byte": "wrong",
    "lost": "wrong",
    "doubled": "wrong",
    "early": "early",
    "tail": "early",
    "halves": "early",
    "reset": "broken",
    "stall": "hang",
}
AT = 1000  # the byte with which it happens


class End(asyncio.Protocol):
    """One of the two connections of a pair."""

    def __init__(self, fault: str | None) -> None:
        self.fault = fault
        self.other: End | None = None
        self.transport: asyncio.Transport | None = None
        self.received = 0
        self.ended = self.silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        linger = struct.pack("ii", 1, 0)
        if self.fault != "tail":
            self.socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def socket(self) -> socket.socket:
        return self.transport.get_extra_info("socket")

    def data_received(self, data: bytes) -> None:
        at = AT - self.received
        self.received += len(data)
        if 0 <= at < len(data):
            match self.fault:
                case "byte":
                    data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
                case "lost":
                    data = data[:at] + data[at + 1 :]
                case "doubled":
                    data = data[: at + 1] + data[at:]
                case "early":
                    self.other.transport.write(data[:at])
                    self.other.end()
                    self.silent = True
                case "reset":
                    self.transport.abort()
                    self.other.transport.abort()
                case "stall":
                    self.other.transport.write(data[:at])
                    self.silent = True
        if not self.silent:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        self.ended = True
        if self.fault == "halves":
            self.end()
        if not self.silent:
            self.other.end()
        return True

    def end(self) -> None:
        """Nothing more is sent; when nothing more comes either, it is closed."""
        if self.transport.is_closing():
            return
        self.transport.write_eof()
        if self.ended and self.other.ended:
            for each in (self, self.other):
                linger = struct.pack("ii", 0, 0)
                each.socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                each.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if error and self.other:
            self.other.transport.abort()

    def pause_writing(self) -> None:
        self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        self.other.transport.resume_reading()


async def serve(listener: socket.socket, port: int, fault: str) -> None:
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    tasks: set[asyncio.Task[None]] = set()
    for number in count():
        client, _ = await loop.sock_accept(listener)
        has = fault if number % 10 == 3 else None
        task = loop.create_task(pair(loop, client, port, has))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def pair(
    loop: asyncio.AbstractEventLoop, client: socket.socket, port: int, fault: str | None
) -> None:
    there, here = End(fault), End(fault)
    await loop.create_connection(lambda: there, "127.0.0.1", port)
    there.other, here.other = here, there
    there.transport.pause_reading()
    await loop.connect_accepted_socket(lambda: here, client)
    there.transport.resume_reading()


if __name__ == "__main__":
    asyncio.run(serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]))
