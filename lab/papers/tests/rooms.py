# SPDX-License-Identifier: GPL-2.0
"""What each paper's room has to have."""

from types import ModuleType

from lab.measure.rows import Rows
from lab.papers.vocabulary import THEORY, taken_of


def check_items(room: ModuleType, paper: str, *numbers: int | str) -> None:
    """These figures and tables, and no other, none of them empty."""
    items = list(room.items())
    assert sorted(item.key for item in items) == sorted(f"{paper}-{n}" for n in numbers)
    assert all(item.rows or item.panels for item in items)


def check_models(room: ModuleType) -> None:
    """All that its items take from a model is given by its own."""
    rows: Rows = {}
    for figure, what, values in room.models():
        rows.setdefault((figure, what, 0), {}).update(values)
    for item in room.items():
        for at, curve in taken_of(item):
            if at.experiment == THEORY:
                found = at.curve({THEORY: rows}) if curve else at.values({THEORY: rows})
                assert found, at
