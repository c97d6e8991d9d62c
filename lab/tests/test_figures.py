# SPDX-License-Identifier: GPL-2.0
"""The figures and tables of the papers, the page and what it must not be silent on."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.commands import figures
from lab.measure import rows as metrics
from lab.measure.bounds import Verdict
from lab.measure.numbers import measure
from lab.measure.reading import DataError
from lab.measure.rows import Means, Rows, means, points
from lab.measure.tables import compared
from lab.page import advice as choose
from lab.page import comparisons, costs, experiment_pictures, pace, stored
from lab.page import results as page
from lab.papers.index import ITEMS
from lab.papers.vocabulary import At, Benefit, Item, Least, Line, Panel, Row, ratio, taken_of
from lab.run import experiment as files
from lab.run.experiment import Experiment, find, on_page, read
from lab.run.qdiscs import OURS
from lab.tests import made_up
from vm import Built, Result, VMError

SCREEN = 45, 120  # lines and columns


def used() -> list[tuple[At, bool]]:
    """All that the items take from somewhere, and whether it is a curve."""
    return [one for items in ITEMS.values() for item in items for one in taken_of(item)]


def ours(name: str) -> Experiment:
    path = find(name)
    assert path
    return read(path)


@pytest.mark.parametrize("name", sorted({at.experiment for at, _ in used()} - {"theory"}))
def test_what_items_take_is_what_experiments_give(name: str) -> None:
    """Of runs that were never run."""
    one = ours(name)
    assert one.place
    results = {name: measure(one, made_up.data(one))}
    for at, curve in used():
        if at.experiment == name:
            assert at.curve(results) if curve else at.values(results), at


def at(metric: str, qdisc: str = "las") -> At:
    return At("x", "base", qdisc, metric)


def rows(**values: float) -> Rows:
    return {("base", "las", 1): dict(values)}


@pytest.mark.parametrize(
    ("number", "row", "said"),
    [
        (11, Row("a", at("a"), 10), ""),
        (11.1, Row("a", at("a"), 10), "+11 % of the paper"),
        (8.9, Row("a", at("a"), 10), "-11 % of the paper"),
        (11.1, Row("a", at("a"), 10, ">="), ""),
        (8.9, Row("a", at("a"), 10, ">="), "-11 % of the paper"),
        (11.1, Row("a", at("a"), 10, "<="), "+11 % of the paper"),
        (0.9, Row("a", at("a"), 0, scale=10), ""),
        (1.1, Row("a", at("a"), 0, scale=10), "+1.1 against the paper"),
        (3, Row("a", at("a"), None, model=at("b")), "+50 % of the model"),
        (3, Row("a", at("a"), 2, model=at("b")), "+50 % of the paper, +50 % of the model"),
        (2, Row("a", None, 4, model=at("a")), "-50 % of the paper"),
    ],
)
def test_deviations_have_their_sentence(number: float, row: Row, said: str) -> None:
    item = Item("i", "I", "x", (row,))
    results = {"x": rows(a=number, b=2)}
    one = page.Page(results, {})
    cells = one.cells(item, row)
    assert cells[-1] == (f"{said}: **not explained**" if said else "") and not one.missing
    assert one.unsaid == ([f"i: a: {said}"] if said else [])
    other = page.Page(results, {"i": {"[ab]": "It is so."}})
    assert other.cells(item, row)[-1] == (f"{said}: It is so." if said else "")
    assert not other.unsaid


def test_what_is_missing_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    item = Item("i", "I", "x", (Row("a", ratio(at("a"), at("b"))), Row("c", at("c"), 1)))
    one = page.Page({"x": rows(a=1, c=1)}, {})
    assert [one.cells(item, row)[1] for row in item.rows] == ["**missing**", "1"]
    assert one.missing == ["i: a"]
    other = page.Page({}, {})
    assert [other.cells(item, row)[1] for row in item.rows] == ["**missing**"] * 2
    assert other.missing == ["x"]
    assert figures.tell(one, [], tmp_path, False) == 1
    assert "missing: i: a" in capsys.readouterr().err
    assert figures.tell(page.Page({}, {}), [], tmp_path, False) == 0
    assert figures.tell(page.Page({}, {}, unsaid=["i: a: +50 %"]), [], tmp_path, False) == 1
    assert figures.tell(page.Page({}, {}), [Verdict("x at most 1 (2)", False)], tmp_path, True) == 1
    assert "x at most 1 (2): NOT MET" in capsys.readouterr().err


def test_page_without_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def drawn(item: Item, _: object, where: Path) -> None:
        (where / f"{item.key}.svg").touch()

    monkeypatch.setattr(page, "picture", drawn)
    where = tmp_path / "results"
    where.mkdir()
    one = page.write(where)
    text = "".join(path.read_text() for path in where.glob("*.md"))
    count = sum(bool(row.measured) for items in ITEMS.values() for i in items for row in i.rows)
    assert text.count("| **missing** |") >= count
    assert {path.suffix for path in where.iterdir()} == {".md", ".svg"}
    assert [path.name for path in where.glob("*.svg")] == ["costs.svg"]
    assert set(one.missing) == {"theory", *(part.name for part in figures.parts())}


def test_a_note_that_is_not_needed(tmp_path: Path) -> None:
    notes = {"run2c-6": {"nothing": "x"}, "no item": {"*": "y"}}
    one = page.Page({}, notes)
    one.pages(tmp_path)
    assert one.unsaid == ["no item: nothing deviates where a note is on '*'"]
    one = page.Page({"run2c": rows(a=1)}, notes)
    one.pages(tmp_path)
    assert one.unsaid[0] == "run2c-6: nothing deviates where a note is on 'nothing'"


def test_notes(tmp_path: Path) -> None:
    assert stored.load_notes(tmp_path) == {}
    (tmp_path / "notes.toml").write_text('[run2c-6]\n"a*" = "It is so."\n')
    assert stored.load_notes(tmp_path) == {"run2c-6": {"a*": "It is so."}}
    for wrong in ("[run2c-6", 'run2c-6 = "It is so."\n', "[run2c-6]\na = 1\n", "[run2c-6]\n"):
        (tmp_path / "notes.toml").write_text(wrong)
        with pytest.raises(DataError, match="notes.toml: "):
            stored.load_notes(tmp_path)


def test_the_same_page_to_the_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    panel = Panel("p", "x", "y", (Line("l", at("c")), Line("m", ((1.0, at("a")),), True)), log="x")
    mine = Item("i", "I", "x", (Row("a", at("a"), 1),), (panel,) * 3, reason="So it is.")
    for module in (page, stored):
        monkeypatch.setattr(module, "ITEMS", {"paper": [mine]})
    found = {("base", "las", n): {"a": n / 3, **points("c", [1, 2], [3, n])} for n in (1, 2, 3)}
    written = []
    for name in "ab":
        where = tmp_path / name / "results"
        stored.store(where, "x", found)
        page.write(where, {"x"})
        files = [*where.iterdir(), where.with_suffix(".md")]
        written.append({path.name: path.read_bytes() for path in files})
    assert written[0] == written[1]
    pages = {"results.md", "paper.md", "which.md"}
    assert set(written[0]) == {"x.csv", "x-curves.csv", "i.svg", *pages}
    text = written[0]["paper.md"].decode()
    assert "| a | 0.6667 ±0.83 | 1 | - | -33 % of the paper |" in text
    again = stored.load(tmp_path / "a/results")["x"]
    assert again["base", "las", 1] == {"a": pytest.approx(1 / 3, rel=1e-6), "c@1": 3, "c@2": 1}
    assert again["base", "las", 2] == {"a": pytest.approx(2 / 3, rel=1e-6)}


def test_share_of_flows_that_gain() -> None:
    def run(ms: list[float]) -> dict[str, float]:
        return points("ms", [1, 2, 4], ms) | points("flows by size", [1, 2, 4], [70, 20, 10])

    results = {"x": {("base", "las", 1): run([1, 2, 9]), ("base", "fifo", 1): run([2, 2, 8])}}
    assert Benefit(at("ms"), at("ms", "fifo")).values(results) == [70]
    assert Benefit(at("ms", "fifo"), at("ms")).values(results) == [10]
    assert Benefit(at("ms"), at("ms", "none")).values(results) == []


def test_least() -> None:
    def run(*ms: float) -> dict[str, float]:
        return points("ms", [1, 2, 4], ms)

    results = {"x": {("base", "las", 1): run(3, 2, 1), ("base", "fifo", 1): run(1, 1, 10)}}
    assert Least(at("ms"), at("ms", "fifo")).values(results) == [0.1]
    assert Least(at("ms"), at("ms", "fifo"), 2).values(results) == [2]
    assert Least(at("ms"), at("ms", "none")).values(results) == []


def averaged(*every: Rows) -> list[Means]:
    return [means(rows) for rows in every]


def test_in_words() -> None:
    """What all have is nobody's gain, and what is not seen in two digits nobody's loss."""

    def of(qdisc: str, ms: float, rate: float, loss: float, excess: float) -> Rows:
        values = {"ms <=8": ms, "kbit/s >100": rate, "call loss %": 0.0, "loss %": loss}
        return {("base", qdisc, 1): values | {"excess": excess}}

    rows = of("fq_codel", 10, 100, 1, 1) | of("las", 5, 50, 0, 1.001) | of("sqf", 20, 200, 3, 0.5)
    assert list(choose.in_words(averaged(rows))) == [
        "- `las`. Best: response of short flows, up to 8 packets; loss of downloads. "
        "Behind fq_codel: throughput of long flows, over 100 packets (0.50).",
        "- `sqf`. Best: throughput of long flows, over 100 packets; excess. Behind fq_codel: "
        "response of short flows, up to 8 packets (2.00); loss of downloads (3.00 against 1.00 %).",
    ]
    assert list(choose.in_words([])) == []


def test_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "costs.csv"
    monkeypatch.setattr(costs, "COSTS", path)
    lines = ["qdisc,case,enqueue,dequeue,enqueue_max,dequeue_max,drops"]
    for i, name in enumerate(costs.MEASURED):
        lines += [f"{name},easy,{i},1,9,9,0", f"{name},hard,{100 - i},100,9,9,0"]
    path.write_text("\n".join(lines))
    text = "\n".join(costs.costs())
    names = list(costs.MEASURED)
    assert f"| easy | {' | '.join(str(1 + i) for i in range(len(names)))} |" in text
    easy = (1 + names.index("las")) / (1 + names.index("fq_codel"))
    assert re.search(rf"- `las` costs .* Dearer than it: easy \({easy:.2f}\)\.", text)
    assert "`run2c plain`" in text and "cake-rate" not in text


def test_how_exactly_a_rate_is_kept() -> None:
    """As it is stored, ours are within their bounds."""
    text = "\n".join(pace.pace())
    assert text.startswith("## How exactly a rate is kept") and text.count("```") == 2
    assert text.count("late by 2 ms: met") == len(OURS) and "NOT MET" not in text


def test_cases_of_two_comparisons() -> None:
    rows = {("a", q, 1): {"ms <=8": v} for q, v in (("cake", 2.0), ("las", 1.0))}
    text = "\n".join(choose.choose({"d1-load": rows, "d1-rtt": rows}))
    assert "| d1-load, a; d1-rtt, a | **las** 1, cake 2 |" in text


def test_which_one() -> None:
    def seeds(qdisc: str, *values: float) -> Rows:
        return {("load-0.9", qdisc, i): {"ms <=8": v} for i, v in enumerate(values)}

    found = seeds("cake", 20, 21, 22) | seeds("las", 10, 11, 12) | seeds("sqf", 21, 22, 23)
    found |= seeds("srpt", 5, 5, 5) | seeds("pfifo", 300, 300, 300) | seeds("run2c", 40, 41, 42)
    text = "\n".join(choose.choose({"d1-load": found}))
    line = next(line for line in text.splitlines() if line.startswith("| d1-load, load-0.9 |"))
    order = "srpt 5, **las** 11, cake 21, **sqf** 22, **run2c** 41, pfifo 300"
    assert line == f"| d1-load, load-0.9 | {order} |"
    assert "Throughput" not in text
    # Of each seed sqf is 1 ms worse than cake, run2c 20 ms
    text = "\n".join(comparisons.behind(found))
    assert "| load-0.9 | ms <=8 | las | 11 ±2.5 | sqf (cake), run2c (cake) |" in text
    assert "of 1 lines, 1 name some" in text
    more = {key: {"kbit/s >100": values["ms <=8"]} for key, values in found.items()}
    text = "\n".join(choose.choose({"d1-load": more}))
    assert "| d1-load, load-0.9 | pfifo 300, **run2c** 41, **sqf** 22, cake 21, **las** 11" in text
    text = "\n".join(comparisons.behind(more))
    assert "| pfifo | 300 ±0 | las (pfifo, cake), sqf (pfifo), run2c (pfifo) |" in text


def test_in_short() -> None:
    """Parts of fq_codel's, of those that are everywhere; a case of two comparisons counts once."""

    def case(name: str, **values: float) -> Rows:
        return {(name, qdisc, 1): {"ms <=8": v, "call loss %": 0.0} for qdisc, v in values.items()}

    first = case("a", fq_codel=10, cake=20, las=5, sqf=1) | case("b", fq_codel=1, cake=8, las=0.125)
    again = case("c", cake=20, las=5, fq_codel=10)
    head, short, lost = choose.in_short(averaged(first, again))
    assert head == ["", "cases", "las", "fq_codel", "cake"]
    assert short[1:] == ["2", "**0.25**", "1.00", "4.00"]
    assert lost[0].endswith(", %") and lost[2:] == ["**0.00**"] * 3
    rows = {key: {"kbit/s >100": values["ms <=8"]} for key, values in first.items()}
    assert list(choose.in_short(averaged(rows)))[1][2:] == ["0.25", "1.00", "**4.00**"]
    del first["b", "fq_codel", 1]
    _, line, _ = choose.in_short(averaged(first))
    assert line == [short[0], "1", "0.50", "**0.10**", "1.00", "2.00"]
    assert len(list(choose.in_short([]))) == 1


