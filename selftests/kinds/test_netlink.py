# SPDX-License-Identifier: GPL-2.0
"""Requests that tc cannot send: attributes of the wrong length, unknown ones, what is not nested,
and values out of range beside good ones. Each is refused, with a message about the right attribute,
and changes nothing. And requests for classes of all sorts, which are answered or refused whatever
else goes on, with what pyroute2 can read.
"""

import errno
import random
import struct
import sys
from collections.abc import Callable, Iterable

import pytest

from selftests.lib.gate import Gate, host_flow
from selftests.lib.netlink import (
    ACK,
    CREATE,
    DONE,
    DUMP,
    EXCL,
    GETTCLASS,
    KIND,
    NESTED,
    NEWQDISC,
    NEWTCLASS,
    OPTIONS,
    REPLACE,
    ROOT,
    Netlink,
    Refused,
    attribute,
    attributes,
)
from selftests.lib.options import NUMBERS, Option, Table, of
from selftests.lib.refusals import Spare, quiet_log
from selftests.lib.told import Told, message, of_message

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
    beside = good(table["buffer"] if about and about.name == "limit" else table["limit"])
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
    bad = 1 + NUMBERS + max(option.number for option in table.options), bytes(4)
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


# Requests for classes

PARENTS = (0, ROOT, HANDLE, HANDLE | 1, HANDLE | 0x8000, 0x10000, 0x10001, 0xFFFF0000, 0x200000)
MINORS = (0, 1, 2, 3, 0x3FFF, 0x4000, 0x4001, 0x4002, 0x7FFF, 0x8000, 0x8001, 0x8008, 0xFFFF)
MANY = 600


def churned(rng: random.Random, d0: Gate, kind: str) -> Callable[[], None]:
    """What happens beside the requests, one of it with each call"""
    table = of(kind)
    changes = ["limit 500", "limit 10000", "idle 1ms", "idle 86400s", "memory_limit 4Kb"]
    changes += ["memory_limit 32Mb"]
    if "hosts" in table:
        changes += ["hosts none", "hosts src", "hosts dst", "hosts both nat", "newcomers 4"]

    def packets() -> None:
        for _ in range(40):
            number = rng.randrange(MANY)
            d0.send(host_flow(number, rng.randrange(99), number % 99).frame(100, number))
        d0.release(rng.randrange(60))

    def step() -> None:
        what = rng.randrange(20)
        if what == 0:
            d0.bounce()
        elif what == 1:
            d0.renew(f"flows {rng.choice((8, 256, 4096))} {table.text(table.records)}")
        elif what < 6:
            d0.change(rng.choice(changes))
        packets()

    return step


def odd(rng: random.Random, kind: str) -> bytes:
    """Attributes of a request for classes, which has none"""
    junk = rng.randbytes(rng.randrange(40))
    ways = (
        b"",
        attribute(KIND, kind.encode() + b"\0"),
        attribute(KIND, rng.choice((b"pfifo\0", b"nobody\0", b"", kind.encode(), b"x" * 300))),
        attribute(OPTIONS | NESTED, junk),
        attribute(OPTIONS | NESTED, attribute(1, bytes(4)) + attribute(4, junk)),
        attribute(rng.randrange(1 << 16), junk),
        struct.pack("=HH", rng.randrange(1 << 16), rng.randrange(20)) + junk,
        junk,
    )
    return b"".join(rng.choice(ways) for _ in range(rng.randrange(3)))


def read(kind: str, answers: Iterable[tuple[int, bytes]]) -> list[Told]:
    """What is told of classes of the kind, all of which has to be in order"""
    found = []
    for number, data in answers:
        assert number == NEWTCLASS
        about = message(number, data)
        assert about["handle"] >> 16 == about["parent"] >> 16
        if about.get_attr("TCA_KIND") == kind:
            found.append(of_message(about))
    return found


def odd_request(rng: random.Random, netlink: Netlink, kind: str) -> bytes:
    index = netlink.index
    netlink.index = rng.choice((index, index, index, 0, -1, 1 << 30))
    handle = rng.choice((HANDLE, HANDLE, 0, 0x10000, rng.randrange(1 << 32))) | rng.choice(MINORS)
    parent = rng.choice((*PARENTS, rng.randrange(1 << 32)))
    flags = rng.choice((DUMP, DUMP, 0, 0, REPLACE, EXCL)) | ACK
    request = netlink.message(GETTCLASS, flags, handle, parent, 0, odd(rng, kind))
    netlink.index = index
    if rng.randrange(8):
        return request
    request = request[: rng.randrange(16, 36)]  # too short
    return len(request).to_bytes(4, sys.byteorder) + request[4:]


def test_odd_requests_for_classes(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate(of(kind).text(of(kind).records))
    rng = random.Random(kind)
    churn = churned(rng, d0, kind)
    netlink = Netlink("d0")
    told, refusals = 0, set()
    with quiet_log():
        for _ in range(400):
            churn()
            try:
                told += bool(read(kind, netlink.ask(odd_request(rng, netlink, kind))))
            except Refused as error:
                refusals.add(errno.errorcode[error.errno])
    known = {"EINVAL", "ENOENT", "ENODEV"}  # and of a name too long:
    assert told > 20 and known <= refusals <= known | {"ERANGE"}


def test_a_dump_of_classes_while_all_changes(gate: Callable[..., Gate], kind: str) -> None:
    """Between its parts"""
    d0 = gate(of(kind).text(of(kind).records))
    rng = random.Random(kind)
    churn = churned(rng, d0, kind)
    netlink = Netlink("d0")
    told: list[int] = []
    with quiet_log():
        for _ in range(20):
            for number in range(MANY):
                d0.send(host_flow(number, number % 99, 2).frame(100, number))
            netlink.sock.send(netlink.message(GETTCLASS, DUMP))
            answers = []
            for number, data in netlink.answers():
                answers.append((number, data))
                if len(answers) % 30 == 0:
                    churn()
            assert answers.pop()[0] == DONE
            told.append(len(read(kind, answers)))
    assert max(told) > MANY / 3, told
