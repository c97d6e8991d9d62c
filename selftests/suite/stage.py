# SPDX-License-Identifier: GPL-2.0
"""Run tasks side by side, with lines that say how far they are and how long it will take."""

import json
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from vm.build import minutes_to_make
from vm.root import cache_dir

from .tasks import InGuest, Outcome, Task, end_all
from .verdicts import Verdicts

PROGRESS = 20  # seconds between two lines
UNKNOWN = 120  # seconds that a task takes that has never run


def _memory() -> Path:
    return cache_dir() / "seconds.json"


def expected() -> dict[str, float]:
    """Seconds that each task took the last time, by its name"""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return {str(k): float(v) for k, v in json.loads(_memory().read_text()).items()}
    return {}


def _remember(outcomes: Sequence[Outcome]) -> None:
    kept = expected() | {each.where: round(each.seconds, 1) for each in outcomes}
    _memory().write_text(json.dumps(kept, indent=1, sort_keys=True))


def side_by_side(tasks: Sequence[Task], most: int) -> Iterator[Outcome]:
    """The outcomes of tasks, in the order in which they end; `most` run at a time."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                task = waiting.get_nowait()
                try:
                    ended.put(task.run())
                except Exception:
                    error = traceback.format_exc()
                    ended.put(Outcome(task.where, Verdicts(), task.seconds, error))

    # Daemons: if this program ends early, they end with it.
    for _ in range(min(len(tasks), most)):
        threading.Thread(target=work, daemon=True).start()
    for _ in tasks:
        yield ended.get()


class Progress:
    """What the lines in between say"""

    def __init__(self, tasks: Sequence[Task], most: int) -> None:
        self.tasks, self.most = tasks, most
        self.took = expected()
        self.began = time.monotonic()
        self.ended: set[str] = set()

    def _left(self, task: Task, done: int, tests: int) -> float:
        """Seconds that this task will still take"""
        if task.where in self.ended:
            return 0
        whole = self.took.get(task.where, UNKNOWN)
        if isinstance(task, InGuest) and not tests:  # its kernel may be being built
            return whole
        if done > 20:  # enough to go by
            whole = max(whole, task.seconds) if done == tests else task.seconds * tests / done
        return max(whole - task.seconds, 0)

    def line(self) -> str:
        running, left, longest = [], 0.0, 0.0
        for task in self.tasks:
            results = task.results()
            done, tests = results.ended, len(results.tests)
            rest = self._left(task, done, tests)
            left, longest = left + rest, max(longest, rest)
            if task.began and task.where not in self.ended:
                failed = done - results.passed
                text = f"{task.where} {done} of {tests}" if tests else task.where
                running.append(f"{text}, {failed} FAILED" if failed else text)
        kernels = {task.kernel for task in self.tasks if isinstance(task, InGuest)}
        minutes = max(left / self.most, longest) / 60 + minutes_to_make(kernels)
        passed = time.monotonic() - self.began
        return (
            f"{passed / 60:4.1f} min, about {minutes:.0f} left, {len(self.ended)} of"
            f" {len(self.tasks)} tasks done; now: {'; '.join(running)}"
        )

    def tell(self, wait: Callable[[float], bool]) -> None:
        while not wait(PROGRESS):
            print(self.line(), flush=True)


def stage(
    tasks: Sequence[Task],
    most: int,
    settle: Callable[[Outcome], None] = lambda _: None,
    fail_fast: bool = False,
) -> list[Outcome]:
    """
    Run tasks, `most` at a time, those that took longest the last time first, and print each
    outcome. `settle` may change an outcome before. With `fail_fast` they run in the order in which
    they are given, and a failure ends it.
    """
    took = expected()
    if not fail_fast:
        tasks = sorted(tasks, key=lambda task: -took.get(task.where, UNKNOWN))
    ended, outcomes, progress = threading.Event(), [], Progress(tasks, most)
    threading.Thread(target=progress.tell, args=(ended.wait,), daemon=True).start()
    try:
        for outcome in side_by_side(tasks, most):
            outcomes.append(outcome)
            progress.ended.add(outcome.where)
            settle(outcome)
            print(outcome, flush=True)
            if fail_fast and outcome.failures:
                return outcomes
    finally:
        ended.set()
        if len(outcomes) < len(tasks):
            end_all()
    _remember(outcomes)
    return outcomes
