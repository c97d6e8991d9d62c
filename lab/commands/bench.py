# SPDX-License-Identifier: GPL-2.0
"""What a packet costs in our kinds and in others, in instructions, in virtual machines.

The time of those machines is the number of instructions executed, so two runs agree to the digit.

With --check only what is in ratios.csv of docs/results/bench is measured: ours may not have become
dearer, as a part of fq_codel's cost in the same case, by more than 3 %. Where one has on purpose,
or has become cheaper, --store writes the ratios anew, and all that is measured to costs.csv and
memory.csv there.

With --native it is cycles of this machine's processor instead: bench_native.py. --store writes them
to native.csv.
"""

import argparse
import csv
import math
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.commands import bench_native
from lab.measure.reading import DataError
from lab.measure.tables import format_rows
from lab.run.guests import LAB, RESULTS, Job, run_all
from lab.run.job import modules_of_kind
from lab.run.kinds import STEADY, VARIANTS
from lab.run.qdiscs import OURS
from vm import prepare, versions

# By name: for the steady cases, where nothing is dropped, and what is full with 100 packets.
NO_CODEL = "target 10s interval 100s"
OTHERS = {
    "pfifo": ("pfifo limit 20000", "pfifo limit 100"),
    "prio": ("prio", "prio"),
    "fq_codel": (f"fq_codel limit 20000 {NO_CODEL}", f"fq_codel limit 100 {NO_CODEL}"),
    "cake": (
        "cake besteffort flows rtt 1000s memlimit 64mb",
        "cake besteffort flows rtt 1000s memlimit 230kb",
    ),
    "fq": ("fq limit 20000 flow_limit 20000", "fq limit 100"),
    "sfq": ("sfq limit 20000 depth 20000", "sfq limit 100"),
    "hhf": ("hhf limit 20000", "hhf limit 100"),
}
QDISCS = OTHERS | {
    name: (f"{one.words} {STEADY}", f"{one.words} limit 100") for name, one in VARIANTS.items()
}
MEMORY = {name: name for name in OTHERS} | {"cake": "cake besteffort flows"}
MEMORY |= {name: one.memory or one.words for name, one in VARIANTS.items()}
# Those that shape, to a rate at which none waits: a packet has the link for 84 instructions, and
# from one dequeue to the next are more. HTB has its own bursts, with which it costs least.
FULL_RATE = "100gbit"
HTB = "htb-fq_codel"


def _under_htb(leaf: str) -> str:
    of_class = f"class add dev @ parent 1: classid 1:1 htb rate {FULL_RATE} quantum 1514"
    return f"htb default 1+{of_class}+qdisc add dev @ parent 1:1 {leaf}"


def _shaped() -> dict[str, list[str]]:
    """By name: steady, full, and for its memory."""
    result = {HTB: [_under_htb(words) for words in (*OTHERS["fq_codel"], "fq_codel")]}
    cake = (*QDISCS["cake"], MEMORY["cake"])
    result["cake-rate"] = [f"{words} bandwidth {FULL_RATE}" for words in cake]
    for kind in OURS:
        words = f"{kind} rate {FULL_RATE}"
        result[f"{kind}-rate"] = [f"{words} {STEADY}", f"{words} limit 100", words]
    return result


SHAPED = _shaped()
QDISCS |= {name: (steady, full) for name, (steady, full, _) in SHAPED.items()}
MEMORY |= {name: memory for name, (_, _, memory) in SHAPED.items()}
NEEDS = ["bench.sh", "seed", "modules/qdisc_bench.ko"]
COUNT = 10000
# What they may cost at most of what fq_codel does, where a hash is not known
GOALS = {name: one.goal for name, one in VARIANTS.items() if one.goal}
WORST = 3000  # instructions of one operation of theirs
RATIOS = RESULTS / "bench/ratios.csv"
COSTS = RESULTS / "bench/costs.csv"
MEMORY_CSV = RESULTS / "bench/memory.csv"
FIRST = "100 flows"  # the case of which a ratio is stored where there was none
TOLERANCE = 0.03
# Of those that shape: what las may cost at most of another, in that case
SHAPED_GOALS = {HTB: 0.5, "cake-rate": 0.6}


