# SPDX-License-Identifier: GPL-2.0
"""What becomes of old flows that are slow, when short ones go first.

Each has sent at its rate for long when downloads (D1, as in the demo) join it for 150 s:

    call    64 kbit/s in packets of 160 bytes each 20 ms, for an hour; beside a load of 0.85
    ssh     40 bytes each 200 ms, for an hour; in the same run
    turned  a call like the first, on ports that have carried 28 MB of bulk until the downloads
            began, from 30 s after that; in the same run
    vpn     2 Mbit/s in packets of 1400 bytes, for ten minutes: 150 MB, twenty times the largest
            download; beside a load of 0.7

Delay is what the queue adds to the least that the flow's packets have had.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from analysis import DataError, Link, format_rows, parse_run, slowdown, split_steady
from demo import SIZES
from runner import Job

QDISCS = {
    "fq_codel": "fq_codel",
    "cake": "cake besteffort flows",
    "las": "las",
    "plain": "las plain",
}
DURATION = 150
BULK = 23  # seconds at 12 Mbit/s: 28 MB get through a link of 10 Mbit/s


@dataclass(frozen=True)
class Case:
    lead: int  # seconds before the downloads
    load: float
    flows: dict[str, tuple[int, str]]  # seconds not measured, and cbr's phases


CASES = {
    "calls": Case(
        3600,
        0.85,
        {
            "call": (0, f"{3600 + DURATION}*160/20000"),
            "ssh": (0, f"{3600 + DURATION}*40/200000"),
            "turned": (30, f"{3600 - BULK}*0,{BULK}*1472/1000,{DURATION}*160/20000"),
        },
    ),
    "vpn": Case(600, 0.7, {"vpn": (0, f"{600 + DURATION}*1400/5600")}),
}


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    result = []
    for case in cases:
        lead, flows = CASES[case].lead, CASES[case].flows
        specs = " ".join(f"{name}:{lead + skip}:{spec}" for name, (skip, spec) in flows.items())
        downloads = ["--size", SIZES, "--seed", str(seed), "--load", str(CASES[case].load)]
        downloads += ["--duration", str(DURATION)]
        for name, words in qdiscs.items():
            args = [words, str(lead), specs, *downloads]
            result.append(Job(f"{name}-{case}", "old-flows.sh", args))
    return result


def met(flow: str, loss: float, p99: float, reference: float) -> tuple[str, bool]:
    """The goal of las for this flow; `reference` is fq_codel's 99th percentile."""
    if flow == "vpn":
        bound = max(20.0, 2 * reference)
        return f"loss <= 0.1 %, p99 <= {bound:.1f} ms", loss <= 0.001 and p99 <= bound
    bound = 20.0 if flow == "turned" else 3.0
    return f"no loss, p99 <= {bound:g} ms", loss == 0 and p99 <= bound


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """The tables, and whether the goals of `las` are met."""
    rows = [["", "packets", "loss %", "p50 ms", "p99", "max", "D1's slowdown"]]
    goals = []
    for case in cases:
        steady, runs = {}, {}
        for name in qdiscs:
            job = f"{name}-{case}"
            steady[name], rest = split_steady(job, data[job])
            runs[name] = parse_run(job, rest)
            if set(steady[name]) != set(CASES[case].flows):
                raise DataError(f"{job}: not the flows that were to be measured")
        for flow in CASES[case].flows:
            for name in qdiscs:
                one = steady[name][flow]
                shown = [f"{one.percentile(q):.2f}" for q in (50, 99, 100)]
                mean = np.nanmean(slowdown(runs[name], Link()))
                cells = [str(one.delay.size), f"{100 * one.loss:.2f}", *shown, f"{mean:.3f}"]
                rows.append([f"{flow} {name}", *cells])
            if "las" in qdiscs and "fq_codel" in qdiscs:
                one, reference = steady["las"][flow], steady["fq_codel"][flow].percentile(99)
                goal, reached = met(flow, one.loss, one.percentile(99), reference)
                goals.append((f"las, {flow}: {goal}", reached))
    text = format_rows(rows) + "\n"
    text += "".join(f"{goal}: {'met' if reached else 'NOT MET'}\n" for goal, reached in goals)
    return text, all(reached for _, reached in goals)
