# SPDX-License-Identifier: GPL-2.0
"""Does the gate find the faults that planted.toml describes?

Each is put into a copy of the last commit, and the gate is run there until its first failure, or
only the task of the gate that is to find it.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from vm.build import CHECKOUT
from vm.root import VMError

from .tasks import BUILD

FAULTS = Path(__file__).with_name("planted.toml")
WIDTH = 200  # characters shown of the line that names the fault
_WHO = ["-c", "user.name=planted", "-c", "user.email=planted@localhost"]


def faults(path: Path = FAULTS) -> list[dict[str, str]]:
    return tomllib.loads(path.read_text())["fault"]


def plant(fault: dict[str, str], tree: Path) -> None:
    """Change the file in that tree."""
    path = tree / fault["file"]
    text = path.read_text()
    if text.count(fault["was"]) != 1:
        raise VMError(f"{fault['file']} has no single place for the fault {fault['name']!r}")
    path.write_text(text.replace(fault["was"], fault["is"]))


def named(fault: dict[str, str], status: int, said: str) -> str:
    """The line that names the fault, "" if it was not found"""
    if status == 0:
        return ""
    return next((line.strip() for line in said.splitlines() if re.search(fault["says"], line)), "")


def _gate(tree: Path, log: Path, task: str | None) -> tuple[int, str]:
    command = [sys.executable, "-m", "selftests.suite", "gate", "--fail-fast", "--base", "HEAD~"]
    command += ["--only", task] if task else []
    with open(log, "w+", errors="replace") as out:
        environment = os.environ | {"PYTHONPATH": str(tree)}
        done = subprocess.run(command, cwd=tree, env=environment, stdout=out, stderr=out)
        out.seek(0)
        return done.returncode, out.read()


def run(times: int, only: Sequence[int] | None) -> int:
    """Print a line for each run; 1 if a fault was missed once."""
    missed = 0
    for number, fault in enumerate(faults(), 1):
        if only and number not in only:
            continue
        tree = BUILD / "planted" / str(number) / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--shared", CHECKOUT, tree], check=True)
        plant(fault, tree)
        subprocess.run(["git", *_WHO, "commit", "-qam", fault["name"]], cwd=tree, check=True)
        for each in range(1, times + 1):
            began = time.monotonic()
            status, said = _gate(tree, tree.parent / f"{each}.log", fault.get("task"))
            found = named(fault, status, said)
            missed += not found
            answer = f"red: {found[:WIDTH]}" if found else f"MISSED (exit status {status})"
            print(
                f"{number} {fault['name']}, {time.monotonic() - began:.0f} s, {answer}", flush=True
            )
    return int(missed > 0)
