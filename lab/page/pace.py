# SPDX-License-Identifier: GPL-2.0
"""How exactly qdiscs shape, of docs/results/bench/pace.csv."""

from collections.abc import Iterator

from lab.commands.pace import PACE_CSV, read_csv, report


def pace() -> Iterator[str]:
    """The lines of the page."""
    yield "## How exactly a rate is kept\n"
    yield (
        "A qdisc that always has packets, on a device that takes no time, and when each packet has "
        "left it, by `make pace`. A bundle is a GSO packet of 16 segments; HTB does not split it, "
        "nor has it the lowest rate. `htb` is as its manual has it, `htb-burst` with bursts of 100 "
        "bytes, as in the experiments, both with fq_codel below. CAKE has no less than 64 bytes a "
        "second.\n"
    )
    yield f"```\n{report(read_csv(PACE_CSV))[0]}```\n"
