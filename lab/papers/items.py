# SPDX-License-Identifier: GPL-2.0
"""Every figure and table of the papers that is measured or calculated here, and from what.

`paper` is what an article says in its text or tables, nothing is read off a picture. Where it says
"more than" or "at most", `bound` is ">=" or "<=".
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lab.measure.numbers import AT, LOSSY, Rows

Results = dict[str, Rows]  # by experiment; "theory" is one
THEORY = "theory"
POLICIES = ("fq", "lqf", "sqf")


@dataclass(frozen=True)
class At:
    """A number of an experiment: a value for each seed."""

    experiment: str
    case: str
    qdisc: str
    metric: str

    def values(self, results: Results) -> list[float]:
        rows = results.get(self.experiment, {})
        found = [
            values[self.metric]
            for (case, qdisc, _), values in rows.items()
            if (case, qdisc) == (self.case, self.qdisc) and self.metric in values
        ]
        return [value for value in found if not math.isnan(value)]

    def curve(self, results: Results) -> list[tuple[float, float]]:
        """Its points, of the first seed."""
        rows, begin = results.get(self.experiment, {}), self.metric + AT
        for (case, qdisc, _), values in rows.items():
            if (case, qdisc) == (self.case, self.qdisc):
                pairs = values.items()
                return [(float(n[len(begin) :]), y) for n, y in pairs if n.startswith(begin)]
        return []


@dataclass(frozen=True)
class Of:
    """What follows from several numbers."""

    what: Callable[..., float]
    parts: tuple["At | Of", ...]

    def values(self, results: Results) -> list[float]:
        found = [part.values(results) for part in self.parts]
        if not all(found) or len({len(each) for each in found}) > 1:
            return []
        return [float(self.what(*each)) for each in zip(*found, strict=True)]


def ratio(above: At, below: At) -> Of:
    return Of(lambda a, b: a / b if b else math.nan, (above, below))


def percent(part: At, whole: At) -> Of:
    return Of(lambda a, b: 100 * a / b if b else math.nan, (part, whole))


def mean(*parts: At) -> Of:
    return Of(lambda *values: np.mean(values), parts)


def greatest(*parts: At | Of) -> Of:
    return Of(lambda *values: max(values), parts)


def total(*parts: At) -> Of:
    return Of(lambda *values: sum(values), parts)


@dataclass(frozen=True)
class Benefit:
    """Percent of flows whose size gets through sooner, on average, by the curves of two runs."""

    mine: At
    other: At

    def values(self, results: Results) -> list[float]:
        pair = [dict(at.curve(results)) for at in (self.mine, self.other)]
        count = dict(replace(self.mine, metric="flows by size").curve(results))
        sizes = sorted(set(pair[0]) & set(pair[1]) & set(count))
        total = sum(count[x] for x in sizes)
        sooner = sum(count[x] for x in sizes if pair[0][x] < pair[1][x])
        return [100 * sooner / total] if total else []


@dataclass(frozen=True)
class Least:
    """The least part of another curve that a curve has, of sizes up to `most`."""

    mine: At
    other: At
    most: float = math.inf

    def values(self, results: Results) -> list[float]:
        mine, other = (dict(at.curve(results)) for at in (self.mine, self.other))
        sizes = [x for x in mine if x <= self.most and x in other]
        return [min(mine[x] / other[x] for x in sizes)] if sizes else []


Value = At | Of | Benefit | Least


@dataclass(frozen=True)
class Row:
    what: str
    measured: Value | None = None  # None: of the models only
    paper: float | None = None
    bound: str = ""  # ">=" or "<=": the paper gives that
    model: Value | None = None
    scale: float | None = None  # what deviations are a part of, where the paper's number is small


@dataclass(frozen=True)
class Line:
    label: str
    points: At | tuple[tuple[float, At], ...]  # a curve, or numbers by x
    model: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    paper: tuple[tuple[str, float, float], ...] = ()  # what, x and y
    levels: tuple[tuple[str, float], ...] = ()  # what, and y, of the paper
    log: str = ""  # of "x", "y" and "xy"


@dataclass(frozen=True)
class Item:
    key: str
    title: str
    experiment: str | None  # None: of the models only
    rows: tuple[Row, ...] = ()
    panels: tuple[Panel, ...] = ()
    columns: int = 2  # of panels
    reason: str = ""  # what is not here, and why


def theory(figure: str, what: str, metric: str) -> At:
    return At(THEORY, figure, what, metric)


# run2c-avrachenkov2004

RUN2C = ("droptail", "run", "run2c", "run2c-learn", "las")
MODEL_OF = {"droptail": "PS", "run": "LAS", "run2c": "PS+PS"}
TCPS = {"": "TCP of ns-2", "-today": "TCP of today"}


def run2c(case: str, qdisc: str, metric: str) -> At:
    return At("run2c", case, qdisc, metric)


def run2c_panels(
    case: str, metric: str, x: str, y: str, model: str = "", log: str = "", paper: tuple = ()
) -> tuple[Panel, ...]:
    panels = []
    for end, tcp in TCPS.items():
        lines = [Line(name, run2c(case + end, name, metric)) for name in RUN2C]
        whats = ("LAS",) if model == "run2c-d2" else tuple(MODEL_OF.values())
        if model:
            lines += [Line(f"model, {w}", theory(model, w, metric), True) for w in whats]
        panels.append(Panel(tcp, x, y, tuple(lines), () if end else paper, log=log))
    return tuple(panels)


def by_kind(case: str, what: str, metric: str, model: str = "") -> tuple[Row, ...]:
    rows = []
    for end, tcp in TCPS.items():
        for name in RUN2C:
            known = theory(model, MODEL_OF[name], metric) if name in MODEL_OF else None
            use = known if model and not end else None
            rows.append(Row(f"{what}, {name}, {tcp}", run2c(case + end, name, metric), model=use))
    return tuple(rows)


def least(case: str, name: str, metric: str, most: float = math.inf) -> Least:
    """By size, what droptail has of another's time, or another of its throughput."""
    pair = run2c(case, "droptail", metric), run2c(case, name, metric)
    return Least(*(pair if metric == "ms" else reversed(pair)), most)


