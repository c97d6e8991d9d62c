# SPDX-License-Identifier: GPL-2.0
"""What a packet costs, of docs/results/bench/costs.csv."""

import csv
from collections.abc import Iterator

import numpy as np

from lab.commands.bench import COSTS, OTHERS, Cost
from lab.page.markdown import markdown, part
from lab.run.kinds import KINDS
from lab.run.qdiscs import OURS, PEERS

REFERENCE = "fq_codel"


def _measured() -> dict[str, str]:
    """Of what the page shows of the costs: the bench's name, and what it is."""
    result = {qdisc: qdisc for qdisc in PEERS if qdisc in OTHERS}
    for kind in OURS:
        shown = {name: one.page for name, one in KINDS[kind].bench.items() if one.page}
        result |= dict(sorted(shown.items(), key=lambda each: each[1] != kind))
    return result


MEASURED = _measured()


def read_costs() -> dict[tuple[str, str], Cost]:
    """By case and qdisc."""
    with COSTS.open() as lines:
        return {
            (row.pop("case"), row.pop("qdisc")): Cost(**{n: float(x) for n, x in row.items()})
            for row in csv.DictReader(lines)
        }


def costs() -> Iterator[str]:
    """The lines of the page below its picture."""
    yield (
        "Instructions for enqueue and dequeue, by `make bench`, which tells the dearest and the "
        "memory, too. 100 packets wait unless it says otherwise; overload is that each packet "
        "makes one drop; known that the kernel has hashed the packet before. A GSO packet is one "
        "packet, which ours and CAKE split into its segments.\n"
    )
    of = {key: cost.both for key, cost in read_costs().items()}
    cases = list(dict.fromkeys(case for case, _ in of))
    table = [[case, *(f"{of[case, name]:.0f}" for name in MEASURED)] for case in cases]
    yield from markdown([["", *MEASURED.values()], *table])
    yield ""
    for name, shown in MEASURED.items():
        if shown.split()[0] in OURS:
            parts = {case: of[case, name] / of[case, REFERENCE] for case in cases}
            dear = [f"{case} ({part(value)})" for case, value in parts.items() if value > 1]
            middle = np.exp(np.mean(np.log(list(parts.values()))))
            yield (
                f"- `{shown}` costs {part(middle)} of {REFERENCE}, geometric mean. Dearer than it: "
                f"{'; '.join(dear) or 'nowhere'}."
            )
    yield ""
