# SPDX-License-Identifier: GPL-2.0
"""The result of each test, read from the lines that selftests/report.py writes.

Nothing else decides whether a run has passed.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Verdict:
    """The result of one test"""

    name: str
    began: bool = False
    passed: bool | None = None  # None: it has not ended
    seconds: float = 0
    text: str = ""  # the failure
    fault: str = ""  # why a failure cannot be chance, "" if it might be
    flaky: bool = False  # it failed, and passed each time it was run again


@dataclass
class Verdicts:
    """The results of one run: feed it the lines, then ask for the failures."""

    tests: list[Verdict] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # number of tests by the reason
    trouble: list[str] = field(default_factory=list)  # failures of no single test
    status: int | None = None  # pytest's exit status, None before the end
    counts: dict[str, str] = field(default_factory=dict)  # gcov's data by the file's path

    def feed(self, line: str) -> None:
        try:
            self._take(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError):
            self.trouble.append(f"unreadable line: {line[:200]!r}")

    def _take(self, said: dict) -> None:
        if "tests" in said:
            if self.tests:
                raise ValueError
            self.tests = [Verdict(name) for name in said["tests"]]
            self.left_out = dict(said["left_out"])
        elif "begins" in said:
            self.tests[said["begins"]].began = True
        elif "ends" in said:
            test = self.tests[said["ends"]]
            if test.passed is not None or said["how"] not in ("passed", "failed"):
                raise ValueError
            test.passed = said["how"] == "passed"
            test.seconds, test.text = float(said["seconds"]), said.get("text", "")
            test.fault = said.get("fault", "")
        elif "counts" in said:
            self.counts[said["counts"]] = said["data"]
        elif "trouble" in said:
            self.trouble.append(said["trouble"])
        else:
            self.status = int(said["done"])

    @property
    def passed(self) -> int:
        return sum(test.passed is True for test in self.tests)

    @property
    def ended(self) -> int:
        return sum(test.passed is not None for test in self.tests)

    def now(self) -> str:
        """The test that is running, or that the run died in"""
        return next((t.name for t in reversed(self.tests) if t.began and t.passed is None), "")

    def chances(self) -> list[Verdict]:
        """The failed tests whose failure might be chance; none if the run itself went wrong."""
        if self.trouble or self.status is None or self.now():
            return []
        return [test for test in self.tests if test.passed is False and not test.fault]

    def _forgiven(self) -> bool:
        """Are there failures that do not count? Then pytest's status is 1."""
        return any(test.flaky for test in self.tests)

    def failures(self, error: str = "") -> list[str]:
        """
        A text for each failure, causes before effects. It is empty only if all tests that were to
        run have passed, and the run came to its end.

        `error`: what went wrong with the guest or the program, "" if nothing.
        """
        found = [error] if error else []
        for test in self.tests:
            if test.passed is False:
                fault = f"{test.fault}\n" if test.fault else ""
                found.append(f"{test.name}\n{fault}{test.text}".rstrip())
        found += self.trouble
        for test in self.tests:
            if test.passed is None and test.began:
                found.append(f"{test.name}\nbegan and did not end")
        never = [test.name for test in self.tests if test.passed is None and not test.began]
        if never:
            found.append(f"{len(never)} tests did not run, the first is {never[0]}")
        if self.status is None and not error:
            found.append("the run did not report its end")
        elif self.status and not found and not (self.status == 1 and self._forgiven()):
            found.append(f"pytest ended with status {self.status}")
        if not self.tests and not found:
            found.append("there were no tests")
        return found


def read(text: str) -> Verdicts:
    verdicts = Verdicts()
    for line in text.splitlines():
        verdicts.feed(line)
    return verdicts
