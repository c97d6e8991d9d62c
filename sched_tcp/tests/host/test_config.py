# SPDX-License-Identifier: GPL-2.0
"""The configuration file: what is read of it, and what is refused, with its line."""

import json
import os
import random
import re
from pathlib import Path

import pytest

from sched_tcp.tests.programs import FOLDER, run

KEY = bytes(range(1, 33))
LEAST = """listen = {"[::]:4343"}
peer far {
    tunnel = {"10.0.0.0/8"}
}
"""
ALL = """# all options
listen = {"0.0.0.0:4343", "[2001:db8::1]:4344"}
user = sched-tcp
control = "/run/other"          // where
memory = 64M   flows = 20   handshakes = 3
window = 128K
queue = 1048576
timeout = 5
unsent = 16K
types = {interactive, web, /* and
the rest */ bulk}
peer far {
    address = "192.0.2.7:4343"
    psk = "KEY"
    policy = las
    allow = {"10.0.0.0/8:80-443", "[2001:db8::]/32:22", "*:443", "[::1]", "*", # all
             "192.0.2.1:*"}
    keep-source = yes
}
peer other {
    address = "[2001:db8::7]:4343"
    certificate = "CERT"
    key = "KEY"
    authority = "CERT"
    name = "other.example"
    policy = mu
}
peer third {
    tunnel = {"10.0.0.0/8", "[fd00::]/8"}
    policy = tcp
    keep-source = no
}
forward {
    listen = "127.0.0.1:8080"
    to = "10.0.0.1:80"
    peer = far
    type = web
    proxy-protocol = yes
}
socks { listen = "127.0.0.1:1080" peer = other }
tproxy { listen = "0.0.0.0:7070" peer = far type = interactive }
"""
# An option, its least and most, its default, and whether it has a unit
NUMBERS = [
    ("memory", "1M", "1024G", 256 << 20, True),
    ("flows", "1", "1000000", 10000, False),
    ("handshakes", "1", "65536", 64, False),
    ("window", "64K", "1G", 4 << 20, True),
    ("queue", "64K", "1G", 32 << 20, True),
    ("timeout", "1", "3600", 10, False),
    ("unsent", "0", "16M", 0, True),
]


