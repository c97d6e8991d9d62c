# SPDX-License-Identifier: GPL-2.0
"""What clients say: HTTP heads, PROXY headers, SOCKS requests, in pieces of any length."""

import socket
import struct
import subprocess
from collections.abc import Callable

import pytest

from sched_tcp.tests.programs import TIMEOUT, build

Parse = Callable[..., list[str]]
PIECES = (1, 2, 3, 7, 100, 1000000)
HEAD_MAX = 16384


@pytest.fixture(scope="module")
def parse(tmp_path_factory: pytest.TempPathFactory) -> Parse:
    """Answers to the same bytes in pieces of different lengths: they have to be alike."""
    to = tmp_path_factory.mktemp("parse") / "parse"
    program = build(to, "tests/host/parse.c http.c proxy2.c socks.c")

    def parse(parser: str, *data: bytes, pieces: tuple[int, ...] = PIECES) -> list[str]:
        lines = [f"{parser} {d.hex() or '-'} {piece}" for d in data for piece in pieces]
        done = subprocess.run(
            [program], input="\n".join(lines), capture_output=True, text=True, timeout=TIMEOUT
        )
        assert (done.returncode, done.stderr) == (0, "")
        answers = [line.strip() for line in done.stdout.splitlines()]
        assert len(answers) == len(lines)
        each = [answers[i : i + len(pieces)] for i in range(0, len(answers), len(pieces))]
        for d, alike in zip(data, each, strict=True):
            assert len(set(alike)) == 1, (d, dict(zip(pieces, alike, strict=True)))
        return [alike[0] for alike in each]

    return parse


def head(*lines: str) -> bytes:
    return "".join(line + "\r\n" for line in (*lines, "")).encode("latin1")


GET = "GET /index.html HTTP/1.1"
OK = "HTTP/1.1 200 OK"
HTTP = {  # what is read, and how long the body is: None if it is not known
    head(GET, "Host: example.org"): 0,
    head("GET / HTTP/1.0"): 0,
    head("OPTIONS * HTTP/1.1"): 0,
    head("M-SEARCH * HTTP/1.1"): 0,
    head("POST http://a/b?c=d%20 HTTP/1.1", "Content-Length: 5"): 5,
    head("PUT / HTTP/1.1", "content-LENGTH:\t 12 \t", "X:"): 12,
    head("POST / HTTP/1.1", "Content-Length: 0"): 0,
    head("POST / HTTP/1.1", "Content-Length: 0007"): 7,
    head(OK, "Server: \xe9\xff", "Content-Length: 1048576"): 1048576,
    head("HTTP/1.0 404 Not Found", "Content-Length: 3"): 3,
    head("HTTP/1.1 200", "Content-Length: 3"): 3,
    head("HTTP/1.1 200 ", "Content-Length: 3"): 3,
    head(OK, "Content-Length: 7", "Content-Length: 7"): 7,
    head(OK, "Content-Length: 7, 7"): 7,
    head(OK, "Content-Length: 18446744073709500000"): 18446744073709500000,
    head("HTTP/1.1 100 Continue"): 0,
    head("HTTP/1.1 204 No Content"): 0,
    head("HTTP/1.1 304 Not Modified", "Content-Length: 500"): 0,
    head("HTTP/1.1 304 Not Modified", "Transfer-Encoding: chunked"): 0,
    # not told
    head(OK): None,
    head(OK, "Transfer-Encoding: chunked"): None,
    head(OK, "Content-Length: 7", "transfer-encoding: gzip, chunked"): None,
    head("POST / HTTP/1.1", "Transfer-Encoding: chunked"): None,
    head("CONNECT example.org:443 HTTP/1.1"): None,
    # told in a way that is not believed
    head(OK, "Content-Length: 7", "Content-Length: 8"): None,
    head(OK, "Content-Length: 7, 8"): None,
    head(OK, "Content-Length: 7,"): None,
    head(OK, "Content-Length:"): None,
    head(OK, "Content-Length: +7"): None,
    head(OK, "Content-Length: -7"): None,
    head(OK, "Content-Length: 7 8"): None,
    head(OK, "Content-Length: 0x7"): None,
    head(OK, "Content-Length: 18446744073709551616"): None,
    head(OK, "Content-Length: 18446744073709551615"): None,  # and the head
    head(OK, "Content-Length : 7"): None,
    head(OK, "X: a", " Content-Length: 7", "Content-Length: 7"): None,
    head(OK, "Content-Length"): None,
    head(OK, ": 7"): None,
    head(OK, "A\x00: 7", "Content-Length: 7"): None,
    head(OK, "A: \x00", "Content-Length: 7"): None,
    head(OK, "A: \x7f", "Content-Length: 7"): None,
    b"HTTP/1.1 200 OK\nContent-Length: 7\n\n": None,
    b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\r\n\r\n": None,
    # no HTTP/1
    head("PRI * HTTP/2.0"): None,
    head("GET / HTTP/2"): None,
    head("GET / HTTP/1.10"): None,
    head("GET / HTTP/1.1 "): None,
    head("GET  / HTTP/1.1"): None,
    head("GET / / HTTP/1.1"): None,
    head("GET\t/ HTTP/1.1"): None,
    head("GET /"): None,
    head("get / HTTP/1.1"): None,
    head("-GET / HTTP/1.1"): None,
    head("HTTP/2 200"): None,
    head("HTTP/1.1 20 OK"): None,
    head("HTTP/1.1 2000"): None,
    head("HTTP/1.1 600 OK", "Content-Length: 7"): None,
    head("HTTP/1.1  200 OK"): None,
    head("HTTP/1.1", "Content-Length: 7"): None,
    head(""): None,
    b"SSH-2.0-OpenSSH_9.2p1\r\n": None,
    b"\x16\x03\x01\x02\x00\x01\x00": None,
    b"\x00" * 100: None,
    b"\xff" * 100: None,
    b"A" * 100: None,
    b"Hello": None,
    b"GET /\x01": None,
}


