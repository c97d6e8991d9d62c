# SPDX-License-Identifier: GPL-2.0
"""The room of RuN2C's paper."""

import numpy as np
import pytest

from lab.papers import run2c
from lab.papers.tests import rooms
from lab.tests import made_up
from lab.tests.made_up import Flow, bulk, flows, given, stats


def test_items() -> None:
    rooms.check_items(run2c, "run2c", 1, 2, *range(4, 15))


def test_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the slow ones made quick."""
    monkeypatch.setattr(run2c.mg1, "mean_ps_ps", lambda queue, threshold: threshold)
    monkeypatch.setattr(run2c.mg1, "best_threshold", lambda *_: (200, 1))
    rooms.check_models(run2c)


def test_commands() -> None:
    """What is adapted, and to what."""
    one = made_up.experiment("run2c")
    runs = one.runs | one.short.runs
    assert len(runs) == 4 * 5 * 2 + 2 * 2 + 1 + 3
    args = {f"{case} {qdisc}": made_up.words(job) for (case, qdisc, _), job in runs.items()}
    adapted = {name: of["ISN"] for name, of in args.items() if "ISN" in of}
    assert adapted["mixed run2c"] == adapted["mixed-today run2c"] == "5000-5004"
    assert adapted["s1-d2 run2c"] == adapted["quick run2c"] == "5000-7063"
    assert all(name.endswith(" run2c") for name in adapted) and len(adapted) == 4 * 2 + 2 + 1
    today = {name for name, of in args.items() if "TCP" not in of and "ROUTE" not in of}
    assert today == {name for name in args if "-today " in name}
    assert args["s2-d2 las"]["LINKS"] == " ".join(["2mbit/60"] * 10)
    assert args["s2-d2 las"]["BULK"] == "--flows 50 --interval 10 --duration 200"
    assert "BULK" not in args["s2-d1 las"]


def run2c_run(some: list[Flow], persistent: list[int] | None = None) -> list[str]:
    """Flows of so many packets and ms, begun 1 s after each other; kbit/s of others."""
    beside = bulk(np.array([persistent]) * 1e3, 10) if persistent else ""
    return [flows(some, 10) + beside + stats()]


SLOW: list[Flow] = [(5, 1000.0), (20, 3000.0), (21, 9000.0)]


@pytest.mark.parametrize(
    ("case", "name", "some", "unmet"),
    [
        ("s1-d1", "run2c", [(5, 30), (20, 60), (21, 9000)], []),  # a mean of 45 against 2000
        ("s1-d1", "run", [(5, 100), (20, 60), (21, 9)], ["max ms"]),
        ("s1-d1", "run2c-learn", [(5, 350), (20, 60), (21, 9)], ["ms", "max ms"]),
        ("s2-d1", "run2c", [(5, 1000), (20, 3000)], []),  # without a bound
        ("s1-d1-today", "run2c", [(5, 1000), (20, 3000)], []),
        ("quick", "run2c", [(5, 375), (20, 375)], []),
        ("quick", "run2c", [(5, 190), (20, 376)], ["max ms"]),
    ],
)
def test_gain_of_run2c(case: str, name: str, some: list[Flow], unmet: list[str]) -> None:
    texts = {"droptail": run2c_run(SLOW), name: run2c_run(some)}
    _, missed = given("run2c", case, texts)
    found = [what.split(": ")[1].split(" <=20")[0] for what in missed]
    assert found == unmet


# Ten senders, of whom the second five are not adapted
@pytest.mark.parametrize(("delay", "met"), [(1250, True), (1251, False)], ids=["at most", "more"])
def test_mixed_senders(delay: float, met: bool) -> None:
    texts = {
        "droptail": run2c_run([(5, 1000)] * 10),
        "run2c": run2c_run([(5, 20)] * 5 + [(5, delay)] * 5),
    }
    found, unmet = given("run2c", "mixed", texts)
    assert (not unmet) == met and all("others ms all" in what for what in unmet)
    mine = found["run2c"]
    assert (mine["adapted flows"], mine["adapted failed"], mine["adapted in progress, most"]) == (
        5,
        0,
        1,
    )
    assert mine["adapted ms <=8"] == mine["adapted max ms <=20"] == 20
    assert np.isnan(mine["adapted ms >100"])


@pytest.mark.parametrize(
    ("run", "run2c", "unmet"),
    [
        ([1000, 1010], [900, 1100], []),
        ([1000, 1011], [900, 1100], ["run"]),
        ([1000, 1000], [899, 1100], ["run2c"]),
    ],
)
def test_persistent_flows_of_run2c(run: list[int], run2c: list[int], unmet: list[str]) -> None:
    rates = {"droptail": [1100, 900], "run": run, "run2c": run2c}
    texts = {name: run2c_run(SLOW, each) for name, each in rates.items()}
    found, missed = given("run2c", "s1-d2", texts)
    assert [what.split(":")[0] for what in missed] == [f"s1-d2, {name}" for name in unmet]
    fifo = found["droptail"]
    shown = [fifo[f"bulk {what}"] for what in ("kbit/s", "variance", "apart %")]
    assert shown == pytest.approx([1000, 10000, 20])
    assert (fifo["bulk kbit/s@1"], fifo["bulk kbit/s@2"]) == (1100, 900)
    _, missed = given("run2c", "s2-d2", texts)
    assert not missed
