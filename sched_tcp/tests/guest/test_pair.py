# SPDX-License-Identifier: GPL-2.0
"""Two daemons, each in a network namespace, tested from outside.

churn checks the bytes and the ends of connections (sched_tcp/tests/churn.c). Everything else is
checked here.

`make test` runs these tests in a guest of the native kernel, where waiting takes no real time and a
busy machine changes nothing. To look for bugs, run them on a host as root, with a daemon that has
sanitizers:

    SCHED_TCP=PROGRAM python3 -m pytest --import-mode=importlib sched_tcp/tests/guest/test_pair.py

CONNECTIONS=8 in the environment multiplies the number of connections by 8. Tests with the marker
`long` take minutes on a host.
"""

import json
import os
import pwd
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sched_tcp.tests import frames
from sched_tcp.tests.frames import BYE, CREDIT, DATA, FIN, OPEN, OPENED, RESET, WELCOME, frame
from sched_tcp.tests.pair import (
    ALLOW,
    FAR,
    FORWARDS,
    NEAR,
    PEERS,
    PROXIED,
    SAFE,
    SERVERS,
    SOCKS,
    TUNNEL,
    Daemon,
    Link,
    Pair,
    break_connections,
    inside,
    nothing,
    until,
)
from sched_tcp.tests.programs import certify, sanitized

pytestmark = pytest.mark.one_kernel

POLICIES = ("tcp", "srpt", "las", "fair", "mu")
TIMES = int(os.environ.get("CONNECTIONS", "1"))
LONG = 600 + 6 * TIMES  # seconds; only what hangs takes so long
MANY = "handshakes = 4096"  # all that churn opens at once
# Answers of SOCKS
GRANTED, FAILED, NOT_ALLOWED, NO_NETWORK, NO_HOST, REFUSED, TOO_LATE = range(7)


@pytest.fixture(scope="module")
def link() -> Iterator[Link]:
    with Link() as made:
        yield made


@pytest.fixture
def pair(link: Link, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(link, tmp_path)
    try:
        yield made
    finally:
        ended = [each.process.poll() for each in made.both if each.process]
        made.end()
        for each in made.both:
            log = each.home / "log"
            text = log.read_text(errors="replace") if log.exists() else ""
            assert "Sanitizer" not in text and "runtime error" not in text, text
    assert not any(ended), "a daemon has ended with a failure"


def judged(process: subprocess.Popen[str], *, broken: bool = False) -> dict[str, int]:
    """What churn has counted; it fails, unless all is right."""
    out, told = process.communicate(timeout=LONG)
    assert process.returncode == 0, f"{told}{out}"
    what = json.loads(out)
    assert broken or not what["broken"]
    return what


def churning(pair: Pair, connections: int, *options: str, **how: object) -> subprocess.Popen[str]:
    words = pair.churn("--connections", str(connections * TIMES), *options, **how)
    churn = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pair.helpers.append(churn)
    return churn


def churned(pair: Pair, connections: int, *options: str, **how: object) -> dict[str, int]:
    return judged(churning(pair, connections, *options, **how))


def received(daemon: Daemon) -> int:
    sessions = [s for peer in daemon.status()["peers"] for s in peer["sessions"]]
    return sum(session["received"] for session in sessions)


def reset(connection: socket.socket) -> bool:
    """Is it reset, whatever comes before? Not if it ends as if complete."""
    try:
        while connection.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        return True
    return False


def turned_away(pair: Pair, six: bool = False) -> bool:
    """Is a client of a forwarded port reset? It may be before it knows that it is connected."""
    try:
        with pair.client(six=six) as client:
            return reset(client)
    except ConnectionResetError:
        return True


def abort(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length and (more := connection.recv(min(length - len(data), 1 << 18))):
        data += more
    return bytes(data)


def echo(pair: Pair, data: bytes = b"all is well") -> None:
    """One more flow goes there and back."""
    with pair.server(SERVERS[1]) as server, pair.client(FORWARDS[1]) as client:
        client.sendall(data)
        served, _ = server.accept()
        with served:
            assert exactly(served, len(data)) == data
            served.sendall(data[::-1])
            assert exactly(client, len(data)) == data[::-1]
            client.shutdown(socket.SHUT_WR)
            assert served.recv(1) == b""
    assert client.fileno() == -1


def ask_socks(pair: Pair, host: str, port: int) -> tuple[int, socket.socket]:
    """What SOCKS answers."""
    client = pair.client(SOCKS)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    kind = b"\4" if ":" in host else b"\1"
    client.sendall(b"\5\1\0")
    assert exactly(client, 2) == b"\5\0"
    client.sendall(b"\5\1\0" + kind + socket.inet_pton(family, host) + struct.pack("!H", port))
    answer = exactly(client, 4)
    assert len(answer) == 4 and answer[0] == 5, answer
    exactly(client, 6 if answer[3] == 1 else 18)
    return answer[1], client


# ------------------------------------------------------------------ trust, and ways to begin


def key(pair: Pair, where: Daemon, text: str) -> None:
    path = where.home / "key"
    path.write_text(text)
    path.chmod(0o600)


def with_key(pair: Pair, near: str = "5a" * 32, far: str = "5a" * 32) -> str:
    key(pair, pair.near, near)
    key(pair, pair.far, far)
    return f'psk = "{pair.near.home.parent}/SIDE/key"'


def certificate(home: Path, to: str, name: str, by: str | None = None) -> None:
    """Write `to`.pem and `to`.key with the DNS name `name`, signed by authority `by` or itself."""
    subprocess.run([certify(), to, name, *([by] if by else [])], cwd=home, check=True)


def with_certificates(pair: Pair, near: str = "near", by: str = "ca") -> str:
    """@near: which certificate the origin has, @by: by whom"""
    home = pair.near.home.parent
    for authority in {"ca", by}:
        certificate(home, authority, authority)
    certificate(home, "near", near, by)
    certificate(home, "far", "far", "ca")
    return (
        f'certificate = "{home}/SIDE.pem" key = "{home}/SIDE.key" authority = "{home}/ca.pem" '
        f'name = "OTHER"'
    )


TRUSTS: dict[str, Callable[[Pair], str]] = {
    "psk": with_key,
    "certificate": with_certificates,
    "tunnel": lambda pair: TUNNEL,
}


@pytest.mark.parametrize(
    ("trust", "six"), [("psk", True), ("certificate", False), ("tunnel", True)]
)
def test_trust(pair: Pair, trust: str, six: bool) -> None:
    pair.configure(TRUSTS[trust](pair), six=six, more=MANY)
    pair.begin()
    churned(pair, 100)
    pair.empty()


@pytest.mark.parametrize(("policy", "trust"), zip(POLICIES, ["tunnel", "psk"] * 3, strict=False))
def test_policy(pair: Pair, policy: str, trust: str) -> None:
    """Over a link that is slow, so that there is something to choose."""
    pair.configure(TRUSTS[trust](pair), policy=policy, more=MANY)
    with pair.link.slow("100mbit"):
        pair.begin()
        churned(pair, 120, "--at-once", "200", "--largest", "5000000")
        pair.empty()


@pytest.mark.parametrize("trust", ["psk", "tunnel"])
def test_one_carrier(pair: Pair, trust: str) -> None:
    pair.configure(TRUSTS[trust](pair) + " one-carrier = yes", more=MANY)
    with pair.link.slow("100mbit"):
        pair.begin()
        churned(pair, 120, "--at-once", "200")


def test_small_windows(pair: Pair) -> None:
    """Credit and queues are a bound nearly all the time."""
    pair.configure(more=f"{MANY} window = 64K queue = 64K memory = 4M")
    pair.begin()
    churned(pair, 120, "--at-once", "200")
    pair.empty()


@pytest.mark.long
def test_burst(pair: Pair) -> None:
    """Many that come at once are no reason to refuse any."""
    pair.configure()
    pair.begin()
    churned(pair, 1000, "--at-once", "1000", "--largest", "200000")


@pytest.mark.long
def test_many(pair: Pair) -> None:
    pair.configure(policy="las", more=MANY)
    pair.begin()
    churned(pair, 1000, "--at-once", "1000", "--largest", "1000000")
    pair.empty()
    assert all(each.descriptors() < 50 for each in pair.both)


@pytest.mark.long
def test_policy_changes(pair: Pair) -> None:
    """While flows are there, again and again."""
    pair.configure(more=MANY)
    with pair.link.slow("100mbit"):
        pair.begin()
        churn = churning(pair, 200, "--at-once", "300")
        for policy in POLICIES * 4:
            for each in pair.both:
                each.command("policy", "pair", policy)
            time.sleep(0.3)
        judged(churn)
    pair.empty()


def test_user(pair: Pair) -> None:
    """It is nobody else's any more, and who is of its group may ask it."""
    pair.configure(more='user = "nobody"')
    pair.begin()
    entry = pwd.getpwnam("nobody")
    for each in pair.both:
        status = Path(f"/proc/{each.process.pid}/status").read_text()
        assert re.search(rf"^Uid:(\t{entry.pw_uid}){{4}}$", status, re.MULTILINE)
        assert each.control.stat().st_gid == entry.pw_gid
    churned(pair, 20)


def test_silent_control_client(pair: Pair) -> None:
    """The control socket closes a connection after 10 s without a command."""
    pair.configure()
    pair.begin()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(pair.near.control))
        client.settimeout(SAFE)
        begun = time.monotonic()
        assert client.recv(1) == b""
        assert time.monotonic() - begun > 9


# ------------------------------------------------------------------ one of them goes away


def killed(pair: Pair, which: Daemon, how: int) -> None:
    churn = churning(pair, 1500, "--at-once", "200", "--allow-broken")
    for again in (1, 2):
        until(lambda: received(pair.near) + received(pair.far) > 5_000_000)
        status = which.end(how)
        assert status == (0 if how == signal.SIGTERM else -how), again
        time.sleep(0.5)
        which.begin()
    judged(churn, broken=True)
    churned(pair, 60)
    pair.empty()


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "trust"), [(signal.SIGKILL, "psk"), (signal.SIGKILL, "tunnel"), (signal.SIGTERM, "psk")]
)
@pytest.mark.parametrize("side", ["near", "far"])
def test_ended(pair: Pair, side: str, how: signal.Signals, trust: str) -> None:
    """What it carried is reset, at both ends, and never ends as if complete; then all goes on."""
    pair.configure(TRUSTS[trust](pair), more=MANY)
    pair.begin()
    killed(pair, getattr(pair, side), how)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("side", ["near", "far"])
