# SPDX-License-Identifier: GPL-2.0
"""The cycles that a packet costs on this machine's processor, in user-mode Linux.

Unlike instructions they depend on the machine and on what else it does, so all is measured again
and again, each qdisc in turn: what is told is the median of these rounds. The ratio to fq_codel is
that of the same round. Half of all rounds lie no further apart than twice what stands after a ±.

Cold is that the caches hold nothing of the qdisc's: other memory is read before each call. What the
timing of a call costs is not counted, nor that it costs more then. User-mode Linux has its memory
in pages of 4 KiB, a kernel in larger ones: what is large misses the TLB more often here.
"""

import csv
import os
import re
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.measure.reading import DataError
from lab.measure.tables import format_rows
from lab.run.guests import LAB, PROGRESS, RESULTS
from lab.run.kinds import KINDS, STEADY, VARIANTS
from vm import NATIVE, Guest, VMError, prepare, versions

FLOWS = (100, 10000, 100000, 1000000)
PACKETS = ("new", "recycled")
CACHES = ("warm", "cold")
COUNT = {"warm": 10000, "cold": 200}  # packets that are measured in a round
MOST = 200000  # cycles of a call, some 0.1 ms: then somebody else had the processor
BASE = "fq_codel"
NEEDS = ["native.sh", "seed", "modules/qdisc_bench.ko"]
STORED = RESULTS / "bench/native.csv"


@dataclass(frozen=True)
class Qdisc:
    words: str
    table: str = ""  # the option that says how many flows it has room for
    most: int = 0  # of that


# No drops: 100 packets wait, and CoDel never thinks that they do so for long
QDISCS = {
    "pfifo": Qdisc("pfifo limit 20000"),
    BASE: Qdisc("fq_codel limit 20000 target 10s interval 100s", "flows", 65536),
    "cake": Qdisc("cake besteffort flows rtt 1000s memlimit 64mb"),
    "fq": Qdisc("fq limit 20000 flow_limit 20000", "buckets", 262144),
    "sfq": Qdisc("sfq limit 20000 depth 20000", "divisor", 65536),
    **{
        name: Qdisc(f"{one.words} {STEADY}", "flows" if one.most_flows else "", one.most_flows)
        for name, one in VARIANTS.items()
        if one.cycles
    },
}
MODULES = ["dummy", *(f"sch_{kind}" for kind in KINDS)]


@dataclass(frozen=True)
class Place:
    """What is measured once in each round"""

    qdisc: str
    flows: int
    packets: str  # of PACKETS
    caches: str  # of CACHES


Rounds = dict[Place, list[float]]  # cycles for enqueue and dequeue of a packet, by round


def with_room(qdisc: Qdisc, flows: int) -> str:
    """Its words where it is to have room for twice so many flows, as far as it can."""
    room = 1 << (2 * flows - 1).bit_length()
    if not qdisc.table or room <= 1024:  # nobody's default is less
        return qdisc.words
    return f"{qdisc.words} {qdisc.table} {min(room, qdisc.most)}"


def most_room(names: Sequence[str]) -> str:
    sized = [name for name in names if QDISCS[name].table]
    return ", ".join(f"{name} {QDISCS[name].most}" for name in sized)


