# SPDX-License-Identifier: GPL-2.0
"""What a change touches, by git, and which tests it makes the gate run whole (gate.toml)."""

import fnmatch
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vm.build import CHECKOUT

HOURS = 6  # a change that is on the main branch already: the commits of so long before the last
_MAIN = ("@{upstream}", "origin/HEAD", "origin/main")


def _git(*words: str, top: Path = CHECKOUT) -> str | None:
    """Its output, None if it fails or there is no git"""
    command = ["git", "-c", "safe.directory=*", "-C", str(top), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def base(top: Path = CHECKOUT) -> str | None:
    """
    The commit that the change is based on: where HEAD left the main branch, or, if HEAD is on it,
    the last commit that is HOURS older than HEAD. None if git does not know.
    """
    head = _git("rev-parse", "--verify", "HEAD", top=top)
    if not head:
        return None
    for main in _MAIN:
        found = _git("merge-base", "HEAD", main, top=top)
        if found and found != head:
            return found
    date = int(_git("show", "-s", "--format=%ct", "HEAD", top=top) or 0)
    return _git("rev-list", "-1", f"--before={date - HOURS * 3600}", "HEAD", top=top) or None


def changed(since: str | None, top: Path = CHECKOUT) -> list[str] | None:
    """The files that differ from that commit, new ones included. None if git does not know."""
    if not since:
        return None
    differ = _git("diff", "-z", "--name-only", "--no-renames", since, "--", top=top)
    new = _git("ls-files", "-z", "--others", "--exclude-standard", top=top)
    if differ is None or new is None:
        return None
    return sorted({*differ.split("\0"), *new.split("\0")} - {""})


@dataclass
class Touched:
    """What to run whole"""

    guests: set[str] = field(default_factory=set)  # folders and files with tests for guests
    boot: set[str] = field(default_factory=set)  # tests for the stock kernels
    host: set[str] = field(default_factory=set)  # the same on the host
    steps: set[str] = field(default_factory=set)  # names of further steps


def _own_tests(path: Path, top: Path) -> str:
    """The tests beside a file: itself, or the folder `tests` next to it or above it; "" if none"""
    if path.name.startswith("test_") and path.suffix == ".py":
        return str(path)
    for folder in path.parents:
        if folder.name == "tests":
            return str(folder)
        if folder != Path(".") and (top / folder / "tests").is_dir():
            return str(folder / "tests")
    return ""


def touched(
    names: Iterable[str] | None, rules: Sequence[dict[str, list[str]]], top: Path = CHECKOUT
) -> Touched:
    """By the rules of gate.toml, and each folder's own tests. `names` None: everything."""
    found = Touched()
    for rule in rules:
        hit = names is None or any(fnmatch.fnmatch(n, p) for n in names for p in rule["paths"])
        if hit:
            found.guests.update(rule.get("guests", []))
            found.boot.update(rule.get("boot", []))
            found.host.update(rule.get("host", []))
            found.steps.update(rule.get("steps", []))
    if names is None:
        found.guests.add(".")
        found.host.add(".")
    for name in names or ():
        if tests := _own_tests(Path(name), top):
            found.guests.add(tests)
            found.host.add(tests)
    return found
