# SPDX-License-Identifier: GPL-2.0
import pytest

from vm import suite
from vm.suite import Outcome, judge


@pytest.mark.parametrize(
    "said, status, passed, failed",
    [
        ("..\n2 passed, 0 failed\n", 0, 2, 0),
        ("..F\n==== FAILURES ====\n1 failed, 2 passed in 3.21s\n", 1, 2, 1),
        ("E\n1 failed, 40 passed, 1 skipped, 2 errors in 300.01s (0:05:00)\n", 1, 40, 3),
        ("5 passed, 0 failed\n", 1, 5, 1),  # something failed, though nobody said what
        ("the guest passed away\n", 0, 0, 1),
        ("", 0, 0, 1),
    ],
)
def test_judge(said: str, status: int, passed: int, failed: int) -> None:
    outcome = judge("6.1", said, status, "", 1)
    assert (outcome.passed, outcome.failed) == (passed, failed)


def test_trouble_in_the_guest_is_a_failure() -> None:
    outcome = judge("6.1", "9 passed, 0 failed\n", 125, "kernel trouble: BUG", 1)
    assert str(outcome) == "6.1: 9 passed, 1 failed, 1 s, kernel trouble: BUG"


def test_the_end_names_what_failed() -> None:
    said = "failure: kinds/tcp.sh las: not ok 3 ECN\nfailure: pytest: FAILED las/x.py::y\n"
    said = f"left out: tdc\n{said}1 passed, 2 failed\n"
    outcome = judge("6.1", said, 1, "", 1)
    assert str(outcome).splitlines() == [
        "6.1: 1 passed, 2 failed, 1 s",
        "    left out: tdc",
        "    kinds/tcp.sh las: not ok 3 ECN",
        "    pytest: FAILED las/x.py::y",
    ]
    said = "F\n=== short test summary info ===\nFAILED lab/x.py::y - assert 0\n1 failed in 1.00s\n"
    assert str(judge("host", said, 1, "", 1)).endswith("\n    FAILED lab/x.py::y - assert 0")


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
    ],
)
def test_what_fails_fast_ends_it(
    monkeypatch: pytest.MonkeyPatch,
    kernels: list[str],
    failing: str,
    status: int,
    asked: set[str],
) -> None:
    done: list[tuple[str, ...]] = []

    def outcome(kernel: str, part: suite.Part = ()) -> Outcome:
        done.append((kernel, *part))
        return Outcome(kernel, 1, int(kernel == failing), 1)

    monkeypatch.setattr(suite, "_host", lambda where: outcome("host"))
    monkeypatch.setattr(suite, "_guest", outcome)
    assert suite.run(kernels) == status
    assert {kernel for kernel, *_ in done} == asked
    for kernel in asked - {"host"}:
        assert {each[1:] for each in done if each[0] == kernel} == set(suite.parts(kernel))


def test_a_guest_that_cannot_be_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kernel: str, part: suite.Part) -> Outcome:
        raise RuntimeError

    monkeypatch.setattr(suite, "_host", lambda where: Outcome(where, 1, 0, 1))
    monkeypatch.setattr(suite, "_guest", broken)
    with pytest.raises(RuntimeError):
        suite.run(["native"])


def test_no_host_test_is_left_out() -> None:
    """What one process ignores another one does."""
    named = [name for names in suite.HOST_TESTS.values() for name in names]
    ignored = {name.removeprefix("--ignore=") for name in named if name.startswith("--")}
    assert ignored == set(suite.WAITING) <= set(named)


def test_each_kind_has_its_guest() -> None:
    parts = suite.parts("native")
    assert ("packets",) in parts and {("scripts", "las"), ("scripts", "sqf")} <= set(parts)
    assert suite.parts("6.1") == [("scripts",), ("packets",)]