def gains(case: str, metric: str, least: float | None) -> tuple[Row, ...]:
    """Of those that the article has, how much better than droptail."""
    return tuple(
        Row(
            f"droptail / {name}: {metric}",
            ratio(run2c(case, "droptail", metric), run2c(case, name, metric)),
            least,
            ">=" if least else "",
        )
        for name in ("run", "run2c")
    )


PACKETS = "flow size, packets"
CALCULATED = "Calculated, as in the article"


def run2c_items() -> Iterator[Item]:
    lines = tuple(
        Line(name, theory("run2c-1", name, "E[T]"), True) for name in ("PS", "LAS", "PS+PS")
    )
    what = theory("run2c-1", "PS+PS", "mean")
    yield Item(
        "run2c-1",
        "Figure 1: mean response of PS+PS by its threshold, BP(13, 5000, 1.1)",
        None,
        (
            Row("mean size, packets", None, 64, model=what),
            Row("best threshold, packets", None, 200, model=replace(what, metric="best")),
            Row("gain over PS at the best, %", model=replace(what, metric="gain %")),
            Row("gain of LAS over PS, %", model=theory("run2c-1", "LAS", "gain %")),
        ),
        (Panel("load 0.8", "threshold, packets", "E[T], packets' times", lines, log="x"),),
        reason=f"{CALCULATED}. The article does not tell the load: here it is 0.8.",
    )
    names = ("PS", "LAS", "PS+PS")
    lines = tuple(Line(name, theory("run2c-2", name, "T"), True) for name in names)
    limits = (theory("run2c-2", name, "slowdown, most") for name in names)
    yield Item(
        "run2c-2",
        "Figure 2: response by size, BP(13, 5000, 1.1), threshold of PS+PS 200",
        None,
        tuple(
            Row(f"limit of slowdown, {name}, 1/(1-0.8)", None, 5, model=limit)
            for name, limit in zip(names, limits, strict=True)
        ),
        (Panel("load 0.8", PACKETS, "E[T(x)], packets' times", lines),),
        reason=f"{CALCULATED}. It tells neither the load nor the threshold: here they are "
        "0.8 and 200, which its text has. The paper's column is its 1/(1-load).",
    )
    for setting, first in (("s1", 4), ("s2", 8)):
        case, model = f"{setting}-d1", f"run2c-{setting}"
        where = f"{setting.upper()}, D1"
        yield Item(
            f"run2c-{first}",
            f"Figure {first}: flows in progress, {where}",
            "run2c",
            by_kind(case, "mean", "in progress", model),
            run2c_panels(case, "in progress", "time, s", "flows", log="y"),
        )
        yield Item(
            f"run2c-{first + 1}",
            f"Figure {first + 1}: mean response of short flows, {where}",
            "run2c",
            (
                *gains(case, "ms <=20", 10 if setting == "s1" else None),
                *(
                    Row(
                        f"droptail / {name}: ms, least of the sizes <=20",
                        least(case, name, "ms", 20),
                        10 if setting == "s1" else None,
                        ">=" if setting == "s1" else "",
                    )
                    for name in ("run", "run2c")
                ),
                *by_kind(case, "ms, at most 20 packets", "ms <=20"),
            ),
            run2c_panels(case, "ms", PACKETS, "mean response, ms", model, "y"),
        )
        seven = {"droptail": 200000, "run": 100, "run2c": 100} if setting == "s1" else {}
        yield Item(
            f"run2c-{first + 2}",
            f"Figure {first + 2}: longest response of short flows, {where}",
            "run2c",
            (
                *(
                    Row(f"ms, 7 packets, {name}", run2c(case, name, "max ms@7"), number)
                    for name, number in seven.items()
                ),
                *gains(case, "max ms@7", 1000 if setting == "s1" else None),
                *by_kind(case, "ms, at most 20 packets", "max ms <=20"),
            ),
            run2c_panels(
                case,
                "max ms",
                PACKETS,
                "longest response, ms",
                log="y",
                paper=tuple((name, 7.0, float(number)) for name, number in seven.items()),
            ),
        )
        yield Item(
            f"run2c-{first + 3}",
            f"Figure {first + 3}: mean throughput by size, {where}",
            "run2c",
            (
                *(
                    Row(
                        f"{name} / droptail: kbit/s, least of all sizes",
                        least(case, name, "kbit/s"),
                        1 if (setting, name) != ("s2", "run") else None,
                        ">=" if (setting, name) != ("s2", "run") else "",
                        Least(theory(model, of, "kbit/s"), theory(model, "PS", "kbit/s")),
                    )
                    for name, of in (("run", "LAS"), ("run2c", "PS+PS"))
                ),
                *by_kind(case, "kbit/s, over 100 packets", "kbit/s >100"),
            ),
            run2c_panels(case, "kbit/s", PACKETS, "throughput, kbit/s", model, "xy"),
        )
    yield Item(
        "run2c-12",
        "Figure 12: short flows in progress, S1, D2",
        "run2c",
        (
            *gains("s1-d2", "in progress", 100),
            *by_kind("s1-d2", "mean", "in progress"),
        ),
        run2c_panels("s1-d2", "in progress", "time, s", "short flows", log="y"),
    )
    yield Item(
        "run2c-13",
        "Figure 13: mean response of short flows, S1, D2",
        "run2c",
        by_kind("s1-d2", "ms, at most 20 packets", "ms <=20"),
        run2c_panels("s1-d2", "ms", PACKETS, "mean response, ms", "run2c-d2", "y"),
    )
    variance = ratio(
        run2c("s1-d2", "droptail", "bulk variance"), run2c("s1-d2", "run2c", "bulk variance")
    )
    share = theory("run2c-d2", "PS", "kbit/s")
    fifo = run2c("s1-d2", "droptail", "bulk kbit/s")
    apart = run2c("s1-d2", "run", "bulk apart %")
    yield Item(
        "run2c-14",
        "Figure 14: throughput of the persistent flows, S1, D2",
        "run2c",
        (
            Row("variance, droptail / run2c", variance, 3),
            Row("run: most - least, % of the mean", apart, 0, scale=10),
            *(
                Row(
                    f"kbit/s, {name} / droptail",
                    ratio(run2c("s1-d2", name, "bulk kbit/s"), fifo),
                    1,
                    bound,
                )
                for name, bound in (("run", "<="), ("run2c", ">="))
            ),
            *(
                Row(f"kbit/s, {name}", run2c("s1-d2", name, "bulk kbit/s"), model=share)
                for name in RUN2C
            ),
            *(Row(f"variance, {name}", run2c("s1-d2", name, "bulk variance")) for name in RUN2C),
        ),
        run2c_panels("s1-d2", "bulk kbit/s", "flow", "throughput, kbit/s"),
    )