def test_idle_flows_reset(pair: Pair, side: str, how: signal.Signals) -> None:
    """Also those on which nothing is said, or only one direction has not ended."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        clients, served = [], []
        for _ in range(3):  # one may pass another on the way
            clients.append(pair.client())
            served.append(server.accept()[0])
        for each in (clients[1], served[2]):
            each.shutdown(socket.SHUT_WR)
        assert served[1].recv(1) == clients[2].recv(1) == b""
        getattr(pair, side).end(how)
        assert all(reset(each) for each in (*served[:1], served[2], *clients[:2]))
        for each in clients + served:
            each.close()


@pytest.mark.long
def test_carriers_break(pair: Pair) -> None:
    """What the network resets breaks those that it carried, no others, and none of them hangs."""
    pair.configure(more=MANY)
    pair.begin()
    churn = churning(pair, 1500, "--at-once", "200", "--allow-broken")
    with pair.link.slow("30mbit"):
        for _ in range(30):
            time.sleep(0.3)
            break_connections(pair.near.process.pid, PEERS, 10)
        what = judged(churn, broken=True)
    assert what["broken"]
    churned(pair, 60)
    pair.empty()


# ------------------------------------------------------------------ ends and resets


def test_reset_after_end(pair: Pair) -> None:
    """A client that has ended, and waits, is gone: the server is told, though it says nothing."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        client = pair.client()
        client.sendall(b"x")
        served, _ = server.accept()
        served.settimeout(SAFE)
        client.shutdown(socket.SHUT_WR)
        assert exactly(served, 2) == b"x"
        abort(client)
        # The end has been seen; a reset after it poll() tells
        until(lambda: served.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0)
        served.close()
    pair.empty()


