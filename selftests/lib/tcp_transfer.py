#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Move data over TCP and see that it arrives as it was.

tcp_transfer.py serve PORT                      answers connections with the SHA-256 of their data
tcp_transfer.py supply PORT BYTES               answers them with data and its SHA-256
tcp_transfer.py send HOST PORT BYTES STREAMS [FROM]  fails unless all streams arrive intact in 60 s
tcp_transfer.py receive HOST PORT STREAMS [FROM]     the same of streams of `supply`
tcp_transfer.py repeat HOST PORT BYTES STREAMS  again and again, whatever arrives, until killed
tcp_transfer.py flood HOST PORT PAUSE-MS        UDP of 50 flows, until killed
"""

import hashlib
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial


def answer(connection: socket.socket) -> None:
    digest = hashlib.sha256()
    try:
        while data := connection.recv(1 << 16):
            digest.update(data)
        connection.sendall(digest.digest())
    except OSError:
        pass  # the client knows and tells
    connection.close()


def give(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data + hashlib.sha256(data).digest())
    except OSError:
        pass
    connection.close()


def serve(port: int, to_each: Callable[[socket.socket], None]) -> None:
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=to_each, args=(connection,), daemon=True).start()


def connect(host: str, port: int, end: float, source: str | None) -> socket.socket:
    own = source and (source, 0)
    while True:
        try:
            left = max(0.1, end - time.monotonic())
            return socket.create_connection((host, port), left, own or None)
        except ConnectionRefusedError:  # the server is not there yet
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def all_of(connection: socket.socket) -> bytes:
    found = b""
    while part := connection.recv(1 << 16):
        found += part
    return found


def has_sent(connection: socket.socket, data: bytes) -> bool:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
    return all_of(connection) == hashlib.sha256(data).digest()


def has_received(connection: socket.socket) -> bool:
    data = all_of(connection)
    return data[-32:] == hashlib.sha256(data[:-32]).digest()


def send(host: str, port: int, size: int, streams: int, source: str | None = None) -> bool:
    tasks = [partial(has_sent, data=random.Random(i).randbytes(size)) for i in range(streams)]
    return all_intact(host, port, tasks, source)


def receive(host: str, port: int, streams: int, source: str | None = None) -> bool:
    return all_intact(host, port, [has_received] * streams, source)


def all_intact(
    host: str, port: int, tasks: Sequence[Callable[[socket.socket], bool]], source: str | None
) -> bool:
    """A connection for each, all at once"""
    intact: list[bool] = []
    streams = len(tasks)
    end = time.monotonic() + 60

    def run(task: Callable[[socket.socket], bool]) -> None:
        with connect(host, port, end, source) as connection:
            connection.settimeout(max(0.1, end - time.monotonic()))
            intact.append(task(connection))

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(intact)} of {streams} streams arrived intact")
    return sum(intact) == streams


def flood(host: str, port: int, pause: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sockets = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(50)]
    rng = random.Random(1)
    while True:
        for sock in rng.choices(sockets, k=10):
            try:
                sock.sendto(bytes(rng.randint(20, 1400)), (host, port))
            except OSError:  # the network is being rebuilt
                time.sleep(0.01)
        time.sleep(pause / 1000)


def main() -> int:
    match sys.argv[1:]:
        case ["serve", port]:
            serve(int(port), answer)
        case ["supply", port, size]:
            serve(int(port), partial(give, data=random.Random(1).randbytes(int(size))))
        case ["send", host, port, size, streams, *source]:
            return 0 if send(host, int(port), int(size), int(streams), *source) else 1
        case ["receive", host, port, streams, *source]:
            return 0 if receive(host, int(port), int(streams), *source) else 1
        case ["repeat", host, port, size, streams]:
            while True:
                send(host, int(port), int(size), int(streams))
                time.sleep(0.5)  # where nothing slows it down, others want the processor, too
        case ["flood", host, port, pause]:
            flood(host, int(port), int(pause))
    return 2


if __name__ == "__main__":
    sys.exit(main())