# las-rai2004


def las(case: str, qdisc: str, metric: str) -> At:
    return At("las-rai2004", case, qdisc, metric)


WEB_CASES = {"ns2": "TCP of ns-2", "today": "TCP of today"}
WEB_KINDS = ("droptail", "plain", "las")


def las_items() -> Iterator[Item]:
    panels, rows = [], []
    for case, tcp in WEB_CASES.items():
        lines = [Line(name, las(case, name, "ms by size")) for name in WEB_KINDS]
        lines += [Line(f"model, {w}", theory("las-4", w, "ms"), True) for w in ("PS", "LAS")]
        panels.append(Panel(tcp, PACKETS, "mean response, ms", tuple(lines), log="xy"))
        for name in WEB_KINDS[1:]:
            better = Benefit(las(case, name, "ms by size"), las(case, "droptail", "ms by size"))
            bound = (99, ">=") if (name, case) == ("plain", "ns2") else (None, "")
            rows.append(Row(f"flows that gain by {name}, %, {tcp}", better, *bound))
        for size in ("<=8", ">100"):
            rows += [
                Row(f"ms, {size} packets, {name}, {tcp}", las(case, name, f"ms {size}"))
                for name in WEB_KINDS
            ]
    yield Item(
        "las-4",
        "Figure 4: mean transmission time by size, web traffic at a load of 0.7",
        "las-rai2004",
        tuple(rows),
        tuple(panels),
    )
    # Of the text: loss, flows with loss of about 47,800, such of up to 40 packets, all in percent
    told = {"droptail": (3.9, 12212 / 478, 80), "plain": (3.3, 6763 / 478, 0)}
    rows, panels = [], []
    for case, tcp in (*WEB_CASES.items(), ("ns2-25", "TCP of ns-2, a buffer of 25")):
        for name in WEB_KINDS:
            numbers = (None,) * 3 if case == "today" else told.get(name, (None,) * 3)
            lossy = las(case, name, "flows with loss")
            values = {
                "loss %": las(case, name, "loss %"),
                "flows with loss %": percent(lossy, las(case, name, "flows")),
                "of them <=40 packets %": percent(
                    las(case, name, f"flows with loss <={LOSSY}"), lossy
                ),
            }
            for (what, value), number in zip(values.items(), numbers, strict=True):
                scale = 10 if number == 0 else None
                rows.append(Row(f"{what}, {name}, {tcp}", value, number, scale=scale))
        lines = [Line(name, las(case, name, "CDF")) for name in WEB_KINDS]
        panels.append(Panel(tcp, PACKETS, "CDF of flows with loss", tuple(lines), log="x"))
    yield Item(
        "las-5",
        "Figure 5 and section 5.2: flows that experience loss, web traffic at a load of 0.7",
        "las-rai2004",
        tuple(rows),
        tuple(panels),
        3,
    )
    rows, panels = [], []
    for case, tcp in (("reno", "TCP of 2004"), ("linux", "TCP of today")):
        names = ("plain", "log-0.5", "log-1")
        lines = [Line(name, At("las-log", case, name, "packets/s")) for name in names]
        levels = (("log-0.5", 90.0), ("log-1", 120.0)) if case == "reno" else ()
        panels.append(Panel(tcp, "time, s", "packets/s", tuple(lines), levels=levels))
        for name, number in (("log-0.5", 90), ("log-1", 120)):
            at = At("las-log", case, name, "packets/s")
            rows.append(Row(f"packets/s, {name}, {tcp}", at, number if case == "reno" else None))
        at = At("las-log", case, "plain", "packets/s, last fifth")
        zero = 0 if case == "reno" else None
        rows.append(Row(f"packets/s at the end, plain, {tcp}", at, zero, scale=90))
    yield Item(
        "las-6",
        "Figure 6: throughput of a long flow beside web traffic, LAS and LAS-log(k)",
        "las-log",
        tuple(rows),
        tuple(panels),
    )


