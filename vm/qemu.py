# SPDX-License-Identifier: GPL-2.0
"""A guest in QEMU: what its machine is, and whether KVM works here."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import initramfs
from .build import INSIDE, Built
from .machine import FUNCTIONAL, REAL, Machine
from .processors import X86, Processor
from .root import VMError, cache_dir, locked, need

_PROBE_SECONDS = 20
_KERNEL = (
    "console={} loglevel=5 printk.time=1 panic=-1 oops=panic nokaslr reboot=t trace_clock=local"
)
# A busy host may not let a processor of the guest run for long: not even for the few ticks that a
# kernel which boots waits for. What hangs for ever is seen still.
# Nobody attacks the guest, and without defences, and with programs always at the same addresses,
# where TCG knows their code from the time before, tests take two thirds of the time.
FOR_TESTS = (
    "rcupdate.rcu_cpu_stall_timeout=60 watchdog_thresh=30 tsc=nowatchdog no_timer_check"
    " mitigations=off norandmaps"
)
_PROBE_INIT = b"#!/usr/bin/busybox sh\necho shortfirst: booted\n/usr/bin/busybox reboot -f\n"
_RTC = ["-rtc", "base=2026-01-01T00:00:00,clock=vm"]
# One processor, whose clock counts instructions, 1 ns each; the time stamp counter runs at 1 GHz.
# The model has no RDRAND and RDSEED: they are the host's randomness.
_VIRTUAL = [
    *("-accel", "tcg,thread=single", "-icount", "shift=0,align=off,sleep=off"),
    *(*_RTC, "-smp", "1", "-m", "512M", "-cpu", "Nehalem"),
]
_LOCKSTEP = "vm/lockstep.so"
_VIRTUAL_KERNEL = "tsc=reliable tsc_early_khz=1000000 clocksource=tsc mitigations=off"
# Files, not pipes: a pipe that is full for a moment would change what the guest sees.
CONSOLE = ["-chardev", "file,id=console,path=console.log", "-serial", "chardev:console"]
_TERMINAL = ["-serial", "mon:stdio"]
_DATA = ["-chardev", "file,id=data,path=data"]
_DATA_PORT = ["-serial", "chardev:data"]
# Where there is no second serial port, /dev/vport0p1: vm/init
_DATA_VIRTIO = ["-device", "virtio-serial", "-device", "virtserialport,chardev=data"]


def command_line(
    accel: list[str], kernel: Path, append: str, processor: Processor = X86
) -> list[str]:
    # Should this program be killed, its guests go too.
    return [
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *(["env", f"LD_PRELOAD=./{Path(_LOCKSTEP).name}"] if _VIRTUAL[-1] in accel else []),
        need(processor.qemu),
        *(
            "-machine",
            processor.machine,
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
        ),
        *accel,
        *("-kernel", str(kernel), "-initrd", "initramfs"),
        *("-append", f"{_KERNEL.format(processor.console)} {append}".rstrip()),
    ]


def accelerator(kernel: Path, busybox: Path, processor: Processor = X86) -> list[str]:
    """KVM where a guest has been seen to boot with it since this machine booted, else TCG."""
    threads = "multi" if processor.threads else "single"
    tcg = ["-accel", f"tcg,thread={threads}", "-cpu", processor.cpu]
    if processor.shift is not None:
        tcg += ["-icount", f"shift={processor.shift},align=off,sleep=off", *_RTC]
    if processor.qemu != X86.qemu or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return tcg
    kvm = ["-accel", "kvm", "-cpu", "host"]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = cache_dir() / "kvm"
    with locked(cache_dir() / "kvm.lock"):
        if not known.exists() or known.read_text().split()[0] != boot:
            print(f"trying KVM (at most {_PROBE_SECONDS} s) ...", file=sys.stderr)
            known.write_text(
                f"{boot} {'works' if _probe(kernel, busybox, kvm) else 'does not work'}\n"
            )
        return kvm if known.read_text().split()[1] == "works" else tcg


def _probe(kernel: Path, busybox: Path, accel: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as where:
        with open(Path(where, "initramfs"), "wb") as out:
            tree = {
                "init": initramfs.file(_PROBE_INIT, 0o755),
                "usr/bin/busybox": initramfs.file(busybox, 0o755),
            }
            initramfs.write(tree, out)
        command = command_line([*accel, "-m", "256M"], kernel, "")
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


def machine(built: Built, mode: str, seed: int, directory: Path, terminal: bool) -> Machine:
    """Of a guest whose initramfs is in `directory`, where it will run."""
    if mode == REAL:
        raise VMError(f"in QEMU nothing runs as on the processor itself: not mode {REAL}")
    if mode != FUNCTIONAL and built.processor.qemu != X86.qemu:
        raise VMError(f"{built.kernel} is for tests only: not mode {mode}")
    append = f"sf.seed={seed}"
    files = [built.vmlinuz, Path(need(built.processor.qemu)), directory / "initramfs"]
    if mode == FUNCTIONAL:
        busybox = built.root / "usr/bin/busybox"
        accel = accelerator(built.vmlinuz, busybox, built.processor)
        accel += ["-smp", str(built.processor.processors), "-m", built.processor.memory]
        append = f"{append} {FOR_TESTS}"
    else:
        accel, append = [*_VIRTUAL, "-seed", str(seed)], f"{append} {_VIRTUAL_KERNEL}"
        # Beside the run: the linker would split a path of its own at blanks and colons
        files.append(Path(shutil.copy(built.upper / INSIDE / _LOCKSTEP, directory)))
    command = command_line(accel, built.vmlinuz, append, built.processor)
    command += (_TERMINAL if terminal else CONSOLE) + _DATA
    return Machine(command + (_DATA_PORT if built.processor.ports > 1 else _DATA_VIRTIO), files)
