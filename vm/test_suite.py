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


def test_the_end_names_what_failed() -> None:
    said = "failure: kinds/tcp.sh las: not ok 3 ECN\nfailure: pytest: FAILED las/x.py::y\n"
    said += "1 passed, 2 failed\n"
    outcome = judge("6.1", said, 1, "", 1)
    assert str(outcome).splitlines() == [
        "6.1: 1 passed, 2 failed, 1 s",
        "    kinds/tcp.sh las: not ok 3 ECN",
        "    pytest: FAILED las/x.py::y",
    ]
    said = "F\n=== short test summary info ===\nFAILED lab/x.py::y - assert 0\n1 failed in 1.00s\n"
    assert str(judge("host", said, 1, "", 1)).endswith("\n    FAILED lab/x.py::y - assert 0")
