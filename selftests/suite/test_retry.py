# SPDX-License-Identifier: GPL-2.0
"""Which failures are run again, and what is made of the answers."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from . import retry
from .tasks import Outcome, Task
from .verdicts import Verdict, Verdicts

Again = Callable[[str, int], bool]


class Made(Task):
    """Its tests fail the first time; `passes` says whether they do alone."""

    seed = 40

    def __init__(self, where: str, tests: list[Verdict], passes: Again) -> None:
        self.where, self.tests, self.passes = where, tests, passes
        self.asked: list[tuple[str, int]] = []

    def run(self) -> Outcome:
        return Outcome(self.where, Verdicts(self.tests, status=1), 1)

    def again(self, test: str, seed: int) -> Task:
        self.asked.append((test, seed))
        passed = self.passes(test, seed)
        alone = Made("again", [Verdict(test, True, passed, 1, "" if passed else "E 3 != 4")], None)
        alone.run = lambda: Outcome("again", Verdicts(alone.tests, status=int(not passed)), 1)
        return alone


@pytest.fixture(autouse=True)
def flaky(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(retry, "FLAKY", tmp_path / "flaky.json")
    return tmp_path / "flaky.json"


def failed(name: str = "a.py::x", fault: str = "") -> Verdict:
    return Verdict(name, True, False, 1, "E 1 != 2", fault)


def tried(tests: list[Verdict], passes: Again, **more: object) -> tuple[Made, Outcome, list]:
    task = Made("native 1/5", tests, passes)
    retries = retry.Retries([task], more.pop("quarantined", ()))
    outcome = task.run()
    for name, value in more.items():
        setattr(outcome, name, value)
    retries.settle(outcome)
    return task, outcome, retries.flaky


def test_flaky(flaky: Path, capsys: pytest.CaptureFixture) -> None:
    task, outcome, rows = tried([failed(), Verdict("a.py::y", True, True)], lambda *_: True)
    assert task.asked == [("a.py::x", 40), ("a.py::x", 41), ("a.py::x", 42)]
    assert outcome.failures == [] and outcome.verdicts.passed == 2
    assert "FLAKY a.py::x 40 (native 1/5)" in capsys.readouterr().out
    assert json.loads(flaky.read_text()) == rows
    assert (rows[0]["test"], rows[0]["seed"], rows[0]["text"]) == ("a.py::x", 40, "E 1 != 2")


@pytest.mark.parametrize("bad", [40, 41, 42])
def test_it_has_to_pass_three_times(flaky: Path, bad: int) -> None:
    task, outcome, rows = tried([failed()], lambda _, seed: seed != bad)
    assert len(task.asked) == bad - 39 and rows == [] == json.loads(flaky.read_text())
    (failure,) = outcome.failures
    assert failure.startswith("a.py::x\nE 1 != 2\nagain with seed") and "E 3 != 4" in failure


@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        (failed(fault="the kernel differs from its model"), {}),
        (failed(), {"error": "kernel trouble: BUG: KASAN: slab-use-after-free"}),
        (failed(), {"error": "in a.py::y: no output for 400 s"}),
    ],
)
def test_what_cannot_be_chance(verdict: Verdict, more: dict[str, str]) -> None:
    task, outcome, rows = tried([verdict], lambda *_: True, **more)
    assert (task.asked, rows) == ([], []) and outcome.failures


def test_a_run_that_did_not_end() -> None:
    """The test in which it died is not run again, nor are those that failed before."""
    tests = [failed(), Verdict("a.py::y", began=True)]
    task, outcome, rows = tried(tests, lambda *_: True)
    assert (task.asked, rows) == ([], []) and len(outcome.failures) == 2


def test_many_failures() -> None:
    tests = [failed(f"a.py::x{n}") for n in range(retry.MOST + 1)]
    task, outcome, _ = tried(tests, lambda *_: True)
    assert task.asked == [] and len(outcome.failures) == retry.MOST + 1


def test_those_in_quarantine_are_not_run_again() -> None:
    task, outcome, _ = tried([failed()], lambda *_: True, quarantined={"a.py::x"})
    assert task.asked == [] and outcome.failures == []


ROW = '[[test]]\nname = "{}"\nreason = "why"\nuntil = {}\n'
TODAY = datetime.date(2026, 12, 1)


@pytest.mark.parametrize(
    ("text", "names", "wrong"),
    [
        ("", set(), ""),
        (ROW.format("a", "2026-12-01"), {"a"}, ""),
        (ROW.format("a", "2026-11-30"), {"a"}, "a was to be mended until 2026-11-30"),
        (ROW.format("a", "2026-12-01") * 11, {"a"}, "11 rows, at most 10 are allowed"),
        (ROW.format("a", '"soon"'), {"a"}, "a row has name, reason and until"),
        (ROW.format("a", "2999-01-01"), {"a"}, "a needs a reason, and a date within 90 days"),
        (ROW.format("a", "2026-12-02").replace("why", ""), {"a"}, "a needs a reason"),
        (ROW.format("a", "2026-12-02T00:00:00Z"), {"a"}, "a row has name, reason and until"),
        ('[[test]]\nname = "a"\nuntil = 2026-12-01', {"a"}, "a row has name, reason and until"),
    ],
)
def test_quarantine(tmp_path: Path, text: str, names: set[str], wrong: str) -> None:
    path = tmp_path / "quarantine.toml"
    path.write_text(text)
    found, complaints = retry.quarantine(path, TODAY)
    assert found == names
    assert wrong in "\n".join(complaints) and bool(complaints) == bool(wrong)


def test_the_quarantine_of_this_tree() -> None:
    assert retry.quarantine(retry.QUARANTINE, datetime.date.today())[1] == []
