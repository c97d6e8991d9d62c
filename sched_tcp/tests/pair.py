# SPDX-License-Identifier: GPL-2.0
"""Two daemons in two network namespaces, as the tests and throughput.py want them.

netns near                          netns far
origin  10.7.0.1 -------veth------- 10.7.0.2  far end, servers
clients  fd07::1                     fd07::2
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sched_tcp.tests.programs import churn, daemon

NEAR, FAR = ("10.7.0.1", "fd07::1"), ("10.7.0.2", "fd07::2")
PEERS = 4343
FORWARDS = range(8080, 8084)  # to SERVERS, of IPv4; two more, to the same of IPv6, are +100
SERVERS = range(9000, 9004)
PROXIED, SOCKS = 8090, 1080
SAFE = int(os.environ.get("SAFE", "60"))  # seconds, if something hangs
LIBC = ctypes.CDLL(None, use_errno=True)
PIDFD_GETFD = 438  # a system call that Python has no function for
INET_STREAM = [(family, socket.SOCK_STREAM) for family in (socket.AF_INET, socket.AF_INET6)]
TCP_ESTABLISHED = 1  # in struct tcp_info


@contextmanager
def inside(netns: str) -> Iterator[None]:
    """Sockets that are made here belong to this namespace."""
    with open("/proc/self/ns/net") as home, open(f"/run/netns/{netns}") as there:
        if LIBC.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), netns)
        try:
            yield
        finally:
            LIBC.setns(home.fileno(), 0)


def until(what: Callable[[], object], why: str = "") -> None:
    """Wait until what() is true. The pauses between two calls grow from 20 to 200 ms."""
    end, pause = time.monotonic() + SAFE, 0.02
    while not what():
        assert time.monotonic() < end, why or "waited for too long"
        time.sleep(pause)
        pause = min(1.25 * pause, 0.2)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def is_local(netns: str, address: str) -> bool:
    """Does the kernel take what is sent to this address itself? To one of IPv6 it does when it has
    seen that both ends of the link are up, which may take it a second; before, it asks the link."""
    shown = subprocess.run(
        ["ip", "-n", netns, "route", "get", address], stdout=subprocess.PIPE, text=True
    )
    return shown.stdout.startswith("local ")


def copies_of_sockets(process: int) -> Iterator[socket.socket]:
    """The sockets of another process. Whoever gets one closes it."""
    with os.fdopen(os.pidfd_open(process)) as other:
        for name in sorted(map(int, os.listdir(f"/proc/{process}/fd"))):
            copy = LIBC.syscall(PIDFD_GETFD, other.fileno(), name, 0)
            if copy < 0:
                continue  # closed since it was listed
            try:
                made = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)  # not a socket
            else:
                yield made


def is_established(connection: socket.socket, port: int) -> bool:
    if (connection.family, connection.type) not in INET_STREAM:
        return False
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state == TCP_ESTABLISHED and connection.getpeername()[1] == port


def break_connections(process: int, port: int, step: int = 1) -> None:
    """Reset each `step`-th TCP connection of a process to this port. Both ends see a reset, unless
    the packet is lost."""
    number = 0
    for each in copies_of_sockets(process):
        with each:
            if is_established(each, port):
                if number % step == 0:
                    LIBC.connect(each.fileno(), bytes(16), 16)  # AF_UNSPEC: disconnect
                number += 1


class Link:
    """The namespaces, and what is between them."""

    def __init__(self) -> None:
        self.near, self.far = f"sft-near-{os.getpid()}", f"sft-far-{os.getpid()}"

    def __enter__(self) -> "Link":
        for netns in (self.near, self.far):
            ip("netns", "add", netns)
        try:
            self.set_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def set_up(self) -> None:
        ip("-n", self.near, *"link add eth0 type veth peer name eth0 netns".split(), self.far)
        for netns, addresses in ((self.near, NEAR), (self.far, FAR)):
            ip("-n", netns, "address", "add", f"{addresses[0]}/24", "dev", "eth0")
            ip("-n", netns, "address", "add", f"{addresses[1]}/64", "dev", "eth0", "nodad")
            for device in ("lo", "eth0"):
                ip("-n", netns, "link", "set", device, "up")
            # Thousands of connections a minute, of two addresses only
            with inside(netns):
                for name, value in (("ip_local_port_range", "10000 65000"), ("tcp_tw_reuse", "1")):
                    Path(f"/proc/sys/net/ipv4/{name}").write_text(value)
        for netns, (_, six) in ((self.near, NEAR), (self.far, FAR)):
            until(lambda netns=netns, six=six: is_local(netns, six), f"{six} is not up")

    @contextmanager
    def lost(self) -> Iterator[None]:
        """IPv4 packets from near to far are lost."""
        wrong = "nud permanent lladdr 02:00:00:00:00:99".split()
        ip("-n", self.near, "neigh", "replace", FAR[0], "dev", "eth0", *wrong)
        try:
            yield
        finally:
            ip("-n", self.near, "neigh", "delete", FAR[0], "dev", "eth0")

    @contextmanager
    def slow(self, rate: str) -> Iterator[None]:
        """Both directions have this rate, and a queue of 50 ms."""
        for netns in (self.near, self.far):
            words = f"qdisc add dev eth0 root tbf rate {rate} burst 64k latency 50ms"
            subprocess.run(["tc", "-n", netns, *words.split()], check=True)
        try:
            yield
        finally:
            for netns in (self.near, self.far):
                words = "qdisc delete dev eth0 root".split()
                subprocess.run(["tc", "-n", netns, *words], check=True)

    def __exit__(self, *_: object) -> None:
        for netns in (self.near, self.far):
            subprocess.run(["ip", "netns", "delete", netns], check=False)


@dataclass
class Daemon:
    """One of the two; what it logs is kept from its first start on."""

    netns: str
    home: Path
    text: str = ""  # its configuration
    process: subprocess.Popen[bytes] | None = None
    wrap: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.home / "sched-tcp.conf"

    @property
    def control(self) -> Path:
        return self.home / "control"

    @property
    def log(self) -> str:
        return (self.home / "log").read_text(errors="replace")

    def configure(self, text: str) -> None:
        self.text = text
        self.config.write_text(f'control = "{self.control}"\n{text}')

    def begin(self, **how: bool) -> None:
        words = ["ip", "netns", "exec", self.netns, *self.wrap, daemon(), "-c", str(self.config)]
        with open(self.home / "log", "ab") as log:
            begun = log.tell()
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log, **how)
        until(lambda: ">ready " in self.log[begun:] or self.process.poll() is not None)
        assert self.process.poll() is None, self.log
        assert self.status()["peers"]

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit status."""
        self.send(number)
        status = self.process.wait(SAFE)
        self.process = None
        return status

    def status(self, *options: str) -> dict:
        return json.loads(self.command("status", "--json", *options))

    def command(self, *words: str) -> str:
        words = (daemon(), *words, "--socket", str(self.control))
        done = subprocess.run(words, capture_output=True, text=True, timeout=SAFE)
        assert done.returncode == 0, f"{words}: {done.stderr}{self.log}"
        return done.stdout

    def memory(self, name: str = "VmHWM") -> int:
        """Bytes of it that were resident, at most."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024

    def cpu(self) -> float:
        """Seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def logged(self, event: str) -> bool:
        return f">{event} " in self.log