@dataclass(frozen=True)
class Case:
    name: str
    words: str
    overload: bool = False


def _cases() -> list[Case]:
    cases = []
    for known in ("", " known"):
        for flows in (1, 100, 10000, 100000, 1000000):
            words = f"flows={flows} queued=100 count={COUNT}{known}"
            cases.append(Case(f"{flows} flows{known}", words))
    for queued in (1, 1000, 10000):
        cases.append(
            Case(f"100 flows, {queued} queued", f"flows=100 queued={queued} count={COUNT}")
        )
    cases.append(Case("100 flows, IPv6", f"flows=100 queued=100 count={COUNT} ipv6"))
    cases.append(Case("100 flows, TCP", f"flows=100 queued=100 count={COUNT} tcp"))
    for hosts in (100, 10000):
        words = f"flows=10000 hosts={hosts} queued=100 count={COUNT}"
        cases.append(Case(f"10000 flows, {hosts} hosts", words))
    for flows in (100, 10000):
        words = f"flows={flows} queued=100 count={COUNT} drop"
        cases.append(Case(f"{flows} flows, overload", words, overload=True))
    flood = f"new count=40000 queued=100;new count={COUNT}"
    cases.append(Case("SYN flood", f"{flood} queued=100"))
    cases.append(Case("SYN flood, overload", f"{flood} drop", overload=True))
    cases.append(Case("GSO of 44 segments", "flows=100 segs=44 count=300"))
    return cases


CASES = _cases()


@dataclass(frozen=True)
class Cost:
    """Of one case in one qdisc, instructions for a packet."""

    enqueue: float
    dequeue: float
    enqueue_max: int
    dequeue_max: int
    drops: int

    @property
    def both(self) -> float:
        return self.enqueue + self.dequeue


def parse(
    name: str, data: str, cases: list[Case] = CASES
) -> tuple[dict[str, Cost], dict[int, int]]:
    """The costs by case, and the bytes by flows that have passed."""
    costs = {}
    memory_lines = re.findall(r"^memory flows=(\d+) bytes=(-?\d+)$", data, re.MULTILINE)
    memory = {int(flows): int(size) for flows, size in memory_lines}
    for part in re.split(r"^case ", data, flags=re.MULTILINE)[1:]:
        case, _, rest = part.partition("\n")
        found = {key: int(value) for key, value in re.findall(r"^(\w+)=(\d+)$", rest, re.M)}
        if abs(found.get("khz", 0) - 1000000) > 1:  # which the kernel has measured
            raise DataError(f"{name}, {case}: the clock does not count instructions")
        packets = found["enqueue_calls"]
        costs[case] = Cost(
            found["enqueue_sum"] / packets,
            found["dequeue_sum"] / packets,
            found["enqueue_max"],
            found["dequeue_max"],
            found["drops"],
        )
    if set(costs) != {case.name for case in cases} or not memory:
        raise DataError(f"{name}: not the cases that were to be measured")
    return costs, memory


def table(costs: dict[str, dict[str, Cost]], value: str, ratio: bool = False) -> str:
    rows = [["", *costs]]
    for case in CASES:
        cells = [getattr(costs[name][case.name], value) for name in costs]
        if ratio:
            base = getattr(costs["fq_codel"][case.name], value)
            rows.append([case.name, *(f"{cell / base:.2f}" if base else "-" for cell in cells)])
        else:
            rows.append([case.name, *(f"{cell:.0f}" for cell in cells)])
    return format_rows(rows)


