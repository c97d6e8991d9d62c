# SPDX-License-Identifier: GPL-2.0
"""What docs/results/ holds beside the pictures: each experiment's CSVs, and the notes."""

import tomllib
from pathlib import Path

from lab.measure.reading import DataError
from lab.measure.rows import AT, Rows, add_curves, curves_to_csv, from_csv, points, to_csv
from lab.papers.index import ITEMS
from lab.papers.vocabulary import At, Results, taken_of

CURVES = "-curves.csv"
NOTES = "notes.toml"


def curves_taken() -> set[At]:
    """The curves, and single points of such, that some row or panel takes."""
    every = (item for items in ITEMS.values() for item in items)
    return {at for item in every for at, whole in taken_of(item) if whole or AT in at.metric}


def pooled_curves(taken: set[At], name: str, case: str, qdisc: str) -> list[At]:
    """In the order of their names."""
    mine = (
        at
        for at in taken
        if at.pooled and (at.experiment, at.case, at.qdisc) == (name, case, qdisc)
    )
    return sorted(mine, key=lambda at: at.metric)


def store(where: Path, name: str, rows: Rows) -> None:
    """An experiment's CSVs: of its curves those that the page takes, which are of one seed, or, as
    if they were, the mean of all."""
    where.mkdir(parents=True, exist_ok=True)
    (where / f"{name}.csv").write_text(to_csv(rows))
    taken = curves_taken()
    curves: Rows = {}
    seen: set[tuple[str, str]] = set()
    for (case, qdisc, seed), values in rows.items():
        for metric in values if (case, qdisc) not in seen else ():
            ways = {metric, metric.rsplit(AT, 1)[0]}
            if AT in metric and any(At(name, case, qdisc, way) in taken for way in ways):
                curves.setdefault((case, qdisc, seed), {})[metric] = values[metric]
        for curve in pooled_curves(taken, name, case, qdisc) if (case, qdisc) not in seen else ():
            for x, y in curve.curve({name: rows}):
                values_of = curves.setdefault((case, qdisc, seed), {})
                values_of |= points(curve.metric, [x], [y])
        seen.add((case, qdisc))
    path = where / f"{name}{CURVES}"
    if curves:
        path.write_text(curves_to_csv(curves))
    else:
        path.unlink(missing_ok=True)


def load(where: Path) -> Results:
    results: Results = {}
    for path in sorted(where.glob("*.csv")):
        if not path.name.endswith(CURVES):
            rows = results[path.stem] = from_csv(path.read_text())
            curves = where / f"{path.stem}{CURVES}"
            if curves.exists():
                add_curves(rows, curves.read_text())
    return results


def load_notes(where: Path) -> dict[str, dict[str, str]]:
    path = where / NOTES
    try:
        notes = tomllib.loads(path.read_text()) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: {error}") from None
    for item, sentences in notes.items():
        if type(sentences) is not dict or {type(each) for each in sentences.values()} != {str}:
            raise DataError(f"{path}: {item} has to be a table of rows, each with a sentence")
    return notes
