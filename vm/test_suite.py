# SPDX-License-Identifier: GPL-2.0
"""Which tests are run where, what ends them, and how it is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from . import suite
from .build import CHECKOUT
from .processors import FOREIGN
from .root import VMError
from .suite import Outcome, Task
from .verdicts import Verdict, Verdicts, read

TESTS = {
    "test_good.py": "def test_good(): pass",
    "test_bad.py": "def test_bad():\n    print('said')\n    assert 1 == 2, 'why'",
    "test_skip.py": "import pytest\n\n@pytest.mark.skip\ndef test_skip(): pass",
    "test_end.py": "import pytest\n\n@pytest.fixture\ndef x():\n    yield\n    raise OSError(7)\n"
    "\ndef test_end(x): pass",
    "test_known.py": "import pytest\n\n@pytest.mark.xfail\ndef test_known(): assert 0",
}


def reported(where: Path, tests: dict[str, str]) -> Verdicts:
    """What the plugin tells of tests that are run here."""
    for name, text in tests.items():
        (where / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={where}"]
    environment = {"PYTHONPATH": str(CHECKOUT), "SF_REPORT": str(where / "report"), "PATH": ""}
    command += ["-p", "selftests.report", str(where)]
    subprocess.run(command, env=environment, capture_output=True)
    return read((where / "report").read_text())


def test_report(tmp_path: Path) -> None:
    """Passed is who ends well: who is skipped, or expected to fail, has failed."""
    told = reported(tmp_path, TESTS)
    assert {test.name.split("::")[1]: test.passed for test in told.tests} == {
        "test_good": True,
        "test_bad": False,
        "test_skip": False,
        "test_end": False,
        "test_known": False,
    }
    texts = {test.name.split("::")[1]: test.text for test in told.tests}
    assert "AssertionError: why" in texts["test_bad"] and "said" in texts["test_bad"]
    assert texts["test_end"].startswith("teardown: ") and "OSError: 7" in texts["test_end"]
    assert told.status == 1 and len(told.failures()) == 4


def test_report_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    told = reported(tmp_path, {"test_good.py": TESTS["test_good.py"], "test_no.py": "def"})
    failures = told.failures()
    assert failures[0].startswith("test_no.py: ") and "SyntaxError" in failures[0]
    assert failures[1] == "1 tests did not run, the first is test_good.py::test_good"


def outcome(where: str, failing: bool = False) -> Outcome:
    told = Verdicts([Verdict("a.py::x", True, not failing, 1, "E 1 != 2" if failing else "")])
    told.status = int(failing)
    return Outcome(where, told, 1)


def test_an_outcome_tells_why() -> None:
    assert str(outcome("6.1 1/2")) == "6.1 1/2: 1 passed, 0 failed, 1 s"
    bad = outcome("6.1 1/2", failing=True)
    bad.told.left_out["no kprobes"] = 2
    bad.races = {"data-race in x / y": 3}
    assert str(bad).splitlines() == [
        "6.1 1/2: 0 passed, 1 failed, 1 s",
        "    2 left out: no kprobes",
        "    the kernel's own, 3 times: data-race in x / y",
        "    FAILED a.py::x",
        "    E 1 != 2",
    ]


@pytest.mark.parametrize(
    ("kernels", "failing", "status", "asked"),
    [
        (["6.1"], "", 0, {"host", "6.1"}),
        (["6.1"], "host", 1, {"host", "6.1"}),
        (["native"], "", 0, {"host", "native"}),
        (["6.1", "native", "debug"], "", 0, {"host", "native", "6.1", "debug"}),
        (["6.1", "native", "debug"], "native", 1, {"host", "native"}),
        (["native", "6.1"], "host", 1, {"host", "native"}),
        (["native", "6.1"], "6.1", 1, {"host", "native", "6.1"}),
        (["armhf", "native"], "", 0, {"host", "native", "armhf"}),
        (["6.1", "sanitized"], "sanitized", 1, {"host", "sanitized"}),
    ],
)
def test_what_fails_fast_ends_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    kernels: list[str],
    failing: str,
    status: int,
    asked: set[str],
) -> None:
    done: list[str] = []

    def run(task: Task) -> Outcome:
        done.append(task.where)
        return outcome(task.where, bool(failing) and task.where.startswith(failing))

    monkeypatch.setattr(suite.Host, "run", run)
    monkeypatch.setattr(suite.InGuest, "run", run)
    assert suite.run(kernels) == status
    assert {where.split(" ")[0].rstrip(",") for where in done} == asked
    for kernel in asked - {"host"}:
        wanted = [task.where for task in suite.guests(kernel, [])]
        assert sorted(where for where in done if where.split(" ")[0] == kernel) == wanted
    said = capsys.readouterr().out
    assert said.count("FAILED a.py::x") == 2 * sum(
        where.startswith(failing or "-") for where in done
    )
    assert f"{len(done) - said.count('FAILED') // 2} passed" in said


def test_a_guest_that_cannot_be_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: Task) -> Outcome:
        raise RuntimeError

    monkeypatch.setattr(suite.Host, "run", lambda task: outcome(task.where))
    monkeypatch.setattr(suite.InGuest, "run", broken)
    with pytest.raises(RuntimeError):
        suite.run(["native"])


def test_some_tests_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one guest of each kernel, and none on the host"""
    done: list[tuple[str, list[str]]] = []

    def run(task: suite.InGuest) -> Outcome:
        done.append((task.where, task.arguments))
        return outcome(task.where)

    monkeypatch.setattr(suite.InGuest, "run", run)
    assert suite.run(["native", "6.1"], ["-k", "limit"]) == 0
    assert done == [
        (f"{kernel} 1/1", ["--part=1/1", "-k", "limit"]) for kernel in ("native", "6.1")
    ]


