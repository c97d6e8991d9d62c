# SPDX-License-Identifier: GPL-2.0
"""Pieces of work of a test run: pytest on the host, pytest or a smoke test in a guest, a command.

A task runs once and returns an outcome: the verdicts of its tests, and what went wrong with the
run itself. It can also give the task that runs one of its tests again, alone.
"""

import copy
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from selftests import smoke
from vm.build import CHECKOUT, prepare
from vm.daemon import guest_programs
from vm.guest import Guest
from vm.processors import LOOKING
from vm.root import VMError

from . import verdicts

BUILD = CHECKOUT / "build"
TIMEOUT = 1800  # seconds for a guest, whose tests take minutes
TIMEOUT_DEBUG = 4200
SILENCE = 400  # seconds without output, at least ten times the longest test of a guest
COMMAND_LIMIT = 7200  # seconds for a command or the tests on the host
_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")  # flags of the calling make are not inherited
_TAIL = 3000  # characters shown of a failed command's output


@dataclass
class Outcome:
    """What a task's run came to"""

    where: str
    verdicts: verdicts.Verdicts
    seconds: float
    error: str = ""  # what went wrong with the guest or the program itself
    races: Mapping[str, int] = field(default_factory=dict)  # data races of the kernel's own code
    quarantined: set[str] = field(default_factory=set)  # tests whose failures do not count

    @property
    def failures(self) -> list[str]:
        if not self.quarantined:
            return self.verdicts.failures(self.error)
        counted = copy.deepcopy(self.verdicts)
        for test in counted.tests:
            if test.name in self.quarantined and test.passed is False:
                test.passed = test.flaky = True
        return counted.failures(self.error)

    def __str__(self) -> str:
        failures = self.failures
        passed = self.verdicts.passed
        lines = [f"{self.where}: {passed} passed, {len(failures)} failed, {self.seconds:.0f} s"]
        lines += [f"    {n} left out: {why}" for why, n in self.verdicts.left_out.items()]
        lines += [f"    the kernel's own, {n} times: {race}" for race, n in self.races.items()]
        for failure in failures:
            lines += [f"    {line}" for line in f"FAILED {failure}".splitlines()]
        return "\n".join(lines)


class Task:
    """Some tests, and the file in which their results are reported"""

    where: str  # its name in all output
    report: Path
    seed = 1  # of what is random in its tests
    began = 0.0

    def run(self) -> Outcome:
        raise NotImplementedError

    def again(self, test: str, seed: int) -> "Task | None":
        """The task that runs this test alone with this seed; None if there can be none."""
        return None

    def begin(self) -> None:
        self.report.parent.mkdir(parents=True, exist_ok=True)
        self.report.unlink(missing_ok=True)  # an earlier run's
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began if self.began else 0

    def results(self) -> verdicts.Verdicts:
        text = ""
        with suppress(FileNotFoundError):
            text = self.report.read_text(errors="replace") if self.began else ""
        return verdicts.read(text[: text.rfind("\n") + 1])  # a line may be half written


_running: set[subprocess.Popen[bytes]] = set()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _running.discard(process)


def end_all() -> None:
    """End the programs of all tasks on the host. Guests end with this program (vm/qemu.py)."""
    for process in list(_running):
        _kill(process)


def _output(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command to its end or its limit; its exit status and output, which is also in `log`."""
    inherited = {name: value for name, value in os.environ.items() if name not in _MAKE}
    with open(log, "w+", errors="replace") as out:
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env=inherited | environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _running.add(process)
        try:
            status = process.wait(COMMAND_LIMIT)
        except subprocess.TimeoutExpired:
            status = -1
            out.write(f"\nnot finished after {COMMAND_LIMIT} s\n")
        finally:
            _kill(process)
        out.flush()
        out.seek(0)
        return status, out.read()


class Host(Task):
    """pytest on the host"""

    def __init__(self, where: str, tests: Sequence[str], seed: int = 1) -> None:
        self.where, self.tests, self.seed = where, list(tests), seed
        self.report = BUILD / where.replace(" ", "-") / "report"

    def run(self) -> Outcome:
        self.begin()
        command = [sys.executable, "-m", "pytest", "-q"]
        command += ["-p", "no:cacheprovider", "-p", "selftests.report", "-p", "selftests.whole"]
        command += ["--import-mode=importlib", f"--rootdir={CHECKOUT}", *self.tests]
        environment = {"SF_REPORT": str(self.report), "SF_SEED": str(self.seed)}
        status, said = _output(command, self.report.with_suffix(".log"), environment)
        results = self.results()
        error = ""
        if not results.tests:
            error = f"pytest found no tests:\n{said[-_TAIL:]}"
        elif results.status != status:
            where = f"in {results.now()}" if results.now() else "after its tests"
            error = f"pytest ended with status {status} {where}:\n{said[-_TAIL:]}"
        return Outcome(self.where, results, self.seconds, error)

    def again(self, test: str, seed: int) -> Task:
        return Host(f"{self.where} again", ["--whole=.", test], seed)


class InGuest(Task):
    """pytest in a guest with this kernel"""

    def __init__(
        self,
        kernel: str,
        arguments: Sequence[str] = (),
        *,
        part: int = 1,
        parts: int = 1,
        seconds: float = 0,
        seed: int = 1,
        name: str = "",
    ) -> None:
        """seconds: added to the limits, for tests that run as long as one wants"""
        self.kernel, self.more, self.seed = kernel, seconds, seed
        self.where = name or f"{kernel} {part}/{parts}"
        self.name = (name or f"test-{part}").replace(" ", "-")
        self.report = BUILD / kernel / "runs" / self.name / "data"
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
        results = self.results()
        if error and results.now():
            error = f"in {results.now()}: {error}"
        if not error and results.status not in (None, result.status):
            error = f"the job ended with status {result.status}; see {result.console_path}"
        return Outcome(self.where, results, self.seconds, error, result.races)

    def again(self, test: str, seed: int) -> Task | None:
        if self.kernel in LOOKING:  # several processors: a failure by chance is what they look for
            return None
        return InGuest(self.kernel, ["--whole=.", test], seed=seed, name=f"{self.kernel} again")


class Smoke(InGuest):
    """selftests/smoke.c, for a guest without Python"""

    def guest(self) -> Guest:
        return Guest(
            prepare(self.kernel),
            mode="functional",
            name=self.name,
            files={"/sf/options": smoke.table().encode()},
            timeout=TIMEOUT,
            silence=SILENCE,
        )

    def again(self, test: str, seed: int) -> None:
        return None


class Command(Task):
    """A command: one test, which passes if the exit status is 0"""

    def __init__(self, where: str, command: str | Sequence[str]) -> None:
        self.where = where
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.report = BUILD / "commands" / where.replace(" ", "-") / "report"

    def run(self) -> Outcome:
        self.begin()
        status, said = _output(self.command, self.report.with_suffix(".log"), {})
        text = "" if status == 0 else f"exit status {status}\n{said[-_TAIL:]}"
        verdict = verdicts.Verdict(
            shlex.join(self.command), True, status == 0, self.seconds, text, "a command failed"
        )
        return Outcome(self.where, verdicts.Verdicts([verdict], status=0), self.seconds)
