# SPDX-License-Identifier: GPL-2.0
"""Build the tree against a stock distribution kernel and run jobs on that kernel, in QEMU or
in user-mode Linux."""

from .build import Built, prepare, versions
from .guest import Guest, Result
from .kernels import NATIVE
from .root import VMError
from .workers import Workers

__all__ = ["NATIVE", "Built", "Guest", "Result", "VMError", "Workers", "prepare", "versions"]
