# SPDX-License-Identifier: GPL-2.0
"""Connections that pass by are taken over where they are, and go on as their client's.

netns cli          netns near: origin        netns far                  netns srv
c0 --------------- n0  (taken over)  n1 ---- f0  (goes on from cli)  f1 --- s0
10.1.0.2      10.1.0.1        10.2.0.1      10.2.0.2       10.3.0.1      10.3.0.2
fd01::2        fd01::1         fd02::1       fd02::2        fd03::1       fd03::2
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selftests.lib.command import run

pytestmark = [pytest.mark.each_kernel, pytest.mark.tproxy]

LINKS = (("cli", "c0", "near", "n0"), ("near", "n1", "far", "f0"), ("far", "f1", "srv", "s0"))
FAMILIES = {"4": "10.{}.0.{}", "6": "fd0{}::{}"}
TABLE = "100"  # of routes, where all is local
# What comes from the wire and belongs to a connection that we have taken over is ours
RULES = """
table inet sched_tcp {
    chain prerouting {
        type filter hook prerouting priority mangle;
        meta l4proto tcp socket transparent 1 meta mark set 1 accept
        %s
    }
}
"""
TAKEN = """iifname "n0" meta nfproto ipv4 meta l4proto tcp tproxy ip to :7070 meta mark set 1
        iifname "n0" meta nfproto ipv6 meta l4proto tcp tproxy ip6 to :7070 meta mark set 1"""
CONFIG = {
    "near": """
control = {0}/near.control
peer far {{ address = "10.2.0.2:4343" tunnel = {{"10.2.0.0/24"}} }}
tproxy {{ listen = "0.0.0.0:7070" peer = far }}
tproxy {{ listen = "[::]:7070" peer = far }}
""",
    "far": """
control = {0}/far.control
listen = {{"10.2.0.2:4343"}}
peer far {{ tunnel = {{"10.2.0.0/24"}} allow = {{"10.3.0.0/24:80", "[fd03::]/64:80"}}
           keep-source = yes }}
""",
}
SERVER = """
import socket, sys
listener = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)
print("ready", flush=True)
while True:
    connection, address = listener.accept()
    data = b"".join(iter(lambda: connection.recv(65536), b""))
    connection.sendall(f"{address[0]} {len(data)} {sum(data)}".encode())
    connection.close()
"""
CLIENT = """
import contextlib, socket, sys
data = bytes(i % 251 for i in range(300000))
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as c:
    c.settimeout(120)
    c.sendall(data)
    # Who has been reset cannot be shut down (ENOTCONN): recv says why
    with contextlib.suppress(OSError):
        c.shutdown(socket.SHUT_WR)
    print(b"".join(iter(lambda: c.recv(65536), b"")).decode())
"""


def address(family: str, net: int, host: int) -> str:
    return FAMILIES[family].format(net, host)


def within(name: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", name, *command]


def links() -> None:
    for number, (one, device, other, far) in enumerate(LINKS, 1):
        run(f"ip link add {device} netns {one} type veth peer name {far} netns {other}")
        for name, dev, host in ((one, device, 0), (other, far, 0)):
            # The side that is nearer to the middle is 1, or the first of two
            host = 2 if name in ("cli", "srv") or (name, dev) == ("far", "f0") else 1
            run(f"ip -n {name} addr add {address('4', number, host)}/24 dev {dev}")
            run(f"ip -n {name} addr add {address('6', number, host)}/64 dev {dev} nodad")
            run(f"ip -n {name} link set {dev} up")


def routes() -> None:
    for family in FAMILIES:
        for name, net, host in (("cli", 1, 1), ("near", 2, 2), ("far", 2, 1), ("srv", 3, 1)):
            via = address(family, net, host)
            run(f"ip -n {name} -{family} route add default via {via}")
        for name in ("near", "far"):
            run(f"ip -n {name} -{family} rule add fwmark 1 lookup {TABLE}")
            run(f"ip -n {name} -{family} route add local default dev lo table {TABLE}")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[None]:
    names = ("cli", "near", "far", "srv")
    for name in names:
        run(f"ip netns add {name}")
        run(f"ip -n {name} link set lo up")
    links()
    routes()
    processes = []
    for name, config in CONFIG.items():
        for knob in ("ipv4.ip_forward=1", "ipv6.conf.all.forwarding=1"):
            subprocess.run(within(name, "sysctl", "-qw", f"net.{knob}"), check=True)
        rules = RULES % (TAKEN if name == "near" else "")
        subprocess.run(within(name, "nft", "-f", "-"), input=rules, text=True, check=True)
        path = tmp_path / name
        path.write_text(config.format(tmp_path))
        command = within(name, "sched-tcp", "-v", "-c", str(path))
        processes.append(subprocess.Popen(command, stderr=path.with_suffix(".log").open("w")))
    server = within("srv", sys.executable, "-c", SERVER)
    processes.append(subprocess.Popen(server, stdout=subprocess.PIPE))
    assert processes[-1].stdout.readline() == b"ready\n"
    for name in CONFIG:
        log = tmp_path / f"{name}.log"
        while "ready" not in log.read_text():
            assert all(process.poll() is None for process in processes), log.read_text()
            time.sleep(0.1)
    yield
    for process in processes:
        process.kill()
        process.wait()
    for name in names:
        run(f"ip netns del {name}")


def asked(family: str, port: int = 80) -> subprocess.CompletedProcess:
    command = within("cli", sys.executable, "-c", CLIENT, address(family, 3, 2), str(port))
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_taken_over(pair: None, family: str) -> None:
    """The server sees the client, and all that it has sent."""
    client = address(family, 1, 2)
    shown = f"::ffff:{client}" if family == "4" else client
    data = bytes(i % 251 for i in range(300000))
    done = asked(family)
    assert done.stdout.split() == [shown, str(len(data)), str(sum(data))], done.stderr
    # What the far end does not allow is reset
    assert "ConnectionResetError" in asked(family, 81).stderr
