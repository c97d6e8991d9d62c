# SPDX-License-Identifier: GPL-2.0
"""Run one guest and judge how it went."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import initramfs, kept, qemu, uml
from .build import CHECKOUT, INSIDE, Built
from .console import Console
from .machine import FUNCTIONAL, MODES, VIRTUAL, Machine, execute, text_of
from .root import VMError, locked

FAILED = 125  # the status of a run that went wrong, whatever the job said


@dataclass(frozen=True)
class Result:
    status: int  # the job's, or FAILED
    error: str  # what went wrong with the run, "" if nothing
    console_path: Path
    data_path: Path
    seconds: float
    kept: bool = False  # from an earlier run of the same
    races: Mapping[str, int] = field(default_factory=dict)  # of the kernel's own: console.py


def _mode(data: bytes | Path) -> int:
    return 0o755 if isinstance(data, Path) and os.access(data, os.X_OK) else 0o644


class Guest:
    """One guest and its job. Guests with different names may run at the same time.

    mode     "functional": all of the root and of the tests; in QEMU real time and two processors,
             in user-mode Linux virtual time, but for a shell;
             "virtual": only what the run needs, one processor, and a time of its own. In QEMU
             its clock counts instructions, in user-mode Linux (the native kernel) only waiting;
             "real": like "virtual" in real time, on the real processor with its caches, so only
             in user-mode Linux, and what it gives is not kept
    job      a script: a file of the checkout, any other file here, or else a path in the guest;
             "" for an interactive shell on the console
    modules  kernel modules to load first; None: the default list, but none of a functional guest
    needs    the scripts and programs of lab/guest that it gets, unless functional; None: all. With
             a / before it, a program of the root, which is there only if it is named
    files    more files for the guest: absolute path there -> content or a file here, which may be
             a program
    timeout  seconds for all of the run; silence: seconds without any output
    fresh    run it even if what it gives is known, as it may be of a virtual one
    executor what runs it, as execute() does here: workers on other machines (workers.py)
    """

    def __init__(
        self,
        built: Built,
        *,
        mode: str,
        name: str,
        job: str = "",
        args: Sequence[str] = (),
        seed: int = 1,
        modules: Sequence[str] | None = None,
        needs: Sequence[str] | None = None,
        files: Mapping[str, bytes | Path] | None = None,
        timeout: float = 3600,
        silence: float | None = None,
        fresh: bool = True,
        executor: Callable[..., tuple[str, str]] = execute,
    ) -> None:
        if mode not in MODES:
            raise VMError(f"no mode {mode!r}: choose {' or '.join(MODES)}")
        if not name or "/" in name or name.startswith("."):
            raise VMError(f"{name!r} cannot be the name of a run")
        self.built, self.mode, self.seed = built, mode, seed
        self.args, self.modules = list(args), None if modules is None else list(modules)
        self.needs = None if needs is None else list(needs)
        self.timeout = timeout
        self.fresh, self.executor = fresh, executor
        self.silence = silence or (120 if mode == FUNCTIONAL else 900)
        self.directory = built.home / "runs" / name
        self.files = {
            path.lstrip("/"): initramfs.file(data, _mode(data))
            for path, data in (files or {}).items()
        }
        self.job = self._place(job)
        self._stopped = threading.Event()

    def _place(self, job: str) -> str:
        """The job's path in the guest; its file is added to the guest's."""
        path = Path(job)
        if not job or not path.is_file():
            if job and not path.is_absolute():
                raise VMError(f"no job {job}: give a file, or an absolute path in the guest")
            return job
        path = path.resolve()
        inside = (
            f"{INSIDE}/{path.relative_to(CHECKOUT)}" if path.is_relative_to(CHECKOUT) else "sf/job"
        )
        self.files[inside] = initramfs.node_of(path)
        return "/" + inside

    def _config(self) -> dict[str, str]:
        # Nobody prints this by chance, and yet the same run has the same console.
        known = repr([self.mode, self.job, self.args, self.seed])
        token = hashlib.sha256(known.encode()).hexdigest()[:12]
        return {"job": self.job, "mode": self.mode, "seed": str(self.seed), "token": token}

    def _prepare(self, terminal: bool) -> tuple[Machine, str]:
        """The machine, and the token of its end mark."""
        config = self._config()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        what = (self.built, self.mode, config, self.args, self.modules, self.needs, self.files)
        with (
            locked(self.built.home / "lock"),  # bytecode.py keeps its results there
            open(self.directory / "initramfs", "wb") as out,
        ):
            initramfs.make(out, *what)
        program = uml if self.built.arch == "um" else qemu
        machine = program.machine(self.built, self.mode, self.seed, self.directory, terminal)
        return machine, config["token"]

    def _key(self, machine: Machine) -> str:
        """Of all that a virtual run depends on"""
        words = [word for word in machine.command if word not in map(str, machine.files)]
        words += [f"{name}={value}" for name, value in (machine.environment or {}).items()]
        return kept.digest(words, machine.files)

    def known(self) -> bool:
        """Whether run() would have nothing to do."""
        if self.fresh:
            return False
        machine, _ = self._prepare(False)
        try:
            return kept.has(self._key(machine))
        finally:
            shutil.rmtree(self.directory)

    def run(self, on_line: Callable[[str], None] | None = None) -> Result:
        """
        Run the guest to its end; `on_line` gets each line of its console. A guest whose kernel
        fails before the first process begins has run nothing of ours, and is started once more:
        in some two hundred boots QEMU's TCG, with a thread for each processor, executes an
        instruction that the kernel has patched meanwhile (Oops: int3).
        """
        result, up = self._run(on_line)
        if self.mode == FUNCTIONAL and not up and "kernel trouble" in result.error:
            print(f"the guest did not boot, once more: {result.error}", file=sys.stderr, flush=True)
            result, _ = self._run(on_line)
        return result

    def _run(self, on_line: Callable[[str], None] | None) -> tuple[Result, bool]:
        """Run the guest once; tells also whether its first process has begun."""
        began = time.monotonic()
        machine, token = self._prepare(False)
        console_path, data_path = self.directory / "console.log", self.directory / "data"
        key = self._key(machine) if self.mode == VIRTUAL else ""
        if key and not self.fresh and kept.fetch(key, self.directory):
            (self.directory / "initramfs").unlink()
            return Result(0, "", console_path, data_path, 0, kept=True), True
        try:
            error, said = self.executor(
                machine,
                self.directory,
                timeout=self.timeout,
                silence=self.silence,
                on_line=on_line,
                stopped=self._stopped.is_set,
            )
        finally:
            (self.directory / "initramfs").unlink(missing_ok=True)
        console = Console(token)
        for line in console_path.read_bytes().split(b"\n"):
            console.feed(text_of(line))
        status, wrong = console.verdict()
        if error and not console.trouble:
            wrong = error
        if wrong and said:
            wrong += f"; it said: {said}"
        seconds, races = time.monotonic() - began, console.races
        if wrong or status is None:
            status = FAILED
        elif key and not status:
            kept.keep(key, self.directory)
        result = Result(status, wrong, console_path, data_path, seconds, races=races)
        return result, console.up

    def stop(self) -> None:
        """End the run, from another thread."""
        self._stopped.set()

    def interact(self) -> int:
        """The console on this terminal; in QEMU Ctrl-A X ends the guest."""
        machine, _ = self._prepare(True)
        try:
            return subprocess.run(
                machine.command, cwd=self.directory, env=machine.environment
            ).returncode
        finally:
            (self.directory / "initramfs").unlink()
