# SPDX-License-Identifier: GPL-2.0
"""Short flows among long ones: lab/experiments/demo.toml, its tables and its picture.

Each qdisc runs in a virtual machine whose clock counts instructions, so the same seed always gives
the same table. With --store README.md has it, and docs/demo.svg is the picture.
"""

import argparse
import shutil

from lab.commands.experiment import arguments, check, chosen, collect, show
from lab.measure.reading import DataError, parse_run
from lab.measure.tables import by_class
from lab.page import readme
from lab.page.experiment_pictures import by_size
from lab.page.stored import load
from lab.run.experiment import EXPERIMENTS, read
from lab.run.guests import LAB, RESULTS, run_all
from lab.run.job import link
from lab.run.qdiscs import FLOOR
from vm import prepare

STOCK = "6.1"  # what it shows is what one has


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="for README.md")
    options = arguments(parser, kernel=STOCK)
    experiment = chosen(read(EXPERIMENTS / "demo.toml"), options)
    built = prepare(options.kernel)
    check(experiment, built)
    (seed,), (settings,) = experiment.seeds, experiment.cases.values()
    what = f"{experiment.title}, seed {seed}"
    print(f"{what}, kernel {built.version}", flush=True)
    run_all(built, experiment.jobs, options.jobs, f"demo-{seed}")
    where = LAB.parent / "build/demo" / f"seed-{seed}"
    data = collect(experiment.jobs, where)
    runs = {
        qdisc: parse_run(qdisc, data[job.name]) for (_, qdisc, _), job in experiment.runs.items()
    }
    floor = runs[FLOOR]
    others = [runs[name] for name in settings["qdiscs"]]
    text = f"{what}, kernel {options.kernel}: {len(floor.status)} flows\n\n"
    text += by_class(others, floor, link(settings, floor.ports[:, 0]), experiment.against)
    by_size(others, floor, what, where / "demo")
    show(text, built, where, where / "demo.svg")
    failed = [f"{run.name} {run.failed}" for run in runs.values() if run.failed]
    if failed:
        raise DataError(f"flows failed: {', '.join(failed)}; see {where}")
    if options.store:
        (RESULTS / readme.DEMO).write_text(text)
        shutil.copyfile(where / "demo.svg", RESULTS.parent / "demo.svg")
        readme.write(RESULTS, load(RESULTS))
    return 0
