# SPDX-License-Identifier: GPL-2.0
"""The kinds of this tree, and what the lab.toml of each folder sch_KIND says of it.

In these files {kind} is the kind, so that a copy of a folder is a kind of its own.
"""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from lab.run.guests import LAB

STEADY = "limit 20000 memory_limit 64mb"  # with which a kind of ours drops nothing in make bench


@dataclass(frozen=True)
class Appearance:
    """In pictures: lab/page/looks.py has the others'."""

    colour: str
    mark: str
    same: list[str] = field(default_factory=list)  # other names of it


@dataclass(frozen=True)
class Variant:
    """What make bench measures."""

    words: str  # as tc has them, but for limits
    memory: str = ""  # the words with which its memory is measured, if these are others
    page: str = ""  # its name in docs/results.md; in README.md, too, if that is the kind
    goal: float = 0  # the most that it may cost of what fq_codel does, where a hash is not known
    cycles: bool = False  # whether with NATIVE=1, too
    most_flows: int = 0  # then: of its option `flows`


@dataclass(frozen=True)
class Kind:
    looks: dict[str, Appearance]  # by the name in experiments
    bench: dict[str, Variant]
    samples: bool  # experiments may watch which flows it samples: by KIND_watch.c in its folder


def _read(path: Path) -> Kind:
    kind = path.parent.name.removeprefix("sch_")
    given = tomllib.loads(path.read_text().replace("{kind}", kind))
    return Kind(
        {name: Appearance(**look) for name, look in given.get("looks", {}).items()},
        {name: Variant(**variant) for name, variant in given.get("bench", {}).items()},
        path.with_name(f"{kind}_watch.c").exists(),
    )


def kinds(top: Path) -> dict[str, Kind]:
    files = sorted(top.glob("sch_*/lab.toml"))
    return {path.parent.name.removeprefix("sch_"): _read(path) for path in files}


KINDS = kinds(LAB.parent)
VARIANTS = {name: one for kind in KINDS.values() for name, one in kind.bench.items()}


def is_sampling(words: str) -> bool:
    """Whether a qdisc is of a kind of which experiments may watch the samples."""
    kind = KINDS.get(words.split()[0])
    return kind is not None and kind.samples
