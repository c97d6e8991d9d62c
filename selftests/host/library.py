# SPDX-License-Identifier: GPL-2.0
"""A header of the kernel as a library of user space."""

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"


def library(source: Path, headers: Sequence[str]) -> ctypes.CDLL:
    """Build a C file that includes the header.

    The kernel headers that this one includes are named, and are empty: kernel.h has what is used.
    """
    with tempfile.TemporaryDirectory() as where:
        path = Path(where)
        (path / "linux").mkdir()
        for header in headers:
            (path / "linux" / header).touch()
        built = path / "library.so"
        subprocess.run(
            ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
            + ["-fno-sanitize-recover", "-fPIC", "-shared", f"-I{path}", f"-I{INCLUDE}"]
            + [f"-I{HERE}", "-o", built, source],
            check=True,
        )
        return ctypes.CDLL(str(built))
