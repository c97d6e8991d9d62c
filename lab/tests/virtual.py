# SPDX-License-Identifier: GPL-2.0
"""Scripts for the programs of lab/guest in a guest of their own, in virtual time: there waiting
takes none, and a script gives the same each time, to the last bit."""

import os
import shutil

from lab.run.guests import DAEMON
from vm.build import INSIDE, prepare
from vm.daemon import make_daemon
from vm.guest import Guest
from vm.kernels import NATIVE

# What is written goes to the second serial port, errors to the console. Timers have a resolution
# of 4 ms until the kernel's first tick.
BEGIN = f"set -eu\ncd /{INSIDE}/lab/guest\nexec >/dev/ttyS1\nsleep 0.1\n"

# modules/tcp_sink.c: a file of the guest, what loads it, and the programs' option
SINK = "modules/tcp_sink.ko"
SINK_FILE = "/sys/kernel/debug/tcp_sink"
LOAD_SINK = f"insmod {SINK}"
TO_SINK = f"--sink {SINK_FILE}"


def run(script: str, *needs: str) -> str:
    """What the script writes; it begins where those of lab/guest are that it needs."""
    files = {DAEMON: make_daemon()} if DAEMON in needs else {}
    guest = Guest(
        prepare(NATIVE),
        mode="virtual",
        name=f"generators-{os.getpid()}",
        job="/sf/job",
        modules=[],
        needs=[need for need in needs if need not in files],
        files={"/sf/job": (BEGIN + script).encode(), **files},
        timeout=300,
    )
    result = guest.run()
    said, text = result.console_path.read_text(), result.data_path.read_text()
    shutil.rmtree(guest.directory)
    assert not result.error and not result.status, f"{result.error}\n{said}"
    return text
