# SPDX-License-Identifier: GPL-2.0
"""Do the tests notice when the modules are changed? Random mutants (operators.py), each built and
tested in a guest of the native kernel until the first test fails.

        python3 -m selftests.mutants [--number 100] [--seed 1] [--file sch_las/sch_las.c]...

A mutant that does not compile, or comes out as the same object code, is replaced by another. One
that no test kills changes nothing that can be seen, or a test is missing: survivors.toml has the
reasons, by what lines say rather than by their numbers.

The modules into which it is built are tried one after the other, that of a kind by those of the
tests in sch_KIND/tests and selftests/kinds that ask the kind, its own first, and the quick ones
before the others. Left out are those that ask programs rather than modules, and a slow one. A guest
in which nothing happens for LIMIT times as long as the longest test takes is killed, and its mutant
with it. Headers that tests on the host include are tried there first. Whom the guest has not killed
has to do in user space what is kept of fuzzing, and random operations (selftests/fuzz), where
sanitizers see what a guest does not.

What has become of a mutant is kept in build/mutants, by the sources, so that an interrupted run
goes on where it was; who has survived without a reason is tried again when tests have changed.
"""

import argparse
import hashlib
import itertools
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from selftests.fuzz import build as fuzz
from selftests.lib.options import KINDS
from selftests.suite import verdicts
from vm.build import CHECKOUT, INSIDE, Built, prepare
from vm.guest import Guest
from vm.kernels import NATIVE
from vm.root import VMError, in_namespace, on_overlay

from .operators import Mutant, mutants

HOME = CHECKOUT / "build/mutants"
RESULTS = HOME / "results"
REASONS = Path(__file__).with_name("survivors.toml")
LIMIT = 10
SHORTEST = 180  # seconds of silence that are never too many, on a busy machine
SLOW = "::test_ten_changes_a_second["  # takes as long as all others of a kind
PROGRAMS = ("tdc", "installcheck", "completion", "nl", "scripts")
LAST = "selftests/kinds/test_left_over.py"  # after all others
TIMEOUT = 3600
PACKETS = 1_000_000  # of random operations in user space
AHEAD = 20  # mutants that are begun before it is known what becomes of the first of them

# What becomes of one
KILLED, SURVIVED, SAME, BROKEN = "killed", "survived", "same", "broken"


@dataclass(frozen=True)
class Result:
    how: str
    by: str = ""  # the test, and what it was if not that failed
    text: str = ""  # what it said
    seconds: float = 0
    passed: dict[str, str] = field(default_factory=dict)  # by a survivor: Tests.state


def sources() -> list[str]:
    found = [*CHECKOUT.glob("sch_*/sch_*.c"), *CHECKOUT.glob("include/shortfirst/*.h")]
    return sorted(str(path.relative_to(CHECKOUT)) for path in found)


def _digest(paths: list[Path]) -> str:
    state = hashlib.sha256()
    for path in sorted(paths):
        state.update(f"{path.relative_to(CHECKOUT)} {path.stat().st_size} ".encode())
        state.update(path.read_bytes())
    return state.hexdigest()


@dataclass(frozen=True)
class Module:
    """What a source may be built into"""

    where: str  # make was started there, in the tree
    name: str  # from there, without suffix
    kind: str = ""  # whose it is; of others all that asks them is in `tests`
    tests: str = ""

    @property
    def path(self) -> str:
        """From the top of the tree"""
        return str(Path(self.where, self.name).with_suffix(".ko"))


MODULES = [
    Module("selftests/modules", "flow_key_test", tests="selftests/kinds/test_flow_key.py"),
    *(Module("", f"sch_{kind}/sch_{kind}", kind) for kind in KINDS),
]


