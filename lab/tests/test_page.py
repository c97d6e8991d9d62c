# SPDX-License-Identifier: GPL-2.0
"""What is generated: README.md's numbers, and whether all of it is up to date."""

import re
from pathlib import Path

import pytest

from lab.measure.reading import DataError
from lab.measure.rows import Rows
from lab.page import __main__ as page
from lab.page import readme, results, stored, svg
from lab.run.guests import RESULTS

SVG = "<!-- matplotlib {} -->\n<svg>{}</svg>"
DRAWN_BY = ["1.0"]  # the version at hand


def long_runs() -> Rows:
    values = {"las": 1.0, "cake": 4.0, "srpt": 0.5, "sqf": 0.75}
    return {
        ("base", qdisc, seed): {"excess": value + (qdisc == "las") * (seed - 2) / 10}
        for qdisc, value in values.items()
        for seed in (1, 2, 3)
    }


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page, its CSVs and pictures, and a README.md beside them."""

    def drawn(item: results.Item, _: object, directory: Path) -> None:
        (directory / f"{item.key}.svg").write_text(SVG.format(DRAWN_BY[0], item.key))

    DRAWN_BY[0] = "1.0"
    monkeypatch.setattr(results, "picture", drawn)
    monkeypatch.setattr(results, "draw_experiment", lambda *_, **__: False)
    directory = tmp_path / "results"
    stored.store(directory, "d1-long", long_runs())
    (directory / "notes.toml").write_text("")
    (directory / "demo.txt").write_text("a table\n\nof two parts\n")
    results.write(directory)
    beside = tmp_path / "README.md"
    beside.write_text(readme.README.read_text())
    beside.write_text(readme.renewed(beside, directory, stored.load(directory)))
    return directory


def test_numbers_of_the_readme(where: Path) -> None:
    text = (where.parent / "README.md").read_text()
    assert "<!-- begin: demo -->\n\n    a table\n\n    of two parts\n\n<!-- end: demo -->" in text
    # 0.9, 1 and 1.1 of cake's 4 and srpt's 0.5, of three seeds: 2.48 standard deviations
    assert "With 3 seeds of it" in text and "`las` has 0.25 ±0.06 of CAKE's excess" in text
    assert "2.00 ±0.50 times that of" in text.replace("\n", " ")
    assert "`sqf` 1.50 ±0.00 times" in text
    lines = text.split("begin: costs -->")[1].splitlines()
    head, first = lines[2].split(), lines[3].split()
    assert head == list(readme.QDISCS.values())
    cost = readme.read_costs()["100 flows", "las"]
    assert first[2 + head.index("las")] == f"{cost.enqueue + cost.dequeue:.0f}"


def test_numbers_of_security(tmp_path: Path) -> None:
    """The means of the seeds; short flows of which none has ended have no response."""
    rows = {}
    for case in readme.IMPOLITE:
        for qdisc in readme.BESIDE:
            for seed in (1, 2):
                numbers = {"tcp Mbit/s": 2.0 * seed, "call loss %": 4.0 * seed, "call p99 ms": 7.0}
                numbers |= {} if qdisc == "cake" else {"shorts ms": 50.0 * seed}
                rows[case, qdisc, seed] = numbers
    forged = {
        (case, qdisc, seed): {"tcp Mbit/s": 3.0, "call loss %": 2.0 * seed, "call p99 ms": 5.0}
        for case in readme.FORGED
        for qdisc in readme.FORGED_QDISCS
        for seed in (1, 2)
    }
    path = tmp_path / "security.md"
    names = ("forged", "impolite")
    path.write_text("".join(f"<!-- begin: {n} -->\n\nold\n\n<!-- end: {n} -->\n" for n in names))
    with pytest.raises(DataError, match="there is no impolite.csv"):
        readme.renewed(path, tmp_path, {"forged": forged})
    with pytest.raises(DataError, match="there is no forged.csv"):
        readme.renewed(path, tmp_path, {"impolite": rows})
    text = readme.renewed(path, tmp_path, {"forged": forged, "impolite": rows})
    assert (
        f"| with each packet of 64 bytes |{' 3.0, 3 % 5 |' * len(readme.FORGED_QDISCS)}\n" in text
    )
    lines = text[text.index("<!-- begin: impolite") :].splitlines()
    assert lines[2] == "|  | las | sqf | sift | run2c | fq_codel | cake |"
    both = "3.0, 75, 6 % 7"
    assert lines[4] == f"| polite | {' | '.join([both] * 5)} | 3.0, none, 6 % 7 |"
    assert lines[5].startswith("| rst: one flow |") and lines[-2:] == ["", "<!-- end: impolite -->"]


def test_markers(where: Path) -> None:
    beside = where.parent / "README.md"
    text = beside.read_text()
    every = stored.load(where)
    with pytest.raises(DataError, match="not in d1-long.csv"):
        readme.renewed(beside, where, {})
    for wrong in (text.replace("<!-- end: costs -->", ""), text + text):
        beside.write_text(wrong)
        with pytest.raises(DataError, match="README.md: not one part from"):
            readme.renewed(beside, where, every)


def test_what_is_not_up_to_date(where: Path) -> None:
    beside = where.parent / "README.md"

    def found() -> list[str]:
        return page.differences(where, beside)

    assert (where / "excess.svg").exists() and found() == []
    whole = beside.read_text()
    beside.write_text(whole.replace("With 3 seeds", "With 4 seeds"))
    assert found() == ["README.md"]
    beside.write_text(whole)
    where.with_suffix(".md").write_text("something")
    assert found() == ["docs/results.md"]
    results.write(where)
    # What nothing takes, or makes
    curves = where / "d1-long-curves.csv"
    curves.write_text("case,qdisc,seed,curve,x,y\nbase,las,1,ms,1,1\n")
    (where / "old.svg").write_text(SVG.format("1.0", ""))
    assert found() == ["docs/results/d1-long-curves.csv", "docs/results/old.svg"]
    curves.unlink()
    (where / "old.svg").unlink()
    (where / "excess.svg").write_text(SVG.format("1.0", "other"))
    assert found() == ["docs/results/excess.svg"]
    # Of another matplotlib it may be another
    DRAWN_BY[0] = "2.0"
    assert svg.drawn_by(where / "excess.svg") == "1.0" and found() == []


def test_what_the_readme_names_is_there() -> None:
    """What make is told to make."""
    text = readme.README.read_text()
    top = readme.README.parent
    rules = (top / "Makefile").read_text()
    targets = set(re.findall(r"^    (?:sudo )?make ([a-z][\w-]*)", text, re.MULTILINE))
    targets |= set(re.findall(r"`(?:sudo )?make ([a-z][\w-]*)", text))
    assert len(targets) > 10
    for target in targets:
        assert re.search(rf"^([\w-]+ )*{target}( [\w-]+)*:", rules, re.MULTILINE), target


def test_links_of_the_pages() -> None:
    """Files, and headings in them."""
    for path in [readme.README, *RESULTS.parent.glob("*.md"), *RESULTS.glob("*.md")]:
        text = path.read_text()
        for link, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
            other = path.parent / link if link else path
            assert other.exists(), (path.name, link)
            if heading:
                heads = re.findall(r"^#+ (.*)$", other.read_text(), re.MULTILINE)
                slugs = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in heads}
                assert heading in slugs, (path.name, link, heading)
