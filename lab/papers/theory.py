# SPDX-License-Identifier: GPL-2.0
"""What lab/models give for the papers' figures and tables: curves and numbers, by figure.

In the form of what is measured: the case is the figure, the qdisc a policy or what the paper
compares, the seed 0. Of run2c's Figures 1 and 2 the paper does not tell the load, nor of its D1.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.measure.numbers import Metrics, Rows, points
from lab.measure.over_time import SMOOTH, smooth, turns
from lab.models import fluid, mg1, sift
from lab.models.sizes import Sizes, parse
from lab.papers.items import D1_LOADS, RTTS1, TABLE4

Found = Iterator[tuple[str, str, Metrics]]  # figure, what, values

LOAD_1, LOAD_D1 = 0.8, 0.9
BP, D1, D2 = parse("bp(13,5000,1.1)"), parse("0.8*exp(4)+0.2*bp(13,5000,1.1)"), parse("exp(6)")
WEB = parse("pareto(2,1.2)")
PACKET = 12000  # bits on the wire
THRESHOLD, WINDOW = 20, 30  # packets, in run2c's simulations
RTTS = {"s1": 0.006, "s2": 0.060}
SHORT = np.arange(1, 41)  # packets, of run2c's figures of short flows
TEXT_THRESHOLD = 200  # about the optimum, as the text has it; that of Figure 2 is not told
FAR = 1e6  # packets: a size at which the slowdown is next to its limit
LINK = fluid.Link()
TURN_RTTS = (0.03, 0.05)  # of Figure 4, which does not tell them: those of Table 3
SETTLED = 20  # seconds
INTERVAL = 0.01  # seconds, in which is counted what is sent
CURVE, POINT = 3, 0.02  # seconds that are drawn, a point each so often


def tcp(x: np.ndarray, rtt: float, window: int = WINDOW) -> np.ndarray:
    """Seconds of TCP's own: a round trip of the handshake, as here it counts, and slow start."""
    return rtt + mg1.slow_start(np.maximum(x, 1), rtt, window)


def run2c_1() -> Found:
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


def run2c_2() -> Found:
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


def run2c_d1() -> Found:
    """Figures 4 to 11: response with handshake and slow start, ms, and throughput, kbit/s."""
    rate = 1e7 / PACKET
    queue = mg1.Queue(D1, LOAD_D1, rate)
    long = np.unique(np.rint(np.geomspace(1, 5000, 40)))
    for setting, rtt in RTTS.items():
        for name, policy in policies(D1, LOAD_D1, rate).items():

            def response(x: np.ndarray, policy: partial = policy, rtt: float = rtt) -> np.ndarray:
                return policy(x) + tcp(x, rtt)

            points_x, weights = D1.nodes([THRESHOLD])
            mean = float(response(points_x) @ weights)
            values = {"in progress": mean * queue.arrivals}
            values |= points("ms", SHORT, 1e3 * response(SHORT.astype(float)))
            values |= points("kbit/s", long, long * 1448 * 8 / 1e3 / response(long))
            yield f"run2c-{setting}", name, values


def run2c_d2() -> Found:
    """Figures 12 to 14: the persistent flows have what the short ones leave; low under LAS."""
    rate = 1e7 / PACKET
    queue = mg1.Queue(D2, 0.2, rate)
    x = SHORT.astype(float)
    response = mg1.las(queue, x) + tcp(x, RTTS["s1"])
    nodes, weights = D2.nodes()
    whole = mg1.las(queue, nodes) + tcp(nodes, RTTS["s1"])
    values = {"in progress": float(whole @ weights) * queue.arrivals}
    yield "run2c-d2", "LAS", values | points("ms", SHORT, 1e3 * response)
    yield "run2c-d2", "PS", {"kbit/s": 0.8 * 1e4 * 1448 / 1500 / 50}


def las_4() -> Found:
    """At 4.63 Mbit/s, with handshake and slow start over 6 ms."""
    x = np.unique(np.rint(np.geomspace(2, 10000, 40)))
    for name, policy in policies(WEB, 0.7, 4.63e6 / PACKET).items():
        if name != "PS+PS":
            yield (
                "las-4",
                name,
                points("ms", x, 1e3 * (policy(x) + tcp(x, 0.006, 10000))),
            )


def sift_3() -> Found:
    x = np.arange(1, 501, 5)
    for samples, values in sift.figure3(x=x).items():
        yield "sift-3", f"T_s = {samples}", points("P_s", x, values)
    sizes = sift.bounded_pareto()
    wrong = sift.misclassified(sizes)
    shares = {"all %": wrong.all, "short %": wrong.short, "long %": wrong.long}
    shares["short parts %"] = sift.Split(sizes).short_parts
    yield "sift-3", "T_s = 1", {name: 100 * value for name, value in shares.items()}


def sift_4_to_7() -> Found:
    split = sift.Split(sift.bounded_pareto())
    for number in sift.FIGURES:
        loads = np.linspace(0.05, 0.99, 48)
        if number == 4:
            loads = np.append(loads, sift.MAX_LOAD)
        for name, delays in sift.figure(number, loads, split).items():
            yield f"sift-{number}", name, delay_points(loads, delays, 1)