IMPOLITE = {
    "a": {"fq_codel": (2.0, 100.0, 125.0), "las": (4.0, 50.0, 125.0), "pfifo": (1.0, 900.0, 9.0)},
    "b": {"fq_codel": (0.0, None, 0.0), "las": (2.0, 150.0, 120.0), "pfifo": (0.0, None, 0.0)},
}


def impolite() -> Rows:
    """In b only las lets flows end; its CSV has nothing where there was none."""
    names = ("tcp Mbit/s", "shorts ms", "shorts done")
    found = {
        (case, qdisc, 1): {
            name: np.nan if x is None else x for name, x in zip(names, values, strict=True)
        }
        for case, of in IMPOLITE.items()
        for qdisc, values in of.items()
    }
    return metrics.from_csv(metrics.to_csv(found))


def test_what_there_is_none_of() -> None:
    """It neither hides the case, nor makes the mean of those who have none look better."""
    table = list(choose.in_short(averaged(impolite())))
    assert table[0] == ["", "cases", "las", "pfifo", "fq_codel"]
    assert [line[1:] for line in table[1:]] == [
        ["2", "**3.00**", "0.50", "1.00"],
        ["2", "**100.00**", "none in 1", "none in 1"],
        ["2", "**122.50**", "4.50", "62.50"],
    ]
    assert [line[0].rsplit(", ")[-1] for line in table[1:]] == ["Mbit/s", "ms", "flows"]
    words = list(choose.in_words(averaged(impolite())))
    assert len(words) == 1 and words[0].endswith("Behind fq_codel: nowhere.")
    text = "\n".join(choose.choose({"impolite": impolite()}))
    assert "of what has a unit the mean" in text and "of flows that have ended and of Jain" in text
    assert "Who has none in some of the cases" in text
    assert "| impolite, b | **las** 150, fq_codel none, pfifo none |" in text
    # Where las has none that fq_codel has
    less = impolite()
    del less["a", "las", 1]["shorts ms"]
    less["b", "fq_codel", 1]["shorts ms"] = 3000.0
    (words,) = choose.in_words(averaged(less))
    behind = "Behind fq_codel: response of flows of 10 packets, one each 0.2 s (none in 1)."
    assert words.endswith(behind)


