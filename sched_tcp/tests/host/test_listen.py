# SPDX-License-Identifier: GPL-2.0
"""Connections to listeners: what flow each becomes, and which become none."""

import os
import queue
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sched_tcp.tests.host.test_parsers import (
    PLAIN,
    REPLY,
    SIZE,
    TO_V4,
    TYPE,
    USER,
    V4,
    named,
    proxy,
    request,
    tlv,
    u64,
    user,
)
from sched_tcp.tests.programs import TIMEOUT, build

OPENED, NOT_ALLOWED, REFUSED = 0, 2, 3  # enum outcome


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("listening") / "listening"
    sources = "tests/host/listening.c listen.c proxy2.c socks.c tests/host/stubs.c"
    return build(to, sources, wrap="clock_gettime")


class Listeners:
    """The program, its ports, and what it says."""

    def __init__(
        self,
        program: Path,
        *listeners: str,
        handshakes: int = 100,
        timeout: int = TIMEOUT,
        outcome: int = OPENED,
        namespace: str = "",
    ) -> None:
        self.lines: queue.Queue[str] = queue.Queue()
        self.ports: list[int] = []
        self.more = threading.Event()
        command = ["ip", "netns", "exec", namespace] if namespace else []
        pipe = subprocess.PIPE
        self.running = subprocess.Popen(
            [*command, program, str(handshakes), str(timeout), str(outcome), *listeners],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for line in self.running.stdout:
            self.lines.put(line.strip())

    def line(self) -> str:
        return self.lines.get(timeout=TIMEOUT)

    def __enter__(self) -> "Listeners":
        while (line := self.line()) != "ready":
            self.ports.append(int(re.fullmatch(r"<6>listening listener=.*:(\d+)", line)[1]))
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind:
            self.running.kill()
        self.running.stdin.close()
        try:
            status = self.running.wait(TIMEOUT)
        finally:
            self.running.kill()
            self.reader.join(TIMEOUT)
            self.running.stdout.close()
        if not kind:
            assert (status, list(self.lines.queue)) == (0, [])

    def flow(self) -> dict[str, str]:
        kind, *values = self.line().split()
        assert kind in ("flow", "peer"), (kind, values)
        return {key: value for key, _, value in (each.partition("=") for each in values)}

    def tick(self, seconds: int) -> None:
        """Move its clock on. It has said nothing since the last line that was read."""
        self.running.stdin.write("+" * seconds)
        self.running.stdin.flush()
        assert [self.line() for _ in range(seconds)] == ["clock"] * seconds

    def closed(self) -> str:
        """Why."""
        found = re.fullmatch("<6>client-closed listener=.* address=.* why=(.*)", self.line())
        return found[1]


def connect(port: int, host: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection((host, port), timeout=TIMEOUT)


def name(client: socket.socket) -> str:
    host, port = client.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def all_of(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65536), b""))


def test_peers(listening: Path) -> None:
    for address, hosts in (("127.0.0.1", ["127.0.0.1"]), ("::", ["::1", "127.0.0.1"])):
        with Listeners(listening, f"peers={address}=0") as there:
            for host in hosts:
                with connect(there.ports[0], host) as client:
                    assert there.flow() == {"from": name(client), "modes": "111"}
                    assert all_of(client) == b""


def test_forward(listening: Path) -> None:
    with (
        Listeners(listening, "peers=127.0.0.1=0", "forward=127.0.0.1=0") as there,
        connect(there.ports[1]) as client,
    ):
        client.sendall(b"data")
        client.shutdown(socket.SHUT_WR)
        assert there.flow() == {
            "peer": "there",
            "host": "",
            "to": "192.0.2.80:80",
            "from": name(client),
            "size": "0",
            "reply": "0",
            "type": "1",
            "modes": "111",
            "early": "",
            "rest": b"data".hex(),
        }
        assert all_of(client) == b"hello"


def test_many(listening: Path) -> None:
    """More than are accepted in one turn."""
    with Listeners(listening, "forward=127.0.0.1=0") as there:
        clients = [connect(there.ports[0]) for _ in range(150)]
        for client in clients:
            client.shutdown(socket.SHUT_WR)
        assert {there.flow()["from"] for _ in clients} == set(map(name, clients))
        for client in clients:
            assert all_of(client) == b"hello"
            client.close()


