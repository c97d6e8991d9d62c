# SPDX-License-Identifier: GPL-2.0
"""The programs that the tests run, built when they are wanted."""

import functools
import os
import socket
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent
TREE = FOLDER.parent
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
TIMEOUT = 300  # seconds, if something hangs
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def _made(name: str, source: str = "") -> str:
    """The path of a program. It is built first, unless this is a guest (vm/daemon.py)."""
    if "SF_MODE" in os.environ:
        return f"/usr/sbin/{name}"
    program = TREE / "build/sched_tcp" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    words = ["make", "-s", "-C", str(FOLDER), str(program), f"PROGRAM={program}"]
    subprocess.run([*words, *([f"SOURCES={source}"] if source else [])], check=True)
    return str(program)


@functools.cache
def churn() -> str:
    return _made("churn", "tests/churn.c")


@functools.cache
def certify() -> str:
    return _made("certify", "tests/certify.c")


@functools.cache
def daemon() -> str:
    """The daemon sched-tcp. SCHED_TCP names another one, for example one with sanitizers."""
    return os.environ.get("SCHED_TCP") or _made("sched-tcp")


def sanitized() -> bool:
    """Is it the daemon that has sanitizers?"""
    return b"__asan_init" in Path(os.environ.get("SCHED_TCP", os.devnull)).read_bytes()


def build(to: Path, sources: str, *, wrap: str = "", flags: str = SANITIZED) -> Path:
    """Parts of the daemon, with what tells of them; of what is wrapped, __wrap_NAME is called."""
    wrapped = " ".join(f"-Wl,--wrap={name}" for name in wrap.split())
    command = ["make", "-s", "-C", str(FOLDER), str(to), f"PROGRAM={to}", f"SOURCES={sources}"]
    command += [f"CFLAGS=-g -O1 {flags}", f"LDFLAGS={wrapped}"]
    subprocess.run(command, check=True, env=ENVIRONMENT)
    return to


def run(*command: str | Path, text: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=ENVIRONMENT, timeout=TIMEOUT
    )


def free_ports(n: int) -> list[int]:
    """Ports of this host that are free for now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