def test_reset_while_full(pair: Pair) -> None:
    """A client is gone of which nothing is read, since the server does not read."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        client = pair.client()
        client.setblocking(False)
        served, _ = server.accept()
        quiet = time.monotonic()
        while time.monotonic() < quiet + 1:
            try:
                client.send(bytes(65536))
                quiet = time.monotonic()
            except BlockingIOError:
                time.sleep(0.05)
        abort(client)
        until(lambda: served.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0)
        served.close()
    pair.empty()


def refused_in_window(link: Link) -> int:
    """Packets that were dropped though TCP had offered to take them, for want of memory."""
    counts = 0
    for netns in (link.near, link.far):
        words = ["ip", "netns", "exec", netns, *"nstat -asz --json".split()]
        done = subprocess.run(words, capture_output=True, check=True)
        counts += json.loads(done.stdout)["kernel"]["TcpExtTCPRcvQDrop"]
    return counts


def test_resets(pair: Pair) -> None:
    """Nearly all of them are reset, or abandoned, and each is told. That churn cannot miss what it
    is told is part of it: TCP believes no reset that comes after what it has dropped."""
    pair.configure(policy="las", more=MANY)
    pair.begin()
    before = refused_in_window(pair.link)
    what = churned(pair, 1000, "--resets", "--at-once", "1000", "--largest", "1000000")
    assert what["reset"] > what["connections"] / 2
    assert refused_in_window(pair.link) == before
    pair.empty()


class FarEnd:
    """One that reads a carrier when it is told to; how much has come of each flow is counted."""

    def __init__(self, pair: Pair) -> None:
        with inside(pair.link.far):
            self.listener = socket.create_server((FAR[0], PEERS))
        self.listener.settimeout(SAFE)
        self.carriers: list[frames.Peer] = []
        self.carried: list[Counter[int]] = []  # of each that is read, bytes of each flow
        self.threads: list[threading.Thread] = []

    def carrier(self, credit: int) -> frames.Peer:
        """The next one that comes, and its flow is opened with so much credit."""
        made = frames.Peer(self.listener.accept()[0])
        self.carriers.append(made)
        made.socket.settimeout(SAFE)
        number = made.next()[2]
        made.say(frames.hello(bytes(16), number, WELCOME), frame(OPENED, number, credit))
        return made

    def read(self, carrier: frames.Peer) -> None:
        carried: Counter[int] = Counter()

        def run() -> None:
            while got := carrier.next():
                if got[0] == DATA:
                    carried[got[2]] += len(got[4])

        self.carried.append(carried)
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def came(self, flow: int) -> int:
        return sum(carried[flow] for carried in self.carried)

    def close(self) -> None:
        self.listener.close()
        for thread in self.threads:
            thread.join(SAFE)
        for carrier in self.carriers:
            carrier.socket.close()


@pytest.mark.parametrize("how", ["reset", "policy"])
def test_ahead_of_its_carrier(pair: Pair, how: str) -> None:
    """Who may not go on, since others have carried what its own carrier should, goes on when that
    is no more so."""
    pair.configure(policy="las")
    pair.near.begin()
    far, size = FarEnd(pair), 10 << 20
    client = pair.client()
    first = far.carrier(1 << 24)
    sender = threading.Thread(target=client.sendall, args=(bytes(size),))
    sender.start()
    other = pair.client()
    try:
        far.read(far.carrier(65536))
        other.setblocking(False)

        def ahead() -> bool:
            sent(other, bytes(1 << 20))
            flows = pair.near.status("--flows")["flows"]
            flow = next(flow for flow in flows if flow["id"] == 1)
            return flow["virtual"] == 4 << 20 and not flow["queued"]

        until(ahead)
        if how == "reset":
            abort(other)
        else:
            pair.near.command("policy", "pair", "tcp")
        far.read(first)
        until(lambda: far.came(1) == size)
    finally:
        for each in (client, other):
            each.close()
        pair.near.end()
        far.close()
        sender.join()


def test_data_before_open(pair: Pair) -> None:
    """What is reset when data of it have gone, and OPEN has not, the far end is told of."""
    pair.configure(more="unsent = 1 timeout = 1000")
    pair.near.begin()
    far, count = FarEnd(pair), 600
    # Little is on the way, by the first carrier alone: after it one waits in vain, and no more come
    far.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    far.listener.listen(0)
    clients = [pair.client()]
    carrier = far.carrier(1 << 24)
    waits = stranger(pair)

    def queued(least: int) -> int:
        flows = pair.near.status("--flows")["flows"]
        return sum(flow["queued"] >= least for flow in flows)

    try:
        clients[0].setblocking(False)
        sent(clients[0], bytes(1 << 20))
        until(lambda: queued(1 << 17))
        for n in range(count):  # the shortest last: it goes first
            clients.append(pair.client())
            clients[-1].sendall(bytes(200 + count - n))
        until(lambda: queued(1) > count)
        opened, early, told = {1}, 0, []
        while not early:
            kind, _, flow, *_ = carrier.next()
            if kind == OPEN:
                opened.add(flow)
            elif kind == DATA and flow not in opened:
                early = flow
        for each in clients:
            abort(each)
        until(lambda: not queued(0))
        while (got := carrier.next()) and got[0] != BYE:
            if got[2] == early:
                told.append(got[0])
        assert told == [RESET]
    finally:
        waits.close()
        far.close()


def test_gone_without_a_word(pair: Pair) -> None:
    """Applications are asked now and then whether they are still there."""
    pair.configure()
    pair.begin()
    with pair.server() as server, pair.client() as client:
        served, _ = server.accept()
        for netns, port in ((pair.link.near, FORWARDS[0]), (pair.link.far, SERVERS[0])):
            here = "sport" if netns == pair.link.near else "dport"
            words = ["ip", "netns", "exec", netns, *f"ss -tnoH {here} :{port}".split()]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            assert "timer:(keepalive" in done.stdout, done.stdout
        for each in (client, served):
            each.close()
    pair.empty()


def test_far_end_has_not_heard(pair: Pair) -> None:
    """Of the end of a carrier: another one with its number is no stranger."""
    pair.configure(f"{TUNNEL} one-carrier = yes")
    pair.begin()
    echo(pair)
    with pair.link.lost():
        break_connections(pair.near.process.pid, PEERS)
        until(lambda: pair.near.logged("carrier-broken"))
    echo(pair)


def test_slow_reader_is_alone(pair: Pair) -> None:
    pair.configure(more=f"{MANY} memory = 16M")
    pair.begin()
    data = os.urandom(1 << 20) * 40
    with pair.server(9010) as server:
        answer, client = ask_socks(pair, FAR[0], 9010)
        assert answer == GRANTED
        served, _ = server.accept()
        sender = threading.Thread(target=lambda: (served.sendall(data), served.close()))
        sender.start()
        churned(pair, 100, "--timeout", "60")
        assert sender.is_alive()
        assert exactly(client, len(data) + 1) == data
        sender.join()
        client.close()
    pair.empty()


# ------------------------------------------------------------------ names


class Names:
    """A server of names at the far end: each is FAR, but those that begin with hole are not
    answered."""

    def __init__(self, link: Link) -> None:
        self.home = Path("/etc/netns") / link.far
        self.asked: Counter[str] = Counter()
        with inside(link.far):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind((FAR[0], 53))
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self) -> "Names":
        self.home.mkdir(parents=True)
        (self.home / "resolv.conf").write_text(f"nameserver {FAR[0]}\n")
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()
        (self.home / "resolv.conf").unlink()
        self.home.rmdir()

    def serve(self) -> None:
        while True:
            data, client = self.socket.recvfrom(512)
            if not data:
                return
            end = data.index(b"\0", 12) + 5
            name = data[13 : 13 + data[12]].decode().lower()
            self.asked[name] += 1
            four = data[end - 3] == 1
            if name.startswith("hole"):
                continue
            head = data[:2] + b"\x81\x80" + struct.pack("!4H", 1, four, 0, 0)
            found = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(FAR[0])
            self.socket.sendto(head + data[12:end] + four * found, client)


def ask_name(pair: Pair, name: str) -> socket.socket:
    client = pair.client(SOCKS)
    client.sendall(b"\5\1\0")
    assert exactly(client, 2) == b"\5\0"
    wanted = bytes([len(name)]) + name.encode() + struct.pack("!H", SERVERS[0])
    client.sendall(b"\5\1\0\3" + wanted)
    return client


def test_names_wait_for_none(pair: Pair) -> None:
    """Many that nobody answers for hold up no other."""
    pair.configure(more="timeout = 1000")
    with Names(pair.link), pair.server():
        pair.begin()
        holes = [ask_name(pair, f"hole{n}.example") for n in range(200)]
        client = ask_name(pair, "good.example")
        assert exactly(client, 10)[1] == GRANTED
        assert not select.select(holes, [], [], 0)[0]
        for each in (*holes, client):
            each.close()
    pair.empty()


def test_name_in_time(pair: Pair) -> None:
    """What is not answered has failed like what is not connected, and is asked no more."""
    pair.configure(more="timeout = 2")
    with Names(pair.link) as names:
        pair.begin()
        begun = time.monotonic()
        with ask_name(pair, "hole.example") as client:
            assert exactly(client, 10)[1] == TOO_LATE
        assert time.monotonic() - begun < 10
        asked = names.asked["hole"]
        time.sleep(6)
        assert names.asked["hole"] == asked > 0
    pair.empty()


def test_no_resolver(pair: Pair) -> None:
    """Addresses are reached without it, and it ends well."""
    pair.configure()
    for each in pair.both:
        each.wrap = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /etc && exec "$@"', "sh"]
    pair.begin()
    echo(pair)
    assert ask_name(pair, "good.example").recv(10)[1] in (NO_HOST, TOO_LATE)
    assert [each.end() for each in pair.both] == [0, 0]


# ------------------------------------------------------------------ what is refused


def test_refused(pair: Pair) -> None:
    """Nobody listens there."""
    pair.configure()
    pair.begin()
    assert turned_away(pair)
    assert turned_away(pair, six=True)
    for host in FAR:
        answer, client = ask_socks(pair, host, SERVERS[0])
        assert answer == REFUSED
        assert client.recv(1) == b""
    pair.empty()


def test_not_allowed(pair: Pair) -> None:
    pair.configure()
    pair.begin()
    for host, port in ((FAR[0], 22), (FAR[1], 9100), ("127.0.0.1", 9000), ("192.0.2.1", 9000)):
        answer, client = ask_socks(pair, host, port)
        assert answer == NOT_ALLOWED
        client.close()
    assert pair.far.log.count(">not-allowed ") == 4
    pair.empty()


def test_socks_refusal_is_whole(pair: Pair) -> None:
    """The connection ends after the answer; a reset could overtake it, or take its place."""
    pair.configure()
    pair.begin()
    answer, client = ask_socks(pair, FAR[0], SERVERS[0])
    assert answer == REFUSED
    assert client.recv(1) == b""
    time.sleep(0.2)
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def test_mapped_address(pair: Pair) -> None:
    """An address of IPv4 in IPv6's spelling is the same, allowed or not."""
    pair.configure()
    pair.begin()
    with pair.server():
        answer, client = ask_socks(pair, f"::ffff:{FAR[0]}", SERVERS[0])
        assert answer == GRANTED
        client.close()
    answer, client = ask_socks(pair, "::ffff:127.0.0.1", SERVERS[0])
    assert answer == NOT_ALLOWED