# sift-psounis2004

KINDS = {"short": "short flows", "long": "long flows", "all": "all flows"}
LOADS = (0.6, 0.7, 0.9, 1.2, 1.5)
TOLD = {0.9: 50, 1.2: 60}  # by load: packets that the high queue never has more of
# Table 1: of what, sampled flows, average and most
SAMPLED = {
    "tail": ("DropTail", 797, 1504),
    "rtts": ("three round trips", 812, 1537),
    "rates": ("turtles and cheetahs", 755, 1314),
    "slow": ("ten slow links", 806, 1510),
}


def sift(case: str, load: float, qdisc: str, group: str, kind: str) -> At:
    """Of all senders, or of a group."""
    return At("sift", f"{case} {load:g}", qdisc, f"{group} ms {kind}".removeprefix("all "))


def sift_panel(case: str, group: str, kind: str) -> Panel:
    names = ("fifo", "sift", "sift-gbw") if case == "red" else ("fifo", "sift")
    lines = [
        Line(name, tuple((load, sift(case, load, name, group, kind)) for load in LOADS))
        for name in names
    ]
    lines += [Line(f"model, {w}", theory("sift-ns", w, kind), True) for w in ("ps", "sift-ps")]
    return Panel(KINDS[kind], "load", "mean delay, ms", tuple(lines), log="y")


# What all flows gain at least, by the text
LEAST_GAIN = {"red": 2, "rtts": 1, "rates": 1}


def best(case: str, group: str, kind: str, number: float, bound: str = "") -> Row:
    """What is gained at the load where it is most."""
    pairs = [
        ratio(*(sift(case, load, name, group, kind) for name in ("fifo", "sift"))) for load in LOADS
    ]
    return Row(f"fifo / sift at best, {KINDS[kind]}", greatest(*pairs), number, bound)


