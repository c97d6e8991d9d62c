# SPDX-License-Identifier: GPL-2.0
"""An experiment, as its file tells it (docs/experiments.md), and its runs.

Files are lab/experiments/NAME.toml or anybody's own. Every case of an experiment is what the file
says with other values for some of its keys, and every qdisc of the case runs once for each seed.
What two cases have in common is run once.
"""

import copy
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.measure.reading import DataError
from lab.run.guests import LAB, Job
from lab.run.job import job_of
from lab.run.keys import ANYTHING, CASE, FILE, QDISC, SETTINGS, SHORT, Named, Refusals, Settings
from lab.run.qdiscs import BUFFER, FLOOR, LISTS

EXPERIMENTS = LAB / "experiments"
SECTIONS = ("papers", "comparisons")  # of the page


@dataclass(frozen=True)
class Bound:
    """What a metric may be, of itself or as a part of another."""

    metric: list[str]
    case: list[str]  # with a * for any text, and so is the qdisc
    qdisc: list[str]
    of: dict[str, Any]  # the other's metric, case and qdisc (or some), where not the same
    at_least: float | None
    at_most: float | None
    enough: float | None  # what meets it, whatever part of the other that is

    def is_of(self, case: str, qdisc: str) -> bool:
        """The short case is meant only where it is named."""
        cases = SHORT in self.case if case == SHORT else matches(case, self.case)
        return cases and qdisc != FLOOR and matches(qdisc, self.qdisc)


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Place:
    """On the page: its section, the place there, and whether it counts for the advice."""

    section: str
    order: float
    advice: bool


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    seeds: list[int]
    floor: bool
    against: str | None
    common: dict[str, str]  # the qdiscs of every case
    cases: dict[str, Settings]
    bounds: list[Bound] = field(default_factory=list)
    place: Place | None = None  # None: not on the page
    short_of: str | None = None  # the case that the short one stands for
    short_case: Settings = field(default_factory=dict)

    @cached_property
    def qdiscs(self) -> dict[str, str]:
        """Of all cases."""
        return {k: v for case in self.cases.values() for k, v in case["qdiscs"].items()}

    @property
    def short(self) -> "Experiment":
        """Its short case alone, with one seed."""
        return replace(self, cases={SHORT: self.short_case}, seeds=self.seeds[:1])

    def only(
        self,
        qdiscs: dict[str, str] | None = None,
        cases: list[str] | None = None,
        seeds: list[int] | None = None,
    ) -> "Experiment":
        """A part of it, or other qdiscs in all of its cases; a name is also all that it varies."""
        known = self.cases | ({SHORT: self.short_case} if self.short_of else {})
        chosen = self.cases
        if cases is not None:
            of = {name: name.split()[0] for name in known}
            if not cases or not set(cases) <= {*of, *of.values()}:
                raise DataError(f"{self.name}: the cases are {', '.join(known)}")
            chosen = {name: known[name] for name in of if {name, of[name]} & set(cases)}
        for name, words in (qdiscs or {}).items():
            if not QDISC.fits(words):
                raise DataError(f"{name} is {words!r}; it has to be {QDISC.allowed}")
        if qdiscs is not None:
            chosen = {name: case | {"qdiscs": qdiscs} for name, case in chosen.items()}
            for name, case in chosen.items():
                if "buffer" not in case["network"] and any(BUFFER in q for q in qdiscs.values()):
                    raise DataError(f"{self.name}: there is no network.buffer in the case {name}")
        common = self.common if qdiscs is None else qdiscs
        return replace(self, cases=chosen, common=common, seeds=seeds or self.seeds)

    @cached_property
    def runs(self) -> dict[tuple[str, str, int], Job]:
        """The job of each case, qdisc (or floor) and seed."""
        known: dict[tuple, Job] = {}
        result = {}
        for case, settings in self.cases.items():
            for qdisc in [*([FLOOR] if self.floor else []), *settings["qdiscs"]]:
                for seed in self.seeds:
                    name = f"{case}-{qdisc}-{seed}".replace(" ", "-")
                    job = job_of(name, settings, qdisc, seed)
                    result[case, qdisc, seed] = known.setdefault(job.key, job)
        return result

    @property
    def jobs(self) -> list[Job]:
        """Each once, the longest first."""
        jobs = {job.name: job for job in self.runs.values()}
        return sorted(jobs.values(), key=lambda job: -job.weight)

    def summary(self) -> str:
        what = f"{len(self.jobs)} run(s) of {len(self.cases)} case(s) and {len(self.seeds)} seed(s)"
        return what + (", the floor with them" if self.floor else "")


