# SPDX-License-Identifier: GPL-2.0
"""An experiment as a file: what it may say (docs/experiments.md tells more), and its runs.

Files are lab/experiments/NAME.toml or anybody's own. Every case of an experiment is what the file
says with other values for some of its keys, and every qdisc of the case runs once for each seed.
What two cases have in common is run once.
"""

import copy
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from lab.commands.demo import FLOOR
from lab.measure.reading import WIRE_BITS, DataError, Link
from lab.run.guests import LAB, SCRIPT, Job

EXPERIMENTS = LAB / "experiments"
PORT = 5000  # flowgen's first one
LAST_PORT = 7063  # bulk's last one
MOST_LINKS, MOST_STEADY = 15, 8  # of net.sh and cbr
MSS = 1460
# Are in every kernel; srpt is the lab's own, and net.sh loads it
BUILT_IN = ("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "srpt")
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}

Settings = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """What a value has to be, in words and as a test."""

    allowed: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Named:
    """A table of which the keys are names."""

    names: str  # a regular expression
    allowed: str
    each: Any


def number(least: float, most: float, whole: bool = False) -> Key:
    kinds = (int,) if whole else (int, float)
    what = f"{'a whole' if whole else 'a'} number from {least:g} to {most:g}"
    return Key(what, lambda value: type(value) in kinds and least <= value <= most)


def text(pattern: str, allowed: str) -> Key:
    return Key(allowed, lambda value: type(value) is str and bool(re.fullmatch(pattern, value)))


def choice(*values: str) -> Key:
    return Key(" or ".join(f'"{value}"' for value in values), lambda value: value in values)


def several(each: Key, most: int) -> Key:
    def fits(value: Any) -> bool:
        return type(value) is list and 0 < len(value) <= most and all(map(each.fits, value))

    return Key(f"a list of 1 to {most}, each {each.allowed}", fits)


SWITCH = Key("true or false", lambda value: type(value) is bool)
_RATE = r"([1-9]\d*|\d+\.\d+)([kmg]?)bit"
_N = r"\d+(?:\.\d+)?(?:e\d+)?"
_TERM = rf"(?:{_N}\*)?(?:(?:exp|fixed)\({_N}\)|pareto\({_N},{_N}\)|bp\({_N},{_N},{_N}\))"
_PHASE = r"\d+(?:\.\d+)?\*(?:0|\d+/\d+(?:\.\d+)?)"
RATE = text(_RATE, 'a rate such as "10mbit"')
SECONDS = number(0, 1e5)
QDISC = text(r"[a-z]\w*( [\w./%:{}+-]+)*", "a kind and its options, as tc has them")
SETTINGS = {
    "duration": number(1, 1e5),
    "network": {
        "rate": RATE,
        "rtt": number(0, 10000, whole=True),
        "links": several(
            text(rf"{_RATE}/\d+(\.\d+)?", '"RATE/RTT-IN-MS", as "10mbit/6"'), MOST_LINKS
        ),
        "buffer": number(1, 1e6, whole=True),
    },
    "tcp": {
        "like": choice("linux", "ns2"),
        "congestion": text(r"[a-z]+", 'the name of one, as "cubic" or "bbr"'),
        "ecn": SWITCH,
        "window": number(1, 10000, whole=True),
        "initcwnd": number(1, 1000, whole=True),
        "rto_min": number(0.001, 100),
        "socket_memory": number(4096, 1 << 30, whole=True),
    },
    "flows": {
        "size": text(
            rf"{_TERM}(\+{_TERM}){{0,7}}", 'a sum such as "0.8*exp(4)+0.2*bp(13,5000,1.1)"'
        ),
        "load": number(0.001, 100),
        "web": SWITCH,
        "after": SECONDS,
        "wait": number(1, 1e5),
    },
    "bulk": {
        "flows": number(1, 64, whole=True),
        "interval": number(0.001, 1e5),
        "stagger": SECONDS,
    },
    "steady": Named(
        r"[a-z0-9]{1,15}",
        "up to 15 of a to z and 0 to 9",
        {
            "bytes": number(24, 1472, whole=True),
            "every": number(0.01, 1e6),
            "phases": text(rf"{_PHASE}(,{_PHASE}){{0,3}}", '1 to 4 times "SECONDS*BYTES/US"'),
            "skip": SECONDS,
        },
    ),
    "qdiscs": Named(rf"(?!{FLOOR}$)[\w.-]+", f"letters, digits, ., _ and -; not {FLOOR}", QDISC),
}
FILE = {
    "title": text(r"\S.*", "a line of text"),
    "seeds": several(number(0, 1e9, whole=True), 100),
    "floor": SWITCH,
    "against": text(r"\S+", "the name of a qdisc"),
    "goals": text(r"\S+", "one of those in lab/page/goals.py"),
    **SETTINGS,
}


