# SPDX-License-Identifier: GPL-2.0
"""The experiments beside the demo, by name, in virtual machines with virtual time."""

import argparse
import os
import shutil
import sys

import bulk_tcp
import las_log
import old_flows
import run2c_curve
import run2c_figures
import sift_curve
import sift_figures
import sqf_figures
import sqf_tables
from analysis import DataError
from demo import parse_qdiscs
from runner import LAB, run_all
from vm import VMError, prepare, versions

EXPERIMENTS = {
    "old-flows": old_flows,
    "bulk": bulk_tcp,
    "las-log": las_log,
    "sqf-table1": sqf_tables.table1,
    "sqf-table3": sqf_tables.table3,
    "sqf-table4": sqf_tables.table4,
    "sqf-figures": sqf_figures,
    "sift": sift_figures,
    "sift-curve": sift_curve.curve,
    "run2c": run2c_figures,
    "run2c-curve": run2c_curve.curve,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--qdiscs",
        metavar="A,NAME=KIND OPTION...,...",
        help="instead of all; srpt, which is told the sizes, is the lab's own (bench/sch_srpt.c)",
    )
    parser.add_argument("--cases", metavar="A,B,...", help="instead of all")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    module = EXPERIMENTS[options.name]
    qdiscs, cases = module.QDISCS, list(module.CASES)
    try:
        if options.qdiscs:
            qdiscs = parse_qdiscs(options.qdiscs, module.QDISCS)
        if options.cases:
            cases = options.cases.split(",")
    except argparse.ArgumentTypeError as error:
        raise DataError(str(error)) from None
    if not set(cases) <= set(module.CASES):
        raise DataError(f"the cases are {', '.join(module.CASES)}")
    built = prepare(options.kernel)
    jobs = module.jobs(qdiscs, cases, options.seed)
    print(f"{options.name}, seed {options.seed}, kernel {built.version}", flush=True)
    name = f"{options.name}-{options.seed}"
    run_all(built, jobs, max(options.jobs, 1), options.seed, name)

    where = LAB.parent / "build" / options.name / f"seed-{options.seed}"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    data = {}
    for job in jobs:
        if job.result:
            shutil.copyfile(job.result.data_path, where / f"{job.name}.csv")
            data[job.name] = (where / f"{job.name}.csv").read_text(errors="replace")
    text, reached = module.report(data, qdiscs, cases, where)
    (where / "table.txt").write_text(text)
    print("\n" + text)
    for package, version in versions(built).items():
        print(f"{package} {version}")
    print(f"data: {where}")
    return 0 if reached else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (VMError, DataError) as error:
        print(f"\nexperiment: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
