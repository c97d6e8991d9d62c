# SPDX-License-Identifier: GPL-2.0
"""Short flows among long ones: several qdiscs on the same list of flows, and the empty link.

The workload is D1 of Avrachenkov et al. 2004, section IV, over 10 Mbit/s and an RTT of 6 ms. Each
qdisc runs in a virtual machine whose clock counts instructions, so the same seed always gives the
same table. The floor is every flow alone on the link.
"""

import argparse
import heapq
import os
import queue
import re
import shutil
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from analysis import DataError, Link, plot, read_run, table
from vm import Built, Guest, Result, VMError, prepare, versions

LAB = Path(__file__).resolve().parent
SIZES = "0.8*exp(4)+0.2*bp(13,5000,1.1)"
QDISCS = {
    "pfifo": "pfifo limit 100",
    "fq_codel": "fq_codel",
    "cake": "cake besteffort flows",
    "las": "las",
}
FLOOR = "floor"
PROGRESS = re.compile(r"progress (\d+) (\d+) active")
BOOT = 15  # booting takes as long as so many seconds of flows


@dataclass
class Job:
    name: str
    qdisc: str
    flowgen: list[str]
    weight: float = 1  # how long it takes, against the others
    began: float = 0
    took: float = 0
    share: float = 0  # done so far
    result: Result | None = None

    def on_line(self, line: str) -> None:
        if found := PROGRESS.match(line):
            done, total = map(float, found.groups())
            self.share = min((done + BOOT) / (total + BOOT), 1)


def time_left(jobs: list[Job], slots: int, now: float) -> float | None:
    """Seconds until all jobs are done, `slots` at a time in this order; None if nobody knows."""
    spent = sum(job.took or now - job.began for job in jobs if job.share)
    work = sum(job.weight * job.share for job in jobs)
    if not work:
        return None
    ends = []
    for job in jobs:
        if job.began and not job.took:
            ends.append((1 - job.share) * job.weight * spent / work)
    ends += [0.0] * (slots - len(ends))
    heapq.heapify(ends)
    for job in jobs:
        if not job.began:
            heapq.heapreplace(ends, ends[0] + job.weight * spent / work)
    return max(ends)


def status_line(jobs: list[Job], slots: int) -> str:
    parts = [f"{sum(job.took > 0 for job in jobs)} of {len(jobs)} runs done"]
    parts += [f"{j.name} {100 * j.share:.0f} %" for j in jobs if j.began and not j.took]
    left = time_left(jobs, slots, time.monotonic())
    parts.append("time left: " + (f"{left:.0f} s" if left is not None else "not known yet"))
    return ", ".join(parts)


def run_all(built: Built, jobs: list[Job], slots: int, seed: int, name: str) -> None:
    """Run the jobs, `slots` at a time, showing how far they are; stops at the first that fails."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Job | BaseException] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)

    def work() -> None:
        try:
            while not waiting.empty():
                job = waiting.get()
                job.began = time.monotonic()
                guest = Guest(
                    built,
                    mode="virtual",
                    name=f"{name}-{job.name}",
                    job=str(LAB / "job.sh"),
                    args=[job.qdisc, *job.flowgen],
                    seed=seed,
                )
                job.result = guest.run(on_line=job.on_line)
                job.took, job.share = time.monotonic() - job.began, 1
                ended.put(job)
        except BaseException as error:
            ended.put(error)

    # Daemons: should this program end early, they and their guests end with it
    slots = min(slots, len(jobs))
    for _ in range(slots):
        threading.Thread(target=work, daemon=True).start()
    terminal = sys.stdout.isatty()
    shown = 0.0
    left = len(jobs)
    while left:
        try:
            job = ended.get(timeout=0.5)
        except queue.Empty:
            job = None
        if isinstance(job, BaseException):
            raise job
        if job and job.result:
            left -= 1
            if job.result.error or job.result.status:
                why = job.result.error or f"its job failed with status {job.result.status}"
                raise VMError(f"the run {job.name}: {why}; see {job.result.console_path}")
        if terminal:
            print("\r\033[K" + status_line(jobs, slots), end="", flush=True)
        elif job or time.monotonic() - shown > 15:
            shown = time.monotonic()
            print(status_line(jobs, slots), flush=True)
    if terminal:
        print("\r\033[K", end="")


def parse_qdiscs(text: str) -> dict[str, str]:
    """Names of QDISCS and NAME=TC-WORDS, separated by commas."""
    chosen = {}
    for item in text.split(","):
        name, _, words = item.partition("=")
        if not re.fullmatch(r"[\w.-]+", name) or name == FLOOR or not (words or name in QDISCS):
            raise argparse.ArgumentTypeError(
                f"{item!r}: give {', '.join(QDISCS)}, or NAME=KIND OPTION..."
            )
        chosen[name] = words or QDISCS[name]
    return chosen


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or 1))
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--duration", type=float, default=150, help="seconds of arrivals")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--qdiscs", type=parse_qdiscs, default=QDISCS, metavar="A,B,...")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    built = prepare(options.kernel)
    what = f"D1, 10 Mbit/s, RTT 6 ms, load {options.load:g}, {options.duration:g} s of arrivals"
    what += f", seed {options.seed}"
    flows = ["--size", SIZES, "--seed", str(options.seed)]
    flows += ["--load", str(options.load), "--duration", str(options.duration)]
    # Longest first
    jobs = [Job(FLOOR, "pfifo limit 10000", [*flows, "--alone"])]
    jobs += [Job(name, qdisc, flows) for name, qdisc in options.qdiscs.items()]
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
    text += table(others, floor, Link())
    (where / "table.txt").write_text(text)
    plot(others, floor, what, where / "demo")
    print("\n" + text)
    for package, version in versions(built).items():
        print(f"{package} {version}")
    print(f"picture: {where / 'demo.svg'}")
    failed = [f"{run.name} {run.failed}" for run in runs.values() if run.failed]
    if failed:
        raise DataError(f"flows failed: {', '.join(failed)}; see {where}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (VMError, DataError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
