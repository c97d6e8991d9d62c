# SPDX-License-Identifier: GPL-2.0
"""Avrachenkov et al. 2004: RuN2C, under the downloads of ten senders.

The article does not tell the load of Figures 1 and 2, nor that of D1.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from lab.measure.reading import PAYLOAD, WIRE_BITS
from lab.measure.rows import points
from lab.models import mg1
from lab.models.sizes import Sizes, parse
from lab.papers.vocabulary import (
    CALCULATED,
    PACKETS,
    At,
    Found,
    Item,
    Least,
    Line,
    Panel,
    Row,
    ratio,
    theory,
)

NAME = "run2c-avrachenkov2004"
LOAD_1, LOAD_D1, LOAD_D2 = 0.8, 0.9, 0.2
BP, D1, D2 = parse("bp(13,5000,1.1)"), parse("0.8*exp(4)+0.2*bp(13,5000,1.1)"), parse("exp(6)")
RATE = 1e7  # bit/s
THRESHOLD, WINDOW = 20, 30  # packets, in its simulations
RTTS = {"s1": 0.006, "s2": 0.060}
PERSISTENT = 50  # flows of D2
SHORT = np.arange(1, 41)  # packets, of its figures of short flows
TEXT_THRESHOLD = 200  # about the optimum, as the text has it; that of Figure 2 is not told
FAR = 1e6  # packets: a size at which the slowdown is next to its limit
QDISCS = ("droptail", "run", "run2c", "run2c-learn", "las")
SHOWN = {"las": "plain"}  # elsewhere las is what it is by default
MODEL_OF = {"droptail": "PS", "run": "LAS", "run2c": "PS+PS"}
TCPS = {"": "TCP of ns-2", "-today": "TCP of today"}


def at(case: str, qdisc: str, metric: str) -> At:
    return At("run2c", case, qdisc, metric)


def panels_of(
    case: str, metric: str, x: str, y: str, model: str = "", log: str = "", paper: tuple = ()
) -> tuple[Panel, ...]:
    panels = []
    for end, tcp in TCPS.items():
        lines = [Line(SHOWN.get(n, n), at(case + end, n, metric)) for n in QDISCS]
        whats = ("LAS",) if model == "run2c-d2" else tuple(MODEL_OF.values())
        if model:
            lines += [Line(f"model, {w}", theory(model, w, metric), True) for w in whats]
        panels.append(Panel(tcp, x, y, tuple(lines), () if end else paper, log=log))
    return tuple(panels)


def by_kind(case: str, what: str, metric: str, model: str = "") -> tuple[Row, ...]:
    rows = []
    for end, tcp in TCPS.items():
        for name in QDISCS:
            known = theory(model, MODEL_OF[name], metric) if name in MODEL_OF else None
            use = known if model and not end else None
            shown = f"{what}, {SHOWN.get(name, name)}, {tcp}"
            rows.append(Row(shown, at(case + end, name, metric), model=use))
    return tuple(rows)


def least(case: str, name: str, metric: str, most: float = math.inf) -> Least:
    """By size, what droptail has of another's time, or another of its throughput."""
    pair = at(case, "droptail", metric), at(case, name, metric)
    return Least(*(pair if metric == "ms" else reversed(pair)), most)


def gains(case: str, metric: str, least: float | None) -> tuple[Row, ...]:
    """Of those that the article has, how much better than droptail."""
    return tuple(
        Row(
            f"droptail / {name}: {metric}",
            ratio(at(case, "droptail", metric), at(case, name, metric)),
            least,
            ">=" if least else "",
        )
        for name in ("run", "run2c")
    )


def items() -> Iterator[Item]:
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
            panels_of(case, "in progress", "time, s", "flows", log="y"),
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
            panels_of(case, "ms", PACKETS, "mean response, ms", model, "y"),
        )
        seven = {"droptail": 200000, "run": 100, "run2c": 100} if setting == "s1" else {}
        yield Item(
            f"run2c-{first + 2}",
            f"Figure {first + 2}: longest response of short flows, {where}",
            "run2c",
            (
                *(
                    Row(f"ms, 7 packets, {name}", at(case, name, "max ms@7"), number)
                    for name, number in seven.items()
                ),
                *gains(case, "max ms@7", 1000 if setting == "s1" else None),
                *by_kind(case, "ms, at most 20 packets", "max ms <=20"),
            ),
            panels_of(
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
            panels_of(case, "kbit/s", PACKETS, "throughput, kbit/s", model, "xy"),
        )
    yield Item(
        "run2c-12",
        "Figure 12: short flows in progress, S1, D2",
        "run2c",
        (
            *gains("s1-d2", "in progress", 100),
            *by_kind("s1-d2", "mean", "in progress"),
        ),
        panels_of("s1-d2", "in progress", "time, s", "short flows", log="y"),
    )
    yield Item(
        "run2c-13",
        "Figure 13: mean response of short flows, S1, D2",
        "run2c",
        by_kind("s1-d2", "ms, at most 20 packets", "ms <=20"),
        panels_of("s1-d2", "ms", PACKETS, "mean response, ms", "run2c-d2", "y"),
    )
    variance = ratio(*(at("s1-d2", name, "bulk variance") for name in ("droptail", "run2c")))
    share = theory("run2c-d2", "PS", "kbit/s")
    fifo = at("s1-d2", "droptail", "bulk kbit/s")
    apart = at("s1-d2", "run", "bulk apart %")
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
                    ratio(at("s1-d2", name, "bulk kbit/s"), fifo),
                    1,
                    bound,
                )
                for name, bound in (("run", "<="), ("run2c", ">="))
            ),
            *(
                Row(f"kbit/s, {SHOWN.get(n, n)}", at("s1-d2", n, "bulk kbit/s"), model=share)
                for n in QDISCS
            ),
            *(Row(f"variance, {SHOWN.get(n, n)}", at("s1-d2", n, "bulk variance")) for n in QDISCS),
        ),
        panels_of("s1-d2", "bulk kbit/s", "flow", "throughput, kbit/s"),
    )


