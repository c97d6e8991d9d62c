# SPDX-License-Identifier: GPL-2.0
"""The experiments beside the demo, in virtual machines with virtual time.

Each is a file, lab/experiments/NAME.toml or your own (docs/experiments.md), or a module of lab/.
"""

import argparse
import os
import shutil
from pathlib import Path

from lab.commands.demo import parse_qdiscs
from lab.measure.numbers import from_csv, means, measure, tables, to_csv
from lab.measure.reading import DataError
from lab.page import pictures
from lab.page.goals import GOALS
from lab.papers import las_log, run2c_figures, sift_figures, sqf_figures, sqf_tables
from lab.run.experiment import EXPERIMENTS, Experiment, find, modules_of_kind, read
from lab.run.guests import LAB, Job, run_all
from vm import Built, VMError, prepare, versions
from vm.initramfs import load_list

MODULES = {
    "las-log": las_log,
    "sqf-table1": sqf_tables.table1,
    "sqf-table3": sqf_tables.table3,
    "sqf-table4": sqf_tables.table4,
    "sqf-figures": sqf_figures,
    "sift": sift_figures,
    "run2c": run2c_figures,
}


def arguments() -> argparse.Namespace:
    names = [*sorted(path.stem for path in EXPERIMENTS.glob("*.toml")), *MODULES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help=f"{', '.join(names)}, or the path of a .toml file")
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED") or None)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--qdiscs",
        metavar="A,NAME=KIND OPTION...,...",
        help="instead of all; srpt, which is told the sizes, is the lab's own (sch_srpt.c)",
    )
    parser.add_argument("--cases", metavar="A,B,...", help="instead of all")
    options = parser.parse_args()
    if options.name not in MODULES and not find(options.name):
        parser.error(f"no experiment {options.name}: give {', '.join(names)}, or a .toml file")
    return options


def chosen(
    options: argparse.Namespace, known: dict[str, str]
) -> tuple[dict[str, str] | None, list[str] | None]:
    """The qdiscs and the cases, None for all."""
    try:
        qdiscs = parse_qdiscs(options.qdiscs, known) if options.qdiscs else None
    except argparse.ArgumentTypeError as error:
        raise DataError(str(error)) from None
    return qdiscs, options.cases.split(",") if options.cases else None


def collect(jobs: list[Job], where: Path) -> dict[str, str]:
    """What the jobs have written, also as files."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    data = {}
    for job in jobs:
        if job.result:
            shutil.copyfile(job.result.data_path, where / f"{job.name}.csv")
            data[job.name] = (where / f"{job.name}.csv").read_text(errors="replace")
    return data


def show(text: str, built: Built, where: Path) -> None:
    (where / "table.txt").write_text(text)
    print("\n" + text)
    for package, version in versions(built).items():
        print(f"{package} {version}")
    print(f"data: {where}")


def check_kinds(what: str, qdiscs: dict[str, str], built: Built) -> None:
    """Refuse what the kernel has not, before anything runs."""
    for name, words in qdiscs.items():
        try:
            load_list(built, modules_of_kind(words) if words else [])
        except VMError:
            raise DataError(
                f'{what}: the qdisc {name} is "{words}"; of that kind there is no '
                f"module sch_{words.split()[0]}, neither of kernel {built.version} nor of "
                "this tree: correct it, or add it as docs/experiments.md says"
            ) from None


def check_jobs(jobs: list[Job], built: Built) -> None:
    """Refuse what needs a module that the kernel has not."""
    for modules in {tuple(job.modules or ()) for job in jobs}:
        load_list(built, list(modules))


def run_file(experiment: Experiment, options: argparse.Namespace) -> bool:
    """Whether its goals are reached."""
    qdiscs, cases = chosen(options, experiment.qdiscs)
    seeds = None if options.seed is None else [options.seed]
    experiment = experiment.only(qdiscs, cases, seeds)
    if experiment.goals not in (None, *GOALS):
        raise DataError(f"{experiment.name}: goals may be {', '.join(GOALS)}")
    built = prepare(options.kernel)
    for case in experiment.cases.values():
        check_kinds(experiment.name, case["qdiscs"], built)
    check_jobs(experiment.jobs, built)
    print(f"{experiment.title}\n{experiment.summary()}", flush=True)
    run_all(built, experiment.jobs, max(options.jobs, 1), experiment.seeds[0], experiment.name)
    where = LAB.parent / "build" / experiment.name
    rows = measure(experiment, collect(experiment.jobs, where / "runs"))
    (where / f"{experiment.name}.csv").write_text(to_csv(rows))
    # What is shown follows from that file alone
    rows = from_csv(to_csv(rows))
    text = f"{experiment.title}\n\n{tables(rows, experiment.against)}\n"
    found = means(rows)
    reached = GOALS[experiment.goals](found, experiment) if experiment.goals else []
    text += "".join(f"{goal}: {'met' if ok else 'NOT MET'}\n" for goal, ok in reached)
    if pictures.by_option(found, experiment, where / "curves"):
        text += f"picture: {where / 'curves.svg'}\n"
    elif pictures.draw(rows, experiment.title, where / experiment.name):
        text += f"picture: {where / experiment.name}.svg\n"
    show(text, built, where)
    return all(ok for _, ok in reached)


def run_module(options: argparse.Namespace) -> bool:
    module, seed = MODULES[options.name], 1 if options.seed is None else options.seed
    qdiscs, cases = chosen(options, module.QDISCS)
    qdiscs, cases = qdiscs or module.QDISCS, cases or list(module.CASES)
    if not set(cases) <= set(module.CASES):
        raise DataError(f"the cases are {', '.join(module.CASES)}")
    built = prepare(options.kernel)
    check_kinds(options.name, qdiscs, built)
    jobs = module.jobs(qdiscs, cases, seed)
    print(f"{options.name}, seed {seed}, kernel {built.version}", flush=True)
    run_all(built, jobs, max(options.jobs, 1), seed, f"{options.name}-{seed}")
    where = LAB.parent / "build" / options.name / f"seed-{seed}"
    text, reached = module.report(collect(jobs, where), qdiscs, cases, where)
    show(text, built, where)
    return reached


def main() -> int:
    options = arguments()
    path = find(options.name)
    reached = run_file(read(path), options) if path else run_module(options)
    return 0 if reached else 1