def parse(data: str, names: Sequence[str], rounds: int) -> tuple[Rounds, int]:
    """Also how many calls were interrupted."""
    found: Rounds = {}
    interrupted = 0
    for part in re.split(r"^case ", data, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        number, name, flows, packets, caches = title.split("|")
        told = {key: int(value) for key, value in re.findall(r"^(\w+)=(\d+)$", rest, re.M)}
        if told["drops"] or not told["enqueue_calls"] or not told["dequeue_calls"]:
            raise DataError(f"{title}: packets were dropped, or all calls interrupted")
        interrupted += told["interrupted"]
        place = Place(name, int(flows), packets, caches)
        cycles = found.setdefault(place, [])
        cycles.append(
            told["enqueue_sum"] / told["enqueue_calls"]
            + told["dequeue_sum"] / told["dequeue_calls"]
        )
        if len(cycles) != int(number):
            raise DataError(f"{title}: the round before is missing")
    wanted = {Place(n, f, p, c) for n in names for f in FLOWS for p in PACKETS for c in CACHES}
    if set(found) != wanted or {len(cycles) for cycles in found.values()} != {rounds}:
        raise DataError("not the cases that were to be measured")
    return found, interrupted


@dataclass(frozen=True)
class Cost:
    cycles: float
    ratio: float  # of fq_codel's
    spread: float  # of the ratio


def cost(found: Rounds, place: Place) -> Cost:
    base = found[Place(BASE, place.flows, place.packets, place.caches)]
    ratios = [mine / its for mine, its in zip(found[place], base, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Cost(statistics.median(found[place]), middle, (high - low) / 2)


def read_instructions(path: Path) -> dict[tuple[str, int], float]:
    """By qdisc and number of flows, of what make bench stores"""
    with open(path, newline="") as file:
        return {
            (row["qdisc"], int(row["case"].split()[0])): float(row["enqueue"])
            + float(row["dequeue"])
            for row in csv.DictReader(file)
            if re.fullmatch(r"\d+ flows", row["case"])
        }


def report(found: Rounds, names: Sequence[str], instructions: dict[tuple[str, int], float]) -> str:
    tables = []
    for packets in PACKETS:
        for flows in FLOWS:
            head = ["instructions"]
            head += [f"{word}{caches}" for word in ("", "/ fq_codel, ") for caches in CACHES]
            rows = [[f"{flows} flows, {packets} packets", *head]]
            for name in names:
                each = [cost(found, Place(name, flows, packets, caches)) for caches in CACHES]
                counted = instructions.get((name, flows))
                row = [name, f"{counted:.0f}" if counted is not None else "-"]
                row += [f"{one.cycles:.0f}" for one in each]
                row += [f"{one.ratio:.2f} ±{one.spread:.2f}" for one in each]
                rows.append(row)
            tables.append(format_rows(rows))
    return "\n".join(tables)


def write_csv(path: Path, found: Rounds) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["qdisc", "flows", "packets", "caches", "cycles", "of_fq_codel", "spread", "rounds"]
        )
        for place, cycles in found.items():
            one = cost(found, place)
            each = [f"{one.cycles:.1f}", f"{one.ratio:.4f}", f"{one.spread:.4f}", len(cycles)]
            writer.writerow([place.qdisc, place.flows, place.packets, place.caches, *each])


def processor() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else os.uname().machine


def measure(names: Sequence[str], rounds: int, cold: int) -> str:
    """What the guest says of all cases."""
    built = prepare(NATIVE)
    specs = [f"{n}|{flows}|{with_room(QDISCS[n], flows)}" for flows in FLOWS for n in names]
    numbers = [rounds, COUNT["warm"], COUNT["cold"], cold, MOST]
    guest = Guest(
        built,
        mode="real",
        name="bench-native",
        job=str(LAB / "guest" / NEEDS[0]),
        args=[*map(str, numbers), *specs],
        modules=MODULES,
        needs=NEEDS,
    )
    print(f"bench, kernel {built.version}, {processor()}", flush=True)

    def show(line: str) -> None:
        if found := PROGRESS.match(line):
            print(f"{found[1]} of {found[2]} rounds done", flush=True)

    result = guest.run(show)
    if result.error or result.status:
        why = result.error or f"its job failed with status {result.status}"
        raise VMError(f"{why}; see {result.console_path}")
    where = LAB.parent / "build/bench"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    data = result.data_path.read_text()
    (where / "native.txt").write_text(data)
    text = "".join(f"{package} {version}\n" for package, version in versions(built).items())
    (where / "versions.txt").write_text(text + processor() + "\n")
    return data


def run(names: Sequence[str], rounds: int, cold: int, costs: Path, store: bool) -> int:
    """Measure and tell; the exit status."""
    names = [name for name in QDISCS if name in {BASE, *names}]
    found, interrupted = parse(measure(names, rounds, cold), names, rounds)
    text = f"cycles for enqueue and dequeue of a packet, {processor()}, {rounds} rounds; "
    text += f"cold: {cold} KiB read before each call; {interrupted} interrupted calls left out\n"
    text += "tables have room for twice the flows, but at most: " + most_room(names) + "\n\n"
    text += report(found, names, read_instructions(costs))
    where = LAB.parent / "build/bench"
    (where / "table.txt").write_text(text)
    write_csv(STORED if store else where / "native.csv", found)
    print("\n" + text)
    print(f"data: {where}")
    return 0
