# SPDX-License-Identifier: GPL-2.0
"""Which tests `make test`, `make test-all` and `make test KERNEL=` run."""

import pytest

from vm.build import CHECKOUT
from vm.processors import FOREIGN
from vm.root import VMError

from . import everything, gate, kernels
from .retry import QUARANTINE
from .tasks import Command, Host, InGuest, Smoke, Task
from .touched import Touched

PLAN = gate.plan()


def named(tasks: list[Task]) -> dict[str, Task]:
    assert len({task.where for task in tasks}) == len(tasks)
    return {task.where: task for task in tasks}


def test_the_gate_without_a_change() -> None:
    """make check, all on native, the host's, a share on sanitized, a boot of each stock kernel"""
    tasks = named(gate.tasks(PLAN, 7, Touched()))
    natives = [f"native {n}/{PLAN.parts['native']}" for n in range(1, PLAN.parts["native"] + 1)]
    sanitized = PLAN.parts["sanitized"]
    sanitized = [f"sanitized {n}/{sanitized}" for n in range(1, sanitized + 1)]
    boots = [f"{kernel} boot" for kernel in ("6.1", "6.12", "7.2")]
    assert set(tasks) == {"check", *PLAN.host, *natives, *sanitized, *boots}
    assert isinstance(tasks["check"], Command)
    assert all(tasks[name].arguments[1:] == [] for name in natives)
    assert all(tasks[name].arguments[1:] == [f"--share={PLAN.share}"] for name in sanitized)
    assert all(task.seed == 7 for name, task in tasks.items() if name != "check")


def test_what_the_change_touches_is_run_whole() -> None:
    steps = {"races", "packages", "fuzz"}
    found = Touched(guests={"sch_las/tests"}, boot={"run2c_isn/tests"}, steps=steps)
    tasks = named(gate.tasks(PLAN, 1, found))
    assert tasks["native 1/4"].arguments[1:] == ["--whole=sch_las/tests"]
    assert tasks["sanitized 1/2"].arguments[1:] == [
        f"--share={PLAN.share}",
        "--whole=sch_las/tests",
    ]
    assert f"--time={gate.RACES}" in tasks["races"].arguments
    assert "test-deb" in tasks["packages"].command and "fuzz" in tasks["fuzz"].command
    assert tasks["6.1 boot"].arguments[-1] == "run2c_isn/tests"


def test_the_line_about_the_change() -> None:
    found = Touched(guests={".", "sch_las/tests"}, host={"lab", "lab/tests"}, steps={"races"})
    assert gate.describe(["a", "b"], "HEAD", found).endswith("; run whole: . races")
    line = gate.describe([], "HEAD", Touched(host={"lab", "lab/tests"}))
    assert line.startswith("0 files differ from ") and line.endswith("; run whole: lab")
    assert gate.describe(None, None, found).startswith("git does not know what the change is")


def test_a_task_alone(capsys: pytest.CaptureFixture) -> None:
    tasks, _, _ = gate.make(3, "HEAD", ["native 2/4"])
    assert [(task.where, task.seed) for task in tasks] == [("native 2/4", 3)]
    with pytest.raises(VMError, match="there is no task native; there are native 1/4, "):
        gate.make(3, "HEAD", ["native"])


def test_long_tests_of_the_host() -> None:
    tasks = named(gate.tasks(PLAN, 1, Touched(host={"lab"})))
    assert "--whole=lab" in tasks["lab"].tests and "--whole=lab" in tasks["tools"].tests


def test_the_tree_has_what_the_gate_names() -> None:
    for name in PLAN.boot:
        assert (CHECKOUT / name.partition("::")[0]).exists(), name
    for patterns in PLAN.host.values():
        for pattern in patterns:
            assert gate.expand([pattern]), pattern
    assert QUARANTINE.exists()
    share, _, shares = PLAN.share.partition("/")
    assert 0 <= int(share) < int(shares)


def test_every_test_of_the_host_is_run() -> None:
    """No folder with tests is forgotten: a test is for the host, for guests, for `make test-deb`
    or for `make upstream-check`."""
    folders = [folder for each in PLAN.host.values() for folder in gate.expand(each)]
    for_guests = [
        *("selftests/kinds", "command/tests", "sftop/tests", "openwrt/tests", "sched_tcp/tests"),
        *("run2c_isn/tests", "lab/guest/tests", "selftests/debian", "upstream/tests"),
        *(str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("sch_*/tests")),
    ]
    for path in CHECKOUT.rglob("test_*.py"):
        name = path.relative_to(CHECKOUT)
        if name.parts[0] != "build":
            assert any(map(name.is_relative_to, [*folders, *for_guests])), name


def test_everything_has_all_kernels() -> None:
    tasks = everything.tasks(5)
    names = set(named(tasks))
    assert {name.split()[0] for name in names} >= set(everything.KERNELS)
    assert isinstance(named(tasks)["mips 1/1"], Smoke)
    hosts = [task for task in tasks if isinstance(task, Host)]
    assert hosts and all("--whole=." in task.tests for task in hosts)
    assert all(isinstance(named(tasks)[name], Command) for name in everything.COMMANDS)


def test_shares() -> None:
    """With enough seeds each share is run, on each kernel; in user-mode Linux it is always all."""
    for kernel in ("6.1", "6.12", "7.2", "debug", "armhf", "s390x"):
        number = kernels.FOREIGN_SHARES if kernel in FOREIGN else kernels.SHARES
        shares = {
            task.arguments[1] for seed in range(number) for task in kernels.tasks(kernel, seed=seed)
        }
        assert shares == {f"--share={n}/{number}" for n in range(number)}
    for kernel in ("native", "sanitized", "coverage", "kcsan"):
        assert all(task.arguments[1:] == ["--whole=."] for task in kernels.tasks(kernel))


def test_some_tests_only() -> None:
    """In one guest of each kernel"""
    for kernel in ("native", "6.1"):
        (task,) = kernels.tasks(kernel, ["-k", "limit"])
        assert isinstance(task, InGuest) and task.arguments[-2:] == ["-k", "limit"]
        assert task.where == f"{kernel} 1/1"


def test_a_smoke_test_is_one() -> None:
    (task,) = kernels.tasks("mips")
    assert isinstance(task, Smoke) and task.where == "mips 1/1"
    with pytest.raises(VMError, match="has no pytest"):
        kernels.tasks("mips", ["-k", "limit"])


def test_as_long_as_one_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    (plain,), (longer,) = kernels.tasks("kcsan"), kernels.tasks("kcsan", seconds=3600)
    assert plain.arguments == ["--part=1/1", "--whole=."]
    assert longer.arguments == ["--part=1/1", "--whole=.", "--time=3600"]
    given: list[dict[str, float]] = []
    monkeypatch.setattr("selftests.suite.tasks.prepare", lambda kernel: kernel)
    monkeypatch.setattr("selftests.suite.tasks.Guest", lambda built, **more: given.append(more))
    plain.guest()
    longer.guest()
    assert [given[1][name] - given[0][name] for name in ("timeout", "silence")] == [3600, 3600]


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    from .test_tasks import outcome

    text = everything.report([outcome("b", failing=True), outcome("a")], 5, 0, [])
    assert "1 passed, 1 failed, 0 flaky" in text and "Seed 5" in text
    assert text.index("| a | 1 | 0 | 0 | 1 |") < text.index("| b | 0 | 1 | 0 | 1 |")
    assert "b: a.py::x\nE 1 != 2" in text and text.endswith("## Flaky\n\nNone.\n")
