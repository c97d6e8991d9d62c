# SPDX-License-Identifier: GPL-2.0
"""A guest in user-mode Linux: a program of this machine, as fast as any other.

In virtual time a processor takes none: computing is free, a look at the clock costs 256 ns, and
when all sleep the clock is at once where the first of them wakes. A loop that waits and never looks
at the clock would never end, so somebody outside has to keep an eye on his own (machine.py does).
What the tests sleep for costs nothing, and on a busy machine they see the times that they would on
an idle one.
"""

import os
from pathlib import Path

from .build import Built
from .machine import REAL, Machine
from .root import VMError

# 2026-01-01, in ns
_START = 1767225600 * 10**9
_KERNEL = (
    "mem=1G initrd=initramfs rdinit=/init uml_dir=. umid=uml noreboot con=null ssl=null"
    " ssl1=null,fd:3 quiet loglevel=5 printk.time=1 panic=-1 oops=panic seccomp=on"
)
_MEMORY = Path("/dev/shm")  # the guest's memory is a file there
_MIB = 1024  # as in _KERNEL
_VIRTUAL = f"time-travel=inf-cpu time-travel-start={_START}"


def machine(built: Built, mode: str, seed: int, directory: Path, terminal: bool) -> Machine:
    """Of a guest whose initramfs is in `directory`, where it will run."""
    words = [*_KERNEL.split(), "con0=fd:0,fd:1" if terminal else "con0=null,fd:1"]
    room = os.statvfs(_MEMORY)
    if room.f_bavail * room.f_frsize >> 20 < _MIB:
        raise VMError(
            f"a guest's memory is {_MIB} MiB in {_MEMORY}, where there is less room: make it larger"
            f" (mount -o remount,size=4g {_MEMORY}; in a container it has an option, as --shm-size)"
        )
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": ".", "TMPDIR": str(_MEMORY)}
    environment["SF_SEED"] = str(seed)
    if mode != REAL and not terminal:  # at a terminal somebody waits
        words += _VIRTUAL.split()
    console = "" if terminal else " >console.log"
    # Should this program be killed, its guests go too. The shell gives it its files.
    start = f'exec 3>data; exec setpriv --pdeathsig KILL -- "$@"{console}'
    command = ["sh", "-c", start, "uml", str(built.vmlinuz), *words]
    return Machine(command, [built.vmlinuz, directory / "initramfs"], environment, pinned=True)