def merged(base: Settings, other: Settings) -> Settings:
    result = copy.deepcopy(base)
    for key, value in other.items():
        both = type(value) is dict and type(result.get(key)) is dict
        result[key] = merged(result[key], value) if both else value
    return result


def leaves(table: Settings, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list]]:
    for key, value in table.items():
        if type(value) is dict:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def varied(vary: Settings) -> Iterator[tuple[str, str, Settings]]:
    """The key, the value as a name has it, and what it changes."""
    for keys, values in leaves(vary):
        for i, value in enumerate(values):
            shown = value if re.fullmatch(r"[\w.]+", str(value)) else i + 1
            change: Any = value
            for key in reversed(keys):
                change = {key: change}
            yield keys[-1], str(shown).lower(), change


def changes_of(vary: Settings, named: Settings, refuse: Refusals) -> Iterator[tuple[str, Settings]]:
    """The cases by name, each with what it changes; what is varied in one follows its name."""
    for name, case in named.items():
        own = {key: value for key, value in case.items() if key != "vary"}
        inner = list(varied(case.get("vary", {})))
        if len({key for key, _, _ in inner}) > 1:
            refuse.say(f"cases.{name}.vary may have one key")
        for _, shown, change in inner:
            yield f"{name} {shown}", merged(own, change)
        if not inner:
            yield name, own
    for key, shown, change in varied(vary):
        yield f"{key}-{shown}", change


def with_only(settings: Settings, refuse: Refusals) -> Settings:
    """Without the qdiscs that are not run."""
    names, qdiscs = settings.pop("only", None), settings.get("qdiscs", {})
    if unknown := sorted(set(names or ()) - set(qdiscs)):
        refuse.say(f"only has {unknown[0]}, which is none of the qdiscs")
    chosen = {name: words for name, words in qdiscs.items() if names is None or name in names}
    return settings | {"qdiscs": chosen}


