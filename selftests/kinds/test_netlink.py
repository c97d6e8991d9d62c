# SPDX-License-Identifier: GPL-2.0
"""Requests that tc cannot send: attributes of the wrong length, unknown ones, what is not nested,
and values out of range beside good ones. Each is refused, with a message about the right attribute,
and changes nothing.
"""

import errno
import struct
from collections.abc import Iterable

import pytest

from selftests.lib.netlink import (
    ACK,
    CREATE,
    EXCL,
    KIND,
    NESTED,
    NEWQDISC,
    OPTIONS,
    REPLACE,
    ROOT,
    Netlink,
    Refused,
    attribute,
    attributes,
)
from selftests.lib.options import Option, Table, of
from selftests.lib.refusals import Spare

WAYS = {"add": CREATE | EXCL, "change": 0, "replace": CREATE | REPLACE}
LENGTHS = (0, 1, 2, 3, 4, 5, 8, 9)
HANDLE = 0x100000
HEAD = 16 + 20  # of netlink and of tc

Attribute = tuple[int, bytes]


def attribute_of(option: Option, value: int) -> Attribute:
    return option.number, option.packed(value)


def good(option: Option) -> Attribute:
    return attribute_of(option, option.good[0])


def ask(spare: Spare, kind: str, way: str, nest: bytes, flag: int = NESTED) -> None:
    """With TCA_OPTIONS of this content, which need not be whole attributes"""
    netlink: Netlink = spare.bare if way == "add" else spare.used
    head = attribute(KIND, kind.encode() + b"\0")
    more = head + struct.pack("=HH", 4 + len(nest), OPTIONS | flag) + nest
    netlink.ask(netlink.message(NEWQDISC, WAYS[way] | ACK, HANDLE, ROOT, 0, more))


def refused(
    spare: Spare, kind: str, way: str, nest: bytes, flag: int = NESTED, what: str = ""
) -> Refused:
    before = spare.state()
    try:
        ask(spare, kind, way, nest, flag)
    except Refused as error:
        assert error.errno == errno.EINVAL, f"{what}: {error}, {error.text}"
        assert spare.state() == before, f"{what}: changed something"
        return error
    raise AssertionError(f"{what}: taken")


def refused_in_company(
    spare: Spare,
    table: Table,
    way: str,
    about: Option | None,
    bad: Attribute,
    sentence: str,
    more: Iterable[Attribute] = (),
    told: list[int] | None = None,
) -> None:
    """A bad attribute, alone and with good ones; `about` is the option, if there is one, and `told`
    the range that is."""
    beside = good(table["idle"] if about and about.name == "limit" else table["limit"])
    companies: dict[str, tuple[list[Attribute], list[Attribute]]] = {
        "alone": ([], []),
        "before a good one": ([], [beside]),
        "after a good one": ([beside], []),
    }
    if about:
        companies["after itself, good"] = ([good(about)], [])
    start = HEAD + len(attribute(KIND, table.kind.encode() + b"\0")) + 4
    for company, (first, last) in companies.items():
        first = [*first, *more]
        name = about.name if about else f"attribute {bad[0]}"
        what = f"{way} with {name} of {len(bad[1])} bytes, {bad[1].hex() or 'none'}, {company}"
        ahead = b"".join(attribute(*each) for each in first)
        nest = ahead + b"".join(attribute(*each) for each in (bad, *last))
        error = refused(spare, table.kind, way, nest, what=what)
        said = (error.text, error.at)
        assert said == (sentence, start + len(ahead)), f"{what}: said (text, place) {said}"
        assert told in (None, error.range), f"{what}: told the range {error.range}, not {told}"


@pytest.mark.parametrize("way", WAYS)
def test_bad_length(spare: Spare, kind: str, option: Option, way: str) -> None:
    value = option.packed(option.good[0])
    for length in set(LENGTHS) - {len(value)}:
        bad = option.number, (value + bytes(8))[:length]
        refused_in_company(spare, of(kind), way, option, bad, "invalid attribute length")


@pytest.mark.parametrize("way", WAYS)
def test_bad_value(spare: Spare, kind: str, option: Option, way: str) -> None:
    table = of(kind)
    told = [0 if option.zero else option.least, option.most]
    for value in option.bad:
        bad = attribute_of(option, value)
        refused_in_company(spare, table, way, option, bad, table.refusal(option), told=told)


@pytest.mark.parametrize("way", WAYS)
def test_values_that_do_not_go_together(spare: Spare, kind: str, way: str) -> None:
    table = of(kind)
    for rule in table.rules:
        for values in rule.bad:
            about = table[next(name for name in rule.names if name in values)]
            bad = attribute_of(about, values[about.name])
            rest = [attribute_of(table[n], v) for n, v in values.items() if n != about.name]
            refused_in_company(spare, table, way, about, bad, table.refusal(rule), rest)


@pytest.mark.parametrize("way", WAYS)
def test_unknown_attribute(spare: Spare, kind: str, way: str) -> None:
    table = of(kind)
    bad = 1 + max(option.number for option in table.options), bytes(4)
    refused_in_company(spare, table, way, None, bad, "Unknown attribute type")


@pytest.mark.parametrize("way", WAYS)
def test_bad_nest(spare: Spare, kind: str, way: str) -> None:
    one = attribute(*good(of(kind)["limit"]))
    left = "bytes leftover after parsing attributes"
    for what, nest, flag, sentence in [
        ("not marked as nested", one, 0, "NLA_F_NESTED is missing"),
        ("bytes left over", one + b"\1" * 5, NESTED, left),
        ("an attribute beyond the end", one + struct.pack("=HH", 200, 1), NESTED, left),
        ("half the head of an attribute", one + b"\1\1", NESTED, left),
    ]:
        error = refused(spare, kind, way, nest, flag, what)
        assert error.text == sentence, f"{way}, {what}: {error.text}"


@pytest.mark.parametrize("way", ["add", "change"])
def test_good_values(spare: Spare, kind: str, way: str) -> None:
    """That they are taken shows that nothing else is wrong with the requests above."""
    table = of(kind)
    given = table.others | ({"flows": table["flows"].good[0]} if way == "add" else {})
    nest = b"".join(attribute(*each) for each in table.attributes(given).items())
    ask(spare, kind, way, nest)
    netlink = spare.bare if way == "add" else spare.used
    shown = attributes(attributes(netlink.qdiscs()[0][1][16:])[OPTIONS])
    expected = table.attributes(table.after({}, given))
    assert {number: data for number, data in shown.items() if data} == expected  # but padding