def test_unreachable(pair: Pair) -> None:
    pair.configure()
    pair.far.configure(pair.far.text.replace(ALLOW, 'allow = {"*:1-65535"}'))
    pair.begin()
    answer, _ = ask_socks(pair, "192.0.2.1", 9000)
    assert answer in (NO_NETWORK, NO_HOST)
    answer, _ = ask_socks(pair, "10.7.0.99", 9000)  # nobody has it
    assert answer in (NO_NETWORK, NO_HOST)


@pytest.mark.parametrize("mapped", [False, True])
def test_source_of_this_host(pair: Pair, mapped: bool) -> None:
    """Who says that it is 127.0.0.1 is not that to a server of the far end's own machine."""
    pair.configure()
    pair.far.configure(pair.far.text.replace(ALLOW, f"{ALLOW} keep-source = yes"))
    pair.begin()
    with pair.server(SERVERS[1]) as server:
        ours, port = socket.inet_aton("127.0.0.1"), struct.pack("!H", 1234)
        to, wanted = socket.inet_aton(FAR[0]), struct.pack("!H", SERVERS[1])
        if mapped:
            ours, to = (bytes(10) + b"\xff\xff" + each for each in (ours, to))
        length = bytes([len(to)])
        peer = frames.Peer(stranger(pair))
        from_, where = length + ours + port, length + to + wanted
        peer.say(
            frames.hello(peer.session),
            frame(OPEN, 1, 65536, struct.pack("!QQB", 0, 0, 0) + from_ + b"\0" + where),
        )
        _, address = server.accept()
        assert address[0] == FAR[0]
    peer.socket.close()


def test_no_far_end(pair: Pair) -> None:
    pair.configure()
    pair.near.begin()
    answer, _ = ask_socks(pair, FAR[0], SERVERS[0])
    assert answer == FAILED or answer in (NO_NETWORK, NO_HOST)
    assert turned_away(pair)
    pair.far.begin()
    echo(pair)


def test_flows(pair: Pair) -> None:
    """No more than may be; then there is room again."""
    pair.configure(more="flows = 20")
    pair.begin()
    with pair.server() as server:
        clients = [pair.client() for _ in range(20)]
        served = [server.accept()[0] for _ in clients]
        for each in served:  # not in the order of the clients, if one has passed another by
            each.sendall(b"x")
        assert all(client.recv(1) == b"x" for client in clients)
        assert turned_away(pair)
        assert ask_socks(pair, FAR[0], SERVERS[0])[0] == FAILED
        assert pair.near.logged("flow-refused")
        for each in clients + served:
            each.close()
        pair.empty()
    echo(pair)


def test_flows_far(pair: Pair) -> None:
    """The far end's bound is told, too."""
    pair.configure()
    pair.far.configure("flows = 20\n" + pair.far.text)
    pair.begin()
    with pair.server() as server:
        clients = [pair.client() for _ in range(20)]
        served = [server.accept()[0] for _ in clients]
        assert turned_away(pair)
        assert ask_socks(pair, FAR[0], SERVERS[0])[0] == FAILED
        for each in clients + served:
            each.close()
        pair.empty()
    echo(pair)


@pytest.mark.parametrize("sessions", ["one", "many"])
def test_carriers(pair: Pair, sessions: str) -> None:
    """A peer may have as many as the bound of flows needs, and no more, whatever it calls them."""
    pair.configure()
    pair.far.configure("flows = 5\n" + pair.far.text)
    pair.begin()
    peers = [frames.Peer(stranger(pair), b"\1" * 16) for _ in range(15)]
    for n, peer in enumerate(peers, 1):
        if sessions == "many":
            peer.session = bytes([n]) * 16
        peer.say(frames.hello(peer.session, n))
    assert sum(peer.next() is not None for peer in peers) == 2 * 5 + 1
    assert pair.far.log.count("too many carriers") == 4
    for peer in peers:
        peer.socket.close()
    pair.empty()
    echo(pair)


