# SPDX-License-Identifier: GPL-2.0
"""A header of the kernel as a library of user space."""

import ctypes
from pathlib import Path

from selftests.fuzz import build


def library(source: Path) -> ctypes.CDLL:
    """Build a C file that includes the header, with what the kinds are built with there."""
    return ctypes.CDLL(str(build.library(source)))