def sift_rows(case: str, group: str, kinds: tuple[str, ...]) -> tuple[Row, ...]:
    rows = []
    for kind in kinds:
        for load in LOADS:
            pair = [sift(case, load, name, group, kind) for name in ("fifo", "sift")]
            bound = LEAST_GAIN.get(case) if kind == "all" else None
            what = f"fifo / sift, {KINDS[kind]}, load {load:g}"
            rows.append(Row(what, ratio(*pair), bound, ">=" if bound else ""))
    return tuple(rows)


def sift_items() -> Iterator[Item]:
    names = [f"T_s = {n}" for n in (1, 2, 5, 10, 100)]
    lines = tuple(Line(name, theory("sift-3", name, "P_s"), True) for name in names)
    told = (("all", "all", 2.6), ("short", "short", 2.5), ("long", "long", 15.8))
    yield Item(
        "sift-3",
        "Figure 3 and section 3.2: the probability that a flow is sampled, and of mistakes",
        None,
        (
            *(
                Row(
                    f"misclassified, {what}, %", None, n, model=theory("sift-3", names[0], f"{k} %")
                )
                for what, k, n in told
            ),
            Row(
                "short, % of parts (section 3.3)",
                None,
                97.2,
                model=theory("sift-3", names[0], "short parts %"),
            ),
        ),
        (Panel("T = 100", PACKETS, "P_s(x)", lines),),
        reason=f"{CALCULATED}. It has 97.2 % of flows, which it is of parts: docs/misprints.md.",
    )
    figures = {
        4: ("SIFT with FIFO queues, and FIFO", ("sift-fifo", "fifo")),
        5: ("SIFT with PS queues, and PS", ("sift-ps", "ps")),
        6: ("SIFT with FIFO queues, FIFO and SRPT", ("sift-fifo", "fifo", "srpt")),
        7: ("SIFT with PS queues, PS and SRPT", ("sift-ps", "ps", "srpt")),
    }
    for number, (title, whats) in figures.items():
        panels = []
        for kind, shown in KINDS.items():
            lines = [Line(w, theory(f"sift-{number}", w, kind), True) for w in whats]
            panels.append(Panel(shown, "load", "mean delay, packets' times", tuple(lines), log="y"))
        yield Item(
            f"sift-{number}",
            f"Figure {number}: {title}, by load",
            None,
            panels=tuple(panels),
            columns=3,
            reason=f"{CALCULATED}; it tells no numbers.",
        )
    for number, kind in ((9, "short"), (10, "long"), (11, "all")):
        rows = sift_rows("red", "all", (kind,))
        if kind == "short":
            flows = [At("sift", "red 0.9", "sift", k) for k in ("flows short", "flows")]
            share = percent(*flows)
            known = theory("sift-ns", "sift-ps", "short %")
            gain = best("red", "all", kind, 100)
            rows = (Row("short, % of flows, load 0.9", share, 95, model=known), gain, *rows)
        if kind == "long":
            pairs = [
                ratio(
                    sift("red", load, "sift", "all", kind), sift("red", load, "fifo", "all", kind)
                )
                for load in LOADS
            ]
            rows = (Row("sift / fifo at worst, long flows", greatest(*pairs), 2, "<="), *rows)
        if kind == "all":
            rows = (best("red", "all", kind, 4), *rows)
        yield Item(
            f"sift-{number}",
            f"Figure {number}: mean delay by load, RED, {KINDS[kind]}",
            "sift",
            rows,
            (sift_panel("red", "all", kind),),
        )
    others = {
        12: ("tail", "all", "DropTail"),
        14: ("rtts", "rtt-0.6", "round trip 0.6 ms"),
        15: ("rtts", "rtt-4.2", "round trip 4.2 ms"),
        16: ("rtts", "rtt-20.2", "round trip 20.2 ms"),
        17: ("rates", "turtles", "turtles, 5 Mbit/s"),
        18: ("rates", "cheetahs", "cheetahs, 495 Mbit/s"),
        19: ("slow", "all", "ten links of 3 Mbit/s"),
    }
    for number, (case, group, title) in others.items():
        if number == 14:

            def at(metric: str, load: float = 0.9, qdisc: str = "sift") -> At:
                return At("sift", f"queues {load:g}", qdisc, metric)

            lines = (
                Line("FIFO of 200", at("high", qdisc="fifo")),
                Line("sift, high", at("high")),
                Line("sift, low", at("low")),
            )
            yield Item(
                "sift-13",
                "Figure 13: queues over time, DropTail, load 0.9",
                "sift",
                (
                    *(
                        Row(f"most in the high queue, load {load}", at("high, most", load), n, "<=")
                        for load, n in TOLD.items()
                    ),
                    *(
                        Row(
                            f"over {n} there, % of the time, load {load}",
                            at(f"high, >{n} %", load),
                        )
                        for load, n in TOLD.items()
                    ),
                    Row("most in the low queue, load 0.9", at("low, most")),
                    Row("most in the low queue, load 1.2", at("low, most", 1.2), 100),
                    Row("most in the FIFO, load 0.9", at("high, most", qdisc="fifo"), 200),
                    Row("most in the FIFO, load 1.2", at("high, most", 1.2, "fifo"), 200),
                ),
                (Panel("DropTail, load 0.9", "time, s", "packets", lines),),
            )
        most = (best(case, group, "short", 10, ">="),) if case == "rates" else ()
        yield Item(
            f"sift-{number}",
            f"Figure {number}: mean delay by load, {title}",
            "sift",
            most + sift_rows(case, group, tuple(KINDS)),
            tuple(sift_panel(case, group, kind) for kind in KINDS),
            3,
        )
    rows = []
    for case, (title, average, most) in SAMPLED.items():
        sampled = [At("sift", f"{case} {load:g}", "sift", "records") for load in LOADS]
        rows.append(Row(f"mean of the loads' most, {title}", mean(*sampled), average))
        rows.append(Row(f"most, load 1.5, {title}", sampled[-1], most))
    yield Item(
        "sift-table1",
        "Table 1: flows that are sampled at once",
        "sift",
        tuple(rows),
        reason="The article does not say whether its first line, Basic, is of RED or DropTail, nor "
        "of what at each load it takes the average: here of DropTail and of the most.",
    )