class Builder:
    """Builds mutants on top of what is built of the tree."""

    def __init__(self) -> None:
        self.built: Built = prepare(NATIVE)
        self.tree = self.built.upper / INSIDE
        everything = [*CHECKOUT.glob("sch_*/*.[ch]"), *CHECKOUT.glob("include/shortfirst/*")]
        self.digest = _digest(everything)

    def _remembered(self, module: Module, suffix: str) -> str:
        """The file in which make remembers how it has made something, and of what"""
        path = self.tree / module.where / module.name
        return path.with_name(f".{path.name}.{suffix}.cmd").read_text()

    def _script(self, module: Module) -> str:
        """Makes the module anew, if its object code has become another."""
        commands = [
            re.search(r"^savedcmd_\S+ := (.*)$", self._remembered(module, suffix), re.MULTILINE)[1]
            for suffix in ("o", "ko")
        ]
        before = (self.tree / module.where / f"{module.name}.o").read_bytes()
        same = f'echo "{hashlib.sha256(before).hexdigest()}  {module.name}.o" | sha256sum -c'
        return f"""cd /{INSIDE}/{module.where} && rm -f {module.name}.ko || exit
{commands[0]} || exit
{same} || {commands[1]}"""

    def users(self, file: str) -> list[Module]:
        """What a source is built into"""
        of_it = re.compile(rf"[ /]{re.escape(file)} ")
        return [each for each in MODULES if of_it.search(self._remembered(each, "o"))]

    def build(self, mutant: Mutant, module: Module, home: Path) -> tuple[str, Path]:
        """BROKEN if it does not compile, or SAME; "" if neither, and then there is the module."""
        upper = home / "upper"
        shutil.rmtree(upper, ignore_errors=True)
        path = upper / INSIDE / mutant.file
        path.parent.mkdir(parents=True)
        path.write_text(mutant.source)
        made = upper / INSIDE / module.path
        lower = [self.built.upper, *self.built.lower]
        with open(home / "log", "wb") as log:
            if in_namespace(on_overlay(lower, home, ["sh", "-c", self._script(module)]), log):
                return BROKEN, made
        return "" if made.is_file() else SAME, made

    def place(self, module: Module) -> str:
        """Where it is in the guest"""
        if module.kind:
            return f"/usr/lib/modules/{self.built.version}/updates/sch_{module.kind}.ko"
        return f"/{INSIDE}/{module.path}"


