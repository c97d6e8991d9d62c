# SPDX-License-Identifier: GPL-2.0
"""docs/results.md and its pictures, from the CSVs in docs/results/ alone."""

import fnmatch
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.measure.rows import interval
from lab.measure.tables import tables
from lab.page import kernels
from lab.page.advice import choose
from lab.page.experiment_pictures import draw_experiment
from lab.page.markdown import digits, markdown
from lab.page.paper_pictures import picture
from lab.page.stored import load, load_notes
from lab.papers.index import ITEMS
from lab.papers.vocabulary import THEORY, Item, Results, Row, value_of
from lab.run.experiment import Experiment, on_page

# Of the notes: on a paper's names, and on bounds that are not met
ABOUT, BOUNDS = "about", "bounds"
MOST = 0.1  # a deviation beyond this part has its sentence
MISSING = "missing"
HEAD = ["", "measured", "paper", "model", "deviation"]


def shown(values: list[float]) -> str:
    mean, half = interval(values)
    return digits(mean) + ("" if math.isnan(half) or not half else f" ±{float(f'{half:.2g}'):g}")


def deviation(
    number: float, reference: float, of_what: str, bound: str = "", scale: float | None = None
) -> str:
    """How far off it is, "" if by no more than MOST, or on the right side of a bound."""
    if (bound == ">=" and number >= reference) or (bound == "<=" and number <= reference):
        return ""
    whole, more = abs(scale or reference), number - reference
    part = more / whole if whole else math.copysign(math.inf, more)
    if abs(part) <= MOST or not more:
        return ""
    return f"{more:+.3g} against {of_what}" if scale else f"{100 * part:+.0f} % of {of_what}"