@pytest.mark.filterwarnings("error")
def test_parts_of_nothing() -> None:
    """What fq_codel has 0 of, or what is infinite, is no part; 0 of another's is the least."""

    def case(name: str, **values: float) -> Rows:
        return {(name, qdisc, 1): {"call p99 ms": v} for qdisc, v in values.items()}

    rows = case("a", fq_codel=2, las=1, sqf=0) | case("b", fq_codel=0, las=1, sqf=1)
    rows |= case("c", fq_codel=np.inf, las=1, sqf=1)
    (head, line) = choose.in_short(averaged(rows))
    assert line[1:] == ["1 of 3", "0.50", "**0.00**", "1.00"]
    text = "\n".join(choose.choose({"x": rows}))
    assert "do not count for a part" in text and "Who has none" not in text
    assert "| x, c | **las** 1, **sqf** 1, fq_codel none |" in text
    rows |= case("d", fq_codel=2, las=np.inf, sqf=1)
    (head, line) = choose.in_short(averaged(rows))
    assert line[1:] == ["2 of 4", "none in 1", "**0.00**", "1.00"]
    assert list(choose.in_short(averaged(case("b", fq_codel=0, las=1)))) == [["", "cases"]]


def test_cases_that_are_alike_in_one_number() -> None:
    """Count each: only that of the same runs counts once."""

    def case(name: str, ms: float, loss: float, *more: str) -> Rows:
        values = {"ms <=8": ms, "call loss %": loss}
        return {(name, qdisc, 1): dict(values) for qdisc in ("fq_codel", "las", *more)}

    rows = case("a", 1, 0) | case("b", 2, 0) | case("c", 3, 9)
    assert list(choose.in_short(averaged(rows)))[2][1:] == ["3", "**3.00**", "**3.00**"]
    # The same runs, beside another's
    again = case("of another", 2, 0, "cake")
    assert list(choose.in_short(averaged(rows, again)))[2][1:] == ["3", "**3.00**", "**3.00**"]


