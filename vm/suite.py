# SPDX-License-Identifier: GPL-2.0
"""All tests, in two stages. What takes some minutes: those on the host, and all in user-mode Linux,
in the native kernel and in the sanitized one. Then, if all of these have passed, those in the other
kernels, in QEMU: on each what depends on it, and of the rest a share, another one with each commit.
The native kernel beside the sanitized one has a share, too: that is the same and finds more.

On the kcsan kernel it is only what has several processors do things at once, for as long as one
wants.

Where no Python runs there is a smoke test instead, selftests/smoke.c.
"""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selftests import smoke

from . import verdicts
from .build import CHECKOUT, prepare
from .daemon import guest_programs
from .guest import Guest
from .kernels import COVERAGE, KCSAN, NATIVE, SANITIZED
from .processors import FOREIGN, ROOTLESS
from .root import VMError

# Beside each other: either takes as long as guests with all tests of a kernel, and sleeps at times
HOST_TESTS = {
    "host": [
        *("vm", "selftests/host", "lab", "openwrt/tests/host", "sftop/tests/host"),
        *map(str, sorted(CHECKOUT.glob("sch_*/tests/host"))),
        "--ignore=lab/guest/tests",
    ],
    "host sched_tcp": ["sched_tcp/tests", "--ignore=sched_tcp/tests/guest", "-m not long"],
}
# Guests, of which all tests of a kernel are shared
PARTS = {NATIVE: 5, COVERAGE: 5, SANITIZED: 5}
OTHER_PARTS = 2
SHARES = 32  # what is alike on all kernels is run on each with every so many-th commit
# The same of other processors, where it takes a minute until the first test is run
FOREIGN_PARTS = 1
FOREIGN_SHARES = 48
NATIVE_SHARES = 8  # beside the sanitized kernel
TIMEOUT = 1800  # seconds for a part, which takes some minutes if it has a processor
TIMEOUT_DEBUG = 4200
SILENCE = 400  # the longest test takes a tenth of it
PROGRESS = 20  # seconds between two lines that tell how far all are
SLOWEST = 12
SEEDS = 10**6


@dataclass
class Outcome:
    where: str
    told: verdicts.Verdicts
    seconds: float
    error: str = ""  # what is wrong with the guest
    races: Mapping[str, int] = field(default_factory=dict)  # of its kernel's own
    failures: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.failures = self.told.failures(self.error)

    def __str__(self) -> str:
        failed = len(self.failures)
        lines = [f"{self.where}: {self.told.passed} passed, {failed} failed, {self.seconds:.0f} s"]
        lines += [f"    {number} left out: {why}" for why, number in self.told.left_out.items()]
        lines += [f"    the kernel's own, {n} times: {race}" for race, n in self.races.items()]
        for failure in self.failures:
            lines += [f"    {line}" for line in f"FAILED {failure}".splitlines()]
        return "\n".join(lines)


class Task:
    """Some tests, and the file in which they tell."""

    where: str
    report: Path
    began = 0.0

    def run(self) -> Outcome:
        raise NotImplementedError

    def begin(self) -> None:
        self.report.parent.mkdir(parents=True, exist_ok=True)
        self.report.unlink(missing_ok=True)  # of an earlier time
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def told(self) -> verdicts.Verdicts:
        known = self.began and self.report.exists()
        text = self.report.read_text(errors="replace") if known else ""
        return verdicts.read(text[: text.rfind("\n") + 1])  # not what is being written


