# SPDX-License-Identifier: GPL-2.0
"""Build the tree against a stock distribution kernel and run jobs on that kernel, in QEMU or
in user-mode Linux."""

from .build import Built, prepare, versions
from .guest import Guest, Result
from .root import VMError
from .workers import Workers

__all__ = ["Built", "Guest", "Result", "VMError", "Workers", "prepare", "versions"]
