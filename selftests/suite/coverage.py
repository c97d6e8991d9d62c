# SPDX-License-Identifier: GPL-2.0
"""Which lines of the modules the tests execute, in the kernel that lets modules count.

What gcc wrote of each source when it built it (.gcno) and what was counted (.gcda) is read by gcov
of the same gcc.
"""

import base64
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from vm.build import INSIDE, Built, prepare
from vm.kernels import COVERAGE
from vm.root import VMError, in_namespace, on_overlay

from .stage import stage
from .tasks import Task

_GCOV = "find . -name '*.gcda' -exec gcov --json-format --stdout --branch-probabilities {} +"
# Of the tree: what is for tests only is not
_COUNTED = re.compile(r"(sch|run2c)_\w+/|include/shortfirst/")


class Counts:
    """How often, of each source: the lines, and the ways that each branch may go"""

    def __init__(self) -> None:
        self.lines: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.ways: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)

    def add(self, told: dict) -> None:
        """What gcov tells of one object; a header is in several."""
        for file in told["files"]:
            name = file["file"].removeprefix(f"/{INSIDE}/")
            if not _COUNTED.match(name):
                continue
            for line in file["lines"]:
                number = line["line_number"]
                self.lines[name][number] += line["count"]
                for way, branch in enumerate(line["branches"]):
                    self.ways[name][number, way] += branch["count"]

    def table(self) -> list[str]:
        rows = [("", "lines", "executed", "ways of branches", "taken", "lines never executed")]
        every, ways = Counter[str](), Counter[str]()
        for name in sorted(self.lines):
            lines, branches = self.lines[name], self.ways[name]
            rows.append((name, *_share(lines), *_share(branches), _ranges(lines)))
            every.update({f"{name}:{number}": count for number, count in lines.items()})
            ways.update({f"{name}:{way}": count for way, count in branches.items()})
        rows.append(("in all", *_share(every), *_share(ways), ""))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        return [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:5], widths[1:]), row[5]])
            for row in rows
        ]


def _share(counts: Counter) -> tuple[str, str]:
    """How many there are, and how many of them were not 0"""
    met = sum(count > 0 for count in counts.values())
    return str(len(counts)), f"{100 * met / len(counts):.1f} %" if counts else "-"


def _ranges(lines: Counter[int]) -> str:
    """Those with 0; of those that stand together, the first and the last"""
    found: list[list[int]] = []
    known = sorted(lines)
    for before, number in zip([0, *known], known, strict=False):
        if not lines[number] and found and found[-1][1] == before:
            found[-1][1] = number
        elif not lines[number]:
            found.append([number, number])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in found)


def _read(built: Built, counted: dict[str, str]) -> Iterable[dict]:
    """What gcov tells of a guest's counts"""
    home = built.home / "gcov"
    shutil.rmtree(home, ignore_errors=True)
    for name, data in counted.items():
        path = home / "upper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
    script = f"cd /{INSIDE} && {_GCOV} 2>/gcov.said"
    command = on_overlay([built.upper, *built.lower], home, ["sh", "-c", script])
    with open(home / "told", "wb") as out:
        status = in_namespace(command, out)
    told = (home / "told").read_text().splitlines()
    if status or not told:
        raise VMError(f"gcov failed:\n{(home / 'upper/gcov.said').read_text()[-2000:]}")
    return [json.loads(line) for line in told]


def run(guests: Sequence[Task]) -> int:
    """Run these guests of that kernel, and print the table; the exit status."""
    built = prepare(COVERAGE)
    outcomes = stage(guests, len(os.sched_getaffinity(0)))
    counts = Counts()
    for outcome in outcomes:
        if not outcome.verdicts.counts:
            raise VMError(f"{outcome.where} did not report what was executed")
        for told in _read(built, outcome.verdicts.counts):
            counts.add(told)
    print("\n".join(["", *counts.table()]))
    return 1 if any(outcome.failures for outcome in outcomes) else 0