# sqf-carofiglio2009

TCP = ("reno", "ns2", "cubic")
RTTS1 = (10, 100, 200)  # ms
# Jain's index on the short and long term, in their testbed
TABLE1 = {"fq": (0.999, 0.999), "lqf": (0.734, 0.736), "sqf": (0.55, 0.735)}
# ns-2 and model: A1, A2, A, X1, X2, X
TABLE3 = {
    "fq": ((5.26, 4.93, 10.2, 5.12, 4.79, 9.91), (5.00, 5.00, 10.01, 5.00, 5.00, 10.00)),
    "lqf": ((7.48, 2.63, 10.01, 7.37, 2.47, 9.85), (7.35, 2.65, 10.00, 7.35, 2.65, 10.00)),
    "sqf": ((5.8, 8.1, 13.90, 2.90, 7.08, 9.99), (6.32, 8.68, 15.00, 2.65, 7.35, 10.00)),
}
# By Mbit/s of UDP, ns-2 and model: what UDP loses, what TCP gets
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


@dataclass(frozen=True)
class Beside:
    """What shares the link over time: round trips of TCP in ms, and UDP."""

    title: str
    rtts: tuple[int, ...]
    udp: bool = False

    @property
    def names(self) -> list[str]:
        return [f"TCP, {rtt} ms" for rtt in self.rtts] + ["UDP"] * self.udp


SQF_CASES = {
    "two": Beside("2 and 6 ms, 150 kB", (2, 6)),
    "udp": Beside("20 ms and UDP of 3 Mbit/s, 150 kB", (20,), True),
    "three": Beside("2, 5 and 10 ms, 30 kB", (2, 5, 10)),
}


