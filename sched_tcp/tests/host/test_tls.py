# SPDX-License-Identifier: GPL-2.0
"""Who is taken for a peer, and by what; and what becomes of carriers that somebody meddles with."""

import os
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sched_tcp.tests.programs import TIMEOUT, build

KEY, OTHER_KEY = "0123456789abcdef", "0123456789abcdeg"
DONE = ("done", "ended")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("secured") / "secured"
    program = build(to, "tests/host/secured.c tls.c tests/host/stubs.c")
    return program


class Certificates:
    """Authorities, and what they have signed, made when they are asked for."""

    def __init__(self, where: Path) -> None:
        self.where = where

    def openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.where, check=True, capture_output=True)

    def new(self, name: str, subject: str, *more: str) -> None:
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        if not (self.where / f"{name}.pem").exists():
            self.openssl(
                *["req", "-x509", *curve, "-subj", f"/CN={subject}", "-days", "2", *more],
                *["-keyout", f"{name}.key", "-out", f"{name}.pem"],
            )

    def authority(self, name: str) -> Path:
        self.new(name, name)
        return self.where / f"{name}.pem"

    def signed(self, authority: str, name: str, *names: str, more: tuple[str, ...] = ()) -> str:
        """The paths of a certificate and its key, as secured wants them."""
        self.authority(authority)
        made = f"{authority}-{name}"
        by = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"]
        alternative = ",".join(f"DNS:{each}" for each in names or (name,))
        self.new(
            *[made, name, *by, "-addext", "basicConstraints=critical,CA:false"],
            *["-addext", f"subjectAltName={alternative}", *more],
        )
        return f"{self.where / made}.pem={self.where / made}.key"

    def expired(self, authority: str, name: str) -> str:
        """Signed for a time that has gone by."""
        ca, made = self.authority(authority), f"{authority}-{name}-expired"
        config = self.where / "ca.conf"
        config.write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndir={self.where}\ndatabase=$dir/index\nserial=$dir/serial\n"
            f"new_certs_dir=$dir\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n"
            f"[p]\ncommonName=supplied\n[x]\nsubjectAltName=DNS:{name}\n"
        )
        (self.where / "index").write_text("")
        (self.where / "serial").write_text("01\n")
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        files = ["-keyout", f"{made}.key", "-out", f"{made}.csr"]
        self.openssl("req", *curve, "-subj", f"/CN={name}", *files)
        dates = ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"]
        by = ["-cert", str(ca), "-keyfile", str(ca.with_suffix(".key"))]
        files = ["-in", f"{made}.csr", "-out", f"{made}.pem"]
        self.openssl("ca", "-batch", "-notext", "-config", str(config), *dates, *by, *files)
        return f"{self.where / made}.pem={self.where / made}.key"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@contextmanager
def end(program: Path, role: str, there: socket.socket, *peers: str, send: int = 0) -> Iterator:
    """A program that has the socket; what it said is in .said when this is left."""
    command = [program, role, str(send), *peers]
    pipe = subprocess.PIPE
    running = subprocess.Popen(command, stdin=there, stdout=pipe, stderr=pipe, text=True)
    there.close()
    try:
        yield running
        out, err = running.communicate(timeout=TIMEOUT)
    finally:
        running.kill()
        running.wait()
    assert (running.returncode, err) == (0, ""), out
    running.said = out.splitlines()


def met(
    program: Path, client: list[str], server: list[str], send: tuple[int, int] = (0, 0)
) -> tuple[list[str], list[str]]:
    """What both say that were connected to each other."""
    a, b = socket.socketpair()
    with (
        end(program, "client", a, *client, send=send[0]) as first,
        end(program, "server", b, *server, send=send[1]) as second,
    ):
        pass
    return first.said, second.said


def psk(name: str, key: str = KEY) -> str:
    return f"{name}=psk={key}"


def test_key(secured: Path) -> None:
    peers = ["c=tunnel", psk("other", OTHER_KEY), psk("b"), psk("bb")]
    said = met(secured, [psk("b")], peers, send=(1000, 1))
    assert said == (["done b", "ended 1"], ["done b", "ended 1000"])


