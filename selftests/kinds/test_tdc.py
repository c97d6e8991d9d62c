# SPDX-License-Identifier: GPL-2.0
"""The options through tdc, the kernel's own test driver for tc: selftests/tdc.py

test_config.py and test_refused.py check the same options of all kinds through tc. tdc starts
several programs for each case, so by default it runs one case of each form.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from selftests.lib.options import of
from selftests.tdc import Case, cases

WHERE = Path("/opt/linux/tools/testing/selftests/tc-testing")

pytestmark = pytest.mark.one_kernel


def form(case: Case) -> tuple[Any, ...]:
    """What makes a case another one to tdc, whatever the option and its value"""
    verb = " ".join(case["cmdUnderTest"].split()[1:3])
    results = [case[key] for key in ("expExitCode", "verifyCmd", "matchCount")]
    return verb, len(case["setup"]), *results


def passes(wanted: list[Case], folder: Path) -> None:
    """Run the cases. What tdc leaves out counts as failed."""
    file = folder / "cases.json"
    file.write_text(json.dumps(wanted))
    done = subprocess.run(
        ["./tdc.py", "-f", file],
        cwd=WHERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    good = re.findall(r"^ok \d+ (\w+)(?!.*# skip)", done.stdout, re.MULTILINE)
    assert sorted(good) == sorted(case["id"] for case in wanted), done.stdout[-3000:]


def test_one_case_of_each_form(tmp_path: Path) -> None:
    """One kind is enough: the cases of all kinds are made by the same code."""
    chosen = {form(case): case for case in cases(of("las"))}
    assert len(chosen) > 10
    passes(list(chosen.values()), tmp_path)


@pytest.mark.long
def test_all_cases(kind: str, tmp_path: Path) -> None:
    passes(cases(of(kind)), tmp_path)
