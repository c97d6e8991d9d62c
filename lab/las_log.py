# SPDX-License-Identifier: GPL-2.0
"""LAS-log for one long flow beside web traffic: figure 6 of Rai et al. 2004.

The web traffic is that of their Table 1, load 0.7, for 1000 s; the long flow comes from behind an
access link slower than the bottleneck, and is in the priority class under LAS-log.

Their packets have 1040 bytes, to judge by 120 packets/s on an access link of 1 Mbit/s; Table 1's
sessions then make up a load of 0.7 of 3.2 Mbit/s. Here packets have 1500 bytes, so both rates are
larger by 1500/1040 and numbers of packets compare.
"""

from pathlib import Path

import numpy as np
from analysis import COLOURS, WIRE_BITS, format_rows, new_figure, parse_run, save, split_bulk
from runner import Job

QDISCS = {"las": "las plain", "log 0.5": "las plain log 0.5", "log 1": "las plain log 1"}
EXPECTED = {"las": "towards 0", "log 0.5": "90", "log 1": "120"}
DURATION, INTERVAL = 1000, 10
CASES = {"web": ("4.63mbit", "1.44mbit")}
MODULES = "veth sch_htb sch_netem cls_u32".split()


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    rate, access = CASES["web"]
    flows = ["--web", "--size", "pareto(2,1.2)", "--load", "0.7", "--rate", rate[:-4] + "e6"]
    flows += ["--duration", str(DURATION), "--seed", str(seed)]
    bulk = f"--duration {DURATION} --interval {INTERVAL}"
    return [
        Job(
            name.replace(" ", "-"),
            "las-log.sh",
            [words, rate, access, bulk, *flows],
            modules=MODULES,
        )
        for name, words in qdiscs.items()
    ]


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """The table of throughput over time, in packets/s, and the picture."""
    windows = np.arange(0, DURATION, 200)
    head = [f"{start}-{start + 200} s" for start in windows]
    rows = [["packets/s", *head, "least in 10 s", "paper", "web flows with failure"]]
    figure, axes = new_figure(8, 4)
    for i, name in enumerate(qdiscs):
        key = name.replace(" ", "-")
        rates, rest = split_bulk(key, data[key])
        web = parse_run(key, rest)
        # payload to packets: 1448 of 1500 bytes
        packets = rates[:, 0] / (WIRE_BITS * 1448 / 1500)
        means = [packets[w // INTERVAL : (w + 200) // INTERVAL].mean() for w in windows]
        shown = [f"{mean:.1f}" for mean in means]
        rows.append(
            [name, *shown, f"{packets.min():.1f}", EXPECTED.get(name, "-"), str(web.failed)]
        )
        time = (np.arange(packets.size) + 0.5) * INTERVAL
        axes.plot(time, packets, color=COLOURS[i % len(COLOURS)], label=name)
    axes.set(
        xlabel="time, s", ylabel="packets/s", title="one long flow beside web traffic, load 0.7"
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    save(figure, where / "las-log")
    return format_rows(rows), True
