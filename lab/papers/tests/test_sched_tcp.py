# SPDX-License-Identifier: GPL-2.0
"""The room of SCHED_TCP's paper."""

import pytest

from lab.measure.rows import Rows
from lab.models.simulate import responses
from lab.papers import sched_tcp
from lab.papers.tests import rooms
from lab.papers.vocabulary import Apart, At, value_of
from lab.tests import made_up


def test_items() -> None:
    rooms.check_items(sched_tcp, "sched-tcp", 6, 7, 8, 9, "table2")


def test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sched_tcp, "RUNS", 3)
    rooms.check_models(sched_tcp)


def test_model_of_fair() -> None:
    """Nobody ends later than under equal shares, and somebody ends as he would there."""
    rng = sched_tcp.np.random.default_rng(1)
    start, sizes = sched_tcp.drawn(rng)
    tcp, fair = (responses(policy, start, sizes) for policy in ("ps", "fair"))
    assert (fair <= tcp + 1e-6).all() and (fair < 0.9 * tcp).mean() > 0.5
    assert abs(fair - tcp).min() < 1e-6


def test_commands() -> None:
    six, table2 = (made_up.experiment(name).runs for name in ("sched-tcp-sample", "sched-tcp"))
    told = made_up.words(six["base", "srpt", 1])
    assert (told["PAIR"], told["PAIR_PORTS"]) == ("srpt", "8000 8001")
    assert "sample:at_once=1,host=1" in told["FETCH"] and "sample:via" not in told["FETCH"]
    assert made_up.words(table2["base", "fair", 1])["PAIR_PORTS"] == "5000"
    assert "PAIR" not in made_up.words(six["base", "direct", 1])
    # Policies have the same flows at the same times
    assert len({made_up.words(six["base", q, 2])["FETCH"] for q in ("tcp", "las")}) == 1


def test_apart() -> None:
    """Of the means of the seeds, not the mean of what each is apart."""
    rows: Rows = {
        ("a", "tcp", 1): {"x@1": 100, "x@2": 100},
        ("a", "tcp", 2): {"x@1": 100, "x@2": 100},
        ("a", "las", 1): {"x@1": 90, "x@2": 100},
        ("a", "las", 2): {"x@1": 110, "x@2": 104},
    }
    pair = [At("e", "a", qdisc, "x", True) for qdisc in ("las", "tcp")]
    assert value_of(Apart(*pair), {"e": rows}) == pytest.approx(2)
    assert At("e", "a", "las", "x").curve({"e": rows}) == [(1, 90), (2, 100)]
    assert value_of(Apart(*pair, since=3), {"e": rows}) is None
    # What is stored is the mean, in the place of the first seed
    rows["a", "las", 1], rows["a", "las", 2] = {"x@1": 100, "x@2": 102}, {"y": 7}
    assert value_of(Apart(*pair), {"e": rows}) == pytest.approx(2)