@dataclass
class Page:
    results: Results
    notes: dict[str, dict[str, str]]
    wanted: set[str] | None = None  # experiments; None: all. What else is missing, is not told
    missing: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)  # deviations without a sentence
    used: set[tuple[str, str]] = field(default_factory=set)

    def note(self, item: str, what: str) -> str:
        for pattern, sentence in self.notes.get(item, {}).items():
            if fnmatch.fnmatchcase(what, pattern):
                self.used.add((item, pattern))
                return sentence
        return ""

    def miss(self, what: str, *experiments: Any) -> None:
        """Once: the first of the experiments that has not run (if any is to), or else this."""
        gone = [name for name in experiments if name and name not in self.results]
        what = gone[0] if gone else what
        if what not in self.missing:
            self.missing.append(what)

    def cells(self, item: Item, row: Row) -> list[str]:
        measured = row.measured.values(self.results) if row.measured else []
        number = sum(measured) / len(measured) if measured else None
        model = value_of(row.model, self.results)
        if row.measured and number is None or row.model and model is None:
            needed = (row.measured and item.experiment, row.model and THEORY)
            self.miss(f"{item.key}: {row.what}", *needed)
        result = number if row.measured else model
        said = []
        if result is not None:
            if row.paper is not None:
                said.append(deviation(result, row.paper, "the paper", row.bound, row.scale))
            if row.measured and model is not None:
                said.append(deviation(result, model, "the model", "", row.scale))
        why = ", ".join(filter(None, said))
        if why:
            sentence = self.note(item.key, row.what)
            # A part is of short runs, or of other cases than those of the page
            if not sentence and self.wanted is None:
                self.unsaid.append(f"{item.key}: {row.what}: {why}")
                sentence = "**not explained**"
            why += f": {sentence}" if sentence else ""
        paper = "-" if row.paper is None else row.bound.replace("=", "= ") + digits(row.paper)
        return [
            row.what,
            "-" if not row.measured else shown(measured) if measured else f"**{MISSING}**",
            paper,
            "-" if not row.model else f"**{MISSING}**" if model is None else digits(model),
            why,
        ]

    def item(self, item: Item, picture: str) -> Iterator[str]:
        yield f"### {item.title}\n"
        if item.reason:
            yield item.reason + "\n"
        if item.panels and self.measured(item):
            yield f"![{item.title}]({picture}/{item.key}.svg)\n"
        rows = [row for row in item.rows if self.wanted is None or self.has(row)]
        if rows:
            yield from markdown([HEAD, *(self.cells(item, row) for row in rows)])
            yield ""
        if item.experiment:
            yield f"`make figures ONLY={item.experiment}`\n"

    def has(self, row: Row) -> bool:
        return not row.measured or bool(row.measured.values(self.results))

    def measured(self, item: Item) -> bool:
        """Whether there is something to draw."""
        return (item.experiment or THEORY) in self.results

    def here(self, item: Item) -> bool:
        return self.wanted is None or item.experiment is None or item.experiment in self.wanted

    def idle_notes(self) -> Iterator[str]:
        """Those that explain nothing, but for items that are not measured yet."""
        later = {i.key for items in ITEMS.values() for i in items if not self.measured(i)}
        for item, patterns in self.notes.items():
            for pattern in patterns if item not in {ABOUT, BOUNDS, kernels.NOTE, *later} else ():
                if (item, pattern) not in self.used:
                    yield f"{item}: nothing deviates where a note is on {pattern!r}"

    def comparison(self, experiment: Experiment, where: Path) -> Iterator[str]:
        name = experiment.name
        qdiscs = next(iter(experiment.cases.values()))["qdiscs"].values()
        yield f"### {name}\n\n{experiment.title}: `lab/experiments/{name}.toml`\n"
        shown = ", ".join(f"`{words}`" for words in qdiscs)
        yield f"Qdiscs: {shown}. Seeds: {len(experiment.seeds)}.\n"
        rows = self.results.get(name)
        if not rows:
            self.miss("", name)
            yield f"**{MISSING}**\n"
            return
        gone = [run for run in experiment.runs if run not in rows]
        if gone and self.wanted is None:
            self.miss(f"{name}: {len(gone)} run(s)")
        if draw_experiment(rows, experiment, where / name, png=False):
            yield f"![{experiment.title}]({where.name}/{name}.svg)\n"
        yield f"```\n{tables(rows, experiment.against)}```\n"

    def text(self, where: Path) -> str:
        """`where` the pictures are."""
        lines = [
            "<!-- Generated by lab/page/results.py from the CSVs beside it. Do not edit. -->",
            "# Results\n",
            "What the articles show, measured on the real kernel, beside what they say in numbers "
            "and what the models in `lab/models` give. Nothing is read off their pictures: where "
            "an article has no number in its text or tables, there is none here. Of several seeds "
            "there are the mean and its 95 % confidence interval. `make figures` makes all of "
            "this anew, the same to the byte; [experiments.md](experiments.md) tells how to "
            "measure something of your own, [kernels.md](kernels.md) how far the native kernel, "
            "on which all of it runs, is from a distribution's.\n",
        ]
        for paper, items in ITEMS.items():
            lines.append(f"## {paper}\n")
            about = self.notes.get(ABOUT, {}).get(paper)
            lines += [about + "\n"] if about else []
            for item in items:
                if self.here(item):
                    lines += self.item(item, where.name)
        lines.append("## Comparisons\n")
        compared = [each for each in on_page() if each.place.section == "comparisons"]
        for experiment in compared:
            if self.wanted is None or experiment.name in self.wanted:
                lines += self.comparison(experiment, where)
        names = [each.name for each in compared if each.place.advice and each.name in self.results]
        lines += choose({name: self.results[name] for name in names})
        if self.wanted is None:
            self.unsaid += self.idle_notes()
        return "\n".join(lines).rstrip("\n") + "\n"


def write(where: Path, wanted: set[str] | None = None) -> Page:
    """results.md beside the directory of the CSVs, and the pictures in it."""
    page = Page(load(where), load_notes(where), wanted)
    where.with_suffix(".md").write_text(page.text(where))
    for items in ITEMS.values():
        for item in items:
            if item.panels and page.here(item) and page.measured(item):
                picture(item, page.results, where)
    if THEORY not in page.results:
        page.miss("", THEORY)
    return page