def test_comparisons_of_other_peers() -> None:
    """Have a table of their own, as in that of the others some peers would be missing."""

    def of(*qdiscs: str) -> Rows:
        return {("base", q, 1): {"ms <=8": 2.0, "slowdown": 3.0, "excess": 4.0} for q in qdiscs}

    first, again = of("fq_codel", "sfq", "cake-rate", "las"), of("fq_codel", "sfq", "las")
    other = of("fq_codel", "fq_pie", "las")
    for values in other.values():
        del values["excess"]
    text = "\n".join(choose.choose({"x": first, "y": again}))
    assert "| las | fq_codel | sfq |\n" in text and text.count("Of all cases the") == 1
    assert "## x, y\n" not in text and "Slowdown" not in text
    text = "\n".join(choose.choose({"x": first, "y": again, "z": other}))
    assert "## x, y\n" in text and "## z\n" in text
    assert "| las | fq_codel | sfq |\n" in text and "| las | fq_codel | fq_pie |\n" in text
    # What excess tells better is told where that is not known
    assert "| Slowdown of downloads | 1 | **1.00** | **1.00** | **1.00** |" in text
    assert (
        "### Slowdown of downloads\n" in text and "| z | fq_codel 3, fq_pie 3, **las** 3 |" in text
    )
    assert "| x; y | fq_codel 3" not in text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tunnel", {"bulk Mbit/s", "call p99 ms", "call loss %", "call jitter ms"}),
        ("impolite", {"tcp Mbit/s", "shorts ms", "shorts done", "call p99 ms", "call loss %"}),
        ("stream", {"video p99 ms", "video loss %", "video late %", "web ms", "web page ms"}),
        ("stream", {"slowdown", "ms <=8"}),
        ("home", {"download Mbit/s", "slowdown", "call p99 ms", "call loss %"}),
    ],
)
def test_what_counts_for_the_advice(name: str, told: set[str]) -> None:
    """And all of it is compared. Of runs that were never run, of which none has excess."""
    found = rows_of(name)
    counted = {one.metric for one in choose.CRITERIA if choose.overall(averaged(found), one).cases}
    assert told <= counted and "excess" not in counted
    assert counted <= {metric for _, metric, _ in compared(found)}
    others = {metric for _, metric, _ in compared(found)}
    assert not {one for one in others if one.startswith(("rude ", "second "))}


