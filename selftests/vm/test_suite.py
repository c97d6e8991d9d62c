# SPDX-License-Identifier: GPL-2.0
import pytest

from vm.suite import judge


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
