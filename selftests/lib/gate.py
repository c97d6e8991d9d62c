# SPDX-License-Identifier: GPL-2.0
"""A dummy device with a gate (selftests/modules/sch_gate.c) above one of our qdiscs.

Frames are put in by a packet socket, whose send() tells whether the newcomer was dropped; what
goes out, and in which order, is seen by a tap on the device. Each frame ends in its identity.
"""

import fcntl
import json
import os
import socket
import struct
import termios
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet as ScapyPacket

from selftests.lib.command import run
from selftests.lib.options import published

FAULT = "packets or counters are wrong"  # selftests/report.py
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_OUTGOING = 4
GSO_TCPV4, GSO_TCPV6 = 1, 4  # of struct virtio_net_hdr
ETH_P_ALL = 3
JIFFY = 4_000_000  # ns, where the clock is virtual


def show_at(parent: str, device: str = "d0") -> dict[str, Any]:
    """Not by Device.show() where the JSON that tc prints of some parents cannot be read."""
    return json.loads(run(f"tc -s -j qdisc show dev {device} parent {parent}"))[0]


@dataclass(frozen=True)
class Flow:
    """The headers of a flow's frames, without payload."""

    name: str
    headers: bytes
    begins: bool = False  # these are SYNs

    @property
    def version(self) -> int:
        return self.headers[14] >> 4

    @property
    def tcp(self) -> bool:
        proto = {b"\x08\x00": 23, b"\x86\xdd": 20}.get(self.headers[12:14])
        return proto is not None and self.headers[proto] == 6

    @property
    def addresses(self) -> tuple[bytes, bytes]:
        """Source and destination; of what is not IP none"""
        if self.headers[12:14] == b"\x08\x00":
            return self.headers[26:30], self.headers[30:34]
        if self.headers[12:14] == b"\x86\xdd":
            return self.headers[22:38], self.headers[38:54]
        return b"", b""

    @property
    def shortest(self) -> int:
        return max(60, len(self.headers) + 4)

    def frame(self, length: int, ident: int) -> bytes:
        """A frame of this many bytes. Its checksums are wrong, and nobody looks at them."""
        assert length >= self.shortest, f"{self.name} cannot have a frame of {length} bytes"
        frame = bytearray(self.headers.ljust(length, b"\0"))
        if frame[12:14] == b"\x08\x00":
            struct.pack_into("!H", frame, 16, length - 14)
        elif frame[12:14] == b"\x86\xdd":
            struct.pack_into("!H", frame, 18, length - 54)
        struct.pack_into("!I", frame, length - 4, ident)
        return bytes(frame)


def flow_of(name: str, packet: ScapyPacket) -> Flow:
    """A flow from its network header on."""
    return Flow(name, bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet))


@cache
def _headers(version: int, tcp_flags: str | None) -> bytes:
    """From port 0, since one is put in faster than scapy builds a packet."""
    network = IP(src="10.0.0.1", dst="10.0.0.2")
    if version == 6:
        network = IPv6(src="fd00::1", dst="fd00::2")
    ports = {"sport": 0, "dport": 80}
    transport = UDP(**ports) if tcp_flags is None else TCP(**ports, flags=tcp_flags)
    return flow_of("", network / transport).headers


@cache
def flow(number: int, tcp_flags: str = "A", seq: int = 0) -> Flow:
    """The flow of this number: IPv4 and IPv6, UDP and TCP by turns."""
    tcp = number // 2 % 2 == 1
    headers = bytearray(_headers(6 if number % 2 else 4, tcp_flags if tcp else None))
    struct.pack_into("!H", headers, 54 if number % 2 else 34, 1024 + number)
    if tcp:
        struct.pack_into("!I", headers, len(headers) - 16, seq)
    return Flow(f"flow {number}", bytes(headers), tcp and "S" in tcp_flags)


@cache
def host_flow(number: int, src: int = 1, dst: int = 2, tcp_flags: str = "A") -> Flow:
    """The flow of this number from and to the hosts of these: 10.0.0.1 is 1, and so is fd00::1."""
    plain = flow(number, tcp_flags)
    headers = bytearray(plain.headers)
    for host, end in ((src, 30), (dst, 34)) if plain.version == 4 else ((src, 38), (dst, 54)):
        struct.pack_into("!H", headers, end - 2, host)
    return Flow(f"{plain.name} from {src} to {dst}", bytes(headers), plain.begins)