def test_each_run_once() -> None:
    every = figures.parts(only="d1-load,d1-rtt")
    runs = figures.once(every)
    assert [part for part, _ in runs] == every
    first, second = (jobs for _, jobs in runs)
    assert sorted(job.name for job in first) == sorted(job.name for job in every[0].jobs.values())
    # d1-load's load of 0.9 is d1-rtt's round trip of 6 ms: 12 of three seeds
    assert len(second) == len(every[1].jobs) - 36
    assert len({job.name for job in first + second}) == len(first + second)
    shared = every[0].jobs["load-0.9-las-2"]
    assert every[1].jobs["rtt-6-las-2"] is shared and shared.name == "d1-load-load-0.9-las-2"
    assert first[0].weight == max(job.weight for job in first)


def ending(path: Path, text: Callable[[str], str]) -> Callable[..., None]:
    """Instead of run_all(): jobs that have written this, one after the other."""

    def run_all(_: object, jobs: list[figures.Job], __: int, ___: str, on_end: Callable) -> None:
        for job in jobs:
            job.result = Result(0, "", path / job.name, path / job.name, 1)
            job.result.data_path.write_text(text(job.name))
            on_end(job)

    return run_all


BUILT = Built("native", "7.2-native", Path(), Path())


def test_shared_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each part finds what was written by its own names, be it for another part."""
    ran: list[str] = []

    def text(name: str) -> str:
        ran.append(name)
        return made_up.flows([(5, 30.0), (50, 90.0)]) + made_up.stats()

    monkeypatch.setattr(figures, "run_all", ending(tmp_path, text))
    monkeypatch.setattr(figures, "LAB", tmp_path / "lab")
    where = tmp_path / "results"
    figures.run(figures.once(figures.parts(1, only="d1-rate,d1-tcp")), BUILT, 1, where)
    found = {name: stored.load(where)[name] for name in ("d1-rate", "d1-tcp")}
    cases = {name: {case for case, _, _ in rows} for name, rows in found.items()}
    assert cases == {"d1-rate": {"10mbit", "100mbit", "1gbit"}, "d1-tcp": {"cubic", "bbr", "ecn"}}
    for rows in found.values():
        assert {qdisc for _, qdisc, _ in rows} >= {"floor", "las", "srpt"}
    assert len(ran) == len(set(ran)) == 5 * 12


@pytest.mark.parametrize(("kernel", "start"), [("native", 1), ("6.1", figures.BOOT)])
def test_forecast(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kernel: str, start: float
) -> None:
    """Of what is not known, by what the last runs on this kernel have taken."""
    monkeypatch.setattr(figures, "LAB", tmp_path / "lab")
    jobs = [figures.Job(name, "", [], [], [], 3600) for name in "abcd"]
    each = 60 * figures.SECONDS_PER_MBIT[kernel == "native"] + start / 60
    figures.note_pace(kernel, jobs)
    names = {name: Experiment(name, "", [1], False, None, {}, {}) for name in "xy"}
    parts = [(figures.Part(names[name], {}), jobs[i:]) for i, name in ((1, "x"), (4, "y"))]
    lines = figures.forecast(parts, [jobs[3]], kernel, 2).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["x", "3", "1", f"{2 * each:.1f}"],
        ["y", "0", "0", "0.0"],
        ["all", "3", "1", f"{2 * each:.1f}"],
    ]
    jobs[0].share, jobs[0].began, jobs[0].took = 1, 1, 7200 + start
    jobs[1].share, jobs[1].began, jobs[1].took = 1, 1, 0.5
    jobs[1].result = Result(0, "", tmp_path, tmp_path, 0, kept=True)
    figures.note_pace(kernel, jobs)
    # Of the one that has run now: 7200 s of 3600 Mbit, the others alike
    total = 3 * (120 + start / 60)
    assert [line.split() for line in figures.forecast(parts, [], kernel, 2).splitlines()[3:]] == [
        ["all", "3", "0", f"{total:.1f}"],
        ["2", "at", "once:", f"{total / 2:.0f}", *"minutes if nothing is known".split()],
    ]


def test_seeds_of_parts() -> None:
    for part in figures.parts(5, only="sqf-table1,d1-rate"):
        assert {job.seed for job in part.jobs.values()} == {5}
        assert {name[-1] for name in part.jobs} == {"5"}


def test_part_of_a_page() -> None:
    """It has what was measured, and nothing else."""
    item = Item("i", "I", "x", (Row("a", at("a")), Row("b", at("b"))))
    text = "\n".join(page.Page({"x": rows(a=1)}, {}, {"x"}).item(item))
    assert "| a | 1 |" in text and "| b |" not in text


def test_quick_runs_stand_for_long_ones() -> None:
    every = figures.parts(None, True)
    assert {part.name for part in every} >= {"run2c", "sqf-figures", "d1-load"}
    part = next(part for part in every if part.name == "run2c")
    rows = part.rows(made_up.data(part.experiment))
    assert {case for case, _, _ in rows} == {"quick"}
    assert {case for case, _, _ in part.for_page(rows)} == {"s1-d1"}
    assert all(job.weight <= 500 for part in every for job in part.jobs.values())
    assert all(part.experiment.bounds for part in every if part.name != "d1-load")


def test_curves_have_a_file_of_their_own() -> None:
    found = {("c", "q", 1): {"a": 1.5, **points("b", [1, 2.5], [3, np.nan])}}
    text = metrics.to_csv(found)
    assert text == "case,qdisc,seed,a\nc,q,1,1.5\n"
    curves = metrics.curves_to_csv(found)
    assert curves == "case,qdisc,seed,curve,x,y\nc,q,1,b,1,3\n"
    again = metrics.from_csv(text)
    metrics.add_curves(again, curves)
    assert again == {("c", "q", 1): {"a": 1.5, "b@1": 3}}


def test_only_curves_that_are_taken_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A whole curve, or one point of it; of the first seed, which is what is drawn."""
    panel = Panel("p", "x", "y", (Line("l", at("c")), Line("m", ((1.0, at("a")),))))
    gain = Benefit(at("ms"), at("ms", "fifo"))
    mine = Item("i", "I", "x", (Row("r", at("d@2")), Row("s", gain)), (panel,))
    monkeypatch.setattr(stored, "ITEMS", {"paper": [mine]})
    values = {"a": 1.0}
    for name in ("c", "d", "ms", "flows by size", "CDF"):
        values |= points(name, [1, 2], [3, 4])
    keys = [("base", "las", 1), ("base", "las", 2), ("base", "fifo", 1), ("other", "las", 1)]
    stored.store(tmp_path, "x", {key: values for key in keys})
    text = (tmp_path / "x-curves.csv").read_text()
    assert sorted({line.rsplit(",", 2)[0] for line in text.splitlines()[1:]}) == [
        "base,fifo,1,ms",
        "base,las,1,c",
        "base,las,1,d",
        "base,las,1,flows by size",
        "base,las,1,ms",
    ]
    assert text.count(",d,") == 1 and text.count(",c,") == 2
    # Of another experiment nothing is taken, and what was is gone
    stored.store(tmp_path, "y", {keys[0]: values})
    monkeypatch.setattr(stored, "ITEMS", {"paper": []})
    stored.store(tmp_path, "x", {keys[0]: values})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "y.csv"]


