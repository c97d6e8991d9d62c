# SPDX-License-Identifier: GPL-2.0
"""What the headers pkt_*.h say: attributes with their types, units and values, and statistics.

They are written for people and compilers, and regular enough to be read here, so that nothing is
stated for Python (generate.py) a second time. What is not understood is an error.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
KINDS = sorted(path.name.removeprefix("sch_") for path in TOP.glob("sch_*"))
SIZES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8}
# What an attribute's comment begins with after its type, or has in it
_UNITS = {
    r"packets\b": "packets",
    r"bytes per second\b": "rate",
    r"bytes\b": "size",
    r"ms\b": "ms",
    r"us\b": "us",
    r"percent\b": "percent",
    r"thousandths\b": "thousandths",
    r".* in TC_SIFT_ONE\b": "billionths",
    r"1:": "switch",
}


@dataclass
class Attribute:
    number: int
    name: str  # as the header has it
    type: str  # u32, s32, u64, be16, address, pad, or "" of the first, which is none
    doc: str = ""
    unit: str = ""
    # Words for values. If they are bits, for all sums of them.
    words: dict[str, int] = field(default_factory=dict)
    bits: bool = False


@dataclass
class Member:
    name: str
    type: str
    doc: str


class Header:
    """One pkt_*.h, which includes what all kinds have to shape with"""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()
        shared = TOP / "include/shortfirst/pkt_shaper.h"
        self.all = self.text + ("" if path == shared else shared.read_text())

    def entries(self, first: str) -> list[tuple[str, str]]:
        """Of the enum that begins with this name: names and comments; a name that ends the
        others, with __ before it or with a value, is none."""
        found = re.search(rf"enum \{{\n\t{first}\b.*?\n\}};", self.all, re.S)
        if not found:
            raise ValueError(f"no enum begins with {first}")
        body = re.sub(r"^#define .*\n", "", found[0], flags=re.M)
        pattern = r"^\t([A-Z]\w+),?[ \t]*(?:/\*(.*?)\*/)?$"
        return [(name, _words(doc)) for name, doc in re.findall(pattern, body, re.M | re.S)]

    def values(self, prefix: str) -> dict[str, int]:
        """Words for what begins like this"""
        defined = re.findall(rf"^#define {prefix}([A-Z]+)[ \t]+(\d+)$", self.all, re.M)
        if defined:
            found = {name: int(value) for name, value in defined}
        else:
            start = re.search(rf"enum \{{\n\t({prefix}\w+)", self.all)
            if not start:
                raise ValueError(f"nothing is called {prefix}")
            names = [name.removeprefix(prefix) for name, _ in self.entries(start[1])]
            found = {name: value for value, name in enumerate(names)}
        return {name.lower(): value for name, value in found.items() if name not in ("MIN", "MAX")}

    def attributes(self, prefix: str) -> list[Attribute]:
        """TCA_prefix_*"""
        found: list[Attribute] = []
        for number, (name, said) in enumerate(self.entries(f"TCA_{prefix}_UNSPEC")):
            if not number or name.endswith("_PAD"):
                found.append(Attribute(number, name, "pad" if number else ""))
                continue
            # Without a comment it is like the one above
            doc = said or found[-1].doc
            found.append(Attribute(number, name, _type(doc), doc))
            self._value(found)
        return found

    def _value(self, found: list[Attribute]) -> None:
        """Unit and words of the last of them"""
        last = found[-1]
        what = last.doc.partition(", ")[2]
        option = last.name.split("_", 2)[2]
        if what.startswith("the same"):
            last.unit = found[-2].unit
        for start, unit in _UNITS.items():
            if re.match(start, what):
                last.unit = unit
                break
        named = re.search(r"\b(TC_[A-Z0-9_]+_)(?:\*|\.\.\.| value)", what)
        bits = re.findall(r"\bTC_[A-Z0-9]+_([A-Z]+),", what)
        if named:
            last.words = self.values(named[1])
        elif len(bits) > 1:
            kind = last.name.split("_")[1]
            each = self.values(f"TC_{kind}_")
            last.words = {name.lower(): each[name.lower()] for name in bits}
            last.bits = True
        # One value that is none of the others
        pattern = rf"^#define TC_SF_{option}_([A-Z]+)\s+(\S.*?)(?:\t.*)?$"
        for name, value in re.findall(pattern, self.all, re.M):
            if name not in ("MIN", "MAX"):
                last.words[name.lower()] = _number(value)

    def members(self, name: str) -> list[Member]:
        """Of a struct, with those of a struct in it after its name"""
        found = re.search(rf"struct {name} \{{\n(.*?)\n\}};", self.text, re.S)
        if not found:
            raise ValueError(f"no struct {name}")
        result: list[Member] = []
        pattern = r"^\t(?:__(\w+)|struct (\w+))\s+(\w+);[ \t]*(?:/\*(.*?)\*/)?$"
        lines = re.findall(pattern, found[1], re.M | re.S)
        assert len(lines) == found[1].count(";\t") + len(re.findall(r";$", found[1], re.M)), name
        for number, inner, member, doc in lines:
            if inner:
                each = self.members(inner)
                result += [Member(f"{member}_{m.name}", m.type, m.doc) for m in each]
            else:
                result.append(Member(member, number, _words(doc)))
        offset = 0
        for each in result:
            if offset % SIZES[each.type]:
                raise ValueError(f"{each.name} of {name} is not aligned")
            offset += SIZES[each.type]
        return result


def _words(doc: str) -> str:
    return " ".join(re.sub(r"^\s*\*", "", doc, flags=re.M).split())


def _number(text: str) -> int:
    """Of a macro"""
    known = {"(~(__u64)0)": (1 << 64) - 1}
    return known[text] if text in known else int(text.strip("()"))


def _type(doc: str) -> str:
    if doc.startswith("4 or 16 bytes"):
        return "address"
    name = re.match(r"[us](?:8|16|32|64)\b", doc)
    if not name:
        raise ValueError(f"no type: {doc}")
    return name[0].replace("u", "be") if "network byte order" in doc else name[0]


def options(kind: str) -> list[Attribute]:
    return _header(kind).attributes(kind.upper())


def statistics(kind: str) -> list[Member]:
    """TCA_STATS_APP of a qdisc"""
    return _header(kind).members(f"tc_{kind}_xstats")


def class_statistics(kind: str) -> list[Member]:
    """TCA_STATS_APP of a class"""
    return _header(kind).members(f"tc_{kind}_flow_xstats")


def class_attributes() -> list[Attribute]:
    return _class_header().attributes("SF_CLASS")


def class_values() -> dict[str, dict[str, int]]:
    """Words for those of TYPE and SORT"""
    header = _class_header()
    return {"type": header.values("TC_SF_CLASS_"), "sort": header.values("TC_SF_SORT_")}


def _header(kind: str) -> Header:
    return Header(TOP / f"sch_{kind}/pkt_{kind}.h")


def _class_header() -> Header:
    return Header(TOP / "include/shortfirst/pkt_class.h")
