# SPDX-License-Identifier: GPL-2.0
"""A comparison's page: what is compared, what came out, its picture, and all of its tables."""

import re
from collections import Counter
from collections.abc import Iterator

from lab.measure.rows import Means, Rows, means
from lab.measure.tables import LESS, TABLES, best, every_table, format_rows, winners
from lab.page.advice import CRITERIA, Criterion, overall
from lab.page.costs import REFERENCE
from lab.page.markdown import markdown, part
from lab.run import experiment as files
from lab.run.experiment import Experiment
from lab.run.qdiscs import FLOOR, ORACLE, OURS

# Of which metrics a table's sentence tells who is best
LEADING = {
    "flows": r"excess|slowdown|ms <=8",
    "loss": r"loss %",
    "steady": r"\w+ (p99 ms|loss %|late %)",
    "fetched": r"(tcp|download|others) Mbit/s|shorts (ms|done)|web page ms",
    "bulk": r"bulk (Mbit/s|Jain)",
}
# What came out is told of these, if they have been measured, and of no more than some
TOLD = ("web page ms", "excess", "slowdown", "ms <=8", "shorts ms", "call p99 ms", "video late %")
TOLD += ("tcp Mbit/s", "download Mbit/s", "bulk Mbit/s")
MOST_TOLD = 3


def leaders(rows: Rows, pattern: str) -> str:
    """Who is best, of each such metric: in how many of the cases, where these are several."""
    of: dict[str, list[list[str]]] = {}
    for (_, metric), names in best(rows).items():
        if re.fullmatch(pattern, metric):
            of.setdefault(metric, []).append(names)
    everybody = {q for _, q, _ in rows} - {FLOOR, *ORACLE}
    told = []
    for metric, cases in of.items():
        count = Counter(q for names in cases for q in names)
        first = [q for q, number in count.items() if number == max(count.values())]
        if len(first) > MOST_TOLD:
            text = f"{len(first)} of {len(everybody)} alike"
        elif len(cases) == 1:
            text = ", ".join(first)
        else:
            text = ", ".join(f"{q} in {number}" for q, number in count.most_common(MOST_TOLD))
            text += f" of {len(cases)} cases"
        told.append(f"{'least' if LESS.fullmatch(metric) else 'most'} {metric}: {text}")
    text = "; ".join(told)
    return text[:1].upper() + text[1:] + "." if text else ""


def of_reference(of: Means, criterion: Criterion) -> str:
    """What ours have of the reference's, or where that tells nothing both."""
    found = overall([of], criterion)
    mine = {q: x for q, x in found.of.items() if q in OURS}
    if not mine or REFERENCE not in found.of:
        return ""
    shown = ", ".join(f"{q} {part(x)}" for q, x in mine.items())
    if criterion.part:
        return f"{criterion.short}: {shown} of {REFERENCE}'s"
    return f"{criterion.short}, {criterion.unit}: {shown}, {REFERENCE} {part(found.of[REFERENCE])}"


def outcome(rows: Rows) -> str:
    """What came out, in a sentence."""
    by_metric = {criterion.metric: criterion for criterion in CRITERIA}
    found = means(rows)
    told = [of_reference(found, by_metric[metric]) for metric in TOLD]
    text = "; ".join([one for one in told if one][:MOST_TOLD])
    return f"{text[0].upper()}{text[1:]}." if text else leaders(rows, LEADING["flows"])


def setup(name: str) -> str:
    """What the experiment's file says of itself."""
    lines = (files.EXPERIMENTS / f"{name}.toml").read_text().splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        if "SPDX" not in line:
            comment.append(line[1:].removeprefix(" "))
    return "\n".join(comment)


def tables(rows: Rows, experiment: Experiment) -> Iterator[str]:
    """Each with a sentence."""
    for what, lines in every_table(rows, experiment.against):
        yield f"{TABLES[what]}. {leaders(rows, LEADING.get(what, ''))}".rstrip() + "\n"
        yield f"```\n{format_rows(lines)}```\n"


def behind(rows: Rows) -> Iterator[str]:
    table = winners(rows)
    worse = sum(line[-1] != "-" for line in table[1:])
    yield "## Where ours are behind\n"
    yield (
        f"Of each case and metric the best, and which of ours are worse than which peers by more "
        f"than chance makes it: of {len(table) - 1} lines, {worse} name some. "
        "[experiments.md](../experiments.md) tells how that is decided. A `-` says that so few "
        "seeds do not show any to be worse, not that none is.\n"
    )
    yield "\n".join(markdown(table)) + "\n"


def page(rows: Rows, experiment: Experiment, drawn: bool) -> Iterator[str]:
    """The lines below the title."""
    name = experiment.name
    qdiscs = next(iter(experiment.cases.values()))["qdiscs"].values()
    yield f"{outcome(rows)}\n"
    if drawn:
        yield f"![{experiment.title}]({name}.svg)\n"
    yield "## What is compared\n"
    yield setup(name) + "\n"
    yield (
        f"Qdiscs: {', '.join(f'`{words}`' for words in qdiscs)}. Seeds: {len(experiment.seeds)}. "
        f"All of it is in [{name}.toml](../../lab/experiments/{name}.toml); `make figures "
        f"ONLY={name}` measures it anew.\n"
    )
    yield "## What is measured\n"
    yield from tables(rows, experiment)
    if experiment.place and experiment.place.advice:
        yield from behind(rows)
