# SPDX-License-Identifier: GPL-2.0
"""sftop as the tests want it: with messages from files, and with sanitizers."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1]
MODEL = "model.c read.c format.c output.c"
LIVE = f"main.c {MODEL} screen.c draw.c names.c"
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=all"
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def build(to: Path, sources: str, *more: Path, flags: str = SANITIZED) -> Path:
    """Of these sources of sftop, and more."""
    subprocess.run(
        ["make", "-s", "-C", FOLDER, to, f"PROGRAM={to}", f"CFLAGS=-g -O1 {flags}", "SCREEN=y"]
        + [f"SOURCES={sources} {' '.join(map(str, more))}"],
        check=True,
    )
    return to
