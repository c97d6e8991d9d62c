# SPDX-License-Identifier: GPL-2.0
"""The kinds, whole, in user space: python3 -m selftests.fuzz COMMAND, from the top of the tree."""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from selftests.suite.coverage import Counts
from vm.root import VMError

from .archive import pack
from .build import (
    BUILD,
    HERE,
    KINDS,
    TREE,
    Variant,
    build,
    copy_sources,
    corpus,
    counted,
    fuzzer,
    kept,
    kept_folder,
    reason,
    soak,
    symbolizer,
)

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
# What libFuzzer is to know: inputs are long at once, since it takes many operations to fill a queue
OPTIONS = "-len_control=0 -max_len=1024 -print_final_stats=0".split()
# What was freed is kept for less than by default, and less is kept of who freed it: this is quicker
ASAN = {"ASAN_OPTIONS": "quarantine_size_mb=4:malloc_context_size=2"}
RANDOM = 200_000  # packets, when lines are counted
LEAST = 0.95  # of each file's lines is to be reached
GUARANTEED = ["las", "sqf"]  # a pause without a packet is bounded
FEW = 20_000  # sequences in which a fault that is put in has to be found
_SAID = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")


def seconds(text: str) -> int:
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if not found:
        raise argparse.ArgumentTypeError("a time is a number of seconds, or 10m, or 1h")
    return int(found[1]) * _UNITS[found[2]]


def fuzz(
    kind: str,
    program: Path,
    time: int,
    home: Path = BUILD,
    limit: Sequence[str] = (),
    from_nothing: bool = False,
) -> tuple[str, bool]:
    """Fuzz for so long, or as a command limits it, on from what is kept; what is to be said, and
    whether nothing is wrong."""
    found, log = home / f"corpus_{kind}", home / f"{kind}.log"
    found.mkdir(parents=True, exist_ok=True)
    artifacts = f"-artifact_prefix={home}/{kind}-"
    command = [*limit, "nice", program, *OPTIONS, f"-max_total_time={time}", artifacts]
    command += [found]
    if not from_nothing and kept(kind):
        command += [kept_folder(kind)]
    with open(log, "w") as out:
        done = subprocess.run(command, stderr=out, env=os.environ | ASAN | symbolizer())
    text = log.read_text(errors="replace")
    said = _SAID.findall(text)
    if done.returncode == -signal.SIGXCPU:
        return f"{kind}: its time is over", True
    if not done.returncode:
        runs = re.findall(r"^Done (\d+) runs", text, re.MULTILINE)
        return f"{kind}: {runs[-1]} inputs, {said[-1][0]} places, {said[-1][2]} kept", True
    unit = re.search(r"Test unit written to (\S+)", text)
    return f"{kind}: {reason(text)}\n  again: {program} {unit[1] if unit else log}", False


def run(kinds: list[str], time: int) -> int:
    programs = build(fuzzer(), kinds)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda kind, program: fuzz(kind, program, time), kinds, programs)
        good = True
        for text, well in done:
            print(text, flush=True)
            good = good and well
    return not good


def keep(kinds: list[str]) -> int:
    """Write the archive in the tree anew. It keeps the fewest inputs that reach what all of those
    found and kept reach, numbered, and each input with a name instead of a number: such an input
    has shown a bug once."""
    for kind, program in zip(kinds, build(fuzzer(), kinds), strict=True):
        before = {path.name: path.read_bytes() for path in kept(kind)}
        least, found = BUILD / f"least_{kind}", [BUILD / f"corpus_{kind}", kept_folder(kind)]
        shutil.rmtree(least, ignore_errors=True)
        least.mkdir(parents=True)
        # How often a place is reached is not to count: there would be thousands of files.
        merge = ["nice", program, *OPTIONS, "-set_cover_merge=1", "-use_counters=0", least]
        subprocess.run([*merge, *filter(Path.is_dir, found)], check=True, env=os.environ | ASAN)
        inputs = {name: data for name, data in before.items() if not name[0].isdigit()}
        for number, file in enumerate(sorted(least.iterdir()), 1):
            inputs[f"{number:02}"] = file.read_bytes()
        pack(corpus(kind), inputs)
    return 0


def _reasons(counts: Counts) -> tuple[list[str], list[str]]:
    """Why lines were never executed, as unreached.toml has it, and what is wrong with that"""
    told, wrong = [], []
    left = {
        name: {n for n, met in lines.items() if not met} for name, lines in counts.lines.items()
    }
    for entry in tomllib.loads((HERE / "unreached.toml").read_text())["unreached"]:
        name, text = entry["file"], entry["lines"].strip("\n")
        before, found, behind = (TREE / name).read_text().partition(f"{text}\n")
        first = before.count("\n") + 1
        last = first + text.count("\n")
        if not found or text in behind:
            wrong.append(f"unreached.toml: {name} has not once {text.splitlines()[0].strip()}")
            continue
        if left[name].isdisjoint(range(first, last + 1)):
            wrong.append(f"unreached.toml: {name}:{first}-{last} is reached")
        left[name] -= set(range(first, last + 1))
        told.append(f"{name}:{first}-{last}: {entry['why']}")
    wrong += [f"{name}:{number}: why is it not reached?" for name in left for number in left[name]]
    for name, lines in counts.lines.items():
        if sum(met > 0 for met in lines.values()) < LEAST * len(lines):
            wrong.append(f"{name}: less than {LEAST:.0%} is reached")
    return told, sorted(wrong)


