# SPDX-License-Identifier: GPL-2.0
"""Failures that might be chance: the test is run again, alone, and the answer is printed.

A test that fails is run with the same seed and then with two others. If it passes three times, it
is reported as FLAKY and listed in build/flaky.json, and the run does not fail. A defect that shows
by chance is still a defect, so the following are never run again (Verdict.fault, Verdicts.chances):
a report of a sanitizer, lockdep, KCSAN or kmemleak, an oops, a hang, a leak, and a difference from
a model. Nor is anything run again if more than MOST tests fail, which no chance does.

selftests/quarantine.toml lists tests that are known to fail by chance. They run, and their failures
are printed and do not count. It has at most ROWS rows, and a row that is out of date is a failure.
"""

import datetime
import json
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

from vm.build import CHECKOUT

from .tasks import BUILD, Outcome, Task
from .verdicts import Verdict

MOST = 10
ROWS = 10
DAYS = datetime.timedelta(days=90)  # that a row may stay, at most
QUARANTINE = CHECKOUT / "selftests/quarantine.toml"
FLAKY = BUILD / "flaky.json"


def _passes(task: Task, verdict: Verdict, seed: int) -> bool:
    """Does the test pass alone? If not, what it said this time is added to its failure."""
    alone = task.again(verdict.name, seed)
    if not alone:
        return False
    outcome = alone.run()
    if not outcome.failures:
        return True
    verdict.text += "\n".join([f"\nagain with seed {seed}:", *outcome.failures])
    return False


class Retries:
    """What a run of these tasks runs again"""

    def __init__(self, tasks: Sequence[Task], quarantined: Collection[str] = ()) -> None:
        self.tasks = {task.where: task for task in tasks}
        self.quarantined = set(quarantined)
        self.failed = 0
        self.flaky: list[dict[str, object]] = []  # the rows of build/flaky.json
        self._write()

    def settle(self, outcome: Outcome) -> None:
        """Run what may have failed by chance again. A flaky test counts as passed."""
        names = {test.name for test in outcome.verdicts.tests if not test.fault}
        outcome.quarantined = names & self.quarantined
        chances = [] if outcome.error else outcome.verdicts.chances()
        chances = [verdict for verdict in chances if verdict.name not in self.quarantined]
        self.failed += len(chances)
        if self.failed > MOST:
            if chances:
                print(f"{self.failed} tests failed, more than {MOST}: none is run again now")
            return
        for verdict in chances:
            self._again(outcome, verdict, self.tasks[outcome.where])

    def _again(self, outcome: Outcome, verdict: Verdict, task: Task) -> None:
        print(f"{verdict.name} failed in {outcome.where}: running it again", flush=True)
        seeds = [task.seed, task.seed + 1, task.seed + 2]
        if not all(_passes(task, verdict, seed) for seed in seeds):
            return
        verdict.flaky = verdict.passed = True
        print(f"FLAKY {verdict.name} {task.seed} ({outcome.where})", flush=True)
        self.flaky.append(
            {
                "test": verdict.name,
                "where": outcome.where,
                "seed": task.seed,
                "passed with seeds": seeds,
                "text": verdict.text,
            }
        )
        self._write()

    def _write(self) -> None:
        FLAKY.parent.mkdir(parents=True, exist_ok=True)
        FLAKY.write_text(json.dumps(self.flaky, indent=1) + "\n")


def quarantine(path: Path, today: datetime.date) -> tuple[set[str], list[str]]:
    """The names of the tests in quarantine, and what is wrong with the file."""
    rows = tomllib.loads(path.read_text()).get("test", []) if path.exists() else []
    wrong = []
    if len(rows) > ROWS:
        wrong.append(f"{path.name}: {len(rows)} rows, at most {ROWS} are allowed")
    for row in rows:
        if set(row) != {"name", "reason", "until"} or type(row["until"]) is not datetime.date:
            wrong.append(f"{path.name}: a row has name, reason and until = YYYY-MM-DD, not {row}")
        elif row["until"] < today:
            wrong.append(f"{path.name}: {row['name']} was to be mended until {row['until']}")
        elif not row["reason"] or row["until"] > today + DAYS:
            most = f"a date within {DAYS.days} days"
            wrong.append(f"{path.name}: {row['name']} needs a reason, and {most}")
    return {str(row.get("name")) for row in rows}, wrong
