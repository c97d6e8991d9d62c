# SPDX-License-Identifier: GPL-2.0
"""Pictures of experiments, by what is in them, of made-up numbers."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from lab.measure.rows import Rows, from_csv, to_csv
from lab.page import experiment_pictures, svg
from lab.page.looks import FREE, LOOKS, SAME, look
from lab.run.experiment import EXPERIMENTS, read
from lab.run.guests import LAB
from lab.run.kinds import KINDS
from lab.run.qdiscs import ORACLE, OURS, PEERS

QDISCS = ["pfifo", "cake", "las", "mine", "srpt"]


def rows(cases: list[str], *flows: str, downloads: bool = True) -> Rows:
    """Of two seeds; the values tell the case's and the qdisc's place."""
    result: Rows = {}
    for i, case in enumerate(cases):
        for j, qdisc in enumerate(["floor", *QDISCS]):
            for seed in (1, 2):
                values = {"ms <=8": 10.0 * i + j + seed / 2, "excess": 1.0 + i} if downloads else {}
                if qdisc == "floor":
                    values.pop("excess", None)
                for flow in () if qdisc == "floor" else flows:
                    values |= {f"{flow} {name} ms": j + 1.0 for name in ("p50", "p99", "max")}
                result[case, qdisc, seed] = values
    return from_csv(to_csv(result))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of all that is drawn and is to be seen."""
    kept: list[Any] = []
    save = experiment_pictures.save

    def keep(figure: Any, base: Path, png: bool) -> None:
        kept.extend(axis for axis in figure.axes if axis.get_visible())
        save(figure, base, png)

    monkeypatch.setattr(experiment_pictures, "save", keep)
    return kept


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        (["load-0.5", "load-0.9"], ("load", [0.5, 0.9])),
        (["rtt-6", "rtt-100"], ("round trip, ms", [6, 100])),
        (["10mbit", "1.5gbit", "100kbit"], ("rate, Mbit/s", [10, 1500, 0.1])),
        (["rate-10mbit", "rate-5mbit"], ("rate, Mbit/s", [10, 5])),
        (["buffer-10", "buffer-20"], ("buffer", [10, 20])),
        (["load-0.5"], None),
        (["load-0.5", "rtt-6"], None),
        (["ecn-true", "ecn-false"], None),
        (["a", "b"], None),
    ],
)
def test_what_is_varied(cases: list[str], expected: tuple | None) -> None:
    found = experiment_pictures.varied(cases)
    assert found == (expected and (expected[0], pytest.approx(expected[1])))


def test_lines(drawn: list[Any], tmp_path: Path) -> None:
    assert experiment_pictures.draw(
        rows(["rtt-6", "rtt-20", "rtt-100"]), "title", tmp_path / "x-0.5"
    )
    assert (tmp_path / "x-0.5.png").stat().st_size > 5000
    excess, short = drawn
    assert short.get_xscale() == short.get_yscale() == "log"
    assert (excess.get_ylabel(), short.get_xlabel()) == ("excess slowdown", "round trip, ms")
    _, labels = short.get_legend_handles_labels()
    assert labels == QDISCS
    looks = {}
    for label, container in zip(labels, short.containers, strict=True):
        line, _, (error,) = container
        looks[label] = (line.get_linestyle(), line.get_color())
        place = 1 + QDISCS.index(label)
        assert line.get_xdata().tolist() == [6, 20, 100]
        assert line.get_ydata() == pytest.approx([10 * i + place + 0.75 for i in range(3)])
        # 12.706 standard errors of 0.25
        assert np.ptp(error.get_segments()[0][:, 1]) == pytest.approx(2 * 12.7062 * 0.25, rel=1e-4)
    assert [looks[name][0] for name in QDISCS] == ["--", "--", "-", "-", ":"]
    assert looks["srpt"][1] == "black" and len(set(looks.values())) == 5


