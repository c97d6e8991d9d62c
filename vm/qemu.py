# SPDX-License-Identifier: GPL-2.0
"""Run one guest in QEMU and judge how it went."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import initramfs, kept
from .build import CHECKOUT, INSIDE, Built
from .console import Console
from .root import VMError, cache_dir, locked, need

FAILED = 125  # the status of a run that went wrong, whatever the job said
_PROBE_SECONDS = 20
_KERNEL = (
    "console=ttyS0 loglevel=5 printk.time=1 panic=-1 oops=panic nokaslr reboot=t trace_clock=local"
)
# A busy host may not let a processor of the guest run for long. What hangs for ever is seen still.
_PATIENT = "rcupdate.rcu_cpu_stall_timeout=60 watchdog_thresh=30 tsc=nowatchdog"
_PROBE_INIT = b"#!/usr/bin/busybox sh\necho shortfirst: booted\n/usr/bin/busybox reboot -f\n"
# One processor, whose clock counts instructions, 1 ns each; the time stamp counter runs at 1 GHz.
# The model has no RDRAND and RDSEED: they are the host's randomness.
_VIRTUAL = [
    *("-accel", "tcg,thread=single", "-icount", "shift=0,align=off,sleep=off"),
    *("-rtc", "base=2026-01-01T00:00:00,clock=vm", "-smp", "1", "-m", "512M", "-cpu", "Nehalem"),
]
_LOCKSTEP = "vm/lockstep.so"
# Nobody attacks the guest, and without defences it simulates a third faster.
_VIRTUAL_KERNEL = "tsc=reliable tsc_early_khz=1000000 clocksource=tsc mitigations=off"


@dataclass(frozen=True)
class Result:
    status: int  # the job's, or FAILED
    error: str  # what went wrong with the run, "" if nothing
    console_path: Path
    data_path: Path
    seconds: float
    kept: bool = False  # from an earlier run of the same


def _command(accel: list[str], kernel: Path, append: str) -> list[str]:
    # Should this program be killed, its guests go too.
    return [
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *(["env", f"LD_PRELOAD=./{Path(_LOCKSTEP).name}"] if "-icount" in accel else []),
        need("qemu-system-x86_64"),
        *("-machine", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *accel,
        *("-kernel", str(kernel), "-initrd", "initramfs", "-append", append),
    ]


def accelerator(built: Built) -> list[str]:
    """KVM where a guest has been seen to boot with it since this machine booted, else TCG."""
    # After cmpxchg16b TCG now and then leaves bits set in EFLAGS that trap; no kernel needs it.
    tcg = ["-accel", "tcg,thread=multi", "-cpu", "max,-mtrr,-cx16"]
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return tcg
    kvm = ["-accel", "kvm", "-cpu", "host"]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = cache_dir() / "kvm"
    with locked(cache_dir() / "kvm.lock"):
        if not known.exists() or known.read_text().split()[0] != boot:
            print(f"trying KVM (at most {_PROBE_SECONDS} s) ...", file=sys.stderr)
            known.write_text(f"{boot} {'works' if _probe(built, kvm) else 'does not work'}\n")
        return kvm if known.read_text().split()[1] == "works" else tcg


def _probe(built: Built, accel: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as where:
        with open(Path(where, "initramfs"), "wb") as out:
            busybox = initramfs.file(built.root / "usr/bin/busybox", 0o755)
            tree = {"init": initramfs.file(_PROBE_INIT, 0o755), "usr/bin/busybox": busybox}
            initramfs.write(tree, out)
        command = _command([*accel, "-m", "256M"], built.vmlinuz, _KERNEL)
        command += ["-serial", "stdio"]
        try:
            done = subprocess.run(
                command,
                cwd=where,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_PROBE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False
        return b"shortfirst: booted" in done.stdout


class Guest:
    """One guest and its job. Guests with different names may run at the same time.

    mode     "functional": all of the root and of the tests, two processors, real time;
             "virtual": only lab/ and what it uses, one processor whose clock counts instructions
    job      a script: a file of the checkout, any other file here, or else a path in the guest;
             "" for an interactive shell on the console
    modules  kernel modules to load first; None: the default list (virtual) or none (functional)
    files    more files for the guest: absolute path there -> content or a file here
    timeout  seconds for all of the run; silence: seconds without any output
    fresh    run it even if what it gives is known, as it may be of a virtual one
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
        files: Mapping[str, bytes | Path] | None = None,
        timeout: float = 3600,
        silence: float | None = None,
        fresh: bool = True,
    ) -> None:
        if mode not in ("functional", "virtual"):
            raise VMError(f"no mode {mode!r}: choose functional or virtual")
        if not name or "/" in name or name.startswith("."):
            raise VMError(f"{name!r} cannot be the name of a run")
        self.built, self.mode, self.seed = built, mode, seed
        self.args, self.modules = list(args), None if modules is None else list(modules)
        self.timeout = timeout
        self.fresh = fresh
        self.silence = silence or (120 if mode == "functional" else 900)
        self.directory = built.home / "runs" / name
        self.files = {
            path.lstrip("/"): initramfs.file(data) for path, data in (files or {}).items()
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

    def _start(self, serial: list[str]) -> tuple[list[str], str]:
        config = self._config()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        what = (self.built, self.mode, config, self.args, self.modules, self.files)
        with locked(self.built.home / "lock"):  # another command may be building here
            with open(self.directory / "initramfs", "wb") as out:
                initramfs.make(out, *what)
            if self.mode == "virtual":
                # Beside the run: the linker would split a path of its own at blanks and colons
                shutil.copy(self.built.upper / INSIDE / _LOCKSTEP, self.directory)
        append = f"{_KERNEL} sf.seed={self.seed}"
        if self.mode == "virtual":
            accel, append = [*_VIRTUAL, "-seed", str(self.seed)], f"{append} {_VIRTUAL_KERNEL}"
        else:
            memory = "2G" if self.built.layer else "1G"  # of the debug kernel a part is KASAN's
            accel = [*accelerator(self.built), "-smp", "2", "-m", memory]
            append = f"{append} {_PATIENT}"
        return [*_command(accel, self.built.vmlinuz, append), *serial], config["token"]

    def _key(self, command: list[str]) -> str:
        """Of all that a virtual run depends on"""
        files = [self.built.vmlinuz, Path(need("qemu-system-x86_64"))]
        files += [self.directory / name for name in ("initramfs", Path(_LOCKSTEP).name)]
        return kept.digest([word for word in command if word not in map(str, files)], files)

    def run(self, on_line: Callable[[str], None] | None = None) -> Result:
        """
        Run the guest to its end; `on_line` gets each line of its console. A guest whose kernel
        fails before the first process begins has run nothing of ours, and is started once more:
        in some two hundred boots QEMU's TCG, with a thread for each processor, executes an
        instruction that the kernel has patched meanwhile (Oops: int3).
        """
        result, up = self._run(on_line)
        if self.mode == "functional" and not up and "kernel trouble" in result.error:
            print(f"the guest did not boot, once more: {result.error}", file=sys.stderr, flush=True)
            result, _ = self._run(on_line)
        return result

    def _run(self, on_line: Callable[[str], None] | None) -> tuple[Result, bool]:
        """Run the guest once; tells also whether its first process has begun."""
        began = time.monotonic()
        # Files, not pipes: a pipe that is full for a moment would change what the guest sees.
        serial = [
            *("-chardev", "file,id=console,path=console.log", "-serial", "chardev:console"),
            *("-chardev", "file,id=data,path=data", "-serial", "chardev:data"),
        ]
        command, token = self._start(serial)
        console_path, data_path = self.directory / "console.log", self.directory / "data"
        key = self._key(command) if self.mode == "virtual" else ""
        if key and not self.fresh and kept.fetch(key, self.directory):
            return Result(0, "", console_path, data_path, 0, kept=True), True
        console_path.touch()
        data_path.touch()
        console, error = Console(token), ""
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            with open(console_path, "rb") as log:
                error = self._watch(process, log.read, data_path, console, on_line, began)
        finally:
            process.kill()
            said = process.communicate()[1].strip()
            (self.directory / "initramfs").unlink(missing_ok=True)
        status, wrong = console.verdict()
        if error and not console.trouble:
            wrong = error
        if wrong and said:
            wrong += f"; qemu: {said}"
        seconds = time.monotonic() - began
        if wrong or status is None:
            return Result(FAILED, wrong, console_path, data_path, seconds), console.up
        if key and not status:
            kept.keep(key, self.directory)
        return Result(status, "", console_path, data_path, seconds), console.up

    def stop(self) -> None:
        """End the run, from another thread."""
        self._stopped.set()

    def _watch(
        self,
        process: subprocess.Popen[str],
        read: Callable[[], bytes],
        data_path: Path,
        console: Console,
        on_line: Callable[[str], None] | None,
        began: float,
    ) -> str:
        """Hand the console's lines on until the guest ends; says so if it had to be stopped."""
        rest, heard, size = b"", time.monotonic(), 0
        while True:
            ended = process.poll() is not None  # before reading: then nothing is missed
            new = read()
            *lines, rest = (rest + new).split(b"\n")
            if ended and rest:
                lines.append(rest)
            for line in lines:
                text = line.decode(errors="replace").rstrip("\r")
                console.feed(text)
                if on_line:
                    on_line(text)
            if ended:
                return ""
            if self._stopped.is_set():
                return "stopped"
            now, grown = time.monotonic(), data_path.stat().st_size
            if new or grown != size:
                heard, size = now, grown
            if now - heard > self.silence:
                return f"no output for {self.silence:g} s"
            if now - began > self.timeout:
                return f"not finished after {self.timeout:g} s"
            if not new:
                time.sleep(0.05)

    def interact(self) -> int:
        """The console on this terminal; Ctrl-A X ends the guest."""
        serial = ["-serial", "mon:stdio", "-chardev", "file,id=data,path=data"]
        command, _ = self._start([*serial, "-serial", "chardev:data"])
        try:
            return subprocess.run(command, cwd=self.directory).returncode
        finally:
            (self.directory / "initramfs").unlink()
