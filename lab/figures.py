# SPDX-License-Identifier: GPL-2.0
"""All figures and tables of the papers, and the comparisons, measured: docs/results.md.

Each run's numbers are kept as CSVs in docs/results/, from which the page and its pictures are made.
With --quick it is a small part in short, and with another seed all of it, both in build/figures/.
What has run before with the same kernel, modules and scripts is not run again.
"""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import theory
from analysis import DataError
from experiment import MODULES
from items import THEORY
from metrics import Rows, measure
from page import Page, store, write
from runner import BOOT, LAB, Job, run_all
from scenario import EXPERIMENTS, read
from vm import VMError, prepare
from vm.initramfs import load_list

RESULTS = LAB.parent / "docs/results"
# Of all that is measured in short: the cases, and what each stands for
QUICK: dict[str, dict[str, str]] = {
    "run2c": {"quick": "s1-d1"},
    "sift": {"quick 0.9": "tail 0.9"},
    "sqf-figures": {"two": "two"},
    "quick": {"base": "base"},
}
# How long a run takes for each Mbit that the bottleneck sends, until this machine has told
SECONDS_PER_MBIT = 0.12
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
    experiment = read(EXPERIMENTS / f"{name}.toml")
    if seed is not None:
        experiment = experiment.only(seeds=[seed])
    jobs = experiment.jobs
    return Part(name, {job.name: job for job in jobs}, lambda data: measure(experiment, data))


def parts(seed: int | None = None, quick: bool = False) -> list[Part]:
    files = [path.stem for path in sorted(EXPERIMENTS.glob("*.toml")) if path.stem != "quick"]
    return [part_of(name, seed, quick) for name in (QUICK if quick else [*MODULES, *files])]


def once(every: list[Part]) -> list[Job]:
    """Each run once, the longest first; parts that have the same share it."""
    known: dict[tuple, Job] = {}
    for part in every:
        for name, job in part.jobs.items():
            key = (job.script, *job.args, *(job.modules or ["-"]), job.seed)
            if key not in known:
                # The experiment goes on to know its own by their names
                known[key] = replace(job, name=f"{part.name}-{name}")
            part.jobs[name] = known[key]
    return sorted(known.values(), key=lambda job: -job.weight)


def rate() -> float:
    return float(RATE.read_text()) if RATE.exists() else SECONDS_PER_MBIT


def note_rate(jobs: list[Job]) -> None:
    """What those have told that ran now: what was known from before tells nothing."""
    ran = [job for job in jobs if job.ran and job.took]
    if ran:
        RATE.parent.mkdir(parents=True, exist_ok=True)
        seconds = sum(max(job.took - BOOT, 0) for job in ran) / sum(job.weight for job in ran)
        RATE.write_text(f"{seconds:.4f}\n")


def forecast(jobs: list[Job], slots: int) -> str:
    """If nothing were known from before."""
    seconds = sum(BOOT + rate() * job.weight for job in jobs) / slots
    shown = f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min"
    return f"{len(jobs)} runs, {slots} at once: about {shown} if none is known from before"


def run(every: list[Part], kernel: str, slots: int, seed: int) -> dict[str, Rows]:
    jobs = once(every)
    print(forecast(jobs, slots), flush=True)
    built = prepare(kernel)
    for modules in {tuple(job.modules or ()) for job in jobs}:
        load_list(built, list(modules))  # refuses what the kernel has not, before anything runs
    try:
        run_all(built, jobs, slots, seed, "figures")
    finally:
        note_rate(jobs)
    found = {}
    for part in every:
        data = {
            name: job.result.data_path.read_text(errors="replace")
            for name, job in part.jobs.items()
            if job.result
        }
        found[part.name] = part.rows(data)
    return found


def tell(page: Page, where: Path, quick: bool) -> int:
    """The exit status: 1 if something is missing or not explained."""
    for what in page.missing if not quick else ():
        print(f"missing: {what}", file=sys.stderr)
    for what in page.unsaid if not quick else ():
        print(f"not explained: {what}", file=sys.stderr)
    print(f"page: {where.with_suffix('.md')}")
    return 1 if (page.missing or page.unsaid) and not quick else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED") or None)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
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
    every = parts(options.seed, quick)
    if options.list:
        for part in every:
            print(f"{part.name}: {len(part.jobs)}")
        print(forecast(once(every), slots))
        return 0
    if not options.page:
        store(where, THEORY, theory.numbers())
        found = {} if options.theory else run(every, options.kernel, slots, options.seed or 1)
        for name, rows in found.items():
            store(where, name, rows)
    return tell(write(where, set(QUICK) if quick else None), where, quick)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (VMError, DataError) as error:
        print(f"\nfigures: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
