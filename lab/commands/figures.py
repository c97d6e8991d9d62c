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
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lab.commands import experiment
from lab.measure.numbers import Rows, measure
from lab.measure.reading import DataError, format_rows
from lab.page import readme
from lab.page.results import FILES, Page, write
from lab.page.stored import store
from lab.papers.index import modelled
from lab.papers.sqf_tables import Setting
from lab.papers.vocabulary import THEORY
from lab.run.experiment import EXPERIMENTS, read
from lab.run.guests import BOOT, LAB, Job, run_all
from vm import Built, prepare

RESULTS = LAB.parent / "docs/results"
# Of each table one run where the experiment makes three, and its caption's round trips once
MODULES = experiment.MODULES | {
    name: replace(table, seeds=1)
    for name, table in experiment.MODULES.items()
    if name.startswith("sqf-table")
}
MODULES["sqf-table3"] = replace(
    MODULES["sqf-table3"],
    settings=MODULES["sqf-table3"].settings | {"caption": Setting((20, 50), tcp=("ns2",))},
)
# Of all that is measured in short: the cases, and what each stands for
QUICK: dict[str, dict[str, str]] = {
    "run2c": {"quick": "s1-d1"},
    "sift": {"quick 0.9": "tail 0.9"},
    "sqf-figures": {"two": "two"},
    "quick": {"base": "base"},
}
# How long a run takes for each Mbit that the bottleneck sends, until this machine has told
SECONDS_PER_MBIT = 0.04
RATE = LAB.parent / "build/figures/seconds-per-mbit"


@dataclass
class Part:
    """An experiment, or some of it: its jobs by name, and the numbers of what they have written."""

    name: str
    jobs: dict[str, Job]
    rows: Callable[[dict[str, str]], Rows]


def part_of(name: str, seed: int | None, quick: bool) -> Part:
    stands = QUICK.get(name, {}) if quick else {}
    if name in MODULES:
        module, number = MODULES[name], seed or 1
        cases = [case.split()[0] for case in stands]
        cases = cases or [case for case in module.CASES if case != "quick"]
        jobs = module.jobs(module.QDISCS, cases, number)
        for job in jobs:
            job.seed = number if job.seed is None else job.seed

        def rows(data: dict[str, str]) -> Rows:
            found = module.numbers(data, module.QDISCS, cases, number)
            return {(stands.get(c, c), qdisc, s): v for (c, qdisc, s), v in found.items()}

        return Part(name, {job.name: job for job in jobs}, rows)
    file = read(EXPERIMENTS / f"{name}.toml")
    if seed is not None:
        file = file.only(seeds=[seed])
    return Part(name, {job.name: job for job in file.jobs}, lambda data: measure(file, data))


def parts(seed: int | None = None, quick: bool = False, only: str | None = None) -> list[Part]:
    names = list(QUICK) if quick else [*MODULES, "las-rai2004", *FILES]
    chosen = only.split(",") if only else names
    if not set(chosen) <= set(names):
        raise DataError(f"the experiments are {', '.join(names)}")
    return [part_of(name, seed, quick) for name in names if name in chosen]


def once(every: list[Part]) -> list[tuple[Part, list[Job]]]:
    """Of each part the runs that none before it has, the longest first; they share the others."""
    known: dict[tuple, Job] = {}
    result = []
    for part in every:
        mine = []
        for name, job in part.jobs.items():
            key = (job.script, *job.args, *(job.modules or ["-"]), job.seed)
            if key not in known:
                # The experiment goes on to know its own by their names
                known[key] = replace(job, name=f"{part.name}-{name}")
                mine.append(known[key])
            part.jobs[name] = known[key]
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


def run(part: Part, jobs: list[Job], built: Built, slots: int, seed: int) -> Rows:
    """What the part's jobs give: these are run, others have been."""
    experiment.check_jobs(jobs, built)
    print(f"{part.name}: {len(jobs)} runs, about {minutes(jobs):.0f} core minutes", flush=True)
    try:
        run_all(built, jobs, slots, seed, "figures")
    finally:
        note_rate(jobs)
    return part.rows(
        {
            name: job.result.data_path.read_text(errors="replace")
            for name, job in part.jobs.items()
            if job.result
        }
    )


def tell(page: Page, where: Path, some: bool) -> int:
    """The exit status: 1 if something is missing or not explained, but for some of it."""
    for what in page.missing:
        print(f"missing: {what}", file=sys.stderr)
    for what in page.unsaid:
        print(f"not explained: {what}", file=sys.stderr)
    print(f"page: {where.with_suffix('.md')}")
    return 1 if (page.missing or page.unsaid) and not some else 0


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
    if not (options.page or options.theory):
        built = prepare(options.kernel)
        for part, jobs in runs:
            store(where, part.name, run(part, jobs, built, slots, options.seed or 1))
    page = write(where, set(QUICK) if quick else None)
    if where == RESULTS:
        readme.write(where, page.results)
    return tell(page, where, quick or bool(options.only))
