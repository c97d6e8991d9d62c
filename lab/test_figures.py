# SPDX-License-Identifier: GPL-2.0
"""The figures and tables of the papers, the page and what it must not be silent on."""

import sys
from pathlib import Path

import numpy as np
import pytest

LAB = Path(__file__).resolve().parent
sys.path[:0] = [str(LAB), str(LAB.parent / "selftests")]
import choose  # noqa: E402
import figures  # noqa: E402
import metrics  # noqa: E402
import page  # noqa: E402
import theory  # noqa: E402
from experiment import MODULES  # noqa: E402
from items import ITEMS, At, Benefit, Item, Line, Of, Panel, Row, ratio  # noqa: E402
from metrics import Rows, points  # noqa: E402
from test_experiment import FLOWGEN, STATS, bulk, intervals, run2c_run, sift_run, sqf_run  # noqa: E402
from vm import Result  # noqa: E402


def numbered(paper: str, *numbers: int | str) -> set[str]:
    return {f"{paper}-{number}" for number in numbers}


def test_all_that_is_asked_for_is_there() -> None:
    found = [item.key for items in ITEMS.values() for item in items]
    wanted = numbered("run2c", 1, 2, *range(4, 15)) | numbered("las", 4, 5, 6)
    wanted |= numbered("sift", *range(3, 8), *range(9, 20), "table1")
    wanted |= numbered("sqf", 1, 2, 3, 4, 5, "table1", "table3", "table4")
    assert sorted(found) == sorted(wanted | {"excess"})
    assert all(item.rows or item.panels for items in ITEMS.values() for item in items)


def leaves(value: object) -> list[At]:
    if isinstance(value, At):
        return [value]
    if isinstance(value, Of):
        return [at for part in value.parts for at in leaves(part)]
    return [value.mine, value.other] if isinstance(value, Benefit) else []


def used() -> list[tuple[At, bool]]:
    """All that the items take from somewhere, and whether it is a curve."""
    result = []
    for item in (item for items in ITEMS.values() for item in items):
        for row in item.rows:
            for value in (row.measured, row.model):
                result += [(at, isinstance(value, Benefit)) for at in leaves(value)]
        for line in (line for panel in item.panels for line in panel.lines):
            whole = isinstance(line.points, At)
            result += [
                (at, whole) for at in ([line.points] if whole else dict(line.points).values())
            ]
    return result


def made_up(name: str) -> Rows:
    """What a module makes of runs that were never run."""
    part = figures.part_of(name, None, False)
    queues = np.full((4000, 8), 100)
    texts = {
        "las-log": FLOWGEN + bulk(["14480"] * 100) + STATS,
        "sqf-figures": "".join(
            intervals(what, queues[:, : 8 if what == "queues" else 3], 0.01)
            for what in ("bulk", "sent", "queues")
        ),
    }
    data = {}
    for job in part.jobs:
        if name == "run2c":
            flows = [(5, 30.0), (7, 40.0), (21, 90.0), (200, 300.0)] * 5
            data[job] = run2c_run(flows, [1000, 1010] if "-d2" in job else None)
        elif name == "sift":
            peak = None if job.endswith("fifo") else 7
            text = sift_run([100.0, 200.0] * 10, [] if peak is None else [1, 2, 3, 4, 5], peak)
            places = 10 if job.startswith("slow") else 3
            for i in range(20):
                for before, between, after in ((",", ",", ",0\n"), (" ", " ", "\n")):
                    end = f"{between}{3000 + i}{after}"
                    port = f"{before}{5000 + i % 5}{end}"
                    text = text.replace(port, f"{before}{5000 + i % places}{end}")
            data[job] = text
            if job.startswith("queues"):
                seen = intervals("queues", np.full((2000, 2), 2028), 0.1)
                data[job] = text.replace("[{", seen + "[{")
        elif name.startswith("sqf-table"):
            count = 3 if name.endswith("1") else 1 if name.endswith("4") else 2
            data[job] = sqf_run([3.0] * count, sent=1.1, lost=1)
        else:
            udp = "cbr udp bytes 1472 least_us 5\n5\n#end packets 1 lost 0\n" * ("udp" in job)
            data[job] = texts[name] + udp
    return part.rows(data)


@pytest.mark.parametrize("name", MODULES)
def test_what_items_take_is_what_modules_give(name: str) -> None:
    results = {name: made_up(name)}
    wanted = [(at, curve) for at, curve in used() if at.experiment == name]
    assert wanted
    for at, curve in wanted:
        assert at.curve(results) if curve else at.values(results), at


