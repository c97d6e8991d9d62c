# SPDX-License-Identifier: GPL-2.0
"""The papers in the order of the page, and all that their rooms say."""

from lab.measure.rows import Rows
from lab.papers import excess, las, run2c, sched_tcp, sift, sqf
from lab.papers.vocabulary import Item

ROOMS = (run2c, las, sift, sqf, sched_tcp, excess)
TITLES = {room.NAME: (room.__doc__ or "").splitlines()[0].rstrip(".") for room in ROOMS}
ITEMS: dict[str, list[Item]] = {room.NAME: list(room.items()) for room in ROOMS}


def modelled() -> Rows:
    """What all models give, in the form of what is measured; the seed is 0."""
    result: Rows = {}
    for room in ROOMS:
        for figure, what, values in room.models():
            result.setdefault((figure, what, 0), {}).update(values)
    return result
