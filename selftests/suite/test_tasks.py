# SPDX-License-Identifier: GPL-2.0
"""What a task's run comes to, and what tests run again."""

import os
import select
import threading
import time
from pathlib import Path

import pytest

from . import tasks
from .tasks import Command, Host, InGuest, Outcome, Smoke
from .verdicts import Verdict, Verdicts


def outcome(where: str, failing: bool = False) -> Outcome:
    results = Verdicts([Verdict("a.py::x", True, not failing, 1, "E 1 != 2" if failing else "")])
    results.status = int(failing)
    return Outcome(where, results, 1)


def test_an_outcome_says_why() -> None:
    assert str(outcome("6.1 1/2")) == "6.1 1/2: 1 passed, 0 failed, 1 s"
    bad = outcome("6.1 1/2", failing=True)
    bad.verdicts.left_out["no kprobes"] = 2
    bad.races = {"data-race in x / y": 3}
    assert str(bad).splitlines() == [
        "6.1 1/2: 0 passed, 1 failed, 1 s",
        "    2 left out: no kprobes",
        "    the kernel's own, 3 times: data-race in x / y",
        "    FAILED a.py::x",
        "    E 1 != 2",
    ]


def test_quarantined_failures_do_not_count() -> None:
    bad = outcome("host", failing=True)
    bad.verdicts.tests.append(Verdict("a.py::y", True, True))
    bad.quarantined = {"a.py::x"}
    assert bad.failures == []
    bad.verdicts.tests.append(Verdict("a.py::z", True, False))
    assert bad.failures == ["a.py::z"]
    bad.error = "kernel trouble"
    assert bad.failures == ["kernel trouble", "a.py::z"]


def test_quarantined_and_never_ended() -> None:
    """A run that does not report its end has failed, whatever is in quarantine."""
    bad = outcome("host", failing=True)
    bad.quarantined, bad.verdicts.status = {"a.py::x"}, None
    assert bad.failures == ["the run did not report its end"]


def test_again() -> None:
    """One test, alone, with the seed that it is given"""
    alone = InGuest("native", ["--share=0/6"], part=2, parts=5, seed=7).again("a.py::x[b c]", 9)
    assert alone.arguments == ["--part=1/1", "--whole=.", "a.py::x[b c]"] and alone.seed == 9
    alone = Host("host", ["vm", "-m", "not long"], 7).again("vm/test_x.py::x", 9)
    assert (alone.tests, alone.seed) == (["--whole=.", "vm/test_x.py::x"], 9)
    assert Command("check", "make check").again("make check", 1) is None
    assert InGuest("kcsan", ["--time=3600"]).again("a.py::x", 1) is None
    assert Smoke("mips").again("x", 1) is None


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(tasks, "BUILD", tmp_path)
    return tmp_path


def test_a_command(build: Path) -> None:
    assert Command("good", "true").run().failures == []
    (failure,) = Command("bad", ["sh", "-c", "echo said; exit 3"]).run().failures
    assert "exit status 3" in failure and "said" in failure


def test_a_command_that_hangs(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "COMMAND_LIMIT", 0.1)
    (failure,) = Command("endless", "sleep 1000").run().failures
    assert "not finished after 0.1 s" in failure


def test_tests_on_the_host(build: Path, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import os\n\ndef test_a(): assert os.environ['SF_SEED'] == '5'"
    )
    done = Host("host", [str(tmp_path), "--rootdir", str(tmp_path)], 5).run()
    assert (done.failures, done.verdicts.passed) == ([], 1)
    (failure,) = Host("host", [str(tmp_path / "none.py")]).run().failures
    assert failure.startswith("pytest found no tests:")


def test_long_tests(build: Path, tmp_path: Path) -> None:
    """They are left out, with a reason, unless they are to be run whole."""
    text = "import pytest\n\n@pytest.mark.long\ndef test_a(): pass\n\ndef test_b(): pass"
    (tmp_path / "test_a.py").write_text(text)
    given = [str(tmp_path), "--rootdir", str(tmp_path)]
    done = Host("host", given).run()
    assert [test.name for test in done.verdicts.tests] == ["test_a.py::test_b"]
    assert done.verdicts.left_out == {"takes long: make test-all": 1} and not done.failures
    assert Host("host", [*given, f"--whole={tmp_path}"]).run().verdicts.passed == 2
    assert Host("host", [*given, "--whole=lab"]).run().verdicts.passed == 1


def test_tests_on_the_host_that_die(build: Path, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import os\n\ndef test_a(): os._exit(9)")
    failures = Host("host", [str(tmp_path), "--rootdir", str(tmp_path)]).run().failures
    assert failures[0].startswith("pytest ended with status 9 in test_a.py::test_a")


def test_an_exit_status_of_its_own(build: Path, tmp_path: Path) -> None:
    """A sanitizer may end the program after all tests have passed."""
    text = "import atexit, os\n\ndef test_a(): atexit.register(os._exit, 23)"
    (tmp_path / "test_a.py").write_text(text)
    failures = Host("host", [str(tmp_path), "--rootdir", str(tmp_path)]).run().failures
    assert failures[0].startswith("pytest ended with status 23 after its tests")


def test_end_all(build: Path) -> None:
    """Nothing that a command has started outlives it."""
    ended = threading.Event()
    pid = build / "pid"
    command = ["sh", "-c", f"sleep 1000 & echo $! >{pid}; wait"]

    def run() -> None:
        Command("endless", command).run()
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    while not (pid.exists() and pid.read_text().endswith("\n")):
        time.sleep(0.01)
    process = os.pidfd_open(int(pid.read_text()))
    tasks.end_all()
    assert ended.wait(60)
    assert select.select([process], [], [], 60)[0]  # who was killed may have to die yet
    os.close(process)
