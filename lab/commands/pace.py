# SPDX-License-Identifier: GPL-2.0
"""How exactly qdiscs shape: when packets leave our kinds, CAKE and HTB that always have some.

For each rate and kind of packets it tells by how much what was sent over any second is off the
rate, how many packets any 20 in a row were early, and by how much any was late; then what becomes
of it where the rate changes ten times a second. Ours have bounds. The clock is virtual, so two runs
agree to the digit. --store writes what is measured to pace.csv of docs/results/bench.
"""

import argparse
import csv
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.measure.reading import DataError
from lab.measure.tables import format_rows
from lab.run.guests import LAB, RESULTS, Job, run_all
from lab.run.keys import bits
from lab.run.qdiscs import OURS, RATE
from vm import NATIVE, prepare

NEEDS = ["pace.sh", "modules/pace.ko"]
DEPTH = 100  # packets that wait, or bundles
SEGMENTS = 16  # of a bundle
PACE_CSV = RESULTS / "bench/pace.csv"
MIXED = (64, 300, 1514)  # bytes
# Bytes, 0 being MIXED; segments; and what is to become of these
LOADS = {
    "64 bytes": (64, 0, ""),
    "300 bytes": (300, 0, ""),
    "1514 bytes": (1514, 0, ""),
    "mixed": (0, 0, ""),
    "bundles, split": (1514, SEGMENTS, "split"),
    "bundles, whole": (1514, SEGMENTS, "whole"),
}
SLOWEST = "8bit"  # whose packets are not waited for
TOLD = {"in", "out", "noted", "late", "least", "most", "early"}  # by the module
OFF, EARLY, LATE = 0.25, 1.0, 2.0  # the most: % of the rate, packets, ms


@dataclass(frozen=True)
class Shaper:
    """In tc's words, where {rate} is the rate."""

    words: str  # of the root and, after a +, of more commands
    modules: list[str]
    change: str  # the command that changes the rate to @
    split: str = ""  # more words of the root, where it can
    whole: str = ""


def _own(kind: str, before: str, split: str, whole: str) -> Shaper:
    words = f"{before} {{}}"
    change = f"qdisc change dev pace0 root {words.format('@')}"
    return Shaper(words.format(RATE), [f"sch_{kind}"], change, split, whole)


def _htb(more: str) -> Shaper:
    words = f"class {{}} dev pace0 parent 1: classid 1:1 htb rate {{}} quantum 1514{more}"
    leaf = "qdisc add dev pace0 parent 1:1 fq_codel"
    both = f"htb default 1+{words.format('add', RATE)}+{leaf}"
    return Shaper(both, ["sch_htb", "sch_fq_codel"], words.format("change", "@"))


SHAPERS = {kind: _own(kind, f"{kind} rate", "split_gso on", "split_gso off") for kind in OURS}
SHAPERS |= {
    "cake": _own("cake", "cake besteffort flows bandwidth", "split-gso", "no-split-gso"),
    "htb": _htb(""),
    "htb-burst": _htb(" burst 100 cburst 100"),  # as experiments have it
}


@dataclass(frozen=True)
class Case:
    rate: str
    load: str
    seconds: float
    changes: bool = False

    @property
    def name(self) -> str:
        return f"{self.rate}, {self.load}" + ", changes" * self.changes

    @property
    def how(self) -> str:
        """Of bundles: split or whole."""
        return LOADS[self.load][2]

    def is_of(self, shaper: Shaper) -> bool:
        """HTB does not split, and has no such rate."""
        return bool(shaper.split) or not (self.how == "split" or self.rate == SLOWEST)

    def spec(self, shaper: Shaper) -> str:
        """As pace.sh reads it."""
        size, segments, how = LOADS[self.load]
        options = {"split": shaper.split, "whole": shaper.whole}.get(how, "")
        root, plus, more = shaper.words.replace(RATE, self.rate).partition("+")
        words = f"{root} {options}".strip() + plus + more
        # No more can leave, but for what is there at first
        least = (size or min(MIXED)) * (segments if how == "whole" else 1) * 8
        room = round(bits(self.rate) * self.seconds / least) + 10000
        what = f"{bits(self.rate):.0f} {size} {segments} {DEPTH} {room}"
        command = shaper.change if self.changes else ""
        return f"{self.name}|{words}|{what}|{self.seconds:g}|{command}"


def _cases() -> list[Case]:
    cases = [Case(SLOWEST, "64 bytes", 1500)]
    for rate, seconds in (("1mbit", 20), ("10mbit", 5), ("100mbit", 2), ("1gbit", 1.2)):
        cases += [Case(rate, load, seconds) for load in LOADS]
    cases.append(Case("100gbit", "bundles, whole", 1.1))
    cases.append(Case("100mbit", "1514 bytes", 60, changes=True))
    return cases


CASES = _cases()


@dataclass(frozen=True)
class Pace:
    """Of one case under one qdisc. Where the rate changes there is neither of the first two."""

    off: float | None  # %, by how much any second is off the rate, where there was one
    early: float | None  # packets
    late: float  # ms
    sent: int  # packets
    dropped: int
    exact: bool  # whether tc's numbers are what they have to be

    def missed(self, case: Case) -> str:
        """What is out of bounds"""
        limits = [("off", self.off, OFF), ("early", self.early, EARLY), ("late", self.late, LATE)]
        found = [f"{what} by {x:.3g}" for what, x, most in limits if x is not None and x > most]
        if self.off is None and not case.changes:
            found.append("nothing measured")
        return ", ".join(found + ["tc's numbers are wrong"] * (not self.exact))


