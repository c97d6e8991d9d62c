# SPDX-License-Identifier: GPL-2.0
"""Bulk TCP (cubic) with nothing else: does the qdisc cost throughput, or fairness?

fast   one flow at 100 Mbit/s and 50 ms RTT, 60 s
slow   one flow at 10 Mbit/s and 6 ms RTT, 60 s
thin   one flow at 1 Mbit/s and 50 ms RTT, 60 s
ten    ten flows at 10 Mbit/s and 6 ms RTT, 30 s
"""

from pathlib import Path

import numpy as np
from analysis import format_rows, split_bulk
from runner import Job

QDISCS = {"fq_codel": "fq_codel", "las": "las", "plain": "las plain"}
CASES = {  # rate, RTT in ms, flows, seconds
    "fast": ("100mbit", 50, 1, 60),
    "slow": ("10mbit", 6, 1, 60),
    "thin": ("1mbit", 50, 1, 60),
    "ten": ("10mbit", 6, 10, 30),
}


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    result = []
    for case in cases:
        rate, rtt, flows, seconds = CASES[case]
        more = ["--flows", str(flows), "--duration", str(seconds)]
        for name, words in qdiscs.items():
            args = [words, rate, str(rtt), *more]
            weight = 10.0 if case == "fast" else 1.0
            result.append(Job(f"{name}-{case}", "bulk.sh", args, weight))
    return result


def jain(rates: np.ndarray) -> float:
    return float(rates.sum() ** 2 / (rates.size * (rates**2).sum()))


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """The table, and whether the goals of `las` are met."""
    rows = [["", "goodput Mbit/s", "/ fq_codel", "Jain index"]]
    goals = []
    for case in cases:
        rates = {n: split_bulk(n, data[f"{n}-{case}"])[0].mean(axis=0) for n in qdiscs}
        for name, one in rates.items():
            ratio = one.sum() / rates["fq_codel"].sum() if "fq_codel" in rates else np.nan
            fair = f"{jain(one):.4f}" if one.size > 1 else "-"
            rows.append([f"{case} {name}", f"{one.sum() / 1e6:.3f}", f"{ratio:.4f}", fair])
            if name == "las" and one.size > 1:
                goals.append((f"las, {case}: Jain index >= 0.95", jain(one) >= 0.95))
            elif name == "las":
                goals.append((f"las, {case}: goodput >= 0.97 of fq_codel's", ratio >= 0.97))
    text = format_rows(rows) + "\n"
    text += "".join(f"{goal}: {'met' if reached else 'NOT MET'}\n" for goal, reached in goals)
    return text, all(reached for _, reached in goals)
