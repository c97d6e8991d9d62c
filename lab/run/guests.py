# SPDX-License-Identifier: GPL-2.0
"""Runs an experiment's jobs in virtual machines, some at a time, and says how far they are."""

import heapq
import os
import queue
import re
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from vm import Built, Guest, Result, VMError

LAB = Path(__file__).resolve().parents[1]
SCRIPT = "scenario.sh"  # the one of most jobs
PROGRESS = re.compile(r"progress (\d+) (\d+) active")
# Not a job's own words: how far it is, how tc is to be used, the kernel's, and those of init
NOT_SAID = re.compile(r"progress |Usage:|\s|\[ *\d+\.\d+\]|shortfirst-vm: |$")
LAST = 3  # of its words, in lines: tc says what is wrong in one, and the kernel maybe in another
BOOT = 15  # booting takes as long as so many seconds of flows


@dataclass
class Job:
    name: str
    script: str  # of this directory
    args: list[str]
    weight: float = 1  # how long it takes, against the others
    modules: list[str] | None = None  # kernel modules; None: the usual ones
    seed: int | None = None  # None: that of all
    needs: list[str] | None = None  # files below lab/guest that the guest has; None: all
    began: float = 0
    took: float = 0
    share: float = 0  # done so far
    said: tuple[str, ...] = ()  # the last lines
    result: Result | None = None

    @property
    def ran(self) -> bool:
        """Whether it tells how long others take: not what was known from before."""
        return self.share > 0 and not (self.result and self.result.kept)

    def on_line(self, line: str) -> None:
        if found := PROGRESS.match(line):
            done, total = map(float, found.groups())
            self.share = min((done + BOOT) / (total + BOOT), 1)
        elif not NOT_SAID.match(line):
            self.said = (*self.said, line)[-LAST:]


def time_left(jobs: list[Job], slots: int, now: float) -> float | None:
    """Seconds until all jobs are done, `slots` at a time in this order; None if nobody knows."""
    if all(job.took for job in jobs):
        return 0
    spent = sum(job.took or now - job.began for job in jobs if job.ran)
    work = sum(job.weight * job.share for job in jobs if job.ran)
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
    if known := sum(job.result.kept for job in jobs if job.result):
        parts[0] += f" ({known} known from before)"
    parts += [f"{j.name} {100 * j.share:.0f} %" for j in jobs if j.began and not j.took]
    left = time_left(jobs, slots, time.monotonic())
    if left is not None:
        parts.append(f"time left: {left:.0f} s")
    elif not known:  # else maybe all are, and it is soon over
        parts.append("time left: not known yet")
    return ", ".join(parts)


def run_all(built: Built, jobs: list[Job], slots: int, seed: int, name: str) -> None:
    """
    Run the jobs, `slots` at a time, showing how far they are; stops at the first that fails.
    What a job has given before, with the same kernel, modules and scripts, is taken from there,
    unless FRESH is set in the environment.
    """
    fresh = bool(os.environ.get("FRESH"))
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
                    job=str(LAB / "guest" / job.script),
                    args=job.args,
                    seed=seed if job.seed is None else job.seed,
                    modules=job.modules,
                    needs=job.needs,
                    fresh=fresh,
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
                why += f"; see {job.result.console_path}"
                said = "\n  ".join(["; it said last:", *job.said]) if job.said else ""
                raise VMError(f"the run {job.name}: {why}{said}")
        if terminal:
            print("\r\033[K" + status_line(jobs, slots), end="", flush=True)
        elif job or time.monotonic() - shown > 15:
            shown = time.monotonic()
            print(status_line(jobs, slots), flush=True)
    if terminal:
        print("\r\033[K", end="")
