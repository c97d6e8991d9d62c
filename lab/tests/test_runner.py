# SPDX-License-Identifier: GPL-2.0
"""The runner's guess of the time left."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.run import guests as runner
from vm import Result, VMError


def job(name: str, weight: float = 1, **state: float) -> runner.Job:
    return runner.Job(name, runner.SCRIPT, [], ["veth"], ["net.sh"], weight, **state)


def test_time_left() -> None:
    assert runner.time_left([job("a"), job("b")], 2, 1000) is None
    assert runner.time_left([job("a", began=990)], 2, 1000) is None
    # 10 s for a quarter: 40 s for one, so 30 s are left of a, and c follows b or a
    jobs = [job("a", began=990, share=0.25), job("b", began=990, share=0.25)]
    assert runner.time_left(jobs, 2, 1000) == pytest.approx(30)
    assert runner.time_left([*jobs, job("c")], 2, 1000) == pytest.approx(70)
    assert runner.time_left([*jobs, job("c", weight=2), job("d")], 2, 1000) == pytest.approx(110)
    done = job("a", began=900, took=40, share=1)
    assert runner.time_left([done, job("b", began=980, share=0.5)], 2, 1000) == pytest.approx(20)
    assert runner.time_left([done], 2, 1000) == 0


def test_known_results_tell_no_time() -> None:
    known = job("a", began=1, took=0.1, share=1)
    known.result = Result(0, "", Path(), Path(), 0, kept=True)
    assert runner.time_left([known, job("b")], 2, 1000) is None
    other = job("b", began=980, share=0.5)
    assert runner.time_left([known, other], 2, 1000) == pytest.approx(20)
    line = runner.status_line([known, other], 2)
    assert line.startswith("1 of 2 runs done (1 known from before), b 50 %, time left: ")
    assert runner.time_left([known], 2, 1000) == 0
    assert runner.status_line([known], 2).endswith("(1 known from before), time left: 0 s")
    assert "time left" not in runner.status_line([known, job("b")], 2)
    assert runner.status_line([job("a"), job("b")], 2).endswith("time left: not known yet")


def test_progress() -> None:
    one = job("a")
    one.on_line("[    1.0] something else 5 10")
    assert one.share == 0
    one.on_line("progress 5 25 active 3 done 7")
    assert one.share == (5 + runner.BOOT) / (25 + runner.BOOT)
    one.on_line("progress 31 25 active 3 done 7")
    assert one.share == 1


def test_what_a_machine_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's own: no other's seed, modules or words."""
    seen = {}

    class Fake:
        def __init__(self, built: object, *, name: str, **others: object) -> None:
            seen[name] = others

        def run(self, on_line: object) -> Result:
            return Result(0, "", Path(), Path(), 0)

    monkeypatch.setattr(runner, "Guest", Fake)
    own = runner.Job("own", runner.SCRIPT, ["A=1"], ["sch_las"], [], seed=0)
    runner.run_all(None, [job("a"), own], 2, "x")
    assert set(seen) == {"x-a", "x-own"}
    mine = seen["x-own"]
    assert (mine["seed"], mine["modules"], mine["args"]) == (0, ["sch_las"], ["A=1"])
    assert (seen["x-a"]["seed"], seen["x-a"]["modules"]) == (1, ["veth"])


def test_what_tells_runs_apart() -> None:
    one = job("a")
    assert one.key == job("b", weight=7).key
    for change in ({"seed": 2}, {"args": ["A=1"]}, {"modules": []}, {"needs": []}):
        assert replace(one, **change).key != one.key


CONSOLE = """\
shortfirst-vm: up
[    1.649850] sch_run2c: loading out-of-tree module taints kernel.
long ago
one
two
progress 5 10 active 3 done 7
What is "ordr"?
Usage: ... run2c [ threshold BYTES ]
                 [ order | no_order ]

shortfirst-vm: exit 1 taint 12288 7c53506c5d12
[    1.844046] reboot: Restarting system
"""


@pytest.mark.parametrize(
    ("error", "why"),
    [("", "its job failed with status 1"), ("no output for 900 s", "no output for 900 s")],
)
def test_last_words_of_a_job(error: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own: neither the kernel's, nor how far it was, nor how tc is to be used."""

    class Fake:
        def __init__(self, *_: object, **others: object) -> None:
            pass

        def run(self, on_line: Callable[[str], None]) -> Result:
            for line in CONSOLE.splitlines():
                on_line(line)
            return Result(1, error, Path("console.log"), Path(), 0)

    monkeypatch.setattr(runner, "Guest", Fake)
    with pytest.raises(VMError) as failed:
        runner.run_all(None, [job("a")], 1, "x")
    said = 'one\n  two\n  What is "ordr"?'
    assert str(failed.value) == f"the run a: {why}; see console.log; it said last:\n  {said}"
    monkeypatch.setattr(sys.modules[__name__], "CONSOLE", "shortfirst-vm: up\n")
    with pytest.raises(VMError, match=r"see console\.log$"):
        runner.run_all(None, [job("a")], 1, "x")