TUNNEL = 'tunnel = {"10.7.0.0/24", "[fd07::]/64"}'
ALLOW = 'allow = {"10.7.0.2:9000-9099", "[fd07::2]:9000-9099"}'


class Pair:
    """Both, with each way in which a flow may begin."""

    def __init__(self, link: Link, home: Path) -> None:
        self.link = link
        for name in ("near", "far"):
            (home / name).mkdir()
        self.near = Daemon(link.near, home / "near")
        self.far = Daemon(link.far, home / "far")
        self.both = self.near, self.far
        self.helpers: list[subprocess.Popen[str]] = []  # they end with the pair

    def configure(
        self, trust: str = TUNNEL, *, policy: str = "srpt", six: bool = False, more: str = ""
    ) -> None:
        """@trust: a text for both, in which SIDE is near or far, and OTHER the other one"""

        if "timeout" not in more:
            more += f" timeout = {SAFE // 6}"  # on a slow machine handshakes are slow, too

        def of(side: str, other: str) -> str:
            return trust.replace("SIDE", side).replace("OTHER", other)

        address = f"[{FAR[1]}]:{PEERS}" if six else f"{FAR[0]}:{PEERS}"
        forwards = [
            f'forward {{ listen = "{near}:{port + more_}" to = "{far}:{to}" peer = pair }}'
            for near, far, more_ in ((NEAR[0], FAR[0], 0), (f"[{NEAR[1]}]", f"[{FAR[1]}]", 100))
            for port, to in zip(FORWARDS, SERVERS, strict=True)
        ]
        self.near.configure(
            f'{more}\npeer pair {{ address = "{address}" {of("near", "far")} '
            f"policy = {policy} }}\n" + "\n".join(forwards) + f"\nforward {{ "
            f'listen = "{NEAR[0]}:{PROXIED}" to = "{FAR[0]}:{SERVERS[0]}" peer = pair '
            f"proxy-protocol = yes }}\n"
            f'socks {{ listen = "{NEAR[0]}:{SOCKS}" peer = pair }}\n'
        )
        self.far.configure(
            f'listen = {{"{FAR[0]}:{PEERS}", "[{FAR[1]}]:{PEERS}"}}\n{more}\n'
            f"peer pair {{ {of('far', 'near')} policy = {policy} {ALLOW} }}\n"
        )

    def begin(self) -> None:
        self.far.begin()
        self.near.begin()

    def end(self) -> None:
        for each in self.both:
            if each.process:
                each.end(signal.SIGKILL)
        for helper in self.helpers:
            helper.kill()
            helper.wait()

    def empty(self) -> None:
        """After all is over nothing is left of it, in either."""
        for each in self.both:
            until(lambda each=each: nothing(each.status()), f"{each.netns}: flows are left")

    def client(self, port: int = FORWARDS[0], six: bool = False) -> socket.socket:
        with inside(self.link.near):
            made = socket.create_connection((NEAR[six], port + 100 * six), timeout=SAFE)
        return made

    def server(self, port: int = SERVERS[0], six: bool = False) -> socket.socket:
        family = socket.AF_INET6 if six else socket.AF_INET
        with inside(self.link.far):
            made = socket.create_server((FAR[six], port), family=family, backlog=1000)
        made.settimeout(SAFE)
        return made

    def churn(self, *options: str, routes: list[str] | None = None) -> list[str]:
        """The words of a churn over all ways, or these."""
        words = [churn(), "--client-netns", self.link.near, "--server-netns", self.link.far]
        for six in (False, True):
            for port in SERVERS:
                words += ["--listen", f"[{FAR[1]}]:{port}" if six else f"{FAR[0]}:{port}"]
        for route in routes or ways():
            words += ["--route", route]
        return words + list(options)


def nothing(status: dict) -> bool:
    sessions = [session for peer in status["peers"] for session in peer["sessions"]]
    return not any(session["flows"] or session["carriers"] for session in sessions)


def ways() -> list[str]:
    plain = [f"plain={NEAR[0]}:{port}" for port in FORWARDS]
    six = [f"plain=[{NEAR[1]}]:{port + 100}" for port in FORWARDS]
    socks = [f"socks={NEAR[0]}:{SOCKS},{FAR[0]}:{port}" for port in SERVERS]
    socks6 = [f"socks={NEAR[0]}:{SOCKS},[{FAR[1]}]:{port}" for port in SERVERS]
    return plain + six + socks + socks6 + [f"proxy={NEAR[0]}:{PROXIED}"] * 4