def test_http(parse: Parse) -> None:
    answers = dict(zip(HTTP, parse("http", *HTTP), strict=True))
    assert answers == {
        data: "0" if body is None else f"1 total={len(data) + body}" for data, body in HTTP.items()
    }


def test_http_with_what_follows(parse: Parse) -> None:
    """Of the body, and of a next message, nothing is looked at."""
    message = head(OK, "Content-Length: 7")
    expected = [f"1 total={len(message) + 7}"] * 2
    assert parse("http", message + b"\0\r\nHTTP", message + b"1234567" + head(OK)) == expected


def test_http_goes_on(parse: Parse) -> None:
    """What may become a message wants more; the first bytes of what cannot decide."""
    message = head("POST /a HTTP/1.1", "Host: b", "Content-Length: 7")
    parts = [message[:n] for n in range(len(message))]
    assert parse("http", *parts) == ["-1"] * len(parts)
    message = head(OK, "Content-Length: 7")
    parts = [message[:n] for n in range(len(message))]
    assert parse("http", *parts) == ["-1"] * len(parts)
    for no in (b"h", b" ", b"\n", b"G.", b"HTTP/2", b"HTTP/1.2", b"HTTP/1.1 x", b"GET  "):
        assert parse("http", no) == ["0"], no


def test_http_head_is_bounded(parse: Parse) -> None:
    fits = GET + "\r\nX: {}\r\n\r\n"
    for spare, answer in ((0, f"1 total={HEAD_MAX}"), (-1, f"1 total={HEAD_MAX - 1}"), (1, "0")):
        data = fits.format("x" * (HEAD_MAX + spare - len(fits) + 2)).encode()
        assert parse("http", data, pieces=(1000, 100000)) == [answer]
    for endless in (b"GET /" + b"x" * 20000, head(GET, "X: " + "x" * 20000)[:-4]):
        assert parse("http", endless, pieces=(1000, 100000)) == ["0"]
        assert parse("http", endless[:HEAD_MAX], pieces=(1000, 100000)) == ["0"]
        assert parse("http", endless[: HEAD_MAX - 1], pieces=(1000, 100000)) == ["-1"]


SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
SIZE, REPLY, TYPE = 0xE5, 0xE6, 0xE7


def proxy(*rest: bytes, command: int = 0x21, family: int = 0, length: int | None = None) -> bytes:
    block = b"".join(rest)
    size = len(block) if length is None else length
    return SIGNATURE + struct.pack(">BBH", command, family, size) + block


def tlv(kind: int, value: bytes, length: int | None = None) -> bytes:
    return struct.pack(">BH", kind, len(value) if length is None else length) + value


def u64(value: int) -> bytes:
    return value.to_bytes(8, "big")