def coverage(kinds: list[str]) -> int:
    """Which lines of the sources are executed by what is kept in the tree and by some random
    operations, and why not the others?"""
    counts = Counts()
    for kind, program in zip(kinds, build(counted(), kinds), strict=True):
        counts_of = program.parent / f"fuzz_{kind}.gcda"
        counts_of.unlink(missing_ok=True)
        command = ["nice", program, str(RANDOM), "1", *kept(kind)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        gcov = ["gcov", "--json-format", "--stdout", "--branch-probabilities", counts_of]
        said = subprocess.run(gcov, check=True, capture_output=True, cwd=program.parent)
        for told in map(json.loads, said.stdout.splitlines()):
            for file in told["files"]:
                file["file"] = file["file"].removeprefix(f"{TREE}/")
            counts.add(told)
    print(*counts.table(), sep="\n")
    # What several kinds share some of them may not reach.
    if kinds != KINDS:
        return 0
    told, wrong = _reasons(counts)
    print("", *told, "", *wrong, sep="\n")
    return bool(wrong)


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_fault(fault: dict[str, str], tree: Path, variant: Variant) -> Path:
    """The program built from a copy of the sources in @tree into which the fault has been put."""
    copy_sources(tree)
    path = tree / fault["file"]
    text = path.read_text()
    if text.count(fault["was"]) != 1:
        raise VMError(f"{fault['file']} is not as the fault {fault['name']!r} wants it")
    path.write_text(text.replace(fault["was"], fault["is"]))
    (program,) = build(variant, [fault["kind"]], tree, tree)
    return program


def seeded(time: int, from_nothing: bool) -> int:
    """Is each bug found that is put into a copy of the sources, by what is kept in the tree or from
    nothing? Time is a processor's: what else the machine does is not to change the answer."""
    bugs = tomllib.loads((HERE / "seeded.toml").read_text())["bug"]
    limit = ["prlimit", f"--cpu={time}:{time + 9}"]
    missed = 0
    for number, bug in enumerate(bugs):
        tree = BUILD / "seeded" / str(number)
        program = with_fault(bug, tree, fuzzer())
        began = _processor_time()
        said, well = fuzz(bug["kind"], program, 0, tree, limit, from_nothing)
        missed += well
        why = said.splitlines()[0].removeprefix(f"{bug['kind']}: ").replace(f"{tree}/", "")
        found = "not" if well else f"{_processor_time() - began:.0f} s"
        why = why.replace(f"{TREE}/", "")
        print(f"{bug['name']:72}  {bug['kind']:5}  {found:>5}  {why}", flush=True)
    return bool(missed)


def soak_all(kinds: list[str], packets: int, seed: int) -> int:
    programs = build(soak(), kinds)

    def one(program: Path) -> subprocess.CompletedProcess:
        command = ["nice", str(program), str(packets), str(seed)]
        return subprocess.run(command, capture_output=True, text=True)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind, done in zip(kinds, pool.map(one, programs), strict=True):
            print(f"{kind}:", *(done.stdout + done.stderr).splitlines(), sep="\n  ", flush=True)
            failed |= done.returncode
    return bool(failed)


def link(sequences: int, seed: int) -> int:
    """Random senders on a link (link.h). The guarantee has to hold, and each fault of starving.toml
    has to break it."""
    names = dict(zip(GUARANTEED, build(soak(), GUARANTEED), strict=True))
    faults = tomllib.loads((HERE / "starving.toml").read_text())["fault"]
    programs = [(kind, program, sequences) for kind, program in names.items()]
    for number, fault in enumerate(faults):
        program = with_fault(fault, BUILD / "starving" / str(number), soak())
        programs.append((f"{fault['kind']}, {fault['name']}", program, FEW))

    def one(name: str, program: Path, count: int) -> tuple[str, bool, str]:
        began = time.monotonic()
        command = ["nice", str(program), "link", str(count), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        said = (done.stdout + done.stderr).replace(f"{TREE}/", "").splitlines()
        took = f"{time.monotonic() - began:.0f} s"
        return "\n  ".join([f"{name}, {took}:", *said]), bool(done.returncode), name

    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text, broken, name in pool.map(lambda each: one(*each), programs):
            print(text, flush=True)
            wrong += broken == (name in names)
    return bool(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(prog="selftests.fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("run", "fuzz"),
        ("keep", "make what is kept in the tree anew"),
        ("coverage", "which lines of the kinds does what is kept execute?"),
        ("seeded", "put bugs in, and see that they are found"),
        ("soak", "random operations, without sanitizers"),
        ("link", "random senders on a link: does the guarantee of las and sqf hold?"),
    ):
        command = commands.add_parser(name, help=text)
        if name not in ("seeded", "link"):
            command.add_argument("--kind", action="append", choices=KINDS, help="only this one")
        if name in ("run", "seeded"):
            command.add_argument("--time", type=seconds, default=60, help="for each: 90, 10m, 1h")
        if name == "seeded":
            command.add_argument("--from-nothing", action="store_true", help="without the corpus")
        if name == "soak":
            command.add_argument("--packets", type=int, default=10**7)
        if name == "link":
            command.add_argument("--sequences", type=int, default=10**6, help="of each kind")
        if name in ("soak", "link"):
            command.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kinds = vars(given).get("kind") or KINDS
    if given.command == "run":
        return run(kinds, given.time)
    if given.command == "keep":
        return keep(kinds)
    if given.command == "coverage":
        return coverage(kinds)
    if given.command == "seeded":
        return seeded(given.time, given.from_nothing)
    if given.command == "link":
        return link(given.sequences, given.seed)
    return soak_all(kinds, given.packets, given.seed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VMError as error:
        sys.exit(f"fuzz: {error}")