def delay_points(loads: np.ndarray, delays: sift.Delays, scale: float) -> Metrics:
    kinds = {"short": delays.short, "long": delays.long, "all": delays.all}
    return {
        name: value
        for kind, values in kinds.items()
        for name, value in points(kind, loads, scale * values).items()
    }


def sift_ns() -> Found:
    """Figures 9 to 19, of loads below 1: ms, of whole flows, of packets of 1000 bytes."""
    split = sift.Split(sift.bounded_pareto(1, 10**8, 1.1, round_up=True))
    loads = np.array([0.6, 0.7, 0.9])
    for name in ("ps", "sift-ps"):
        delays = sift.SCHEMES[name](split, loads, 1e7 / 8000, flows=True)
        yield "sift-ns", name, delay_points(loads, delays, 1e3)
    yield "sift-ns", "sift-ps", {"short %": 100 * (1 - split.share)}


def sqf_tables() -> Found:
    """Tables 1 and 3 as printed, Table 3 by the equations, Table 4 both."""
    for policy in fluid.POLICIES:
        got = fluid.throughput(policy, LINK, [rtt / 1e3 for rtt in RTTS1])
        values = {f"X{i + 1}": x for i, x in enumerate(got)}
        values["Jain"] = got.sum() ** 2 / (got.size * (got**2).sum())
        yield "sqf-table1", policy, values
        sent = fluid.sending(policy, LINK, TURN_RTTS)
        got = fluid.throughput(policy, LINK, TURN_RTTS)
        both = [*sent, sent.sum(), *got, got.sum()]
        printed = fluid.table3(policy, LINK, TURN_RTTS)
        printed = [*printed[:2], printed[:2].sum(), *printed[2:], printed[2:].sum()]
        for name, of in (("", both), (" printed", printed)):
            keys = ("A1", "A2", "A", "X1", "X2", "X")
            yield f"sqf-table3{name}", policy, dict(zip(keys, of, strict=True))
        for rate in TABLE4:
            one = fluid.mixed(policy, LINK, 0.02, float(rate))
            values = {f"{rate} UDP lost": one.udp_loss, f"{rate} X1": one.tcp}
            yield "sqf-table4", policy, values
            lost, tcp = fluid.mixed_as_printed(policy, LINK, float(rate))
            yield "sqf-table4 printed", policy, {f"{rate} UDP lost": lost, f"{rate} X1": tcp}


def orbit_points(orbit: fluid.Orbit, names: list[str]) -> Metrics:
    time = np.arange(0, CURVE, POINT)
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


def sqf_figures() -> Found:
    """Figures 2, 3 and 5: equations (1) to (4), with the queue's delay and the loss felt later."""
    for policy in fluid.POLICIES:
        orbit = fluid.solve(policy, LINK, (0.002, 0.006), 30)
        yield "sqf-two", policy, orbit_points(orbit, ["TCP, 2 ms", "TCP, 6 ms"])
    orbit = fluid.solve("sqf", LINK, (0.02,), 30, udp=3)
    yield "sqf-udp", "sqf", orbit_points(orbit, ["TCP, 20 ms", "UDP"])
    orbit = fluid.solve("sqf", fluid.Link(buffer=20), (0.002, 0.005, 0.01), 30)
    yield "sqf-three", "sqf", orbit_points(orbit, [f"TCP, {rtt} ms" for rtt in (2, 5, 10)])


def sqf_4() -> Found:
    """Turns of two flows, (4) and (6), from where a turn of the first begins."""
    link = fluid.Link(buffer=2000)  # Lemma 5.1 needs as much
    cycle = fluid.cycle(link, TURN_RTTS)
    most = 2 * link.rate - cycle.begin[1]
    start = [float(cycle.begin[0]), float(most)]
    orbit = fluid.saturated("sqf", link, TURN_RTTS, 2.5 * cycle.period, start, link.buffer / 2)
    time = np.linspace(0, orbit.time[-1], 400)
    for i in range(2):
        values = points("Mbit/s", time, np.interp(time, orbit.time, orbit.sent[:, i]))
        ends = {"turn s": cycle.turns[i], "turn s printed": 2 * link.capacity * TURN_RTTS[i] ** 2}
        ends["begin Mbit/s"] = cycle.begin[i]
        yield "sqf-4", f"flow {i + 1}", values | ends


def excess() -> Found:
    """Of D1 over 10 Mbit/s and 6 ms: what waiting adds to the mean slowdown, by load."""
    for load in D1_LOADS:
        queue = mg1.Queue(D1, load, 1e7 / PACKET)
        for name, policy in {"srpt": mg1.srpt, "las": mg1.las, "ps": mg1.ps}.items():
            value = mg1.mean_slowdown(queue, policy, RTTS["s1"]) - 1
            yield f"load-{load:g}", name, {"excess": value}


PARTS = (
    *(run2c_1, run2c_2, run2c_d1, run2c_d2, las_4, sift_3, sift_4_to_7, sift_ns),
    *(sqf_tables, sqf_figures, sqf_4, excess),
)


def numbers() -> Rows:
    result: Rows = {}
    for part in PARTS:
        for figure, what, values in part():
            result.setdefault((figure, what, 0), {}).update(values)
    return result