V4 = socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.2") + struct.pack(">HH", 1025, 80)
V6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2 + struct.pack(">HH", 65535, 80)
NONE = "size=0 reply=0 type=-1"
NOBODY = "from=- port=0"
PROXIED = {
    proxy(V4, family=0x11): f"{NONE} from=192.0.2.1 port=1025",
    proxy(V6, family=0x21): f"{NONE} from=2001:db8::1 port=65535",
    proxy(b"x" * 216, family=0x31): f"{NONE} {NOBODY}",
    proxy(): f"{NONE} {NOBODY}",
    proxy(tlv(SIZE, u64(2**64 - 1))): f"size={2**64 - 1} reply=0 type=-1 {NOBODY}",
    proxy(tlv(3, b"crc3"), tlv(REPLY, u64(258)), tlv(4, b"")): f"size=0 reply=258 type=-1 {NOBODY}",
    proxy(V4, tlv(TYPE, b"\xff"), tlv(SIZE, u64(1)), family=0x11): (
        "size=1 reply=0 type=255 from=192.0.2.1 port=1025"
    ),
    proxy(V6, tlv(0xEE, b"x" * 65496), family=0x21): f"{NONE} from=2001:db8::1 port=65535",
    proxy(command=0x20): f"{NONE} {NOBODY}",
    proxy(V4, tlv(SIZE, u64(9)), b"?", command=0x20, family=0x77): f"{NONE} {NOBODY}",
    # none
    proxy(command=0x11): None,
    proxy(command=0x22): None,
    proxy(V4, family=0x12): None,
    proxy(V4, family=0x10): None,
    proxy(V4, family=0x41): None,
    proxy(V4[:-1], family=0x11): None,
    proxy(V6[:-1], family=0x21): None,
    proxy(b"x" * 215, family=0x31): None,
    proxy(b"\0"): None,
    proxy(b"\0\0"): None,
    proxy(tlv(4, b"", 1)): None,
    proxy(tlv(4, b"abc", 2)): None,
    proxy(tlv(SIZE, b"1234567")): None,
    proxy(tlv(REPLY, b"123456789")): None,
    proxy(tlv(TYPE, b"")): None,
    proxy(tlv(TYPE, b"12")): None,
    b"PROXY TCP4 192.0.2.1 192.0.2.2 1025 80\r\n": None,
    b"\r\n\r\n\0\r\nQUIT\r" + b"\0" * 4: None,
    b"\r\n\r\nGET / HTTP/1.1": None,
}


def test_proxy(parse: Parse) -> None:
    answers = dict(zip(PROXIED, parse("proxy2", *PROXIED), strict=True))
    assert answers == {
        data: "-1" if told is None else f"{len(data)} {told}" for data, told in PROXIED.items()
    }


def test_proxy_with_what_follows(parse: Parse) -> None:
    data = proxy(V4, tlv(TYPE, b"\2"), family=0x11)
    told = "size=0 reply=0 type=2 from=192.0.2.1 port=1025"
    assert parse("proxy2", data + data) == [f"{len(data)} {told}"]


def test_proxy_goes_on(parse: Parse) -> None:
    data = proxy(V4, tlv(SIZE, u64(7)), family=0x11)
    parts = [data[:n] for n in range(len(data))]
    assert parse("proxy2", *parts) == ["0"] * len(parts)
    for no in (b"\n", b"\r\r", SIGNATURE[:-1] + b"\r", SIGNATURE + b"\x12"):
        assert parse("proxy2", no) == ["-1"], no


def user(name: bytes, password: bytes = b"") -> bytes:
    return bytes([1, len(name)]) + name + bytes([len(password)]) + password


def request(kind: int, address: bytes, port: int = 80, command: int = 1, rsv: int = 0) -> bytes:
    return bytes([5, command, rsv, kind]) + address + port.to_bytes(2, "big")


def named(name: bytes, port: int = 80) -> bytes:
    return request(3, bytes([len(name)]) + name, port)


def done(replies: str, to: str, told: str = NONE, rest: bytes = b"") -> str:
    return f"done replies={replies} rest={rest.hex()} {told} {to}"


def failed(code: int, before: str = "0500") -> str:
    return f"broken replies={before}05{code:02x}0001000000000000"


