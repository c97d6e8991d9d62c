# SPDX-License-Identifier: GPL-2.0
"""An experiment in virtual machines with virtual time: its tables, its bounds and its picture.

It is a file, lab/experiments/NAME.toml or your own (docs/experiments.md).
"""

import argparse
import os
import re
import shutil
from pathlib import Path

from lab.measure.bounds import Verdict, verdicts
from lab.measure.numbers import measure
from lab.measure.reading import DataError
from lab.measure.rows import from_csv, to_csv
from lab.measure.tables import tables
from lab.page import experiment_pictures
from lab.run.experiment import Experiment, find, names, read
from lab.run.guests import LAB, Job, run_all
from lab.run.job import modules_of_kind
from lab.run.qdiscs import FLOOR
from vm import NATIVE, Built, VMError, prepare, versions
from vm.initramfs import load_list


def arguments(parser: argparse.ArgumentParser, kernel: str = NATIVE) -> argparse.Namespace:
    """What it is told, and what all experiments are."""
    parser.add_argument("--kernel", default=kernel)
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED") or None)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--qdiscs",
        metavar="A,NAME=KIND OPTION...,...",
        help="instead of all; srpt, which is told the sizes, is the lab's own (sch_srpt.c)",
    )
    return parser.parse_args()


def parse_qdiscs(text: str, known: dict[str, str]) -> dict[str, str]:
    """Names that are known and NAME=TC-WORDS, separated by commas."""
    result = {}
    for item in text.split(","):
        name, _, words = item.partition("=")
        if not re.fullmatch(r"[\w.-]+", name) or name == FLOOR or not (words or name in known):
            raise DataError(f"{item!r}: give {', '.join(known)}, or NAME=KIND OPTION...")
        result[name] = words or known[name]
    return result


def chosen(
    experiment: Experiment, options: argparse.Namespace, cases: str | None = None
) -> Experiment:
    """The part of it that is to run."""
    qdiscs = parse_qdiscs(options.qdiscs, experiment.qdiscs) if options.qdiscs else None
    seeds = None if options.seed is None else [options.seed]
    return experiment.only(qdiscs, cases.split(",") if cases else None, seeds)


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


def show(text: str, built: Built, where: Path, picture: Path | None) -> None:
    (where / "table.txt").write_text(text)
    print("\n" + text)
    for package, version in versions(built).items():
        print(f"{package} {version}")
    print(f"picture: {picture}" if picture else f"data: {where}")


def check(experiment: Experiment, built: Built) -> None:
    """Refuse what the kernel has not, before anything runs."""
    for name, words in experiment.qdiscs.items():
        try:
            load_list(built, modules_of_kind(words))
        except VMError:
            raise DataError(
                f'{experiment.name}: the qdisc {name} is "{words}"; of that kind there is no '
                f"module sch_{words.split()[0]}, neither of kernel {built.version} nor of "
                "this tree: correct it, or add it as docs/experiments.md says"
            ) from None
    for modules in {tuple(job.modules) for job in experiment.jobs}:
        load_list(built, list(modules))


def told(found: list[Verdict]) -> str:
    return "".join(f"{what}: {'met' if met else 'NOT MET'}\n" for what, met in found)


def run(experiment: Experiment, kernel: str, slots: int) -> bool:
    """Whether all that is bounded is within its bounds."""
    built = prepare(kernel)
    check(experiment, built)
    print(f"{experiment.title}\n{experiment.summary()}", flush=True)
    run_all(built, experiment.jobs, slots, experiment.name)
    where = LAB.parent / "build" / experiment.name
    rows = measure(experiment, collect(experiment.jobs, where / "runs"))
    (where / f"{experiment.name}.csv").write_text(to_csv(rows))
    # What is shown follows from that file alone
    rows = from_csv(to_csv(rows))
    found = list(verdicts(experiment, rows))
    text = f"{experiment.title}\n\n{tables(rows, experiment.against)}\n{told(found)}"
    picture = where / experiment.name
    drawn = experiment_pictures.draw_experiment(rows, experiment, picture)
    show(text, built, where, picture.with_name(f"{picture.name}.svg") if drawn else None)
    return all(met for _, met in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help=f"{', '.join(names())}, or the path of a .toml file")
    parser.add_argument("--cases", metavar="A,B,...", help="instead of all")
    options = arguments(parser)
    path = find(options.name)
    if not path:
        parser.error(f"no experiment {options.name}: give {', '.join(names())}, or a .toml file")
    experiment = chosen(read(path), options, options.cases)
    return 0 if run(experiment, options.kernel, options.jobs) else 1
