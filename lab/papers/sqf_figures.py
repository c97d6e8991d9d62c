# SPDX-License-Identifier: GPL-2.0
"""Rates and queues over time: figures 2, 3 and 5 of Carofiglio and Muscariello 2009, measured.

    two     TCP (Reno) with round trips of 2 and 6 ms, a buffer of 150 kB: figures 2 and 3
    udp     TCP, 20 ms, beside UDP of 3 Mbit/s, 150 kB: figure 5, top
    three   TCP, 2, 5 and 10 ms, 30 kB: figure 5, bottom

The rate is what TCP sends, the mean of 0.1 s; the queue is seen each 10 ms. A turn is the time for
which one flow of TCP sends more than 0.8 of what all of it does.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.measure.numbers import Rows, points
from lab.measure.reading import (
    format_rows,
    split_bulk,
    split_intervals,
    split_steady,
)
from lab.page.looks import FREE
from lab.page.svg import new_figure, save
from lab.papers.sqf_tables import MODULES, PAYLOAD, UDP_WIRE, WIRE
from lab.run.guests import Job

QDISCS = {"sqf": "sqf", "fq": "sqf policy fq", "lqf": "sqf policy lqf"}
INTERVAL, DURATION = 0.01, 40  # seconds
BEGIN, SHOWN = 20, 6  # seconds: what is measured and how much of that is drawn
SMOOTH = 10  # intervals
# Of numbers(): one of so many intervals, and how many seconds
POINT, CURVE = 2, 3
WEIGHT = 10 * DURATION  # Mbit
OWNED = 0.8
SPARE = 4  # queues of single packets that the kernel itself sends; under lqf they stay


@dataclass(frozen=True)
class Case:
    title: str
    rtts: tuple[int, ...]
    limit: int  # packets
    udp: float = 0  # Mbit/s

    @property
    def names(self) -> list[str]:
        return [f"TCP, {rtt} ms" for rtt in self.rtts] + ["UDP"] * bool(self.udp)


CASES = {
    "two": Case("2 and 6 ms, 150 kB", (2, 6), 100),
    "udp": Case("20 ms and UDP of 3 Mbit/s, 150 kB", (20,), 100, 3),
    "three": Case("2, 5 and 10 ms, 30 kB", (2, 5, 10), 20),
}


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    times = ["--interval", str(INTERVAL), "--duration", str(DURATION)]
    result = []
    for label in cases:
        case = CASES[label]
        # TCP has begun before
        late = DURATION - BEGIN / 2
        cbr = (
            f"udp:{BEGIN}:{BEGIN / 2}*0,{late}*{UDP_WIRE - 42}/{UDP_WIRE * 8 / case.udp}"
            if (case.udp)
            else "-"
        )
        for name, words in qdiscs.items():
            args = [f"{words} limit {case.limit}", "reno", " ".join(map(str, case.rtts)), cbr]
            args += [" ".join(["--flows", str(len(case.names) + SPARE), *times])]
            args += ["--flows", str(len(case.rtts)), "--stagger", "0.5", *times]
            result.append(Job(f"{name}-{label}", "sqf-tables.sh", args, WEIGHT, MODULES))
    return result


def turns(rates: np.ndarray) -> tuple[float, float]:
    """The part of the time in which one flow has the link, and how long a turn is, in seconds."""
    share = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1)
    owner = np.where(share.max(axis=1) > OWNED, share.argmax(axis=1), -1)
    owned = owner[owner >= 0]
    if not owned.size:
        return 0.0, 0.0
    changes = 1 + np.count_nonzero(np.diff(owned))
    return owned.size / owner.size, owned.size * INTERVAL / changes


def largest(queues: np.ndarray, count: int) -> np.ndarray:
    """Those queues that have ever been longest, in the order they are in."""
    return queues[:, np.sort(np.argsort(queues.max(axis=0), kind="stable")[-count:])]


def smooth(values: np.ndarray) -> np.ndarray:
    kernel = np.ones(SMOOTH) / SMOOTH
    return np.stack([np.convolve(column, kernel, mode="same") for column in values.T], axis=1)


def draw(axes: tuple, case: Case, rates: np.ndarray, queues: np.ndarray, title: str) -> None:
    time = np.arange(round(SHOWN / INTERVAL)) * INTERVAL
    for axis, values, scale in ((axes[0], rates, 1e6), (axes[1], queues, 1e3)):
        for i in range(values.shape[1]):
            axis.plot(
                time,
                values[: time.size, i] / scale,
                color=FREE[i].colour,
                linewidth=0.9,
                label=case.names[i],
            )
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].set(title=title, ylabel="Mbit/s")
    axes[0].legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes[1].set(ylabel="queue, kB", xlabel="s")


@dataclass(frozen=True)
class Measured:
    """One run from BEGIN on."""

    rates: np.ndarray  # bit/s that TCP sends, smooth
    queues: np.ndarray  # bytes
    through: np.ndarray  # bit/s that TCP gets, the mean
    lost: float | None  # the part of UDP


def measured(job: str, case: Case, text: str) -> Measured:
    steady, text = split_steady(job, text)
    received, sent, text = split_bulk(job, text)
    queues, _, _ = split_intervals(job, text, "queues")
    queues = largest(queues, len(case.names))
    begin = round(BEGIN / INTERVAL)
    scale = WIRE / PAYLOAD
    through = received[begin:].mean(axis=0) * scale
    lost = steady["udp"].loss if steady else None
    return Measured(smooth(sent * scale)[begin:], queues[begin:], through, lost)


def numbers(data: dict[str, str], qdiscs: dict[str, str], cases: list[str], seed: int) -> Rows:
    """Of each run: Mbit/s and kB."""
    result: Rows = {}
    for label in cases:
        for name in qdiscs:
            one = measured(f"{name}-{label}", CASES[label], data[f"{name}-{label}"])
            part, turn = turns(one.rates)
            values = {"one has the link %": 100 * part, "turn s": turn}
            values |= {} if one.lost is None else {"UDP lost %": 100 * one.lost}
            chosen = range(0, round(CURVE / INTERVAL), POINT)
            time = [i * INTERVAL for i in chosen]
            for flow, title in enumerate(CASES[label].names):
                values[f"{title}, kB"] = one.queues[:, flow].mean() / 1e3
                values |= points(f"{title}, kB", time, one.queues[chosen, flow] / 1e3)
                if flow < one.through.size:
                    values[f"{title}, Mbit/s"] = one.through[flow] / 1e6
                    values |= points(f"{title}, Mbit/s", time, one.rates[chosen, flow] / 1e6)
            result[label, name, seed] = values
    return result


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """A picture for each case, and how TCP takes turns."""
    rows = [["", "Mbit/s", "mean queue, kB", "one has the link, %", "turn, s", "UDP lost, %"]]
    owned = {}
    for label in cases:
        case = CASES[label]
        figure, axes = new_figure(8, 4 * len(qdiscs), rows=2 * len(qdiscs))
        for i, name in enumerate(qdiscs):
            job = f"{name}-{label}"
            one = measured(job, case, data[job])
            part, turn = turns(one.rates)
            owned[job] = part, turn
            rows.append(
                [
                    f"{label} {name}",
                    " ".join(f"{rate / 1e6:.2f}" for rate in one.through),
                    " ".join(f"{size / 1e3:.1f}" for size in one.queues.mean(axis=0)),
                    f"{100 * part:.0f}" if len(case.rtts) > 1 else "-",
                    f"{turn:.2f}" if len(case.rtts) > 1 else "-",
                    "-" if one.lost is None else f"{100 * one.lost:.2f}",
                ]
            )
            draw(axes[2 * i : 2 * i + 2], case, one.rates, one.queues, f"{name}: {case.title}")
        save(figure, where / f"sqf-{label}")
    goals = []
    for label, least in (("two", 0.8), ("three", 0.2)):
        if f"sqf-{label}" in owned:
            part, turn = owned[f"sqf-{label}"]
            ok = part >= least and turn < SHOWN
            goals.append((f"sqf, {label}: one flow after the other has the link", ok))
        if f"fq-{label}" in owned:
            goals.append((f"fq, {label}: never one alone", owned[f"fq-{label}"][0] <= 0.02))
    text = format_rows(rows) + "\n"
    text += "".join(f"{goal}: {'met' if ok else 'NOT MET'}\n" for goal, ok in goals)
    return text, all(ok for _, ok in goals)
