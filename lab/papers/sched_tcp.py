# SPDX-License-Identifier: GPL-2.0
"""Ayesta et al. 2014: SCHED_TCP, who of an origin's flows to a destination sends when TCP may."""

from collections.abc import Iterator

import numpy as np

from lab.measure.beside import SAME
from lab.measure.numbers import AT_A_TIME, WITHIN
from lab.measure.over_time import in_progress
from lab.measure.reading import WIRE_BITS
from lab.measure.rows import Metrics, points
from lab.models.simulate import responses
from lab.models.sizes import parse
from lab.papers.vocabulary import Apart, At, Found, Item, Line, Of, Panel, Row, ratio, theory

NAME = "sched-tcp-ayesta2014"
POLICIES = ("tcp", "srpt", "las", "fair")
SIZES = parse("lomax(3453,3)")
LOAD, RATE, SECONDS = 0.9, 12e6 / WIRE_BITS, 1000  # packets/s
RUNS = 100  # of the model
STEP = 100  # ms
# Table 2: percent of flows that are faster, slower and equal, and the mean gain and loss, s
TABLE2 = {
    "las": (61, 25.6, 13.2, 0.57, 0.314),
    "srpt": (88.8, 3.2, 8, 1.11, 0.028),
    "fair": (89.6, 2.4, 7.9, 1.13, 0.033),
}
BEGUN = {"long": 0.05, "short": 5.05}  # s, the mean of when they begin
ENDED = {("short", "srpt"): 11, ("long", "srpt"): 25, ("long", "tcp"): 25}  # s


def figure6(qdisc: str, metric: str) -> At:
    return At("sched-tcp-sample", "base", qdisc, metric, True)


def table2(qdisc: str, metric: str) -> At:
    return At("sched-tcp", "base", qdisc, metric, True)


def percent_apart(policy: str, metric: str) -> Of:
    """Of what it is under tcp, with the same seeds."""
    pair = figure6(policy, metric), figure6("tcp", metric)
    return Of(lambda mine, theirs: 100 * (mine / theirs - 1), pair)


def over_time() -> Item:
    """Figure 6."""
    rows = []
    for policy in (*POLICIES, "direct"):
        for flow, begun in BEGUN.items():
            end = Of(lambda ms, begun=begun: begun + ms / 1000, (figure6(policy, f"{flow} ms"),))
            rows.append(Row(f"{flow} ends, s, {policy}", end, ENDED.get((flow, policy))))
    rate = "sample kB/s"
    for policy in (*POLICIES[1:], "direct"):
        for what, value in (
            ("sample in any second, %, one run", figure6(policy, "sample apart %")),
            ("sample in any second, %, mean", Apart(figure6(policy, rate), figure6("tcp", rate))),
            ("bytes of the pair until any second, %", figure6(policy, "bytes apart %")),
            ("sample until 28 s, %", percent_apart(policy, "sample MB at 28 s")),
            ("bytes of the pair until 24 s, %", percent_apart(policy, "carried MB at 24 s")),
        ):
            rows.append(Row(f"apart from tcp: {what}, {policy}", value))
    panels = []
    for policy in POLICIES:
        names = (*BEGUN, "sample")
        lines = [Line(name, figure6(policy, f"{name} kB/s")) for name in names]
        panels.append(Panel(policy, "time, s", "throughput, kB/s", tuple(lines)))
    return Item(
        "sched-tcp-6",
        "Figure 6: throughput of two flows by way of a pair, and of one beside it",
        "sched-tcp-sample",
        tuple(rows),
        tuple(panels),
    )


def measured_and_model(metric: str) -> tuple[Line, ...]:
    """Of each policy."""
    lines = [Line(policy, table2(policy, metric)) for policy in POLICIES]
    models = [(policy, theory("sched-tcp", policy, metric)) for policy in POLICIES]
    return (*lines, *(Line(f"model, {policy}", model, True) for policy, model in models))