def test_nobody_looks_like_another() -> None:
    """And each as in every other picture, but for those that only one has."""
    names = ["mine", *PEERS, *ORACLE, "other", *OURS]
    looks = [look(name, names) for name in names]
    assert len({each.colour for each in looks}) == len(names)
    assert look("sqf", ["sqf"]) == look("sqf", names)
    assert look("fifo", ["mine", "fifo"]) == look("pfifo", names)
    others = [name for kind, of in KINDS.items() if kind not in OURS for name in of.looks]
    known = [each for name, each in LOOKS.items() if name not in others]
    colours = [each.colour for each in (*known, *FREE)]
    assert len(set(colours)) == len(colours) - 1  # the floor is no qdisc: black, as SRPT is
    assert set(SAME.values()) <= set(LOOKS)


def test_all_that_is_run_has_a_look() -> None:
    """But for the settings of one kind that only one case has."""
    for path in EXPERIMENTS.glob("*.toml"):
        assert {SAME.get(name, name) for name in read(path).common} <= set(LOOKS), path.name


def figure_of(*lines: tuple[str, str, str]) -> Any:
    """Of a label, colour and mark each."""
    figure, axes = svg.new_figure(3, 2)
    for label, colour, mark in lines:
        axes.plot([1, 2], [1, 2], color=colour, marker=mark, label=label)
    return figure


def test_nobody_is_drawn_as_another(tmp_path: Path) -> None:
    """What is saved is checked."""
    las, free = LOOKS["las"], FREE[0]
    fits = [("las", las.colour, las.mark), ("las, new", las.colour, ""), ("a", free.colour, "o")]
    fits += [
        ("model, las", las.colour, ""),
        ("model, PS", "black", ""),
        ("paper, las", "black", "x"),
    ]
    svg.save(figure_of(*fits), tmp_path / "x", png=False)
    for wrong in (
        ("las", LOOKS["sqf"].colour, las.mark),
        ("las", las.colour, LOOKS["sqf"].mark),
        ("a download", las.colour, ""),
        ("model, las", LOOKS["sqf"].colour, ""),
    ):
        with pytest.raises(ValueError, match=f"^{wrong[0]} is drawn "):
            svg.save(figure_of(*fits, wrong), tmp_path / "y", png=False)
    assert not (tmp_path / "y.svg").exists()


def test_all_looks_are_in_one_place() -> None:
    """No other part of the page has a colour of its own, but for black and white."""
    for path in (LAB / "page").glob("*.py"):
        if path.name != "looks.py":
            text = path.read_text()
            assert not re.search(r"#[0-9A-Fa-f]{6}|\bC\d\b|tab:", text), path.name
            named = set(re.findall(r'colou?r"?[=:] ?"(\w+)"', text))
            assert named <= {"black", "white"}, path.name


def test_dots(drawn: list[Any], tmp_path: Path) -> None:
    some = rows(["ecn-true", "congestion-bbr"])
    some["more", "las", 1] = {"ms <=8": 7}  # a qdisc and a metric that others do not have
    assert experiment_pictures.draw(some, "title", tmp_path / "x")
    short = drawn[1]
    shown = [text.get_text() for text in short.get_xticklabels()]
    assert shown == ["ecn\ntrue", "congestion\nbbr", "more"]
    heights = [line.get_ydata() for line, *_ in short.containers]
    assert [each.size for each in heights] == [3] * len(QDISCS)
    assert heights[0][:2] == pytest.approx([1.75, 11.75]) and heights[2][2] == 7
    styles = [line for line, *_ in short.containers]
    assert [line.get_marker() for line in styles[:3]] == [LOOKS[q].mark for q in QDISCS[:3]]
    assert [line.get_markerfacecolor() == "white" for line in styles] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert {line.get_linestyle() for line in styles} == {"None"}