def tcp_flow(number: int) -> Flow:
    """The flow of this number among those of TCP: IPv4 and IPv6 by turns"""
    return flow(2 + number // 2 * 4 + number % 2)


def icmp(number: int) -> Flow:
    if number % 2:
        return flow_of("icmp6", IPv6(src="fd00::1", dst="fd00::2") / ICMPv6EchoRequest(id=number))
    return flow_of("icmp", IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(id=number))


def arp(number: int) -> Flow:
    return flow_of("arp", ARP(psrc="10.0.0.1", pdst=f"10.0.1.{number}"))


def ethertype(number: int) -> Flow:
    return Flow(f"type {number:#x}", bytes(12) + number.to_bytes(2, "big"))


def identity(frame: bytes) -> int:
    return struct.unpack("!I", frame[-4:])[0]


class Device:
    """A dummy device, a socket to put frames in and a tap to see them go out."""

    dev = "d0"
    queues = 1

    def __init__(self, kind: str) -> None:
        self.kind = kind
        if not os.path.isdir(f"/sys/class/net/{self.dev}"):
            # slow to make, so all tests share it
            run(f"ip link add {self.dev} mtu 9000 numtxqueues {self.queues} type dummy")
            with open(f"/proc/sys/net/ipv6/conf/{self.dev}/disable_ipv6", "w") as file:
                file.write("1")  # nothing may go out that was not put in
            run(f"ip link set {self.dev} up")
        self.tx = self._socket(0, SO_SNDBUFFORCE)
        self.priority = 0  # of tx
        self.tap = self._socket(ETH_P_ALL, SO_RCVBUFFORCE)
        self.tap.setblocking(False)

    def _socket(self, protocol: int, buffer: int) -> socket.socket:
        # Without a protocol it hears nothing until it is bound: of no other device, that is
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(socket.SOL_SOCKET, buffer, 64 << 20)
        sock.bind((self.dev, protocol))
        return sock

    def close(self) -> None:
        """Take the qdiscs away and see that nothing was leaked on the way."""
        try:
            run(f"tc qdisc del dev {self.dev} root")
            self.assert_freed()
        finally:
            self.tx.close()
            self.tap.close()

    def send(self, frame: bytes, priority: int = 0) -> bool:
        """False if the newcomer itself was dropped. `priority` becomes skb->priority."""
        if priority != self.priority:
            self.tx.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
            self.priority = priority
        try:
            self.tx.send(frame)
        except OSError as error:
            assert error.errno == 105, error  # ENOBUFS: NET_XMIT_DROP
            return False
        return True

    @staticmethod
    def bundle(flow: Flow, idents: list[int], size: int, last: int) -> bytes:
        """Segments as one GSO packet: `size` bytes of payload in each, `last` in the last."""
        header = len(flow.headers)
        payload = [ident.to_bytes(4, "big").rjust(size, b"\0") for ident in idents]
        payload[-1] = payload[-1][-last:]
        frame = bytearray(flow.headers + b"".join(payload))
        if flow.version == 4:
            struct.pack_into("!H", frame, 16, len(frame) - 14)
            gso_type = GSO_TCPV4
        else:
            struct.pack_into("!H", frame, 18, len(frame) - 54)
            gso_type = GSO_TCPV6
        needs_csum = 1
        vnet = struct.pack("=BBHHHH", needs_csum, gso_type, header, size, header - 20, 16)
        return vnet + frame

    def bundle_socket(self) -> socket.socket:
        sock = self._socket(0, SO_SNDBUFFORCE)
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        return sock

    def send_bundle(self, flow: Flow, idents: list[int], size: int, last: int) -> bool:
        with self.bundle_socket() as sock:
            try:
                sock.send(self.bundle(flow, idents, size, last))
            except OSError as error:
                assert error.errno == 105, error
                return False
        return True

    def bounce(self) -> None:
        """Link down and up; both sockets learn of it by an error that has to be read."""
        run(f"ip link set {self.dev} down")
        self.assert_freed()
        run(f"ip link set {self.dev} up")
        for sock in (self.tx, self.tap):
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def frames(self) -> list[bytes]:
        """What has gone out since the last call."""
        frames = []
        while True:
            try:
                frame, address = self.tap.recvfrom(65536)
            except BlockingIOError:
                return frames
            if address[2] == PACKET_OUTGOING:
                frames.append(frame)

    def stamp(self) -> None:
        """Let departures() know times from now on."""
        self.tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def departures(self) -> list[tuple[int, bytes]]:
        """What has gone out since the last call, and when: ns"""
        left = []
        while True:
            try:
                frame, told, _, address = self.tap.recvmsg(65536, 64)
            except BlockingIOError:
                return left
            if address[2] == PACKET_OUTGOING:
                seconds, ns = struct.unpack("ll", told[0][2])  # of the processor's size
                left.append((seconds * 1_000_000_000 + ns, frame))

    def unfreed(self) -> int:
        """Bytes of packets put in that nobody has freed yet."""
        answer = fcntl.ioctl(self.tx, termios.TIOCOUTQ, bytes(4))
        return struct.unpack("=i", answer)[0]

    def assert_freed(self) -> None:
        end = time.monotonic() + 10  # the last ones may wait for a grace period
        while self.unfreed() and time.monotonic() < end:
            time.sleep(0.01)
        assert self.unfreed() == 0, "packets were leaked"

    def wait_until_empty(self, kind: str) -> None:
        """Of a root of that kind: netem's copies are not among the unfreed."""
        end = time.monotonic() + 20
        while self.unfreed() or self.show(kind)["qlen"]:
            assert time.monotonic() < end, run(f"tc -s qdisc show dev {self.dev}")
            time.sleep(0.02)

    def show(self, kind: str | None = None) -> dict[str, Any]:
        shown = json.loads(run(f"tc -s -j qdisc show dev {self.dev}"))
        return next(qdisc for qdisc in shown if qdisc["kind"] == (kind or self.kind))


class Gate(Device):
    """d0 --- gate 1: --- 1:1 --- KIND 10:, as published unless told otherwise"""

    def __init__(self, kind: str, options: str | None = "", stab: str = "") -> None:
        """options None: leave it the child it begins with."""
        super().__init__(kind)
        self.base = published(kind)
        run(f"tc qdisc replace dev {self.dev} root handle 1: {stab} gate")
        if options is not None:
            self.renew(options)
        self.file = os.open(f"/sys/kernel/debug/sch_gate/{self.dev}", os.O_RDWR)

    def close(self) -> None:
        try:
            self.state()
        finally:
            os.close(self.file)
            super().close()

    def state(self) -> dict[str, int]:
        """The gate's counters, which have to agree with the child's."""
        lines = os.pread(self.file, 4096, 0).decode().split()
        state = {key: int(value) for key, value in (line.split("=") for line in lines)}
        assert state["mismatches"] == 0, f"the parent and its child disagree: {state}"
        return state

    def command(self, text: str) -> None:
        os.write(self.file, text.encode())

    def release(self, count: int | None = None) -> list[bytes]:
        """Let frames out, all if no count is given."""
        self.command("release all" if count is None else f"release {count}")
        end = time.monotonic() + 10
        while self.state()["releasing"] and time.monotonic() < end:
            pass
        return self.frames()

    def order(self, count: int | None = None) -> list[int]:
        return [identity(frame) for frame in self.release(count)]

    def renew(self, options: str = "") -> None:
        """Start again with a qdisc that knows nothing."""
        run(f"tc qdisc replace dev {self.dev} parent 1:1 handle 20: pfifo")
        run(f"tc qdisc replace dev {self.dev} parent 1:1 handle 10: {self.base} {options}")

    def change(self, options: str) -> None:
        run(f"tc qdisc change dev {self.dev} parent 1:1 handle 10: {self.kind} {options}")

    def same_flow(self, a: Flow, b: Flow) -> bool:
        """Do these share a record? Both have to be new to the qdisc."""
        self.send(a.frame(1000, 1))
        self.release()
        self.send(a.frame(200, 2))
        self.send(b.frame(200, 3))
        return self.order()[0] == 2


def wait_for_tick() -> None:
    """Until a quarter of a jiffy after it. Who then sleeps for some, or for some and a half, sees
    as many; else the little that a program takes may be one more, once in a hundred times.
    """
    time.sleep((5 * JIFFY // 4 - time.monotonic_ns() % JIFFY) % JIFFY / 1e9)


def attain(d0: Gate, each: Flow, length: int) -> None:
    """Let a flow be served this much."""
    while length > 0:
        d0.send(each.frame(min(1500, max(60, length)), 0))
        length -= 1500
    d0.release()
