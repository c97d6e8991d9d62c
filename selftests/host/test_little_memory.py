# SPDX-License-Identifier: GPL-2.0
"""What the kinds do on a router of 64 MiB, a guest of which little_memory.sh is the job."""

import re
from dataclasses import replace
from typing import Any

import pytest

from selftests.lib.options import KINDS
from vm.build import CHECKOUT, prepare
from vm.guest import Guest, Result
from vm.kernels import NATIVE
from vm.machine import VIRTUAL, Machine, execute

MIB = 64
JOB = str(CHECKOUT / "selftests/host/little_memory.sh")


def with_little(machine: Machine, *rest: Any, **named: Any) -> tuple[str, str]:
    command = [re.sub(r"^mem=.*", f"mem={MIB}M", word) for word in machine.command]
    assert f"mem={MIB}M" in command
    return execute(replace(machine, command=command), *rest, **named)


@pytest.fixture(scope="module")
def result() -> Result:
    guest = Guest(
        prepare(NATIVE),
        mode=VIRTUAL,
        name="little-memory",
        job=JOB,
        args=KINDS,
        needs=["packets"],
        timeout=900,
        executor=with_little,
    )
    return guest.run()


def lines(result: Result, kind: str) -> list[str]:
    said = result.data_path.read_text().splitlines()
    return [line.removeprefix(f"{kind} ") for line in said if line.startswith(f"{kind} ")]


def test_nothing_is_killed(result: Result) -> None:
    console = result.console_path.read_text(errors="replace")
    assert (result.status, result.error) == (0, ""), console[-3000:]
    assert not re.search("Out of memory|oom-kill|allocation failure", console)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_fit(result: Result, kind: str) -> None:
    """The qdiscs are there, and what they and their packets take is bounded."""
    words = lines(result, kind)[0].split()
    told = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    assert told["added"] == 8
    assert told["taken"] < 8 * 800
    assert told["sent"] + told["dropped"] + told["qlen"] > 90000
    assert told["peak"] < 8 << 20, told


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_fit_is_refused(result: Result, kind: str) -> None:
    _, large, after = lines(result, kind)
    assert "Cannot allocate memory" in large
    assert after == "after 8"
