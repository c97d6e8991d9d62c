# SPDX-License-Identifier: GPL-2.0
"""Do the tests notice when the modules are changed? Random mutants (operators.py), each built and
tested in a guest of the native kernel until the first test fails.

        python3 -m selftests.mutants [--number 100] [--seed 1] [--file sch_las/sch_las.c]...

A mutant that does not compile, or comes out as the same object code, is replaced by another. One
that no test kills changes nothing that can be seen, or a test is missing: survivors.toml has the
reasons, by what lines say rather than by their numbers.

Tests are those of sch_KIND/tests and selftests/kinds that ask the kinds into which the mutant was
built, those of a kind's own folder first, and the quick ones before the others. Left out are those
that ask programs rather than modules, and a slow one. A guest in which nothing happens for LIMIT
times as long as the longest test takes is killed, and its mutant with it. Headers that tests on the
host include are tried there first.

What has become of a mutant is kept in build/mutants, by the sources, so that an interrupted run
goes on where it was; who has survived is tried again when tests have changed.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from selftests.lib.options import KINDS
from vm import verdicts
from vm.build import CHECKOUT, INSIDE, Built, prepare
from vm.guest import Guest
from vm.kernels import NATIVE
from vm.root import VMError, in_namespace, on_overlay

from .operators import Mutant, mutants

HOME = CHECKOUT / "build/mutants"
RESULTS = HOME / "results"
REASONS = Path(__file__).with_name("survivors.toml")
LIMIT = 10
SHORTEST = 60  # seconds of silence that are never too many, on a busy machine
SLOW = "::test_ten_changes_a_second["  # takes as long as all others of a kind
PROGRAMS = ("test_tdc", "test_installcheck", "test_completion", "test_nl", "test_scripts")
LAST = "selftests/kinds/test_left_over.py"  # after all others
TIMEOUT = 3600

# What becomes of one
KILLED, SURVIVED, SAME, BROKEN = "killed", "survived", "same", "broken"


@dataclass(frozen=True)
class Result:
    how: str
    by: str = ""  # the test, and what it was if not that failed
    text: str = ""  # what it said
    seconds: float = 0
    tests: str = ""  # digest of those that a survivor has passed


def sources() -> list[str]:
    found = [*CHECKOUT.glob("sch_*/sch_*.c"), *CHECKOUT.glob("include/shortfirst/*.h")]
    return sorted(str(path.relative_to(CHECKOUT)) for path in found)


def _digest(paths: list[Path]) -> str:
    state = hashlib.sha256()
    for path in sorted(paths):
        state.update(f"{path.relative_to(CHECKOUT)} {path.stat().st_size} ".encode())
        state.update(path.read_bytes())
    return state.hexdigest()


def tests_digest() -> str:
    where = ("sch_*/tests/**/*", "selftests/kinds/*", "selftests/lib/*", "selftests/host/*")
    return _digest([p for pattern in where for p in CHECKOUT.glob(pattern) if p.is_file()])


class Modules:
    """Builds mutants on top of what is built of the tree."""

    def __init__(self) -> None:
        self.built: Built = prepare(NATIVE)
        self.tree = self.built.upper / INSIDE
        self.home = HOME / "build"
        self.commands = {kind: self._command(kind) for kind in KINDS}
        everything = [*CHECKOUT.glob("sch_*/*.[ch]"), *CHECKOUT.glob("include/shortfirst/*")]
        self.digest = _digest(everything)

    def _saved(self, kind: str, what: str) -> tuple[str, str]:
        """The command that has made it, and all of the file in which make remembers that"""
        text = (self.tree / f"sch_{kind}/.sch_{kind}.{what}.cmd").read_text()
        return re.search(r"^savedcmd_\S+ := (.*)$", text, re.MULTILINE)[1], text

    def _command(self, kind: str) -> str:
        """Makes the module anew, if its object code has become another."""
        name = f"sch_{kind}/sch_{kind}"
        (compile_it, _), (link, _) = self._saved(kind, "o"), self._saved(kind, "ko")
        known = hashlib.sha256((self.tree / f"{name}.o").read_bytes()).hexdigest()
        same = f'echo "{known}  {name}.o" | sha256sum -c --status'
        return f"rm -f {name}.ko; {compile_it} || exit 1; {same} || {link} || exit 1"

    def users(self, file: str) -> list[str]:
        """The kinds into which a source is built"""
        return [kind for kind in KINDS if f" {file} " in self._saved(kind, "o")[1]]

    def build(self, mutant: Mutant) -> dict[str, Path] | None:
        """The modules that are others, by kind; None if it does not compile."""
        upper = self.home / "upper"
        shutil.rmtree(upper, ignore_errors=True)
        path = upper / INSIDE / mutant.file
        path.parent.mkdir(parents=True)
        path.write_text(mutant.source)
        kinds = self.users(mutant.file)
        script = f"cd /{INSIDE}\n" + "\n".join(self.commands[kind] for kind in kinds)
        command = on_overlay([self.built.upper, *self.built.lower], self.home, ["sh", "-c", script])
        with open(self.home / "log", "wb") as log:
            if in_namespace(command, log):
                return None
        made = {kind: upper / INSIDE / f"sch_{kind}/sch_{kind}.ko" for kind in kinds}
        return {kind: path for kind, path in made.items() if path.is_file()}


class Tests:
    """Those in guests, and how long each takes"""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.digest = tests_digest()
        self.kept = HOME / "seconds.json"
        self.seconds: dict[str, float] = self._known()
        if not self.seconds:
            self._measure()

    def _known(self) -> dict[str, float]:
        kept = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        wanted = [self.digest, self.modules.digest]
        return kept["seconds"] if kept.get("of") == wanted else {}

    def _guest(self, *arguments: str, files: dict[str, bytes | Path], silence: float) -> Guest:
        return Guest(
            self.modules.built,
            mode="functional",
            name="mutant",
            job=str(CHECKOUT / "selftests/run"),
            args=["-p", "selftests.mutants.order", *arguments],
            files=files,
            timeout=TIMEOUT,
            silence=silence,
        )

    def told(self) -> verdicts.Verdicts:
        text = (self.modules.built.home / "runs/mutant/data").read_text(errors="replace")
        return verdicts.read(text[: text.rfind("\n") + 1])

    def _measure(self) -> None:
        """All of them, without a mutant"""
        print("the tests without a mutant ...", flush=True)
        ignored = [f"--ignore=selftests/kinds/{name}.py" for name in PROGRAMS]
        result = self._guest(
            "selftests/kinds",
            *(f"sch_{kind}/tests" for kind in KINDS),
            *ignored,
            files={},
            silence=400,
        ).run()
        told = self.told()
        if failures := told.failures(result.error):
            raise VMError(f"without a mutant: {failures[0]}")
        self.seconds = {test.name: test.seconds for test in told.tests}
        kept = {"of": [self.digest, self.modules.digest], "seconds": self.seconds}
        self.kept.write_text(json.dumps(kept))

    def _asks(self, test: str, kinds: list[str]) -> bool:
        own = re.match(r"sch_(\w+)/", test)
        where = own[0] if own else test.partition("[")[2]
        named = set(re.findall(rf"(?<![^\W_])({'|'.join(KINDS)})(?![^\W_])", where))
        return not named or bool(named & set(kinds))

    def order(self, kinds: list[str]) -> list[str]:
        wanted = [test for test in self.seconds if self._asks(test, kinds) and SLOW not in test]
        return sorted(
            wanted, key=lambda t: (t.startswith(LAST), not t.startswith("sch_"), self.seconds[t])
        )

    def run(self, made: dict[str, Path]) -> Result:
        order = self.order(list(made))
        updates = f"/usr/lib/modules/{self.modules.built.version}/updates"
        files: dict[str, bytes | Path] = {
            f"{updates}/sch_{kind}.ko": path for kind, path in made.items()
        }
        files["/sf/order"] = "\n".join(order).encode()
        names = dict.fromkeys(test.partition("::")[0] for test in order)
        silence = max(SHORTEST, LIMIT * max(self.seconds[test] for test in order))
        guest = self._guest("-x", "--order=/sf/order", *names, files=files, silence=silence)
        result, told = guest.run(), self.told()
        for test in told.tests:
            if test.passed is False:
                return Result(KILLED, test.name, test.text)
        if result.error or told.trouble:
            error = result.error or told.trouble[0]
            return Result(KILLED, f"{told.now() or 'no test'}: {error}", error)
        if not told.tests or told.status or any(not test.passed for test in told.tests):
            raise VMError(f"the tests have not come to an end: {told.failures()}")
        return Result(SURVIVED, tests=self.digest)


def _on_host(mutant: Mutant) -> list[str]:
    """The tests on the host whose libraries include the file"""
    tests = []
    for source in [*CHECKOUT.glob("selftests/host/*.c"), *CHECKOUT.glob("sch_*/tests/host/*.c")]:
        if f"<{mutant.file.removeprefix('include/')}>" in source.read_text():
            test = source.with_name(f"test_{source.stem}.py")
            tests.append(str(test.relative_to(CHECKOUT)))
    return tests


def try_on_host(mutant: Mutant) -> Result | None:
    """What kills it there, if anything does"""
    tests = _on_host(mutant)
    if not tests:
        return None
    tree = HOME / "tree"
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


class Campaign:
    """Mutants one after the other, and what has become of them"""

    def __init__(self, files: list[str]) -> None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.modules = Modules()
        self.tests = Tests(self.modules)
        self.files = files

    def drawn(self, seed: int) -> Iterator[Mutant]:
        """All of them, as the seed shuffles them"""
        found = [m for file in self.files for m in mutants(file, (CHECKOUT / file).read_text())]
        random.Random(seed).shuffle(found)
        yield from found

    def _path(self, mutant: Mutant) -> Path:
        what = [self.modules.digest, mutant.file, mutant.begin, mutant.end, mutant.by]
        return RESULTS / hashlib.sha256(repr(what).encode()).hexdigest()[:20]

    def known(self, mutant: Mutant) -> Result | None:
        path = self._path(mutant)
        result = Result(**json.loads(path.read_text())) if path.exists() else None
        again = result and result.how == SURVIVED and result.tests != self.tests.digest
        return None if again else result

    def judge(self, mutant: Mutant) -> Result:
        began = time.monotonic()
        made = self.modules.build(mutant)
        if made is None:
            result = Result(BROKEN)
        elif not made:
            result = Result(SAME)
        else:
            result = try_on_host(mutant) or self.tests.run(made)
        kept = asdict(result) | {"seconds": round(time.monotonic() - began, 1)}
        kept |= {"file": mutant.file, "was": mutant.was, "becomes": mutant.becomes}
        partial = self._path(mutant).with_suffix(".tmp")
        partial.write_text(json.dumps({k: kept[k] for k in asdict(result)}))
        partial.rename(self._path(mutant))
        return Result(**{k: kept[k] for k in asdict(result)})


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
    parser.add_argument("--file", action="append", help="of these sources only")
    options = parser.parse_args()
    campaign, table = Campaign(options.file or sources()), Table()
    began, worked = time.monotonic(), 0
    for mutant in campaign.drawn(options.seed):
        if len(table.rows) == options.number:
            break
        result = campaign.known(mutant)
        if not result:
            result = campaign.judge(mutant)
            worked += result.how in (KILLED, SURVIVED)
        if result.how in (SAME, BROKEN):
            table.replaced[result.how] += 1
            continue
        table.rows.append((mutant, result))
        print(f"{len(table.rows)} of {options.number}: {table.line(mutant, result)}")
        each = (time.monotonic() - began) / max(worked, 1) / 60
        left = f"{each * (options.number - len(table.rows)):.0f} min left" if worked else "known"
        print(f"    {table.counts()}; {left}", flush=True)
        HOME.with_suffix(".txt").write_text(table.text())
    print(table.text())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VMError as error:
        sys.exit(f"mutants: {error}")
