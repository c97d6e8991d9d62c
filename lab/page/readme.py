# SPDX-License-Identifier: GPL-2.0
"""The numbers in README.md and docs/security.md, between their markers, from what is stored: the
demo's table, what five seeds of it give, and what a packet costs; what a sender can take."""

import csv
import re
import textwrap
from pathlib import Path

from lab.commands.bench import MEMORY_CSV
from lab.measure.reading import DataError
from lab.measure.rows import Means, interval, means
from lab.measure.tables import format_rows
from lab.page.costs import MEASURED, read_costs
from lab.page.markdown import markdown
from lab.papers.vocabulary import At, Results, ratio
from lab.run.guests import LAB
from lab.run.qdiscs import OURS

README = LAB.parent / "README.md"
SECURITY = LAB.parent / "docs/security.md"
DEMO = "demo.txt"  # in docs/results/: the table that the demo prints
WIDTH = 120
# As in README.md, of the bench's names
QDISCS = {name: name for name in ("fq_codel", "cake", "fq", "sfq", "hhf")}
QDISCS |= {name: kind for kind in sorted(OURS) for name, shown in MEASURED.items() if shown == kind}
CASES = ("100 flows", "100000 flows", "100 flows known", "100 flows, overload")
# In security.md: the cases of impolite, and what is said of them
IMPOLITE = {
    "polite": "",
    "rst": ": one flow",
    "connections": ", one after another",
    "connections-8": ": the same at 0.8 of the link",
    "streams-100 0": "",
    "pauses-40": "",
    "tuples-64 12mbit": "",
    "tuples-tcp 10": "",
    "tuples-1514 12mbit": "",
}
BESIDE = ("las", "sqf", "sift", "run2c", "fq_codel", "cake")
# In security.md, too: cases and qdiscs of forged, and how the table names them
FORGED = {
    "one": "never; packets of 64 bytes",
    "forged-64 1": "with each packet of 64 bytes",
    "forged-1514 1": "with each packet of 1514 bytes",
    "forged-64 60000": "every 2.6 s; packets of 64 bytes",
}
FORGED_QDISCS = {
    "las": "las",
    "las-hosts": "las hosts src",
    "las-hosts-1024": "las hosts src flows 32768",
    "sqf-hosts": "sqf hosts src",
    "cake-hosts": "cake dual-srchost",
    "fq_codel": "fq_codel",
}
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


def impolite(results: Results) -> str:
    """Of five downloads, short flows and a call, what each qdisc leaves them."""
    found = _stored(results, "impolite")
    lines = [["", *BESIDE]]
    for case, text in IMPOLITE.items():
        cells = [case + text]
        for values in (found[case][qdisc] for qdisc in BESIDE):
            shorts = f"{values['shorts ms']:.0f}" if "shorts ms" in values else "none"
            cells.append(f"{values['tcp Mbit/s']:.1f}, {shorts}, {_call(values)}")
        lines.append(cells)
    return "\n".join(markdown(lines)) + "\n"


def forged(results: Results) -> str:
    """What each qdisc leaves five downloads and a call beside a flood from forged sources."""
    found = _stored(results, "forged")
    lines = [["the source changes", *FORGED_QDISCS.values()]]
    for case, text in FORGED.items():
        each = (found[case][qdisc] for qdisc in FORGED_QDISCS)
        lines.append([text, *(f"{values['tcp Mbit/s']:.1f}, {_call(values)}" for values in each)])
    return "\n".join(markdown(lines)) + "\n"


def _stored(results: Results, name: str) -> Means:
    if name not in results:
        raise DataError(f"security.md: there is no {name}.csv")
    return means(results[name])


def _call(values: dict[str, float]) -> str:
    return f"{values['call loss %']:.0f} % {values['call p99 ms']:.0f}"


def parts_of(name: str, where: Path, results: Results) -> dict[str, str]:
    if name == SECURITY.name:
        return {"impolite": impolite(results), "forged": forged(results)}
    return {"demo": demo(where), "excess": excess(results), "costs": costs()}


def renewed(path: Path, where: Path, results: Results) -> str:
    """The text of the file with the parts as they are to be."""
    text = path.read_text()
    for name, part in parts_of(path.name, where, results).items():
        pattern = re.compile(PART.format(name=name), re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise DataError(f"{path.name}: not one part from 'begin: {name}' to 'end: {name}'")
        text = pattern.sub(lambda found, part=part: found[1] + part + found[2], text)
    return text


def write(where: Path, results: Results) -> None:
    for path in (README, SECURITY):
        path.write_text(renewed(path, where, results))
