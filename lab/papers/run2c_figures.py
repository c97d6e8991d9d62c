# SPDX-License-Identifier: GPL-2.0
"""Figures 4 to 14 of Avrachenkov et al. 2004, section IV, measured.

Ten senders, each behind a link of its own, and a bottleneck of 10 Mbit/s with a buffer of 100
packets. S1: links of 10 Mbit/s, a round trip of 6 ms; S2: 2 Mbit/s, 60 ms. D1: downloads, 80 %
of them Exp(4) packets, 20 % BP(13, 5000, 1.1), at a load of 0.9, which the article does not tell.
D2: 50 flows without an end beside downloads of Exp(6) packets, at a load of 0.2. 200 s each.

    s1-d1, s2-d1   figures 4 to 7 and 8 to 11
    s1-d2, s2-d2   figures 12 to 14, and the same for S2
    mixed          S1 and D1; half of the senders are adapted, the other half begin anywhere
    ...-today      each with TCP as it is today
    s1-d2-long     RuN for 800 s: do the persistent flows' shares differ, or what is on its way?
    quick          20 s of s1-d1, for the tests

TCP is as it was in ns-2: Reno without SACK, a window of 1 to 30 packets, retransmission after 1 s
and more. The threshold is the power of two that is next to 20 packets, which are 28,960 bytes.
Under run2c without `learn` the senders have run2c_isn; the others are not adapted to anything.

Response is from connect() to the last byte, in the article without the handshake. Of a flow
without an end the throughput is that of the whole run, from its first byte on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.commands.demo import SIZES
from lab.measure.numbers import Metrics, Rows, points
from lab.measure.reading import (
    PAYLOAD,
    Run,
    format_rows,
    parse_run,
    split_bulk,
)
from lab.page.looks import FREE
from lab.page.svg import new_figure, save
from lab.run.guests import SCRIPT, Job

QDISCS = {
    "droptail": "pfifo limit 100",
    "run": "run2c order learn limit 100 buffer 0",
    "run2c": "run2c no_learn threshold 32k limit 100 buffer 0",
    "run2c-learn": "run2c learn threshold 32k limit 100 buffer 0",
    "las": "las plain limit 100",
}
OURS = ("run", "run2c", "run2c-learn")
MODULES = "veth sch_htb sch_netem sch_prio cls_u32".split()
NETWORKS = {"s1": "10mbit/6", "s2": "2mbit/60"}  # a sender's link, and ms
SENDERS = 10
ROUTE = f"initcwnd 1 rto_min 1s window {30 * 1460}"
PORT = 5000  # flowgen's first one
LAST_PORT = 7049  # bulk's
PERSISTENT = 50
THRESHOLD = 20  # packets
LONG = 100
SHOWN = 40  # packets: the largest of the figures about short flows
STEP = 100  # ms
CLASSES = {"<=8": (0, 8), "<=20": (0, THRESHOLD), "21-40": (20, 40), ">100": (LONG, np.inf)}


@dataclass(frozen=True)
class Case:
    network: str
    persistent: bool = False  # D2
    today: bool = False
    adapted: int = SENDERS
    seconds: int = 200
    names: tuple[str, ...] = tuple(QDISCS)  # those that are run
    gain: tuple[float, float] | None = None  # short flows: how much faster on average, at worst

    @property
    def groups(self) -> dict[str, range]:
        """Of ports."""
        middle, end = PORT + self.adapted, PORT + SENDERS
        if middle == end:
            return {"": range(PORT, end)}
        return {"adapted": range(PORT, middle), "others": range(middle, end)}


GAIN = (10, 50)
_PAPER = {
    "s1-d1": Case("s1", gain=GAIN),
    "s2-d1": Case("s2"),
    "s1-d2": Case("s1", persistent=True),
    "s2-d2": Case("s2", persistent=True),
    "mixed": Case("s1", adapted=SENDERS // 2, names=("droptail", "run2c"), gain=GAIN),
}
CASES = {
    **_PAPER,
    **{
        f"{label}-today": Case(c.network, c.persistent, True, c.adapted, names=c.names)
        for label, c in _PAPER.items()
    },
    "s1-d2-long": Case("s1", persistent=True, seconds=800, names=("run",)),
    "quick": Case("s1", seconds=20, names=("droptail", "run2c", "run2c-learn"), gain=(4, 8)),
}


def names(case: Case, qdiscs: dict[str, str]) -> list[str]:
    """Those that are run: with what the user has added."""
    return [name for name in qdiscs if name in case.names or name not in QDISCS]


def jobs(qdiscs: dict[str, str], cases: list[str], seed: int) -> list[Job]:
    result = []
    for label in cases:
        case = CASES[label]
        size, load = ("exp(6)", 0.2) if case.persistent else (SIZES, 0.9)
        flows = f"--size {size} --load {load} --rate 1e7 --seed {seed}"
        flows += f" --duration {case.seconds} --ports {SENDERS} --wait 3600"
        bulk = f"--flows {PERSISTENT} --duration {case.seconds} --interval 10"
        links = " ".join([NETWORKS[case.network]] * SENDERS)
        last = LAST_PORT if case.adapted == SENDERS else PORT + case.adapted - 1
        for name in names(case, qdiscs):
            alone = "no_learn" not in qdiscs[name].split()
            args = [f"QDISC={qdiscs[name]}", "RTT_MS=0", f"LINKS={links}", f"FLOWGEN={flows}"]
            args += [] if case.today else ["TCP=ns2", f"ROUTE={ROUTE}"]
            args += [f"BULK={bulk}"] if case.persistent else []
            args += [] if alone else [f"ISN={PORT}-{last}"]
            modules = MODULES if alone else [*MODULES, "run2c_isn"]
            result.append(Job(f"{label}-{name}", SCRIPT, args, 10 * case.seconds, modules))
    return sorted(result, key=lambda job: -job.weight)


@dataclass(frozen=True)
class Measured:
    run: Run
    persistent: np.ndarray  # bit/s of each flow without an end

    def among(self, ports: range, least: float = 0, most: float = np.inf) -> np.ndarray:
        """Which flows are of these senders' ports, and of more packets than, up to."""
        packets = self.run.packets
        return np.isin(self.run.ports[:, 0], ports) & (packets > least) & (packets <= most)

    def response(self, chosen: np.ndarray) -> np.ndarray:
        """In ms, of those of the chosen flows that have ended."""
        times = self.run.response[chosen]
        return times[~np.isnan(times)]

    def throughput(self, chosen: np.ndarray) -> np.ndarray:
        """In bit/s."""
        run = self.run
        rates = run.packets[chosen] * PAYLOAD * 8 / run.response[chosen] * 1000
        return rates[~np.isnan(rates)]

    @property
    def uneven(self) -> float:
        """How far apart the flows without an end are, as a part of their mean."""
        return float(np.ptp(self.persistent) / self.persistent.mean())


