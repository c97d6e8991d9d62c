# SPDX-License-Identifier: GPL-2.0
"""All tests, in two stages. What takes a minute or two: those that need no guest, and those in the
native kernel. Then, if all of these have passed, those in the other kernels, in QEMU.
"""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .build import CHECKOUT, prepare
from .guest import Guest
from .kernels import NATIVE
from .root import VMError

WAITING = ["lab/tests/test_flowgen.py", "lab/tests/test_generators.py"]  # most of their time
HOST_TESTS = {
    "host": ["vm", "selftests/host", "lab", *(f"--ignore={name}" for name in WAITING)],
    "host, generators": WAITING,
}
Part = tuple[str, ...]  # of the tests in guests: the arguments of selftests/run.sh
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
    which: tuple[str, ...] = ()  # failed, or was left out, as far as the guest told

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
    which = re.findall(r"^(?:failure: |(?=FAILED |ERROR |left out: ))(.*)$", said, re.MULTILINE)
    return Outcome(where, passed, failed + bool(error), seconds, error, tuple(which))


def _host(where: str) -> Outcome:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *HOST_TESTS[where]]
    began = time.monotonic()
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return judge(where, done.stdout, done.returncode, "", time.monotonic() - began)


def parts(kernel: str) -> list[Part]:
    """Each is a guest's, the longest first. Those of the native kernel mostly sleep: the more there
    are at a time, the sooner all are done."""
    if kernel != NATIVE:
        return [("scripts",), ("packets",)]
    kinds = sorted(path.name.removeprefix("sch_") for path in CHECKOUT.glob("sch_*"))
    return [("packets",), *(("scripts", kind) for kind in kinds)]


def _guest(kernel: str, part: Part) -> Outcome:
    where, began = " ".join([kernel, *part]), time.monotonic()
    try:
        guest = Guest(
            prepare(kernel),
            mode="functional",
            name="-".join(["test", *part]),
            job=str(CHECKOUT / "selftests/run.sh"),
            args=part,
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


def _side_by_side(tasks: Sequence[Callable[[], Outcome]], most: int) -> Iterator[Outcome]:
    """What they come to, `most` of them at a time."""
    waiting: queue.SimpleQueue[Callable[[], Outcome]] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        try:
            while True:
                ended.put(waiting.get_nowait()())
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


def run(kernels: Sequence[str]) -> int:
    """Run all tests; the exit status."""
    others = [kernel for kernel in kernels if kernel != NATIVE]
    others.sort(key=lambda kernel: kernel != "debug")  # which takes longest
    native = parts(NATIVE) if NATIVE in kernels else []
    first = [partial(_host, where) for where in HOST_TESTS]
    first += [partial(_guest, NATIVE, part) for part in native]
    second = [partial(_guest, kernel, part) for kernel in others for part in parts(kernel)]

    outcomes = list(_side_by_side(first, len(first)))
    stopped = bool(native) and any(outcome.failed for outcome in outcomes)
    if not stopped:
        outcomes += _side_by_side(second, len(os.sched_getaffinity(0)))
    print()
    for outcome in outcomes:
        print(outcome)
    failed = sum(outcome.failed for outcome in outcomes)
    print(f"{sum(outcome.passed for outcome in outcomes)} passed, {failed} failed")
    if stopped and others:
        print(f"so not tested on {', '.join(others)}")
    return 1 if failed else 0
