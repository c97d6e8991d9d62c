# SPDX-License-Identifier: GPL-2.0
"""The control socket: what it answers, to how many, and what a person is shown."""

import copy
import json
import select
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sched_tcp.tests.programs import ENVIRONMENT, FOLDER, TIMEOUT, run

SCHEMA = json.loads((FOLDER.parent / "docs/sched-tcp.schema.json").read_text())
SESSION = {
    **{"id": "0a1b", "role": "origin", "carriers": 3, "flows": 2, "sent": 1048576},
    **{"received": 117, "queued": 2000, "held": 0, "ktls": True},
}
FLOW = {
    **{"session": "0a1b", "id": 7, "from": "127.0.0.1:40000", "to": "10.0.0.1:80", "type": "web"},
    **{"opened": True, "sent": 1000, "received": 0, "queued": 512, "virtual": 1536},
    **{"size": 11240, "carrying": 8, "credit": 4194304},
}
STATUS = {
    "version": "0.1",
    "uptime": 3725.5,
    "memory": {"used": 123456, "limit": 268435456},
    "peers": [
        {
            "name": "far",
            "policy": "srpt",
            "trust": "psk",
            "sessions": [SESSION, SESSION | {"id": "ff", "role": "far", "ktls": False}],
        },
        {"name": "other", "policy": "tcp", "trust": "tunnel", "sessions": []},
    ],
    "flows": [
        FLOW,
        FLOW | {"id": 8, "size": None, "carrying": None, "to": "a\x1b[2Jb.example:443"},
        FLOW | {"id": 9, "size": 10},
    ],
}
CLIENTS = 8  # at a time


class Daemon:
    def __init__(self, program: Path, where: Path) -> None:
        self.program, self.socket, self.file = program, where / "control", where / "status.json"
        self.say(STATUS)
        self.start()

    def say(self, status: dict) -> None:
        self.file.write_text(json.dumps(status))

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.program, "-d", self.socket, self.file],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()

    def stop(self) -> str:
        """What it has logged; the sanitizers are content."""
        self.process.terminate()
        _, logged = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, logged
        assert not self.socket.exists()
        return logged

    def connect(self, text: bytes = b"") -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(self.socket))
        client.settimeout(TIMEOUT)
        client.sendall(text)
        return client

    def ask(self, line: str) -> dict:
        with self.connect(line.encode() + b"\n") as client:
            return json.loads(everything(client))


def everything(client: socket.socket) -> bytes:
    text = b""
    while more := client.recv(65536):
        text += more
    return text


@pytest.fixture
def daemon(tmp_path: Path, control_say: Path) -> Iterator[Daemon]:
    daemon = Daemon(control_say, tmp_path)
    yield daemon
    if daemon.process.poll() is None:
        daemon.stop()
    daemon.process.communicate()


def test_answers(daemon: Daemon) -> None:
    assert daemon.ask("flows") == STATUS
    assert daemon.ask("status") == {k: v for k, v in STATUS.items() if k != "flows"}
    assert daemon.ask("policy far las") == {"peer": "far", "policy": "las"}
    assert daemon.stop() == "far las\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("policy near las", "no such peer"),
        ("policy far sjf", "no such policy"),
        ("policy far", "the commands are"),
        ("policy far las las", "the commands are"),
        ("policy far las las las las", "the commands are"),
        ("", "the commands are"),
        ("statuss", "the commands are"),
        ("status flows", "the commands are"),
        ("\x00", "the commands are"),
        ("x" * 254, "the commands are"),
        ("x" * 256, "too long"),
        ("x" * 100000, "too long"),
    ],
)
def test_refused(daemon: Daemon, line: str, why: str) -> None:
    with daemon.connect() as client:
        try:
            client.sendall(line.encode() + b"\n")
            said = json.loads(everything(client))
        except (BrokenPipeError, ConnectionResetError):
            assert len(line) > 255  # which was not read to the end
        else:
            assert list(said) == ["error"] and why in said["error"]
    assert daemon.ask("status")


def test_many_lines(daemon: Daemon) -> None:
    """One is answered, whatever follows."""
    with daemon.connect(b"policy far las\npolicy far mu\nstatus\n") as client:
        said = client.recv(1)
        try:
            client.sendall(b"policy far fair\n")
        except BrokenPipeError:
            pass
        try:
            said += everything(client)
        except ConnectionResetError:  # by what was not read
            said += b""
    assert b"mu" not in said and b"fair" not in said
    assert daemon.ask("status")
    assert daemon.stop() == "far las\n"


def test_mode(daemon: Daemon) -> None:
    mode = daemon.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660


def test_slow_clients(daemon: Daemon) -> None:
    """Who does not read holds up nobody, and gets all if they read at last."""
    # More than a socket takes
    flows = [FLOW | {"id": i} for i in range(4000)]
    assert len(json.dumps(flows)) > 1 << 19
    daemon.say(STATUS | {"flows": flows})
    slow = [daemon.connect(b"flows\n") for _ in range(CLIENTS - 1)]
    for _ in range(3):
        assert len(daemon.ask("flows")["flows"]) == len(flows)
    for client in slow:
        assert len(json.loads(everything(client))["flows"]) == len(flows)
        client.close()


def test_too_many_clients(daemon: Daemon) -> None:
    """The oldest makes room."""
    clients = [daemon.connect() for _ in range(CLIENTS)]
    for i in range(3):
        assert daemon.ask("status")
        assert not select.select(clients[i + 1 :], [], [], 0)[0]
        assert clients[i].recv(1) == b""
        clients.append(daemon.connect())
        clients[i].close()
    for client in clients[3:]:
        client.close()