def measured(job: str, case: Case, text: str) -> Measured:
    rates = np.empty((1, 0))
    if case.persistent:
        rates, _, text = split_bulk(job, text)
    return Measured(parse_run(job, text), rates.mean(axis=0))


def in_progress(run: Run, chosen: np.ndarray, seconds: int) -> np.ndarray:
    """How many flows are, each STEP; what failed is until the end."""
    begin = run.start[chosen]
    end = np.sort(np.nan_to_num(begin + run.response[chosen], nan=np.inf))
    time = np.arange(0, seconds * 1000, STEP)
    begun = np.searchsorted(np.sort(begin), time, side="right")
    return begun - np.searchsorted(end, time, side="right")


def statistic(values: np.ndarray, of: str, digits: int = 0) -> str:
    return f"{getattr(values, of)():.{digits}f}" if values.size else "-"


def response_rows(label: str, name: str, one: Measured) -> Iterator[list[str]]:
    case = CASES[label]
    for group, ports in case.groups.items():
        inside = one.among(ports)
        number = in_progress(one.run, inside, case.seconds)
        cells = [str(inside.sum()), statistic(number, "mean", 1), statistic(number, "max")]
        for least, most in CLASSES.values():
            times = one.response(one.among(ports, least, most))
            cells += [statistic(times, "mean", 1), statistic(times, "max")]
        failed = sum(one.run.status[i] != "ok" for i in np.flatnonzero(inside))
        yield [f"{label} {name} {group}".strip(), *cells, str(failed), str(one.run.drops)]


