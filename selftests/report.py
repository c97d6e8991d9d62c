# SPDX-License-Identifier: GPL-2.0
"""A pytest plugin: writes the result of each test to the file that $SF_REPORT names.

In a guest this is a serial port; selftests/suite/verdicts.py reads the other end. All lines are
JSON:

    {"tests": ["kinds/test_x.py::test_y[las]", ...], "left_out": {REASON: NUMBER OF TESTS}}
    {"begins": 0}                                      the test with this number in the list
    {"ends": 0, "how": "passed", "seconds": 1.5}       or "failed", with the failure as "text" and
                                                       "fault", if it cannot be chance
    {"counts": "build/.../sch_las.gcda", "data": "in base64"}   where the kernel counts for gcov
    {"trouble": "a failure of no single test"}
    {"done": EXIT STATUS}

A skipped test has failed: what a kernel cannot do is left out, with the reason.

A failure cannot be chance if a sanitizer reports it, or if the assertion stands in a module that
says so with FAULT: a difference from a model, or packets that were lost, as the gate counts them.
selftests/suite/retry.py runs all others again.
"""

import base64
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TEXT = 4000  # characters of a failure
HOST_CLOCK = Path("/sys/module/uml/parameters/host_ns")  # of user-mode Linux, whose own is virtual
GCOV = Path(
    "/sys/kernel/debug/gcov"
)  # where modules count what they execute (selftests/suite/coverage.py)
SANITIZER = re.compile(r"(?:Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|runtime error: ")


def seconds() -> float:
    """By a clock that tells how long a test takes those who wait for it"""
    return int(HOST_CLOCK.read_text()) / 1e9 if HOST_CLOCK.exists() else time.monotonic()


class Report:
    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.numbers: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()
        self.began = 0.0
        self.wrong: list[str] = []  # failures of the running test, and
        self.fault = ""  # why they cannot be chance

    def tell(self, **line: object) -> None:
        rest = json.dumps(line).encode() + b"\n"
        while rest:
            rest = rest[os.write(self.file, rest) :]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.numbers = {item.nodeid: number for number, item in enumerate(session.items)}
        self.tell(tests=list(self.numbers), left_out=self.left_out)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.left_out[item.stash.get(WHY, "not asked for")] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self.tell(trouble=f"{report.nodeid}: {report.longreprtext[-TEXT:]}")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began, self.wrong, self.fault = seconds(), [], ""
        self.tell(begins=self.numbers[nodeid])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo) -> Iterator[None]:
        yield
        if call.excinfo and len(call.excinfo.traceback):
            names = call.excinfo.traceback[-1].frame.f_globals
            self.fault = self.fault or names.get("FAULT", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            said = "".join(f"\n{title}: {text}" for title, text in report.sections)
            text = f"{report.when}: {report.longreprtext}{said}"
            if SANITIZER.search(text):
                self.fault = "a sanitizer reports a fault"
            self.wrong.append(text[-TEXT:])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        text = {"text": "\n".join(self.wrong)} if self.wrong else {}
        if self.wrong and self.fault:
            text["fault"] = self.fault
        took = round(seconds() - self.began, 3)
        how = "failed" if self.wrong else "passed"
        self.tell(ends=self.numbers[nodeid], how=how, seconds=took, **text)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        for path in sorted(GCOV.rglob("*.gcda")):
            data = base64.b64encode(path.read_bytes()).decode()
            self.tell(counts=str(path.relative_to(GCOV)), data=data)
        self.tell(done=int(exitstatus))


WHY = pytest.StashKey[str]()  # of a test that is left out


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get("SF_REPORT"):
        config.pluginmanager.register(Report(path), "shortfirst report")