class Tests:
    """Those in guests, and how long each takes"""

    def __init__(self, builder: Builder, without: list[str]) -> None:
        self.builder = builder
        self.kept = HOME / "seconds.json"
        state = self._state()
        self.state = {file: each for file, each in state.items() if file not in without}
        of_fuzz = [*fuzz.HERE.glob("*.[ch]"), *fuzz.HERE.glob("corpus/*")]
        self.all = self.state | {"selftests/fuzz": _digest(of_fuzz)[:20]}
        self.seconds = self._measured()

    def _state(self) -> dict[str, str]:
        """Of each file, what its tests may depend on"""
        shared = [*CHECKOUT.glob("selftests/lib/*.py"), *CHECKOUT.glob("sch_*/tests/options.py")]
        files = [*CHECKOUT.glob("selftests/kinds/test_*.py"), *CHECKOUT.glob("sch_*/tests/test_*")]
        ignored = {f"test_{name}" for name in PROGRAMS}
        return {
            str(path.relative_to(CHECKOUT)): _digest(
                [path, *shared, *path.parent.glob("[!t]*.py")]  # and a kind's models
            )[:20]
            for path in files
            if path.stem not in ignored
        }

    def _measured(self) -> dict[str, float]:
        """How long each takes without a mutant; those that are known so are not run again."""
        state = {file: f"{each} {self.builder.digest}" for file, each in self.state.items()}
        kept = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        if wanted := [file for file in state if kept.get(file, {}).get("state") != state[file]]:
            kept |= {file: {"state": state[file], "seconds": {}} for file in wanted}
            for test, seconds in self._measure(wanted).items():
                kept[test.partition("::")[0]]["seconds"][test] = seconds
            self.kept.write_text(json.dumps(kept))
        return {test: s for file in state for test, s in kept[file]["seconds"].items()}

    def _measure(self, files: list[str]) -> dict[str, float]:
        print("the tests without a mutant ...", flush=True)
        told, error = self._run(*files, files={}, silence=400, name="no-mutant")
        if failures := told.failures(error):
            raise VMError(f"without a mutant: {failures[0]}")
        return {test.name: test.seconds for test in told.tests}

    def _run(
        self, *arguments: str, files: dict[str, bytes | Path], silence: float, name: str
    ) -> tuple[verdicts.Verdicts, str]:
        """What they tell, and what is wrong with the guest"""
        guest = Guest(
            self.builder.built,
            mode="functional",
            name=name,
            job=str(CHECKOUT / "selftests/run"),
            args=["-p", "selftests.mutants.order", *arguments],
            files=files,
            timeout=TIMEOUT,
            silence=silence,
        )
        result = guest.run()
        text = result.data_path.read_text(errors="replace")
        return verdicts.read(text[: text.rfind("\n") + 1]), result.error

    def _asks(self, test: str, module: Module) -> bool:
        if not module.kind:
            return test.startswith(module.tests)
        own = re.match(r"sch_(\w+)/", test)
        where = own[0] if own else test.partition("[")[2]
        named = set(re.findall(rf"(?<![^\W_])({'|'.join(KINDS)})(?![^\W_])", where))
        return not named or module.kind in named

    def order(self, module: Module, passed: dict[str, str]) -> list[str]:
        """But for those that it has passed as they are"""
        left = {file for file, state in self.state.items() if passed.get(file) != state}
        wanted = [
            test
            for test in self.seconds
            if test.partition("::")[0] in left and self._asks(test, module) and SLOW not in test
        ]
        return sorted(
            wanted, key=lambda t: (t.startswith(LAST), not t.startswith("sch_"), self.seconds[t])
        )

    def run(self, module: Module, made: Path, name: str, passed: dict[str, str]) -> Result:
        """With this in place of the module"""
        order = self.order(module, passed)
        if not order:
            return Result(SURVIVED, passed=passed | self.all)
        files: dict[str, bytes | Path] = {
            self.builder.place(module): made,
            "/sf/order": "\n".join(order).encode(),
        }
        names = dict.fromkeys(test.partition("::")[0] for test in order)
        silence = max(SHORTEST, LIMIT * max(self.seconds[test] for test in order))
        told, error = self._run(
            "-x", "--order=/sf/order", *names, files=files, silence=silence, name=name
        )
        for test in told.tests:
            if test.passed is False:
                return Result(KILLED, test.name, test.text)
        if not any(test.began for test in told.tests):  # nor is a module loaded
            raise VMError(f"no test was begun: {error}")
        if error or told.trouble:
            error = error or told.trouble[0]
            return Result(KILLED, f"{told.now() or 'no test'}: {error}", error)
        if not told.tests or told.status or any(not test.passed for test in told.tests):
            raise VMError(f"the tests have not come to an end: {told.failures()}")
        return Result(SURVIVED, passed=passed | self.all)


def _on_host(mutant: Mutant) -> list[str]:
    """The tests on the host whose libraries include the file"""
    tests = []
    for source in [*CHECKOUT.glob("selftests/host/*.c"), *CHECKOUT.glob("sch_*/tests/host/*.c")]:
        if f"<{mutant.file.removeprefix('include/')}>" in source.read_text():
            test = source.with_name(f"test_{source.stem}.py")
            tests.append(str(test.relative_to(CHECKOUT)))
    return tests


