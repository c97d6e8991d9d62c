# SPDX-License-Identifier: GPL-2.0
"""The options through tdc, the kernel's own test driver for tc: selftests/tdc.py"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from selftests.lib.options import of
from selftests.tdc import cases

WHERE = Path("/opt/linux/tools/testing/selftests/tc-testing")

pytestmark = pytest.mark.one_kernel


def test_tdc(kind: str, tmp_path: Path) -> None:
    """What it leaves out counts as failed."""
    wanted = cases(of(kind))
    file = tmp_path / f"{kind}.json"
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
