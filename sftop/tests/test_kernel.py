# SPDX-License-Identifier: GPL-2.0
"""What sftop tells of a kernel's qdiscs is what has been sent.

netns box: 20 hosts               netns net
e0 ------------------------------ e1
10.9.0.1 ... 10.9.0.20            10.9.1.1
"""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Sequence
from ctypes import CDLL

import pytest

from selftests.lib.command import alone, run

pytestmark = pytest.mark.programs

HOSTS = [f"10.9.0.{i}" for i in range(1, 21)]
SINK = ("10.9.1.1", 9)
HEADERS = 14 + 20 + 8  # of Ethernet, IP and UDP
FAIR = 256 * 1024  # past which flows are long
CLONE_NEWNET = 0x40000000


@pytest.fixture
def box() -> Iterator[None]:
    for name in ("box", "net"):
        run(f"ip netns add {name}")
    run("ip link add e0 netns box type veth peer name e1 netns net")
    run("ip -n net addr add 10.9.1.1/16 dev e1")
    for name, device in (("box", "e0"), ("net", "e1"), ("box", "lo"), ("net", "lo")):
        run(f"ip -n {name} link set {device} up")
    for address in HOSTS:
        run(f"ip -n box addr add {address}/16 dev e0")
    yield
    for name in ("box", "net"):
        run(f"ip netns del {name}")


def sftop(*words: str, status: int = 0, within: str = "") -> str:
    command = [*within.split(), "sftop", *words]
    done = subprocess.run(["ip", "netns", "exec", "box", *command], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def told(*words: str, **how: object) -> dict:
    return json.loads(sftop("--json", "-d", "0.1", *words, **how))


def qdisc(options: str) -> None:
    alone(f"tc -n box qdisc replace dev e0 root handle 10: {options}")


class Sender:
    """Sockets in the box; a full one waits until its packets have left, so that none is lost."""

    def __init__(self) -> None:
        self.sockets: dict[tuple[str, int], socket.socket] = {}
        self.sent: dict[tuple[str, int], int] = {}
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)

    def __enter__(self) -> "Sender":
        with open("/run/netns/box") as there:
            assert CDLL(None).setns(there.fileno(), CLONE_NEWNET) == 0
        return self

    def __exit__(self, *error: object) -> None:
        CDLL(None).setns(self.home, CLONE_NEWNET)
        os.close(self.home)
        for each in self.sockets.values():
            each.close()

    def send(self, host: str, port: int, packets: int, size: int) -> None:
        source = host, port
        if source not in self.sockets:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.bind(source)
            self.sockets[source] = made
        for _ in range(packets):
            self.sockets[source].sendto(bytes(size - HEADERS), SINK)
        self.sent[source] = self.sent.get(source, 0) + packets * size

    def forget(self, source: tuple[str, int]) -> None:
        self.sockets.pop(source).close()


def by_source(flows: Sequence[dict]) -> dict[tuple[str, int], dict]:
    return {(each["src"], each["sport"]): each for each in flows if each.get("proto") == "udp"}


@pytest.mark.parametrize("kind", ["las", "sqf"])
def test_all_flows(box: None, kind: str) -> None:
    """20 hosts with 250 flows each: who, how many bytes, short or long"""
    qdisc(f"{kind} rate 1gbit hosts src flows 65536 idle 3600s target 0 forgive_share 0")
    with Sender() as sender:
        for host in HOSTS:
            for port in range(1000, 1250):
                sender.send(host, port, 1 + port % 3, 200)
                sender.forget((host, port))
            sender.send(host, 2000, 120, 1000)  # short
            sender.send(host, 3000, 400, 1000)  # long
        found = told()
        after = told("--sort", "bytes")
    flows = by_source(found["flows"])
    assert flows.keys() == sender.sent.keys() and len(flows) == 20 * 252
    assert {who: each["bytes"] for who, each in flows.items()} == sender.sent
    for (_, port), each in flows.items():
        assert each["sort"] == ("long" if port == 3000 else "short"), each
        assert (each["dst"], each["dport"], each["drops"], each["qlen"]) == (*SINK, 0, 0)
    hosts = {each["src"]: each for each in found["hosts"] if "src" in each}
    total = {host: sum(n for who, n in sender.sent.items() if who[0] == host) for host in HOSTS}
    assert {host: hosts[host]["bytes"] for host in HOSTS} == pytest.approx(total, rel=0.01)
    assert {each["host"] for each in flows.values()} == {hosts[host]["host"] for host in HOSTS}
    shown = json.loads(alone("tc -n box -s -j qdisc show dev e0"))[0]
    for name in ("bytes", "packets"):  # beside these there are some of the kernel's own
        assert after["qdiscs"][0][name] == pytest.approx(shown[name], rel=0.01)
    assert [each["sport"] for each in after["flows"][:20]] == [3000] * 20


