# SPDX-License-Identifier: GPL-2.0
"""All figures and tables of the papers, and the comparisons, measured: docs/results.md.

Each run's numbers are kept as CSVs in docs/results/, from which the page and its pictures are made.
They are written when an experiment has ended, so that all of it may be run in parts (--only); the
page has what there is. With --quick it is a small part in short, and with another seed all of it,
both in build/figures/. On another kernel than the native one only the CSVs are written, to
build/figures/KERNEL/. What has run before with the same kernel, modules and scripts is not run
again.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from lab.commands.experiment import check
from lab.measure.bounds import Verdict, verdicts
from lab.measure.numbers import measure
from lab.measure.reading import DataError
from lab.measure.rows import Rows
from lab.measure.tables import format_rows
from lab.page import readme
from lab.page.results import BOUNDS, Page, write
from lab.page.stored import load_notes, store
from lab.papers.index import modelled
from lab.papers.vocabulary import THEORY
from lab.run.experiment import Experiment, on_page
from lab.run.guests import BOOT, LAB, RESULTS, Job, is_known, run_all
from lab.run.keys import SHORT
from vm import NATIVE, Built, prepare

# How long a run takes for each Mbit that the bottleneck sends, until this machine has told
SECONDS_PER_MBIT = {False: 0.04, True: 0.004}  # by whether the kernel is the native one


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


def pace(kernel: str) -> Path:
    """How many seconds a run of this kernel takes for each Mbit, as it was last time."""
    return LAB.parent / "build/figures" / f"seconds-per-mbit-{kernel}"


def note_pace(kernel: str, jobs: list[Job]) -> None:
    """What those have told that ran now: what was known from before tells nothing."""
    ran = [job for job in jobs if job.ran and job.took]
    if ran:
        path = pace(kernel)
        path.parent.mkdir(parents=True, exist_ok=True)
        boots = len(ran) * start_of(kernel)
        seconds = max(sum(job.took for job in ran) - boots, 0) / sum(job.weight for job in ran)
        path.write_text(f"{seconds:.5f}\n")


def start_of(kernel: str) -> float:
    """Seconds until a guest begins."""
    return 1 if kernel == NATIVE else BOOT


def minutes(jobs: list[Job], kernel: str) -> float:
    """Of one processor."""
    path = pace(kernel)
    seconds = float(path.read_text()) if path.exists() else SECONDS_PER_MBIT[kernel == NATIVE]
    return sum(start_of(kernel) + seconds * job.weight for job in jobs) / 60


def forecast(runs: list[tuple[Part, list[Job]]], known: list[Job], kernel: str, slots: int) -> str:
    """What there is to do; of known runs nothing."""
    lines = [["experiment", "runs", "known", "core minutes"]]
    names = {job.name for job in known}
    left = []
    for part, jobs in runs:
        mine = [job for job in jobs if job.name not in names]
        spent = f"{minutes(mine, kernel):.1f}"
        lines.append([part.name, str(len(jobs)), str(len(jobs) - len(mine)), spent])
        left += mine
    total = minutes(left, kernel)
    lines.append(["all", str(sum(len(jobs) for _, jobs in runs)), str(len(known)), f"{total:.1f}"])
    text = f"{slots} at once: {total / slots:.0f} minutes"
    return format_rows(lines) + (f"{text}\n" if known else f"{text} if nothing is known\n")


def text_of(job: Job) -> str:
    return job.result.data_path.read_text(errors="replace") if job.result else ""


def run(runs: list[tuple[Part, list[Job]]], built: Built, slots: int, where: Path) -> list[Verdict]:
    """Run all of it; what an experiment gives is stored when its last run has ended."""
    jobs = [job for _, mine in runs for job in mine]
    waiting = {part.name: part for part, _ in runs}
    found: list[Verdict] = []

    def on_end(_: Job) -> None:
        for part in list(waiting.values()):
            if all(job.result for job in part.jobs.values()):
                del waiting[part.name]
                texts = {name: text_of(job) for name, job in part.jobs.items()}
                rows = part.rows(texts)
                store(where, part.name, part.for_page(rows))
                mine = verdicts(part.experiment, rows)
                found.extend(Verdict(f"{part.name}: {what}", met) for what, met in mine)

    try:
        run_all(built, jobs, slots, "figures", on_end)
    finally:
        note_pace(built.kernel, jobs)
    return found


def tell_unmet(unmet: list[Verdict], notes: dict[str, str]) -> int:
    """1 if one has no sentence that says why."""
    known = 0
    for what, _ in unmet:
        why = next((each for name, each in notes.items() if fnmatchcase(what, name)), "")
        known += bool(why)
        print(f"{what}: NOT MET{f': {why}' if why else ''}", file=sys.stderr)
    return int(known < len(unmet))


def tell(page: Page, unmet: list[Verdict], where: Path, some: bool) -> int:
    """The exit status: 1 if a bound is not met; or, but for some, what is missing or unsaid."""
    for what in page.missing:
        print(f"missing: {what}", file=sys.stderr)
    for what in page.unsaid:
        print(f"not explained: {what}", file=sys.stderr)
    print(f"page: {where.with_suffix('.md')}")
    return tell_unmet(unmet, load_notes(RESULTS).get(BOUNDS, {})) or int(
        bool(page.missing or page.unsaid) and not some
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=NATIVE)
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
    elif options.kernel != NATIVE:
        where = LAB.parent / "build/figures" / options.kernel
    runs = once(parts(options.seed, quick, options.only))
    unmet: list[Verdict] = []
    if not (options.page or options.theory):
        built = prepare(options.kernel)
        if options.list:
            known = [job for _, jobs in runs for job in jobs if is_known(job, built)]
            print(forecast(runs, known, options.kernel, slots), end="")
            return 0
        print(forecast(runs, [], options.kernel, slots), flush=True)
        for part, _ in runs:
            check(part.experiment, built)
        unmet = [one for one in run(runs, built, slots, where) if not one.met]
    if where.name == options.kernel:  # has no page
        print(f"CSVs: {where}")
        return tell_unmet(unmet, load_notes(RESULTS).get(BOUNDS, {}))
    if not options.page:
        store(where, THEORY, modelled())
    short = {each.name for each in on_page() if each.short_of} if quick else None
    page = write(where, short)
    if where == RESULTS:
        readme.write(where, page.results)
    return tell(page, unmet, where, quick or bool(options.only))
