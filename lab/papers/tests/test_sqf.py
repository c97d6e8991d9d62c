# SPDX-License-Identifier: GPL-2.0
"""The room of SQF's paper."""

import numpy as np
import pytest

from lab.papers import sqf
from lab.papers.tests import rooms
from lab.tests import made_up
from lab.tests.made_up import PAYLOAD, WIRE, bulk, cbr, given, intervals, stats


def test_items() -> None:
    rooms.check_items(sqf, "sqf", 1, 2, 3, 4, 5, "table1", "table3", "table4")


def test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the slow one made quick."""
    solve = sqf.fluid.solve
    quick = {"step": 0.01}
    monkeypatch.setattr(sqf.fluid, "solve", lambda *a, **k: solve(*a, **(k | quick)))
    rooms.check_models(sqf)


def test_commands() -> None:
    table4 = made_up.experiment("sqf-table4").only(seeds=[1, 2]).runs
    assert [made_up.words(table4["reno 3mbit", "fq", seed])["CBR"] for seed in (1, 2)] == [
        "udp:20:0.857*0,319.143*1472/4037.333333",
        "udp:20:0.958*0,319.042*1472/4037.333333",
    ]
    assert made_up.words(table4["ns2 7mbit", "fq", 1])["CBR"].endswith("*1472/1730.285714")
    figures = made_up.words(made_up.experiment("sqf-figures").runs["udp", "lqf", 1])
    assert figures["CBR"] == "udp:20:10*0,30*1472/4037.333333"
    assert figures["QUEUES"] == "--flows 6 --interval 0.01 --duration 40"


def sqf_run(rates: list[float], sent: float = 1.0, lost: int | None = None) -> str:
    """A run of a table: Mbit/s on the wire of each flow, and how many of 10 datagrams are lost.

    In the first 20 s, which do not count, nothing goes.
    """
    size = np.tile(rates, (640, 1)) * 1e6 * PAYLOAD / WIRE
    size[:40] = 0
    udp = "" if lost is None else cbr("udp", [0] * lost + [5] * (10 - lost), 5)
    return bulk(size, 0.5, sent) + udp + stats("sqf")


def test_sqf_table3() -> None:
    rates = {"fq": [5.0, 5], "lqf": [7.0, 3], "sqf": [3.0, 7]}
    texts = {name: [sqf_run(of, sent=1.1)] * 3 for name, of in rates.items()}
    found, unmet = given("sqf-table3", "reno", texts)
    assert not unmet
    assert found["sqf"]["X2"] == pytest.approx(7, rel=1e-5)
    assert found["lqf"]["A1"] == pytest.approx(7.7, rel=1e-5)
    assert found["fq"]["X"] == pytest.approx(10, rel=1e-5)
    assert found["fq"]["received / sent"] == pytest.approx(1 / 1.1, rel=1e-5)
    texts["sqf"][1] = sqf_run([7, 3])  # a mean of 4.33 and 5.67
    _, unmet = given("sqf-table3", "reno", texts)
    assert [what.split(":")[0] for what in unmet] == ["reno, sqf"] * 2
    _, unmet = given("sqf-table3", "ns2", texts)
    assert not unmet


def test_sqf_table4() -> None:
    texts = {"fq": [sqf_run([4], lost=3)], "sqf": [sqf_run([4], lost=0)]}
    found, unmet = given("sqf-table4", "reno 7mbit", texts)
    # 3 of 10 are 2.1 Mbit/s of 7
    assert not unmet and found["fq"]["udp loss %"] == pytest.approx(30)
    texts = {"fq": [sqf_run([4], lost=0)], "sqf": [sqf_run([4], lost=2)]}
    _, unmet = given("sqf-table4", "reno 3mbit", texts)
    assert len(unmet) == 1 and unmet[0].startswith("reno 3mbit, sqf: udp loss % at most 3.33")


def test_sqf_table1() -> None:
    rates = {"fq": [3.3, 3.3, 3.3], "lqf": [8, 2, 0.1], "sqf": [1.0, 4, 5]}
    found, unmet = given("sqf-table1", "reno", {name: [sqf_run(of)] for name, of in rates.items()})
    # As unfair on the short term as on the long one, which is not what is expected of sqf
    assert unmet == ["reno, sqf: bulk Jain, short at most 0.85 of bulk Jain's (1)"]
    assert found["sqf"]["bulk Jain"] == pytest.approx(100 / (3 * 42), rel=1e-4)
    turns = np.zeros((640, 3))
    turns[np.arange(640), np.arange(640) % 3] = 1e7
    found, _ = given("sqf-table1", "reno", {"sqf": [bulk(turns, 0.5) + stats()]})
    assert found["sqf"]["bulk Jain, short"] == pytest.approx(1 / 3)
    assert found["sqf"]["bulk Jain"] == pytest.approx(1, rel=1e-4)


def test_sqf_figures() -> None:
    turn = np.arange(4000) // 50 % 2 == 0  # half a second each
    alone = np.stack([turn, ~turn], axis=1) * 9.6e6
    queues = np.stack([~turn, turn], axis=1) * 80000
    fair = np.full((4000, 2), 4.8e6)

    def run(rates: np.ndarray) -> list[str]:
        return [bulk(rates, 0.01) + intervals("queues", queues, 0.01) + stats("sqf")]

    found, unmet = given("sqf-figures", "two", {"sqf": run(alone), "fq": run(fair)})
    assert not unmet
    assert found["sqf"]["turn s"] == pytest.approx(0.43, abs=0.01)  # less the 0.1 s of its mean
    assert found["sqf"]["kB1"] == 40 and found["sqf"]["kB2@0.02"] == 80
    assert found["sqf"]["X1"] == pytest.approx(4.8 * WIRE / PAYLOAD)
    assert found["fq"]["A1@2.98"] == pytest.approx(4.8 * WIRE / PAYLOAD)
    assert "A1@3" not in found["fq"] and "packets/s@0.005" not in found["fq"]
    _, unmet = given("sqf-figures", "two", {"sqf": run(fair), "fq": run(alone)})
    assert [what.split(":")[0] for what in unmet] == ["two, sqf", "two, fq"]
