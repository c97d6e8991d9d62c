# SPDX-License-Identifier: GPL-2.0
"""Lets pyroute2 know the packet schedulers las, run2c, sift and sqf. Importing this does; pyroute2
looks for no plugins by itself.

    from pyroute2 import IPRoute
    import shortfirst_pyroute2

    with IPRoute() as ipr:
        (index,) = ipr.link_lookup(ifname="eth0")
        ipr.tc("add", "las", index, handle="10:", rate="19mbit", hosts="dst")
        ipr.tc("change", "las", index, handle="10:", rate=2000000)
        for message in ipr.get_classes(index):
            told = message.get_attr("TCA_OPTIONS")
            print(told.get_attr("TCA_SF_CLASS_SRC"), told.get_attr("TCA_SF_CLASS_BYTES"))

Options have the names of their attributes, without TCA_LAS_ and in small letters. A str is what tc
takes ("19mbit", "30ms", "0.3", "dst"), an int what the attribute has: bytes per second, bytes,
milliseconds or microseconds, percent, thousandths (log), billionths (probabilities), 0 or 1. Of
`target` pyroute2 takes a str for the name of a class, so it has to be an int. What is refused the
kernel tells.

A dump of qdiscs has the options in TCA_OPTIONS and the members of struct tc_las_xstats in
TCA_STATS_APP of TCA_STATS2; one of classes has there the TCA_SF_CLASS_* attributes, addresses as
text, and struct tc_las_flow_xstats. What they mean is said in pkt_las.h and so on, and in
pkt_class.h. A member that the kernel's module does not have yet is left out.
"""

import re
import struct
from collections.abc import Mapping
from fractions import Fraction
from types import ModuleType
from typing import Any

from pyroute2.common import rate_suffixes, size_suffixes, time_suffixes
from pyroute2.netlink import NLA_F_NESTED, nla
from pyroute2.netlink.rtnl import RTM_DELTCLASS, RTM_NEWTCLASS, TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins

from .tables import CLASS, CLASS_STATISTICS, OPTIONS, SORTS, STATISTICS, TYPES

__all__ = ["CLASS", "CLASS_STATISTICS", "OPTIONS", "SORTS", "STATISTICS", "TYPES"]

Option = tuple[str, str, str, Mapping[str, int]]  # attribute, type, unit, words for values

# What else pyroute2 has in a request, by its versions
_NOT_OURS = frozenset(
    "kind index handle parent info opts options family root default block stab clean".split()
)
_FORMATS = {"uint32": "I", "int32": "i", "uint64": "Q"}


def _sizes(suffixes: Mapping[str, float], one: float) -> dict[str, Fraction]:
    return {name.casefold(): Fraction(size) / Fraction(one) for name, size in suffixes.items()}


# What 1 of a suffix is in an attribute, the first as without one
_RATES = {"": Fraction(1, 8), **_sizes(rate_suffixes, 8)}
_SIZES = {"": Fraction(1), **_sizes(size_suffixes, 1)}
_TIMES = {name.casefold(): Fraction(1, size) for name, size in time_suffixes.items()}
_TIMES[""] = _TIMES["us"]
_SUFFIXES: dict[str, dict[str, Fraction]] = {
    "rate": _RATES,
    "size": _SIZES,
    "ms": {name: 1000 * size for name, size in _TIMES.items()},
    "us": {name: 10**6 * size for name, size in _TIMES.items()},
    "percent": {"": Fraction(1), "%": Fraction(1)},
    "thousandths": {"": Fraction(1000)},
    "billionths": {"": Fraction(10**9)},
}


def _value(name: str, option: Option, given: int | str) -> int:
    """Of an attribute"""
    _, kind, unit, words = option
    if isinstance(given, str):
        if given in words:
            return words[given]
        found = re.fullmatch(r"(-?\d+(?:\.\d*)?)([a-z%]*)", given.casefold())
        suffixes = _SUFFIXES.get(unit, {"": Fraction(1)})
        if not found or found[2] not in suffixes:
            raise ValueError(f"{name}: {given!r} is none")
        exact = Fraction(found[1]) * suffixes[found[2]]
        if exact.denominator != 1:
            raise ValueError(f"{name}: {given!r} is not whole in the kernel's unit")
        given = int(exact)
    elif not isinstance(given, int):
        raise TypeError(f"{name}: neither int nor str: {given!r}")
    try:
        struct.pack(_FORMATS[kind], given)
    except struct.error as error:
        raise ValueError(f"{name}: {given} is out of range") from error
    return int(given)


