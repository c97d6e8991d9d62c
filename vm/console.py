# SPDX-License-Identifier: GPL-2.0
"""Read a guest's console: kernel trouble, and the end mark with the job's exit status.

The kcsan kernel tells of data races. All of its modules are ours: if none is in what was called, on
both sides, the race is the kernel's own and no trouble of ours; what an interrupt does was not
called by what it interrupts. Nor is it ours if one side is a function of the kernel's that writes
nothing but its own. That of race_test is to be found.
"""

import re
from collections import Counter

# A kernel message starts with its time stamp. It need not start the line: user space may have
# left a line unfinished. Without a stamp the text is a program's and says nothing about the kernel.
_STAMP = r"\[\s*\d+\.\d{6}\](?:\[\s*[TC]\d+\])?\s"
_STAMPED = re.compile(_STAMP)
_TROUBLE = re.compile(
    _STAMP
    + r"""(?:
    (?:[\w-]+(?:\s\w+)?:\s)*(?:                 # "watchdog: ", "rcu: ", "NMI watchdog: "
        Kernel\ panic\ -\ not\ syncing
      | BUG:\s | BUG\s\S+\s\( | kernel\ BUG\ at\s | WARNING:\s | UBSAN:\s
      | Oops(?:\s-\s[\w\ ]+)?:\s
      | INFO:\ (?:task\s.*\sblocked\ for\ more\ than\s | .*\bdetected\ (?:expedited\ )?stall
               | trying\ to\ register\ non-static\ key)
      | .*\bhard\ LOCKUP
      | Out\ of\ memory:\ Killed\ process\s
      | unregister_netdevice:\ waiting\ for\s
      | \d+\ new\ suspected\ memory\ leaks
      | .*\b(?:ODEBUG|leak\ detector)\ disabled # what cannot check any more
    )
    | .*:\ [0-9a-f]{4}\ \[\#\d+\]               # any other exception, "divide error: 0000 [#1]"
    | ------------\[\ cut\ here\ \]
    )""",
    re.VERBOSE,
)
_RACE = re.compile(_STAMP + r"BUG: KCSAN: (.*)")
# The clock, which is read again if it was written meanwhile, and what a process is, of which the
# scheduler reads another bit; and a filter that goes, which forgets the class that it is bound to
# while a packet copies it: it says a number, too, and our kinds read only that
_KERNELS_OWN = re.compile(
    r"\b(?:timekeeping_update_from_shadow|ns_capable(?:_noaudit)?"
    r"|__fl_delete / fl_classify|mall_classify / mall_destroy|u32_classify / u32_clear_hnode)\b"
)
_SIDE = re.compile(_STAMP + r".* to 0x[0-9a-f]+ of \d+ bytes by ")
_INTERRUPT = re.compile(r"\s(?:handle_softirqs|__sysvec_\w+|sysvec_\w+)\+0x")
_RACE_END = re.compile(_STAMP + r"={66}$")
_MODULE = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(?!race_test\])\w+\]")
_MARK = re.compile(r"shortfirst-vm: exit (\d+) taint (\d+) (\w+)$")
_UP = "shortfirst-vm: up"
# What may follow the mark: the restart, and what a kernel says once when the machine is busy
_HARMLESS = re.compile(
    _STAMP + r"(?:reboot: |hrtimer: interrupt took \d+ ns|sched: DL replenish lagged too much)"
)
_REPORT = 40  # lines: of the registers, of what was called, of who did
# What the kernel remembers even if nobody saw the message: bad page, died, warning, soft lockup.
_BAD_TAINT = 1 << 5 | 1 << 7 | 1 << 9 | 1 << 14


def _is_ours(race: list[str]) -> bool:
    """Is a function of a module of ours in what was called, on one of both sides?"""
    called = False
    for line in race:
        if _SIDE.search(line):
            called = True
        elif _INTERRUPT.search(line):
            called = False
        elif called and _MODULE.search(line):
            return True
    return False


class Console:
    """Feed it the console line by line, then ask for the verdict."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.trouble: list[str] = []
        self.report: list[str] = []  # the first trouble and what the kernel said next
        self.race: list[str] = []  # a report that has not ended,
        self.racing = ""  # and what it is of
        self.races: Counter[str] = Counter()  # of the kernel's own
        self.status: int | None = None
        self.taint = 0
        self.up = False  # has the first process begun?

    def feed(self, line: str) -> None:
        line = line.rstrip()
        raced = self._raced(line)
        if not raced and _TROUBLE.search(line):
            self.trouble.append(line)
        if self.trouble and not raced and len(self.report) < _REPORT and _STAMPED.search(line):
            self.report.append(line)
        if _UP in line:
            self.up = True
        mark = _MARK.search(line)
        if mark and mark[3] == self.token:
            self.status, self.taint = int(mark[1]), int(mark[2])
        elif line and not _HARMLESS.search(line):
            self.status = None  # the mark counts only as the last thing said

    def _raced(self, line: str) -> bool:
        """Is this a line of the report of a race? Whose it is, is known at its end, unless there is
        worse trouble before."""
        if begins := _RACE.search(line):
            self.race, self.racing = [], begins[1]
        elif not self.race or not _STAMPED.search(line):
            return False
        elif _TROUBLE.search(line):
            self.race = []
            return False
        self.race.append(line)
        if _RACE_END.search(line):
            if _KERNELS_OWN.search(self.racing) or not _is_ours(self.race):
                self.races[self.racing] += 1
            elif self.racing not in self.trouble:
                self.trouble.append(self.racing)
                self.report += self.race
            self.race = []
        return True

    def verdict(self) -> tuple[int | None, str]:
        """The job's exit status (None if unknown) and what is wrong with the run, "" if nothing."""
        if self.trouble:
            return self.status, "kernel trouble: " + "\n".join(self.report)
        if self.status is None:
            return None, "the guest ended without its end mark"
        if self.taint & _BAD_TAINT:
            return self.status, f"the kernel is tainted by a warning or worse ({self.taint:#x})"
        return self.status, ""
