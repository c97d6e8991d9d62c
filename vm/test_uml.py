# SPDX-License-Identifier: GPL-2.0
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from vm import qemu, uml
from vm.build import Built
from vm.machine import FUNCTIONAL, REAL, VIRTUAL
from vm.root import VMError


@pytest.mark.parametrize(
    ("mode", "terminal", "travels"),
    [
        (FUNCTIONAL, False, True),
        (FUNCTIONAL, True, False),
        (VIRTUAL, False, True),
        (REAL, False, False),
    ],
)
def test_only_virtual_time_travels(
    tmp_path: Path, mode: str, terminal: bool, travels: bool
) -> None:
    built = Built("native", "7.2-native", tmp_path, tmp_path, tmp_path)
    made = uml.machine(built, mode, 7, tmp_path, terminal)
    assert ("time-travel=inf-cpu" in made.command) == travels
    assert made.environment and made.environment.get("SF_SEED") == "7"


def test_an_emulator_is_no_real_processor(tmp_path: Path) -> None:
    built = Built("6.1", "6.1", tmp_path, tmp_path)
    with pytest.raises(VMError, match="in QEMU"):
        qemu.machine(built, REAL, 7, tmp_path, False)


def test_memory_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be found missing, by a signal, when the guest is half done."""
    little = SimpleNamespace(f_bavail=64 << 8, f_frsize=4096)  # as a container has by default
    monkeypatch.setattr(os, "statvfs", lambda _: little)
    built = Built("native", "7.2-native", tmp_path, tmp_path, tmp_path)
    with pytest.raises(VMError, match="make it larger"):
        uml.machine(built, VIRTUAL, 7, tmp_path, False)