def try_on_host(mutant: Mutant, tree: Path) -> Result | None:
    """What kills it there, if anything does"""
    tests = _on_host(mutant)
    if not tests:
        return None
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("include", "selftests", "vm", *(f"sch_{kind}" for kind in KINDS)):
        shutil.copytree(CHECKOUT / name, tree / name)
    (tree / mutant.file).write_text(mutant.source)
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
    command += ["--import-mode=importlib", f"--rootdir={tree}", "--tb=line", *tests]
    seconds = float(LIMIT * SHORTEST)
    environment = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return Result(KILLED, f"{tests[0]}: not finished after {seconds:g} s")
    if not done.returncode:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return Result(KILLED, found[1] if found else tests[0], done.stdout[-2000:])


def try_in_user_space(mutant: Mutant, kind: str, tree: Path) -> Result | None:
    """What kills it there, if anything does"""
    fuzz.copy_sources(tree)
    (tree / mutant.file).write_text(mutant.source)
    try:
        (program,) = fuzz.build(fuzz.checked(), [kind], tree, tree)
    except VMError:  # warnings are errors there
        return None
    seconds = float(LIMIT * SHORTEST)
    try:
        done = subprocess.run(
            [program, str(PACKETS), "1", *fuzz.kept(kind)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Result(KILLED, f"fuzz {kind}: not finished after {seconds:g} s")
    if not done.returncode:
        return None
    why = fuzz.reason(done.stderr).replace(f"{tree}/", "").replace(f"{CHECKOUT}/", "")
    return Result(KILLED, f"fuzz {kind}: {why}", done.stderr[-2000:])


class Campaign:
    """Mutants, some side by side, and what has become of them"""

    def __init__(self, files: list[str], jobs: int, without: list[str]) -> None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        fuzz.build(fuzz.checked(), KINDS)  # what is wrong here is no mutant's
        self.builder = Builder()
        self.tests = Tests(self.builder, without)
        self.files = files
        self.reasons = reasons()
        self.names: queue.SimpleQueue[str] = queue.SimpleQueue()  # of places to build and run at
        self.pool = ThreadPoolExecutor(jobs)
        for number in range(jobs):
            self.names.put(f"mutant-{number}")

    def drawn(self, seed: int) -> Iterator[Mutant]:
        """All of them, as the seed shuffles them"""
        found = [m for file in self.files for m in mutants(file, (CHECKOUT / file).read_text())]
        random.Random(seed).shuffle(found)
        yield from found

    def _path(self, mutant: Mutant) -> Path:
        what = [self.builder.digest, mutant.file, mutant.begin, mutant.end, mutant.by]
        return RESULTS / hashlib.sha256(repr(what).encode()).hexdigest()[:20]

    def _known(self, mutant: Mutant) -> Result | None:
        path = self._path(mutant)
        return Result(**json.loads(path.read_text())) if path.exists() else None

    def _believed(self, mutant: Mutant) -> bool:
        """Is there a reason why no test kills it?"""
        return (mutant.file, mutant.was, mutant.becomes) in self.reasons

    def judged(self, drawn: Iterator[Mutant]) -> Iterator[tuple[Mutant, Result]]:
        """In the order in which they are drawn; as many of the next ones are begun as it takes."""
        begun: deque[tuple[Mutant, Future[Result]]] = deque()
        try:
            while True:
                for mutant in itertools.islice(drawn, AHEAD - len(begun)):
                    begun.append((mutant, self.pool.submit(self.judge, mutant)))
                if not begun:
                    return
                mutant, future = begun.popleft()
                yield mutant, future.result()
        finally:
            self.pool.shutdown(cancel_futures=True)

    def judge(self, mutant: Mutant) -> Result:
        result = self._known(mutant)
        passed = result.passed if result else {}
        # Of who has a reason it is enough to have survived once
        enough = passed if self._believed(mutant) else passed.items() >= self.tests.all.items()
        if not result or (result.how == SURVIVED and not enough):
            name = self.names.get()
            try:
                result = self._judge(mutant, name, passed)
            finally:
                self.names.put(name)
        return result

    def _try(self, mutant: Mutant, name: str, passed: dict[str, str]) -> Result:
        """In one module after the other"""
        result = Result(SAME)
        for module in self.builder.users(mutant.file):
            how, made = self.builder.build(mutant, module, HOME / name)
            if how == BROKEN:
                return Result(BROKEN)
            if how == SAME:
                continue
            if result.how == SAME:
                result = try_on_host(mutant, HOME / name / "tree") or result
            if result.how != KILLED:
                result = self.tests.run(module, made, name, passed)
            if result.how != KILLED and module.kind:
                result = try_in_user_space(mutant, module.kind, HOME / name / "tree") or result
            if result.how == KILLED:
                break
        return result

    def _judge(self, mutant: Mutant, name: str, passed: dict[str, str]) -> Result:
        began = time.monotonic()
        result = self._try(mutant, name, passed)
        result = replace(result, seconds=round(time.monotonic() - began, 1))
        partial = self._path(mutant).with_suffix(".tmp")
        partial.write_text(json.dumps(asdict(result)))
        partial.rename(self._path(mutant))
        return result


def reasons() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Why some are not killed, and whether they are the same for whoever looks, by the lines"""
    told = tomllib.loads(REASONS.read_text()) if REASONS.exists() else {}
    return {
        (each["file"], each["was"], each["becomes"]): (title, each["why"])
        for title in ("equivalent", "unseen")
        for each in told.get(title, [])
    }


Row = tuple[Mutant, Result]


class Table:
    """What is told of all: build/mutants.txt"""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.replaced: Counter[str] = Counter()
        self.reasons = reasons()

    def reason(self, mutant: Mutant) -> tuple[str, str]:
        return self.reasons.get((mutant.file, mutant.was, mutant.becomes), ("", ""))

    def counts(self) -> str:
        killed = sum(result.how == KILLED for _, result in self.rows)
        left = [self.reason(mutant)[0] for mutant, result in self.rows if result.how == SURVIVED]
        told = f"{len(self.rows)} mutants: {killed} killed, {left.count('equivalent')} equivalent"
        return f"{told}, {left.count('unseen')} unseen, {left.count('')} survivors without a word"

    def line(self, mutant: Mutant, result: Result) -> str:
        title, _ = self.reason(mutant)
        how = f"killed by {result.by}" if result.how == KILLED else title or "SURVIVED"
        if result.how == KILLED and title:
            how += f", though said to be {title}"
        where = f"{mutant.file}:{mutant.line}"
        return f"{where}: {mutant.change}: {how}, {result.seconds:.0f} s"

    def text(self) -> str:
        lines = [self.line(*row) for row in self.rows]
        for mutant, result in self.rows:
            if result.how == SURVIVED:
                lines += ["", self.line(mutant, result), mutant.diff]
                lines += [f"    {why}" for why in [self.reason(mutant)[1]] if why]
        replaced = f"{self.replaced[SAME]} with the same object code"
        replaced += f" and {self.replaced[BROKEN]} that do not compile were replaced"
        return "\n".join([*lines, "", replaced, self.counts(), ""])


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants side by side")
    parser.add_argument("--file", action="append", help="of these sources only")
    parser.add_argument(
        "--without", action="append", default=[], help="leave out a file of tests, for now"
    )
    options = parser.parse_args()
    campaign = Campaign(options.file or sources(), options.jobs, options.without)
    table = Table()
    for mutant, result in campaign.judged(campaign.drawn(options.seed)):
        if result.how in (SAME, BROKEN):
            table.replaced[result.how] += 1
            continue
        table.rows.append((mutant, result))
        each = sum(result.seconds for _, result in table.rows) / len(table.rows) / options.jobs
        left = each * (options.number - len(table.rows)) / 60
        print(f"{len(table.rows)} of {options.number}: {table.line(mutant, result)}")
        print(f"    {table.counts()}; {left:.0f} min left", flush=True)
        HOME.with_suffix(".txt").write_text(table.text())
        if len(table.rows) == options.number:
            break
    print(table.text())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VMError as error:
        sys.exit(f"mutants: {error}")
