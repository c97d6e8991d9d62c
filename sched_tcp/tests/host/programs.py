# SPDX-License-Identifier: GPL-2.0
"""Parts of sched-tcp as the tests want them: with what tells of them, and with sanitizers."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1]
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=all"
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
TIMEOUT = 300  # seconds, if something hangs


def build(to: Path, sources: str, *, wrap: str = "", flags: str = SANITIZED) -> Path:
    """Of these sources; of what is wrapped, __wrap_NAME is called instead."""
    wrapped = " ".join(f"-Wl,--wrap={name}" for name in wrap.split())
    command = ["make", "-s", "-C", str(FOLDER), str(to), f"PROGRAM={to}", f"SOURCES={sources}"]
    command += [f"CFLAGS=-g -O1 {flags}", f"LDFLAGS={wrapped}"]
    subprocess.run(command, check=True, env=ENVIRONMENT)
    return to


def run(*command: str | Path, text: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=ENVIRONMENT, timeout=TIMEOUT
    )