def rows_of(name: str) -> Rows:
    """An experiment that was never run: each qdisc has a value of its own, as has each seed."""
    one = ours(name)
    found = measure(one, made_up.data(one))
    names = ["floor", *one.qdiscs]
    for (_, qdisc, seed), values in found.items():
        for metric in values:
            values[metric] = 10.0 * names.index(qdisc) + 5 + seed
    return found


def models_made_up() -> Rows:
    """All that items take of the models is 1."""
    result: Rows = {}
    for at, curve in used():
        if at.experiment == "theory":
            values = points(at.metric, [1, 2], [1, 1]) if curve else {at.metric: 1.0}
            result.setdefault((at.case, at.qdisc, 0), {}).update(values)
    return result


@pytest.mark.long
def test_page_with_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the CSVs of all experiments give has no gap, and each deviation is told."""
    monkeypatch.setattr(page, "picture", lambda item, *_: drawn.append(item.key))
    monkeypatch.setattr(page, "draw_experiment", lambda *_, **__: True)
    drawn: list[str] = []
    where = tmp_path / "results"
    stored.store(where, "theory", models_made_up())
    for part in figures.parts():
        stored.store(where, part.name, rows_of(part.name))

    def text_of(name: str = "*") -> str:
        return "".join(path.read_text() for path in sorted(where.glob(f"{name}.md")))

    one = page.write(where)
    text = text_of()
    assert not one.missing and page.MISSING not in text
    assert len(drawn) == sum(bool(item.panels) for items in ITEMS.values() for item in items)
    assert text.count(": **not explained**") == len(one.unsaid) > 0
    (where / "notes.toml").write_text('[excess]\n"las / *" = "Nobody has run it."\n')
    told = page.write(where)
    assert len(told.unsaid) == len(one.unsaid) - 2
    assert text_of().count("of the paper: Nobody has run it. |") == 1
    front = where.with_suffix(".md").read_text()
    for one in on_page():
        compared = one.place is not None and one.place.section == "comparisons"
        assert (f"# {one.name}: " in text_of(one.name)) == compared
        assert (f"]({one.name}.svg)" in text_of(one.name)) == compared
        assert not compared or f"[{one.name}](results/{one.name}.md)" in front
        behind = one.place is not None and one.place.advice
        assert ("## Where ours are behind" in text_of(one.name)) == behind
    # Each table says what it shows, and before the first picture is no more than a screen
    for path in where.glob("*.md"):
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            if line.startswith(("```", "|--")) and i and lines[i - 1] == "":
                assert lines[i - 2].strip(), (path.name, line)
        before = path.read_text().split("![")[0]
        assert "![" in path.read_text(), path.name
        assert sum(1 + len(line) // SCREEN[1] for line in before.splitlines()) < SCREEN[0]
    # Without one of them the page has the others
    (where / "run2c.csv").unlink()
    (where / "d1-rtt.csv").unlink()
    drawn.clear()
    one = page.write(where)
    assert one.missing == ["run2c", "d1-rtt"]
    assert "run2c-4" not in drawn and {"run2c-1", "las-5", "sqf-2"} <= set(drawn)
    assert "](run2c-4.svg)" not in text_of() and "](las-5.svg)" in text_of()


def test_some_of_it() -> None:
    every = [part.name for part in figures.parts()]
    assert every[:2] == ["las-log", "sqf-table1"] and every[-1] == "sched-tcp-unsent"
    assert every == [one.name for one in on_page()] and "demo" not in every
    assert [part.name for part in figures.parts(only="mix,run2c")] == ["run2c", "mix"]
    with pytest.raises(DataError, match="the experiments are las-log, .*, sched-tcp-unsent$"):
        figures.parts(only="run2c,run2d")


def test_seeds_of_comparisons() -> None:
    """Three, or fewer of those that have many runs, or of which the seed decides little."""
    fewer = {"tunnel": [1], "home": [1]}
    fewer |= dict.fromkeys(("impolite", "stream", "slow-link"), [1, 2])
    for one in on_page():
        if one.place and one.place.advice:
            assert one.seeds == fewer.get(one.name, [1, 2, 3])


def test_packets_of_tcp_that_are_connections_each() -> None:
    """Of 64 and 1514 bytes on the wire, at 12 Mbit/s."""
    one = ours("impolite")
    assert [name for name in one.cases if "tcp" in name] == ["tuples-tcp 10", "tuples-tcp 1460"]
    for size, gap in ((10, "42.666667"), (1460, "1009.333333")):
        given = made_up.words(one.runs[f"tuples-tcp {size}", "las", 1])["PACKETS"]
        assert f"bytes={size},us={gap}" in given and "ports=1,tcp=1,host=1,begin=5,skip=5" in given


NEW = """\
title = "A new one"
seeds = [1, 2]
floor = true
include = ["peers", "ours"]
duration = 10
network = { rate = "10mbit", rtt = 6, buffer = 50 }
flows = { size = "fixed(5)", load = 0.5 }
page = { section = "comparisons", advice = true }
quick = { of = "base", duration = 2 }

