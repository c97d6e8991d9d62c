# SPDX-License-Identifier: GPL-2.0
"""The scoreboard's ratios, on numbers worked out by hand."""

import math
from pathlib import Path

import pytest

from lab.commands import scoreboard
from lab.commands.figures import once
from lab.measure.reading import DataError
from lab.measure.rows import Rows
from lab.measure.score import Part, Score, load, ratio, scores
from lab.measure.tables import LAG, LESS, MORE
from lab.run.experiment import EXPERIMENTS, read

PART = Part("mine", {"a": "a", "b": "b"}, less=("ms", "loss %"), more=("Mbit/s",))
ENOUGH = {"loss %": 0.1}
ROWS: Rows = {
    ("one", "a", 1): {"ms": 10, "loss %": 0, "Mbit/s": 5},
    ("one", "b", 1): {"ms": 20, "loss %": 2, "Mbit/s": 9},
    ("one", "mine", 1): {"ms": 11, "loss %": 0.05, "Mbit/s": 8},
    ("one", "mine", 2): {"ms": 17, "loss %": 0.05, "Mbit/s": 10},
    ("one", "mine", 3): {"ms": 11, "loss %": 0.05, "Mbit/s": 9},
    ("two", "a", 1): {"Mbit/s": 0},
    ("two", "b", 1): {"Mbit/s": 0, "ms": 3},
    ("two", "mine", 1): {"Mbit/s": 0},
}


def found(stored: Rows | None = None) -> dict[str, Score]:
    every = scores(PART, ROWS, ["mine"], {"mine": stored or {}}, ENOUGH)
    return {score.case: score for score in every}


@pytest.mark.parametrize(
    ("value", "other", "more", "least", "expected"),
    [
        (3, 2, False, 0, 1.5),
        (2, 3, True, 0, 1.5),
        (2, 3, False, 0, 2 / 3),
        (0, 0, False, 0, 1),
        (1, 0, False, 0, math.inf),
        (0, 1, True, 0, math.inf),
        (0.05, 0, False, 0.1, 1),
        (0.3, 0, False, 0.1, 3),
        (math.inf, math.inf, False, 0, 1),
        (math.inf, 5, False, 0, math.inf),
    ],
)
def test_ratio(value: float, other: float, more: bool, least: float, expected: float) -> None:
    assert ratio(value, other, more, least) == pytest.approx(expected)


def test_a_case_is_as_bad_as_its_worst_metric() -> None:
    one = found()["one"]
    assert one.peers and one.peers.metric == "ms" and one.peers.worse == pytest.approx(1.3)
    assert one.seeds and one.seeds.metric == "ms" and one.seeds.worse == pytest.approx(17 / 11)
    assert one.stored is None


def test_what_has_no_value_could_not_be_worse() -> None:
    two = found()["two"]
    assert two.peers and (two.peers.metric, two.peers.worse) == ("ms", math.inf)
    assert two.seeds is None


def test_against_stored_figures() -> None:
    one = found({("one", "las", 1): {"ms": 26, "Mbit/s": 18}})["one"]
    assert one.stored and (one.stored.metric, one.stored.worse) == ("Mbit/s", 2)


def test_summary_and_table() -> None:
    every = list(found({("one", "las", 1): {"ms": 13}}).values())
    text = scoreboard.summary(every, "mine").splitlines()
    assert text[0] == "mine: 2 of 2 cases over 1.1 times the better peer's"
    assert text[2].split() == "1.30 mine, one: ms 13, not 10".split()
    assert "0 of 2 cases over 1.1 times the stored figure" in "\n".join(text)
    lines = scoreboard.table(every, ["mine"]).splitlines()
    assert lines[1].split() == "mine, one 1.30* 1.00 1.55".split()
    assert lines[2].split() == "mine, two inf* - -".split()


def test_excess() -> None:
    rows: Rows = {
        ("base", q, 1): {"excess": x} for q, x in (("cake", 3), ("srpt", 0.2), ("mine", 0.3))
    }
    lines = scoreboard.excess(rows, ["mine"]).splitlines()
    assert lines[1].split() == "mine 0.300 0.100 1.500".split()


def test_what_is_listed_is_there() -> None:
    """Experiments, cases and metrics, and all metrics are of the direction that pages know."""
    for part in load().parts:
        experiment = read(EXPERIMENTS / f"{part.experiment}.toml")
        assert set(part.cases or ()) <= set(experiment.cases)
        for metric in part.less:
            assert LESS.fullmatch(metric) or metric == "web longest ms"
        for metric in part.more:
            assert MORE.fullmatch(metric) or metric == "web pages done"


@pytest.mark.parametrize("text", ['mroe = ["y"]', ""])
def test_a_wrong_list_is_refused(tmp_path: Path, text: str) -> None:
    part = f'[[part]]\nexperiment = "x"\n{text}'
    (tmp_path / "list.toml").write_text(f"[peers]\n[enough]\n{part}")
    with pytest.raises(DataError):
        load(tmp_path / "list.toml")


def test_every_part_can_be_run() -> None:
    qdiscs = {"las": "las", "mine": "las buffer 1s"}
    for part in load().parts:
        runs = scoreboard.runs_of(part, qdiscs, [1])
        assert {qdisc for _, qdisc, _ in runs.experiment.runs} >= {*qdiscs, *part.peers}
        assert set(scoreboard.stored_of(part, qdiscs)) == set(qdiscs)


def test_stored_figures_are_those_of_the_kind() -> None:
    part = next(part for part in load().parts if part.label == "home hosts dst")
    stored = scoreboard.stored_of(part, {"mine": "las buffer 1s"})["mine"]
    assert {qdisc for _, qdisc, _ in stored} == {"las-hosts"}


def test_lag_is_the_worst_of_all_runs() -> None:
    some = {metric: 1.0 for _, metric, _ in LAG}
    rows: Rows = {("one", "mine", 1): some, ("two", "mine", 1): some | {LAG[0][1]: 7.0}}
    rows |= {("one", "floor", 1): {"flows": 3}}
    lines = scoreboard.lag([(PART, rows)]).splitlines()
    assert len(lines) == 2 and lines[1].split() == ["mine,", "mine", "7", *["1"] * 10]


def test_no_two_runs_have_one_name() -> None:
    runs = [scoreboard.runs_of(part, {"las": "las"}, [1]) for part in load().parts]
    names = [job.name for _, jobs in once(runs) for job in jobs]
    assert len(set(names)) == len(names)


def test_every_part_can_be_recorded() -> None:
    for part in load().parts:
        runs = scoreboard.runs_of(part, {"las": "las"}, [1], record=True)
        jobs = [job for job in runs.experiment.jobs if "-floor-" not in job.name]
        assert all("RECORD=1" in job.args for job in jobs)
