# SPDX-License-Identifier: GPL-2.0
"""What is to be reached: no article's, the excess slowdown on D1."""

from collections.abc import Iterator

from lab.measure.reading import WIRE_BITS
from lab.models import mg1
from lab.papers.run2c import D1, RATE, RTTS
from lab.papers.vocabulary import At, Found, Item, Line, Panel, Row, ratio, theory

NAME = "goals"
LOADS = (0.5, 0.7, 0.9, 0.95)


def items() -> Iterator[Item]:
    def excess(qdisc: str, experiment: str = "d1-long", case: str = "base") -> At:
        return At(experiment, case, qdisc, "excess")

    known = ratio(theory("load-0.9", "las", "excess"), theory("load-0.9", "srpt", "excess"))
    cakes = [excess(name, "d1-load", "load-0.9") for name in ("cake-rate", "cake")]
    rows = (
        Row("las / srpt", ratio(excess("las"), excess("srpt")), 1.35, "<=", model=known),
        Row("sqf / srpt", ratio(excess("sqf"), excess("srpt")), 1.5, "<="),
        Row("las / cake", ratio(excess("las"), excess("cake")), 0.1, "<="),
        Row("cake that is told the rate / cake, 50 s", ratio(*cakes)),
    )
    lines = []
    for qdisc in ("las", "srpt", "cake"):
        by_load = ((load, At("d1-load", f"load-{load:g}", qdisc, "excess")) for load in LOADS)
        lines.append(Line(qdisc, tuple(by_load)))
    for name in ("srpt", "las", "ps"):
        by_load = ((load, theory(f"load-{load:g}", name, "excess")) for load in LOADS)
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


def models() -> Found:
    """Of D1 over 10 Mbit/s and 6 ms: what waiting adds to the mean slowdown, by load."""
    for load in LOADS:
        queue = mg1.Queue(D1, load, RATE / WIRE_BITS)
        for name, policy in {"srpt": mg1.srpt, "las": mg1.las, "ps": mg1.ps}.items():
            value = mg1.mean_slowdown(queue, policy, RTTS["s1"]) - 1
            yield f"load-{load:g}", name, {"excess": value}