def test_expected_carriers(pair: Pair) -> None:
    """Those that have not come, and need not, are none, but sessions with nothing else are."""
    pair.configure(more="timeout = 1000")
    pair.far.configure("flows = 5\n" + pair.far.text)
    pair.far.begin()
    peer = frames.Peer(stranger(pair))
    peer.say(frames.hello(peer.session))
    for number in range(2, 32):
        peer.say(frame(OPEN, number, 1 << 24, NO))
        assert peer.until(RESET)[2] == number
    own = frames.Peer(stranger(pair), session=peer.session)
    own.say(frames.hello(own.session, 2))
    assert own.next()[0] == WELCOME
    for each in (peer, own):
        abort(each.socket)
    for welcome in [True] * 10 + [False]:
        peer = frames.Peer(stranger(pair))
        peer.say(frames.hello(peer.session), frame(OPEN, 2, 1 << 24, NO), frame(BYE))
        assert (peer.next() is not None) == welcome
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.ends()
    assert pair.far.log.count("too many carriers") == 1


def test_dead_flows(pair: Pair) -> None:
    """Of a peer that never answers no more is kept in mind, in all its sessions together: the one
    with the most has to go."""
    pair.configure(more="timeout = 1000")
    pair.far.configure("flows = 5\n" + pair.far.text)
    pair.far.begin()
    most = 1000 + 5

    def refused(peer: frames.Peer, numbers: range) -> None:
        for number in numbers:
            peer.say(frame(OPEN, number, 1 << 24, NO))
            assert peer.until(RESET)[2] == number

    def failed() -> int:
        return pair.far.log.count("the far end does not read")

    first, other = (frames.Peer(stranger(pair)) for _ in range(2))
    for peer in (first, other):
        peer.say(frames.hello(peer.session))
    refused(first, range(2, 602))
    refused(other, range(2, 2 + most - 600))
    assert failed() == 0
    refused(other, range(1000, 1001))
    assert failed() == 1 and first.ends()
    refused(other, range(1001, 1600))
    assert failed() == 1
    other.say(frame(OPEN, 1600, 1 << 24, NO))
    assert other.ends() and failed() == 2
    until(lambda: not pair.far.status()["peers"][0]["sessions"])


@pytest.mark.long
@pytest.mark.skipif(sanitized(), reason="sanitizers keep what is freed")
def test_memory(pair: Pair) -> None:
    """200 flows read nothing for a while, in both directions: the bound in the manual holds."""
    pair.configure(more=f"{MANY} memory = 32M flows = 3000", policy="srpt")
    pair.begin()
    least = [each.memory("VmRSS") for each in pair.both]
    churned(
        pair, 200, *"--at-once 200 --up 300000 --down 300000".split(),
        *"--stall 20 --no-resets --timeout 200".split(),
    )  # fmt: skip
    for each, before in zip(pair.both, least, strict=True):
        used = each.memory() - before
        print(f"{each.netns}: {used >> 20} MiB and {before >> 20} MiB at first")
        assert used < (32 << 20) + 200 * (96 << 10), f"{used >> 20} MiB"
    pair.empty()


# ------------------------------------------------------------------ reload


def test_reload(pair: Pair) -> None:
    pair.configure()
    pair.begin()
    good = pair.far.text
    with pair.server() as server, pair.client() as client:
        served, _ = server.accept()
        pair.far.configure(good.replace("9000-9099", "9001-9099").replace("srpt", "las"))
        pair.far.send(signal.SIGHUP)
        until(lambda: pair.far.logged("reloaded"))
        assert pair.far.status()["peers"][0]["policy"] == "las"
        assert turned_away(pair)
        assert ask_socks(pair, FAR[0], SERVERS[0])[0] == NOT_ALLOWED
        echo(pair)
        served.sendall(b"still here")
        assert exactly(client, 10) == b"still here"
        pair.far.configure(good + "\nnonsense = 1\n")
        pair.far.send(signal.SIGHUP)
        until(lambda: pair.far.logged("config-refused"))
        assert ask_socks(pair, FAR[0], SERVERS[0])[0] == NOT_ALLOWED
        client.sendall(b"and here")
        assert exactly(served, 8) == b"and here"
        served.close()
    pair.far.configure(good)
    pair.far.send(signal.SIGHUP)
    until(lambda: pair.far.log.count(">reloaded ") == 2)
    with pair.server():
        assert ask_socks(pair, FAR[0], SERVERS[0])[0] == GRANTED
    pair.empty()


def test_reload_key(pair: Pair) -> None:
    """Flows stay; who comes later needs the new key."""
    pair.configure(with_key(pair))
    pair.begin()
    with pair.server() as server, pair.client() as client:
        served, _ = server.accept()
        key(pair, pair.far, "a5" * 32)
        pair.far.send(signal.SIGHUP)
        until(lambda: pair.far.logged("reloaded"))
        assert turned_away(pair)
        client.sendall(b"still here")
        assert exactly(served, 10) == b"still here"
        key(pair, pair.near, "a5" * 32)
        pair.near.send(signal.SIGHUP)
        until(lambda: pair.near.logged("reloaded"))
        echo(pair)
        served.close()


def test_reload_other_trust(pair: Pair) -> None:
    """How a peer is known is from the start; all others go on, and so does this one."""
    pair.configure(with_key(pair))
    pair.begin()
    for each, other in ((pair.near, TUNNEL), (pair.far, with_certificates(pair))):
        good = each.text
        each.configure(re.sub(r'psk = "\S+"', other.replace("SIDE", "far"), good))
        each.send(signal.SIGHUP)
        until(lambda each=each: each.logged("reloaded"))
        assert each.logged("not-reloaded")
        echo(pair)
        each.configure(good)


@pytest.mark.long
def test_reload_while_busy(pair: Pair) -> None:
    pair.configure(with_key(pair), more=MANY)
    pair.begin()
    churn = churning(pair, 400)
    for n in range(1, 11):
        for each in pair.both:
            each.send(signal.SIGHUP)
            until(lambda each=each, n=n: each.log.count(">reloaded ") >= n)
    judged(churn)


# ------------------------------------------------------------------ strangers


def stranger(pair: Pair) -> socket.socket:
    with inside(pair.link.near):
        return socket.create_connection((FAR[0], PEERS), timeout=SAFE)


def nothing_relayed(pair: Pair, event: str = "handshake-failed") -> None:
    assert turned_away(pair)
    assert ask_socks(pair, FAR[0], SERVERS[0])[0] != GRANTED
    until(lambda: pair.far.logged(event))
    assert received(pair.far) == 0


def test_wrong_key(pair: Pair) -> None:
    pair.configure(with_key(pair, far="a5" * 32))
    pair.begin()
    with pair.server():
        nothing_relayed(pair)
    assert pair.near.logged("handshake-failed")


def test_wrong_name(pair: Pair) -> None:
    """A key that the far end does not know of."""
    pair.configure(with_key(pair))
    pair.far.configure(pair.far.text.replace("peer pair", "peer other"))
    pair.begin()
    with pair.server():
        nothing_relayed(pair)


