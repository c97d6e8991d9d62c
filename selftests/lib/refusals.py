# SPDX-License-Identifier: GPL-2.0
"""Requests that are to be refused, for a device without a qdisc of its own and one with ours.

The second one's options have their defaults, so that a change of any is seen.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from selftests.lib.command import run
from selftests.lib.netlink import Netlink, State

BARE, USED = "ref0", "ref1"
# By the core about lengths, of a busy machine, and by modules of others as they are loaded. "DL
# replenish" is of kernels from 6.12 on, whose fair server had no processor for long.
INNOCENT = re.compile(
    r"netlink: .*(attribute type \d+ has an invalid length|bytes leftover)"
    r"|(__nla_validate_parse|validate_nla): \d+ callbacks suppressed"
    r"|hrtimer: interrupt took \d+ ns"
    r"|sched: DL replenish lagged too much"
    r"|netem: version|GACT probability on|u32 classifier"
    r"|^    (Performance counters|input device check) on|^    Actions configured"
)


@contextmanager
def quiet_log() -> Iterator[None]:
    """Nothing may be said in the kernel's log meanwhile."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    yield
    said = []
    while True:
        try:
            said.append(os.read(log, 8192).decode(errors="replace").partition(";")[2])
        except BlockingIOError:
            break
    os.close(log)
    loud = [line for line in said if not INNOCENT.search(line)]
    assert not loud, loud


class Spare:
    def __init__(self, kind: str) -> None:
        for device in (BARE, USED):
            if not os.path.isdir(f"/sys/class/net/{device}"):  # slow to make
                run(f"ip link add {device} type dummy")
        run(f"modprobe sch_{kind}")
        run(f"tc qdisc replace dev {USED} root handle 10: {kind}")
        self.bare, self.used = Netlink(BARE), Netlink(USED)

    def state(self) -> State:
        return self.bare.qdiscs() + self.used.qdiscs()

    def close(self) -> None:
        self.bare.sock.close()
        self.used.sock.close()
        for device in (BARE, USED):
            run(f"tc qdisc replace dev {device} root handle 20: pfifo")
            run(f"tc qdisc del dev {device} root")


@contextmanager
def spare_devices(kind: str) -> Iterator[Spare]:
    spare = Spare(kind)
    try:
        with quiet_log():
            yield spare
    finally:
        spare.close()