@pytest.mark.clock
@pytest.mark.parametrize("kind", ["las", "sqf"])
def test_rates_and_waits(box: None, kind: str) -> None:
    """One that sends all the time has the link's rate, and its packets wait."""
    qdisc(f"{kind} rate 10mbit target 0")
    with Sender() as sender:
        process = os.fork()
        if not process:
            while True:
                sender.send(HOSTS[0], 3000, 1, 1000)
        try:
            subprocess.run(["sleep", "1"], check=True)
            found = told("-d", "1")
            metrics = sftop("--prometheus")
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)
    each = by_source(found["flows"])[HOSTS[0], 3000]
    assert each["rate"] * 8 == pytest.approx(10e6, rel=0.1)
    assert found["qdiscs"][0]["rate"] * 8 == pytest.approx(10e6, rel=0.1)
    assert each["sort"] == "long" and each["qlen"] > 1 and each["waited_us"] > 1000
    assert found["qdiscs"][0]["flows"]["long"]["waited_us"] >= each["waited_us"]
    assert re.search(rf'flows_waiting{{.*kind="{kind}".*,sort="long"}} 1\n', metrics)


def test_kinds(box: None, kind: str) -> None:
    """All tell what they are; what tc says of their flows is what sftop says."""
    option = {"sift": "packets every 1 slow 0", "run2c": "other count slow 0"}.get(kind, "")
    qdisc(f"{kind} rate 1gbit {option}")
    with Sender() as sender:
        sender.send(HOSTS[0], 1000, 3, 500)
        sender.send(HOSTS[1], 1001, 2, 400)
        found = told()
    assert [(each["dev"], each["kind"], each["handle"]) for each in found["qdiscs"]] == [
        ("e0", kind, "10:")
    ]
    assert found["qdiscs"][0]["bytes"] >= 2300
    assert by_source(found["flows"]).keys() == sender.sent.keys()


def test_no_permission(box: None) -> None:
    qdisc("las rate 1gbit")
    with Sender() as sender:
        sender.send(HOSTS[0], 1000, 1, 500)
        without = "setpriv --bounding-set=-net_admin --inh-caps=-net_admin"
        found = told(within=without)
    assert found["notice"].startswith("Flows and hosts are listed only for root")
    assert found["flows"] == [] and found["qdiscs"][0]["bytes"] > 500


def test_queues(box: None) -> None:
    """Those of an interface with several: each is told by itself."""
    run("ip -n box link add d0 numtxqueues 4 type dummy")
    alone("tc -n box qdisc replace dev d0 root handle 1: mq")
    for i in range(1, 5):
        alone(f"tc -n box qdisc replace dev d0 parent 1:{i} handle 1{i}: las")
    run("ip -n box link set d0 up")
    found = told("d0")
    assert sorted((each["handle"], each["parent"]) for each in found["qdiscs"]) == [
        *((f"1{i}:", f"1:{i}") for i in range(1, 5))
    ]


def test_none(box: None) -> None:
    assert told(status=3)["qdiscs"] == []
    qdisc("fq_codel")
    assert told("e0", status=3)["qdiscs"] == []
    sftop("--once", "e9", status=1)


def test_churn(box: None, kind: str) -> None:
    """Qdiscs and the interface come and go while it looks."""
    looking = subprocess.Popen(
        ["ip", "netns", "exec", "box", "sftop", "-d", "0.1", "-n", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with Sender() as sender:
        for i in range(40):
            qdisc(f"{kind} flows 64")
            sender.send(HOSTS[i % 20], 1000 + i, 5, 500)
            alone("tc -n box qdisc del dev e0 root")
    run("ip -n box link add d1 type dummy")
    alone(f"tc -n box qdisc replace dev d1 root {kind}")
    run("ip -n box link del d1")
    said = looking.communicate()[0]
    assert looking.returncode == 0, said
    assert "Cannot" not in said
