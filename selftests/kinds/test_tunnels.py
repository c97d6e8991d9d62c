# SPDX-License-Identifier: GPL-2.0
"""Flows in a tunnel that begins on the router are separate flows. A tunnel that passes is one.

    netns snd              netns rtr                      netns rcv
    s0 ------------------- r0     r1: KIND 10: ---------- c0
    10.0.1.1               10.0.1.2  10.0.2.2             10.0.2.1
                           ======== tunnel 10.5.0.x =====

The tunnel begins in rtr, for packets from snd (forwarded) and for rtr's own; or in snd (passing).
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from selftests.lib.command import alone, do

SPACES = ("snd", "rtr", "rcv")
# Private and public keys of WireGuard, of both ends
KEYS = (
    (
        "YGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
        "QElQLbksojQsP5LaxdbefIXbXfVAeltJls458u+36Cc=",
    ),
    (
        "YGJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=",
        "Sk+MzeGY1m6ZtMAUQYoyI84lbJiQCuSmgR/RD364TCw=",
    ),
)
HERE, PASSING = ("forwarded", "own"), "passing"  # where it begins
MANY, FEW = 40, 5  # datagrams of the two flows
LARGE, SMALL = 1000, 100  # bytes of them
# Nothing is dropped, and no flow of sift and run2c is reordered as its first packet goes low.
ROOMY = {
    "las": "buffer 2s",
    "sqf": "buffer 2s",
    "sift": "buffer 2s guarantee 0",
    "run2c": "buffer 2s guarantee 0",
}

WIREGUARD = """
from pyroute2 import WireGuard
WireGuard().set("t0", private_key="{private}", listen_port=51820, peer={{
    "public_key": "{public}", "endpoint_addr": "{end}", "endpoint_port": 51820,
    "allowed_ips": ["10.5.0.0/24", "10.0.1.0/24"]}})
"""
# The first datagram has WireGuard agree on keys.
SEND = """
import socket, time
flows = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for port, flow in enumerate(flows, 6000):
    flow.bind(("{source}", port))
    flow.connect(("{to}", 7000))
flows[0].send(bytes([255]))
time.sleep(2)
for flow, count, size in zip(flows, {counts}, {sizes}):
    for number in range(count):
        flow.send(bytes([number]) + bytes(size - 1))
"""
RECEIVE = """
import json, socket
found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
found.bind(("", 7000))
print(flush=True)
found.settimeout(10)
came = []
try:
    while len(came) < {most}:
        data, (_, port) = found.recvfrom(2000)
        found.settimeout(4)
        came.append((port, data[0]))
except TimeoutError:
    pass