@dataclass(frozen=True)
class Refusals:
    """Of this file; each tells the key, and what is allowed."""

    file: str

    def say(self, what: str) -> NoReturn:
        raise DataError(f"{self.file}: {what}")

    def check(self, value: Any, spec: Any, where: str = "", lists: bool = False) -> None:
        """Whether it is what `spec` says; with `lists` each value is a list of such."""
        if isinstance(spec, Key):
            if lists and (type(value) is not list or not value):
                self.say(f"{where} has to be a list of values, each {spec.allowed}")
            for one in value if lists else [value]:
                if not spec.fits(one):
                    self.say(f"{where} is {one!r}; it has to be {spec.allowed}")
            return
        if type(value) is not dict:
            self.say(f"{where} has to be a table")
        for name, inner in value.items():
            at = f"{where}.{name}".lstrip(".")
            if isinstance(spec, Named):
                if not re.fullmatch(spec.names, name):
                    self.say(f"{where}: {name!r} is no name here; a name is {spec.allowed}")
                self.check(inner, spec.each, at, lists)
            elif name not in spec:
                self.say(f"{at} is not known; here may be {', '.join(spec)}")
            else:
                self.check(inner, spec[name], at, lists)

    def combination(self, case: str, settings: Settings) -> None:
        """Whether these values go together."""
        at = f"case {case}: "
        network, flows = settings.get("network", {}), settings.get("flows")
        if "duration" not in settings:
            self.say(f"{at}duration is missing, the seconds in which flows begin")
        if "rate" not in network:
            self.say(f"{at}network.rate is missing, of the bottleneck")
        if ("rtt" in network) == ("links" in network):
            self.say(f"{at}network has to have either rtt or links")
        if not settings.get("qdiscs"):
            self.say(f"{at}qdiscs is empty; there is nothing to run")
        tcp = settings.get("tcp", {})
        if tcp.get("like") == "ns2" and "congestion" in tcp:
            self.say(f'{at}tcp.congestion cannot be chosen with like = "ns2", which is Reno')
        if not any(settings.get(what) for what in ("flows", "bulk", "steady")):
            self.say(f"{at}there are neither flows nor bulk nor steady")
        for key in () if flows is None else ("size", "load"):
            if key not in flows:
                self.say(f"{at}flows.{key} is missing")
        if "bulk" in settings and "flows" not in settings["bulk"]:
            self.say(f"{at}bulk.flows is missing, how many")
        steady = settings.get("steady", {})
        if len(steady) > MOST_STEADY:
            self.say(f"{at}steady has {len(steady)} flows; it may have {MOST_STEADY}")
        for name, flow in steady.items():
            constant = {"bytes", "every"} & flow.keys()
            if ("phases" in flow) == bool(constant) or len(constant) == 1:
                self.say(f"{at}steady.{name} has to have either bytes and every, or phases")
        uses = [name for name, words in settings["qdiscs"].items() if "{buffer}" in words]
        for name, words in settings["qdiscs"].items():
            if re.search(r"[{}]", words.replace("{buffer}", "")):
                self.say(f"{at}qdiscs.{name}: {{buffer}} is all that may be in braces")
        if bool(uses) != ("buffer" in network):
            self.say(f"{at}network.buffer is what a qdisc's {{buffer}} is; have both or neither")


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


def bits(rate: str) -> float:
    """Per second, of "10mbit"."""
    digits, unit = re.fullmatch(_RATE, rate).groups()
    return float(digits) * UNITS[unit]