def at_a_time() -> Item:
    """Figure 7."""
    mean = {policy: table2(policy, "in progress") for policy in POLICIES}
    model = {policy: theory("sched-tcp", policy, "in progress") for policy in POLICIES}
    rows = [Row(f"mean, {policy}", mean[policy], model=model[policy]) for policy in POLICIES]
    for one, other in (("las", "tcp"), ("srpt", "las"), ("fair", "las")):
        rows.append(Row(f"mean, {one} / {other}", ratio(mean[one], mean[other]), 1, "<="))
    lines = measured_and_model("in progress CDF")
    return Item(
        "sched-tcp-7",
        "Figure 7: how many flows are active",
        "sched-tcp",
        tuple(rows),
        (Panel("load 0.9", "flows at most", "part of the time", lines),),
    )


def transfer_times() -> Item:
    """Figure 8."""
    rows = [
        Row(
            f"mean transfer time, s, {policy}",
            Of(lambda ms: ms / 1000, (table2(policy, "ms all"),)),
            model=theory("sched-tcp", policy, "s"),
        )
        for policy in POLICIES
    ]
    lines = measured_and_model("response CDF")
    return Item(
        "sched-tcp-8",
        "Figure 8: transfer times",
        "sched-tcp",
        tuple(rows),
        (Panel("load 0.9", "transfer time, s", "CDF", lines, log="x"),),
    )


def by_size() -> Item:
    """Figure 9."""
    panels = []
    for policy in POLICIES:
        at = At("sched-tcp", "base", policy, "s by MB")
        panels.append(Panel(policy, "MB", "transfer time, s", (Line(policy, at),), dots=True))
    return Item(
        "sched-tcp-9",
        "Figure 9: transfer time of each flow by its size, one seed",
        "sched-tcp",
        panels=tuple(panels),
    )


def beside_tcp() -> Item:
    """Table 2."""
    rows = []
    for policy, told in TABLE2.items():
        names = ("faster %", "slower %", "equal %", "gain s", "loss s")
        for name, number in zip(names, told, strict=True):
            scale = 100 if "%" in name else None
            model = theory("sched-tcp", policy, name)
            what = f"{name}, {policy}"
            rows.append(Row(what, table2(policy, name), number, model=model, scale=scale))
    for name in ("faster %", "slower %", "equal %"):
        rows.append(Row(f"{name}, direct", table2("direct", name)))
    return Item(
        "sched-tcp-table2",
        "Table 2: transfer times beside those under tcp",
        "sched-tcp",
        tuple(rows),
    )


def items() -> Iterator[Item]:
    yield over_time()
    yield at_a_time()
    yield transfer_times()
    yield by_size()
    yield beside_tcp()


# The model: a link without TCP, where tcp shares equally, of the same load


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """When flows begin and how long they are, s, until they make up the load."""
    sizes: list[float] = []
    while sum(sizes) < LOAD * SECONDS:
        sizes.append(float(SIZES.draw(rng, 1)[0]) / RATE)
    return np.sort(rng.uniform(0, SECONDS, len(sizes))), np.array(sizes)


def told(policy: str, runs: list[tuple[np.ndarray, dict[str, np.ndarray]]]) -> Metrics:
    """The mean of runs: when flows begin, and by policy how long they take, s."""
    at = [in_progress(1e3 * start, 1e3 * of[policy], SECONDS, STEP) for start, of in runs]
    every = np.concatenate([of[policy] for _, of in runs])
    tcp = np.concatenate([of["tcp"] for _, of in runs])
    more = every - tcp
    equal = np.abs(more) <= SAME * tcp
    faster, slower = (more < 0) & ~equal, (more > 0) & ~equal
    values: Metrics = {"in progress": np.mean(at), "s": every.mean()}
    numbers = np.arange(AT_A_TIME + 1)
    values |= points("in progress CDF", numbers, [np.mean(np.array(at) <= n) for n in numbers])
    values |= points("response CDF", WITHIN, [np.mean(every <= x) for x in WITHIN])
    values |= {"faster %": 100 * faster.mean(), "slower %": 100 * slower.mean()}
    values["equal %"] = 100 * equal.mean()
    if faster.any():
        values["gain s"] = -more[faster].mean()
    values["loss s"] = more[slower].mean() if slower.any() else 0
    return values


def models() -> Found:
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(RUNS):
        start, sizes = drawn(rng)
        of = {p: responses("ps" if p == "tcp" else p, start, sizes) for p in POLICIES}
        runs.append((start, of))
    for policy in POLICIES:
        yield "sched-tcp", policy, told(policy, runs)
