#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""For a guest: what the kernel tells each second of a home's link, for tests/host/replay.c.

An upload, a call, pages that are looked at, and one who floods the Internet with small packets
share 20 Mbit/s; las has `hosts src`. The files go to the second serial port.
"""

import io
import random
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator

RTM_GETLINK, RTM_GETQDISC, RTM_GETTCLASS = 18, 38, 42
LOOKS = 60
SERVERS = [f"203.0.113.{i}" for i in (5, 12, 40, 77)]


def run(text: str) -> None:
    for line in text.strip().splitlines():
        subprocess.run(line.split(), check=True)


def dump(kind: int, ifindex: int = 0) -> bytes:
    """The messages of the answer"""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asked:
        head = struct.pack("=BxxxiIII", 0, ifindex, 0, 0, 0)[: 16 if kind == RTM_GETLINK else 20]
        asked.send(struct.pack("=IHHII", 16 + len(head), kind, 0x301, 1, 0) + head)
        found = b""
        while True:
            part, at = asked.recv(1 << 16), 0
            while at < len(part):
                length, number = struct.unpack_from("=IH", part, at)
                if number == 3:  # NLMSG_DONE
                    return found
                found += part[at : at + length]
                at += (length + 3) & ~3


def sink(server: str) -> None:
    listening = socket.create_server((server, 443), backlog=64)
    while True:
        taken, _ = listening.accept()
        threading.Thread(target=lambda s=taken: [None for _ in iter(lambda: s.recv(65536), b"")],
                         daemon=True).start()  # fmt: skip


def udp(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.setblocking(False)
    return made


def every(seconds: float) -> Iterator[None]:
    when = time.monotonic()
    while True:
        when += seconds
        time.sleep(max(0.0, when - time.monotonic()))
        yield


def upload() -> None:
    with socket.create_connection((SERVERS[0], 443), source_address=("192.168.1.10", 0)) as to:
        while True:
            to.sendall(bytes(1 << 16))


def call() -> None:
    to = udp("192.168.1.20", 5004)
    for _ in every(0.02):
        to.sendto(bytes(172), (SERVERS[1], 40010))


def pages() -> None:
    rng = random.Random(1)
    for _ in every(0.3):
        source = (f"192.168.1.{rng.choice((20, 21, 30))}", 0)
        with socket.create_connection((rng.choice(SERVERS[1:]), 443), source_address=source) as to:
            to.sendall(bytes(rng.randrange(500, 30000)))


def flood() -> None:
    sockets = [udp("192.168.1.66", port) for port in range(20000, 20004)]
    rng = random.Random(2)
    for _ in every(0.01):
        for _ in range(60):
            try:
                rng.choice(sockets).sendto(bytes(300), (SERVERS[3], 80))
            except BlockingIOError:
                pass


def main() -> None:
    run("""
ip netns add net
ip link add eth0 type veth peer name e1 netns net
ip link set eth0 up
ip link set lo up
ip -n net link set e1 up
ip -n net link set lo up
ip -n net addr add 203.0.113.1/24 dev e1
ip -n net route add 192.168.1.0/24 dev e1
ip route add 203.0.113.0/24 dev eth0
tc qdisc replace dev eth0 root handle 1: las rate 20mbit hosts src
""")
    for i in (10, 20, 21, 30, 66):
        run(f"ip addr add 192.168.1.{i}/32 dev eth0")
    for server in SERVERS:
        run(f"ip -n net addr add {server}/24 dev e1")
    subprocess.Popen(["ip", "netns", "exec", "net", __file__, "sink"])
    time.sleep(2)
    for work in (upload, call, pages, flood):
        threading.Thread(target=work, daemon=True).start()
    ifindex = socket.if_nametoindex("eth0")
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w:xz") as tar:
        for number, _ in zip(range(1, LOOKS + 1), every(1), strict=False):
            for part, asked in (
                ("class", (RTM_GETTCLASS, ifindex)),
                ("qdisc", (RTM_GETQDISC,)),
                ("link", (RTM_GETLINK,)),
            ):
                data = dump(*asked)
                info = tarfile.TarInfo(f"{number}.{part}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    with open("/dev/ttyS1", "wb") as out:
        out.write(kept.getvalue())


if __name__ == "__main__":
    if sys.argv[1:] == ["sink"]:
        for server in SERVERS:
            threading.Thread(target=sink, args=(server,), daemon=True).start()
        for server, port in ((SERVERS[1], 40010), (SERVERS[3], 80)):
            udp(server, port)
        time.sleep(1000)
    main()
