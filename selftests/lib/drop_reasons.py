# SPDX-License-Identifier: GPL-2.0
"""Reasons of drops, as the trace event qdisc_drop tells them"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
EVENT = TRACING / "events/qdisc/qdisc_drop"


@contextmanager
def heard() -> Iterator[list[str]]:
    """Those of what is dropped inside, in order; they are there at the end of it."""
    reasons: list[str] = []
    (TRACING / "trace").write_text("")
    (EVENT / "enable").write_text("1")
    try:
        yield reasons
    finally:
        (EVENT / "enable").write_text("0")
    reasons += re.findall(r"qdisc_drop: .* reason=(\w+)", (TRACING / "trace").read_text())
