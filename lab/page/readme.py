# SPDX-License-Identifier: GPL-2.0
"""The numbers in README.md, between its markers, from what is stored: the demo's table, what five
seeds of it give, and what a packet costs."""

import csv
import re
import textwrap
from pathlib import Path

from lab.commands.bench import MEMORY_CSV
from lab.measure.reading import DataError
from lab.measure.rows import interval
from lab.measure.tables import format_rows
from lab.page.costs import MEASURED, read_costs
from lab.papers.vocabulary import At, Results, ratio
from lab.run.guests import LAB
from lab.run.qdiscs import OURS

README = LAB.parent / "README.md"
DEMO = "demo.txt"  # in docs/results/: the table that the demo prints
WIDTH = 120
# As in README.md, of the bench's names
QDISCS = {name: name for name in ("fq_codel", "cake", "fq", "sfq", "hhf")}
QDISCS |= {name: kind for kind in sorted(OURS) for name, shown in MEASURED.items() if shown == kind}
CASES = ("100 flows", "100000 flows", "100 flows known", "100 flows, overload")
PART = r"(<!-- begin: {name} -->\n\n).*?(\n<!-- end: {name} -->)"


def demo(where: Path) -> str:
    lines = [line.rstrip() for line in (where / DEMO).read_text().splitlines()]
    return textwrap.indent("\n".join([*lines, ""]), "    ")


def excess(results: Results) -> str:
    """What las and sqf have of others' excess, by the seeds of d1-long."""

    def of(mine: str, other: str) -> str:
        pair = (At("d1-long", "base", qdisc, "excess") for qdisc in (mine, other))
        values = ratio(*pair).values(results)
        if not values:
            raise DataError("README.md: the excess is not in d1-long.csv")
        mean, half = interval(values)
        return f"{mean:.2f} ±{half:.2f}"

    seeds = len(At("d1-long", "base", "las", "excess").values(results))
    text = (
        f"With {seeds} seeds of it on the native kernel (`make figures ONLY=d1-long`) `las` has "
        f"{of('las', 'cake')} of CAKE's excess, the mean of each seed's, and {of('las', 'srpt')} "
        f"times that of SRPT, which is told the sizes; `sqf` {of('sqf', 'srpt')} times."
    )
    return textwrap.fill(text, WIDTH, break_on_hyphens=False) + "\n"


def costs() -> str:
    of = read_costs()
    rows = [["", *QDISCS.values()]]
    for case in CASES:
        rows.append([case, *(f"{of[case, name].both:.0f}" for name in QDISCS)])
    dearest = (max(of[CASES[-1], n].enqueue_max, of[CASES[-1], n].dequeue_max) for n in QDISCS)
    rows.append(["  the dearest of them", *(f"{cost:.0f}" for cost in dearest)])
    with MEMORY_CSV.open() as lines:
        rest = {row["qdisc"]: row["bytes"] for row in csv.DictReader(lines) if row["flows"] == "0"}
    rows.append(["memory at rest, KiB", *(f"{int(rest[name]) / 1024:.0f}" for name in QDISCS)])
    return textwrap.indent(format_rows(rows), "    ")


def renewed(text: str, where: Path, results: Results) -> str:
    """README.md's text with the parts as they are to be."""
    parts = {"demo": demo(where), "excess": excess(results), "costs": costs()}
    for name, part in parts.items():
        pattern = re.compile(PART.format(name=name), re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise DataError(f"README.md: not one part from 'begin: {name}' to 'end: {name}'")
        text = pattern.sub(lambda found, part=part: found[1] + part + found[2], text)
    return text


def write(where: Path, results: Results) -> None:
    README.write_text(renewed(README.read_text(), where, results))
