# SPDX-License-Identifier: GPL-2.0
"""Psounis et al. 2004: SIFT, which samples packets to find the long flows."""

from collections.abc import Iterator

import numpy as np

from lab.measure.rows import Metrics, points
from lab.models import sift as model
from lab.papers.vocabulary import (
    CALCULATED,
    PACKETS,
    At,
    Found,
    Item,
    Line,
    Panel,
    Row,
    greatest,
    mean,
    percent,
    ratio,
    theory,
)

NAME = "sift-psounis2004"
LOADS = (0.6, 0.7, 0.9, 1.2, 1.5)
TOLD = {0.9: 50, 1.2: 60}  # by load: packets that the high queue never has more of


# Table 1: of what, sampled flows, average and most
SAMPLED = {
    "tail": ("DropTail", 797, 1504),
    "rtts": ("three round trips", 812, 1537),
    "rates": ("turtles and cheetahs", 755, 1314),
    "slow": ("ten slow links", 806, 1510),
}
KINDS = {"short": "short flows", "long": "long flows", "all": "all flows"}


def delay(case: str, load: float, qdisc: str, group: str, kind: str) -> At:
    """Of all senders, or of a group."""
    return At("sift", f"{case} {load:g}", qdisc, f"{group} ms {kind}".removeprefix("all "))


def panel_of(case: str, group: str, kind: str) -> Panel:
    names = ("fifo", "sift", "sift-gbw") if case == "red" else ("fifo", "sift")
    lines = [
        Line(name, tuple((load, delay(case, load, name, group, kind)) for load in LOADS))
        for name in names
    ]
    lines += [Line(f"model, {w}", theory("sift-ns", w, kind), True) for w in ("ps", "sift-ps")]
    return Panel(KINDS[kind], "load", "mean delay, ms", tuple(lines), log="y")


# What all flows gain at least, by the text
LEAST_GAIN = {"red": 2, "rtts": 1, "rates": 1}


def best(case: str, group: str, kind: str, number: float, bound: str = "") -> Row:
    """What is gained at the load where it is most."""
    pairs = [
        ratio(*(delay(case, load, name, group, kind) for name in ("fifo", "sift")))
        for load in LOADS
    ]
    return Row(f"fifo / sift at best, {KINDS[kind]}", greatest(*pairs), number, bound)


def rows_of(case: str, group: str, kinds: tuple[str, ...]) -> tuple[Row, ...]:
    rows = []
    for kind in kinds:
        for load in LOADS:
            pair = [delay(case, load, name, group, kind) for name in ("fifo", "sift")]
            bound = LEAST_GAIN.get(case) if kind == "all" else None
            what = f"fifo / sift, {KINDS[kind]}, load {load:g}"
            rows.append(Row(what, ratio(*pair), bound, ">=" if bound else ""))
    return tuple(rows)


def items() -> Iterator[Item]:
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
        rows = rows_of("red", "all", (kind,))
        if kind == "short":
            flows = [At("sift", "red 0.9", "sift", k) for k in ("flows short", "flows")]
            share = percent(*flows)
            known = theory("sift-ns", "sift-ps", "short %")
            gain = best("red", "all", kind, 100)
            rows = (Row("short, % of flows, load 0.9", share, 95, model=known), gain, *rows)
        if kind == "long":
            pairs = [
                ratio(
                    delay("red", load, "sift", "all", kind), delay("red", load, "fifo", "all", kind)
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
            (panel_of("red", "all", kind),),
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
                Line("fifo", at("high", qdisc="fifo")),
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
            most + rows_of(case, group, tuple(KINDS)),
            tuple(panel_of(case, group, kind) for kind in KINDS),
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


# The models: what lab/models give for the same figures


def figure_3() -> Found:
    x = np.arange(1, 501, 5)
    for samples, values in model.figure3(x=x).items():
        yield "sift-3", f"T_s = {samples}", points("P_s", x, values)
    sizes = model.bounded_pareto()
    wrong = model.misclassified(sizes)
    shares = {"all %": wrong.all, "short %": wrong.short, "long %": wrong.long}
    shares["short parts %"] = model.Split(sizes).short_parts
    yield "sift-3", "T_s = 1", {name: 100 * value for name, value in shares.items()}


def figures_4_to_7() -> Found:
    split = model.Split(model.bounded_pareto())
    for number in model.FIGURES:
        loads = np.linspace(0.05, 0.99, 48)
        if number == 4:
            loads = np.append(loads, model.MAX_LOAD)
        for name, delays in model.figure(number, loads, split).items():
            yield f"sift-{number}", name, delay_points(loads, delays, 1)


def delay_points(loads: np.ndarray, delays: model.Delays, scale: float) -> Metrics:
    kinds = {"short": delays.short, "long": delays.long, "all": delays.all}
    return {
        name: value
        for kind, values in kinds.items()
        for name, value in points(kind, loads, scale * values).items()
    }


def figures_9_to_19() -> Found:
    """Of loads below 1: ms, of whole flows, of packets of 1000 bytes."""
    split = model.Split(model.bounded_pareto(1, 10**8, 1.1, round_up=True))
    loads = np.array([0.6, 0.7, 0.9])
    for name in ("ps", "sift-ps"):
        delays = model.SCHEMES[name](split, loads, 1e7 / 8000, flows=True)
        yield "sift-ns", name, delay_points(loads, delays, 1e3)
    yield "sift-ns", "sift-ps", {"short %": 100 * (1 - split.share)}


def models() -> Found:
    yield from figure_3()
    yield from figures_4_to_7()
    yield from figures_9_to_19()
