# SPDX-License-Identifier: GPL-2.0
"""The faults that the gate has to find."""

from pathlib import Path

import pytest

from vm.build import CHECKOUT
from vm.root import VMError

from . import planted


@pytest.mark.parametrize("fault", planted.faults(), ids=lambda fault: fault["name"])
def test_there_is_a_place_for_it(fault: dict[str, str]) -> None:
    text = (CHECKOUT / fault["file"]).read_text()
    assert text.count(fault["was"]) == 1 and fault["is"] != fault["was"]


FAULT = {"name": "x", "file": "a.c", "was": "one", "is": "two", "says": "KASAN: .*x"}


def test_plant(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("one;\n")
    planted.plant(FAULT, tmp_path)
    assert (tmp_path / "a.c").read_text() == "two;\n"
    with pytest.raises(VMError, match="no single place for the fault 'x'"):
        planted.plant(FAULT, tmp_path)


@pytest.mark.parametrize(
    ("status", "said", "found"),
    [
        (1, "a\n  FAILED KASAN: free in x\n", "FAILED KASAN: free in x"),
        (0, "KASAN: free in x", ""),
        (1, "the disk is full", ""),
    ],
)
def test_named(status: int, said: str, found: str) -> None:
    """Red for another reason does not count."""
    assert planted.named(FAULT, status, said) == found