print(json.dumps(came))
"""


def inside(space: str, program: str) -> list[str]:
    return ["ip", "netns", "exec", space, "python3", "-c", program]


@dataclass
class Ends:
    """Where a tunnel begins, and its outer addresses"""

    space: str
    near: str
    far: str
    dev: str


def ends(where: str, family: int) -> Ends:
    if where == PASSING:
        return Ends("snd", "10.0.1.1" if family == 4 else "fd00:1::1", far(family), "s0")
    return Ends("rtr", "10.0.2.2" if family == 4 else "fd00:2::2", far(family), "r1")


def far(family: int) -> str:
    return "10.0.2.1" if family == 4 else "fd00:2::1"


@pytest.fixture
def network() -> Iterator[None]:
    for space in SPACES:
        alone(f"ip netns add {space}")
        alone(f"ip -n {space} link set lo up")
        for name in ("ipv4.ip_forward", "ipv6.conf.all.forwarding"):
            alone(f"ip netns exec {space} sysctl -qw net.{name}=1")
    alone("ip link add s0 netns snd type veth peer name r0 netns rtr")
    alone("ip link add r1 netns rtr type veth peer name c0 netns rcv")
    for space, dev, net, host in (
        ("snd", "s0", 1, 1), ("rtr", "r0", 1, 2), ("rtr", "r1", 2, 2), ("rcv", "c0", 2, 1),
    ):  # fmt: skip
        alone(f"ip -n {space} link set {dev} up")
        alone(f"ip -n {space} addr add 10.0.{net}.{host}/24 dev {dev}")
        alone(f"ip -n {space} addr add fd00:{net}::{host}/64 dev {dev} nodad")
    alone("ip -n snd route add default via 10.0.1.2")
    alone("ip -n snd route add default via fd00:1::2")
    alone("ip -n rcv route add 10.0.1.0/24 via 10.0.2.2")
    alone("ip -n rcv route add fd00:1::/64 via fd00:2::2")
    yield
    for space in SPACES:
        do(f"ip netns del {space}")


def wireguard(at: Ends) -> None:
    for space, (private, _), (_, public), end in (
        (at.space, *KEYS, at.far),
        ("rcv", *reversed(KEYS), at.near),
    ):
        alone(f"ip -n {space} link add t0 type wireguard")
        program = WIREGUARD.format(private=private, public=public, end=end)
        subprocess.run(inside(space, program), check=True)
    raise_tunnel(at)


def vxlan(at: Ends) -> None:
    for space, local, remote, dev in (
        (at.space, at.near, at.far, at.dev),
        ("rcv", at.far, at.near, "c0"),
    ):
        alone(
            f"ip -n {space} link add t0 type vxlan id 5 local {local} remote {remote}"
            f" dstport 4789 dev {dev}"
        )
    raise_tunnel(at)


def raise_tunnel(at: Ends) -> None:
    for space, host in ((at.space, 1), ("rcv", 2)):
        alone(f"ip -n {space} addr add 10.5.0.{host}/24 dev t0")
        alone(f"ip -n {space} link set t0 up")
    if at.space == "rtr":
        alone("ip -n rcv route replace 10.0.1.0/24 dev t0")


def esp(at: Ends) -> None:
    """IPsec in tunnel mode, by policies: there is no device, and nothing is encrypted."""
    alone("ip -n rcv addr add 10.5.0.2/32 dev c0")
    for space, way in ((at.space, "out"), ("rcv", "in")):
        of_both = f"src {at.near} dst {at.far} proto esp"
        state = f"ip -n {space} xfrm state add {of_both} spi 7 mode tunnel"
        nothing = ("enc", "ecb(cipher_null)", "", "auth", "digest_null", "")
        subprocess.run([*state.split(), *nothing], check=True)
        alone(f"ip -n {space} xfrm policy add dst 10.5.0.2/32 dir {way} tmpl {of_both} mode tunnel")
    if at.space == "rtr":
        alone(f"ip -n rtr route add 10.5.0.2 via {at.far}")


def came(space: str, source: str) -> list[tuple[int, int]]:
    """In which order what was sent is received: ports and numbers"""
    receiver = subprocess.Popen(
        inside("rcv", RECEIVE.format(most=1 + MANY + FEW)), stdout=subprocess.PIPE, text=True
    )
    assert receiver.stdout
    receiver.stdout.readline()
    program = SEND.format(source=source, to="10.5.0.2", counts=(MANY, FEW), sizes=(LARGE, SMALL))
    subprocess.run(inside(space, program), check=True)
    return [(port, number) for port, number in json.loads(receiver.communicate()[0])][1:]


def numbers(found: list[tuple[int, int]], port: int) -> list[int]:
    return [number for each, number in found if each == port]


def tells_apart(kind: str, tunnel: Callable[[Ends], None], where: str, family: int) -> None:
    at = ends(where, family)
    tunnel(at)
    alone(f"tc -n rtr qdisc add dev r1 root handle 10: {kind} rate 2mbit {ROOMY[kind]}")
    forwarded = where == "forwarded"
    space, source = ("snd", "10.0.1.1") if forwarded else (at.space, "0.0.0.0")
    if forwarded and tunnel is not esp:
        alone("ip -n snd route add 10.5.0.0/24 via 10.0.1.2")
    found = came(space, source)
    assert numbers(found, 6000) == list(range(MANY))
    assert numbers(found, 6001) == list(range(FEW))
    assert (" inner " in alone("tc -n rtr class show dev r1")) == (where != PASSING)
    last_small = max(place for place, (port, _) in enumerate(found) if port == 6001)
    if where == PASSING:
        assert last_small == MANY + FEW - 1
    else:
        assert last_small < MANY / 2


# VXLAN that passes has ports by the flow inside, so it is many flows to anybody. IPsec from another
# namespace does not pass: the kernel has encrypted it. The guest's kernel has IPsec over IPv4 only.
@pytest.mark.has("log")
@pytest.mark.parametrize(
    ("tunnel", "where", "family"),
    [
        *((wireguard, where, family) for where in (*HERE, PASSING) for family in (4, 6)),
        *((vxlan, where, family) for where in HERE for family in (4, 6)),
        *((esp, where, 4) for where in HERE),
    ],
)
def test_a_small_flow_in_a_tunnel(
    network: None, kind: str, tunnel: Callable[[Ends], None], where: str, family: int
) -> None:
    tells_apart(kind, tunnel, where, family)


@pytest.mark.parametrize("where", ["forwarded", PASSING])
def test_all_kinds_read_the_same_key(network: None, kind: str, where: str) -> None:
    tells_apart(kind, wireguard, where, 4)