def throughput_rows(label: str, name: str, one: Measured) -> Iterator[list[str]]:
    case = CASES[label]
    rates = {
        f"{label} {name} {group}".strip(): one.throughput(one.among(ports, LONG))
        for group, ports in case.groups.items()
    }
    if case.persistent:
        rates = {f"{label} {name}": one.persistent}
    for what, values in rates.items():
        kbits = values / 1000
        shown = [str(kbits.size)] + [statistic(kbits, of, 1) for of in ("mean", "var")]
        shown += [statistic(kbits, of, 1) for of in ("min", "max")]
        yield [what, *shown, f"{100 * one.uneven:.2f}" if case.persistent else "-"]


def numbers(data: dict[str, str], qdiscs: dict[str, str], cases: list[str], seed: int) -> Rows:
    """Of each run and group of senders, with the curves of the figures."""
    result: Rows = {}
    for label in cases:
        for name in names(CASES[label], qdiscs):
            one = measured(f"{label}-{name}", CASES[label], data[f"{label}-{name}"])
            for group, ports in CASES[label].groups.items():
                key = (f"{label} {group}".strip(), name, seed)
                result[key] = numbers_of(CASES[label], one, ports)
    return result


def numbers_of(case: Case, one: Measured, ports: range) -> Metrics:
    """Times in ms, throughput in kbit/s."""
    run, inside = one.run, one.among(ports)
    number = in_progress(run, inside, case.seconds)
    failed = sum(run.status[i] != "ok" for i in np.flatnonzero(inside))
    values: Metrics = {"flows": inside.sum(), "failed": failed, "drops": run.drops}
    values |= {"in progress": number.mean(), "in progress, most": number.max()}
    for label, (least, most) in CLASSES.items():
        times = one.response(one.among(ports, least, most))
        if times.size:
            values |= {f"ms {label}": times.mean(), f"max ms {label}": times.max()}
    rates = one.persistent if case.persistent else one.throughput(one.among(ports, LONG))
    if rates.size:
        values |= {"kbit/s": rates.mean() / 1e3, "variance": rates.var() / 1e6}
    if case.persistent:
        values["apart %"] = 100 * one.uneven
        values |= points("persistent kbit/s", range(1, rates.size + 1), rates / 1e3)
    each = number[:: 1000 // STEP]
    values |= points("in progress", range(each.size), each)
    done = inside & ~np.isnan(run.response)
    few = done & (run.packets <= SHOWN)
    if few.any():
        size, mean, most = by_size(run.packets[few], run.response[few], fine=True)
        values |= points("ms", size, mean) | points("max ms", size, most)
    if done.any():
        size, mean, _ = by_size(run.packets[done], one.throughput(done), fine=False)
        values |= points("kbit/s", size, mean / 1e3)
    return values


def goals(label: str, runs: dict[str, Measured]) -> list[tuple[str, bool]]:
    """Those of which both sides have run."""
    case, result = CASES[label], []
    fifo = runs.get("droptail")
    if fifo and case.gain:
        group, ports = next(iter(case.groups.items()))
        for name in OURS:
            if name not in runs:
                continue
            pair = [each.response(each.among(ports, 0, THRESHOLD)) for each in (fifo, runs[name])]
            for of, least in zip(("mean", "max"), case.gain, strict=True):
                ratio = float(getattr(pair[0], of)() / getattr(pair[1], of)())
                what = f"{label}, {name}{', ' + group if group else ''}: {of} of at most"
                what += f" {THRESHOLD} packets at least {least:g} times better than droptail's"
                result.append((f"{what} ({ratio:.1f})", ratio >= least))
    if fifo and label == "mixed" and "run2c" in runs:
        others = case.groups["others"]
        pair = [each.response(each.among(others)).mean() for each in (fifo, runs["run2c"])]
        ratio = float(pair[1] / pair[0])
        what = "mixed, run2c, others: mean at most 1.25 times droptail's"
        result.append((f"{what} ({ratio:.3f})", ratio <= 1.25))
    if label in ("s1-d2", "s1-d2-long") and "run" in runs:
        apart = runs["run"].uneven
        what = f"{label}, run: persistent flows equal within 1 %, in all {case.seconds} s"
        result.append((f"{what} ({100 * apart:.2f} %)", apart <= 0.01))
    if fifo and label == "s1-d2" and "run2c" in runs:
        ratio = float(runs["run2c"].persistent.var() / fifo.persistent.var())
        what = f"{label}, run2c: variance of the persistent flows at most droptail's"
        result.append((f"{what} ({ratio:.3f})", ratio <= 1))
    return result


def report(
    data: dict[str, str], qdiscs: dict[str, str], cases: list[str], where: Path
) -> tuple[str, bool]:
    """The tables, the goals, and a picture for each setting."""
    response = [["response, ms", "flows", "in progress:", "most"]]
    for label in CLASSES:
        response[0] += [f"{label}: mean", "max"]
    response[0] += ["failed", "drops"]
    rates = [[f"kbit/s, > {LONG} packets or persistent", "flows", "mean", "variance"]]
    rates[0] += ["min", "max", "max - min, %"]
    reached, found = [], {}
    for label in cases:
        case = CASES[label]
        runs = found[label] = {
            name: measured(f"{label}-{name}", case, data[f"{label}-{name}"])
            for name in names(case, qdiscs)
        }
        for name, one in runs.items():
            response += response_rows(label, name, one)
            rates += throughput_rows(label, name, one)
        reached += goals(label, runs)
    text = format_rows(response) + "\n" + format_rows(rates) + "\n"
    text += "".join(f"{goal}: {'met' if ok else 'NOT MET'}\n" for goal, ok in reached)
    for setting in dict.fromkeys(label.removesuffix("-today") for label in cases):
        rows = [label for label in cases if label.removesuffix("-today") == setting]
        picture({label: found[label] for label in rows}, where / setting)
        text += f"picture: {where / setting}.svg\n"
    return text, all(ok for _, ok in reached)


def by_size(packets: np.ndarray, values: np.ndarray, fine: bool) -> tuple[np.ndarray, ...]:
    """Sizes, and means and maxima of the values: of each size in packets, or eight a decade."""
    whole = np.ceil(packets)
    bins = whole if fine else np.floor(np.log10(whole) * 8)
    groups = [bins == b for b in np.unique(bins)]
    return (
        np.array([whole[g].mean() for g in groups]),
        np.array([values[g].mean() for g in groups]),
        np.array([values[g].max() for g in groups]),
    )


def draw(axes: np.ndarray, case: Case, one: Measured, ports: range, style: dict) -> None:
    """Figures 4 to 7, or 12 to 14, for the flows of these ports under one qdisc."""
    run, inside = one.run, one.among(ports)
    number = in_progress(run, inside, case.seconds)
    axes[0].plot(np.arange(number.size) * STEP / 1000, number, linewidth=0.8, **style)
    done = inside & ~np.isnan(run.response)
    few = done & (run.packets <= SHOWN)
    size, mean, most = by_size(run.packets[few], run.response[few], fine=True)
    axes[1].plot(size, mean, "o-", markersize=3, linewidth=1, **style)
    axes[2].plot(size, most, "o-", markersize=3, linewidth=1, **style)
    if case.persistent:
        axes[3].plot(one.persistent / 1000, "o", markersize=3, **style)
    else:
        size, mean, _ = by_size(run.packets[done], one.throughput(done), fine=False)
        axes[3].plot(size, mean / 1000, "o-", markersize=3, linewidth=1, **style)


def picture(found: dict[str, dict[str, Measured]], path: Path) -> None:
    """A row for each case."""
    figure, axes = new_figure(17, 3.6 * len(found), len(found), 4)
    for row, (label, runs) in zip(np.atleast_2d(axes), found.items(), strict=True):
        case = CASES[label]
        lines = [(name, one, group) for group in case.groups for name, one in runs.items()]
        for i, (name, one, group) in enumerate(lines):
            style = {"color": FREE[i % len(FREE)].colour, "label": f"{name} {group}".strip()}
            draw(row, case, one, case.groups[group], style)
        row[0].set(xlabel="s", ylabel="flows in progress", yscale="symlog")
        row[0].set_title(f"{label}, {'TCP of today' if case.today else 'TCP of ns-2'}")
        for axis, what in ((row[1], "mean"), (row[2], "longest")):
            axis.set(xlabel="flow size, packets", ylabel=f"{what} response, ms", yscale="log")
        if case.persistent:
            row[3].set(xlabel="persistent flow", ylabel="throughput, kbit/s", ylim=0)
        else:
            row[3].set(xlabel="flow size, packets", ylabel="mean throughput, kbit/s")
            row[3].set(xscale="log", yscale="log")
        for axis in row:
            axis.grid(alpha=0.3)
        row[1].legend(fontsize=7, frameon=False, loc="lower right")
    save(figure, path)