@pytest.mark.parametrize("pieces", [1, 5, 100000])
def test_proxied(listening: Path, pieces: int) -> None:
    header = proxy(
        V4, tlv(SIZE, u64(7)), tlv(REPLY, u64(8)), tlv(TYPE, b"\2"), tlv(0xEE, b"x" * 3000)
    )
    header = header[:13] + b"\x11" + header[14:]
    with (
        Listeners(listening, "proxied=127.0.0.1=0") as there,
        connect(there.ports[0]) as client,
    ):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said = header + b"data"
        for begin in range(0, len(said), pieces):
            client.sendall(said[begin : begin + pieces])
        client.shutdown(socket.SHUT_WR)
        flow = there.flow()
        assert flow["from"] == "192.0.2.1:1025"
        assert (flow["size"], flow["reply"], flow["type"]) == ("7", "8", "2")
        assert flow["early"] + flow["rest"] == b"data".hex()
        assert flow["to"] == "192.0.2.80:80"
        assert all_of(client) == b"hello"


def test_proxied_longest(listening: Path) -> None:
    """The longest header that there can be, and one of a proxy itself."""
    longest = proxy(tlv(0xEE, b"x" * 65532))
    assert len(longest) == 16 + 65535
    with Listeners(listening, "proxied=127.0.0.1=0") as there:
        for header in (longest, proxy(command=0x20)):
            with connect(there.ports[0]) as client:
                client.sendall(header + b"data")
                client.shutdown(socket.SHUT_WR)
                flow = there.flow()
                assert (flow["from"], flow["type"]) == (name(client), "0")
                assert flow["early"] + flow["rest"] == b"data".hex()


def test_addresses_of_ipv4_in_ipv6(listening: Path) -> None:
    """They are told as those of IPv4, wherever they come from."""
    mapped = socket.inet_pton(socket.AF_INET6, "::ffff:192.0.2.7")
    with Listeners(listening, "proxied=::=0", "socks=::=0") as there:
        with connect(there.ports[0]) as client:
            header = proxy(mapped * 2 + b"\0\1\0\2", family=0x21)
            client.sendall(header)
            client.shutdown(socket.SHUT_WR)
            assert there.flow()["from"] == "192.0.2.7:1"
        with connect(there.ports[1]) as client:
            client.sendall(PLAIN + request(4, mapped, 443))
            client.shutdown(socket.SHUT_WR)
            flow = there.flow()
            assert (flow["to"], flow["from"]) == ("192.0.2.7:443", name(client))


def test_type_that_is_none(listening: Path) -> None:
    with (
        Listeners(listening, "peers=127.0.0.1=0", "proxied=127.0.0.1=0") as there,
        connect(there.ports[1]) as client,
    ):
        client.sendall(proxy(tlv(TYPE, b"\3")))
        client.shutdown(socket.SHUT_WR)
        assert there.flow()["type"] == "1"


def test_proxied_refused(listening: Path) -> None:
    """They are reset: ended, it would be an answer without content."""
    with Listeners(listening, "proxied=127.0.0.1=0") as there:
        for said in (b"GET / HTTP/1.1\r\n", proxy(b"?")):
            with connect(there.ports[0]) as client:
                client.sendall(said)
                assert there.closed() == "it does not begin with a header of PROXY"
                with pytest.raises(ConnectionResetError):
                    all_of(client)
        for said in (b"", proxy(V4)[:-1]):
            with connect(there.ports[0]) as client:
                client.sendall(said)
                client.shutdown(socket.SHUT_WR)
                assert there.closed() == "it has ended"
                with pytest.raises(ConnectionResetError):
                    all_of(client)


SUCCEEDED = bytes.fromhex("05000001000000000000")


@pytest.mark.parametrize("pieces", [1, 7, 100000])
def test_socks(listening: Path, pieces: int) -> None:
    """Also with a client that does not wait for answers before it sends."""
    said = USER + user(b"size=5,reply=6,type=bulk", b"?") + named(b"www.example.org", 443)
    said += b"data" * 1000
    with Listeners(listening, "socks=127.0.0.1=0") as there, connect(there.ports[0]) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for begin in range(0, len(said), pieces):
            client.sendall(said[begin : begin + pieces])
        client.shutdown(socket.SHUT_WR)
        flow = there.flow()
        assert (flow["host"], flow["to"]) == ("www.example.org", "0.0.0.0:443")
        assert (flow["size"], flow["reply"], flow["type"]) == ("5", "6", "2")
        assert (flow["from"], flow["peer"]) == (name(client), "there")
        assert flow["early"] + flow["rest"] == (b"data" * 1000).hex()
        assert all_of(client) == b"\5\2\1\0" + SUCCEEDED + b"hello"


def test_socks_step_by_step(listening: Path) -> None:
    with Listeners(listening, "socks=127.0.0.1=0") as there, connect(there.ports[0]) as client:
        client.sendall(PLAIN)
        assert client.recv(100) == b"\5\0"
        client.sendall(TO_V4)
        client.shutdown(socket.SHUT_WR)
        assert there.flow()["to"] == "192.0.2.9:443"
        assert all_of(client) == SUCCEEDED + b"hello"