def test_longest_key_and_name(secured: Path) -> None:
    peer = psk("n" * 63, "k" * 64)
    assert met(secured, [peer], [peer]) == ([f"done {'n' * 63}", "ended 0"],) * 2


def test_much(secured: Path) -> None:
    """More than sockets hold, both ways at once, at another address for each try."""
    peer, much = psk("b"), 3_000_001
    said = met(secured, [peer], [peer], send=(much, much - 1))
    assert said == (["done b", f"ended {much - 1}"], ["done b", f"ended {much}"])


def cert(name: str, ours: str, authority: Path, subject: str = "") -> str:
    return f"{name}=cert={ours}={authority}" + (f"={subject}" if subject else "")


def test_certificates(secured: Path, made: Certificates) -> None:
    """Each peer has an authority of its own, and may want to see another certificate of ours."""
    two, three = made.signed("ca2", "two.example"), made.signed("ca3", "three.example")
    ours2, ours3 = made.signed("ca2", "one.example"), made.signed("ca3", "one3.example")
    server = [
        psk("p"),
        cert("two", ours2, made.authority("ca2"), "two.example"),
        cert("three", ours3, made.authority("ca3"), "three.example"),
    ]
    client = cert("one", two, made.authority("ca2"), "one.example")
    assert met(secured, [client], server) == (["done one", "ended 0"], ["done two", "ended 0"])
    client = cert("one", three, made.authority("ca3"), "one3.example")
    assert met(secured, [client], server) == (["done one", "ended 0"], ["done three", "ended 0"])
    assert met(secured, [psk("p")], server) == (["done p", "ended 0"],) * 2


def test_names_of_certificates(secured: Path, made: Certificates) -> None:
    """Without a name told, it is the peer's; with several in a certificate one has to fit."""
    ours = made.signed("ca2", "one.example")
    theirs = made.signed("ca2", "many", "x.example", "two.example")
    server = [cert("two.example", ours, made.authority("ca2"))]
    client = [cert("one.example", theirs, made.authority("ca2"))]
    said = met(secured, client, server)
    assert said == (["done one.example", "ended 0"], ["done two.example", "ended 0"])


REFUSES = "it says "
BROKEN = "broken 0 EPROTO"


def refused(
    program: Path, client: list[str], server: list[str], client_why: str, server_why: str
) -> None:
    """Both fail, or the client, which is done first, is told when it reads."""
    said = met(program, client, server)
    if client_why == BROKEN:
        assert said[0][0].startswith("done ") and said[0][1:] == [BROKEN], said
    else:
        assert said[0] == [f"failed {client_why}"], said
    assert said[1] == [f"failed {server_why}"], said


def test_key_refused(secured: Path) -> None:
    illegal = REFUSES + "sslv3 alert illegal parameter"
    none = REFUSES + "sslv3 alert handshake failure"
    no_certificate = "no suitable signature algorithm"
    wrong = "binder does not verify"
    refused(secured, [psk("b")], [psk("b", OTHER_KEY)], illegal, wrong)
    refused(secured, [psk("b", KEY + "x")], [psk("b")], illegal, wrong)
    unknown = f"there is no key for the name b: {no_certificate}"
    refused(secured, [psk("b")], [psk("a"), psk("B"), psk("bb")], none, unknown)
    refused(secured, [psk("b")], ["b=tunnel"], none, unknown)
    refused(secured, [psk("b")], [], none, unknown)
    strange = f"there is no key for the name a??c: {no_certificate}"
    refused(secured, [psk('a"\nc')], [psk("b")], none, strange)


def test_no_key(secured: Path, made: Certificates) -> None:
    """A certificate is of no use with who has no certificate itself."""
    client = cert("b", made.signed("ca2", "two.example"), made.authority("ca2"))
    refused(
        secured,
        [client],
        [psk("b")],
        REFUSES + "sslv3 alert handshake failure",
        "it offers no key, and there is no certificate here: no suitable signature algorithm",
    )