@pytest.mark.parametrize(("most", "scale"), [(30, "linear"), (300, "log")])
def test_what_is_comparable(most: float, scale: str, drawn: list[Any], tmp_path: Path) -> None:
    some = rows(["ecn-true", "congestion-bbr"])
    some["more", "las", 1] = {"ms <=8": most}
    assert experiment_pictures.draw(some, "title", tmp_path / "x")
    assert drawn[1].get_yscale() == scale
    assert scale == "log" or drawn[1].get_ylim()[0] == 0


def test_delays(drawn: list[Any], tmp_path: Path) -> None:
    some = rows(["load-0.5", "load-0.9"], "call", "tv")
    some["load-0.9", "las", 1]["call max ms"] = np.inf  # nothing arrived
    assert experiment_pictures.draw(some, "title", tmp_path / "x")
    assert [axis.get_title().split(":")[0] for axis in drawn[2:]] == [
        "load-0.5, call",
        "load-0.5, tv",
        "load-0.9, call",
        "load-0.9, tv",
    ]
    heights = [float(line.get_ydata()[0]) for line, *_ in drawn[4].containers]
    assert heights == [2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6]
    assert [text.get_text() for text in drawn[4].get_xticklabels()] == QDISCS


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cases", [["base"], ["load-0.5", "load-0.9"]])
def test_one_seed(cases: list[str], drawn: list[Any], tmp_path: Path) -> None:
    """It has no error, and no bar of it."""
    some = {key: values for key, values in rows(cases, "call").items() if key[2] == 1}
    assert experiment_pictures.draw(some, "title", tmp_path / "x")
    errors = [lines for axis in drawn for each in axis.containers for lines in errors_of(each)]
    assert errors and all(np.ptp(line[:, 1]) == 0 for line in errors)


def fetched(**of: dict[str, list[float]]) -> Rows:
    """By metric and case: of fq_codel, las and cake, of one seed; NaN is not in the CSV."""
    found: Rows = {}
    for metric, cases in of.items():
        for case, values in cases.items():
            for qdisc, value in zip(("fq_codel", "las", "cake"), values, strict=True):
                found.setdefault((case, qdisc, 1), {})[metric.replace("_", " ")] = value
    return from_csv(to_csv(found))


@pytest.mark.filterwarnings("error")
def test_fields(drawn: list[Any], tmp_path: Path) -> None:
    """Where there are groups of fetch: a number for each case and qdisc, also if there is none."""
    some = fetched(shorts_ms={"flood 1": [100, 10, np.nan], "flood 2": [np.nan, 1234, np.nan]})
    for case, values in {"flood 1": [1, 10, 0], "flood 2": [0, 5, 0], "udp": [4, 4, 2]}.items():
        for qdisc, value in zip(("fq_codel", "las", "cake"), values, strict=True):
            some.setdefault((case, qdisc, 1), {})["tcp Mbit/s"] = value
    assert experiment_pictures.draw(some, "title", tmp_path / "x")
    rate, times = drawn
    assert (rate.get_title(), times.get_title()) == (
        "throughput of tcp, Mbit/s",
        "response of shorts that have ended, ms",
    )
    assert [text.get_text() for text in rate.get_yticklabels()] == ["flood 1", "flood 2", "udp"]
    assert [text.get_text() for text in rate.get_xticklabels()] == ["fq_codel", "las", "cake"]
    shown = [text.get_text() for text in rate.texts]
    assert shown == ["1", "10", "0", "0", "5", "0", "4", "4", "2"]
    assert [text.get_text() for text in times.texts] == "100 10 none none 1234 none".split()
    (mesh,) = rate.collections
    tens = mesh.get_array().reshape(3, 3)
    assert tens[:2].tolist() == [[0, 1, -1], [0, 1, 0]]
    assert tens[2].tolist() == pytest.approx([0, 0, -np.log10(2)])
    # Of udp there is nothing to be told
    (mesh,) = times.collections
    assert mesh.get_array().reshape(3, 3).tolist() == [[0, 1, -1], [0, 1, 0], [None] * 3]
    assert b"<image" not in (tmp_path / "x.svg").read_bytes()