@pytest.mark.parametrize(("outcome", "code"), [(NOT_ALLOWED, 2), (REFUSED, 5)])
def test_socks_not_opened(listening: Path, outcome: int, code: int) -> None:
    """The client is told, though what it has sent will not be read."""
    with (
        Listeners(listening, "socks=127.0.0.1=0", outcome=outcome) as there,
        connect(there.ports[0]) as client,
    ):
        client.sendall(PLAIN + TO_V4 + b"x" * 20000)
        assert all_of(client) == b"\5\0\5" + bytes([code]) + SUCCEEDED[2:]
        assert there.flow()["unread"] == "0"


def test_socks_refused(listening: Path) -> None:
    nothing = "it asks for nothing that SOCKS has here"
    with Listeners(listening, "socks=127.0.0.1=0") as there:
        for said, reply in (
            (b"\4\1\0\x50\x7f\0\0\1\0", b""),
            (b"\5\1\1", b"\5\xff"),
            (PLAIN + request(1, b"1234", command=2) + b"x" * 5000, b"\5\0\5\7" + SUCCEEDED[2:]),
            (USER + user(b"nobody"), b"\5\2\1\1"),
        ):
            with connect(there.ports[0]) as client:
                client.sendall(said)
                assert all_of(client) == reply
                assert there.closed() == nothing
        with connect(there.ports[0]) as client:
            client.sendall(PLAIN)
            client.shutdown(socket.SHUT_WR)
            assert all_of(client) == b"\5\0"
            assert there.closed() == "it has ended"


def test_too_many_wait(listening: Path) -> None:
    """The oldest goes, and not those that have told."""
    with Listeners(listening, "socks=127.0.0.1=0", "proxied=127.0.0.1=0", handshakes=3) as there:
        clients = []

        def another() -> None:
            clients.append(connect(there.ports[0]))
            clients[-1].sendall(PLAIN)
            if len(clients) == 4:
                there.tick(2)  # no room is made in the first second
            assert clients[-1].recv(2) == b"\5\0"

        for i in range(5):
            another()
            if i >= 3:
                assert there.closed() == "too many wait, and it is the oldest"
                assert all_of(clients[i - 3]) == b""
        clients.append(connect(there.ports[1]))
        assert there.closed() == "too many wait, and it is the oldest"
        assert all_of(clients[2]) == b""
        clients[3].sendall(TO_V4)
        clients[3].shutdown(socket.SHUT_WR)
        assert there.flow()["from"] == name(clients[3])
        another()
        for client in clients:
            client.close()
        assert [there.closed() for _ in range(3)] == ["it has ended"] * 3


def test_nothing_to_wait_for(listening: Path) -> None:
    """Who has nothing to tell is not kept out by those that have."""
    with Listeners(listening, "socks=127.0.0.1=0", "forward=127.0.0.1=0", handshakes=1) as there:
        silent = connect(there.ports[0])
        silent.sendall(PLAIN)
        assert silent.recv(2) == b"\5\0"
        # The clock stands, so no room is made for a client that has to wait for it
        with connect(there.ports[1]) as client:
            client.shutdown(socket.SHUT_WR)
            assert there.flow()["from"] == name(client)
            assert all_of(client) == b"hello"
        silent.close()
        assert there.closed() == "it has ended"


def test_end(listening: Path) -> None:
    """Who still waits is closed, too: the program would say if a descriptor were left."""
    with Listeners(listening, "socks=127.0.0.1=0") as there:
        client = connect(there.ports[0])
        client.sendall(PLAIN)
        assert client.recv(2) == b"\5\0"
    assert all_of(client) == b""
    client.close()


def test_who_says_nothing(listening: Path) -> None:
    with Listeners(listening, "socks=127.0.0.1=0", timeout=1) as there:
        with connect(there.ports[0]) as silent, connect(there.ports[0]) as slow:
            slow.sendall(PLAIN)
            assert slow.recv(2) == b"\5\0"
            there.tick(2)  # until then nobody is closed
            assert all_of(silent) == all_of(slow) == b""
            assert [there.closed(), there.closed()] == ["it has not said where to"] * 2


def test_without_descriptors(listening: Path) -> None:
    """Accepting pauses, and goes on."""
    with Listeners(listening, "forward=127.0.0.1=0") as there:
        there.running.send_signal(signal.SIGUSR1)
        assert there.line() == "signal"
        with connect(there.ports[0]) as client:
            client.shutdown(socket.SHUT_WR)
            paused = r"<4>accept-paused listener=.* error=Too many open files"
            for _ in range(2):
                assert re.fullmatch(paused, there.line())
            there.running.send_signal(signal.SIGUSR2)
            # at a second each, there are not many
            lines = list(iter(there.line, "signal"))
            assert len(lines) < TIMEOUT and all(re.fullmatch(paused, line) for line in lines)
            assert all_of(client) == b"hello"
            assert there.flow()["from"] == name(client)


