# SPDX-License-Identifier: GPL-2.0
"""Requests and packets made at random, a few of them: selftests/generated, of which a guest's job
makes as many as are wanted.
"""

import re

import pytest

from selftests.guest import SLOW
from selftests.lib.command import run
from selftests.lib.options import KINDS, TOP
from selftests.lib.refusals import quiet_log

RUN = str(TOP / "selftests/generated/run")
FEWER = 8 if SLOW else 1


def numbers(line: str) -> dict[str, int]:
    """What is told of so many"""
    return {what: int(number) for number, what in re.findall(r"(\d+) ([a-z]+)", line)}


@pytest.mark.debug_kernel
def test_messages() -> None:
    with quiet_log():
        *_, by_mutations, refused, last = run(
            f"{RUN} messages --count={8000 // FEWER}"
        ).splitlines()
    told = numbers(last)
    assert told["accepted"] > told["sent"] / 4, last
    for error in ("EINVAL", "ENOENT", "EEXIST", "EOPNOTSUPP", "ERANGE"):
        assert f" {error} " in refused, refused
    assert all(int(n) for n in re.findall(r"times (\d+) of", by_mutations)), by_mutations


@pytest.mark.debug_kernel
def test_packets() -> None:
    """The options are drawn, so each kind has its turn twice."""
    count = 80000 // FEWER
    with quiet_log():
        line = run(f"{RUN} packets --count={count} --each={count // len(KINDS) // 2}")
    told = numbers(line.splitlines()[-1])
    assert told["tried"] == count and told["rounds"] == 2 * len(KINDS), line
    for what in ("put", "refused", "split", "out", "dropped"):
        assert told[what], line