def test_key_is_not_replaced_by_certificate(secured: Path, made: Certificates) -> None:
    """Neither does a client that has a key look at certificates, nor a server at a peer's key."""
    ours = made.signed("ca2", "b")
    server = [cert("c", ours, made.authority("ca2"), "two.example")]
    refused(
        secured,
        [psk("b")],
        server,
        "it shows a certificate instead of using the key: unable to get local issuer certificate",
        "there is no key for the name b: it says tlsv1 alert unknown ca",
    )
    # the peer by a certificate is not the peer by a key, though it has its name
    client = [cert("c", made.signed("ca2", "two.example"), made.authority("ca2"), "b")]
    server = [psk("two.example"), cert("x", ours, made.authority("ca3"), "two.example")]
    refused(secured, client, server, BROKEN, "unable to get local issuer certificate")


def test_certificate_refused(secured: Path, made: Certificates) -> None:
    ca2, ca3 = made.authority("ca2"), made.authority("ca3")
    ours = made.signed("ca2", "one.example")
    two, two_by_3 = made.signed("ca2", "two.example"), made.signed("ca3", "two.example")
    server = [cert("two", ours, ca2, "two.example")]
    unknown = "unable to get local issuer certificate"

    def client_refused(theirs: str, why: str) -> None:
        refused(secured, [cert("one", theirs, ca2, "one.example")], server, BROKEN, why)

    client_refused(two_by_3, unknown)
    client_refused(made.signed("ca2", "2.example"), "hostname mismatch")
    client_refused(made.expired("ca2", "two.example"), "certificate has expired")
    client_refused(f"{ca2}={ca2.with_suffix('.key')}", "hostname mismatch")
    usage = ("-addext", "extendedKeyUsage=serverAuth")
    only_server = made.signed("ca2", "only-server", "two.example", more=usage)
    client_refused(only_server, "unsuitable certificate purpose")

    stars = made.signed("ca2", "stars", "*.sites.example")
    servers = [cert("two", ours, ca2, "two.sites.example")]
    refused(secured, [cert("one", stars, ca2, "one.example")], servers, BROKEN, "hostname mismatch")

    def server_refused(subject: str, ca: Path, ours: str, why: str, alert: str) -> None:
        clients = [cert("one", two, ca, subject)]
        servers = [cert("two", ours, ca2, "two.example")]
        refused(secured, clients, servers, why, REFUSES + alert)

    server_refused("one.example", ca3, ours, unknown, "tlsv1 alert unknown ca")
    bad, expired = "sslv3 alert bad certificate", "sslv3 alert certificate expired"
    server_refused("1.example", ca2, ours, "hostname mismatch", bad)
    old = made.expired("ca2", "one.example")
    server_refused("one.example", ca2, old, "certificate has expired", expired)


def test_authority_is_of_one_peer(secured: Path, made: Certificates) -> None:
    """ca3 may say who three is, but not who two is."""
    ca2, ca3 = made.authority("ca2"), made.authority("ca3")
    ours = made.signed("ca2", "one.example")
    server = [cert("two", ours, ca2, "two.example"), cert("three", ours, ca3, "three.example")]
    client = [cert("one", made.signed("ca3", "two.example"), ca2, "one.example")]
    refused(secured, client, server, BROKEN, "hostname mismatch")
    client = [cert("one", made.signed("ca2", "three.example"), ca2, "one.example")]
    refused(secured, client, server, BROKEN, "hostname mismatch")


def test_peer_is_the_one_asked_for(secured: Path, made: Certificates) -> None:
    """A good certificate of another peer is not good."""
    ca2, ca3 = made.authority("ca2"), made.authority("ca3")
    theirs = made.signed("ca2", "two.example")
    client = [cert("one", theirs, ca2, "one.example"), cert("other", theirs, ca3, "other.example")]
    server = [cert("two", made.signed("ca3", "other.example"), ca2, "two.example")]
    alert = REFUSES + "tlsv1 alert unknown ca"
    refused(secured, client, server, "unable to get local issuer certificate", alert)


