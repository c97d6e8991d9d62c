# SPDX-License-Identifier: GPL-2.0
"""What an experiment's file may say: its keys, and what is refused (docs/experiments.md)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from lab.measure.reading import DataError
from lab.run.kinds import is_sampling
from lab.run.qdiscs import BUFFER, FLOOR, LISTS
from lab.run.qdiscs import RATE as OWN_RATE

MOST_LINKS, MOST_STEADY, MOST_BULK = 15, 8, 64  # of net.sh, cbr and bulk
MOST_GROUPS, MOST_STREAMS, MOST_HOSTS = 8, 256, 20  # of fetch and packets, and of rcv
MOST_SPREAD = 50  # hosts of flowgen
MOST_TUNNELED = 1392  # bytes of a datagram that the tunnel of net.sh takes whole
MOST_BYTES = 1500  # of a packet without Ethernet's header
TCP, UDP = 20, 8  # bytes of their headers, without options
SETTLE = 5  # seconds at the end of which fetch does not measure what begins
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
SHORT = "quick"  # the case of [quick]
POLICIES = ("tcp", "srpt", "las", "fair", "mu")  # of sched-tcp
DIRECT = "direct"  # in a policy's place: there is no pair
ONE = "one-carrier"  # the same: one connection carries all of it

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


@dataclass(frozen=True)
class Tables:
    """A list of tables."""

    each: dict[str, Any]


def _bits(value: Any) -> float:
    """Per second, of "10mbit"; 0 if it is no rate."""
    found = re.fullmatch(_RATE, value) if type(value) is str else None
    return float(found[1]) * UNITS[found[2]] if found else 0


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


def either(one: Key, other: Key) -> Key:
    return Key(f"{one.allowed}, or {other.allowed}", lambda v: one.fits(v) or other.fits(v))


def between(least: float, most: float, whole: bool = False) -> Key:
    """Ends of what is drawn by the seed."""
    each = number(least, most, whole)

    def fits(value: Any) -> bool:
        right = type(value) is list and len(value) == 2 and all(map(each.fits, value))
        return right and value[0] <= value[1]

    return Key("[LEAST, MOST] to draw it by the seed", fits)


ANYTHING = Key("anything", lambda value: True)
SWITCH = Key("true or false", lambda value: type(value) is bool)
_RATE = r"([1-9]\d*|\d+\.\d+)([kmg]?)bit"
_N = r"\d+(?:\.\d+)?(?:e\d+)?"
_TERM = rf"(?:{_N}\*)?(?:(?:exp|fixed)\({_N}\)|(?:pareto|lomax)\({_N},{_N}\)|bp\({_N},{_N},{_N}\))"
_PHASE = r"\d+(?:\.\d+)?\*(?:0|\d+/\d+(?:\.\d+)?)"
_LINK = rf"(?:(\d+)\*)?({_RATE}/\d+(?:\.\d+)?)"
CASE = r"\w[\w.-]*"
RATE = Key('a rate such as "10mbit", up to 1000 Gbit/s', lambda value: 0 < _bits(value) <= 1e12)
SECONDS = number(0, 1e5)
DRAWN = either(SECONDS, between(0, 1e5))
NAME = text(r"[\w.-]+", "a name")
SHORT_NAME = r"[a-z0-9]{1,15}", "up to 15 of a to z and 0 to 9"
HOST = number(1, MOST_HOSTS, whole=True)
PLACE = {"host": HOST, "from": HOST, "begin": SECONDS, "skip": SECONDS}
POLICY = choice(*POLICIES, ONE, DIRECT)
QDISC = text(r"[a-z]\w*( [\w./%:{}+-]+)*", "a kind and its options, as tc has them")
SETTINGS = {
    "duration": number(1, 1e6),
    "only": several(NAME, 50),
    "network": {
        "rate": RATE,
        "rtt": number(0, 10000, whole=True),
        "links": several(
            text(_LINK, '"RATE/RTT-IN-MS", as "10mbit/6", or "5*10mbit/6" for five'), MOST_LINKS
        ),
        "groups": Named(
            r"[a-z][\w.-]*",
            "a letter, then letters, digits, ., _ and -",
            number(1, MOST_LINKS, True),
        ),
        "adapted": number(0, MOST_LINKS, whole=True),
        "tunnel": SWITCH,
        "vpn": SWITCH,
        "gso": SWITCH,
        "nat": SWITCH,
        "isp": text(rf"{_RATE}/\d+(?:\.\d+)?", '"RATE/MS", as "12mbit/250"'),
        "ipv6": SWITCH,
        "buffer": number(1, 1e6, whole=True),
        "loss": number(0, 50),
    },
    "pair": {
        "policy": POLICY,
        "policies": Named(r"[\w.-]+", "that of a qdisc", POLICY),
        "outside": several(text(*SHORT_NAME), MOST_GROUPS),
        "types": several(text(*SHORT_NAME), MOST_GROUPS),
        "unsent": number(0, 1e9, whole=True),
        "window": number(1, 1e12, whole=True),
        "queue": number(1, 1e12, whole=True),
    },
    "tcp": {
        "like": choice("linux", "ns2"),
        "congestion": text(r"[a-z]+", 'the name of one, as "cubic" or "bbr"'),
        "ecn": SWITCH,
        "window": number(0, 10000, whole=True),
        "initcwnd": number(1, 1000, whole=True),
        "rto_min": number(0.001, 100),
        "socket_memory": number(4096, 1 << 30, whole=True),
    },
    "flows": {
        "size": text(
            rf"{_TERM}(\+{_TERM}){{0,7}}", 'a sum such as "0.8*exp(4)+0.2*bp(13,5000,1.1)"'
        ),
        "load": number(0.001, 100),
        "count": number(1, 60000, whole=True),
        "mtu": number(100, 1500, whole=True),
        "web": SWITCH,
        "hosts": number(2, MOST_SPREAD, whole=True),
        "after": SECONDS,
        "wait": number(1, 1e5),
    },
    "bulk": {
        "flows": number(1, MOST_BULK, whole=True),
        "rtts": several(number(0, 10000), MOST_LINKS),
        "access": RATE,
        "reverse": SWITCH,
        "classes": Named(r"[\w.-]+", "that of a qdisc", number(1, 65534, whole=True)),
        "interval": number(0.001, 1e5),
        "stagger": DRAWN,
        "skip": SECONDS,
    },
    "steady": Named(
        *SHORT_NAME,
        {
            "bytes": number(24, 1472, whole=True),
            "every": number(0.01, 1e6),
            "rate": RATE,
            "phases": text(rf"{_PHASE}(,{_PHASE}){{0,3}}", '1 to 4 times "SECONDS*BYTES/US"'),
            "begin": DRAWN,
            "skip": SECONDS,
            "late": number(0.001, 1e6),
            "ecn": SWITCH,
        },
    ),
    "fetch": Named(
        *SHORT_NAME,
        {
            "bytes": either(number(1, 1e12, whole=True), between(1, 1e12, whole=True)),
            "at_once": number(1, 1000, whole=True),
            "every": number(0.001, 1e5),
            "objects": number(1, 10000, whole=True),
            **(PLACE | {"begin": DRAWN}),
        },
    ),
    "packets": Named(
        *SHORT_NAME,
        {
            "bytes": number(8, 1472, whole=True),
            "rate": RATE,
            "streams": number(1, MOST_STREAMS, whole=True),
            "burst": number(1, 100, whole=True),
            "jitter": number(0, 1),
            "ports": number(1, 1e9, whole=True),
            "tuples": number(1, 60000, whole=True),
            "count": number(1, 1e9, whole=True),
            "tcp": SWITCH,
            "rst": number(1, 1e9, whole=True),
            "syn": number(1, 1e9, whole=True),
            **PLACE,
        },
    ),
    "watch": {
        "samples": NAME,
        "lengths": number(0.01, 1e5),
        "seconds": number(1, 1e5),
        "over": several(number(0, 1e6, whole=True), 8),
        "queues": number(0.001, 1e5),
        "fetched": number(0.001, 1e5),
        "record": SWITCH,
        "against": NAME,
    },
    "qdiscs": Named(rf"(?!{FLOOR}$)[\w.-]+", f"letters, digits, ., _ and -; not {FLOOR}", QDISC),
}
_PATTERN = text(r"\S.*", "a name, in which * is any text")
PATTERNS = either(_PATTERN, several(_PATTERN, 50))
_METRIC = text(r"\S.*", "the name of a metric")
_OTHER = text(r"\S.*", "a name")
_LIMIT = number(-1e12, 1e12)
FILE = {
    "title": text(r"\S.*", "a line of text"),
    "seeds": several(number(0, 1e9, whole=True), 100),
    "floor": SWITCH,
    "against": text(r"\S+", "the name of a qdisc"),
    "include": several(choice(*LISTS), len(LISTS)),
    "bounds": Tables(
        {
            "metric": either(_METRIC, several(_METRIC, 20)),
            "case": PATTERNS,
            "qdisc": PATTERNS,
            "of": {
                "metric": _OTHER,
                "case": _OTHER,
                "qdisc": either(_OTHER, several(_OTHER, 50)),
            },
            "at_least": _LIMIT,
            "at_most": _LIMIT,
            "enough": _LIMIT,
        }
    ),
    "page": {
        "section": choice("papers", "comparisons"),
        "order": number(0, 1e6),
        "advice": SWITCH,
    },
    SHORT: {"of": text(r"\S.*", "the name of a case"), **SETTINGS},
    **SETTINGS,
}


def bits(rate: str) -> float:
    """Per second, of "10mbit"."""
    if not RATE.fits(rate):
        raise DataError(f"{rate!r} is no {RATE.allowed}")
    return _bits(rate)


def links_of(network: Settings) -> list[str]:
    """One for each sender."""
    found = [re.fullmatch(_LINK, each) for each in network.get("links", [])]
    return [each[2] for each in found if each for _ in range(int(each[1] or 1))]


def bulk_count(settings: Settings) -> int:
    bulk = settings.get("bulk", {})
    return len(bulk["rtts"]) if "rtts" in bulk else bulk.get("flows", 0)


def policy_of(settings: Settings, qdisc: str) -> str:
    """Of the pair by way of which downloads go; "" if there is none."""
    pair = settings.get("pair", {})
    policy = pair.get("policies", {}).get(qdisc, pair.get("policy", DIRECT))
    return "" if policy == DIRECT else policy


def inside(settings: Settings) -> list[str]:
    """The groups of fetch that go by way of the pair."""
    return [g for g in settings.get("fetch", {}) if g not in settings["pair"].get("outside", [])]


def begins(group: Settings) -> tuple[float, float]:
    """The first and the last moment at which it may."""
    begin = group.get("begin", 0)
    return (begin[0], begin[1]) if isinstance(begin, list) else (begin, begin)


def headers_of(settings: Settings, transport: int) -> int:
    """The bytes of a packet's headers, but for Ethernet's."""
    return transport + (40 if settings["network"].get("ipv6") else 20)


def is_tcp(packets: Settings) -> bool:
    """A group of packets."""
    return packets.get("tcp", False) or bool({"rst", "syn"} & packets.keys())


def number_of_host(host: int) -> int:
    """The last byte of its address: the router is the second."""
    return host if host == 1 else host + 1


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
        if isinstance(spec, Tables):
            if type(value) is not list:
                self.say(f"{where} has to be a list of tables, [[{where}]]")
            for i, one in enumerate(value, 1):
                self.check(one, spec.each, f"{where} {i}")
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

        def need(right: bool, what: str) -> None:
            if not right:
                self.say(f"case {case}: {what}")

        qdiscs, flows = settings.get("qdiscs"), settings.get("flows")
        need(bool(qdiscs), "qdiscs is empty; there is nothing to run")
        need(
            any(settings.get(what) for what in ("flows", "bulk", "steady", "fetch")),
            "there are neither flows nor bulk nor steady nor fetch",
        )
        if flows is None or "count" not in flows:
            need("duration" in settings, "duration is missing, the seconds in which flows begin")
        else:
            need(
                not {"duration", "bulk", "steady", "fetch", "packets"} & settings.keys()
                and not flows.get("web"),
                "flows.count is in place of duration, and of bulk, steady, fetch, packets and web",
            )
        for key in () if flows is None else ("size", "load"):
            need(key in flows, f"flows.{key} is missing")
        tcp = settings.get("tcp", {})
        need(
            tcp.get("like") != "ns2" or "congestion" not in tcp,
            'tcp.congestion cannot be chosen with like = "ns2", which is Reno',
        )
        self._network(settings, need)
        self._bulk(settings, need)
        self._steady(settings, need)
        self._groups(settings, need)
        self._watch(settings, need)
        self._pair(settings, need)
        uses = [name for name, words in qdiscs.items() if BUFFER in words]
        for name, words in qdiscs.items():
            rest = re.search(r"[{}]", words.replace(BUFFER, "").replace(OWN_RATE, ""))
            need(not rest, f"qdiscs.{name}: {BUFFER} and {OWN_RATE} may be in braces, nothing else")
        both = bool(uses) == ("buffer" in settings["network"])
        need(both, f"network.buffer is what a qdisc's {BUFFER} is; have both or neither")

    def _network(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        network = settings.get("network", {})
        need("rate" in network, "network.rate is missing, of the bottleneck")
        need(("rtt" in network) != ("links" in network), "network has to have either rtt or links")
        senders = len(links_of(network))
        need(senders <= MOST_LINKS, f"network.links are {senders}; it may have {MOST_LINKS}")
        groups = network.get("groups")
        need(
            groups is None or sum(groups.values()) == senders,
            f"network.groups has to tell of each of the {senders} links in which it is",
        )
        need(network.get("adapted", 0) <= senders, "network.adapted is more than there are links")
        both = {"tunnel", "vpn"} <= network.keys()
        need(not both, "have network.tunnel or network.vpn, not both")
        for key in {"tunnel", "vpn"} & {key for key, value in network.items() if value}:
            inside = {"bulk", "steady"} & settings.keys()
            need(bool(inside), f"network.{key} is for bulk and steady, and there is neither")
            own = {"rtts", "access"} & settings.get("bulk", {}).keys()
            need(not own and not senders, f"in a network.{key} bulk has no link of its own")
            for name, flow in settings.get("steady", {}).items():
                fits = flow.get("bytes", 0) <= MOST_TUNNELED
                need(fits, f"steady.{name}.bytes may be {MOST_TUNNELED} in a network.{key}")
        nat, ipv6 = network.get("nat", False), network.get("ipv6", False)
        need(not (nat and ipv6), "network.nat is of IPv4: have no network.ipv6")
        for key in ("nat", "ipv6") if nat or ipv6 else ():
            own = "bulk" in settings or senders or {"tunnel", "vpn"} & network.keys()
            need(not (network.get(key) and own), f"network.{key} is not for bulk, links, tunnel")
        route = {"like", "window", "initcwnd", "rto_min"} & settings.get("tcp", {}).keys()
        need(not (ipv6 and route), f"tcp.{''.join(sorted(route)[:1])} is not for network.ipv6")
        spread = "hosts" in settings.get("flows", {})
        need(not (spread and senders), "flows.hosts have a sender's port each: have no links")

    def _bulk(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        bulk, network = settings.get("bulk"), settings["network"]
        if bulk is None:
            return
        need(("flows" in bulk) != ("rtts" in bulk), "bulk has to have either flows or rtts")
        if "rtts" in bulk:
            own = network.get("rtt") == 0 and "access" not in bulk
            need(own, "bulk.rtts are all of the round trips: have network.rtt = 0, and no access")
        if "access" in bulk:
            need("rtt" in network, "bulk.access is a link of its own: have no network.links")
            need("isp" not in network, "bulk.access is beside network.isp: have one of them")
        if bulk.get("reverse"):
            own = "rtt" in network and "access" not in bulk
            own = own and not {"tunnel", "vpn"} & network.keys()
            need(own, "bulk.reverse has no link of its own: no access, network.links or tunnel")
            shape = all(OWN_RATE in words for words in settings["qdiscs"].values())
            need(shape, f"bulk.reverse needs qdiscs that shape: have {OWN_RATE} in each")
        if "classes" in bulk:
            need("access" in bulk, "bulk.classes needs access, which tells its packets from others")
            unknown = sorted(set(bulk["classes"]) - set(settings["qdiscs"]))
            need(not unknown, f"bulk.classes.{''.join(unknown[:1])} is none of the qdiscs")
        if "duration" in settings:
            need(bulk.get("skip", 0) < settings["duration"], "bulk.skip is all of the duration")

    def _steady(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        steady = settings.get("steady", {})
        count = len(steady)
        need(count <= MOST_STEADY, f"steady has {count} flows; it may have {MOST_STEADY}")
        most = MOST_BYTES - headers_of(settings, UDP)
        for name, flow in steady.items():
            need(flow.get("bytes", 0) <= most, f"steady.{name}.bytes may be {most}")
            need(
                ("phases" in flow) != ("bytes" in flow)
                and ("every" in flow) + ("rate" in flow) == ("bytes" in flow),
                f"steady.{name} has to have either bytes and every or rate, or phases",
            )
            if "begin" in flow:
                need("phases" not in flow, f"steady.{name}.phases tell when it begins")
                late = begins(flow)[1] >= settings["duration"]
                need(not late, f"steady.{name}.begin is after the duration")

    def _groups(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        """Those of fetch and packets."""
        named = [name for what in ("steady", "fetch", "packets") for name in settings.get(what, {})]
        twice = sorted({name for name in named if named.count(name) > 1} | {"bulk"} & {*named})
        need(not twice, f"{''.join(twice[:1])} is the name of something else, too")
        for what in ("fetch", "packets"):
            groups = settings.get(what, {})
            count = len(groups)
            need(count > 0 or what not in settings, f"{what} is empty")
            need(count <= MOST_GROUPS, f"{what} has {count} groups; it may have {MOST_GROUPS}")
            for name, group in groups.items():
                late = max(begins(group)[1], group.get("skip", 0)) >= settings["duration"]
                need(not late, f"{what}.{name} begins, or is measured, after the duration")
        for name, group in settings.get("fetch", {}).items():
            sized = not {"every", "objects"} & group.keys() or "bytes" in group
            need(sized, f"fetch.{name}.bytes is missing")
            measured = settings["duration"] - group.get("skip", 0) > SETTLE or "bytes" not in group
            need(measured, f"fetch.{name}: the last {SETTLE} s are not measured")
        if "fetch" in settings:
            need("rtt" in settings["network"], "fetch needs network.rtt, not links")
        for name, group in settings.get("packets", {}).items():
            for key in ("bytes", "rate"):
                need(key in group, f"packets.{name}.{key} is missing")
            most = MOST_BYTES - headers_of(settings, TCP if is_tcp(group) else UDP)
            need(group["bytes"] <= most, f"packets.{name}.bytes may be {most}")
        hosts = {group.get("host", 1) for group in settings.get("packets", {}).values()}
        one = len(hosts) < 2 or not settings["network"].get("nat")
        need(one, "packets behind a network.nat have one host")
        streams = sum(group.get("streams", 1) for group in settings.get("packets", {}).values())
        need(streams <= MOST_STREAMS, f"packets has more than {MOST_STREAMS} streams")

    def _pair(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        pair, network = settings.get("pair"), settings["network"]
        if pair is None:
            return
        told = "policy" in pair or "policies" in pair
        need(told, "pair.policy is missing, or policies, by the names of qdiscs")
        unknown = sorted(set(pair.get("policies", {})) - set(settings["qdiscs"]))
        need(not unknown, f"pair.policies.{''.join(unknown[:1])} is none of the qdiscs")
        groups = settings.get("fetch", {})
        unknown = sorted(set(pair.get("outside", [])) - set(groups))
        need(not unknown, f"pair.outside has {''.join(unknown[:1])}, which is no group of fetch")
        unknown = sorted(set(pair.get("types", [])) - set(inside(settings)))
        need(not unknown, f"pair.types has {''.join(unknown[:1])}, which is no group in the pair")
        some = "flows" in settings or bool(inside(settings))
        need(some, "pair is for flows and groups of fetch, and there are neither")
        for key in ("links", "ipv6"):
            need(not network.get(key), f"a pair is not for network.{key}")
        need("hosts" not in settings.get("flows", {}), "a pair is of one host: have no flows.hosts")
        for name in inside(settings):
            own = [key for key in ("host", "from") if groups[name].get(key, 1) != 1]
            need(not own, f"a pair is of one host: have no fetch.{name}.{''.join(own[:1])}")
        for name, words in settings["qdiscs"].items():
            blind = words.split()[0] == "srpt" and policy_of(settings, name)
            need(
                not blind, f"qdiscs.{name} is told the sizes of flows, not of a pair's connections"
            )

    def _watch(self, settings: Settings, need: Callable[[bool, str], None]) -> None:
        watch, qdiscs = settings.get("watch", {}), settings["qdiscs"]
        if "samples" in watch:
            sampling = is_sampling(qdiscs.get(watch["samples"], "none"))
            need(sampling and "flows" in settings, "watch.samples is a qdisc that samples flows")
        if "lengths" in watch:
            known = {"seconds", "duration"} & {*watch, *settings}
            need(bool(known), "watch.seconds is missing, for how long")
        else:
            need(not {"seconds", "over"} & watch.keys(), "watch.lengths is missing, how often")
        need("queues" not in watch or "bulk" in settings, "watch.queues are those of bulk")
        need("fetched" not in watch or "fetch" in settings, "watch.fetched is of groups of fetch")
        apart = {"access", "reverse"} & settings.get("bulk", {}).keys()
        need(
            not (watch.get("record") and apart),
            "watch.record: packets of a bulk with access or reverse do not come that way",
        )
        against = watch.get("against")
        need(
            against is None or against in qdiscs, f"watch.against: {against} is none of the qdiscs"
        )
        hidden = "queues" in watch and settings["network"].get("tunnel", False)
        need(not hidden, "watch.queues: in a network.tunnel all is one flow")
