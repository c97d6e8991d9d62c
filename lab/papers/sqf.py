# SPDX-License-Identifier: GPL-2.0
"""Carofiglio and Muscariello 2009: SQF, beside LQF and fair queueing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lab.measure.over_time import SMOOTH, smooth, turns
from lab.measure.rows import Metrics, points
from lab.models import fluid
from lab.papers.vocabulary import (
    CALCULATED,
    At,
    Found,
    Item,
    Line,
    Of,
    Panel,
    Row,
    ratio,
    theory,
    total,
)

NAME = "sqf-carofiglio2009"
POLICIES = ("fq", "lqf", "sqf")
SHOWN_AS = {"fq": "policy fq"}  # fq is another qdisc elsewhere
TCP = ("reno", "ns2", "cubic")
RTTS1 = (10, 100, 200)  # ms, of Table 1
# By policy Jain's index on the short and long term, in their testbed
TABLE1 = {"fq": (0.999, 0.999), "lqf": (0.734, 0.736), "sqf": (0.55, 0.735)}
# Of ns-2, Mbit/s: A1, A2, A, X1, X2, X
TABLE3 = {
    "fq": (5.26, 4.93, 10.2, 5.12, 4.79, 9.91),
    "lqf": (7.48, 2.63, 10.01, 7.37, 2.47, 9.85),
    "sqf": (5.8, 8.1, 13.90, 2.90, 7.08, 9.99),
}
# Of ns-2 by UDP's rate, Mbit/s: what UDP loses, what TCP gets
TABLE4 = {
    "3": {"fq": (0.01, 6.69), "lqf": (2.98, 9.99), "sqf": (0.1, 6.97)},
    "7": {"fq": (1.96, 4.98), "lqf": (6.95, 9.87), "sqf": (0.1, 2.98)},
}
LINK = fluid.Link()
TURN_RTTS = (0.03, 0.05)  # seconds: of Figure 4, which does not tell them: those of Table 3
SETTLED = 20  # seconds
INTERVAL = 0.01  # seconds, in which is counted what is sent
SHOWN, STEP = 3, 0.02  # seconds: of what is over time so much is drawn, and a point for each


@dataclass(frozen=True)
class Case:
    """What Figures 2, 3 and 5 show over time."""

    title: str
    rtts: tuple[int, ...]  # ms, of TCP
    buffer: float = 100  # packets
    udp: float = 0  # Mbit/s

    @property
    def names(self) -> list[str]:
        return [f"TCP, {rtt} ms" for rtt in self.rtts] + ["UDP"] * bool(self.udp)


CASES = {
    "two": Case("2 and 6 ms, 150 kB", (2, 6)),
    "udp": Case("20 ms and UDP of 3 Mbit/s, 150 kB", (20,), udp=3),
    "three": Case("2, 5 and 10 ms, 30 kB", (2, 5, 10), 20),
}


def items() -> Iterator[Item]:
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
            lines.append(Line(SHOWN_AS.get(policy, policy), tuple(by_rtt)))
        for policy in POLICIES:
            known = [
                (float(rtt), theory("sqf-table1", policy, f"X{i + 1}"))
                for i, rtt in enumerate(RTTS1)
            ]
            shown = SHOWN_AS.get(policy, policy)
            lines.append(Line(f"model, {shown}", tuple(known), True))
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
        yield over_time(f"sqf-{number}", f"Figure {number}", policies, ("two",))
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
    yield over_time(
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
        for policy, ns2 in TABLE3.items():
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
        for policy, ns2 in table.items():
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


def over_time(
    key: str, number: str, policies: tuple[str, ...], cases: tuple[str, ...], reason: str = ""
) -> Item:
    rows, panels = [], []
    for case in cases:
        of = CASES[case]
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


# The models: what lab/models give for the same figures


def tables() -> Found:
    """Table 1 as printed, Tables 3 and 4 by the corrected equations."""
    for policy in fluid.POLICIES:
        got = fluid.throughput(policy, LINK, [rtt / 1e3 for rtt in RTTS1])
        values = {f"X{i + 1}": x for i, x in enumerate(got)}
        values["Jain"] = got.sum() ** 2 / (got.size * (got**2).sum())
        yield "sqf-table1", policy, values
        sent = fluid.sending(policy, LINK, TURN_RTTS)
        got = fluid.throughput(policy, LINK, TURN_RTTS)
        both = [*sent, sent.sum(), *got, got.sum()]
        keys = ("A1", "A2", "A", "X1", "X2", "X")
        yield "sqf-table3", policy, dict(zip(keys, both, strict=True))
        for rate in TABLE4:
            one = fluid.mixed(policy, LINK, 0.02, float(rate))
            values = {f"{rate} UDP lost": one.udp_loss, f"{rate} X1": one.tcp}
            yield "sqf-table4", policy, values


def orbit_points(orbit: fluid.Orbit, names: list[str]) -> Metrics:
    time = np.arange(0, SHOWN, STEP)
    means = orbit.between(SETTLED, orbit.time[-1])
    # As what is measured: by what is sent in each interval, made as smooth
    ends = np.arange(SETTLED, orbit.time[-1], INTERVAL)
    sent = [np.interp(ends, orbit.time, of) for of in orbit.all_sent.T]
    rates = smooth(np.diff(sent).T / INTERVAL, round(SMOOTH / INTERVAL))
    part, turn = turns(rates, INTERVAL)
    values: Metrics = {"one has the link %": 100 * part, "turn s": turn}
    for i, name in enumerate(names):
        values[f"{name}, Mbit/s"] = means["served"][i]
        for unit, of in ((", Mbit/s", orbit.sent), (", kB", orbit.queues * LINK.packet / 1e3)):
            values |= points(name + unit, time, np.interp(SETTLED + time, orbit.time, of[:, i]))
    return values


def figures_2_3_5() -> Found:
    """Equations (1) to (4), with the queue's delay and the loss felt later."""
    for case, of in CASES.items():
        link, rtts = fluid.Link(buffer=of.buffer), tuple(rtt / 1e3 for rtt in of.rtts)
        for policy in fluid.POLICIES if case == "two" else ("sqf",):
            orbit = fluid.solve(policy, link, rtts, 30, udp=of.udp)
            yield f"sqf-{case}", policy, orbit_points(orbit, of.names)


def figure_4() -> Found:
    """Turns of two flows, (4) and (6), from where a turn of the first begins."""
    link = fluid.Link(buffer=2000)  # Lemma 5.1 needs as much
    cycle = fluid.cycle(link, TURN_RTTS)
    most = 2 * link.rate - cycle.begin[1]
    start = [float(cycle.begin[0]), float(most)]
    orbit = fluid.saturated("sqf", link, TURN_RTTS, 2.5 * cycle.period, start, link.buffer / 2)
    time = np.linspace(0, orbit.time[-1], 400)
    for i in range(2):
        values = points("Mbit/s", time, np.interp(time, orbit.time, orbit.sent[:, i]))
        yield "sqf-4", f"flow {i + 1}", values | {"turn s": cycle.turns[i]}


def models() -> Found:
    yield from tables()
    yield from figures_2_3_5()
    yield from figure_4()