def sqf_items() -> Iterator[Item]:
    rows, more = [], []
    for policy in POLICIES:
        for i, rtt in enumerate(RTTS1):
            known = theory("sqf-table1", policy, f"X{i + 1}")
            for tcp in TCP:
                at = At("sqf-table1", tcp, policy, f"X{i + 1}")
                rows.append(Row(f"{policy}, {rtt} ms, {tcp}", at, model=known))
        part = {"sqf": 0.95}.get(policy, 0.99)
        short, long = TABLE1[policy]
        for tcp in TCP:
            told = tcp == "reno"

            def at(metric: str, tcp: str = tcp, policy: str = policy) -> At:
                return At("sqf-table1", tcp, policy, metric)

            what = f"{policy}, {tcp}"
            more.append(Row(f"0.5 s, {what}", at("bulk Jain, short"), short if told else None))
            known = theory("sqf-table1", policy, "Jain")
            jain = Row(f"300 s, {what}", at("bulk Jain"), long if told else None, model=known)
            more.append(jain)
            got = Row(f"received / sent, {what}", at("received / sent"), part if told else None)
            rows.append(got)
        for tcp in TCP:
            three = [At("sqf-table1", tcp, policy, f"X{i}") for i in (1, 2, 3)]
            told = tcp == "reno"
            rows.append(Row(f"{policy}, sum, {tcp}", total(*three), 10 if told else None))
            if policy == "sqf":
                bound = (1, ">=") if told else (None, "")
                what = f"{policy}, {RTTS1[2]} ms / {RTTS1[0]} ms, {tcp}"
                rows.append(Row(what, ratio(three[2], three[0]), *bound))
    panels = []
    for tcp in TCP:
        lines = []
        for policy in POLICIES:
            by_rtt = [
                (float(rtt), At("sqf-table1", tcp, policy, f"X{i + 1}"))
                for i, rtt in enumerate(RTTS1)
            ]
            lines.append(Line(policy, tuple(by_rtt)))
        for policy in POLICIES:
            known = [
                (float(rtt), theory("sqf-table1", policy, f"X{i + 1}"))
                for i, rtt in enumerate(RTTS1)
            ]
            lines.append(Line(f"model, {policy}", tuple(known), True))
        panels.append(Panel(tcp, "round trip, ms", "Mbit/s", tuple(lines)))
    yield Item(
        "sqf-1",
        "Figure 1: throughput of three flows by round trip, Mbit/s",
        "sqf-table1",
        tuple(rows),
        tuple(panels),
        3,
    )
    for number, policies in ((2, ("sqf",)), (3, ("fq", "lqf"))):
        yield sqf_over_time(f"sqf-{number}", f"Figure {number}", policies, ("two",))
    lines = [Line(f"flow {i}", theory("sqf-4", f"flow {i}", "Mbit/s"), True) for i in (1, 2)]
    yield Item(
        "sqf-4",
        "Figure 4: turns of two flows under SQF, round trips of 30 and 50 ms",
        None,
        tuple(
            Row(
                f"turn of flow {i}, s (Lemma 5.1)",
                None,
                round(2 * 1e7 / 12000 * rtt**2, 3),
                model=theory("sqf-4", f"flow {i}", "turn s"),
            )
            for i, rtt in ((1, 0.03), (2, 0.05))
        ),
        (Panel("equations (4) and (6)", "time, s", "sending rate, Mbit/s", tuple(lines)),),
        reason=f"{CALCULATED}. It tells no round trips and no numbers: here they are those of "
        "Table 3. The paper's column is its Lemma 5.1 for them.",
    )
    yield sqf_over_time(
        "sqf-5",
        "Figure 5",
        ("sqf",),
        ("udp", "three"),
        "The article tells neither round trip, rate nor buffer of TCP and UDP: here they are the "
        "20 ms and one of the rates of Table 4, and the 150 kB of section 4.",
    )
    yield Item("sqf-table1", "Table 1: Jain's index in 0.5 s and 300 s", "sqf-table1", tuple(more))
    names = ("A1", "A2", "A", "X1", "X2", "X")
    rows = []
    for label, where in (("two", "30 and 50 ms"), ("caption", "20 and 50 ms")):
        for policy, (ns2, _) in TABLE3.items():
            for name, number in zip(names, ns2, strict=True):
                for tcp in TCP if label == "two" else ("ns2",):
                    case = tcp if label == "two" else label
                    at = At("sqf-table3", case, policy, name)
                    known = theory("sqf-table3", policy, name)
                    told = label == "two" and tcp == "ns2"
                    rows.append(
                        Row(
                            f"{policy} {name}, {tcp}, {where}",
                            at,
                            number if told else None,
                            model=known if label == "two" else None,
                        )
                    )
    yield Item(
        "sqf-table3",
        "Table 3: what is sent (A) and gets through (X), Mbit/s",
        "sqf-table3",
        tuple(rows),
        reason="Its caption says 20 and 50 ms, its numbers are those of 30 and 50 ms: "
        "docs/misprints.md. The paper is its ns-2, the model the corrected equations.",
    )
    rows = []
    for rate, table in TABLE4.items():
        for policy, (ns2, _) in table.items():
            whats = ("UDP lost", "X1")
            for what, number in zip(whats, ns2, strict=True):
                for tcp in TCP:
                    case = f"{tcp} {rate}mbit"
                    part = At("sqf-table4", case, policy, "udp loss %")
                    lost = Of(lambda percent, of=float(rate): percent * of / 100, (part,))
                    rows.append(
                        Row(
                            f"UDP of {rate} Mbit/s, {policy}, {tcp}: "
                            + ("TCP gets" if what == "X1" else "UDP loses"),
                            At("sqf-table4", case, policy, what) if what == "X1" else lost,
                            number if tcp == "ns2" else None,
                            model=theory("sqf-table4", policy, f"{rate} {what}"),
                            scale=float(rate) if what == "UDP lost" else None,
                        )
                    )
    yield Item(
        "sqf-table4",
        "Table 4: TCP, 20 ms, beside UDP, Mbit/s",
        "sqf-table4",
        tuple(rows),
        reason="The paper is its ns-2, the model the corrected equations: docs/misprints.md.",
    )


