# SPDX-License-Identifier: GPL-2.0
"""Reading what bench.sh prints, and the tables of it."""

from pathlib import Path

import pytest

from lab.commands import bench
from lab.run.kinds import KINDS, VARIANTS
from lab.run.qdiscs import OURS

MEMORY = "memory flows=0 bytes=2048\nmemory flows=1 bytes=3072\n"


def case(name: str, enqueue: int = 1000, khz: int = 1000000) -> str:
    numbers = {
        "enqueue_calls": 10,
        "enqueue_sum": enqueue,
        "enqueue_max": 120,
        "dequeue_calls": 10,
        "dequeue_sum": 500,
        "dequeue_max": 60,
        "drops": 3,
        "qlen": 100,
        "khz": khz,
    }
    return f"case {name}\n" + "".join(f"{key}={value}\n" for key, value in numbers.items())


def output(**changes: int) -> str:
    return "".join(case(each.name, **changes) for each in bench.CASES) + MEMORY


def test_parse() -> None:
    costs, memory = bench.parse("las", output(khz=999999))
    assert set(costs) == {each.name for each in bench.CASES}
    assert costs["1 flows"] == bench.Cost(100, 50, 120, 60, 3)
    assert costs["1 flows"].both == 150
    assert memory == {0: 2048, 1: 3072}


@pytest.mark.parametrize("data", [output(khz=2596142), output().replace("SYN", "ACK"), ""])
def test_not_what_was_to_be_measured(data: str) -> None:
    with pytest.raises(bench.DataError):
        bench.parse("las", data)


def test_compare() -> None:
    a, b = ("las", "a"), ("sqf", "b")
    text, good = bench.compare({a: 0.5, b: 0.8}, {a: 0.514, b: 0.6})
    assert good and "DEARER" not in text and text.count("cheaper") == 1
    text, good = bench.compare({a: 0.5, b: 0.8}, {a: 0.5, b: 0.83})
    assert not good and text.splitlines()[2].split() == "sqf, b 0.8000 0.8300 +3.7 DEARER".split()


@pytest.mark.parametrize(
    ("enqueue", "highest", "case", "reached"),
    [
        (250, 2999, "100 flows", True),
        (260, 2999, "100 flows", False),
        (250, 3000, "100 flows known", False),
        # To split a packet is the work of many
        (260, 3000, "GSO of 44 segments", True),
    ],
)
def test_goals(enqueue: int, highest: int, case: str, reached: bool) -> None:
    """At 0.3 of fq_codel, but for one case."""
    fq_codel, _ = bench.parse("fq_codel", output(enqueue=9500))
    run2c, _ = bench.parse("run2c", output(enqueue=2500))
    run2c[case] = bench.Cost(enqueue, 50, highest, 60, 3)
    text, good = bench.goals({"fq_codel": fq_codel, "run2c": run2c, "las": fq_codel})
    assert good == reached and text.count("\n") == 1 and text.startswith("run2c: ")
    assert text.endswith(": met\n") == reached
    assert ("100 flows: 0.31" in text) == (enqueue == 260 and not reached)
    assert bench.goals({"run2c": run2c}) == ("", True)


@pytest.mark.parametrize(("htb", "met"), [(2550, True), (2450, False)])
def test_goals_of_those_that_shape(htb: int, met: bool) -> None:
    """las is at 150, and CAKE at 250 or more."""
    las, _ = bench.parse("las-rate", output(enqueue=1000))
    cake, _ = bench.parse("cake-rate", output(enqueue=2000))
    under, _ = bench.parse(bench.HTB, output(enqueue=htb))
    costs = {"las-rate": las, "cake-rate": cake, bench.HTB: under}
    text, good = bench.shaped_goals(costs)
    assert (
        good == met and text.count("\n") == 2 and "cake-rate's with 100 flows (0.600): met" in text
    )
    assert bench.shaped_goals({bench.HTB: under}) == ("", True)


def test_those_that_shape() -> None:
    """Each is a part of HTB's with fq_codel; what that is takes three commands of tc."""
    assert bench.base_of("las-rate") == bench.HTB and bench.base_of("las") == "fq_codel"
    steady, full = bench.QDISCS[bench.HTB]
    assert steady.count("+") == full.count("+") == 2 and "fq_codel limit 100 " in full
    for kind in OURS:
        words = bench.QDISCS[f"{kind}-rate"][0]
        assert words.startswith(f"{kind} rate 100gbit ")


def test_stored_ratios() -> None:
    """What is stored can be measured, and is less than the peer's, but where fq_codel is given the
    hash of each packet and las, which believes none, makes its own."""
    stored = bench.read_ratios()
    assert {case for _, case in stored} <= {each.name for each in bench.CASES}
    have = {qdisc for qdisc, _ in stored}
    assert {name for kind in OURS for name in KINDS[kind].bench} <= have
    assert have <= {*VARIANTS, *bench.SHAPED}
    assert ("las", "100 flows") in stored
    assert {case for (_, case), ratio in stored.items() if ratio >= 1} <= {"100000 flows known"}
    assert max(stored.values()) < 2.5


def test_report(tmp_path: Path) -> None:
    costs, memory = {}, {}
    for name, enqueue in (("fq_codel", 1500), ("las", 1000)):
        costs[name], memory[name] = bench.parse(name, output(enqueue=enqueue))
    lines = bench.report(costs, memory).splitlines()
    rows = [line.split() for line in lines if line.startswith("1 flows ")]
    assert rows[0][2:] == ["200", "150"] and rows[2][2:] == ["1.00", "0.75"]
    assert lines[-1].split() == ["las", "2.0", "3.0"]
    bench.write_csv(tmp_path / "costs.csv", costs)
    written = (tmp_path / "costs.csv").read_text().splitlines()
    assert written[1] == "fq_codel,1 flows,150.00,50.00,120,60,3"
    assert len(written) == 1 + 2 * len(bench.CASES)
