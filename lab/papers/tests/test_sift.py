# SPDX-License-Identifier: GPL-2.0
"""The room of SIFT's paper, and its experiment's commands, numbers and bounds."""

import numpy as np
import pytest

from lab.measure.reading import DataError
from lab.papers import sift
from lab.papers.tests import rooms
from lab.tests import made_up
from lab.tests.made_up import flows, given, lengths, samples, stats


def test_items() -> None:
    rooms.check_items(sift, "sift", *range(3, 8), *range(9, 20), "table1")


def test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the slow ones made quick."""
    small = sift.model.bounded_pareto
    monkeypatch.setattr(sift.model, "bounded_pareto", lambda *_, **__: small(1, 10000, 1.1))
    monkeypatch.setattr(sift.model.Split, "__post_init__", lambda self: None)
    rooms.check_models(sift)


def test_commands() -> None:
    """Queues are seen only where they are drawn."""
    one = made_up.experiment("sift")
    watched = {key[:2]: job for key, job in one.runs.items() if "LENGTHS" in made_up.words(job)}
    assert set(watched) == {(f"queues {load}", q) for load in (0.9, 1.2) for q in ("fifo", "sift")}
    assert all(made_up.words(job)["LENGTHS"] == "0.1 2000" for job in watched.values())
    assert {
        q for case, q, _ in one.runs if q == "sift-gbw" and not case.startswith("red ")
    } == set()
    for (_, qdisc, _), job in one.runs.items():
        assert ("SAMPLES" in made_up.words(job)) == (qdisc != "fifo")
        assert made_up.words(job)["ROUTE"] == "advmss 960 window 19200 initcwnd 1 rto_min 1000ms"
        assert "--flows 30000 --mtu 1000 --wait 3600" in made_up.words(job)["FLOWGEN"]


def sift_run(delays: list[float], long: list[int], peak: int | None, senders: int = 5) -> str:
    """A flow for each delay in ms; those that were sampled, by number."""
    text = flows([(1, delay) for delay in delays], senders, 1000) + samples(long, senders)
    return text + (stats("sift", records_peak=peak) if peak else stats())


@pytest.mark.parametrize(
    ("delays", "peak", "unmet"),
    [
        ([10, 10, 10, 10, 1000, 10, 100], 1600, []),
        ([11, 11, 11, 11, 1000, 11, 100], 1600, ["ms short"]),
        ([10, 10, 10, 10, 1300, 10, 1000], 1600, ["ms all"]),
        ([10, 10, 10, 10, 6001, 10, 0.1], 1600, ["ms long", "ms all"]),
        ([10, 10, 10, 10, 1000, 10, 100], 1601, ["records"]),
    ],
)
def test_bounds_of_sift(delays: list[float], peak: int, unmet: list[str]) -> None:
    """Of seven flows two are sampled, and the FIFO's are the same."""
    fifo = [100.0, 100, 100, 100, 2000, 100, 1000]
    texts = {
        "fifo": [sift_run(fifo, [], None, 1)],
        "sift": [sift_run(delays, [4, 6], peak, 1)],
    }
    found, missed = given("sift", "tail 0.9", texts)
    assert [what.split(": ")[1].split(" at ")[0] for what in missed] == unmet
    assert found["fifo"]["flows long"] == 2 and found["fifo"]["ms long"] == 1500
    _, missed = given("sift", "tail 0.6", texts)
    assert [what.split(": ")[1].split(" at ")[0] for what in missed] == [
        name for name in unmet if name in ("ms long", "records")
    ]


def test_groups_of_sift() -> None:
    """Senders are told apart by their port."""
    texts = {
        "fifo": [sift_run([300, 100, 100, 100, 100, 500], [], None)],
        "sift": [sift_run([30, 10, 10, 10, 10, 50], [5], 7)],
    }
    found, unmet = given("sift", "rates 0.9", texts)
    assert not unmet
    fifo, sift = found["fifo"], found["sift"]
    assert (fifo["turtles flows"], fifo["turtles flows short"], fifo["turtles ms short"]) == (
        2,
        1,
        300,
    )
    assert (sift["turtles ms long"], sift["records"]) == (50, 7)
    assert (fifo["cheetahs ms all"], sift["cheetahs ms all"]) == (100, 10)
    assert fifo["cheetahs flows"] == 4 and np.isnan(fifo["cheetahs ms long"])
    assert fifo["flows"] == 6 and fifo["ms all"] == 200


def test_samples_of_another_qdisc() -> None:
    """Without it, nobody knows which are short; and it must have had the same flows."""
    found, unmet = given("sift", "tail 0.9", {"fifo": [sift_run([10, 20], [], None, 1)]})
    assert not unmet and "flows short" not in found["fifo"]
    texts = {"fifo": [sift_run([10], [], None, 1)], "sift": [sift_run([10, 20], [], 7, 1)]}
    with pytest.raises(DataError, match="have not had the same flows"):
        given("sift", "tail 0.9", texts)
    text = sift_run([10, 20], [0], 7, 1).replace(",2001,", ",2000,")
    with pytest.raises(DataError, match="cannot be told apart"):
        given("sift", "tail 0.9", {"sift": [text]})


def test_lengths_of_sift() -> None:
    text = sift_run([10, 20], [1], 7, 1) + lengths((10, 30, 2), (10.5, 4, 50), (60.5, 90, 100))
    found, _ = given("sift", "queues 0.9", {"sift": [text]})
    one = {k: v for k, v in found["sift"].items() if k.startswith(("high", "low"))}
    over = one.pop("high, >50 %"), one.pop("high, >60 %")
    assert over == pytest.approx((100 / 3, 100 / 3))
    assert one == {
        "high, most": 90, "low, most": 100, "high@0": 30, "high@0.5": 4, "low@0": 2, "low@0.5": 50
    }  # fmt: skip
    plain = f"lengths 10 {stats('pfifo', qlen=150)}"
    found, _ = given("sift", "queues 0.9", {"fifo": [sift_run([10, 20], [], None, 1) + plain]})
    assert (found["fifo"]["high, most"], found["fifo"]["low, most"]) == (150, 0)
    with pytest.raises(DataError, match="truncated"):
        given("sift", "queues 0.9", {"fifo": [sift_run([10], [], None, 1) + plain[:30]]})
    with pytest.raises(DataError, match="no lengths"):
        given("sift", "queues 0.9", {"fifo": [sift_run([10], [], None, 1)]})