PLAIN, BOTH, USER = b"\5\1\0", b"\5\3\1\0\2", b"\5\1\2"
TO_V4 = request(1, bytes([192, 0, 2, 9]), 443)
AT_V4 = "host= address=192.0.2.9 port=443"
LONG = b".".join([b"a" * 63] * 3 + [b"b" * 61])
SOCKS = {
    PLAIN + TO_V4: done("0500", AT_V4),
    PLAIN + TO_V4 + b"early": done("0500", AT_V4, rest=b"early"),
    BOTH + user(b"") + TO_V4: done("05020100", AT_V4),
    USER + user(b"size=12", b"secret") + TO_V4: (
        done("05020100", AT_V4, "size=12 reply=0 type=-1")
    ),
    USER + user(b"reply=18446744073709551615,type=bulk,size=0") + TO_V4 + b"x": (
        done("05020100", AT_V4, f"size=0 reply={2**64 - 1} type=2", b"x")
    ),
    PLAIN + request(4, V6[:16], 1): done("0500", "host= address=2001:db8::1 port=1"),
    PLAIN + named(b"www.Example.org", 65535): (
        done("0500", "host=www.Example.org address=0.0.0.0 port=65535")
    ),
    PLAIN + named(b"a_b-c.d."): done("0500", "host=a_b-c.d. address=0.0.0.0 port=80"),
    PLAIN + named(b"1.2.3.x4"): done("0500", "host=1.2.3.x4 address=0.0.0.0 port=80"),
    PLAIN + named(b"192.0.2.9", 443): done("0500", AT_V4),
    PLAIN + named(b"::1"): done("0500", "host= address=::1 port=80"),
    PLAIN + named(LONG): done("0500", f"host={LONG.decode()} address=0.0.0.0 port=80"),
    PLAIN + named(LONG + b"."): done("0500", f"host={LONG.decode()}. address=0.0.0.0 port=80"),
    # the greeting and the user
    b"\4\1\0": "broken replies=",
    b"G": "broken replies=",
    b"\5\0": "broken replies=05ff",
    b"\5\2\1\3": "broken replies=05ff",
    USER + b"\5": "broken replies=0502",
    USER + user(b"alice"): "broken replies=05020101",
    USER + user(b"size="): "broken replies=05020101",
    USER + user(b"size=1,"): "broken replies=05020101",
    USER + user(b",size=1"): "broken replies=05020101",
    USER + user(b"size=1x"): "broken replies=05020101",
    USER + user(b"size=-1"): "broken replies=05020101",
    USER + user(b"size=18446744073709551616"): "broken replies=05020101",
    USER + user(b"type=none"): "broken replies=05020101",
    USER + user(b"type="): "broken replies=05020101",
    USER + user(b"type=bulk\0"): "broken replies=05020101",
    # requests
    PLAIN + b"\4": "broken replies=0500",
    PLAIN + request(1, b"1234", command=2): failed(7),
    PLAIN + request(1, b"1234", command=3): failed(7),
    PLAIN + request(2, b"1234"): failed(8),
    PLAIN + request(1, b"1234", rsv=1): failed(1),
    PLAIN + request(1, b"1234", port=0): failed(1),
    USER + user(b"") + request(1, b"1234", port=0): failed(1, "05020100"),
    PLAIN + named(b""): failed(4),
    PLAIN + named(b"."): failed(4),
    PLAIN + named(b"a..b"): failed(4),
    PLAIN + named(b".a"): failed(4),
    PLAIN + named(b"-a.b"): failed(4),
    PLAIN + named(b"a-.b"): failed(4),
    PLAIN + named(b"a b"): failed(4),
    PLAIN + named(b"a\0b"): failed(4),
    PLAIN + named(b"a\xc3\xa9"): failed(4),
    PLAIN + named(b"a/b"): failed(4),
    PLAIN + named(b"127.1"): failed(4),
    PLAIN + named(b"1.2.3.4.5"): failed(4),
    PLAIN + named(b"[::1]"): failed(4),
    PLAIN + named(b"fe80::1%eth0"): failed(4),
    PLAIN + named(b"a" * 64): failed(4),
    PLAIN + named(LONG + b"b"): failed(4),
    PLAIN + named(b"a" * 255): failed(4),
}


def test_socks(parse: Parse) -> None:
    answers = dict(zip(SOCKS, parse("socks", *SOCKS), strict=True))
    assert answers == {data: answer.strip() for data, answer in SOCKS.items()}


def test_socks_goes_on(parse: Parse) -> None:
    begin = USER + user(b"size=1", b"pass")
    whole = begin + named(b"example.org")
    states = ["methods"] * len(USER) + ["user"] * (len(begin) - len(USER))
    states += ["request"] * (len(whole) - len(begin))
    answers = parse("socks", *(whole[:n] for n in range(len(whole))))
    assert [answer.split()[0] for answer in answers] == states


def test_socks_longest_messages(parse: Parse) -> None:
    """With all that a client may say before it is answered."""
    methods = b"\5\xff" + bytes(range(3, 256)) + b"\0\2"
    said = methods + user(b"size=" + b"0" * 249 + b"1", b"p" * 255) + named(LONG + b".")
    told = f"host={LONG.decode()}. address=0.0.0.0 port=80"
    assert parse("socks", said) == [done("05020100", told, "size=1 reply=0 type=-1")]


def test_socks_answers(parse: Parse) -> None:
    """In the order of enum outcome, and what is none of them."""
    codes = [0, 1, 2, 5, 4, 6, 4, 1, 3, 1, 1]
    answers = [parse("answer", b"", pieces=(outcome,))[0] for outcome in range(len(codes))]
    assert answers == [f"reply=05{code:02x}0001000000000000" for code in codes]