def report(costs: dict[str, dict[str, Cost]], memory: dict[str, dict[int, int]]) -> str:
    text = "enqueue and dequeue of a packet, instructions\n\n" + table(costs, "both")
    if "fq_codel" in costs:
        text += "\n\nthe same, of fq_codel's\n\n" + table(costs, "both", ratio=True)
    text += "\n\nthe dearest enqueue\n\n" + table(costs, "enqueue_max")
    text += "\n\nthe dearest dequeue\n\n" + table(costs, "dequeue_max")
    flows = list(next(iter(memory.values())))
    rows = [["memory, KiB", *(f"{n} flows passed" if n else "at rest" for n in flows)]]
    rows += [[name, *(f"{sizes[n] / 1024:.1f}" for n in flows)] for name, sizes in memory.items()]
    return text + "\n\n" + format_rows(rows)


def goals(costs: dict[str, dict[str, Cost]]) -> tuple[str, bool]:
    """Whether they are met, but by GSO packets: to split one is the work of many packets."""
    text, reached = "", True
    cases = [case for case in CASES if "segs=" not in case.words]
    for name in [name for name in GOALS if {name, "fq_codel"} <= set(costs)]:
        found = [costs[name][case.name] for case in cases]
        worst = max(max(cost.enqueue_max, cost.dequeue_max) for cost in found)
        ratio = {
            case.name: cost.both / costs["fq_codel"][case.name].both
            for case, cost in zip(cases, found, strict=True)
            if "known" not in case.words
        }
        dear = [f"{case}: {value:.2f}" for case, value in ratio.items() if value > GOALS[name]]
        ok = not dear and worst < WORST
        reached &= ok
        text += f"{name}: at most {GOALS[name]:g} of fq_codel's where a hash is not known"
        text += f" ({max(ratio.values()):.2f}), no operation of {WORST} ({worst}): "
        text += "met\n" if ok else "NOT MET" + ", ".join(["", *dear]) + "\n"
    return text, reached


def shaped_goals(costs: dict[str, dict[str, Cost]]) -> tuple[str, bool]:
    text, reached = "", True
    if "las-rate" not in costs:
        return text, reached
    for name in [name for name in SHAPED_GOALS if name in costs]:
        part = costs["las-rate"][FIRST].both / costs[name][FIRST].both
        ok = part <= SHAPED_GOALS[name]
        reached &= ok
        text += f"las-rate: at most {SHAPED_GOALS[name]:g} of {name}'s with {FIRST} ({part:.3f}): "
        text += "met\n" if ok else "NOT MET\n"
    return text, reached


def base_of(name: str) -> str:
    """Of whose cost the one of a qdisc is a part"""
    return HTB if name in SHAPED else "fq_codel"