# The models: what lab/models give for the same figures


def figure_1() -> Found:
    queue = mg1.Queue(BP, LOAD_1)
    x = np.geomspace(13, 5000, 40)
    best, least = mg1.best_threshold(queue, 13, 4000)
    most = mg1.mean_response(queue, mg1.ps)
    las = mg1.mean_response(queue, mg1.las)
    yield "run2c-1", "PS+PS", {"best": best, "mean": BP.mean, "gain %": (most - least) / most * 100}
    yield "run2c-1", "LAS", {"gain %": (most - las) / most * 100}
    curves = {"PS": [most] * x.size, "LAS": [las] * x.size}
    curves["PS+PS"] = [mg1.mean_ps_ps(queue, threshold) for threshold in x]
    for name, values in curves.items():
        yield "run2c-1", name, points("E[T]", x, values)


def figure_2() -> Found:
    queue, x = mg1.Queue(BP, LOAD_1), np.geomspace(13, 5000, 40)
    ps_ps = partial(mg1.ps_ps, threshold=TEXT_THRESHOLD)
    for name, policy in {"PS": mg1.ps, "LAS": mg1.las, "PS+PS": ps_ps}.items():
        values = points("T", x, policy(queue, x))
        yield "run2c-2", name, values | {"slowdown, most": float(policy(queue, FAR)) / FAR}


def policies(sizes: Sizes, load: float, rate: float) -> dict[str, partial]:
    """What droptail, RuN and RuN2C are in the models; `rate` in packets/s."""
    queue = mg1.Queue(sizes, load, rate)
    ps_ps = partial(mg1.ps_ps, threshold=THRESHOLD)
    return {n: partial(p, queue) for n, p in (("PS", mg1.ps), ("LAS", mg1.las), ("PS+PS", ps_ps))}


def figures_4_to_11() -> Found:
    """Response with handshake and slow start, ms, and throughput, kbit/s."""
    rate = RATE / WIRE_BITS
    queue = mg1.Queue(D1, LOAD_D1, rate)
    long = np.unique(np.rint(np.geomspace(1, 5000, 40)))
    for setting, rtt in RTTS.items():
        for name, policy in policies(D1, LOAD_D1, rate).items():

            def response(x: np.ndarray, policy: partial = policy, rtt: float = rtt) -> np.ndarray:
                return policy(x) + mg1.own_time(x, rtt, WINDOW)

            points_x, weights = D1.nodes([THRESHOLD])
            mean = float(response(points_x) @ weights)
            values = {"in progress": mean * queue.arrivals}
            values |= points("ms", SHORT, 1e3 * response(SHORT.astype(float)))
            values |= points("kbit/s", long, long * PAYLOAD * 8 / 1e3 / response(long))
            yield f"run2c-{setting}", name, values


def figures_12_to_14() -> Found:
    """The persistent flows have what the short ones leave; low under LAS."""
    queue = mg1.Queue(D2, LOAD_D2, RATE / WIRE_BITS)
    x = SHORT.astype(float)
    response = mg1.las(queue, x) + mg1.own_time(x, RTTS["s1"], WINDOW)
    nodes, weights = D2.nodes()
    whole = mg1.las(queue, nodes) + mg1.own_time(nodes, RTTS["s1"], WINDOW)
    values = {"in progress": float(whole @ weights) * queue.arrivals}
    yield "run2c-d2", "LAS", values | points("ms", SHORT, 1e3 * response)
    left = (1 - LOAD_D2) * RATE / 1e3
    yield "run2c-d2", "PS", {"kbit/s": left * PAYLOAD * 8 / WIRE_BITS / PERSISTENT}


def models() -> Found:
    yield from figure_1()
    yield from figure_2()
    yield from figures_4_to_11()
    yield from figures_12_to_14()
