# SPDX-License-Identifier: GPL-2.0
"""What the cover letters say; their numbers are those of docs/results."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from .flatten import TOP, FlattenError
from .series import Patch

RESULTS = TOP / "docs/results"
_HERE = Path(__file__).parent
D1 = RESULTS / "d1-load.csv"
LOAD = "load-0.9"
HOME = RESULTS / "home.csv"
COSTS = RESULTS / "bench/costs.csv"
QDISCS = ("pfifo", "fq_codel", "cake", "las")
COSTLY = ("fq_codel", "cake", "las", "las-rate", "las-hosts")
CASES = (
    "100 flows",
    "100000 flows",
    "100 flows known",
    "100 flows, IPv6",
    "100 flows, overload",
    "SYN flood",
    "SYN flood, overload",
    "GSO of 44 segments",
)


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = ""
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text += "  " + "  ".join(cells).rstrip() + "\n"
    return text


def d1() -> str:
    """Downloads: means over all seeds that are stored"""
    rows = [row for row in _rows(D1) if row["case"] == LOAD]
    columns = ("ms <=8", "max ms <=8", "ms 21-100", "ms >100", "slowdown", "excess")
    made = []
    for qdisc in QDISCS:
        own = [row for row in rows if row["qdisc"] == qdisc]
        if not own:
            raise FlattenError(f"{D1.name} has no {qdisc}")
        values = [[float(row[name]) for row in own if row[name]] for name in columns]
        made.append([qdisc, *(f"{fmean(each):.2f}" if each else "-" for each in values)])
    return _table(["", *columns], made)


def home() -> str:
    """Two hosts: what one has while the other downloads, fetches or floods"""
    rows = _rows(HOME)
    columns = ("call loss %", "call p99 ms", "download Mbit/s", "slowdown")
    made = []
    for case in ("downloads", "fetches", "flood"):
        for qdisc in ("fq_codel", "cake", "cake-hosts", "las", "las-hosts"):
            own = [row for row in rows if (row["case"], row["qdisc"]) == (case, qdisc)]
            if not own:
                raise FlattenError(f"{HOME.name} has no {qdisc} in {case}")
            values = [[float(row[name]) for row in own if row[name]] for name in columns]
            made.append([case, qdisc, *(f"{fmean(v):.2f}" if v else "-" for v in values)])
    return _table(["", "", *columns], made)


def costs() -> str:
    """Instructions for enqueue and dequeue"""
    found = {(row["qdisc"], row["case"]): row for row in _rows(COSTS)}

    def cost(qdisc: str, case: str) -> str:
        row = found[qdisc, case]
        return f"{float(row['enqueue']) + float(row['dequeue']):.0f}"

    return _table(["", *COSTLY], ([case, *(cost(each, case) for each in COSTLY)] for case in CASES))


def _sizes(patches: Sequence[Patch]) -> str:
    was: dict[str, int] = {}
    rows = []
    for i, patch in enumerate(patches, 1):
        lines = {name: text.count("\n") for name, text in patch.files.items()}
        new = sum(
            n - was.get(name, 0)
            for name, n in lines.items()
            if name.endswith(("las.c", ".json", ".sh", ".rst", ".8"))
        )
        was |= lines
        rows.append([f"{i}", f"{new}", patch.title])
    return "".join(f"  {number:>2}  {lines:>5}  {title}\n" for number, lines, title in rows)


def kernel(patches: Sequence[Patch]) -> str:
    (source,) = {name for patch in patches for name in patch.files if name.endswith("las.c")}
    lines = max(p.files[source].count("\n") for p in patches if source in p.files)
    seeds = len({row["seed"] for row in _rows(D1) if row["case"] == LOAD})
    text = (_HERE / "linux/cover.txt").read_text()
    return text.format(
        lines=lines, sizes=_sizes(patches), d1=d1(), home=home(), costs=costs(), seeds=seeds
    )


def iproute2() -> str:
    return (_HERE / "iproute2/cover.txt").read_text()