def write_csv(path: Path, costs: dict[str, dict[str, Cost]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["qdisc", "case", "enqueue", "dequeue", "enqueue_max", "dequeue_max", "drops"]
        )
        for name, by_case in costs.items():
            for case, cost in by_case.items():
                each = [f"{cost.enqueue:.2f}", f"{cost.dequeue:.2f}"]
                each += [cost.enqueue_max, cost.dequeue_max, cost.drops]
                writer.writerow([name, case, *each])


def write_memory(memory: dict[str, dict[int, int]]) -> None:
    """By qdisc and how many flows have passed."""
    with open(MEMORY_CSV, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["qdisc", "flows", "bytes"])
        for name, sizes in memory.items():
            writer.writerows([name, flows, size] for flows, size in sizes.items())


Ratios = dict[tuple[str, str], float]  # of a qdisc in a case


def read_ratios() -> Ratios:
    with open(RATIOS, newline="") as file:
        return {(row["qdisc"], row["case"]): float(row["ratio"]) for row in csv.DictReader(file)}


def write_ratios(ratios: Ratios) -> None:
    with open(RATIOS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["qdisc", "case", "ratio"])
        writer.writerows([*key, f"{ratio:.4f}"] for key, ratio in ratios.items())


def compare(stored: Ratios, now: Ratios) -> tuple[str, bool]:
    """A table, and whether nothing has become dearer."""
    rows = [["of fq_codel's, or with a rate of HTB's with it", "stored", "now", "change %", ""]]
    good = True
    for key, before in stored.items():
        change = now[key] / before - 1
        verdict = "DEARER" if change > TOLERANCE else "cheaper" if change < -TOLERANCE else ""
        good &= change <= TOLERANCE
        shown = [f"{before:.4f}", f"{now[key]:.4f}", f"{100 * change:+.1f}"]
        rows.append([", ".join(key), *shown, verdict])
    return format_rows(rows), good


def measure(
    kernel: str, names: list[str], cases: list[Case], slots: int
) -> tuple[dict[str, dict[str, Cost]], dict[str, dict[int, int]]]:
    """Each case in each qdisc; what the machines said is kept in build/bench."""
    built = prepare(kernel)
    jobs = []
    for name in names:
        steady, full = QDISCS[name]
        specs = [f"{c.name}|{full if c.overload else steady}|{c.words}" for c in cases]
        weight = 4.0 if name.startswith("cake") else 1.0
        modules = ["dummy", *modules_of_kind(MEMORY[name])]
        modules += modules_of_kind("fq_codel") if name == HTB else []
        jobs.append(Job(name, NEEDS[0], [MEMORY[name], *specs], modules, NEEDS, weight))
    jobs.sort(key=lambda job: -job.weight)
    print(f"bench, kernel {built.version}", flush=True)
    run_all(built, jobs, slots, "bench")

    where = LAB.parent / "build/bench"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    costs, memory = {}, {}
    data = {job.name: job.result.data_path.read_text() for job in jobs if job.result}
    for name in names:
        (where / f"{name}.txt").write_text(data[name])
        costs[name], memory[name] = parse(name, data[name], cases)
    write_csv(where / "costs.csv", costs)
    text = "".join(f"{package} {version}\n" for package, version in versions(built).items())
    (where / "versions.txt").write_text(text)
    return costs, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--qdiscs", metavar="A,B,...")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="compare with the stored ratios")
    how.add_argument("--store", action="store_true", help="measure and store those ratios")
    parser.add_argument("--native", action="store_true", help="cycles, and of these:")
    parser.add_argument("--rounds", type=int, default=9, help="how often all is measured")
    parser.add_argument(
        "--cold",
        type=int,
        default=4096,
        metavar="KIB",
        help="read before a call that is to find cold caches: more than they have, up to 262144",
    )
    options = parser.parse_args()
    known = list(bench_native.QDISCS if options.native else QDISCS)
    names = options.qdiscs.split(",") if options.qdiscs else known
    if not set(names) <= set(known):
        raise DataError(f"the qdiscs are {', '.join(known)}")
    if options.native:
        if options.check or options.rounds < 2:
            raise DataError("cycles are not checked, and two rounds are the least")
        return bench_native.run(names, options.rounds, options.cold, COSTS, options.store)
    cases = CASES
    stored = read_ratios()
    if options.store:
        names = list(QDISCS)
        have = {name for name, _ in stored}
        wanted = [*VARIANTS, *(f"{kind}-rate" for kind in OURS)]
        stored |= {(name, FIRST): math.nan for name in wanted if name not in have}
    if options.check:
        names = list(dict.fromkeys(qdisc for qdisc, _ in stored))
        names = [*dict.fromkeys(map(base_of, names)), *names]
        cases = [case for case in CASES if case.name in {name for _, name in stored}]
    costs, memory = measure(options.kernel, names, cases, options.jobs)
    where = LAB.parent / "build/bench"
    if options.check or options.store:
        now = {(q, c): costs[q][c].both / costs[base_of(q)][c].both for q, c in stored}
        text, good = compare(stored, now)
        print("\n" + text + "\n")
        if options.store:
            write_ratios(now)
            write_csv(COSTS, costs)
            write_memory(memory)
        elif not good:
            print(f"bench: dearer by more than {TOLERANCE:.0%}; --store if that is meant")
        return 0 if good or options.store else 1
    told = [goals(costs), shaped_goals(costs)]
    reached = all(good for _, good in told)
    text = report(costs, memory) + "\n" + "".join(text for text, _ in told)
    (where / "table.txt").write_text(text)
    print("\n" + text)
    print((where / "versions.txt").read_text() + f"data: {where}")
    return 0 if reached else 1
