# SPDX-License-Identifier: GPL-2.0
"""LAS-log for one long flow beside web traffic: figure 6 of Rai et al. 2004.

The web traffic is that of their Table 1, load 0.7, for 1000 s; the long flow comes from behind an
access link slower than the bottleneck, and is in the priority class under LAS-log.

    linux   TCP as it is: cubic, SACK, an initial window of 10
    reno    TCP as it was: Reno, no SACK, an initial window of 1, retransmission after 1 s and more

Their packets have 1040 bytes, to judge by 120 packets/s on an access link of 1 Mbit/s; Table 1's
sessions then make up a load of 0.7 of 3.2 Mbit/s. Here packets have 1500 bytes, so both rates are
larger by 1500/1040 and numbers of packets compare. The article does not tell the buffer.
"""

from pathlib import Path

import numpy as np

from lab.measure.numbers import Rows, points
from lab.measure.reading import (
    WIRE_BITS,
    Run,
    format_rows,
    parse_run,
    split_bulk,
)
from lab.page.looks import FREE
from lab.page.svg import new_figure, save
from lab.run.guests import Job

QDISCS = {
    "plain": "las plain limit 100",
    "log-0.5": "las plain limit 100 log 0.5",
    "log-1": "las plain limit 100 log 1",
}
EXPECTED = {"plain": "towards 0", "log-0.5": "90", "log-1": "120"}
DURATION, INTERVAL = 1000, 10
WINDOW = 200  # seconds
WEIGHT = 4.63 * DURATION  # Mbit
RATE, ACCESS = "4.63mbit", "1.44mbit"
CASES = {"linux": "TCP as it is", "reno": "TCP as it was in 2004"}
MODULES = "veth sch_htb sch_netem cls_u32".split()


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    flows = ["--web", "--size", "pareto(2,1.2)", "--load", "0.7", "--rate", RATE[:-4] + "e6"]
    flows += ["--duration", str(DURATION), "--seed", str(seed)]
    bulk = f"--duration {DURATION} --interval {INTERVAL}"
    result = []
    for case in cases:
        for name, words in qdiscs.items():
            classid = "10:2" if " log " in words else "10:1"
            args = [words, classid, case, RATE, ACCESS, bulk, *flows]
            result.append(Job(f"{name}-{case}", "las-log.sh", args, WEIGHT, MODULES))
    return result


def numbers(data: dict[str, str], qdiscs: dict[str, str], cases: list[str], seed: int) -> Rows:
    """Of each run: packets/s."""
    result: Rows = {}
    for case in cases:
        for name in qdiscs:
            packets, web = measured(f"{name}-{case}", data[f"{name}-{case}"])
            values = {"packets/s": packets.mean(), "least in 10 s": packets.min()}
            values["last 200 s"] = packets[-WINDOW // INTERVAL :].mean()
            values |= {"halts": np.sum(packets == 0), "failed": web.failed}
            time = (np.arange(packets.size) + 0.5) * INTERVAL
            result[case, name, seed] = values | points("packets/s", time, packets)
    return result


def measured(key: str, text: str) -> tuple[np.ndarray, Run]:
    """The long flow's packets/s in each interval, and the web flows."""
    rates, _, rest = split_bulk(key, text)
    # payload to packets: 1448 of 1500 bytes
    return rates[:, 0] / (WIRE_BITS * 1448 / 1500), parse_run(key, rest)


def goals(rates: dict[str, np.ndarray]) -> list[tuple[str, bool]]:
    """What the figure shows, for the throughput in each interval under each of the three."""
    if not set(QDISCS) <= set(rates):
        return []
    plain, half, one = (rates[name] for name in QDISCS)
    windows = half.reshape(-1, WINDOW // INTERVAL).mean(axis=1)
    return [
        ("log-1 is steady: no 10 s below 0.9 of its mean", one.min() >= 0.9 * one.mean()),
        ("log-0.5 is steady: no 200 s below 0.8 of its mean", windows.min() >= 0.8 * half.mean()),
        ("plain comes to a halt for 10 s and more", plain.min() == 0 < min(half.min(), one.min())),
        ("log-1 > log-0.5 > plain", one.mean() > half.mean() > plain.mean()),
    ]


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """The table of throughput over time, in packets/s, and the picture."""
    starts = np.arange(0, DURATION, WINDOW)
    head = [f"{start}-{start + WINDOW} s" for start in starts]
    rows = [["packets/s", *head, "mean", "least in 10 s", "halts", "paper", "web flows failed"]]
    figure, axes = new_figure(8, 3.2 * len(cases), rows=len(cases))
    found: list[tuple[str, bool]] = []
    for case, axis in zip(cases, np.atleast_1d(axes), strict=True):
        all_rates = {}
        for i, name in enumerate(qdiscs):
            key = f"{name}-{case}"
            packets, web = measured(key, data[key])
            all_rates[name] = packets
            shown = [f"{mean:.1f}" for mean in packets.reshape(starts.size, -1).mean(axis=1)]
            shown += [f"{packets.mean():.1f}", f"{packets.min():.1f}", str(np.sum(packets == 0))]
            rows.append([f"{case} {name}", *shown, EXPECTED.get(name, "-"), str(web.failed)])
            time = (np.arange(packets.size) + 0.5) * INTERVAL
            axis.plot(time, packets, color=FREE[i % len(FREE)].colour, label=name)
        axis.set(xlabel="time, s", ylabel="packets/s", title=CASES[case])
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        found += [(f"{case}: {goal}", reached) for goal, reached in goals(all_rates)]
    save(figure, where / "las-log")
    text = format_rows(rows) + "\n"
    text += "".join(f"{goal}: {'met' if reached else 'NOT MET'}\n" for goal, reached in found)
    return text, all(reached for _, reached in found)
