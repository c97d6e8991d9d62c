# SPDX-License-Identifier: GPL-2.0
"""Figures 9 to 19 and Table 1 of Psounis et al. 2004, measured.

30,000 downloads of bounded Pareto sizes (1 to 1e8 packets, 1.1) of 1000 bytes over 10 Mbit/s, by
TCP as it was in ns-2 then: Reno without SACK, a window of 1 to 20, retransmission after 1 s and
more. Two bands of 100 packets beside a FIFO of 200, a sampling probability of 0.01:

    red      RED, round trip 4.2 ms: figures 9 to 11, also with 10 % guaranteed
    tail     DropTail: figure 12
    rtts     DropTail, round trips of 0.6, 4.2 and 20.2 ms: figures 14 to 16
    rates    DropTail, a fifth of the flows through 5 Mbit/s (turtles), the others through
             495 Mbit/s (cheetahs): figures 17 and 18
    slow     DropTail, ten links of 3 Mbit/s: figure 19
    queues   DropTail: figure 13, and how long the high queue is at a load of 1.2
    quick    tail with 3,000 flows at a load of 0.9, for the tests

Short are the flows of which no packet was sampled by plain sift. The FIFO's times of them are those
of the same flows. Delay is from connect() to the last byte, in the article without the handshake.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.measure.numbers import Metrics, Rows, points
from lab.measure.reading import DataError, Run, format_rows, parse_run
from lab.page.looks import FREE
from lab.page.svg import new_figure, save
from lab.run.guests import SCRIPT, Job

# As ns-2 had RED before October 2004: 5 and 15 packets, 0.1, 1/512. In the kernel's terms: with
# `wait_` there are 1/p to 2/p packets between drops, here 0 to 1/p, so p is a third; `gentle_`
# goes on beyond 15, and drops all from 30 on; an idle time counts in packets of 100 bytes there
# (`idle_pktsize_`), here of 1000.
RED = "red_min 5 red_max 30 red_probability 0.083 red_weight 9 red_bandwidth 100mbit"
PLAIN = "sift probability 0.01 packets samples 1 slow 0 limit 200 high 100 low 100 buffer 0"
FIFO = {
    # The same thresholds for one queue of 200: those of ns-2 do not follow its size
    "red": "red limit 200000 min 5000 max 30000 avpkt 1000 burst 9 probability 0.083"
    " bandwidth 100mbit",
    "tail": "pfifo limit 200",
}
QDISCS = {"fifo": "", "sift": PLAIN, "sift-gbw": f"{PLAIN} guarantee 10"}
LOADS = (0.6, 0.7, 0.9, 1.2, 1.5)
FLOWS = 30000
MEAN = 9.3  # packets, of the sizes
# Of figure 13: in which guest, how often (s), how many times, and how much of that is drawn (s)
WATCHED, EVERY, TIMES, SHOWN = "scenario.queues.sh", 0.1, 2000, 50
MODULES = "veth sch_htb sch_netem sch_prio sch_red cls_u32".split()
FIFO_NAME = "fifo"
MTU = 1000
BANDS = ("high", "low")
TOLD = {0.9: 50, 1.2: 60}  # by load: packets that the high queue never has more of, by the article
ROUTE = f"advmss {MTU - 40} initcwnd 1 rto_min 1s window {20 * (MTU - 40)}"


@dataclass(frozen=True)
class Case:
    title: str
    places: tuple[str, ...]  # rate/ms of each port
    groups: tuple[str, ...]  # what the port's flows are
    red: bool = False
    loads: tuple[float, ...] = LOADS
    flows: int = FLOWS
    state: tuple[int, int] | None = None  # Table 1: sampled flows, average and most
    queues: bool = False  # are seen, too


FAST = "100mbit/4.2"
CASES = {
    "red": Case("RED", (FAST,), ("all",), red=True),
    "tail": Case("DropTail", (FAST,), ("all",), state=(797, 1504)),
    "rtts": Case(
        "three round trips",
        ("100mbit/0.6", FAST, "100mbit/20.2"),
        ("0.6 ms", "4.2 ms", "20.2 ms"),
        state=(812, 1537),
    ),
    "rates": Case(
        "turtles and cheetahs",
        ("5mbit/4.2", *("495mbit/4.2",) * 4),
        ("turtles", *("cheetahs",) * 4),
        state=(755, 1314),
    ),
    "slow": Case("ten slow links", ("3mbit/4.2",) * 10, ("all",) * 10, state=(806, 1510)),
    "queues": Case("DropTail, queues", (FAST,), ("all",), loads=(0.9, 1.2), queues=True),
    "quick": Case("DropTail, few flows", (FAST,), ("all",), loads=(0.9,), flows=3000),
}


def names(case: Case, qdiscs: dict[str, str]) -> list[str]:
    """Those that have a figure: the guarantee is in those of RED only."""
    return [name for name in qdiscs if case.red or name != "sift-gbw"]


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    result = []
    for label in cases:
        case = CASES[label]
        for load in case.loads:
            for name in names(case, qdiscs):
                words = qdiscs[name] or FIFO["red" if case.red else "tail"]
                if case.red and name != FIFO_NAME:
                    words += f" red both {RED}"
                flows = f"--mtu {MTU} --size bp(1,1e8,1.1) --flows {case.flows}"
                flows += f" --load {load} --rate 1e7 --seed {seed}"
                flows += f" --ports {len(case.places)} --wait 3600"
                args = [f"EVERY={EVERY}", f"TIMES={TIMES}"] if case.queues else []
                args += [f"QDISC={words}", "RTT_MS=0", f"LINKS={' '.join(case.places)}"]
                args += ["TCP=ns2", f"ROUTE={ROUTE}", f"FLOWGEN={flows}"]
                args += ["WATCH=1"] if words.startswith("sift") else []
                job, script = f"{label}-{load}-{name}", WATCHED if case.queues else SCRIPT
                weight = case.flows * MEAN * MTU * 8 / 1e6
                result.append(Job(job, script, args, weight, MODULES))
    return sorted(result, key=lambda job: -job.weight)


@dataclass(frozen=True)
class Measured:
    run: Run
    long: np.ndarray  # of each flow whether it was sampled
    queues: np.ndarray  # each time: seconds, packets in the high one, and in the low one

    @property
    def peak(self) -> int | None:
        """The most flows that were sampled at once."""
        return self.run.statistic("sift", "records_peak")


def measured(job: str, text: str) -> Measured:
    lines = text.splitlines()
    found = {tuple(map(int, line.split()[1:])) for line in lines if line.startswith("long ")}
    queues = [queues_at(line) for line in lines if line.startswith("queues ")]
    rest = [line for line in lines if not line.startswith(("long ", "queues "))]
    run = parse_run(job, "\n".join(rest))
    if len({tuple(ports) for ports in run.ports}) < len(run.ports):
        raise DataError(f"{job}: flows of the same ports cannot be told apart")
    long = np.array([tuple(ports) in found for ports in run.ports])
    return Measured(run, long, np.array(queues).reshape(-1, 3))


def queues_at(line: str) -> tuple[float, int, int]:
    """A row of Measured.queues; a FIFO is like the high one."""
    _, at, shown = line.split(" ", 2)
    qdisc = next(each for each in json.loads(shown) if each.get("handle") == "10:")
    return float(at), qdisc.get("high_qlen", qdisc["qlen"]), qdisc.get("low_qlen", 0)


def mean(run: Run, chosen: np.ndarray) -> float:
    return float(np.nanmean(run.response[chosen])) if chosen.any() else float("nan")


def delays(case: Case, runs: dict[str, Measured]) -> Iterator[tuple[str, str, str, float, int]]:
    """Of each group, kind of flows and qdisc the mean delay in ms, and how many flows they are."""
    for group in dict.fromkeys(case.groups):
        of = [5000 + i for i, name in enumerate(case.groups) if name == group]
        for name, each in runs.items():
            inside = np.isin(each.run.ports[:, 0], of)
            long = runs["sift"].long if name == FIFO_NAME else each.long
            kinds = {"short": inside & ~long, "long": inside & long, "all": inside}
            for kind, chosen in kinds.items():
                yield group, kind, name, mean(each.run, chosen), int(chosen.sum())


def numbers(data: dict[str, str], qdiscs: dict[str, str], cases: list[str], seed: int) -> Rows:
    """Of each run: mean delays in ms by group and kind, and how many flows are sampled at most."""
    result: Rows = {}
    for label in cases:
        case = CASES[label]
        for load in case.loads:
            runs = {
                name: measured(f"{label}-{load}-{name}", data[f"{label}-{load}-{name}"])
                for name in names(case, qdiscs)
            }
            for name, each in runs.items():
                values = {"failed": each.run.failed, "drops": each.run.drops}
                values |= {} if each.peak is None else {"sampled": each.peak}
                if case.queues:
                    values |= over_time(each.queues)
                result[f"{label} {load:g}", name, seed] = values
            for group, kind, name, delay, number in delays(case, runs):
                more = {f"{group} {kind} ms": delay, f"{group} {kind} flows": number}
                result[f"{label} {load:g}", name, seed] |= more
    return result


def over_time(queues: np.ndarray) -> Metrics:
    """Figure 13, of the beginning, the most there ever was, and how often it was more than told."""
    time = queues[:, 0] - queues[0, 0]
    values = {f"{band}, most": queues[:, i].max() for i, band in enumerate(BANDS, 1)}
    values |= {f"high, >{told} %": 100 * np.mean(queues[:, 1] > told) for told in TOLD.values()}
    for i, band in enumerate(BANDS, 1):
        values |= points(band, time[time < SHOWN], queues[time < SHOWN, i])
    return values


def goals(label: str, load: float, found: dict[tuple[str, str, str], float], peak: int) -> list:
    result = []
    for group in dict.fromkeys(group for group, _, _ in found):
        what = f"{label}, load {load:g}"
        if group != "all":
            what += f", {group}"
        faster = {
            kind: found[group, kind, "fifo"] / found[group, kind, "sift"]
            for kind in ("short", "long", "all")
            if not np.isnan(found[group, kind, "sift"])
        }
        wanted = {"long": 0.5}
        if label == "quick":
            wanted |= {"short": 5}
        elif load >= 0.9:
            wanted |= {"short": 10, "all": 2}
        for kind, least in wanted.items():
            if kind in faster:
                goal = f"{what}: {kind} flows at least {least:g} times as fast"
                result.append((goal, faster[kind] >= least))
    what = f"{label}, load {load:g}: at most 1600 flows sampled at once"
    return [*result, (what, peak <= 1600)]


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    head = ["", "load", "flows", *qdiscs, "fifo / sift", "sampled, most", "paper", "failed"]
    rows, reached = [head], []
    lines: dict[tuple[str, str, str], dict[str, list[tuple[float, float]]]] = {}
    for label in cases:
        case = CASES[label]
        for load in case.loads:
            runs = {
                name: measured(f"{label}-{load}-{name}", data[f"{label}-{load}-{name}"])
                for name in names(case, qdiscs)
            }
            found = {}
            count = {}
            for group, kind, name, delay, number in delays(case, runs):
                found[group, kind, name] = delay
                if name == "sift":
                    count[group, kind] = number
                key = (label, group, kind)
                lines.setdefault(key, {}).setdefault(name, []).append((load, delay))
            peak = runs["sift"].peak or 0
            failed = sum(each.run.failed for each in runs.values())
            for (group, kind), number in count.items():
                values = [found.get((group, kind, name)) for name in qdiscs]
                cells = ["-" if value is None else f"{value:.1f}" for value in values]
                ratio = found[group, kind, "fifo"] / found[group, kind, "sift"]
                first = kind == "short" and group == case.groups[0]
                most = [str(peak), str(case.state[1]) if case.state else "-", str(failed)]
                rows.append(
                    [f"{label} {group} {kind}", f"{load:g}", str(number), *cells, f"{ratio:.2f}"]
                    + (most if first else ["", "", ""])
                )
            reached += goals(label, load, found, peak)
    text = "Mean delay in ms\n" + format_rows(rows) + "\n"
    text += "".join(f"{goal}: {'met' if ok else 'NOT MET'}\n" for goal, ok in reached)
    if any(len(CASES[label].loads) > 1 for label in cases):
        picture(lines, where / "sift")
        text += f"picture: {where / 'sift.svg'}\n"
    return text, all(ok for _, ok in reached)


def picture(
    lines: dict[tuple[str, str, str], dict[str, list[tuple[float, float]]]], path: Path
) -> None:
    rows = [key for key in lines if key[2] == "short"]
    figure, axes = new_figure(9, 2.2 * len(rows), len(rows), 3)
    axes = np.atleast_2d(axes)
    for i, (label, group, _) in enumerate(rows):
        for j, kind in enumerate(("short", "long", "all")):
            for mine, (name, values) in zip(FREE, lines[label, group, kind].items(), strict=False):
                axes[i, j].semilogy(*zip(*values, strict=True), "o-", color=mine.colour, label=name)
            axes[i, j].set_title(f"{CASES[label].title}, {group}: {kind}", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    figure.supxlabel("load")
    figure.supylabel("mean delay, ms")
    save(figure, path)
