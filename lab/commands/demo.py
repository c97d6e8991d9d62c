# SPDX-License-Identifier: GPL-2.0
"""Short flows among long ones: several qdiscs on the same list of flows, and the empty link.

The workload is D1 of Avrachenkov et al. 2004, section IV, over 10 Mbit/s and an RTT of 6 ms unless
told otherwise. Each qdisc runs in a virtual machine whose clock counts instructions, so the same
seed always gives the same table. The floor is every flow alone on the link.
"""

import argparse
import os
import re
import shutil

from lab.measure.reading import DataError, Link, read_run, table
from lab.run.guests import LAB, SCRIPT, Job, run_all
from vm import prepare, versions

SIZES = "0.8*exp(4)+0.2*bp(13,5000,1.1)"
QDISCS = {
    "pfifo": "pfifo limit 100",
    "fq_codel": "fq_codel",
    "cake": "cake besteffort flows",
    "las": "las",
}
FLOOR = "floor"


def parse_qdiscs(text: str, known: dict[str, str] | None = None) -> dict[str, str]:
    """Names that are known (by default: QDISCS) and NAME=TC-WORDS, separated by commas."""
    known = known or QDISCS
    chosen = {}
    for item in text.split(","):
        name, _, words = item.partition("=")
        if not re.fullmatch(r"[\w.-]+", name) or name == FLOOR or not (words or name in known):
            raise argparse.ArgumentTypeError(
                f"{item!r}: give {', '.join(known)}, or NAME=KIND OPTION..."
            )
        chosen[name] = words or known[name]
    return chosen


def downloads(
    qdiscs: dict[str, str], link: Link, load: float, duration: float, seed: int
) -> list[Job]:
    """D1 through each qdisc, after the floor."""
    flows = f"FLOWGEN=--size {SIZES} --seed {seed} --rate {link.rate:.0f}"
    flows += f" --load {load} --duration {duration}"
    args = [f"RATE={link.rate:.0f}bit", f"RTT_MS={link.rtt}", flows]
    jobs = [Job(FLOOR, SCRIPT, ["QDISC=pfifo limit 10000", *args[:2], f"{flows} --alone"])]
    return jobs + [Job(name, SCRIPT, [f"QDISC={words}", *args]) for name, words in qdiscs.items()]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--rate", type=float, default=10, help="of the link, Mbit/s")
    parser.add_argument("--rtt", type=int, default=6, help="ms")
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--duration", type=float, default=150, help="seconds of arrivals")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--qdiscs", type=parse_qdiscs, default=QDISCS, metavar="A,B,...")
    return parser.parse_args()


def main() -> int:
    from lab.page.pictures import by_size

    options = arguments()
    built = prepare(options.kernel)
    what = f"D1, {options.rate:g} Mbit/s, RTT {options.rtt} ms, load {options.load:g}"
    what += f", {options.duration:g} s of arrivals, seed {options.seed}"
    link = Link(options.rate * 1e6, options.rtt)
    jobs = downloads(options.qdiscs, link, options.load, options.duration, options.seed)
    # Longest first
    jobs.sort(key=lambda job: -job.weight)
    print(f"{what}, kernel {built.version}")
    run_all(built, jobs, max(options.jobs, 1), options.seed, f"demo-{options.seed}")

    where = LAB.parent / "build/demo" / f"seed-{options.seed}"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    runs = {}
    for job in jobs:
        if job.result:
            shutil.copyfile(job.result.data_path, where / f"{job.name}.csv")
            runs[job.name] = read_run(job.name, where / f"{job.name}.csv")
    floor = runs[FLOOR]
    others = [runs[name] for name in options.qdiscs]
    text = f"{what}, kernel {options.kernel}: {len(floor.status)} flows\n\n"
    text += table(others, floor, link)
    (where / "table.txt").write_text(text)
    by_size(others, floor, what, where / "demo")
    print("\n" + text)
    for package, version in versions(built).items():
        print(f"{package} {version}")
    print(f"picture: {where / 'demo.svg'}")
    failed = [f"{run.name} {run.failed}" for run in runs.values() if run.failed]
    if failed:
        raise DataError(f"flows failed: {', '.join(failed)}; see {where}")
    return 0