class Host(Task):
    def __init__(self, where: str, tests: Sequence[str], nice: int = 0) -> None:
        self.where, self.tests, self.nice = where, tests, nice
        self.report = CHECKOUT / "build" / where.replace(" ", "-") / "report"

    def run(self) -> Outcome:
        self.begin()
        command = ["nice", "-n", str(self.nice), sys.executable, "-m", "pytest", "-q"]
        command += ["-p", "no:cacheprovider"]
        command += ["-p", "selftests.report", "--import-mode=importlib", f"--rootdir={CHECKOUT}"]
        done = subprocess.run(
            [*command, *self.tests],
            cwd=CHECKOUT,
            env=os.environ | {"SF_REPORT": str(self.report)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.report.with_suffix(".log").write_text(done.stdout)
        told = self.told()
        error = "" if told.tests else f"pytest said:\n{done.stdout[-2000:]}"
        return Outcome(self.where, told, self.seconds, error)


class InGuest(Task):
    def __init__(
        self,
        kernel: str,
        part: int,
        parts: int,
        arguments: Sequence[str],
        more: float = 0,
        seed: int = 1,
    ) -> None:
        self.kernel, self.more, self.seed = kernel, more, seed  # seconds
        self.where = f"{kernel} {part}/{parts}"
        self.name = f"test-{part}"
        self.report = CHECKOUT / "build" / kernel / "runs" / self.name / "data"
        self.arguments = [f"--part={part}/{parts}", *arguments]

    def guest(self) -> Guest:
        return Guest(
            prepare(self.kernel),
            mode="functional",
            name=self.name,
            job=str(CHECKOUT / "selftests/run"),
            args=self.arguments,
            seed=self.seed,
            files=guest_programs(self.kernel),
            timeout=(TIMEOUT_DEBUG if self.kernel == "debug" else TIMEOUT) + self.more,
            silence=SILENCE + self.more,
        )

    def run(self) -> Outcome:
        self.begin()
        try:
            result = self.guest().run()
        except VMError as error:
            return Outcome(self.where, verdicts.Verdicts(), self.seconds, str(error))
        error = f"{result.error}; see {result.console_path}" if result.error else ""
        told = self.told()
        if error and told.now():
            error = f"in {told.now()}: {error}"
        return Outcome(self.where, told, self.seconds, error, result.races)


class Smoke(InGuest):
    """All that there is where no Python runs"""

    def __init__(self, kernel: str) -> None:
        super().__init__(kernel, 1, 1, [])

    def guest(self) -> Guest:
        return Guest(
            prepare(self.kernel),
            mode="functional",
            name=self.name,
            files={"/sf/options": smoke.table().encode()},
            timeout=TIMEOUT,
            silence=SILENCE,
        )


def _side_by_side(tasks: Sequence[Task], most: int) -> Iterator[Outcome]:
    """What they come to, `most` of them at a time."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        try:
            while True:
                ended.put(waiting.get_nowait().run())
        except queue.Empty:
            pass
        except BaseException as error:
            ended.put(error)

    # Daemons: should this program end early, they and their guests end with it
    for _ in range(min(len(tasks), most)):
        threading.Thread(target=work, daemon=True).start()
    for _ in tasks:
        outcome = ended.get()
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome


def _progress(tasks: Sequence[Task], stop: Callable[[float], bool]) -> None:
    """Tell now and then how far those are that run."""
    began = time.monotonic()
    while not stop(PROGRESS):
        parts = []
        for task in tasks:
            told = task.told()
            done = sum(test.passed is not None for test in told.tests)
            if told.tests and told.status is None:
                failed = done - told.passed
                text = f"{task.where} {done} of {len(told.tests)}"
                parts.append(f"{text}, {failed} FAILED" if failed else text)
        if parts:
            print(f"{time.monotonic() - began:4.0f} s: {'; '.join(parts)}", flush=True)


def stage(tasks: Sequence[Task], most: int) -> list[Outcome]:
    """Run them, and tell of each as it ends."""
    ended, outcomes = threading.Event(), []
    threading.Thread(target=_progress, args=(tasks, ended.wait), daemon=True).start()
    try:
        for outcome in _side_by_side(tasks, most):
            outcomes.append(outcome)
            print(outcome, flush=True)
    finally:
        ended.set()
    return outcomes


def _commit() -> int:
    """0 where there is none, as in what has been released"""
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT)]
    command += ["rev-parse", "-q", "--verify", "HEAD"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(done.stdout or "0", 16)


def packages(release: str, brief: bool) -> int:
    """Try the packages on a Debian machine, which has a guest to itself; the exit status."""
    tests = ["-x", "selftests/debian", f"--suite={release}", *(["--brief"] if brief else [])]
    outcomes = stage([Host(f"debian-{release}", tests)], 1)
    for test in outcomes[0].told.tests:
        print(f"{test.seconds:6.1f} s  {test.name}")
    return 1 if outcomes[0].failures else 0


def _shares(kernel: str, beside: Collection[str]) -> int:
    """Of how many it runs one, of what is alike on all kernels"""
    if kernel == NATIVE and SANITIZED in beside:
        return NATIVE_SHARES
    if kernel in (*PARTS, KCSAN):
        return 1
    return FOREIGN_SHARES if kernel in FOREIGN else SHARES


def guests(
    kernel: str,
    tests: Sequence[str],
    seconds: float = 0,
    beside: Collection[str] = (),
    seed: int = 1,
) -> list[Task]:
    """Of all tests, or of those named, as pytest would have it; of those that take as long as one
    wants for so many seconds, unless 0. `beside`: the kernels that are asked, too. `seed`: of what
    is random in user-mode Linux."""
    if kernel in ROOTLESS:
        if tests:
            raise VMError(f"on {kernel} there is no pytest: all tests are run, or none")
        return [Smoke(kernel)]
    parts = PARTS.get(kernel, FOREIGN_PARTS if kernel in FOREIGN else OTHER_PARTS)
    parts = 1 if tests or kernel == KCSAN else parts
    given = [f"--time={seconds:g}"] if seconds else []
    shares = 1 if tests else _shares(kernel, beside)
    if shares > 1:
        shift = sum(map(ord, kernel))  # not the same on all of them
        given += [f"--share={(_commit() + shift) % shares}/{shares}"]
    every = range(1, parts + 1)
    return [InGuest(kernel, i, parts, [*given, *tests], seconds, seed) for i in every]


def run(
    kernels: Sequence[str],
    tests: Sequence[str] = (),
    seconds: float = 0,
    seed: int | None = None,
) -> int:
    """Run all tests, or those named, in guests only; the exit status. `seed`: of what is random in
    user-mode Linux; None: another one with each commit, so that a run can be repeated."""
    seed = _commit() % SEEDS if seed is None else seed
    others = [kernel for kernel in kernels if kernel not in PARTS]
    others.sort(key=lambda kernel: kernel != "debug")  # which takes longest
    hosts = {} if tests else HOST_TESTS
    # One test after another, so they go first: else all wait for them when the guests have ended
    first: list[Task] = [Host(where, these, nice=-5) for where, these in hosts.items()]
    own = sorted(kernels, key=lambda kernel: kernel != SANITIZED)  # which takes longest
    own = [kernel for kernel in own if kernel in PARTS]
    if own:
        print(f"seed {seed}", flush=True)
    first += [task for kernel in own for task in guests(kernel, tests, seconds, kernels, seed)]
    second = [task for kernel in others for task in guests(kernel, tests, seconds)]

    processors = len(os.sched_getaffinity(0))
    outcomes = stage(first, processors + len(hosts))  # the host's tests sleep now and then
    stopped = len(others) < len(kernels) and any(outcome.failures for outcome in outcomes)
    if not stopped:
        # They sleep for a quarter of the time, but one more, each of two processors, slows them:
        # who spins for a lock waits for one that has none
        outcomes += stage(second, processors)
    print("\nthe slowest:")
    tests_run = [(test, outcome.where) for outcome in outcomes for test in outcome.told.tests]
    tests_run.sort(key=lambda run: -run[0].seconds)
    for test, where in tests_run[:SLOWEST]:
        print(f"{test.seconds:6.1f} s  {where}  {test.name}")
    print()
    for outcome in outcomes:
        print(outcome)
    failed = sum(len(outcome.failures) for outcome in outcomes)
    print(f"{sum(outcome.told.passed for outcome in outcomes)} passed, {failed} failed")
    if stopped and others:
        print(f"so not tested on {', '.join(others)}")
    return 1 if failed else 0
