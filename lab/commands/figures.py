# SPDX-License-Identifier: GPL-2.0
"""All figures and tables of the papers, and the comparisons, measured: docs/results.md.

Each run's numbers are kept as CSVs in docs/results/, from which the page and its pictures are made.
They are written when an experiment has ended, so that all of it may be run in parts (--only); the
page has what there is. With --quick it is a small part in short, and with another seed all of it,
both in build/figures/. What has run before with the same kernel, modules and scripts is not run
again.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from lab.commands.experiment import check, told
from lab.measure.bounds import Verdict, verdicts
from lab.measure.numbers import Rows
from lab.measure.reading import DataError, format_rows
from lab.measure.runs import measure
from lab.page import readme
from lab.page.results import Page, write
from lab.page.stored import store
from lab.papers.index import modelled
from lab.papers.vocabulary import THEORY
from lab.run.experiment import Experiment, on_page
from lab.run.guests import BOOT, LAB, Job, run_all
from lab.run.keys import SHORT
from vm import Built, prepare

RESULTS = LAB.parent / "docs/results"
# How long a run takes for each Mbit that the bottleneck sends, until this machine has told
SECONDS_PER_MBIT = 0.04
RATE = LAB.parent / "build/figures/seconds-per-mbit"


@dataclass
class Part:
    """An experiment, or its short form: its jobs, by the name that it has for each."""

    experiment: Experiment
    jobs: dict[str, Job]

    @property
    def name(self) -> str:
        return self.experiment.name

    def rows(self, data: dict[str, str]) -> Rows:
        return measure(self.experiment, data)

    def for_page(self, rows: Rows) -> Rows:
        """The short case is there what it stands for."""
        of = self.experiment.short_of
        return {(of if c == SHORT and of else c, q, seed): v for (c, q, seed), v in rows.items()}


def parts(seed: int | None = None, quick: bool = False, only: str | None = None) -> list[Part]:
    every = [each for each in on_page() if each.short_of or not quick]
    names = [each.name for each in every]
    chosen = only.split(",") if only else names
    if not set(chosen) <= set(names):
        raise DataError(f"the experiments are {', '.join(names)}")
    result = []
    for each in every:
        if each.name in chosen:
            experiment = each.short if quick else each
            experiment = experiment if seed is None else experiment.only(seeds=[seed])
            result.append(Part(experiment, {job.name: job for job in experiment.jobs}))
    return result


def once(every: list[Part]) -> list[tuple[Part, list[Job]]]:
    """Of each part the runs that none before it has, the longest first; they share the others."""
    known: dict[tuple, Job] = {}
    result = []
    for part in every:
        mine = []
        for name, job in part.jobs.items():
            if job.key not in known:
                # The experiment goes on to know its own by their names
                known[job.key] = replace(job, name=f"{part.name}-{name}")
                mine.append(known[job.key])
            part.jobs[name] = known[job.key]
        result.append((part, sorted(mine, key=lambda job: -job.weight)))
    return result


def rate() -> float:
    return float(RATE.read_text()) if RATE.exists() else SECONDS_PER_MBIT


def note_rate(jobs: list[Job]) -> None:
    """What those have told that ran now: what was known from before tells nothing."""
    ran = [job for job in jobs if job.ran and job.took]
    if ran:
        RATE.parent.mkdir(parents=True, exist_ok=True)
        seconds = sum(max(job.took - BOOT, 0) for job in ran) / sum(job.weight for job in ran)
        RATE.write_text(f"{seconds:.4f}\n")


def minutes(jobs: list[Job]) -> float:
    """Of one processor, if nothing were known from before."""
    seconds = rate()
    return sum(BOOT + seconds * job.weight for job in jobs) / 60


def forecast(runs: list[tuple[Part, list[Job]]], slots: int) -> str:
    lines = [["experiment", "runs", "core minutes"]]
    lines += [[part.name, str(len(jobs)), f"{minutes(jobs):.0f}"] for part, jobs in runs]
    every = [job for _, jobs in runs for job in jobs]
    total = minutes(every)
    lines.append(["all", str(len(every)), f"{total:.0f}"])
    return format_rows(lines) + f"{slots} at once: {total / 60 / slots:.1f} h if none is known\n"


def run(part: Part, jobs: list[Job], built: Built, slots: int) -> tuple[Rows, list[Verdict]]:
    """What the part's jobs give: these are run, others have been. And what it is to be."""
    print(f"{part.name}: {len(jobs)} runs, about {minutes(jobs):.0f} core minutes", flush=True)
    try:
        run_all(built, jobs, slots, "figures")
    finally:
        note_rate(jobs)
    rows = part.rows(
        {
            name: job.result.data_path.read_text(errors="replace")
            for name, job in part.jobs.items()
            if job.result
        }
    )
    return part.for_page(rows), list(verdicts(part.experiment, rows))


def tell(page: Page, unmet: list[Verdict], where: Path, some: bool) -> int:
    """The exit status: 1 if a bound is not met; or, but for some, what is missing or unsaid."""
    for what in page.missing:
        print(f"missing: {what}", file=sys.stderr)
    for what in page.unsaid:
        print(f"not explained: {what}", file=sys.stderr)
    print(told(unmet), end="", file=sys.stderr)
    print(f"page: {where.with_suffix('.md')}")
    return 1 if unmet or (page.missing or page.unsaid) and not some else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED") or None)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", metavar="A,B,...", help="some of the experiments")
    parser.add_argument("--quick", action="store_true", help="a small part in short")
    parser.add_argument("--theory", action="store_true", help="only what the models give")
    parser.add_argument("--page", action="store_true", help="only the page, of what there is")
    parser.add_argument("--list", action="store_true", help="only tell what would be run")
    options = parser.parse_args()
    quick, slots = options.quick, max(options.jobs, 1)
    where = RESULTS
    if quick or options.seed is not None:
        name = "quick" if quick else "results"
        name += "" if options.seed is None else f"-seed-{options.seed}"
        where = LAB.parent / "build/figures" / name
    runs = once(parts(options.seed, quick, options.only))
    if options.list or not (options.page or options.theory):
        print(forecast(runs, slots), flush=True)
    if options.list:
        return 0
    if not options.page:
        store(where, THEORY, modelled())
    unmet: list[Verdict] = []
    if not (options.page or options.theory):
        built = prepare(options.kernel)
        for part, _ in runs:
            check(part.experiment, built)
        for part, jobs in runs:
            rows, found = run(part, jobs, built, slots)
            store(where, part.name, rows)
            unmet += [one for one in found if not one.met]
    short = {each.name for each in on_page() if each.short_of} if quick else None
    page = write(where, short)
    if where == RESULTS:
        readme.write(where, page.results)
    return tell(page, unmet, where, quick or bool(options.only))