def sqf_over_time(
    key: str, number: str, policies: tuple[str, ...], cases: tuple[str, ...], reason: str = ""
) -> Item:
    rows, panels = [], []
    for case in cases:
        of = SQF_CASES[case]
        for policy in policies:
            for unit, y in (("Mbit/s", "rate, Mbit/s"), ("kB", "queue, kB")):
                for source in ("measured", "model, (1) to (4)"):
                    known = source != "measured"
                    lines = []
                    # What UDP sends is as constant as it is told
                    some = of.names if known or unit == "kB" else of.names[: len(of.rtts)]
                    for i, name in enumerate(some, 1):
                        metric = f"A{i}" if unit == "Mbit/s" else f"kB{i}"
                        at = At("sqf-figures", case, policy, metric)
                        at = theory(f"sqf-{case}", policy, f"{name}, {unit}") if known else at
                        lines.append(Line(name, at, known))
                    title = f"{policy}, {of.title}: {source}"
                    panels.append(Panel(title, "time, s", y, tuple(lines)))
            for i, rtt in enumerate(of.rtts, 1):
                at = At("sqf-figures", case, policy, f"X{i}")
                known = theory(f"sqf-{case}", policy, f"TCP, {rtt} ms, Mbit/s")
                rows.append(Row(f"{policy}, {of.title}, TCP, {rtt} ms, Mbit/s", at, model=known))
            if of.udp:
                at = At("sqf-figures", case, policy, "udp loss %")
                rows.append(Row(f"{policy}, {of.title}, UDP lost, %", at))
            if len(of.rtts) > 1:
                for metric in ("one has the link %", "turn s"):
                    at = At("sqf-figures", case, policy, metric)
                    # Nobody is to have turns but under sqf
                    model = theory(f"sqf-{case}", policy, metric) if policy == "sqf" else None
                    rows.append(Row(f"{policy}, {of.title}: {metric}", at, model=model))
    title = f"{number}: rates and queues over time under {', '.join(policies)}"
    return Item(key, title, "sqf-figures", tuple(rows), tuple(panels), reason=reason)


# What the comparison is to show

D1_LOADS = (0.5, 0.7, 0.9, 0.95)


def goal_items() -> Iterator[Item]:
    def excess(qdisc: str, experiment: str = "d1-long", case: str = "base") -> At:
        return At(experiment, case, qdisc, "excess")

    known = ratio(theory("load-0.9", "las", "excess"), theory("load-0.9", "srpt", "excess"))
    cakes = [excess(name, "d1-load", "load-0.9") for name in ("cake-rate", "cake")]
    rows = (
        Row("las / srpt", ratio(excess("las"), excess("srpt")), 2.2, "<=", model=known),
        Row("sqf / srpt", ratio(excess("sqf"), excess("srpt")), 1.5, "<="),
        Row("las / cake", ratio(excess("las"), excess("cake")), 0.17, "<="),
        Row("cake that is told the rate / cake, 50 s", ratio(*cakes)),
    )
    lines = []
    for qdisc in ("las", "srpt", "cake"):
        by_load = ((load, At("d1-load", f"load-{load:g}", qdisc, "excess")) for load in D1_LOADS)
        lines.append(Line(qdisc, tuple(by_load)))
    for name in ("srpt", "las", "ps"):
        by_load = ((load, theory(f"load-{load:g}", name, "excess")) for load in D1_LOADS)
        lines.append(Line(f"model, {name}", tuple(by_load), True))
    yield Item(
        "excess",
        "D1 by load, and the excess slowdown at a load of 0.9",
        "d1-long",
        rows,
        (Panel("10 Mbit/s, 6 ms", "load", "excess slowdown", tuple(lines), log="y"),),
        reason="In the paper's column is what it is to be. Ratios are the means of each seed's, "
        "the picture is of d1-load. All qdiscs are below.",
    )


PAPERS: dict[str, Callable[[], Iterator[Item]]] = {
    "run2c-avrachenkov2004": run2c_items,
    "las-rai2004": las_items,
    "sift-psounis2004": sift_items,
    "sqf-carofiglio2009": sqf_items,
    "What is to be reached": goal_items,
}


ITEMS: dict[str, list[Item]] = {paper: list(of()) for paper, of in PAPERS.items()}
