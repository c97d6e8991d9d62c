# SPDX-License-Identifier: GPL-2.0
"""Of a comparison's page and the first one: the sentences that say what came out."""

from pathlib import Path

import pytest

from lab.measure.rows import Rows
from lab.page import comparisons, effect, front, summary_pictures, svg
from lab.run import experiment as files


def rows(case: str, **of: float) -> Rows:
    """Of a qdisc the least delay is the best, and so it has the least throughput."""
    return {
        (case, qdisc, 1): {"ms <=8": ms, "bulk Mbit/s": ms, "call loss %": 0.0}
        for qdisc, ms in of.items()
    }


def test_who_is_best() -> None:
    one = rows("a", las=1, cake=2, fq_codel=3, sqf=4, srpt=0)
    assert comparisons.leaders(one, "ms <=8") == "Least ms <=8: las."
    assert comparisons.leaders(one, "bulk .*") == "Most bulk Mbit/s: sqf."
    assert comparisons.leaders(one, "call .*") == "Least call loss %: 4 of 4 alike."
    assert comparisons.leaders(one, "nothing") == ""
    two = one | rows("b", las=1, cake=1, fq_codel=3, sqf=4)
    assert comparisons.leaders(two, "ms <=8") == "Least ms <=8: las in 2, cake in 1 of 2 cases."


def test_what_came_out() -> None:
    """As a part of fq_codel's, or, where that has not run, who is best."""
    told = comparisons.outcome(rows("a", las=1, cake=2, fq_codel=4))
    assert told.startswith("Response of short flows, up to 8 packets: las 0.25 of fq_codel's; ")
    assert told.endswith("throughput of a download without an end: las 0.25 of fq_codel's.")
    assert comparisons.outcome(rows("a", las=1, cake=2)) == "Least ms <=8: las."


def test_what_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Is what the file says before its first key."""
    monkeypatch.setattr(files, "EXPERIMENTS", tmp_path)
    text = "# SPDX-License-Identifier: X\n# First.\n#\n#     case  what\ntitle = 1\n# Not this.\n"
    (tmp_path / "x.toml").write_text(text)
    assert comparisons.setup("x") == "First.\n\n    case  what"


def test_first_page() -> None:
    """Which kind, how much better, and where not; and a line for each page."""
    chosen = {"mix": rows("a", las=1, sqf=1, sift=2, run2c=8, cake=2, fq_codel=4)}
    one = files.read(files.EXPERIMENTS / "mix.toml")
    text = "\n".join(front.front([("p", "P", "Met.")], [(one, chosen["mix"])], chosen, "", "here"))
    assert "| Response of short flows, up to 8 packets | 1 | 0.25 | 0.25 | 0.50 | 2.00 |" in text
    assert "- `run2c`. Best: throughput of a download without an end. Behind fq_codel: " in text
    assert "| [mix](here/mix.md) | " in text and "| [p](here/p.md) | P | Met. |" in text
    assert "![" not in text and "[costs" not in text


def test_how_many_times_better(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of delay the reciprocal, so that what is better is always on the same side."""
    drawn = {}

    def keep(figure: svg.Any, *_: object, **__: object) -> None:
        (axis,) = figure.axes
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True):
            drawn[label] = line.get_xdata().tolist()

    monkeypatch.setattr(summary_pictures, "save", keep)
    assert not summary_pictures.draw_advice({}, tmp_path / "x")
    chosen = {"x": rows("a", las=1, fq_codel=4, cake=8)}
    assert summary_pictures.draw_advice(chosen, tmp_path / "x")
    assert drawn == {"las": [4.0, 0.25], "cake": [0.5, 2.0]}


def test_first_picture(tmp_path: Path) -> None:
    """It is of what comes in and of what is sent, and what it says of pages is said in words."""
    results: dict[str, Rows] = {}
    for side in effect.SIDES:
        of = results.setdefault(side.experiment, {})
        for i, (qdisc, before, after) in enumerate(side.lines.values()):
            for case, ms in ((before, 500.0), (after, 1000.0 * (9 - i))):
                for seed in (1, 2):
                    of[case, qdisc, seed] = {"web page ms": ms + seed, "call p99 ms": ms / 100}
    assert effect.complete(results)
    text = effect.sentences(results)
    assert "a page takes 9.0 s. " in text and "7.0 s under cake, 6.0 s under `las`" in text
    assert text.count("0.5 s if nobody else is there.") == 2
    effect.draw(results, tmp_path / "effect")
    drawn = (tmp_path / "effect.svg").read_text()
    assert [drawn.count(f">{text}<") for text in ("9.0", "90", "not shaped")] == [2, 2, 2]
    for seed in (1, 2):
        del results["ingress"]["unshaped-pages", "isp", seed]
    assert not effect.complete(results)