def test_init_refused(secured: Path, made: Certificates, tmp_path: Path) -> None:
    """What cannot be read, or does not belong together, is told."""
    ca, ours = made.authority("ca2"), made.signed("ca2", "one.example")
    other, missing = made.signed("ca2", "two.example"), tmp_path / "missing"
    locked = tmp_path / "locked.key"
    subprocess.run(
        ["openssl", "ec", "-in", ours.split("=")[1], "-aes128", "-passout", "pass:secret"]
        + ["-out", locked],
        check=True,
        capture_output=True,
    )
    (tmp_path / "empty").touch()
    for peer, why in (
        (psk("b", "x" * 15), "what=psk"),
        (cert("b", ours, missing), f"what={missing} error=No such file or directory"),
        (cert("b", ours, tmp_path / "empty"), "what=.*/empty error="),
        (cert("b", f"{missing}={missing}", ca), f"what={missing} error=No such file or directory"),
        (cert("b", f"{ours.split('=')[0]}={other.split('=')[1]}", ca), "error=key values mismatch"),
        (cert("b", f"{ours.split('=')[0]}={locked}", ca), f"what={locked} error="),
    ):
        done = subprocess.run(
            [secured, "server", "0", psk("a"), peer],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert (done.returncode, done.stdout) == (0, "init failed\n"), done.stderr
        assert re.fullmatch(f"<3>tls-failed peer=b .*{why}.*\n", done.stderr), done.stderr


def test_only_one_three(secured: Path) -> None:
    """TLS 1.2 is refused by the server."""
    a, b = socket.socketpair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with end(secured, "server", b, psk("b")) as server, a, pytest.raises(ssl.SSLError):
        context.wrap_socket(a)
    assert server.said == ["failed unsupported protocol"]


def s_client(secured: Path, server: list[str], *options: str) -> tuple[str, list[str]]:
    """What OpenSSL's client and a server say."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        pipe = subprocess.PIPE
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", address, *options],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
        )
        listener.settimeout(TIMEOUT)
        with end(secured, "server", listener.accept()[0], *server) as running:
            out, _ = client.communicate("", timeout=TIMEOUT)
    return out, running.said


HAS_KEY = ("-psk", KEY.encode().hex(), "-psk_identity", "b")


def test_never_without_exchange(secured: Path) -> None:
    """Who would do without Diffie and Hellman's exchange does with it, or not at all."""
    said, server = s_client(secured, [psk("b")], *HAS_KEY, "-allow_no_dhe_kex")
    assert "Server Temp Key: X25519" in said and server == ["done b", "ended 0"]
    no_group = ("-allow_no_dhe_kex", "-groups", "X448")
    said, server = s_client(secured, [psk("b")], *HAS_KEY, *no_group)
    assert server == ["failed no suitable key share"], said


def test_nothing_shown(secured: Path, made: Certificates) -> None:
    """Neither key nor certificate."""
    ours, ca = made.signed("ca2", "one.example"), made.authority("ca2")
    _, server = s_client(secured, [psk("b"), cert("two", ours, ca, "two.example")])
    assert server == ["failed peer did not return a certificate"]


def test_key_that_is_not_used(secured: Path, made: Certificates) -> None:
    """A name alone proves nothing, if the key is then not used: with another hash it is not."""
    other_hash = ("-ciphersuites", "TLS_AES_256_GCM_SHA384")
    name = ("-psk", OTHER_KEY.encode().hex(), "-psk_identity", "b")
    said, server = s_client(secured, [psk("b")], *name, *other_hash)
    assert len(server) == 1 and server[0].startswith("failed it offers no key"), said
    ours, ca = made.signed("ca2", "one.example"), made.authority("ca2")
    file, key = made.signed("ca2", "two.example").split("=")
    server = [psk("b"), cert("two", ours, ca, "two.example")]
    said, server = s_client(secured, server, *name, *other_hash, "-cert", file, "-key", key)
    assert server == ["done two", "ended 0"], said


def test_ourselves(secured: Path) -> None:
    """Somebody between leads what is opened to the peer back to where it came from."""
    said = subprocess.run(
        [secured, "self", "0", psk("b")], capture_output=True, text=True, timeout=TIMEOUT
    )
    expected = "failed it is ourselves: the way to the peer leads back here\n"
    assert (said.returncode, said.stdout, said.stderr) == (0, expected, "")


def test_configured_anew(secured: Path) -> None:
    """A handshake that has begun goes on with what it had; then the peer must still be one."""
    client, changed = [psk("b")], psk("b", OTHER_KEY)
    said = met(secured, client, [psk("a"), psk("b"), "--", psk("b")])
    assert said == (["done b", "ended 0"],) * 2
    assert met(secured, client, [psk("b"), "--", changed]) == (["done b", "ended 0"],) * 2
    for gone in ([], [psk("a")], ["b=tunnel"]):
        first, second = met(secured, client, [psk("b"), "--", *gone])
        assert first[0] == "done b" and first[1].startswith("broken 0")
        assert second == ["failed it is no peer any more"]


def test_configured_wrongly(secured: Path) -> None:
    """What cannot be is as if it had not been asked for."""
    a, b = socket.socketpair()
    with end(secured, "client", a, psk("b")) as client:
        command = [secured, "server", "0", psk("b"), "--", psk("b", "short")]
        done = subprocess.run(command, stdin=b, capture_output=True, text=True, timeout=TIMEOUT)
        b.close()
    assert client.said == done.stdout.splitlines() == ["done b", "ended 0"]
    assert "tls-failed peer=b what=psk" in done.stderr


@dataclass
class Way:
    """One direction of a connection that goes through us."""

    change: Callable[[bytes, int], bytes] = lambda data, place: data
    cut: int | None = None  # after so many bytes both directions end
    seen: bytearray = field(default_factory=bytearray)


def between(
    program: Path,
    there: Way,
    back: Way,
    send: tuple[int, int] = (0, 0),
    cut_with: Callable[[socket.socket], None] = lambda one: one.shutdown(socket.SHUT_RDWR),
) -> tuple[list[str], list[str]]:
    """What both say whose bytes we pass on."""
    a, we_a = socket.socketpair()
    we_b, b = socket.socketpair()

    def carry(source: socket.socket, to: socket.socket, way: Way) -> None:
        try:
            while data := source.recv(65536):
                place = len(way.seen)
                way.seen += data
                data = way.change(data, place)
                if way.cut is not None and len(way.seen) >= way.cut:
                    to.sendall(data[: max(way.cut - place, 0)])
                    cut_with(source)
                    cut_with(to)
                    return
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other direction has been cut

    threads = [
        threading.Thread(target=carry, args=arguments)
        for arguments in ((we_a, we_b, there), (we_b, we_a, back))
    ]
    with (
        end(program, "client", a, psk("b"), send=send[0]) as client,
        end(program, "server", b, psk("b"), send=send[1]) as server,
    ):
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    we_a.close()
    we_b.close()
    return client.said, server.said


def records(data: bytes) -> list[tuple[int, bytes]]:
    """Type and content."""
    found = []
    while data:
        length = int.from_bytes(data[3:5], "big")
        found.append((data[0], data[5 : 5 + length]))
        data = data[5 + length :]
    return found


def lengths(data: bytes) -> set[int]:
    """Where they stand: with a larger one the other end waits for more."""
    places, begin = set(), 0
    for _, content in records(data):
        places |= {begin + 3, begin + 4}
        begin += 5 + len(content)
    return places


def test_records(secured: Path) -> None:
    """There is nothing in plain text, and no ticket: a hello, its answer, and a close_notify."""
    there, back = Way(), Way()
    said = between(secured, there, back, send=(9, 0))
    assert said == (["done b", "ended 0"], ["done b", "ended 9"])
    # handshake, change_cipher_spec (for those between), encrypted extensions, finished, end
    assert [kind for kind, _ in records(back.seen)] == [22, 20, 23, 23, 23]
    kinds = records(there.seen)
    assert [kind for kind, _ in kinds] == [22, 20, 23, 23, 23]
    assert len(kinds[3][1]) == 9 + 22 - 5  # TLS_OVERHEAD


def all_of(connection: socket.socket) -> bytes:
    """Until it ends, or is reset: by who has not read all, either."""
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
    except ConnectionResetError:
        pass
    return data


def test_played_again(secured: Path) -> None:
    """Nothing of what a client had sent is accepted a second time."""
    there, back = Way(), Way()
    said = between(secured, there, back, send=(9, 0))
    assert said[1] == ["done b", "ended 9"]
    a, b = socket.socketpair()
    with end(secured, "server", b, psk("b"), send=5) as server, a:
        a.sendall(there.seen)
        a.shutdown(socket.SHUT_WR)
        answer = all_of(a)
    assert server.said == ["failed decryption failed or bad record mac"]
    # up to its Finished, which the client had to answer, and why not
    assert [kind for kind, _ in records(answer)][:4] == [22, 20, 23, 23]
    assert len(records(answer)) == 5


def test_cut(secured: Path) -> None:
    """Wherever a connection is cut, neither end takes this for an end."""
    whole = Way(), Way()
    between(secured, *whole, send=(40000, 20000))
    for which in (0, 1):
        size = len(whole[which].seen)
        flight = 5 + len(records(whole[which].seen)[0][1])
        places = [0, 1, 4, 5, 6, flight - 1, flight, flight + 3, size // 2, size - 24, size - 1]
        for place in places:
            ways = Way(), Way()
            ways[which].cut = place
            said = between(secured, *ways, send=(40000, 20000))
            # who was sent what was cut
            lines = said[1 - which]
            assert lines[-1].startswith(("failed ", "broken ")), (which, place, said)
            if place < flight:
                assert lines[0].startswith("failed "), (which, place, said)


def test_changed(secured: Path) -> None:
    """A single bit, anywhere after the names of versions, and it is over."""
    whole = Way(), Way()
    between(secured, *whole, send=(100, 100))
    for which in (0, 1):
        size = len(whole[which].seen)
        for place in sorted({*range(11, size, 41), size - 1} - lengths(whole[which].seen)):

            def change(data: bytes, begin: int, place: int = place) -> bytes:
                if begin <= place < begin + len(data):
                    data = bytearray(data)
                    data[place - begin] ^= 0x40
                return data

            ways = Way(), Way()
            ways[which].change = change
            said = between(secured, *ways, send=(100, 100))
            ends = [lines[-1].split()[0] for lines in said]
            assert set(ends) & {"failed", "broken"}, (which, place, said)
            assert ends[1 - which] != "ended", (which, place, said)


def test_garbage(secured: Path) -> None:
    """Bytes that are no TLS, as a server or a client gets them."""
    for role in ("server", "client"):
        for data in (
            b"",
            b"\0" * 5,
            b"\xff" * 100,
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",
            b"\x16\x03\x01\xff\xff" + os.urandom(70000),
            b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + b"\0" * 16380,
            b"\x17\x03\x03\x00\x20" + os.urandom(32),
            b"\x15\x03\x03\x00\x02\x02\x28",
            b"\x14\x03\x03\x00\x01\x01" * 1000,
        ):
            a, b = socket.socketpair()

            def throw(data: bytes = data, a: socket.socket = a) -> None:
                try:
                    a.sendall(data)
                    a.shutdown(socket.SHUT_WR)
                    all_of(a)
                except OSError:
                    pass  # it has hung up

            thrower = threading.Thread(target=throw)
            with end(secured, role, b, psk("b")) as program:
                thrower.start()
            thrower.join(TIMEOUT)
            a.close()
            assert len(program.said) == 1, (role, data, program.said)
            assert re.match(r"failed \S", program.said[0]), (role, data, program.said)
