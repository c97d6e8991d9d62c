# SPDX-License-Identifier: GPL-2.0
from pathlib import Path

import pytest

from vm.guest import FAILED, Guest, Result

GOOD = Result(0, "", Path(), Path(), 1)
DEAD = Result(FAILED, "kernel trouble: [    5.124794] Oops: int3: 0000 [#1]", Path(), Path(), 1)
SILENT = Result(FAILED, "no output for 120 s", Path(), Path(), 1)


@pytest.mark.parametrize(
    ("mode", "runs", "expected"),
    [
        ("functional", [(GOOD, True)], GOOD),
        ("functional", [(DEAD, False), (GOOD, True)], GOOD),
        ("functional", [(DEAD, False), (DEAD, False)], DEAD),
        ("functional", [(DEAD, True)], DEAD),  # something of ours may have done it
        ("functional", [(SILENT, False)], SILENT),
        ("virtual", [(DEAD, False)], DEAD),
    ],
)
def test_second_chance(
    monkeypatch: pytest.MonkeyPatch, mode: str, runs: list[tuple[Result, bool]], expected: Result
) -> None:
    guest = object.__new__(Guest)
    guest.mode = mode
    left = list(runs)
    monkeypatch.setattr(guest, "_run", lambda on_line: left.pop(0), raising=False)
    assert guest.run() == expected
    assert not left
