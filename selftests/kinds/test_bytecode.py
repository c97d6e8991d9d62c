# SPDX-License-Identifier: GPL-2.0
"""No program in Python compiles the modules that it imports: each test would take longer."""

import re
import subprocess

MODULES = "argparse json pytest socket subprocess"


def test_modules_are_compiled() -> None:
    command = ["python3", "-v", "-c", f"import {', '.join(MODULES.split())}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    sources = re.findall(r"^# code object from '?(.*?)'?$", said, re.MULTILINE)
    assert len(sources) > 20
    assert not [path for path in sources if not path.endswith(".pyc")]