def test_what_items_take_is_what_the_models_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the slow ones made quick."""
    small = theory.sift.bounded_pareto
    monkeypatch.setattr(theory.sift, "bounded_pareto", lambda *_, **__: small(1, 10000, 1.1))
    monkeypatch.setattr(theory.sift.Split, "__post_init__", lambda self: None)
    monkeypatch.setattr(theory.mg1, "mean_ps_ps", lambda queue, threshold: threshold)
    monkeypatch.setattr(theory.mg1, "best_threshold", lambda *_: (200, 1))
    solve = theory.fluid.solve
    quick = {"step": 0.01}
    monkeypatch.setattr(theory.fluid, "solve", lambda *a, **k: solve(*a, **(k | quick)))
    results = {"theory": theory.numbers()}
    for at, curve in used():
        if at.experiment == "theory":
            assert at.curve(results) if curve else at.values(results), at


def test_files_that_items_take_are_there() -> None:
    for at, _ in used():
        if at.experiment not in (*MODULES, "theory"):
            experiment = page.read(page.EXPERIMENTS / f"{at.experiment}.toml")
            assert at.qdisc in experiment.cases[at.case]["qdiscs"], at


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
        (1.1, Row("a", at("a"), 0, scale=10), "+11 % of the paper"),
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
    assert figures.tell(one, tmp_path, False) == 1
    assert "missing: i: a" in capsys.readouterr().err
    assert figures.tell(page.Page({}, {}), tmp_path, False) == 0
    assert figures.tell(page.Page({}, {}, unsaid=["i: a: +50 %"]), tmp_path, False) == 1


def test_page_without_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def drawn(item: Item, _: object, where: Path) -> None:
        (where / f"{item.key}.svg").touch()

    monkeypatch.setattr(page, "picture", drawn)
    where = tmp_path / "results"
    where.mkdir()
    one = page.write(where)
    text = where.with_suffix(".md").read_text()
    count = sum(bool(row.measured) for items in ITEMS.values() for i in items for row in i.rows)
    assert text.count("| **missing** |") >= count
    names = {f"{item.key}.svg" for items in ITEMS.values() for item in items if item.panels}
    assert {path.name for path in where.iterdir()} == names
    assert all(f"](results/{name})" in text for name in names)
    assert {"theory", "d1-load", "mix"} <= set(one.missing)


def test_a_note_that_is_not_needed(tmp_path: Path) -> None:
    one = page.Page({}, {"sift-9": {"nothing": "x"}})
    one.text("results")
    assert one.unsaid == ["sift-9: nothing deviates where a note is on 'nothing'"]


def test_the_same_page_to_the_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    panel = Panel("p", "x", "y", (Line("l", at("c")), Line("m", ((1.0, at("a")),), True)), log="x")
    mine = Item("i", "I", "x", (Row("a", at("a"), 1),), (panel,) * 3, reason="So it is.")
    monkeypatch.setattr(page, "ITEMS", {"paper": [mine]})
    found = {("base", "las", n): {"a": n / 3, **points("c", [1, 2], [3, n])} for n in (1, 2, 3)}
    written = []
    for name in "ab":
        where = tmp_path / name / "results"
        page.store(where, "x", found)
        page.write(where, {"x"})
        files = [*where.iterdir(), where.with_suffix(".md")]
        written.append({path.name: path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert set(written[0]) == {"x.csv", "x-curves.csv", "i.svg", "results.md"}
    text = written[0]["results.md"].decode()
    assert "| a | 0.6667 ±0.83 | 1 | - | -33 % of the paper |" in text
    assert page.load(tmp_path / "a/results")["x"]["base", "las", 2] == {
        "a": pytest.approx(2 / 3, rel=1e-6),
        "c@1": 3,
        "c@2": 2,
    }


def test_share_of_flows_that_gain() -> None:
    def run(ms: list[float]) -> dict[str, float]:
        return points("ms", [1, 2, 4], ms) | points("flows", [1, 2, 4], [70, 20, 10])

    results = {"x": {("base", "las", 1): run([1, 2, 9]), ("base", "fifo", 1): run([2, 2, 8])}}
    assert Benefit(at("ms"), at("ms", "fifo")).values(results) == [70]
    assert Benefit(at("ms", "fifo"), at("ms")).values(results) == [10]
    assert Benefit(at("ms"), at("ms", "none")).values(results) == []


def test_which_one() -> None:
    def seeds(qdisc: str, *values: float) -> Rows:
        return {("load-0.9", qdisc, i): {"ms <=8": v} for i, v in enumerate(values)}

    found = seeds("cake", 20, 21, 22) | seeds("las", 10, 11, 12) | seeds("sqf", 21, 22, 23)
    found |= seeds("srpt", 5, 5, 5) | seeds("pfifo", 300, 300, 300) | seeds("sift", 40, 41, 42)
    text = "\n".join(choose.choose({"d1-load": found}))
    line = next(line for line in text.splitlines() if line.startswith("| d1-load, load-0.9"))
    order = "srpt 5, **las** 11, cake 21, **sqf** 22, **sift** 41, pfifo 300"
    assert line == f"| d1-load, load-0.9 | {order} |"
    assert "- d1-load, load-0.9: **sqf** has 22 ms, behind ~cake 21." in text
    assert "- d1-load, load-0.9: **sift** has 41 ms, behind cake 21." in text
    assert "**las** has 11" not in text and "Throughput" not in text
    more = {key: {"kbit/s >100": values["ms <=8"]} for key, values in found.items()}
    text = "\n".join(choose.choose({"d1-load": more}))
    assert "**las** has 11 kbit/s, behind pfifo 300, cake 21." in text
    assert "None of ours is behind a peer." not in text


def test_each_run_once() -> None:
    every = [figures.part_of(name, None, False) for name in ("d1-load", "d1-rtt")]
    count = sum(len(part.jobs) for part in every)
    jobs = figures.once(every)
    # d1-load's load of 0.9 is d1-rtt's round trip of 6 ms: 12 of three seeds
    assert len(jobs) == count - 36 and len({job.name for job in jobs}) == len(jobs)
    shared = every[0].jobs["load-0.9-las-2"]
    assert every[1].jobs["rtt-6-las-2"] is shared and shared.name == "d1-load-load-0.9-las-2"
    assert jobs[0].weight == max(job.weight for job in jobs)


def test_names_of_shared_runs() -> None:
    """Each part finds what was written by its own names."""
    every = [figures.part_of(name, 1, False) for name in ("d1-rate", "d1-tcp")]
    figures.once(every)
    text = run2c_run([(5, 30.0), (50, 90.0)])
    for part in every:
        found = part.rows({name: text for name in part.jobs})
        assert {qdisc for _, qdisc, _ in found} >= {"floor", "las", "srpt"}


def test_forecast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figures, "RATE", tmp_path / "x/rate")
    jobs = [figures.Job(name, "", [], 3600) for name in "abcd"]
    minutes = 2 * (60 * figures.SECONDS_PER_MBIT + figures.BOOT / 60)
    figures.note_rate(jobs)
    assert figures.forecast(jobs, 2).startswith(f"4 runs, 2 at once: about {minutes:.0f} min if")
    jobs[0].share, jobs[0].began, jobs[0].took = 1, 1, 7200
    jobs[1].share, jobs[1].began, jobs[1].took = 1, 1, 0.5
    jobs[1].result = Result(0, "", tmp_path, tmp_path, 0, kept=True)
    figures.note_rate(jobs)
    assert figures.forecast(jobs, 2).startswith("4 runs, 2 at once: about 4.0 h if none is known")


def test_seeds_of_parts() -> None:
    part = figures.part_of("sqf-table1", 5, False)
    assert {job.seed for job in part.jobs.values()} == {5}
    assert {name[-1] for name in part.jobs} == {"5", "6", "7"}
    part = figures.part_of("d1-rate", 5, False)
    assert {job.seed for job in part.jobs.values()} == {5}


def test_part_of_a_page() -> None:
    """It has what was measured, and nothing else."""
    item = Item("i", "I", "x", (Row("a", at("a")), Row("b", at("b"))))
    text = "\n".join(page.Page({"x": rows(a=1)}, {}, {"x"}).item(item, "p"))
    assert "| a | 1 |" in text and "| b |" not in text


def test_quick_runs_stand_for_long_ones() -> None:
    every = figures.parts(None, True)
    assert {part.name for part in every} == set(figures.QUICK)
    part = next(part for part in every if part.name == "run2c")
    found = part.rows({name: run2c_run([(5, 30.0)] * 3) for name in part.jobs})
    assert {case for case, _, _ in found} == {"s1-d1"}
    assert all(job.weight <= 500 for part in every for job in part.jobs.values())


def test_curves_have_a_file_of_their_own() -> None:
    found = {("c", "q", 1): {"a": 1.5, **points("b", [1, 2.5], [3, np.nan])}}
    text = metrics.to_csv(found)
    assert text == "case,qdisc,seed,a\nc,q,1,1.5\n"
    curves = metrics.curves_to_csv(found)
    assert curves == "case,qdisc,seed,curve,x,y\nc,q,1,b,1,3\n"
    again = metrics.from_csv(text)
    metrics.add_curves(again, curves)
    assert again == {("c", "q", 1): {"a": 1.5, "b@1": 3}}