def plain(value: float) -> str:
    """A number as the programs read it."""
    return str(int(value)) if value == int(value) else repr(round(value, 6))


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    seeds: list[int]
    floor: bool
    against: str | None
    goals: str | None
    common: dict[str, str]  # the qdiscs of every case
    cases: dict[str, Settings]

    @cached_property
    def qdiscs(self) -> dict[str, str]:
        """Of all cases."""
        return {k: v for case in self.cases.values() for k, v in case["qdiscs"].items()}

    def only(
        self,
        qdiscs: dict[str, str] | None = None,
        cases: list[str] | None = None,
        seeds: list[int] | None = None,
    ) -> "Experiment":
        """A part of it, or other qdiscs in all of its cases."""
        chosen = self.cases
        if cases is not None:
            if not cases or not set(cases) <= set(chosen):
                raise DataError(f"{self.name}: the cases are {', '.join(chosen)}")
            chosen = {name: chosen[name] for name in cases}
        for name, words in (qdiscs or {}).items():
            if not QDISC.fits(words):
                raise DataError(f"{name} is {words!r}; it has to be {QDISC.allowed}")
        if qdiscs is not None:
            chosen = {name: case | {"qdiscs": qdiscs} for name, case in chosen.items()}
            for name, case in chosen.items():
                if "buffer" not in case["network"] and any("{" in q for q in qdiscs.values()):
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
                    job = job_of(f"{case}-{qdisc}-{seed}", settings, qdisc, seed)
                    key = (*job.args, *job.modules, seed)
                    result[case, qdisc, seed] = known.setdefault(key, job)
        return result

    @property
    def jobs(self) -> list[Job]:
        """Each once, the longest first."""
        jobs = {job.name: job for job in self.runs.values()}
        return sorted(jobs.values(), key=lambda job: -job.weight)

    def summary(self) -> str:
        what = f"{len(self.jobs)} run(s) of {len(self.cases)} case(s) and {len(self.seeds)} seed(s)"
        return what + (", the floor with them" if self.floor else "")


def read(path: Path) -> Experiment:
    """The experiment of this file; DataError says what is wrong with it."""
    refuse = Refusals(path.name)
    try:
        given = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        refuse.say(str(error))
    if not re.fullmatch(r"\w[\w.-]*", path.stem):
        refuse.say("the name of the file may have letters, digits, ., _ and -")
    vary, named = given.pop("vary", {}), given.pop("cases", {})
    if unknown := sorted(set(given) - set(FILE)):
        refuse.say(f"{unknown[0]} is not known; here may be {', '.join(FILE)}, vary, cases")
    refuse.check(given, FILE)
    refuse.check(vary, SETTINGS, "vary", lists=True)
    refuse.check(named, Named(r"\w[\w.-]*", "letters, digits, ., _ and -", SETTINGS), "cases")
    if "title" not in given:
        refuse.say("title is missing, a line of text")
    base = {key: value for key, value in given.items() if key in SETTINGS}
    changes: list[tuple[str, Settings]] = list(named.items())
    for keys, values in leaves(vary):
        for i, value in enumerate(values):
            shown = value if re.fullmatch(r"[\w.]+", str(value)) else i + 1
            change: Any = value
            for key in reversed(keys):
                change = {key: change}
            changes.append((f"{keys[-1]}-{shown}".lower(), change))
    cases: dict[str, Settings] = {}
    for name, change in changes or [("base", {})]:
        if name in cases:
            refuse.say(f"two cases have the name {name}")
        cases[name] = merged(base, change)
        refuse.combination(name, cases[name])
    result = Experiment(
        path.stem,
        given["title"],
        given.get("seeds", [1]),
        given.get("floor", False),
        given.get("against"),
        given.get("goals"),
        base.get("qdiscs", {}),
        cases,
    )
    if len(set(result.seeds)) < len(result.seeds):
        refuse.say("seeds has one of them twice")
    if result.floor and not all(case.get("flows") for case in cases.values()):
        refuse.say("floor is each of the flows alone, and not every case has flows")
    if result.against and not (result.floor and result.against in result.qdiscs):
        refuse.say("against is the qdisc whose excess is 1: have it in qdiscs, and floor = true")
    return result


def find(name: str) -> Path | None:
    """The file of an experiment, by its name or its path."""
    path = Path(name) if name.endswith(".toml") else EXPERIMENTS / f"{name}.toml"
    return path if path.is_file() else None


def flows_of(settings: Settings) -> list[str]:
    """The options of flowgen, but for the seed."""
    flows, network = settings["flows"], settings["network"]
    words = ["--size", flows["size"], "--load", plain(flows["load"])]
    words += ["--rate", plain(bits(network["rate"])), "--duration", plain(settings["duration"])]
    words += ["--web"] if flows.get("web") else []
    words += ["--wait", plain(flows["wait"])] if "wait" in flows else []
    return words + (["--ports", str(len(network["links"]))] if "links" in network else [])


def steady_of(settings: Settings) -> str:
    """The flows of cbr; those of flowgen begin after a while, and are there when it measures."""
    after = settings.get("flows", {}).get("after", 0)
    result = []
    for name, flow in settings["steady"].items():
        phases = flow.get("phases")
        if not phases:
            span = plain(after + settings["duration"])
            phases = f"{span}*{flow['bytes']}/{plain(flow['every'] * 1000)}"
        result.append(f"{name}:{plain(after + flow.get('skip', 0))}:{phases}")
    return " ".join(result)


