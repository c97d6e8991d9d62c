# SPDX-License-Identifier: GPL-2.0
"""Whether the numbers that README.md, docs/security.md and the man pages state are the CSVs'.

A comment beside a statement says where its number is from: `measured: 12 % = home; case=flood;
qdisc=las; call loss %`, which is the mean of that column in docs/results/home.csv over all rows
with these values. By `*`, `/`, `+` and `-` there may follow numbers, and others of that CSV by what
differs, from left to right; with `least` before it, it is the qdisc that has the least. The number
has to be in the statement, and right in all of its digits. Any other number with a unit has to be
one of the constants in docs/results/constants.toml, or between markers, where it is generated.
"""

import csv
import math
import operator
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.run.guests import LAB

TOP = LAB.parent
# By name: their constants
TEXTS = {"README.md": "readme", "security.md": "security"}
CONSTANTS = "constants.toml"
MAN = ("tc-plugins/man/*.8", "run2c_isn/*.7", "command/*.8", "sftop/*.8", "sched_tcp/*.[58]")
MEASURED = re.compile(r"measured: (.+?) = (.+?)(?: -->)?$")
UNITS = (
    r"%|percent|times|[mnu]?s|seconds|minutes|[kMG]B|[KM]iB|[KMG]b|[kmMG]bit(?:/s)?|bytes"
    r"|instructions|cycles|packets(?:/s)?"
)
# With a unit, or with a point: 0.5, but neither a version nor an address
NUMBER = re.compile(
    rf"(?<![\w./-])(?:\d[\d,]*(?:\.\d+)? ?(?:{UNITS})(?![\w-])|\d+\.\d+(?!\w|\.\d))"
)
SIGNS = {"*": operator.mul, "/": operator.truediv, "+": operator.add, "-": operator.sub}


@dataclass(frozen=True)
class Query:
    """The mean of a column, or of a sum of such, of the rows in which others have these values."""

    name: str
    wanted: dict[str, str]
    column: str

    def changed(self, text: str) -> "Query":
        """By what differs: the column, and before it others' values."""
        *filters, column = text.split("; ")
        return Query(self.name, self.wanted | dict(one.split("=", 1) for one in filters), column)

    def value(self, where: Path) -> float:
        columns = self.column.split("+")
        with (where / f"{self.name}.csv").open() as lines:
            found = [
                sum(float(row[column]) for column in columns)
                for row in csv.DictReader(lines)
                if all(row[key] == value for key, value in self.wanted.items())
                and all(row[column] for column in columns)
            ]
        return sum(found) / len(found) if found else math.nan


def query(text: str) -> Query:
    name, rest = text.split("; ", 1)
    return Query(name, {}, "").changed(rest)


def value_of(where: Path, text: str) -> float:
    first, *more = re.split(r" ([*/+-]) ", text)
    one = query(first)
    value = one.value(where)
    for sign, word in zip(more[::2], more[1::2], strict=True):
        number = float(word) if re.fullmatch(r"[\d.]+", word) else one.changed(word).value(where)
        value = SIGNS[sign](value, number)
    return value


def least(where: Path, text: str) -> str:
    """The qdisc with the least mean."""
    one = query(text)
    with (where / f"{one.name}.csv").open() as lines:
        qdiscs = dict.fromkeys(row["qdisc"] for row in csv.DictReader(lines))
    means = {q: one.changed(f"qdisc={q}; {one.column}").value(where) for q in qdiscs}
    return min((q for q in means if not math.isnan(means[q])), key=lambda q: means[q])


def wrong(where: Path, text: str, query: str) -> str:
    """What it should be instead, "" if it is that."""
    if query.startswith("least "):
        best = least(where, query.removeprefix("least "))
        return "" if text.lower().removesuffix("b") == best else best
    number = re.search(r"\d[\d,]*(?:\.(\d+))?", text)
    if not number:
        return "a number"
    value = f"{value_of(where, query):.{len(number[1] or '')}f}"
    return "" if number[0].replace(",", "") == value else value


def prose(text: str, is_man: bool) -> str:
    """Without what is generated, examples, comments and links."""
    if is_man:
        text = re.sub(r"^\.EX.*?^\.EE", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r'^\.\\".*$', "", text, flags=re.MULTILINE)
        text = re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.MULTILINE)
    else:
        text = re.sub(r"<!-- begin: (\w+) -->.*?<!-- end: \1 -->", "", text, flags=re.DOTALL)
        text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
        text = re.sub(r"\]\([^)]*\)|`[^`]*`", "]", text)
    return re.sub(r"\s+", " ", text)


def unfounded(path: Path, where: Path) -> Iterator[str]:
    """What of a page is not as the CSVs have it, or not known to be a constant."""
    is_man = path.name not in TEXTS
    known = tomllib.loads((where / CONSTANTS).read_text())[TEXTS.get(path.name, "man")]
    text = path.read_text()
    shown = prose(text, is_man)
    stated = []
    for line in text.splitlines():
        if found := MEASURED.search(line):
            stated.append(found[1])
            if found[1] not in shown:
                yield f"{path.name}: {found[1]!r} is measured, but not stated"
            if instead := wrong(where, found[1], found[2]):
                yield f"{path.name}: {found[1]!r} is {instead} by {found[2]}"
    for each in sorted([*stated, *known], key=len, reverse=True):
        shown = re.sub(rf"(?<![\w.]){re.escape(each)}(?!\w)", "", shown)
    for found in NUMBER.finditer(shown):
        around = shown[max(found.start() - 40, 0) : found.end() + 20]
        yield f"{path.name}: {found[0]!r} is not measured, nor a constant: {around}"


def pages(top: Path = TOP) -> list[Path]:
    texts = [top / "README.md", top / "docs/security.md"]
    return [*texts, *(path for pattern in MAN for path in sorted(top.glob(pattern)))]