def test_wrong_certificate(pair: Pair) -> None:
    """By the right authority, with another name."""
    pair.configure(with_certificates(pair, near="mallory"))
    pair.begin()
    with pair.server():
        nothing_relayed(pair)


def test_wrong_authority(pair: Pair) -> None:
    pair.configure(with_certificates(pair, by="evil"))
    pair.begin()
    with pair.server():
        nothing_relayed(pair)


def test_no_tls(pair: Pair) -> None:
    """To who expects TLS frames are garbage."""
    pair.configure(with_key(pair))
    pair.near.configure(re.sub(r'psk = "\S+"', TUNNEL, pair.near.text))
    pair.begin()
    with pair.server():
        nothing_relayed(pair)


def test_tls_unwanted(pair: Pair) -> None:
    """To who expects frames TLS is garbage."""
    pair.configure(with_key(pair))
    pair.far.configure(re.sub(r'psk = "\S+"', TUNNEL, pair.far.text))
    pair.begin()
    with pair.server():
        nothing_relayed(pair, "carrier-broken")


def test_not_from_there(pair: Pair) -> None:
    """Tunnel, but not from one of its addresses."""
    pair.configure(TUNNEL)
    pair.far.configure(pair.far.text.replace(TUNNEL, 'tunnel = {"10.8.0.0/24"}'))
    pair.begin()
    with pair.server():
        nothing_relayed(pair, "carrier-refused")


GARBAGE = {
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "random": bytes((i * i * 31 + i) % 251 for i in range(5000)),
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600),
}


@pytest.mark.parametrize("trust", ["psk", "tunnel"])
@pytest.mark.parametrize("what", GARBAGE)
def test_garbage(pair: Pair, what: str, trust: str) -> None:
    """A line each, and all others are as they were."""
    pair.configure(TRUSTS[trust](pair))
    pair.begin()
    for _ in range(5):
        with stranger(pair) as mad:
            frames.Peer(mad).say(GARBAGE[what])
            assert frames.Peer(mad).ends()
    until(lambda: pair.far.log.count(">carrier-broken ") >= 5)
    echo(pair)


@pytest.mark.long
@pytest.mark.parametrize("trust", ["psk", "tunnel"])
def test_silent_strangers(pair: Pair, trust: str) -> None:
    """Who says nothing goes after a while, and keeps nobody out until then."""
    pair.configure(TRUSTS[trust](pair), more="timeout = 3 handshakes = 20")
    pair.begin()
    silent = [stranger(pair) for _ in range(100)]
    for _ in range(5):
        echo(pair)
    assert all(frames.Peer(each).ends() for each in silent)
    for each in silent:
        each.close()
    echo(pair)
    pair.empty()


# ------------------------------------------------------------------ a peer that breaks the rules

GO = frames.opening(FAR[0], SERVERS[0])
NO = frames.opening("127.0.0.1", SERVERS[0])  # which is not allowed
# What follows HELLO and OPEN of flow 1, which is opened
RULES = {
    "type 0": frame(0),
    "type 9": frame(9),
    "type 255": frame(255),
    "flags": frame(DATA, 1, 0, b"x", 0x80),
    "hello twice": frames.hello(bytes(16)),
    "welcome": frames.hello(bytes(16), kind=WELCOME),
    "opened": frame(OPENED, 1, 65536),
    "open twice": frame(OPEN, 1, 65536, GO),
    "open garbage": frame(OPEN, 2, 65536, b"\1" * 60),
    "open short": frame(OPEN, 2, 65536, GO[:-1]),
    "open long": frame(OPEN, 2, 65536, GO + b"x"),
    "open with port 0": frame(OPEN, 2, 65536, GO[:-2] + b"\0\0"),
    "open with no name": frame(OPEN, 2, 65536, GO[:20] + b"\3a\n\xff" + GO[-2:]),
    "much credit": frame(OPEN, 2, 0xFFFFFFFF, GO),
    "beyond credit": frame(DATA, 1, 1 << 30, b"x"),
    "data twice": frame(DATA, 1, 0, b"x") * 2,
    "piece twice": frame(DATA, 1, 10, b"x") * 2,
    "after the end": frame(DATA, 1, 0, b"x", FIN) + frame(DATA, 1, 1, b"x"),
    "two ends": frame(DATA, 1, 5, b"", FIN) + frame(DATA, 1, 6, b"", FIN),
    "piece after the end": frame(DATA, 1, 10, b"x") + frame(DATA, 1, 0, b"x", FIN),
    "confirms too much": frame(CREDIT, 1, 65536, struct.pack("!I", 1)),
    "confirms an end": frame(CREDIT, 1, 65536, bytes(4), FIN),
    "credit beyond": frame(CREDIT, 1, 0x60000000, bytes(4)),
    "credit short": frame(CREDIT, 1, 65536, b"x"),
    "after bye": frame(BYE) + frame(DATA, 1, 0, b"x"),
    "bye twice": frame(BYE) * 2,
    "long": frames.HEAD.pack(OPEN, 0, 65535, 2, 0) + bytes(65535),
}


@pytest.mark.parametrize("rule", RULES)
def test_breaks_rules(pair: Pair, rule: str) -> None:
    """It is thrown out, and what it carried is reset; the flows of others go on."""
    pair.configure()
    pair.begin()
    with pair.server() as server, pair.client() as client:
        other, _ = server.accept()
        mad = frames.Peer(stranger(pair))
        mad.say(frames.hello(mad.session), frame(OPEN, 1, 65536, GO))
        served, _ = server.accept()
        mad.until(OPENED)
        before = pair.far.log.count(">carrier-broken ")
        mad.say(RULES[rule])
        assert mad.ends()
        assert pair.far.log.count(">carrier-broken ") > before, pair.far.log
        assert reset(served)
        for data in (b"to", b"fro"):
            client.sendall(data)
            assert exactly(other, len(data)) == data
        other.close()
        mad.socket.close()
    pair.empty()


