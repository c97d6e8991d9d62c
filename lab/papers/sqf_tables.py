# SPDX-License-Identifier: GPL-2.0
"""Tables 1, 3 and 4 and figures 2, 3 and 5 of Carofiglio and Muscariello 2009, measured.

Long flows share a link of 10 Mbit/s and a buffer of 150 kB, which is 100 packets here:

    sqf-table1   TCP with round trips of 10, 100 and 200 ms: Jain's index in 0.5 s and in 300 s
    sqf-table3   TCP, 30 and 50 ms: what is sent and what gets through. Its model column is that of
                 these, 1/30^2 : 1/50^2 = 7.35 : 2.65. Its caption says 20 and 50 ms: those, too
    sqf-table4   TCP, 20 ms, beside UDP of 3 or 7 Mbit/s: what UDP loses and what TCP gets
    sqf-figures  rates and queues over time

    reno    Reno as it is in Linux today
    ns2     without SACK, with an initial window of 1, retransmission after 1 s and more
    cubic   what Linux has by default

Rates are those on the wire, of packets of 1514 bytes. Each table is the mean of several runs, whose
flows begin at other times, and of 300 s, which begin when all have been there for 20 s.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.measure.numbers import Rows
from lab.measure.reading import format_rows, jain, split_bulk, split_steady
from lab.run.guests import Job

POLICIES = {
    "fq": "sqf policy fq limit 100",
    "lqf": "sqf policy lqf limit 100",
    "sqf": "sqf limit 100",
}
TCP = ("reno", "ns2", "cubic")
MODULES = "veth sch_htb sch_netem sch_prio cls_u32".split()
WARM, MEASURED = 20, 300  # seconds
SHORT = 0.5  # seconds, of Jain's index on the short term
SEEDS = 3
PAYLOAD, WIRE = 1448, 1514  # bytes of a TCP segment, without and with all headers
UDP_WIRE = 1514
LINK = 10.0  # Mbit/s

Goals = list[tuple[str, bool]]


@dataclass(frozen=True)
class Measured:
    """One run: Mbit/s on the wire, by interval and flow, and the part of UDP that was lost."""

    received: np.ndarray
    sent: np.ndarray
    lost: float

    @property
    def throughput(self) -> np.ndarray:
        return self.received.mean(axis=0)

    @property
    def short_jain(self) -> float:
        return float(np.mean([jain(row) for row in self.received if row.any()]))


def measured(job: str, text: str) -> Measured:
    steady, text = split_steady(job, text)
    received, sent, text = split_bulk(job, text)
    skip = round(WARM / SHORT)
    scale = WIRE / PAYLOAD / 1e6
    lost = steady["udp"].loss if steady else 0.0
    return Measured(received[skip:] * scale, sent[skip:] * scale, lost)


def mean(values: list) -> float:
    return float(np.mean(values))


def cbr_flow(rate: float, rng: random.Random) -> str:
    """UDP of so many Mbit/s, measured when TCP is."""
    silence = round(0.01 + rng.random(), 3)
    span = WARM + MEASURED - silence
    return f"udp:{WARM}:{silence}*0,{span}*{UDP_WIRE - 42}/{UDP_WIRE * 8 / rate}"


@dataclass(frozen=True)
class Setting:
    """What runs beside each other: round trips of TCP in ms, and Mbit/s of UDP."""

    rtts: tuple[int, ...]
    udp: float = 0
    tcp: tuple[str, ...] = TCP  # with which


@dataclass(frozen=True)
class Table:
    """One of the tables, by the names that experiment.py wants of a module."""

    settings: dict[str, Setting]
    rows: Callable[[str, dict[str, list[Measured]]], Iterator[list[str]]]
    goals: Callable[[dict[str, dict[str, list[Measured]]]], Goals]
    head: list[str]
    seeds: int = SEEDS

    QDISCS = POLICIES
    CASES = TCP

    def _runs(
        self, qdiscs: dict[str, str], cases: list[str], seed: int
    ) -> Iterator[tuple[str, str, str, int]]:
        for case in cases:
            labels = [label for label, setting in self.settings.items() if case in setting.tcp]
            for name in qdiscs:
                for label in labels:
                    for number in range(seed, seed + self.seeds):
                        yield case, name, label, number

    def jobs(self, qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
        result = []
        for case, name, label, number in self._runs(qdiscs, cases, seed):
            setting, rng = self.settings[label], random.Random(number)
            more = ["--flows", str(len(setting.rtts)), "--interval", str(SHORT)]
            more += ["--duration", str(WARM + MEASURED)]
            more += ["--stagger", str(round(0.1 + rng.random(), 3))]
            cbr = cbr_flow(setting.udp, rng) if setting.udp else "-"
            rtts = " ".join(map(str, setting.rtts))
            args = [qdiscs[name], case, rtts, cbr, "-", *more]
            job, weight = f"{name}-{label}-{case}-{number}", LINK * (WARM + MEASURED)
            result.append(Job(job, "sqf-tables.sh", args, weight, MODULES))
        return result

    def numbers(
        self, data: dict[str, str], qdiscs: dict[str, str], cases: list[str], seed: int
    ) -> Rows:
        """Of each run, in Mbit/s on the wire: what each flow sends and gets, what UDP loses."""
        result: Rows = {}
        for case, name, label, number in self._runs(qdiscs, cases, seed):
            job = f"{name}-{label}-{case}-{number}"
            one, setting = measured(job, data[job]), self.settings[label]
            sent, got = one.sent.mean(axis=0), one.throughput
            values = {"A": sent.sum(), "X": got.sum()}
            for i in range(len(setting.rtts)):
                values |= {f"A{i + 1}": sent[i], f"X{i + 1}": got[i]}
            if setting.udp:
                values["UDP lost"] = one.lost * setting.udp
            values |= {"Jain, 0.5 s": one.short_jain, "Jain, 300 s": jain(got)}
            values["received / sent"] = got.sum() / sent.sum()
            named = {f"{label} {what}": value for what, value in values.items()}
            result.setdefault((case, name, number), {}).update(named)
        return result

    def report(
        self, data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
    ) -> tuple[str, bool]:
        """The table, and whether the goals are met, by Reno as it is today."""
        first = min(int(name.rsplit("-", 1)[1]) for name in data)
        found: dict[str, dict[str, dict[str, list[Measured]]]] = {}
        for case, name, label, number in self._runs(qdiscs, cases, first):
            job = f"{name}-{label}-{case}-{number}"
            runs = found.setdefault(case, {}).setdefault(name, {})
            runs.setdefault(label, []).append(measured(job, data[job]))
        rows = [self.head]
        for case in cases:
            for name in qdiscs:
                for cells in self.rows(name, found[case][name]):
                    rows.append([f"{case} {name} {cells[0]}", *cells[1:]])
        text = format_rows(rows) + "\n"
        goals = []
        if "reno" in cases and set(POLICIES) <= set(qdiscs):
            goals = self.goals(found["reno"])
        text += "".join(f"reno, {goal}: {'met' if ok else 'NOT MET'}\n" for goal, ok in goals)
        return text, all(ok for _, ok in goals)


def shown(measured: float, *paper: float | None, digits: int = 2) -> list[str]:
    return [f"{measured:.{digits}f}", *("-" if x is None else f"{x:g}" for x in paper)]


# Jain's index on the short and long term, in their testbed; that of (21) to (23)
TABLE1 = {"fq": (0.999, 0.999), "lqf": (0.734, 0.736), "sqf": (0.55, 0.735)}


def model_shares(policy: str, rtts: tuple[int, ...]) -> np.ndarray:
    """Equations (21) to (23): of the link, for each flow."""
    power = {"fq": 0, "lqf": -2, "sqf": 2}[policy]
    weights = np.array(rtts, dtype=float) ** power
    return weights / weights.sum()


RTTS1 = (10, 100, 200)


def rows1(policy: str, runs: dict[str, list[Measured]]) -> Iterator[list[str]]:
    three = runs["three"]
    short, long = TABLE1.get(policy, (None, None))
    model = model_shares(policy, RTTS1) if policy in TABLE1 else None
    longs = [jain(run.throughput) for run in three]
    yield ["Jain, 0.5 s", *shown(mean([run.short_jain for run in three]), short, None, digits=3)]
    yield [
        "Jain, 300 s",
        *shown(mean(longs), long, None if model is None else round(jain(model), 3), digits=3),
    ]
    for i, rtt in enumerate(RTTS1):
        share = None if model is None else round(model[i] * LINK, 2)
        yield [f"X, {rtt} ms", *shown(mean([run.throughput[i] for run in three]), None, share)]
    ratio = mean([run.throughput.sum() / run.sent.mean(axis=0).sum() for run in three])
    yield ["received / sent", *shown(ratio, {"sqf": 0.95}.get(policy, 0.99), None, digits=3)]


def goals1(found: dict[str, dict[str, list[Measured]]]) -> Goals:
    short = {name: mean([r.short_jain for r in runs["three"]]) for name, runs in found.items()}
    long = {name: mean([jain(r.throughput) for r in runs["three"]]) for name, runs in found.items()}
    flows = {
        name: np.mean([r.throughput for r in runs["three"]], axis=0) for name, runs in found.items()
    }
    return [
        ("fq: Jain's index at least 0.99 on both terms", min(short["fq"], long["fq"]) >= 0.99),
        ("sqf: the short term well below the long one", short["sqf"] <= 0.85 * long["sqf"]),
        ("sqf: the shortest round trip gets least", bool(flows["sqf"].argmin() == 0)),
        ("lqf: the shortest round trip gets most", bool(flows["lqf"].argmax() == 0)),
    ]


# ns-2 and model: A1, A2, A, X1, X2, X
TABLE3 = {
    "fq": ((5.26, 4.93, 10.2, 5.12, 4.79, 9.91), (5.00, 5.00, 10.01, 5.00, 5.00, 10.00)),
    "lqf": ((7.48, 2.63, 10.01, 7.37, 2.47, 9.85), (7.35, 2.65, 10.00, 7.35, 2.65, 10.00)),
    "sqf": ((5.8, 8.1, 13.90, 2.90, 7.08, 9.99), (6.32, 8.68, 15.00, 2.65, 7.35, 10.00)),
}


def values3(runs: list[Measured]) -> list[float]:
    sent = np.mean([run.sent.mean(axis=0) for run in runs], axis=0)
    got = np.mean([run.throughput for run in runs], axis=0)
    return [*sent, sent.sum(), *got, got.sum()]


def rows3(policy: str, runs: dict[str, list[Measured]]) -> Iterator[list[str]]:
    names = ("A1", "A2", "A", "X1", "X2", "X")
    for label, each in runs.items():
        papers = zip(*TABLE3.get(policy, ([None] * 6,) * 2), strict=True)
        for name, value, paper in zip(names, values3(each), papers, strict=True):
            yield [f"{name}{'' if label == 'two' else ', 20 ms'}", *shown(value, *paper)]


def goals3(found: dict[str, dict[str, list[Measured]]]) -> Goals:
    goals = []
    for policy in ("fq", "sqf"):
        off = np.subtract(values3(found[policy]["two"]), TABLE3[policy][0])[3:5]
        goals.append((f"{policy}: X within 1 Mbit/s of ns-2", bool(np.all(abs(off) <= LINK / 10))))
    return goals


# ns-2 and model: what UDP loses, what TCP gets
TABLE4 = {
    "3": {
        "fq": ((0.01, 6.69), (0, 7)),
        "lqf": ((2.98, 9.99), (3, 10)),
        "sqf": ((0.1, 6.97), (0, 7)),
    },
    "7": {
        "fq": ((1.96, 4.98), (2, 5)),
        "lqf": ((6.95, 9.87), (7, 10)),
        "sqf": ((0.1, 2.98), (0, 3)),
    },
}


def loss4(runs: list[Measured], rate: str) -> float:
    return mean([run.lost for run in runs]) * float(rate)


def rows4(policy: str, runs: dict[str, list[Measured]]) -> Iterator[list[str]]:
    for rate, table in TABLE4.items():
        papers = zip(*table.get(policy, ([None] * 2,) * 2), strict=True)
        values = (loss4(runs[rate], rate), mean([run.throughput[0] for run in runs[rate]]))
        for name, value, paper in zip(("UDP lost", "X, TCP"), values, papers, strict=True):
            yield [f"{rate} Mbit/s {name}", *shown(value, *paper)]


def goals4(found: dict[str, dict[str, list[Measured]]]) -> Goals:
    lost = {(p, r): loss4(found[p][r], r) for p in ("fq", "sqf") for r in TABLE4}
    return [
        ("sqf: UDP loses at most 0.1 Mbit/s of 3", lost["sqf", "3"] <= 0.1),
        ("sqf: UDP loses at most 0.1 Mbit/s of 7", lost["sqf", "7"] <= 0.1),
        ("fq: UDP loses at most 0.1 Mbit/s of 3", lost["fq", "3"] <= 0.1),
        ("fq: UDP loses 1.8 to 2.2 Mbit/s of 7", 1.8 <= lost["fq", "7"] <= 2.2),
    ]


HEAD = ["", "measured", "paper", "model"]
table1 = Table({"three": Setting(RTTS1)}, rows1, goals1, HEAD)
table3 = Table(
    {"two": Setting((30, 50)), "caption": Setting((20, 50))},
    rows3,
    goals3,
    ["Mbit/s", "measured", "ns-2", "model"],
)
table4 = Table(
    {rate: Setting((20,), float(rate)) for rate in TABLE4}, rows4, goals4, ["Mbit/s", *HEAD[1:]]
)
