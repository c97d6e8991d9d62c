# SPDX-License-Identifier: GPL-2.0
"""Rai et al. 2004: LAS and LAS-log under web traffic."""

from collections.abc import Iterator

import numpy as np

from lab.measure.reading import WIRE_BITS
from lab.measure.rows import LOSSY, points
from lab.models import mg1
from lab.models.sizes import parse
from lab.papers.vocabulary import (
    PACKETS,
    At,
    Benefit,
    Found,
    Item,
    Line,
    Panel,
    Row,
    percent,
    theory,
)

NAME = "las-rai2004"
SIZES = parse("pareto(2,1.2)")
LOAD, RATE = 0.7, 4.63e6  # bit/s
RTT, WINDOW = 0.006, 10000  # seconds, packets
CASES = {"ns2": "TCP of ns-2", "today": "TCP of today"}
KINDS = ("droptail", "plain", "las")


def web(case: str, qdisc: str, metric: str) -> At:
    return At("las-rai2004", case, qdisc, metric)


def items() -> Iterator[Item]:
    panels, rows = [], []
    for case, tcp in CASES.items():
        lines = [Line(name, web(case, name, "ms by size")) for name in KINDS]
        lines += [Line(f"model, {w}", theory("las-4", w, "ms"), True) for w in ("PS", "LAS")]
        panels.append(Panel(tcp, PACKETS, "mean response, ms", tuple(lines), log="xy"))
        for name in KINDS[1:]:
            better = Benefit(web(case, name, "ms by size"), web(case, "droptail", "ms by size"))
            bound = (99, ">=") if (name, case) == ("plain", "ns2") else (None, "")
            rows.append(Row(f"flows that gain by {name}, %, {tcp}", better, *bound))
        for size in ("<=8", ">100"):
            rows += [
                Row(f"ms, {size} packets, {name}, {tcp}", web(case, name, f"ms {size}"))
                for name in KINDS
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
    for case, tcp in (*CASES.items(), ("ns2-25", "TCP of ns-2, a buffer of 25")):
        for name in KINDS:
            numbers = (None,) * 3 if case == "today" else told.get(name, (None,) * 3)
            lossy = web(case, name, "flows with loss")
            values = {
                "loss %": web(case, name, "loss %"),
                "flows with loss %": percent(lossy, web(case, name, "flows")),
                "of them <=40 packets %": percent(
                    web(case, name, f"flows with loss <={LOSSY}"), lossy
                ),
            }
            for (what, value), number in zip(values.items(), numbers, strict=True):
                scale = 10 if number == 0 else None
                rows.append(Row(f"{what}, {name}, {tcp}", value, number, scale=scale))
        lines = [Line(name, web(case, name, "CDF")) for name in KINDS]
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


# The models: what lab/models give for the same figures


def models() -> Found:
    """With handshake and slow start."""
    queue = mg1.Queue(SIZES, LOAD, RATE / WIRE_BITS)
    x = np.unique(np.rint(np.geomspace(2, 10000, 40)))
    for name, policy in {"PS": mg1.ps, "LAS": mg1.las}.items():
        response = policy(queue, x) + mg1.own_time(x, RTT, WINDOW)
        yield "las-4", name, points("ms", x, 1e3 * response)