def read(path: Path) -> Experiment:
    """The experiment of this file; DataError says what is wrong with it."""
    refuse = Refusals(path.name)
    try:
        given = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        refuse.say(str(error))
    if not re.fullmatch(CASE, path.stem):
        refuse.say("the name of the file may have letters, digits, ., _ and -")
    vary, named = given.pop("vary", {}), given.pop("cases", {})
    if unknown := sorted(set(given) - set(FILE)):
        refuse.say(f"{unknown[0]} is not known; here may be {', '.join(FILE)}, vary, cases")
    refuse.check(given, FILE)
    refuse.check(vary, SETTINGS, "vary", lists=True)
    each = SETTINGS | {"vary": ANYTHING}
    refuse.check(named, Named(CASE, "letters, digits, ., _ and -", each), "cases")
    for name, case in named.items():
        refuse.check(case.get("vary", {}), SETTINGS, f"cases.{name}.vary", lists=True)
    if "title" not in given:
        refuse.say("title is missing, a line of text")
    base = {key: value for key, value in given.items() if key in SETTINGS}
    lists = [LISTS[name] for name in given.get("include", [])]
    if lists or "qdiscs" in base:
        base["qdiscs"] = {k: v for of in lists for k, v in of.items()} | base.get("qdiscs", {})
    cases: dict[str, Settings] = {}
    for name, change in list(changes_of(vary, named, refuse)) or [("base", {})]:
        if name in cases:
            refuse.say(f"two cases have the name {name}")
        cases[name] = with_only(merged(base, change), refuse)
        refuse.combination(name, cases[name])
    place = given.get("page")
    if place is not None and "section" not in place:
        refuse.say("page.section is missing, where on the page it is")
    result = Experiment(
        path.stem,
        given["title"],
        given.get("seeds", [1]),
        given.get("floor", False),
        given.get("against"),
        base.get("qdiscs", {}),
        cases,
        place=place and Place(place["section"], place.get("order", 0), place.get("advice", False)),
    )
    if SHORT in given:
        result = with_short(result, given[SHORT], refuse)
    if len(set(result.seeds)) < len(result.seeds):
        refuse.say("seeds has one of them twice")
    if result.floor and not all(case.get("flows") for case in cases.values()):
        refuse.say("floor is each of the flows alone, and not every case has flows")
    if result.against and not (result.floor and result.against in result.qdiscs):
        refuse.say("against is the qdisc whose excess is 1: have it in qdiscs, and floor = true")
    bounds = [bound_of(i, one, result, refuse) for i, one in enumerate(given.get("bounds", []), 1)]
    return replace(result, bounds=bounds)


def with_short(experiment: Experiment, given: Settings, refuse: Refusals) -> Experiment:
    of = given.get("of")
    if of not in experiment.cases:
        refuse.say(f"{SHORT}.of has to be one of the cases: {', '.join(experiment.cases)}")
    change = {key: value for key, value in given.items() if key != "of"}
    case = with_only(merged(experiment.cases[of], change), refuse)
    refuse.combination(SHORT, case)
    return replace(experiment, short_of=of, short_case=case)


def listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def bound_of(number: int, given: Settings, experiment: Experiment, refuse: Refusals) -> Bound:
    at, of = f"bounds {number}: ", given.get("of", {})
    known = {
        "case": [*experiment.cases, *([SHORT] if experiment.short_of else [])],
        "qdisc": [*experiment.qdiscs, *experiment.short_case.get("qdiscs", {})],
    }
    patterns = {}
    for key, names in known.items():
        patterns[key] = listed(given.get(key, "*"))
        for pattern in [*patterns[key], *(listed(of[key]) if key in of else [])]:
            if not any(fnmatchcase(name, pattern) for name in names):
                refuse.say(f"{at}{pattern} is no {key}")
    if "metric" not in given:
        refuse.say(f"{at}metric is missing, what is bounded")
    limits = [given.get(key) for key in ("at_least", "at_most", "enough")]
    if limits[:2] == [None, None]:
        refuse.say(f"{at}at_least and at_most are missing")
    if limits[2] is not None and (None not in limits[:2] or not of):
        refuse.say(f"{at}enough goes with of, and with either at_least or at_most")
    if isinstance(of.get("qdisc"), list) and None not in limits[:2]:
        refuse.say(f"{at}the better of several goes with either at_least or at_most")
    return Bound(listed(given["metric"]), patterns["case"], patterns["qdisc"], of, *limits)


def find(name: str) -> Path | None:
    """The file of an experiment, by its name or its path."""
    path = Path(name) if name.endswith(".toml") else EXPERIMENTS / f"{name}.toml"
    return path if path.is_file() else None


def names() -> list[str]:
    return sorted(path.stem for path in EXPERIMENTS.glob("*.toml"))


def on_page() -> list[Experiment]:
    """Those that have a place on the page, in their order there."""
    every = [read(EXPERIMENTS / f"{name}.toml") for name in names()]
    placed = [(SECTIONS.index(e.place.section), e.place.order, e.name, e) for e in every if e.place]
    return [experiment for *_, experiment in sorted(placed, key=lambda each: each[:3])]
