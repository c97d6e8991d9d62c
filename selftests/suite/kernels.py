# SPDX-License-Identifier: GPL-2.0
"""All tests on kernels that are named: `make test KERNEL=...`, and a part of `make test-all`."""

from collections.abc import Sequence

from vm.kernels import COVERAGE, KCSAN, NATIVE, SANITIZED
from vm.processors import FOREIGN, ROOTLESS
from vm.root import VMError

from .tasks import InGuest, Smoke, Task

# Guests that all tests of a kernel are divided among
PARTS = {NATIVE: 5, COVERAGE: 5, SANITIZED: 5, KCSAN: 1}
OTHER_PARTS = 2
# In QEMU a kernel runs all tests that depend on it, and one share in SHARES of the others.
SHARES = 32
# On other processors it takes a minute until the first test runs.
FOREIGN_PARTS = 1
FOREIGN_SHARES = 48


def _shares(kernel: str) -> int:
    if kernel in PARTS:
        return 1
    return FOREIGN_SHARES if kernel in FOREIGN else SHARES


def tasks(
    kernel: str, tests: Sequence[str] = (), *, seconds: float = 0, seed: int = 1
) -> list[Task]:
    """
    All tests of a kernel, or those named as pytest wants it.

    seconds: how long tests with several processors run, 0 for their default
    seed: of what is random, and of which share is run
    """
    if kernel in ROOTLESS:
        if tests:
            raise VMError(f"{kernel} has no pytest: leave TESTS out to run its smoke test")
        return [Smoke(kernel)]
    parts = PARTS.get(kernel, FOREIGN_PARTS if kernel in FOREIGN else OTHER_PARTS)
    parts = 1 if tests else parts
    shares = 1 if tests else _shares(kernel)
    shift = sum(map(ord, kernel))  # other kernels run other shares
    given = ["--whole=."] if shares == 1 else [f"--share={(seed + shift) % shares}/{shares}"]
    given += [f"--time={seconds:g}"] if seconds else []
    return [
        InGuest(kernel, [*given, *tests], part=part, parts=parts, seconds=seconds, seed=seed)
        for part in range(1, parts + 1)
    ]
