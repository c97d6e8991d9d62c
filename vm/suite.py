# SPDX-License-Identifier: GPL-2.0
"""All tests: those that need no guest, then both parts of selftests/run.sh for each kernel."""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .build import CHECKOUT, prepare
from .guest import Guest
from .root import VMError

HOST_TESTS = ["vm", "selftests/host", "lab"]
PARTS = ("scripts", "packets")
TIMEOUT = 1800  # seconds for a part, which takes some minutes if it has a processor
TIMEOUT_DEBUG = 4200
SILENCE = 400  # the longest test takes a tenth of it


@dataclass(frozen=True)
class Outcome:
    where: str
    passed: int
    failed: int
    seconds: float
    error: str = ""
    which: tuple[str, ...] = ()  # failed, as far as the guest told

    def __str__(self) -> str:
        text = f"{self.where}: {self.passed} passed, {self.failed} failed, {self.seconds:.0f} s"
        text = f"{text}, {self.error}" if self.error else text
        return "\n".join([text, *(f"    {line}" for line in self.which)])


def judge(where: str, said: str, status: int, error: str, seconds: float) -> Outcome:
    """What the last line with results says. Nobody passes who fails without telling where."""
    lines = re.findall(r"^.*\d+ (?:passed|failed|errors?)\b.*$", said, re.MULTILINE)
    numbers = re.findall(r"(\d+) (passed|failed|error)", lines[-1] if lines else "")
    passed = sum(int(number) for number, word in numbers if word == "passed")
    failed = sum(int(number) for number, word in numbers if word != "passed")
    if not error and not lines:
        error = "no results"
    elif not error and status and not failed:
        error = f"exit status {status}"
    which = re.findall(r"^(?:failure: |(?=FAILED |ERROR ))(.*)$", said, re.MULTILINE)
    return Outcome(where, passed, failed + bool(error), seconds, error, tuple(which))


def _host() -> Outcome:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *HOST_TESTS]
    began = time.monotonic()
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return judge("host", done.stdout, done.returncode, "", time.monotonic() - began)


def _guest(kernel: str, part: str) -> Outcome:
    where, began = f"{kernel} {part}", time.monotonic()
    try:
        guest = Guest(
            prepare(kernel),
            mode="functional",
            name=f"test-{part}",
            job=str(CHECKOUT / "selftests/run.sh"),
            args=[part],
            timeout=TIMEOUT_DEBUG if kernel == "debug" else TIMEOUT,
            silence=SILENCE,
        )
        result = guest.run(lambda line: print(f"{where}| {line}\n", end="", flush=True))
    except VMError as error:
        return judge(where, "", 1, str(error), time.monotonic() - began)
    seconds = time.monotonic() - began
    said = result.data_path.read_text(errors="replace")
    error = f"{result.error}; see {result.console_path}" if result.error else ""
    return judge(where, said, result.status, error, seconds)


def run(kernels: Sequence[str]) -> int:
    """Run all tests, as many guests at a time as there are processors; the exit status."""
    outcomes = [_host()]
    waiting: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    for kernel in sorted(kernels, key=lambda kernel: kernel != "debug"):  # which takes longest
        for part in PARTS:
            waiting.put((kernel, part))
    guests = waiting.qsize()

    def work() -> None:
        try:
            while not waiting.empty():
                ended.put(_guest(*waiting.get()))
        except BaseException as error:
            ended.put(error)

    # Daemons: should this program end early, they and their guests end with it
    for _ in range(min(guests, len(os.sched_getaffinity(0)))):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(guests):
        outcome = ended.get()
        if isinstance(outcome, BaseException):
            raise outcome
        outcomes.append(outcome)

    print()
    for outcome in outcomes:
        print(outcome)
    failed = sum(outcome.failed for outcome in outcomes)
    print(f"{sum(outcome.passed for outcome in outcomes)} passed, {failed} failed")
    return 1 if failed else 0
