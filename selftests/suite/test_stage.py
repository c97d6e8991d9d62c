# SPDX-License-Identifier: GPL-2.0
"""Tasks side by side, and what is said meanwhile."""

import time
from pathlib import Path

import pytest

from vm.build import ROOT_MINUTES
from vm.kernels import OWN

from . import stage
from .tasks import InGuest, Outcome, Task
from .test_tasks import outcome


class Made(Task):
    def __init__(self, where: str, failing: bool = False, error: Exception | None = None) -> None:
        self.where, self.failing, self.error = where, failing, error
        self.report = Path("/nowhere")

    def run(self) -> Outcome:
        self.began = time.monotonic()
        if self.error:
            raise self.error
        return outcome(self.where, self.failing)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(stage, "_memory", lambda: tmp_path / "seconds.json")
    return tmp_path / "seconds.json"


def test_all_run_whatever_fails(capsys: pytest.CaptureFixture) -> None:
    done = stage.stage([Made("a", failing=True), Made("b"), Made("c")], 1)
    assert sorted(each.where for each in done) == ["a", "b", "c"]
    assert capsys.readouterr().out.count("FAILED a.py::x") == 1


def test_fail_fast() -> None:
    tasks = [Made("a"), Made("b", failing=True), Made("c")]
    assert [each.where for each in stage.stage(tasks, 1, fail_fast=True)] == ["a", "b"]


def test_an_outcome_is_settled_before_it_is_judged(capsys: pytest.CaptureFixture) -> None:
    def settle(outcome: Outcome) -> None:
        outcome.verdicts.tests[0].passed = True
        outcome.verdicts.status = 0

    (done,) = stage.stage([Made("a", failing=True)], 1, settle, fail_fast=True)
    assert done.failures == [] and "FAILED" not in capsys.readouterr().out


def test_a_task_that_cannot_run_has_failed() -> None:
    """And the others run all the same."""
    done = stage.stage([Made("a", error=OSError("disk full")), Made("b")], 1)
    (failed,) = (each for each in done if each.where == "a")
    assert "OSError: disk full" in failed.failures[0] and len(done) == 2


def test_the_longest_begin_first(memory: Path) -> None:
    memory.write_text('{"a": 10, "b": 500, "c": 90}')
    done = stage.stage([Made(name) for name in "abcd"], 1)
    assert [each.where for each in done] == ["b", "d", "c", "a"]
    assert stage.expected() == {"a": 1, "b": 1, "c": 1, "d": 1}


@pytest.mark.parametrize("text", ["", "[]", '{"a": {}}', "{"])
def test_a_broken_memory_does_not_matter(memory: Path, text: str) -> None:
    memory.write_text(text)
    assert stage.expected() == {}
    assert len(stage.stage([Made("a")], 1)) == 1


def test_progress(memory: Path) -> None:
    memory.write_text('{"a": 60, "b": 120, "c": 60}')
    tasks = [Made(name) for name in "abc"]
    progress = stage.Progress(tasks, 2)
    assert "about 2 left, 0 of 3 tasks done; now: " in progress.line()
    tasks[1].began = time.monotonic()
    progress.ended.add("a")
    assert progress.line().endswith("about 2 left, 1 of 3 tasks done; now: b")


def test_progress_counts_kernels_to_be_built(
    memory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path))
    memory.write_text('{"native 1/1": 60, "6.1 1/1": 60}')
    progress = stage.Progress([InGuest("native"), InGuest("6.1")], 1)
    assert f"about {2 + 2 * ROOT_MINUTES + OWN['native'].minutes:.0f} left" in progress.line()
    (tmp_path / "kernels/native-1/layer").mkdir(parents=True)
    (tmp_path / "roots/sid-1/root").mkdir(parents=True)
    assert f"about {2 + ROOT_MINUTES} left" in progress.line()
