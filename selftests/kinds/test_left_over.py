# SPDX-License-Identifier: GPL-2.0
"""After all other tests: nothing has leaked, and the modules can go.

kmemleak finds what nobody can reach any more: with all modules, whose names it can tell then, and
without them. What there was before the tests is forgotten by guest.py.
"""

import time
from pathlib import Path

import pytest

from selftests.guest import KINDS, KMEMLEAK
from selftests.lib.command import run, unload

pytestmark = [pytest.mark.last, pytest.mark.each_kernel, pytest.mark.debug_kernel]
OURS = {"sch_gate", "sch_srpt", "run2c_isn", *(f"sch_{kind}" for kind in KINDS)}


def nothing_leaked() -> None:
    time.sleep(6)  # what is younger than 5 s is not reported,
    for _ in range(2):  # nor what one scan alone has found
        KMEMLEAK.write_text("scan")
    left = KMEMLEAK.read_text()
    KMEMLEAK.write_text("clear")
    assert not left


def loaded() -> list[str]:
    """Those of ours, the last loaded first"""
    found = [line.split()[0] for line in Path("/proc/modules").read_text().splitlines()]
    return [name for name in found if name in OURS]


@pytest.mark.kmemleak
def test_leaks() -> None:
    nothing_leaked()


def test_unload() -> None:
    assert "sch_gate" in loaded()
    for _ in range(2):  # had something of a kind been left, the kernel would stumble over it
        for kind in KINDS:
            run(f"modprobe sch_{kind}")
        for name in loaded():
            unload(name)
        assert not loaded()


@pytest.mark.kmemleak
def test_leaks_of_modules() -> None:
    nothing_leaked()
