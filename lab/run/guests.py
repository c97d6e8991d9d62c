# SPDX-License-Identifier: GPL-2.0
"""Runs an experiment's jobs in virtual machines, some at a time, and says how far they are."""

import heapq
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from vm import Built, Guest, Result, VMError, Workers
from vm.daemon import make_daemon

LAB = Path(__file__).resolve().parents[1]
RESULTS = LAB.parent / "docs/results"  # what is stored, for the page
SCRIPT = "scenario.sh"  # of all experiments
DAEMON = "/usr/sbin/sched-tcp"  # of a pair: sched_tcp/, made for guests by vm/daemon.py
PROGRESS = re.compile(r"progress (\d+) (\d+) active")
# Not a job's own words: how far it is, how tc is to be used, the kernel's, and those of init
NOT_SAID = re.compile(r"progress |Usage:|\s|\[ *\d+\.\d+\]|shortfirst-vm: |$")
LAST = 3  # of its words, in lines: tc says what is wrong in one, and the kernel maybe in another
BOOT = 15  # in the emulator booting takes as long as so many seconds of flows


@dataclass
class Job:
    name: str
    script: str  # of this directory
    args: list[str]
    modules: list[str]  # of the kernel, to be loaded first
    needs: list[str]  # files below lab/guest that the guest has; with a / before it a program
    weight: float = 1  # how long it takes, against the others
    seed: int = 1
    began: float = 0
    took: float = 0
    share: float = 0  # done so far
    said: tuple[str, ...] = ()  # the last lines
    result: Result | None = None

    @property
    def key(self) -> tuple:
        """What tells it from other runs."""
        return (self.script, *self.args, "", *self.modules, "", *self.needs, self.seed)

    @property
    def ran(self) -> bool:
        """Whether it tells how long others take: not what was known from before."""
        return self.share > 0 and not (self.result and self.result.kept)

    def on_line(self, line: str) -> None:
        self.began = self.began or time.monotonic()
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


def guest_of(
    job: Job,
    built: Built,
    name: str,
    fresh: bool,
    workers: Workers | None,
    instead: Mapping[str, Path] | None = None,
) -> Guest:
    """`instead`: files that it has in place of the checkout's, as of Guest"""
    elsewhere = {"executor": workers.execute} if workers else {}
    files = {DAEMON: make_daemon()} if DAEMON in job.needs else {}
    return Guest(
        built,
        mode="virtual",
        name=f"{name}-{job.name}",
        job=str(LAB / "guest" / job.script),
        args=job.args,
        seed=job.seed,
        modules=job.modules,
        needs=[need for need in job.needs if need not in files],
        files=files | dict(instead or {}),
        fresh=fresh,
        **elsewhere,
    )


def is_known(job: Job, built: Built) -> bool:
    """Whether run_all() would take from before what it gives."""
    return guest_of(job, built, "known", bool(os.environ.get("FRESH")), None).known()


def run_all(
    built: Built,
    jobs: list[Job],
    slots: int,
    name: str,
    on_end: Callable[[Job], None] | None = None,
) -> None:
    """
    Run the jobs, `slots` at a time, showing how far they are; stops at the first that fails.
    `on_end` gets each job that has ended.
    What a job has given before, with the same kernel, modules and scripts, is taken from there,
    unless FRESH is set in the environment. With WORKERS there, the address of a scheduler, others
    run them (vm/workers.py), as many at a time as they have processors.
    """
    with ExitStack() as stack:
        address = os.environ.get("WORKERS")
        workers = stack.enter_context(Workers(built, address)) if address else None
        _run_all(built, jobs, slots, name, on_end or (lambda _: None), workers)


def _run_all(
    built: Built,
    jobs: list[Job],
    slots: int,
    name: str,
    on_end: Callable[[Job], None],
    workers: Workers | None,
) -> None:
    fresh = bool(os.environ.get("FRESH"))
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Job | BaseException] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)

    def work() -> None:
        try:
            while not waiting.empty():
                job = waiting.get()
                taken = time.monotonic()
                if not workers:
                    job.began = taken  # else they say when, by a first line
                guest = guest_of(job, built, name, fresh, workers)
                job.result = guest.run(on_line=job.on_line)
                job.began = job.began or taken
                job.took, job.share = time.monotonic() - job.began, 1
                ended.put(job)
        except BaseException as error:
            ended.put(error)

    # Daemons: should this program end early, they and their guests end with it
    slots = max(min(slots, len(jobs)), 1)
    threads = 0
    terminal = sys.stdout.isatty()
    shown = 0.0
    left = len(jobs)
    while left:
        if workers:
            slots = min(max(workers.processors(), 1), len(jobs))
        # Workers get some more than they can run at once, so that they need not wait for them
        for _ in range(threads, min(slots + slots // 4 + 2, len(jobs)) if workers else slots):
            threading.Thread(target=work, daemon=True).start()
            threads += 1
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
            on_end(job)
        if terminal:
            print("\r\033[K" + status_line(jobs, slots), end="", flush=True)
        elif job or time.monotonic() - shown > 15:
            shown = time.monotonic()
            print(status_line(jobs, slots), flush=True)
    if terminal:
        print("\r\033[K", end="")
