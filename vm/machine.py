# SPDX-License-Identifier: GPL-2.0
"""What a guest runs on, whichever program it is that runs it."""

from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONAL, VIRTUAL, REAL = MODES = ("functional", "virtual", "real")


@dataclass(frozen=True)
class Machine:
    """To be started in the run's directory. It writes `console.log` there (unless on a terminal)
    and, what the guest writes to its second serial port, `data`."""

    command: list[str]
    files: list[Path]  # what a virtual run depends on, beside the words of the command
    environment: dict[str, str] | None = field(default=None)  # None: as here