def route_of(tcp: Settings) -> str:
    """What a route tells TCP: as in run2c_figures with ns-2's."""
    if tcp.get("like") == "ns2":
        tcp = {"window": 30, "initcwnd": 1, "rto_min": 1} | tcp
    words = [f"window {tcp['window'] * MSS}"] if "window" in tcp else []
    words += [f"initcwnd {tcp['initcwnd']}"] if "initcwnd" in tcp else []
    words += [f"rto_min {plain(tcp['rto_min'] * 1000)}ms"] if "rto_min" in tcp else []
    return " ".join(words)


def modules_of(settings: Settings, words: str) -> list[str]:
    """The kernel modules that a run needs."""
    result = ["veth", "sch_htb", "sch_netem"]
    result += ["sch_prio", "cls_u32"] if "links" in settings["network"] else []
    result += modules_of_kind(words)
    # What run2c does not learn the senders have to tell
    result += ["run2c_isn"] if needs_isn(words) else []
    congestion = settings.get("tcp", {}).get("congestion", "cubic")
    return result + ([] if congestion == "reno" else [f"tcp_{congestion}"])


def modules_of_kind(words: str) -> list[str]:
    """The qdisc's own."""
    kind = words.split()[0]
    return [] if kind in BUILT_IN else [f"sch_{kind}"]


def needs_isn(words: str) -> bool:
    return words.split()[0] == "run2c" and "no_learn" in words.split()


def job_of(name: str, settings: Settings, qdisc: str, seed: int) -> Job:
    """One run; that of the floor is each flow alone, and nothing beside them."""
    network, tcp = settings["network"], settings.get("tcp", {})
    alone = qdisc == FLOOR
    words = "pfifo limit 10000" if alone else settings["qdiscs"][qdisc]
    words = words.replace("{buffer}", str(network.get("buffer")))
    flows, bulk, steady = (
        None if alone and what != "flows" else settings.get(what)
        for what in ("flows", "bulk", "steady")
    )
    after = 0 if alone else settings.get("flows", {}).get("after", 0)
    span = settings["duration"] + after
    given = {
        "QDISC": words,
        "RATE": network["rate"],
        "RTT_MS": str(network.get("rtt", 0)),
        "LINKS": " ".join(network.get("links", [])),
        "TCP": "ns2" if tcp.get("like") == "ns2" else "",
        "ROUTE": route_of(tcp),
        "CONGESTION": tcp.get("congestion", ""),
        "ECN": "" if "ecn" not in tcp else str(int(tcp["ecn"])),
        "SOCKET_MEMORY": str(tcp.get("socket_memory", "")),
        "ISN": f"{PORT}-{LAST_PORT}" if needs_isn(words) else "",
    }
    weight = 0.0  # in what the bottleneck sends in a second
    if flows:
        options = [*flows_of(settings), "--seed", str(seed), *(["--alone"] if alone else [])]
        given["FLOWGEN"] = " ".join(options)
        given["AFTER"] = plain(after) if after else ""
        weight = flows["load"] * settings["duration"]
    if bulk:
        options = [f"--{key} {plain(value)}" for key, value in bulk.items() if value]
        given["BULK"] = " ".join([*options, f"--duration {plain(span)}"])
        weight = span
    if steady:
        given["CBR"] = steady_of(settings)
    weight = max(1.0, weight * bits(network["rate"]) / 1e6)
    if steady and not bulk:
        # Small packets take as long as others
        packets = sum(span * 1000 / flow["every"] for flow in steady.values() if "every" in flow)
        weight += packets * WIRE_BITS / 1e6
    args = [f"{key}={value}" for key, value in given.items() if value]
    return Job(name, SCRIPT, args, weight, modules_of(settings, words), seed)


def link(settings: Settings, senders: np.ndarray) -> Link:
    """What each flow has to itself, by the port of its sender."""
    network = settings["network"]
    rate = bits(network["rate"])
    if "links" not in network:
        return Link(rate, network["rtt"])
    own = [each.split("/") for each in network["links"]]
    rates = np.array([min(rate, bits(each)) for each, _ in own])
    rtts = np.array([float(rtt) for _, rtt in own])
    place = senders - PORT
    if place.size and not 0 <= place.min() <= place.max() < len(own):
        raise DataError("a flow of no sender's port")
    return Link(rates[place], rtts[place])
