# SPDX-License-Identifier: GPL-2.0
"""Does churn, by which the pair is judged, find what it is to find?"""

import json
import socket
import subprocess
import sys

import pytest

from sched_tcp.tests.faulty_relay import FAULTS
from sched_tcp.tests.programs import HERE as TESTS
from sched_tcp.tests.programs import churn, free_ports

pytestmark = pytest.mark.one_kernel

RELAY = TESTS / "faulty_relay.py"


def counts(
    *options: str, via: int | None = None, listens: int | None = None
) -> tuple[int, dict[str, int], str]:
    """Its exit status, what it has counted, and what it describes."""
    port = listens or free_ports(1)[0]
    done = subprocess.run(
        [churn(), "--listen", f"127.0.0.1:{port}", "--route", f"plain=127.0.0.1:{via or port}"]
        + ["--largest", "200000", "--at-once", "300", *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def relayed(fault: str, *options: str) -> tuple[int, dict[str, int], str]:
    """The same by way of a relay with this fault."""
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        (port,) = free_ports(1)  # which is not the listener's, then
        words = [sys.executable, RELAY, str(listener.fileno()), str(port), fault]
        relay = subprocess.Popen(words, pass_fds=[listener.fileno()])
        try:
            return counts(*options, via=listener.getsockname()[1], listens=port)
        finally:
            relay.kill()
            relay.wait()


def good(what: dict[str, int], connections: int) -> bool:
    faults = sum(what[name] for name in ("broken", "wrong", "early", "hang"))
    return not faults and what["complete"] + what["reset"] == connections


@pytest.mark.parametrize("seed", range(3))
def test_nothing_between(seed: int) -> None:
    status, what, told = counts("--connections", "300", "--seed", str(seed))
    assert status == 0, told
    assert good(what, 300) and what["reset"] > 15 and what["complete"] > 150


def test_resets() -> None:
    status, what, told = counts("--connections", "300", "--resets")
    assert status == 0, told
    assert good(what, 300) and what["reset"] > 150


def test_good_relay() -> None:
    status, what, told = relayed("none", "--connections", "300")
    assert status == 0, told
    assert good(what, 300) and what["reset"] > 15


def test_nobody_listens() -> None:
    """All are refused, and that is no success."""
    port, via = free_ports(2)
    status, what, _ = counts("--connections", "20", via=via, listens=port)
    assert status == 1 and what["broken"] == what["refused"] == 20


def test_only() -> None:
    status, what, _ = counts("--connections", "100", "--only", "37")
    assert status == 0 and what["connections"] == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str) -> None:
    """Each is found, as what it is, and fails."""
    status, what, told = relayed(fault, "--connections", "300", "--timeout", "10")
    assert status == 1, told
    assert what[FAULTS[fault]] > 1, told
    if FAULTS[fault] == "wrong":
        assert good(what | {FAULTS[fault]: 0}, 300 - what[FAULTS[fault]]), told
    assert "connection " in told


@pytest.mark.long
def test_allow_broken() -> None:
    """What is reset counts, and does not fail; all else does."""
    status, what, told = relayed("reset", "--connections", "300", "--allow-broken")
    assert status == 0 and what["broken"] > 3, told
    for fault in ("byte", "early", "stall"):
        status, what, told = relayed(
            fault, "--connections", "300", "--allow-broken", "--timeout", "10"
        )
        assert status == 1 and what[FAULTS[fault]] > 3, told