def read(case: Case, text: str) -> Pace:
    """Of what the guest says of a case: what module and tc tell, when time is over and then."""
    found = re.findall(r"^(\w+)=(-?\d+)$", text, re.MULTILINE)
    tc = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
    half = len(found) // 2
    module = [{key: int(value) for key, value in told} for told in (found[:half], found[half:])]
    if any(set(told) != TOLD for told in module) or len(tc) != 2:
        raise DataError(f"{case.name}: not what was to be measured")
    exact = True
    for n, qdiscs in zip(module, tc, strict=True):
        root = next(qdisc for qdisc in qdiscs if qdisc.get("handle") == "1:")
        # What came in has gone out, was dropped, or waits; of bundles some count one. The module
        # was asked earlier than tc, and only the first of these is the same by then.
        waits = n["in"] - root["packets"] - root["drops"]
        exact &= bool(case.how) or waits == root["qlen"]
        exact &= (root["qlen"] == 0) == (root["backlog"] == 0)
    exact &= case.rate == SLOWEST or (root["qlen"] == 0 and n["out"] == root["packets"])
    first, rate, off = module[0], bits(case.rate), None
    if first["most"]:
        off = 100 * max(abs(first[key] / rate - 1) for key in ("least", "most"))
    early = first["early"] / 1000
    off, early = (None, None) if case.changes else (off, early)
    return Pace(off, early, first["late"] / 1e6, first["out"], root["drops"], exact)


def parse(shaper: Shaper, data: str) -> dict[Case, Pace]:
    parts = dict(part.split("\n", 1) for part in re.split(r"^case ", data, flags=re.M)[1:])
    cases = [case for case in CASES if case.is_of(shaper)]
    if list(parts) != [case.name for case in cases]:
        raise DataError("not the cases that were to be measured")
    return {case: read(case, parts[case.name]) for case in cases}


Paces = dict[str, dict[Case, Pace]]  # by qdisc


def table(paces: Paces, value: str, scale: float = 1) -> str:
    rows = [["", *paces]]
    for case in CASES:
        found = [getattr(of[case], value) if case in of else None for of in paces.values()]
        if any(x is not None for x in found):
            shown = ["-" if x is None else f"{x * scale:.3f}" for x in found]
            rows.append([case.name, *shown])
    return format_rows(rows)


def counts(paces: Paces) -> str:
    """Where the rate changes"""
    rows = [["", "sent", "dropped", "late, ms", "tc's numbers"]]
    for name, of in paces.items():
        for case, pace in of.items():
            if case.changes:
                told = "exact" if pace.exact else "WRONG"
                rows.append([name, str(pace.sent), str(pace.dropped), f"{pace.late:.3f}", told])
    return format_rows(rows)


def report(paces: Paces) -> tuple[str, bool]:
    text = "what was sent over any second, off the rate by, %\n\n" + table(paces, "off")
    text += "\n\nhow early any 20 packets in a row were, packets\n\n" + table(paces, "early")
    text += "\n\nhow late any packet was, us\n\n" + table(paces, "late", 1000)
    text += "\n\nthe rate changes ten times a second, for a minute\n\n" + counts(paces) + "\n\n"
    good = True
    for name in [name for name in paces if name in OURS]:
        missed = {case.name: pace.missed(case) for case, pace in paces[name].items()}
        missed = {case: what for case, what in missed.items() if what}
        good &= not missed
        text += f"{name}: off by {OFF} % at most, early by a packet, late by {LATE:g} ms: "
        text += f"NOT MET: {missed}\n" if missed else "met\n"
    return text, good


def write_csv(path: Path, paces: Paces) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["qdisc", "case", "off", "early", "late", "sent", "dropped", "exact"])
        for name, of in paces.items():
            for case, pace in of.items():
                numbers = ["" if x is None else f"{x:.4f}" for x in (pace.off, pace.early)]
                numbers += [f"{pace.late:.6f}", pace.sent, pace.dropped, int(pace.exact)]
                writer.writerow([name, case.name, *numbers])


def read_csv(path: Path) -> Paces:
    by_name = {case.name: case for case in CASES}
    paces: Paces = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            off, early = (float(row[key]) if row[key] else None for key in ("off", "early"))
            counted = int(row["sent"]), int(row["dropped"]), row["exact"] == "1"
            pace = Pace(off, early, float(row["late"]), *counted)
            paces.setdefault(row["qdisc"], {})[by_name[row["case"]]] = pace
    return paces


def measure(kernel: str, names: list[str], slots: int) -> Paces:
    """Each case under each qdisc; what the machines said is kept in build/pace."""
    built = prepare(kernel)
    jobs = []
    for name in names:
        shaper = SHAPERS[name]
        specs = [case.spec(shaper) for case in CASES if case.is_of(shaper)]
        jobs.append(Job(name, NEEDS[0], specs, shaper.modules, NEEDS))
    print(f"pace, kernel {built.version}", flush=True)
    run_all(built, jobs, slots, "pace")
    where = LAB.parent / "build/pace"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    paces = {}
    for job in jobs:
        if job.result:
            data = job.result.data_path.read_text()
            (where / f"{job.name}.txt").write_text(data)
            paces[job.name] = parse(SHAPERS[job.name], data)
    write_csv(where / "pace.csv", paces)
    return paces


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=NATIVE)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--qdiscs", metavar="A,B,...")
    parser.add_argument("--store", action="store_true", help="write what is measured")
    options = parser.parse_args()
    names = options.qdiscs.split(",") if options.qdiscs else list(SHAPERS)
    if not set(names) <= set(SHAPERS):
        raise DataError(f"the qdiscs are {', '.join(SHAPERS)}")
    paces = measure(options.kernel, list(SHAPERS) if options.store else names, options.jobs)
    text, good = report(paces)
    (LAB.parent / "build/pace/table.txt").write_text(text)
    print("\n" + text)
    if options.store:
        write_csv(PACE_CSV, paces)
    return 0 if good else 1