class Files:
    """A folder with a key and a certificate, as far as anybody looks at it."""

    def __init__(self, where: Path, program: Path) -> None:
        self.where, self.program = where, program
        self.number = 0
        self.key = self.file("key", KEY.hex() + "\n", 0o600)
        self.cert = self.file("cert", "a certificate", 0o644)

    def file(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        path = self.where / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def conf(self, text: str | bytes) -> Path:
        self.number += 1
        if isinstance(text, str):
            text = text.replace('"KEY"', f'"{self.key}"').replace('"CERT"', f'"{self.cert}"')
        return self.file(f"{self.number}.conf", text)

    def read(self, text: str | bytes) -> dict:
        done = run(self.program, self.conf(text))
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert (said := json.loads(done.stdout))
        return said

    def refused(self, text: str | bytes) -> str:
        """The line that says so, which is the only one"""
        done = run(self.program, path := self.conf(text))
        assert (done.returncode, done.stdout) == (0, "null\n"), done.stderr
        assert done.stderr.startswith(f"<3>config-refused file={path} line=")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr


@pytest.fixture
def files(tmp_path: Path, config_say: Path) -> Files:
    return Files(tmp_path, config_say)


def test_all(files: Files) -> None:
    said = files.read(ALL)
    far, other, third = said.pop("peers")
    forward = said["listeners"][2]
    assert [each["address"] for each in said["listeners"][:2]] == [
        "0.0.0.0:4343",
        "[2001:db8::1]:4344",
    ]
    assert forward == {
        "how": 1,
        "address": "127.0.0.1:8080",
        "peer": "far",
        "to": "10.0.0.1:80",
        "proxied": True,
        "type": 1,
    }
    assert [each["type"] for each in said["listeners"][3:]] == [2, 0]
    assert [each["how"] for each in said.pop("listeners")] == [0, 0, 1, 2, 3]
    assert said == {
        "types": ["interactive", "web", "bulk"],
        "user": "sched-tcp",
        "control": "/run/other",
        "memory": 64 << 20,
        "flows": 20,
        "handshakes": 3,
        "window": 128 << 10,
        "queue": 1 << 20,
        "timeout": 5,
        "unsent": 16 << 10,
    }
    assert far["address"] == "192.0.2.7:4343" and far["psk"] == KEY.hex() and far["trust"] == 0
    assert far["policy"] == "las" and far["keep-source"]
    assert far["allow"] == [
        ["10.0.0.0", 8, 80, 443],
        ["2001:db8::", 32, 22, 22],
        ["*", 0, 443, 443],
        ["::1", 128, 1, 65535],
        ["*", 0, 1, 65535],
        ["192.0.2.1", 32, 1, 65535],
    ]
    assert other["trust"] == 1 and other["subject"] == "other.example"
    assert (other["certificate"], other["key"]) == (str(files.cert), str(files.key))
    assert third["trust"] == 2 and not third["address"] and not third["keep-source"]
    assert third["within"] == [["10.0.0.0", 8, 0, 65535], ["fd00::", 8, 0, 65535]]


def test_defaults(files: Files) -> None:
    said = files.read(LEAST)
    assert {name: said[name] for name, *_ in NUMBERS} == {n[0]: n[3] for n in NUMBERS}
    assert said["user"] is None and said["control"] == "/run/sched-tcp/control"
    assert said["types"] == ["default"]
    assert said["peers"][0]["policy"] == "srpt" and said["peers"][0]["allow"] == []


def bytes_of(text: str) -> int:
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


@pytest.mark.parametrize(("name", "least", "most", "default", "unit"), NUMBERS)
def test_range(files: Files, name: str, least: str, most: str, default: int, unit: bool) -> None:
    enough = "" if name == "memory" else "memory = 1G\n"
    for good in (least, most):
        assert files.read(f"{enough}{name} = {good}\n{LEAST}")[name] == bytes_of(good)
    bad = [str(bytes_of(most) + 1), "-1", "", "x", "1x", "0x10", "1.5", "1 M", "9" * 30, "9" * 19]
    bad += [str(bytes_of(least) - 1)] if least != "0" else []
    bad += ["17179869184G", "1m", "KM", "1KK"] if unit else ["1K"]
    for text in bad:
        line = files.refused(f'{enough}\n\n{name} = "{text}"\n{LEAST}')
        assert f" line={4 if enough else 3} option={name} " in line, text
        assert f"is not between {least} and {most}" in line, text


def test_memory_bounds_what_a_flow_has(files: Files) -> None:
    said = files.read("memory = 2M\n" + LEAST)
    assert said["window"] == said["queue"] == 2 << 20
    assert files.read("memory = 2M window = 2M queue = 64K\n" + LEAST)["queue"] == 64 << 10
    for name in "window", "queue":
        line = files.refused(f"memory = 2M\n{name} = 3M\n" + LEAST)
        assert f"line=2 option={name} " in line and "raise memory" in line


TYPES = ", ".join(f"t{i}" for i in range(257))
FORWARD = 'forward {\n  listen = "[::1]:80"\n  to = "10.0.0.1:80"\n  peer = far\n}\n'
FAR = LEAST.replace("tunnel", 'address = "10.0.0.1:4343"\n    tunnel')
# What is wrong, in which line, of which option, and a part of the sentence
REFUSED = [
    ("", "-", "-", "empty"),
    ("# nothing\n", "-", "peer", "there is none"),
    (LEAST.replace("listen", "listn"), 1, "-", "no such option 'listn'"),
    (LEAST.replace("tunnel", "tunel"), 3, "-", "no such option 'tunel'"),
    ("flows\n" + LEAST, 2, "-", "missing equal sign"),
    ("flows = {1}\n" + LEAST, 1, "-", "unexpected token"),
    ("flows = 1\nflows = 1\n" + LEAST, 2, "flows", "twice"),
    ('listen = "[::]:80"\n' + LEAST, 2, "listen", "twice"),
    (LEAST + LEAST[LEAST.index("peer") :], 5, "-", "duplicate title 'far'"),
    (LEAST[:-2], 4, "-", "before a { is closed"),
    (LEAST[:-4], 3, "-", "before a { is closed"),
    (LEAST + "flows =", 5, "-", "premature end of file"),
    (LEAST + "}\n", 5, "-", "closing brace"),
    (LEAST.replace("far", ""), 2, "-", "missing title"),
    (LEAST.replace("far", '"a b"'), 4, "peer", "letters"),
    (LEAST.replace("far", "x" * 64), 4, "peer", "1 to 63"),
    (LEAST.replace("far", '""'), 4, "peer", "1 to 63"),
    # What libconfuse would pass over
    ("flows = 10*\n" + LEAST, 1, "-", "quotes"),
    ("flows = 10;\n" + LEAST, 1, "flows", "10; is not between"),
    ('user = "a\n' + LEAST, 1, "-", "has to end with"),
    ("user = 'a\n" + LEAST, 1, "-", "has to end with"),
    (LEAST + "\n/* a\n", 6, "-", "has to end with */"),
    ('user = "${HOME}"\n' + LEAST, 1, "-", "no meaning"),
    ("user = ${HOME}\n" + LEAST, 1, "-", "no meaning"),
    ('user = "a\\n"\n' + LEAST, 1, "-", "no meaning"),
    ("user = a\\n\n" + LEAST, 1, "-", "no meaning"),
    ("user = a//b\n" + LEAST, 1, "-", "quotes"),
    ("user = a/*b*/\n" + LEAST, 1, "-", "quotes"),
    ("\n(user) = a\n" + LEAST, 2, "-", "quotes"),
    (LEAST + 'peer|tunnel = {"11.0.0.0/8"}', 5, "-", "no meaning"),
    (LEAST + '"peer|tunnel" = {"11.0.0.0/8"}', 5, "-", "no meaning"),
    # Addresses
    ('listen = "4343"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "localhost:80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "::1:80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "[::1]"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "[::1:80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "[127.0.0.1]:80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "127.0.0.1:0"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "127.0.0.1:65536"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "127.0.0.1:+80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "127.0.0.1:80 "\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "127.1:80"\n' + LEAST[22:], 1, "listen", "no address"),
    ('listen = "[::ffff:127.0.0.1]:80"\n' + LEAST[22:], 1, "listen", "IPv4"),
    ('listen = {"[::]:1",\n"[::]:2",\n"[::]:1"}\n' + LEAST[22:], 3, "listen", "twice"),
    (FAR.replace("10.0.0.1", "11.0.0.1"), 3, "address", "not one of"),
    (FAR.replace("10.0.0.1", "0.0.0.0"), 3, "address", "nobody"),
    (LEAST[22:], 4, "peer", "has no address"),
    # Trust
    (LEAST.replace('tunnel = {"10.0.0.0/8"}', ""), 4, "peer", "has none of psk"),
    (LEAST.replace("}\n}", '}\npsk = "KEY"\n}'), 5, "peer", "has several of psk"),
    (LEAST.replace("}\n}", '}\nname = "x"\n}'), 5, "peer", "has several of psk"),
    (LEAST.replace("10.0.0.0/8", "10.0.0.1/8"), 3, "tunnel", "has to be 0"),
    (LEAST.replace("10.0.0.0/8", "10.0.0.0/33"), 3, "tunnel", "length"),
    (LEAST.replace("10.0.0.0/8", "10.0.0.0/"), 3, "tunnel", "length"),
    (LEAST.replace("10.0.0.0/8", "10.0.0.0/8:80"), 3, "tunnel", "ports are not asked"),
    (LEAST.replace("10.0.0.0/8", "0.0.0.0/0"), 3, "tunnel", "everybody"),
    (LEAST.replace("10.0.0.0/8", "*"), 3, "tunnel", "no address"),
    (LEAST + 'peer b {\ntunnel = {"fd::1",\n}\n}', 6, "tunnel", "no address"),
    (LEAST + 'peer b {\ntunnel = {"11.0.0.0/8",\n"10.1.0.0/16"}\n}', 7, "tunnel", "peer far"),
    (LEAST + 'peer b {\ntunnel = "0.0.0.0/1"\n}', 6, "tunnel", "peer far"),
    ('listen = "[::]:1" peer a {\npsk = "key"\n}', 2, "psk", "whole path"),
    ('listen = "[::]:1" peer a {\npsk = "/nowhere"\n}', 2, "psk", "No such file"),
    ('listen = "[::]:1" peer a {\npsk = "/tmp"\n}', 2, "psk", "no regular file"),
    ('listen = "[::]:1" peer a {\npsk = "/dev/zero"\n}', 2, "psk", "no regular file"),
    ('listen = "[::]:1" peer a {\npsk = "CERT"\n}', 2, "psk", "others than its owner"),
    ('listen = "[::]:1" peer a {\nkey = "KEY"\n}', 3, "certificate", "go together"),
    ('listen = "[::]:1" peer a {\ncertificate = "CERT"\n}', 3, "key", "go together"),
    ('listen = "[::]:1" peer a {\ncertificate = "CERT" key = "CERT"\n}', 2, "key", "others than"),
    (
        'listen = "[::]:1" peer a {\ncertificate = "CERT" key = "KEY" authority = "CERT"\n}',
        3,
        "name",
        "DNS name",
    ),
    # What is allowed
    (LEAST.replace("}\n}", '}\nallow = "10.0.0.1:80-79"\n}'), 4, "allow", "no port"),
    (LEAST.replace("}\n}", '}\nallow = "10.0.0.1:0-79"\n}'), 4, "allow", "no port"),
    (LEAST.replace("}\n}", '}\nallow = "10.0.0.1:"\n}'), 4, "allow", "no port"),
    (LEAST.replace("}\n}", '}\nallow = "10.0.0.1:1-2-3"\n}'), 4, "allow", "no port"),
    (LEAST.replace("}\n}", '}\nallow = "10.0.0.1/32x"\n}'), 4, "allow", "no port"),
    (LEAST.replace("}\n}", '}\nallow = "example.org:80"\n}'), 4, "allow", "no address"),
    (LEAST.replace("}\n}", '}\nallow = "2001:db8::1"\n}'), 4, "allow", "no address"),
    (LEAST.replace("}\n}", '}\nallow = ""\n}'), 4, "allow", "no address"),
    (LEAST.replace("}\n}", '}\nallow = "[::ffff:10.0.0.1]:80"\n}'), 4, "allow", "IPv4"),
    (LEAST.replace("}\n}", '}\nallow = {"*",\n"*a"}\n}'), 5, "allow", "no port"),
    # The rest
    (LEAST.replace("}\n}", "}\npolicy = sjf\n}"), 4, "policy", "tcp, srpt, las, fair, mu"),
    (LEAST.replace("}\n}", "}\nkeep-source = true\n}"), 4, "keep-source", "yes nor no"),
    (f"types = {{{TYPES}}}\n" + LEAST, 1, "types", "more than 256"),
    ("types = {a,\nb,\na}\n" + LEAST, 3, "types", "twice"),
    ('types = {a,\n"b,c"}\n' + LEAST, 2, "types", "letters"),
    ("\ncontrol = run/control\n" + LEAST, 2, "control", "begins with /"),
    (f"control = /{'x' * 107}\n" + LEAST, 1, "control", "at most 107"),
    ("user = a:b\n" + LEAST, 1, "user", "letters"),
    (FAR[22:], "-", "listen", "nothing would ever come"),
    (FAR + FORWARD.replace("far", "fra"), 9, "peer", "no peer fra"),
    (LEAST + FORWARD, 8, "peer", "has no address"),
    (FAR + FORWARD.replace("  peer = far\n", ""), 9, "peer", "has to have it"),
    (FAR + FORWARD.replace('  to = "10.0.0.1:80"\n', ""), 9, "to", "has to have it"),
    (FAR + FORWARD.replace("10.0.0.1", "0.0.0.0"), 8, "to", "nobody"),
    (FAR + FORWARD.replace('"[::1]:80"', '"[::]:4343"'), 7, "listen", "twice"),
    (FAR + FORWARD.replace("peer =", "type = web peer ="), 9, "type", "none of types"),
    (FAR + FORWARD.replace("peer =", "proxy-protocol = 2 peer ="), 9, "proxy-protocol", "yes nor"),
    (FAR + "socks { peer = far }", 6, "listen", "has to have it"),
    (FAR + FORWARD.replace("forward", "socks"), 8, "-", "no such option 'to'"),
    (b'user = "a\x01"\n', 1, "-", "no meaning"),
    (b"\0", "-", "-", "no text"),
    (b"#" * (1 << 18) + b"#", "-", "-", "longer than"),
    (b"user = \xff\x01\n", 1, "-", "control characters"),
]


@pytest.mark.parametrize(("text", "line", "option", "why"), REFUSED)
def test_refused(files: Files, text: str | bytes, line: int | str, option: str, why: str) -> None:
    said = files.refused(text)
    assert f" line={line} option={option} why=" in said and why in said, said


def test_next_is_read_anew(files: Files) -> None:
    """What was wrong with one file does not change what the next one says."""
    good = files.conf(ALL)
    paths = [good]
    for text, *_ in REFUSED:
        paths += [files.conf(text), good]
    done = run(files.program, *paths)
    said = done.stdout.splitlines()
    assert said[1::2] == ["null"] * len(REFUSED)
    assert set(said[::2]) == {said[0]} != {"null"}


def test_no_file(files: Files, tmp_path: Path) -> None:
    """None, or one that is none: nothing waits for it, nor ends by it."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, why in (
        (tmp_path / "missing", "No such file"),
        (tmp_path, "no regular file"),
        (fifo, "no regular file"),
        (Path("/dev/zero"), "no regular file"),
    ):
        done = run(files.program, path)
        assert done.stdout == "null\n" and why in done.stderr


GOOD_KEYS = [KEY[:16], KEY, KEY + KEY, b"\n" + KEY, KEY.hex().encode()[:32]]
GOOD_KEYS += [KEY.hex().upper().encode() + b" \r\n\n", KEY.hex().encode()]
BAD_KEYS = [b"", b"\n", KEY[:15], KEY + KEY + b"x", KEY.hex().encode()[:30], b"\0" * 1000]
BAD_KEYS += [KEY.hex().encode() * 2 + b"00", KEY.hex().encode() * 9, KEY.hex().encode() + b"0"]
BAD_KEYS += [b"a sentence that somebody knows by heart\n"]


@pytest.mark.parametrize("key", GOOD_KEYS + BAD_KEYS)
def test_key(files: Files, key: bytes) -> None:
    path = files.file("some", key, 0o600)
    text = f'listen = "[::]:1" peer far {{\npsk = "{path}"\n}}'
    if key in BAD_KEYS:
        assert f' line=2 option=psk why="{path} ' in (line := files.refused(text))
        assert key.decode("latin1").strip() not in line or not key.strip()
        return
    try:
        meant = bytes.fromhex(key.decode())
    except ValueError:
        meant = key
    assert files.read(text)["peers"][0]["psk"] == meant.hex()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o700, 0o400])
def test_key_mode(files: Files, mode: int) -> None:
    files.key.chmod(mode)
    text = 'listen = "[::]:1" peer far { psk = "KEY" }'
    if mode & 0o77:
        assert "chmod 600" in files.refused(text)
    else:
        assert files.read(text)


MAY = [
    ("10.0.0.0/8:80-443", "10.1.2.3+80 10.255.255.255+443", "10.1.2.3+79 10.1.2.3+444 11.0.0.0+80"),
    ("10.128.0.0/9", "10.128.0.1+1 10.255.0.1+65535", "10.127.0.1+1 10.128.0.1+0"),
    ("192.0.2.1", "192.0.2.1+1", "192.0.2.0+1 192.0.2.3+1"),
    ("0.0.0.0/0:22", "1.2.3.4+22 ::ffff:1.2.3.4+22", "::1+22 ::+22"),
    ("[2001:db8::]/33:22", "2001:db8:1::+22 2001:db8:7fff::1+22", "2001:db8:8000::+22 ::1+22"),
    ("[::]/0:22", "::1+22 2001:db8::1+22", "10.0.0.1+22 ::ffff:10.0.0.1+22"),
    ("[::1]", "::1+9", "::2+9 127.0.0.1+9 ::ffff:0.0.0.1+9"),
    ("*:443", "::1+443 10.0.0.1+443 ::ffff:10.0.0.1+443", "::1+442 10.0.0.1+0"),
    ("10.0.0.0/8", "::ffff:10.0.0.1+80", "::10.0.0.1+80 64:ff9b::10.0.0.1+80"),
]


@pytest.mark.parametrize(("allow", "yes", "no"), MAY)
def test_allowed(files: Files, allow: str, yes: str, no: str) -> None:
    conf = files.conf(LEAST.replace("}\n}", f'}}\nallow = {{"1.1.1.1:1", "{allow}"}}\n}}'))
    done = run(files.program, "-a", conf, *yes.split(), *no.split())
    assert done.stdout.split() == ["yes"] * len(yes.split()) + ["no"] * len(no.split())


def test_nothing_is_allowed_unless_told(files: Files) -> None:
    assert run(files.program, "-a", files.conf(LEAST), "127.0.0.1+80").stdout == "no\n"


def test_no_memory(files: Files) -> None:
    """Whichever allocation of ours fails, it is refused with a line, and all is given back."""
    done = run(files.program, "-m", files.conf(ALL))
    assert done.returncode == 0, done.stderr
    assert 10 < int(done.stdout) == done.stderr.count("no memory is left") <= 20


def mutated(text: bytes, chance: random.Random) -> bytes:
    """With some bytes changed, left out, doubled, or moved; or cut off"""
    data = bytearray(text)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        piece = data[at : at + chance.choice((1, 1, 2, 8, 40))]
        to = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at:at] = chance.choice(b"\"'{}=,+#/*()\\$|\n\r\t 09K-.:[]").to_bytes()
            case 2:
                del data[at : at + len(piece)]
            case 3:
                data[to:to] = piece
            case 4:
                data[at:at] = chance.choice((b"/*", b"*/", b"${HOME}", b"//", b"+=", b"9" * 30))
            case 5 if not chance.randrange(8):
                del data[at:]
    return bytes(data)


def test_mutated(files: Files) -> None:
    """Nothing that is in a file ends the reader; what is refused is said once each."""
    chance = random.Random(1)
    text = files.conf(ALL).read_bytes()
    paths = [files.conf(mutated(text, chance)) for _ in range(3000)]
    read = 0
    for first in range(0, len(paths), 100):
        done = run(files.program, *paths[first : first + 100])
        assert done.returncode == 0, done.stderr[-3000:]
        said = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(said) == 100
        read += sum(each is not None for each in said)
        told = len(re.findall("^<3>config-refused ", done.stderr, re.M))
        told += sum(map(int, re.findall("^<3>lines-withheld .* lines=([0-9]+)", done.stderr, re.M)))
        assert told <= sum(each is None for each in said)
    assert 30 < read < 2970


@pytest.mark.parametrize("path", sorted(FOLDER.glob("examples/*.conf")), ids=lambda path: path.stem)
def test_examples(files: Files, path: Path) -> None:
    text, n = re.subn(r'"/etc/sched-tcp/\w+\.key"', '"KEY"', path.read_text())
    assert files.read(text)["peers"] and n == ("tunnel" not in path.name)