def test_clients_that_go(daemon: Daemon) -> None:
    for text in (b"", b"sta", b"flows\n", b"policy far las\n") * 10:
        daemon.connect(text).close()
    assert daemon.ask("status")


def test_stale_socket(daemon: Daemon) -> None:
    """What a daemon has left that was killed does not keep the next one from starting."""
    daemon.process.kill()
    daemon.process.communicate()
    assert daemon.socket.exists()
    daemon.start()
    assert daemon.ask("status")


def test_socket_in_use(daemon: Daemon) -> None:
    """It is left to who has it."""
    second = run(daemon.program, "-d", daemon.socket, daemon.file)
    assert second.returncode == 1
    assert second.stderr == (
        f'<3>control-failed path={daemon.socket} why="Address already in use"\n'
    )
    assert daemon.ask("status")


def test_no_socket(tmp_path: Path, control_say: Path) -> None:
    file = tmp_path / "control"
    file.write_text("not ours")
    failed = run(control_say, "-d", file, file)
    assert failed.returncode == 1 and "File exists" in failed.stderr
    assert file.read_text() == "not ours"
    failed = run(control_say, "-d", tmp_path / "no" / "control", file)
    assert failed.returncode == 1 and "No such file" in failed.stderr
    failed = run(control_say, "-d", tmp_path / ("x" * 108), file)
    assert failed.returncode == 1 and "too long" in failed.stderr


TABLES = """\
sched-tcp 0.1, up 1:02:05, memory 121K of 256M

PEER   POLICY  TRUST   KTLS  SESSIONS  CARRIERS  FLOWS  SENT  RECEIVED  QUEUED  HELD
far    srpt    psk     some         2         6      4  2.0M       234    3.9K     0
other  tcp     tunnel  -            0         0      0     0         0       0     0
"""
FLOWS = """
FROM             TO                  TYPE  FLOW  SENT  RECEIVED  QUEUED  VIRTUAL  LEFT  CARRIES\
  CREDIT
127.0.0.1:40000  10.0.0.1:80         web      7  1.0K         0     512     1.5K   10K        8\
    4.0M
127.0.0.1:40000  a?[2Jb.example:443  web      8  1.0K         0     512     1.5K     -        -\
    4.0M
127.0.0.1:40000  10.0.0.1:80         web      9  1.0K         0     512     1.5K     0        8\
    4.0M
"""


def test_tables(daemon: Daemon) -> None:
    for line, shown in (("status", TABLES), ("flows", TABLES + FLOWS)):
        done = run(daemon.program, daemon.socket, line)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == shown
    done = run(daemon.program, daemon.socket, "policy far las")
    assert (done.returncode, done.stdout) == (0, "far: las from now on\n")


def test_ranks(daemon: Daemon) -> None:
    """They are shown if the daemon tells them."""
    daemon.say(STATUS | {"flows": [FLOW | {"rank": 10240}, FLOW | {"rank": None}]})
    rows = run(daemon.program, daemon.socket, "flows").stdout.splitlines()[-3:]
    assert [row.split()[-1] for row in rows] == ["RANK", "10240", "-"]


def test_json(daemon: Daemon) -> None:
    done = run(daemon.program, "-j", daemon.socket, "flows")
    assert done.returncode == 0 and json.loads(done.stdout) == STATUS


def test_client_is_told_why(daemon: Daemon, tmp_path: Path) -> None:
    for more in [], ["-j"]:
        done = run(daemon.program, *more, daemon.socket, "policy near las")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "sched-tcp: there is no such peer\n"
    done = run(daemon.program, tmp_path / "none", "status")
    assert done.returncode == 1 and "does the daemon run" in done.stderr
    done = run(daemon.program, daemon.socket, "x" * 300)
    assert done.returncode == 1 and "too long" in done.stderr


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]\n", b"null\n", b'{"peers": 1}\n', b"\xff\n", b"{}\n"]
)
def test_client_believes_nothing(control_say: Path, tmp_path: Path, text: bytes) -> None:
    """Whatever answers, it ends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "control"))
        server.listen()
        client = subprocess.Popen(
            [control_say, tmp_path / "control", "flows"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            text=True,
        )
        with server.accept()[0] as connection:
            assert connection.recv(100) == b"flows\n"
            connection.sendall(text)
        _, told = client.communicate(timeout=TIMEOUT)
        assert client.returncode in (0, 1) and "anitizer" not in told
        if not text.startswith(b"{") or text == b"{":
            assert told == "sched-tcp: the daemon has not answered to the end\n"


def test_schema() -> None:
    """It has what is answered here, as the daemon's own test asks of what it answers."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    valid = jsonschema.Draft202012Validator(SCHEMA)
    valid.validate(STATUS)
    assert set(SCHEMA["$defs"]["session"]["properties"]) == set(SESSION)
    assert set(SCHEMA["$defs"]["flow"]["properties"]) == set(FLOW) | {"rank"}
    for part, key in (("session", "sent"), ("flow", "virtual")):
        wrong = copy.deepcopy(STATUS)
        here = wrong["peers"][0]["sessions"][0] if part == "session" else wrong["flows"][0]
        here[key] = -1
        assert not valid.is_valid(wrong)
        del here[key]
        assert not valid.is_valid(wrong)