def _is_class(message: Any) -> bool:
    return message["header"]["type"] in (RTM_NEWTCLASS, RTM_DELTCLASS)


class _Nested(nla):
    nla_flags = NLA_F_NESTED  # which the kinds insist on


class _Struct(nla):
    """As much of it as there is: modules have appended members, and may yet."""

    def decode(self) -> None:
        left = struct.unpack_from("H", self.data, self.offset)[0] - 4
        every = type(self).fields
        there = []
        for name, form in every:
            left -= struct.calcsize(form)
            if left >= 0:
                there.append((name, form))
        self.fields = tuple(there)
        nla.decode(self)
        for name, _ in every[len(there) :]:
            self.pop(name, None)


def _struct(name: str, members: tuple[tuple[str, str], ...]) -> type[nla]:
    return type(name, (_Struct,), {"fields": members})


class _stats2(nla):
    nla_map = (
        ("TCA_STATS_UNSPEC", "none"),
        ("TCA_STATS_BASIC", "basic"),
        ("TCA_STATS_RATE_EST", "rate_est"),
        ("TCA_STATS_QUEUE", "queue"),
        ("TCA_STATS_APP", "stats_app"),
        ("TCA_STATS_RATE_EST64", "hex"),
        ("TCA_STATS_PAD", "hex"),
        ("TCA_STATS_BASIC_HW", "basic"),
        ("TCA_STATS_PKT64", "uint64"),
    )

    class basic(nla):
        fields = (("bytes", "Q"), ("packets", "I"))

    class rate_est(nla):
        fields = (("bps", "I"), ("pps", "I"))

    class queue(nla):
        fields = (
            ("qlen", "I"),
            ("backlog", "I"),
            ("drops", "I"),
            ("requeues", "I"),
            ("overlimits", "I"),
        )


class _class_options(_Nested):
    nla_map = CLASS


def _plugin(kind: str) -> ModuleType:
    """What pyroute2 has a module for, each kind it knows"""
    table = OPTIONS[kind]
    prefix = f"TCA_{kind.upper()}_"
    named = {row[0][len(prefix) :].lower(): row for row in table if row[1] in _FORMATS}

    class options(_Nested):
        nla_map = tuple(row[:2] for row in table)

    statistics = _struct("qdisc_stats", STATISTICS[kind])
    class_statistics = _struct("class_stats", CLASS_STATISTICS[kind])
    qdisc_stats2 = type("qdisc_stats2", (_stats2,), {"stats_app": statistics})
    class_stats2 = type("class_stats2", (_stats2,), {"stats_app": class_statistics})

    def get_parameters(given: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
        attributes = []
        for name, value in given.items():
            if name in named and value is not None:
                attributes.append([named[name][0], _value(name, named[name], value)])
            elif name not in named and name not in _NOT_OURS:
                raise TypeError(f"{kind} has no option {name!r}")
        return {"attrs": attributes}

    def fix_request(request: dict[str, Any]) -> None:
        """Of pyroute2 from 0.9 on, which has an attribute of its own for `rate`"""
        for name in named.keys() & request.keys():
            del request[name]

    # pyroute2 calls these if they are functions, and no other callables.
    def get_options(message: Any, *_: Any, **__: Any) -> type[nla]:
        return _class_options if _is_class(message) else options

    def get_stats(message: Any, *_: Any, **__: Any) -> type[nla]:
        return class_statistics if _is_class(message) else statistics

    def get_stats2(message: Any, *_: Any, **__: Any) -> type[nla]:
        return class_stats2 if _is_class(message) else qdisc_stats2

    said = f"Options of {kind}: {', '.join(named)}\n\n{__doc__}"
    plugin = ModuleType(f"{__name__}.{kind}", said)
    for name, what in (
        ("parent", TC_H_ROOT),
        ("get_parameters", get_parameters),
        ("fix_request", fix_request),
        ("options", get_options),
        ("stats", get_stats),
        ("stats2", get_stats2),
    ):
        setattr(plugin, name, what)
    return plugin


for _kind in OPTIONS:
    plugins[_kind] = _plugin(_kind)