def test_bye_for_all(pair: Pair) -> None:
    """A carrier that all flows share does not end before them."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        mad = frames.Peer(stranger(pair))
        mad.say(frames.hello(mad.session, 0), frame(OPEN, 1, 65536, GO))
        served, _ = server.accept()
        mad.until(OPENED)
        mad.say(frame(BYE))
        assert mad.ends()
        assert reset_soon(served)
        served.close()
    assert "BYE of a carrier that all share" in pair.far.log
    pair.empty()


# Before there is a flow
FIRST = {
    "no hello": frame(OPEN, 1, 65536, GO),
    "data": frame(DATA, 1, 0, b"x"),
    "bye": frame(BYE),
    "welcome": frames.hello(bytes(16), kind=WELCOME),
    "version": frames.hello(bytes(16)).replace(b"SFT\1", b"SFT\2"),
    "magic": frames.hello(bytes(16)).replace(b"SFT", b"XXX"),
    "short": frame(frames.HELLO, 1, 0, b"SFT\1" + bytes(15)),
}


@pytest.mark.parametrize("first", FIRST)
def test_first_frame(pair: Pair, first: str) -> None:
    pair.configure()
    pair.begin()
    mad = frames.Peer(stranger(pair))
    mad.say(FIRST[first])
    assert mad.ends()
    assert pair.far.logged("carrier-broken")
    echo(pair)


def test_truncated(pair: Pair) -> None:
    """A frame that never ends, and a connection that does: a break."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        for cut in (1, 5, 11, 12, 13, 20):
            mad = frames.Peer(stranger(pair))
            mad.say(frames.hello(mad.session), frame(OPEN, 1, 65536, GO))
            served, _ = server.accept()
            mad.until(OPENED)
            mad.say(frame(DATA, 1, 0, b"0123456789")[:cut])
            mad.socket.close()
            assert reset(served), cut
            served.close()
    pair.empty()


def test_good_peer(pair: Pair) -> None:
    """The frames themselves are right: this one keeps the rules."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        peer = frames.Peer(stranger(pair))
        peer.say(frames.hello(peer.session), frame(OPEN, 1, 65536, GO))
        peer.say(frame(DATA, 1, 4, b"ahead"), frame(DATA, 1, 0, b"get "))
        served, _ = server.accept()
        assert exactly(served, 9) == b"get ahead"
        assert peer.next()[0] == WELCOME
        peer.until(OPENED)
        served.sendall(b"answer")
        served.shutdown(socket.SHUT_WR)
        data = b""
        while len(data) < 6:
            kind, flags, _, offset, more = peer.until(DATA)
            assert offset == len(data)
            data += more
        assert data == b"answer"
        if not flags & FIN:
            assert peer.until(DATA)[1] & FIN
        peer.say(frame(DATA, 1, 9, b"", FIN), frame(CREDIT, 1, 65536, struct.pack("!I", 6), FIN))
        assert served.recv(1) == b""
        served.close()
        peer.say(frame(BYE))
        peer.until(BYE)
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.ends()
    pair.empty()
    assert not pair.far.logged("carrier-broken")


def test_carrier_reset_after_end(pair: Pair) -> None:
    """A carrier that has ended in one direction is heard of, if it breaks, though nobody sends."""
    pair.configure()
    pair.far.begin()
    with pair.server() as server:
        peer = frames.Peer(stranger(pair))
        peer.say(frames.hello(peer.session), frame(OPEN, 1, 1 << 24, GO))
        served, _ = server.accept()
        peer.until(OPENED)
        peer.say(frame(BYE))
        peer.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        abort(peer.socket)
        assert reset_soon(served)
        served.close()
    until(lambda: nothing(pair.far.status()))


@pytest.mark.parametrize("ends", [False, True])
def test_expected_in_vain(pair: Pair, ends: bool) -> None:
    """Flows are reset when no carrier is left by which anything about them may come: one that is
    still to come is none, if those that told of it are broken, nor is one that has said BYE."""
    pair.configure(more="timeout = 1000")
    pair.far.begin()
    with pair.server() as server:
        peers = [frames.Peer(stranger(pair), session=bytes(16)) for _ in range(2)]
        served = []
        for number, peer in enumerate(peers, 1):
            peer.say(frames.hello(peer.session, number), frame(OPEN, number, 1 << 24, GO))
            served.append(server.accept()[0])
        peers[0].say(frame(BYE))
        if ends:
            peers[0].socket.shutdown(socket.SHUT_WR)
        peers[1].say(frame(OPEN, 3, 1 << 24, GO))
        served.append(server.accept()[0])
        time.sleep(0.2)
        abort(peers[1].socket)
        assert all(map(reset_soon, served))
        abort(peers[0].socket)
        for each in served:
            each.close()
    # That of the flow of which only the broken one has told may come all the same
    own = frames.Peer(stranger(pair), session=bytes(16))
    own.say(frames.hello(own.session, 3))
    own.say(*(frame(RESET, number, flags=FIN) for number in (1, 2, 3)), frame(BYE))
    own.until(BYE)
    own.socket.shutdown(socket.SHUT_WR)
    assert own.ends()
    until(lambda: not pair.far.status()["peers"][0]["sessions"])
    assert not pair.far.logged("session-failed")


def test_opened_in_vain(pair: Pair) -> None:
    """The origin of a flow is told that it is reset, though it does not know of any reason: that by
    which OPEN came has ended as it should."""
    pair.configure(more="timeout = 1000")
    pair.far.begin()
    with pair.server() as server:
        first, other = (frames.Peer(stranger(pair), session=bytes(16)) for _ in range(2))
        first.say(frames.hello(first.session, 1), frame(OPEN, 1, 1 << 24, NO))
        assert first.until(RESET)[2] == 1
        other.say(frames.hello(other.session, 3), frame(OPEN, 3, 1 << 24, GO))
        served = [server.accept()[0]]
        other.until(OPENED)
        first.say(frame(RESET, 1, flags=FIN), frame(OPEN, 2, 1 << 24, GO), frame(BYE))
        served.append(server.accept()[0])
        first.socket.shutdown(socket.SHUT_WR)
        assert first.ends()
        abort(other.socket)
        assert all(map(reset_soon, served))
        own = frames.Peer(stranger(pair), session=first.session)
        own.say(frames.hello(own.session, 2))
        told = {own.until(RESET)[2] for _ in range(2)}
        assert told == {2, 3}
        own.say(*(frame(RESET, number, flags=FIN) for number in told), frame(BYE))
        own.until(BYE)
        own.socket.shutdown(socket.SHUT_WR)
        assert own.ends()
        for each in served:
            each.close()
    until(lambda: not pair.far.status()["peers"][0]["sessions"])
    assert not pair.far.logged("session-failed")


def test_opened_after_its_carrier(pair: Pair) -> None:
    """What has said its last carries nothing of a flow that comes after it."""
    pair.configure(more="timeout = 1000")
    pair.far.begin()
    with pair.server() as server:
        peer, own = (frames.Peer(stranger(pair), session=bytes(16)) for _ in range(2))
        own.say(frames.hello(own.session, 2), frame(BYE))
        own.until(BYE)
        peer.say(frames.hello(peer.session, 1), frame(OPEN, 2, 1 << 24, GO))
        assert peer.until(RESET)[2] == 2
        own.socket.shutdown(socket.SHUT_WR)
        assert own.ends()
        peer.say(frame(RESET, 2, flags=FIN), frame(OPEN, 1, 1 << 24, GO))
        served, _ = server.accept()
        assert peer.until(OPENED)[2] == 1
        served.sendall(b"answer")
        assert peer.until(DATA)[4] == b"answer"
        peer.socket.close()
        served.close()
    until(lambda: nothing(pair.far.status()))


def refused_at_the_end(pair: Pair, peer: frames.Peer) -> None:
    """Flow 2, by the carrier of flow 1, by which the far end has said BYE"""
    peer.say(frames.hello(peer.session, 1), frame(OPEN, 1, 1 << 24, NO))
    assert peer.until(RESET)[2] == 1
    peer.say(frame(RESET, 1, flags=FIN))
    peer.until(BYE)
    peer.say(frame(OPEN, 2, 1 << 24, NO), frame(BYE))
    peer.socket.shutdown(socket.SHUT_WR)
    until(lambda: pair.far.log.count(">not-allowed ") == 2)


def test_refused_before_its_carrier(pair: Pair) -> None:
    """What was refused is told by the flow's own carrier, if that by which OPEN came has ended."""
    pair.configure(more="timeout = 1000")
    pair.far.begin()
    first = frames.Peer(stranger(pair), session=bytes(16))
    refused_at_the_end(pair, first)
    time.sleep(0.2)
    own = frames.Peer(stranger(pair), session=first.session)
    own.say(frames.hello(own.session, 2))
    assert own.until(RESET)[2] == 2
    own.say(frame(RESET, 2, flags=FIN), frame(BYE))
    own.until(BYE)
    own.socket.shutdown(socket.SHUT_WR)
    for each in (first, own):
        assert each.ends()
    until(lambda: nothing(pair.far.status()))
    assert not pair.far.logged("session-failed")


