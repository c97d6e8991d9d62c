# SPDX-License-Identifier: GPL-2.0
"""`make test-all`: every test on every kernel and processor, with other random numbers each time.

It goes on after a failure and writes build/test-all/report.md. Run it before a release, and before
a change of kernel code is called done.
"""

import os
import random
import time
from collections.abc import Sequence

from vm.kernels import DEBUG, KCSAN, NATIVE, SANITIZED

from . import kernels
from .gate import NOT_HERE, expand, plan
from .tasks import BUILD, Command, Host, Outcome, Task

KERNELS = (DEBUG, SANITIZED, NATIVE, "6.1", "6.12", "7.2", KCSAN, "s390x", "armhf", "mips")
# Commands beside the tests
COMMANDS = {
    "check": "make -s check",
    "packages": "make -s test-deb",
    "upstream": "make -s upstream-check",
    "fuzz": "make -s fuzz TIME=120",
    "fuzz coverage": "make -s fuzz-coverage",
    "fuzz seeded bugs": "make -s fuzz-seeded",
    "fuzz link": "make -s fuzz-link SEQUENCES=100000",
    "fuzz sched-tcp": "make -s -C sched_tcp/tests/fuzz run TIME=60",
    "soak": "make -s soak PACKETS=20000000 SEED={seed}",
    # With the seeds of the figures: on a run so short a paper's bound may fail with another seed.
    "figures": "make -s figures QUICK=1",
    "instructions": "make -s bench-check",
}
SEEDS = 10**6
REPORT = BUILD / "test-all/report.md"


def tasks(seed: int) -> list[Task]:
    made: list[Task] = []
    for kernel in KERNELS:
        made += kernels.tasks(kernel, seed=seed)
    for where, patterns in plan().host.items():
        made.append(Host(where, [*expand(patterns), *NOT_HERE, "--whole=."], seed))
    for where, command in COMMANDS.items():
        made.append(Command(where, command.format(seed=seed)))
    return made


def draw() -> int:
    return random.SystemRandom().randrange(1, SEEDS)


def report(outcomes: Sequence[Outcome], seed: int, began: float, flaky: Sequence[dict]) -> str:
    """The text of build/test-all/report.md"""
    failed = sum(len(outcome.failures) for outcome in outcomes)
    passed = sum(outcome.verdicts.passed for outcome in outcomes)
    minutes = (time.monotonic() - began) / 60
    lines = [
        "# make test-all",
        "",
        f"Seed {seed}, {minutes:.0f} minutes on {os.cpu_count()} processors: {passed} passed,"
        f" {failed} failed, {len(flaky)} flaky.",
        "",
        "| task | passed | failed | left out | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for each in sorted(outcomes, key=lambda outcome: outcome.where):
        left = sum(each.verdicts.left_out.values())
        row = (each.where, each.verdicts.passed, len(each.failures), left, f"{each.seconds:.0f}")
        lines.append("| " + " | ".join(map(str, row)) + " |")
    for title, found in (
        ("Failures", [f"{o.where}: {failure}" for o in outcomes for failure in o.failures]),
        ("Flaky", [f"{row['test']} {row['seed']} ({row['where']})" for row in flaky]),
    ):
        lines += ["", f"## {title}", "", *(found and ["```", *found, "```"] or ["None."])]
    return "\n".join(lines) + "\n"