def test_both_families(listening: Path) -> None:
    """[::] is for both, unless there is another one for IPv4."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    both = [f"forward=::={port}", f"forward=0.0.0.0={port}"]
    with Listeners(listening, *both) as there:
        for host, kind in (("::1", "0"), ("127.0.0.1", "1")):
            with connect(port, host) as client:
                client.shutdown(socket.SHUT_WR)
                assert there.flow()["type"] == kind


def test_not_bound(listening: Path) -> None:
    """It says where, and what is wrong; what was open is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = subprocess.run(
            [listening, "1", "1", "0", "forward=127.0.0.1=0", f"forward=127.0.0.1={port}"],
            input="",
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    assert (done.returncode, done.stdout) == (0, "none\n")
    expected = f"<3>listen-failed listener=127.0.0.1:{port} what=bind error=Address already in use"
    assert done.stderr.splitlines()[1:] == [expected]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


RULES = """
table inet t {
	chain c {
		type filter hook prerouting priority mangle
		ip daddr 198.51.100.0/24 tcp dport 1-65535 tproxy ip to 127.0.0.1:7000 mark set 1 accept
		ip6 daddr 2001:db8:1::/64 tcp dport 1-65535 tproxy ip6 to [::1]:7001 mark set 1 accept
	}
}
"""


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """A host of clients, and one that takes what goes to 198.51.100.0/24 and 2001:db8:1::/64."""
    if os.geteuid():
        pytest.skip("only root has namespaces")
    client, proxy = names = [f"sched-tcp-{os.getpid()}-{i}" for i in range(2)]
    try:
        for each in names:
            ip("netns", "add", each)
            ip("-n", each, "link", "set", "lo", "up")
        ip("-n", client, "link", "add", "v", "type", "veth", "peer", "name", "v", "netns", proxy)
        for each, end in zip(names, "12", strict=True):
            ip("-n", each, "addr", "add", f"192.0.2.{end}/24", "dev", "v")
            ip("-n", each, "addr", "add", f"2001:db8::{end}/64", "dev", "v", "nodad")
            ip("-n", each, "link", "set", "v", "up")
        ip("-n", client, "route", "add", "default", "via", "192.0.2.2")
        ip("-n", client, "-6", "route", "add", "default", "via", "2001:db8::2")
        for family in ("-4", "-6"):
            ip("-n", proxy, family, "rule", "add", "fwmark", "1", "lookup", "100")
            ip("-n", proxy, family, "route", "add", "local", "default", "dev", "lo", "table", "100")
        rules = ["ip", "netns", "exec", proxy, "nft", "-f", "-"]
        if subprocess.run(rules, input=RULES, text=True, capture_output=True).returncode:
            pytest.skip("nft has no tproxy here")
        yield client, proxy
    finally:
        for each in names:
            subprocess.run(["ip", "netns", "del", each], check=False)


CONNECT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60) as client:
    client.shutdown(socket.SHUT_WR)
    print(client.recv(100).decode())
"""


@pytest.mark.parametrize("dual", [False, True])
def test_tproxy(listening: Path, namespaces: tuple[str, str], dual: bool) -> None:
    """A flow goes where its client wanted to, but never to the listener itself."""
    client, proxy = namespaces

    def said(host: str, port: int) -> str:
        command = ["ip", "netns", "exec", client, "/usr/bin/python3", "-c", CONNECT]
        done = subprocess.run(
            [*command, host, str(port)], capture_output=True, text=True, timeout=TIMEOUT
        )
        return done.stdout.strip()

    if dual:
        listeners = ["tproxy=::=7000", "tproxy=::=7001"]
    else:
        listeners = ["tproxy=127.0.0.1=7000", "tproxy=::1=7001"]
    with Listeners(listening, *listeners, namespace=proxy) as there:
        for host, port in (("198.51.100.9", 80), ("198.51.100.9", 7000)):
            assert said(host, port) == "hello"
            flow = there.flow()
            assert flow["to"] == f"{host}:{port}"
            assert flow["from"].startswith("192.0.2.1:")
        for port in (443, 7001):
            assert said("2001:db8:1::5", port) == "hello"
            flow = there.flow()
            assert flow["to"] == f"[2001:db8:1::5]:{port}"
            assert flow["from"].startswith("[2001:db8::1]:")
        if dual:
            for host, port in (("192.0.2.2", 7000), ("2001:db8::2", 7001), ("2001:db8::2", 7000)):
                assert said(host, port) == ""
                assert there.closed() == "it wants to connect to the listener itself"


def test_tproxy_of_one_address(listening: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may be transparent")
    with Listeners(listening, "tproxy=127.0.0.1=0") as there, connect(there.ports[0]) as client:
        assert all_of(client) == b""
        assert there.closed() == "it wants to connect to the listener itself"
