# SPDX-License-Identifier: GPL-2.0
"""All tests: python3 -m selftests.suite COMMAND, from the top of the tree."""

import argparse
import fcntl
import os
import shlex
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from vm import debian
from vm.build import KERNELS
from vm.guest import FAILED
from vm.kernels import COVERAGE, NATIVE
from vm.root import VMError

from . import coverage, everything, gate, kernels, planted
from .retry import Retries
from .stage import stage
from .tasks import BUILD, Host, Outcome, Task

SLOWEST = 12


def _finish(
    outcomes: Sequence[Outcome], flaky: Sequence[dict[str, object]], wrong: Sequence[str] = ()
) -> int:
    """Print what was slow and what failed; the exit status. The last line counts."""
    ran = [(test, outcome.where) for outcome in outcomes for test in outcome.verdicts.tests]
    ran.sort(key=lambda run: -run[0].seconds)
    print("\nthe slowest tests:")
    for test, where in ran[:SLOWEST]:
        print(f"{test.seconds:6.1f} s  {where}  {test.name}")
    print()
    for outcome in outcomes:
        print(outcome)
    for text in wrong:
        print(f"FAILED {text}")
    for row in flaky:
        print(f"FLAKY {row['test']} {row['seed']} ({row['where']})")
    for outcome in outcomes:
        for test in outcome.verdicts.tests:
            if test.name in outcome.quarantined and test.passed is False:
                print(f"QUARANTINED {test.name} failed ({outcome.where})")
    if bad := [outcome.where for outcome in outcomes if outcome.failures]:
        print(f"failed: {', '.join(bad)}")
    failed = sum(len(outcome.failures) for outcome in outcomes) + len(wrong)
    passed = sum(outcome.verdicts.passed for outcome in outcomes)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def _run(
    tasks: Sequence[Task], quarantined: Collection[str] = (), fail_fast: bool = False
) -> tuple[list[Outcome], list[dict[str, object]]]:
    """Run tasks on all processors; their outcomes, and the rows of build/flaky.json."""
    retries = Retries(tasks, quarantined)
    outcomes = stage(tasks, len(os.sched_getaffinity(0)), retries.settle, fail_fast)
    return outcomes, retries.flaky


def _all(seed: int | None) -> int:
    began = time.monotonic()
    seed = everything.draw() if seed is None else seed
    print(f"seed {seed}", flush=True)
    outcomes, flaky = _run(everything.tasks(seed))
    everything.REPORT.parent.mkdir(parents=True, exist_ok=True)
    everything.REPORT.write_text(everything.report(outcomes, seed, began, flaky))
    print(f"\nthe report is {everything.REPORT}")
    return _finish(outcomes, flaky)


def _packages(release: str, brief: bool) -> int:
    """Try the packages on a Debian machine, which has a guest to itself."""
    tests = ["-x", "selftests/debian", f"--suite={release}", *(["--brief"] if brief else [])]
    (outcome,) = stage([Host(f"debian {release}", tests)], 1)
    for test in outcome.verdicts.tests:
        print(f"{test.seconds:6.1f} s  {test.name}")
    return 1 if outcome.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="selftests.suite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("gate", "what every change has to pass"),
        ("all", "every test on every kernel, with a report"),
        ("run", "the tests on the kernels that are named"),
        ("coverage", "which lines of the modules the tests execute"),
        ("packages", "try the Debian packages on a machine with systemd"),
        ("planted", "does the gate find each of the faults in planted.toml"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name in ("gate", "all", "run"):
            command.add_argument("--seed", type=int, help="of what is random")
        if name == "gate":
            command.add_argument("--base", help="the commit that the change is compared with")
            command.add_argument("--fail-fast", action="store_true", help="end with a failure")
            command.add_argument("--only", action="append", default=[], help="this task")
        if name == "planted":
            command.add_argument("--times", type=int, default=1, help="runs for each fault")
            command.add_argument("--only", type=int, action="append", help="the N-th of them")
        if name == "run":
            command.add_argument("kernels", nargs="+", choices=KERNELS, metavar="kernel")
            command.add_argument(
                "--time", type=float, default=0, help="seconds for several processors at once"
            )
        if name in ("run", "coverage"):
            command.add_argument("--tests", default="", help="some only: arguments of pytest")
        if name == "coverage":
            command.add_argument("--gate", action="store_true", help="what each change runs")
        if name == "packages":
            command.add_argument("--suite", choices=debian.SUITES, default=debian.SUITES[0])
            command.add_argument("--brief", action="store_true", help="half of it")
    return parser.parse_args()


@contextmanager
def _alone() -> Iterator[None]:
    """Two runs in one tree would write to the same files."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "suite.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise VMError("another run of the tests is under way in this tree") from None
        yield


def _main() -> int:
    options = _arguments()
    if options.command == "planted":
        return planted.run(options.times, options.only)
    if options.command == "packages":  # a task of the others
        return _packages(options.suite, options.brief)
    with _alone():
        return _do(options)


def _do(options: argparse.Namespace) -> int:
    if options.command == "gate":
        tasks, quarantined, wrong = gate.make(options.seed, options.base, options.only)
        outcomes, flaky = _run(tasks, quarantined, options.fail_fast)
        if len(outcomes) == len(tasks) and not options.only:
            known = {test.name for outcome in outcomes for test in outcome.verdicts.tests}
            wrong += [f"quarantine.toml: no test {name}" for name in sorted(quarantined - known)]
        return _finish(outcomes, flaky, wrong)
    if options.command == "all":
        return _all(options.seed)
    if options.command == "coverage":
        if options.gate:
            plan = gate.plan()
            return coverage.run(gate.guests(COVERAGE, plan.parts[NATIVE], plan.seed, []))
        return coverage.run(kernels.tasks(COVERAGE, shlex.split(options.tests)))
    seed = gate.plan().seed if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    tests = shlex.split(options.tests)
    tasks = [
        task
        for kernel in dict.fromkeys(options.kernels)
        for task in kernels.tasks(kernel, tests, seconds=options.time, seed=seed)
    ]
    return _finish(*_run(tasks))


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except VMError as error:
        print(f"suite: {error}", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)
