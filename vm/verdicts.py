# SPDX-License-Identifier: GPL-2.0
"""What becomes of each test, as selftests/report.py tells it: nothing else is asked."""

import json
from dataclasses import dataclass, field


@dataclass
class Verdict:
    """Of one test"""

    name: str
    began: bool = False
    passed: bool | None = None  # None: nobody knows
    seconds: float = 0
    text: str = ""  # why it has failed


@dataclass
class Verdicts:
    """Feed it the lines, then ask for what has failed."""

    tests: list[Verdict] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # by the reason
    trouble: list[str] = field(default_factory=list)
    status: int | None = None  # of the whole, 0 if all is well
    counts: dict[str, str] = field(default_factory=dict)  # of gcov, by the path of the file

    def feed(self, line: str) -> None:
        try:
            self._take(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError):
            self.trouble.append(f"a line that cannot be read: {line[:200]!r}")

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
        elif "counts" in said:
            self.counts[said["counts"]] = said["data"]
        elif "trouble" in said:
            self.trouble.append(said["trouble"])
        else:
            self.status = int(said["done"])

    @property
    def passed(self) -> int:
        return sum(test.passed is True for test in self.tests)

    def now(self) -> str:
        """The test that runs, or at which it has ended"""
        return next((t.name for t in reversed(self.tests) if t.began and t.passed is None), "")

    def failures(self, error: str = "") -> list[str]:
        """A line or more for each, the cause of others first.

        `error` is what is wrong with the guest, "" if nothing.

        None if all tests that were to run have passed and the whole was brought to its end.
        """
        found = [error] if error else []
        found += [f"{t.name}\n{t.text}".rstrip() for t in self.tests if t.passed is False]
        found += self.trouble
        for test in self.tests:
            if test.passed is None and test.began:
                found.append(f"{test.name}\nbegan, and there is no word of its end")
        never = [test.name for test in self.tests if test.passed is None and not test.began]
        if never:
            found.append(f"{len(never)} tests did not run, the first is {never[0]}")
        if self.status is None and not error:
            found.append("there is no word of the end of all tests")
        elif self.status and not found:
            found.append(f"pytest ended with status {self.status}")
        if not self.tests and not found:
            found.append("there were no tests")
        return found


def read(text: str) -> Verdicts:
    verdicts = Verdicts()
    for line in text.splitlines():
        verdicts.feed(line)
    return verdicts
