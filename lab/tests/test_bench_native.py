# SPDX-License-Identifier: GPL-2.0
"""Reading what native.sh prints, and the tables of it."""

from pathlib import Path

import pytest

from lab.commands import bench, bench_native
from lab.commands.bench_native import BASE, CACHES, FLOWS, PACKETS, Place
from lab.run.kinds import KINDS
from lab.run.qdiscs import OURS

NAMES = (BASE, "las")


def output(cycles: dict[str, list[int]], interrupted: int = 0, drops: int = 0) -> str:
    """Of each round the cycles of 10 packets, a third of them for dequeue"""
    text = ""
    for number in range(len(cycles[BASE])):
        for flows in FLOWS:
            for name in NAMES:
                for packets in PACKETS:
                    for caches in CACHES:
                        both = 10 * cycles[name][number] * (10 if caches == "cold" else 1)
                        text += f"case {number + 1}|{name}|{flows}|{packets}|{caches}\n"
                        text += f"enqueue_calls=10\nenqueue_sum={both - both // 3}\n"
                        text += f"dequeue_calls=10\ndequeue_sum={both // 3}\n"
                        text += f"drops={drops}\ninterrupted={interrupted}\nkhz=0\n"
    return text


GOOD = {BASE: [300, 400, 900], "las": [150, 160, 300]}


def test_median_of_the_rounds() -> None:
    found, interrupted = bench_native.parse(output(GOOD, interrupted=1), NAMES, 3)
    assert interrupted == 3 * len(found) == 3 * 2 * len(FLOWS) * len(PACKETS) * len(CACHES)
    assert bench_native.cost(found, Place("las", 100, "new", "warm")).cycles == 160
    cold = bench_native.cost(found, Place("las", 10000, "recycled", "cold"))
    # Not the ratio of the medians: a round that was slow was so for both
    assert (cold.cycles, cold.ratio) == (1600, 0.4)
    ratios = 150 / 300, 160 / 400, 300 / 900
    assert cold.spread == pytest.approx((ratios[0] - ratios[2]) / 4)


@pytest.mark.parametrize(
    "data",
    [
        "",
        output({BASE: [300, 400], "las": [150, 160]}),
        output(GOOD).replace("|las|", "|sqf|"),
        output(GOOD).replace("case 2|", "case 3|"),
        output(GOOD, drops=1),
        output(GOOD).replace("dequeue_calls=10", "dequeue_calls=0"),
    ],
)
def test_not_what_was_to_be_measured(data: str) -> None:
    with pytest.raises(bench.DataError):
        bench_native.parse(data, NAMES, 3)


def test_report(tmp_path: Path) -> None:
    found, _ = bench_native.parse(output(GOOD), NAMES, 3)
    instructions = bench_native.read_instructions(bench.COSTS)
    strange = {name for kind in KINDS if kind not in OURS for name in KINDS[kind].bench}
    known = set(bench_native.QDISCS) - strange
    assert {(name, flows) for name in known for flows in FLOWS} <= set(instructions)
    lines = bench_native.report(found, NAMES, instructions).splitlines()
    rows = [line.split() for line in lines if line.startswith("las ")]
    assert len(rows) == len(PACKETS) * len(FLOWS)
    counted = f"{instructions['las', 100]:.0f}"
    assert rows[0] == ["las", counted, "160", "1600", "0.40", "±0.04", "0.40", "±0.04"]
    bench_native.write_csv(tmp_path / "native.csv", found)
    written = (tmp_path / "native.csv").read_text().splitlines()
    assert len(written) == 1 + len(found)
    assert "las,100,new,warm,160.0,0.4000,0.0417,3" in written


def test_room_for_twice_the_flows() -> None:
    las = bench_native.QDISCS["las"]
    assert bench_native.with_room(las, 100) == las.words
    assert bench_native.with_room(las, 10000) == f"{las.words} flows 32768"
    for name, option in ((BASE, "flows 65536"), ("las", "flows 1048576"), ("fq", "buckets 262144")):
        assert bench_native.with_room(bench_native.QDISCS[name], 1000000).endswith(option)
    pfifo = bench_native.QDISCS["pfifo"]
    assert bench_native.with_room(pfifo, 1000000) == pfifo.words
