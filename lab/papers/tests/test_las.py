# SPDX-License-Identifier: GPL-2.0
"""The room of LAS' paper, and what the comparison is to reach."""

import numpy as np
import pytest

from lab.papers import excess, las
from lab.papers.tests import rooms
from lab.tests import made_up
from lab.tests.made_up import PAYLOAD, bulk, flows, given, stats


def test_items() -> None:
    rooms.check_items(las, "las", 4, 5, 6)
    assert [item.key for item in excess.items()] == ["excess"]


def test_models() -> None:
    rooms.check_models(las)
    rooms.check_models(excess)


def test_commands() -> None:
    runs = made_up.experiment("las-log").runs
    told = {q: made_up.words(runs["reno", q, 1]) for q in ("plain", "log-0.5", "log-1")}
    classes = {q: words.get("CLASSID") for q, words in told.items()}
    assert classes == {"plain": None, "log-0.5": "10:2", "log-1": "10:2"}
    assert told["plain"]["ROUTE"] == "initcwnd 1 rto_min 1000ms"


def packets(rates: list[float]) -> str:
    """One long flow of so many packets/s in each 10 s, beside downloads."""
    return flows([(5, 24.0)]) + bulk(np.array(rates)[:, None] * PAYLOAD * 8.0, 10) + stats()


def test_las_log() -> None:
    sent = {
        "plain": [100.0] * 50 + [0.0] * 50,
        "log-0.5": [100.0] * 20 + [50.0, 100.0] * 40,
        "log-1": [110.0] * 99 + [100.0],
    }
    texts = {name: [packets(rates)] for name, rates in sent.items()}
    found, unmet = given("las-log", "reno", texts)
    assert not unmet
    plain, half = found["plain"], found["log-0.5"]
    assert (plain["packets/s"], plain["packets/s, least"], plain["halts"]) == (50, 0, 50)
    assert plain["packets/s, last fifth"] == 0 and plain["packets/s@5"] == 100
    assert half["packets/s, least fifth"] == pytest.approx(75) and half["packets/s@985"] == 50
    texts["plain"], texts["log-1"] = texts["log-1"], texts["plain"]
    _, unmet = given("las-log", "reno", texts)
    assert [what.split(" at ")[0] for what in unmet] == [
        "reno, log-1: packets/s, least",
        "reno, plain: halts",
        "reno, log-1: halts",
        "reno, log-1: packets/s",
        "reno, log-0.5: packets/s",
    ]