def test_a_smoke_test_is_one() -> None:
    """Where there is no pytest it cannot be asked for some."""
    (task,) = suite.guests("mips", [])
    assert isinstance(task, suite.Smoke) and task.where == "mips 1/1"
    with pytest.raises(VMError, match="there is no pytest"):
        suite.guests("mips", ["-k", "limit"])


def test_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so many commits each share comes, on each kernel; those that are fast are asked all."""
    for kernel in ("6.1", "6.12", "7.2", "debug", "armhf", "s390x"):
        number = suite.FOREIGN_SHARES if kernel in FOREIGN else suite.SHARES
        shares = set()
        for commit in range(number):
            monkeypatch.setattr(suite, "_commit", lambda number=commit: number)
            shares |= {task.arguments[1] for task in suite.guests(kernel, [])}
        assert shares == {f"--share={n}/{number}" for n in range(number)}
    for kernel in ("native", "sanitized"):
        assert all(len(task.arguments) == 1 for task in suite.guests(kernel, []))
    both = ["native", "sanitized"]
    assert all(len(task.arguments) == 1 for task in suite.guests("sanitized", [], 0, both))
    assert all(
        task.arguments[1].endswith(f"/{suite.NATIVE_SHARES}")
        for task in suite.guests("native", [], 0, both)
    )


def test_what_is_random_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """It is of the commit, unless told."""
    seeds: list[int] = []

    def run(task: suite.InGuest) -> Outcome:
        seeds.append(task.seed)
        return outcome(task.where)

    monkeypatch.setattr(suite.InGuest, "run", run)
    monkeypatch.setattr(suite, "_commit", lambda: 5 + 3 * suite.SEEDS)
    for seed in (None, 7):
        suite.run(["native"], ["-k", "limit"], 0, seed)
    assert seeds == [5, 7]
    told = capsys.readouterr().out.splitlines()
    assert "seed 5" in told and "seed 7" in told


def test_as_long_as_one_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    (plain,), (long,) = suite.guests("kcsan", []), suite.guests("kcsan", [], 3600)
    assert plain.arguments == ["--part=1/1"]
    assert long.arguments == ["--part=1/1", "--time=3600"]
    given: list[dict[str, float]] = []
    monkeypatch.setattr(suite, "prepare", lambda kernel: kernel)
    monkeypatch.setattr(suite, "Guest", lambda built, **arguments: given.append(arguments))
    plain.guest()
    long.guest()
    assert [given[1][name] - given[0][name] for name in ("timeout", "silence")] == [3600, 3600]
