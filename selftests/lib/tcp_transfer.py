#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Move data over TCP and see that it arrives as it was.

tcp_transfer.py serve PORT                      answers connections with the SHA-256 of their data
tcp_transfer.py send HOST PORT BYTES STREAMS    fails unless all streams arrive intact within 60 s
tcp_transfer.py repeat HOST PORT BYTES STREAMS  again and again, whatever arrives, until killed
tcp_transfer.py flood HOST PORT PAUSE-MS        UDP of 50 flows, until killed
"""

import hashlib
import random
import socket
import sys
import threading
import time


def answer(connection: socket.socket) -> None:
    digest = hashlib.sha256()
    try:
        while data := connection.recv(1 << 16):
            digest.update(data)
        connection.sendall(digest.digest())
    except OSError:
        pass  # the client knows and tells
    connection.close()


def serve(port: int) -> None:
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def connect(host: str, port: int, end: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection((host, port), timeout=max(0.1, end - time.monotonic()))
        except ConnectionRefusedError:  # the server is not there yet
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def stream(host: str, port: int, size: int, seed: int, intact: list[bool], end: float) -> None:
    data = random.Random(seed).randbytes(size)
    with connect(host, port, end) as connection:
        connection.settimeout(max(0.1, end - time.monotonic()))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        reply = b""
        while part := connection.recv(32):
            reply += part
    intact.append(reply == hashlib.sha256(data).digest())


def send(host: str, port: int, size: int, streams: int) -> bool:
    intact: list[bool] = []
    end = time.monotonic() + 60
    threads = [
        threading.Thread(target=stream, args=(host, port, size, seed, intact, end))
        for seed in range(streams)
    ]
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
            serve(int(port))
        case ["send", host, port, size, streams]:
            return 0 if send(host, int(port), int(size), int(streams)) else 1
        case ["repeat", host, port, size, streams]:
            while True:
                send(host, int(port), int(size), int(streams))
                time.sleep(0.5)  # where nothing slows it down, others want the processor, too
        case ["flood", host, port, pause]:
            flood(host, int(port), int(pause))
    return 2


if __name__ == "__main__":
    sys.exit(main())