[[bounds]]
metric = "ms <=8"
qdisc = "las"
of = { qdisc = "pfifo" }
at_most = 1
"""


def without_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "prepare", lambda _: BUILT)
    monkeypatch.setattr(figures, "check", lambda *_: None)
    monkeypatch.setattr(figures, "is_known", lambda *_: False)
    monkeypatch.setattr(figures.readme, "write", lambda *_: None)
    monkeypatch.setattr(figures, "modelled", models_made_up)


def only_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: Callable[[str], str]) -> None:
    """No paper's, no guests: each run has written `text` of its name."""
    monkeypatch.setattr(figures, "run_all", ending(tmp_path, text))
    without_guests(monkeypatch)
    monkeypatch.setattr(figures, "LAB", tmp_path / "lab")
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "ITEMS", {})
    monkeypatch.delenv("SEED", raising=False)


def test_a_comparison_is_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is run, bounded, short in QUICK=1, on the page and in the advice."""
    (tmp_path / "new.toml").write_text(NEW)
    monkeypatch.setattr(files, "EXPERIMENTS", tmp_path)

    def text(name: str) -> str:
        slow = 2 if "-las-" in name else 0.5 if "-floor-" in name else 1
        return made_up.flows([(5, 30.0 * slow), (50, 90.0)]) + made_up.stats()

    only_here(monkeypatch, tmp_path, text)
    monkeypatch.setattr(sys, "argv", ["figures"])
    # One of ours takes longer than the FIFO, which its bound has it not
    assert figures.main() == 1
    assert "[new](results/new.md)" in (tmp_path / "results.md").read_text()
    text = (tmp_path / "results/new.md").read_text()
    assert "# new: A new one\n" in text and "](new.svg)" in text
    text = (tmp_path / "results/which.md").read_text()
    assert len(text.split("| new | ")[1].split("|")[0].split(", ")) == 10
    monkeypatch.setattr(sys, "argv", ["figures", "--quick"])
    assert figures.main() == 0
    assert "[new](quick/new.md)" in (tmp_path / "build/figures/quick.md").read_text()


def test_what_has_ended_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though a later one fails; the page of some is made, and does not fail for the others."""

    def text(name: str) -> str:
        if name.startswith("mix"):
            raise VMError("no")
        return made_up.flows([(5, 30.0), (50, 90.0)]) + made_up.stats()

    where = tmp_path / "results"
    without_guests(monkeypatch)
    monkeypatch.setattr(figures, "run_all", ending(tmp_path, text))
    monkeypatch.setattr(figures, "LAB", tmp_path / "lab")
    monkeypatch.setattr(figures, "RESULTS", where)
    monkeypatch.setattr(page, "picture", lambda *_: None)
    monkeypatch.setattr(page, "draw_experiment", lambda *_, **__: True)
    monkeypatch.setattr(sys, "argv", ["figures", "--only", "mix,d1-tcp"])
    with pytest.raises(VMError):
        figures.main()
    assert (where / "d1-tcp.csv").exists() and not where.with_suffix(".md").exists()
    monkeypatch.setattr(sys, "argv", ["figures", "--only", "d1-rate"])
    assert figures.main() == 0
    assert "](d1-tcp.svg)" in (where / "d1-tcp.md").read_text()
    assert "missing: mix" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["figures", "--page"])
    assert figures.main() == 1