def test_fields_of_percent() -> None:
    """They are as far apart as they are, also from 0; and slowdown is what excess tells better."""
    values = np.array([[0.0, 5, 50]])
    found = experiment_pictures.better(values, values[:, [0]], "call loss %")
    assert found.tolist() == [[0, -0.5, -1]]
    names = {"bulk Mbit/s", "rude Mbit/s", "rude wire Mbit/s", "slowdown", "excess", "a late %"}
    told = experiment_pictures.shown_in_fields(names)
    assert list(told) == ["bulk Mbit/s", "excess", "a late %"]


def test_many_delays_are_fields(drawn: list[Any], tmp_path: Path) -> None:
    """Four panels can be seen beside each other."""
    for many in (False, True):
        some = rows(["load-0.5", "load-0.9"], "call", "tv", *(["x"] if many else []))
        drawn.clear()
        assert experiment_pictures.draw(some, "title", tmp_path / "x")
        titles = [axis.get_title() for axis in drawn]
        assert ("delay of tv, 99th percentile, ms" in titles) == many
        assert len(titles) == (5 if many else 6)
    # There is no fq_codel
    assert ">blue: better than pfifo, red: worse</text>" in (tmp_path / "x.svg").read_text()
    (tmp_path / "x.svg").unlink()
    for name in "ab":
        assert experiment_pictures.draw(some, "title", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def errors_of(container: Any) -> list[np.ndarray]:
    """The bars that tell how far off it may be."""
    bars = getattr(container, "errorbar", None) or container
    return [line for each in bars[2] for line in each.get_segments()] if len(bars) == 3 else []


@pytest.mark.filterwarnings("error")
def test_the_same_data_the_same_bytes(tmp_path: Path) -> None:
    """Also without downloads, and where nothing waits."""
    some = rows(["base"], "call", downloads=False)
    for values in some.values():
        values |= dict.fromkeys(values, 0.0)
    for name in "ab":
        assert experiment_pictures.draw(some, "title", tmp_path / name)
    for suffix in (".svg", ".png"):
        first = (tmp_path / f"a{suffix}").read_bytes()
        assert len(first) > 5000 and first == (tmp_path / f"b{suffix}").read_bytes()


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert not experiment_pictures.draw(
        {("base", "las", 1): {"bulk Mbit/s": 9.0}}, "title", tmp_path / "x"
    )
    assert not experiment_pictures.draw({}, "title", tmp_path / "x") and not list(
        tmp_path.iterdir()
    )


def test_text_is_text_of_no_font(tmp_path: Path) -> None:
    assert experiment_pictures.draw(rows(["base"], "call"), "A title", tmp_path / "x", False)
    text = (tmp_path / "x.svg").read_text()
    assert ">A title</text>" in text and ">las</text>" in text
    assert set(re.findall(r"font: [\d.]+px ([^;}]*)", text)) == {"sans-serif"}


def test_what_is_not_seen_is_not_there(tmp_path: Path) -> None:
    assert experiment_pictures.draw(rows(["load-0.5", "load-0.9"]), "title", tmp_path / "x", False)
    text = (tmp_path / "x.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert svg.drawn_by(tmp_path / "x.svg") == matplotlib.__version__
    assert "metadata" not in text and not re.search(r"\d\.\d{3}", text)
    names = re.findall(r' id="(.*?)"', text)
    referred = re.findall(r'(?:url\(|href=")#(\w+)', text)
    assert names and set(names) == set(referred) and len(set(names)) == len(names)
    styles = re.findall(r' style="(.*?)"', text)
    assert len(set(styles)) == len(styles)
    assert set(re.findall(r'class="(.*?)"', text)) == set(re.findall(r"^\.(\w+){", text, re.M))


def test_numbers_in_a_text_are_left_alone() -> None:
    given = '<svg><g id="a"><text x="1.001">0.12345</text></g></svg>'
    assert svg.plain(given, "1") == (
        '<!-- matplotlib 1 -->\n<svg><g><text x="1">0.12345</text></g></svg>'
    )
