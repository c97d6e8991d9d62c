# SPDX-License-Identifier: GPL-2.0
"""selftests/tdc/KIND.json by tdc, the kernel's own test driver for tc."""

import json
import subprocess
from pathlib import Path

import pytest

TDC = Path("/opt/linux/tools/testing/selftests/tc-testing")
CASES = Path(__file__).parents[1] / "tdc"

pytestmark = pytest.mark.tdc


def test_tdc(kind: str) -> None:
    """All of them, and none is left out."""
    cases = CASES / f"{kind}.json"
    command = ["./tdc.py", "-f", str(cases)]
    done = subprocess.run(
        command, cwd=TDC, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "not ok "))]
    print(done.stdout)
    good = [line for line in lines if line.startswith("ok ") and " # skip" not in line]
    assert lines == good
    assert len(good) == len(json.loads(cases.read_text()))
