# SPDX-License-Identifier: GPL-2.0
"""What the plugin selftests/report.py reports of tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from vm.build import CHECKOUT

from .verdicts import Verdicts, read

TESTS = {
    "test_good.py": "def test_good(): pass",
    "test_bad.py": "def test_bad():\n    print('said')\n    assert 1 == 2, 'why'",
    "test_skip.py": "import pytest\n\n@pytest.mark.skip\ndef test_skip(): pass",
    "test_end.py": "import pytest\n\n@pytest.fixture\ndef x():\n    yield\n    raise OSError(7)\n"
    "\ndef test_end(x): pass",
    "test_known.py": "import pytest\n\n@pytest.mark.xfail\ndef test_known(): assert 0",
}


def reported(where: Path, tests: dict[str, str]) -> Verdicts:
    """What the plugin reports of these tests"""
    for name, text in tests.items():
        (where / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={where}"]
    environment = {"PYTHONPATH": str(CHECKOUT), "SF_REPORT": str(where / "report"), "PATH": ""}
    command += ["-p", "selftests.report", str(where)]
    subprocess.run(command, env=environment, capture_output=True)
    return read((where / "report").read_text())


def test_report(tmp_path: Path) -> None:
    """A skipped test has failed, and so has one that is expected to fail."""
    results = reported(tmp_path, TESTS)
    assert {test.name.split("::")[1]: test.passed for test in results.tests} == {
        "test_good": True,
        "test_bad": False,
        "test_skip": False,
        "test_end": False,
        "test_known": False,
    }
    texts = {test.name.split("::")[1]: test.text for test in results.tests}
    assert "AssertionError: why" in texts["test_bad"] and "said" in texts["test_bad"]
    assert texts["test_end"].startswith("teardown: ") and "OSError: 7" in texts["test_end"]
    assert results.status == 1 and len(results.failures()) == 4


def test_report_of_an_unreadable_file(tmp_path: Path) -> None:
    results = reported(tmp_path, {"test_good.py": TESTS["test_good.py"], "test_no.py": "def"})
    failures = results.failures()
    assert failures[0].startswith("test_no.py: ") and "SyntaxError" in failures[0]
    assert failures[1] == "1 tests did not run, the first is test_good.py::test_good"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def test_x(): assert 1 == 2", ""),
        ("FAULT = 'a fault'\ndef test_x(): assert 1 == 2", "a fault"),
        ("FAULT = 'a fault'\ndef test_x(): pass", ""),
        ("import os\nFAULT = 'a fault'\ndef test_x(): os.fspath(1)", "a fault"),
        (
            "def test_x(): assert 0, '==7==ERROR: LeakSanitizer: detected memory leaks'",
            "a sanitizer reports a fault",
        ),
        (
            "def test_x(): assert 0, 'a.c:3:5: runtime error: index 9'",
            "a sanitizer reports a fault",
        ),
        (
            "def test_x():\n    print('==7==ERROR: AddressSanitizer: x', 'y' * 9999)\n    assert 0",
            "a sanitizer reports a fault",
        ),
    ],
)
def test_what_cannot_be_chance(tmp_path: Path, text: str, fault: str) -> None:
    results = reported(tmp_path, {"test_x.py": text})
    assert results.tests[0].fault == fault


def test_fault_of_the_frame_that_fails(tmp_path: Path) -> None:
    """The failing assertion's module counts, not the modules that call it."""
    results = reported(
        tmp_path,
        {
            "helper.py": "FAULT = 'a fault'\ndef check(call): call()",
            "test_x.py": "from helper import check\n\ndef no(): assert 0\n\n"
            "def test_x(): check(no)",
        },
    )
    assert not results.tests[0].passed and results.tests[0].fault == ""


def test_every_pair_says_that_a_difference_is_a_fault() -> None:
    """Each module that compares a qdisc with its model, if it does so by itself"""
    for path in [*CHECKOUT.glob("sch_*/tests/pair.py"), CHECKOUT / "selftests/lib/pair.py"]:
        text = path.read_text()
        assert "assert " not in text or "\nFAULT = " in text, path
