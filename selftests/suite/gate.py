# SPDX-License-Identifier: GPL-2.0
"""`make test`: what every change has to pass. gate.toml has the tests and the seed."""

import datetime
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vm.build import CHECKOUT
from vm.kernels import KCSAN, NATIVE, SANITIZED
from vm.root import VMError

from .retry import QUARANTINE, quarantine
from .tasks import Command, Host, InGuest, Task
from .touched import Touched, base, changed, touched

GATE = Path(__file__).with_name("gate.toml")
RACES = 20  # seconds of sending on four processors
FUZZ = 20  # seconds for each qdisc
NOT_HERE = ["--ignore=lab/guest/tests"]  # tests for guests inside a folder of the host's


@dataclass(frozen=True)
class Plan:
    """gate.toml"""

    seed: int
    parts: dict[str, int]
    share: str
    kernels: list[str]
    boot: list[str]
    host: dict[str, list[str]]
    touch: list[dict[str, list[str]]]


def plan(path: Path = GATE) -> Plan:
    return Plan(**tomllib.loads(path.read_text()))


def expand(patterns: Sequence[str], top: Path = CHECKOUT) -> list[str]:
    """The folders and files that these patterns name"""
    return [str(p.relative_to(top)) for each in patterns for p in sorted(top.glob(each))]


def guests(kernel: str, parts: int, seed: int, arguments: Sequence[str]) -> list[Task]:
    """The tests of a kernel, divided among `parts` guests"""
    return [
        InGuest(kernel, arguments, part=part, parts=parts, seed=seed)
        for part in range(1, parts + 1)
    ]


def tasks(plan: Plan, seed: int, found: Touched) -> list[Task]:
    """All tasks of the gate for a change that touches this, those first that find the most"""
    whole = [f"--whole={path}" for path in sorted(found.guests)]
    sanitized = plan.parts["all sanitized" if "." in found.guests else SANITIZED]
    made = guests(NATIVE, plan.parts[NATIVE], seed, whole)
    if "races" in found.steps:
        made.append(InGuest(KCSAN, [f"--time={RACES}"], seed=seed, name="races"))
    made += guests(SANITIZED, sanitized, seed, [f"--share={plan.share}", *whole])
    for kernel in plan.kernels:
        tests = ["--whole=.", *plan.boot, *sorted(found.boot)]
        made.append(InGuest(kernel, tests, seed=seed, name=f"{kernel} boot"))
    made.append(Command("check", "make -s check"))
    for where, patterns in plan.host.items():
        long = [f"--whole={path}" for path in sorted(found.host)]
        made.append(Host(where, [*expand(patterns), *NOT_HERE, *long], seed))
    if "fuzz" in found.steps:
        made.append(Command("fuzz", f"make -s fuzz TIME={FUZZ}"))
    if "packages" in found.steps:
        made.append(Command("packages", "make -s test-deb BRIEF=1"))
    return made


def describe(names: list[str] | None, since: str | None, found: Touched) -> str:
    """A line about what the change is, and what it makes run"""
    if names is None:
        what = "git does not know what the change is: all of it is run"
    else:
        short = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "rev-parse", "--short", since],
            capture_output=True,
            text=True,
        ).stdout.strip()
        what = f"{len(names)} files differ from {short}"
    paths = found.guests | found.host | found.boot
    inner = {a for a in paths for b in paths if a != b and Path(a).is_relative_to(b)}
    more = [*sorted(paths - inner), *sorted(found.steps)]
    return f"{what}; run whole: {' '.join(more) or 'nothing more'}"


def make(
    seed: int | None, since: str | None, only: Sequence[str] = ()
) -> tuple[list[Task], set[str], list[str]]:
    """The gate's tasks, or those named; the tests in quarantine; what is wrong with that list."""
    known = plan()
    since = since or base()
    names = changed(since)
    found = touched(names, known.touch)
    print(describe(names, since, found), flush=True)
    seed = known.seed if seed is None else seed
    print(f"seed {seed}", flush=True)
    quarantined, wrong = quarantine(QUARANTINE, datetime.date.today())
    every = tasks(known, seed, found)
    if missing := sorted(set(only) - {task.where for task in every}):
        names = ", ".join(task.where for task in every)
        raise VMError(f"there is no task {', '.join(missing)}; there are {names}")
    return [task for task in every if not only or task.where in only], quarantined, wrong
