# SPDX-License-Identifier: GPL-2.0
"""What is made of gcov's answers."""

from .coverage import Counts


def line(number: int, count: int, *ways: int) -> dict:
    branches = [{"count": way} for way in ways]
    return {"line_number": number, "count": count, "branches": branches}


def told(name: str, *lines: dict) -> dict:
    return {"files": [{"file": name, "lines": list(lines)}]}


def test_a_header_in_two_objects() -> None:
    """Executed is what one of them has executed; the kernel's own headers are left out."""
    counts = Counts()
    header = "include/shortfirst/gso.h"
    counts.add(told(header, line(5, 0, 0, 0), line(6, 0), line(7, 0), line(9, 2)))
    counts.add(told(f"/build/shortfirst/{header}", line(5, 3, 3, 0), line(6, 0), line(7, 0)))
    counts.add(told("include/linux/skbuff.h", line(1, 0)))
    counts.add(told("selftests/modules/sch_gate.c", line(1, 0)))
    counts.add(told("sch_gate.c", line(1, 0)))  # gcov tells of what make was run in
    head, row, whole = counts.table()
    assert row.split() == [header, "4", "50.0", "%", "2", "50.0", "%", "6-7"]
    assert whole.split() == ["in", "all", "4", "50.0", "%", "2", "50.0", "%"]
    assert head.index("lines") < head.index("taken")


def test_ranges() -> None:
    """Lines without code between them are none that were not executed."""
    counts = Counts()
    lines = [line(n, 0) for n in (2, 8, 9)] + [line(n, 1) for n in (4, 12)] + [line(14, 0)]
    counts.add(told("sch_x/sch_x.c", *lines))
    assert counts.table()[1].endswith("  2, 8-9, 14")