def test_bounds_that_are_not_met(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a sentence, or it is a failure."""
    unmet = [Verdict("x: base, las: excess at most 1 (2)", False), Verdict("y: is not", False)]
    assert figures.tell_unmet([], {}) == 0
    assert figures.tell_unmet(unmet, {"x: *": "So it is."}) == 1
    assert capsys.readouterr().err.splitlines() == [
        "x: base, las: excess at most 1 (2): NOT MET: So it is.",
        "y: is not: NOT MET",
    ]
    assert figures.tell_unmet(unmet, {"x: *": "So it is.", "y: *": "This, too."}) == 0


def test_a_bound_of_the_quick_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its sentence is with those of the whole page."""
    bound = NEW.replace('qdisc = "las"', 'qdisc = "las"\ncase = "quick"')
    (tmp_path / "new.toml").write_text(bound)
    monkeypatch.setattr(files, "EXPERIMENTS", tmp_path)

    def text(name: str) -> str:
        return made_up.flows([(5, 60.0 if "-las-" in name else 30.0)]) + made_up.stats()

    only_here(monkeypatch, tmp_path, text)
    monkeypatch.setattr(sys, "argv", ["figures", "--quick"])
    assert figures.main() == 1
    (tmp_path / "results").mkdir()
    sentence = '[bounds]\n"new: quick, las: *" = "It is slow."\n'
    (tmp_path / "results/notes.toml").write_text(sentence)
    assert figures.main() == 0


def test_another_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the CSVs are written, and not to docs/results/."""

    def text(name: str) -> str:
        late = 1.5 if "-las-" in name else 1.0
        return made_up.flows([(5, 30.0 * late), (50, 90.0)]) + made_up.stats()

    where = tmp_path / "results"
    without_guests(monkeypatch)
    monkeypatch.setattr(figures, "LAB", tmp_path / "lab")
    monkeypatch.setattr(figures, "RESULTS", where)
    monkeypatch.setattr(figures, "run_all", ending(tmp_path, text))
    monkeypatch.setattr(sys, "argv", ["figures", "--kernel", "6.1", "--only", "d1-long"])
    monkeypatch.setattr(figures, "prepare", lambda _: replace(BUILT, kernel="6.1"))
    figures.main()
    built = tmp_path / "build/figures"
    assert (built / "6.1/d1-long.csv").exists() and not list(built.glob("**/*.md"))
    assert not where.exists() and not where.with_suffix(".md").exists()


@pytest.mark.parametrize("name", ["old-flows", "run2c-curve", "impolite"])
def test_pictures_of_comparisons(name: str, tmp_path: Path) -> None:
    one, rows = ours(name), rows_of(name)
    assert experiment_pictures.draw_experiment(rows, one, tmp_path / name, png=False)
    (path,) = tmp_path.iterdir()
    assert path.name == f"{name}.svg"
    # By its options, or else side by side
    assert (">excess / cake's</text>" in path.read_text()) == (name == "run2c-curve")
    assert not experiment_pictures.by_option(
        rows, one.only(None, ["order"] if "order" in one.cases else None), path
    )
    nothing = {key: {"bulk Mbit/s": 9.0} for key in rows}
    if name == "old-flows":
        assert not experiment_pictures.draw_experiment(nothing, one, tmp_path / "none", png=False)