def test_refused_and_never_heard(pair: Pair) -> None:
    """If that does not come, the flow is kept for as long as a handshake may take."""
    pair.configure(more="timeout = 3")
    pair.far.begin()
    peer = frames.Peer(stranger(pair))
    refused_at_the_end(pair, peer)
    assert peer.ends()
    until(lambda: pair.far.logged("session-failed"))
    assert "not begun in time" in pair.far.log
    until(lambda: nothing(pair.far.status()))


def test_refused_and_heard(pair: Pair) -> None:
    """When the far end has answered, nobody waits for its carrier any more."""
    pair.configure(more="timeout = 1000")
    pair.far.begin()
    with pair.server() as server:
        peer = frames.Peer(stranger(pair))
        peer.say(frames.hello(peer.session, 1), frame(OPEN, 1, 1 << 24, GO))
        served, _ = server.accept()
        peer.say(frame(OPEN, 2, 1 << 24, NO))
        assert peer.until(RESET)[2] == 2
        peer.say(frame(RESET, 2, flags=FIN), frame(RESET, 1), frame(BYE))
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.ends()
        served.close()
    until(lambda: not pair.far.status()["peers"][0]["sessions"])
    assert not pair.far.logged("session-failed")


def fill(connection: socket.socket) -> None:
    """It is sent to until nothing more has been taken for a while."""
    connection.setblocking(False)
    quiet = time.monotonic()
    while time.monotonic() < quiet + 1:
        if sent(connection, bytes(65536)):
            quiet = time.monotonic()
        else:
            time.sleep(0.02)


@pytest.mark.parametrize("ends", [False, True])
def test_lost_at_the_end(pair: Pair, ends: bool) -> None:
    """What a carrier still had on the way, when both ends had said all, has broken whose it was."""
    # More on the way than a window is, however fast the carrier seems
    pair.configure(policy="las", more="unsent = 1M")
    pair.far.begin()
    with pair.server() as server:
        peers, served = [], []
        for number in (1, 2):
            peer = frames.Peer(stranger(pair), session=bytes(16))
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            peer.say(frames.hello(peer.session, number), frame(OPEN, number, 1 << 24, GO))
            peers.append(peer)
            served.append(server.accept()[0])
        for each in served:
            fill(each)
        while peers[0].until(DATA)[2] != 2:
            pass
        # What it has on the way is of both
        peers[0].say(frame(RESET, 1, 1), frame(BYE))
        if ends:
            peers[0].socket.shutdown(socket.SHUT_WR)

        def said_all() -> bool:
            came = 0
            while came < 50_000:
                came += len(peers[0].next()[4])
            words = ["ip", "netns", "exec", pair.link.far, *f"ss -tanH sport :{PEERS}".split()]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            return "LAST-ACK" in done.stdout or "FIN-WAIT-1" in done.stdout

        until(said_all)
        assert reset_soon(served[0])
        assert not served[1].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        abort(peers[0].socket)
        assert reset_soon(served[1])
        for each in (*served, peers[1].socket):
            each.close()
    until(lambda: nothing(pair.far.status()))


def test_credit_is_kept(pair: Pair) -> None:
    """The far end sends no more than it may, however much there is."""
    pair.configure()
    pair.begin()
    with pair.server() as server:
        peer = frames.Peer(stranger(pair))
        peer.say(frames.hello(peer.session), frame(OPEN, 1, 100_000, GO))
        served, _ = server.accept()
        served.setblocking(False)
        until(lambda: not sent(served, bytes(65536)))
        got = 0
        while got < 100_000:
            got += len(peer.until(DATA)[4])
        assert got == 100_000
        peer.socket.settimeout(1)
        with pytest.raises(TimeoutError):
            peer.until(DATA)
        peer.socket.close()
        assert reset_soon(served)
        served.close()
    pair.empty()


def sent(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.send(data)
    except BlockingIOError:
        return False
    return True


def reset_soon(connection: socket.socket) -> bool:
    until(lambda: connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    return True


@pytest.mark.parametrize("what", ["begun anew", "no welcome"])
def test_far_end_breaks_rules(pair: Pair, what: str) -> None:
    """The origin believes a far end no more than that."""
    pair.configure()
    pair.near.begin()
    with inside(pair.link.far):
        listener = socket.create_server((FAR[0], PEERS))
    listener.settimeout(SAFE)
    clients, carriers = [], []
    with listener:
        for n in (1, 2):
            clients.append(pair.client())
            carrier = frames.Peer(listener.accept()[0])
            assert carrier.next()[0] == frames.HELLO
            if what == "begun anew":
                carrier.say(frames.hello(bytes([n] * 16), kind=WELCOME))
            elif n == 2:
                carrier.say(frame(DATA, 1, 0, b"x", FIN), frame(RESET, 2, 1), frame(99))
            carriers.append(carrier)
        assert carriers[1].ends()
        if what == "begun anew":
            assert all(reset(client) for client in clients)
        else:
            assert reset(clients[1])
        for each in [*clients, *(carrier.socket for carrier in carriers)]:
            each.close()
    assert pair.near.logged("session-failed" if what == "begun anew" else "carrier-broken")


def test_proxy_header(pair: Pair) -> None:
    """One that is none, and one that does not come."""
    pair.configure(more="timeout = 2")
    pair.begin()
    with pair.server() as server:
        server.settimeout(0.5)
        for first in (b"GET / HTTP/1.0\r\n\r\n", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff", b""):
            client = pair.client(PROXIED)
            client.sendall(first)
            frames.Peer(client).ends()
            client.close()
        with pytest.raises(TimeoutError):
            server.accept()
    assert NEAR and pair.near.process.poll() is None
