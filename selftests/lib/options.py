# SPDX-License-Identifier: GPL-2.0
"""The options of the kinds, told apart from the kernel's tables and the plugins'.

sch_KIND/tests/options.py has a TABLE of a kind's, in the order in which tc prints them. From it are
made the tests of options, the cases of tdc (selftests/tdc.py) and the check of what is documented
(selftests/host/test_documented.py). Values are those of the attributes.
"""

import importlib
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from selftests.lib.wire import FRAMINGS, KEYWORDS

TOP = Path(__file__).resolve().parents[2]
KINDS = sorted(path.name.removeprefix("sch_") for path in TOP.glob("sch_*"))
U32_MAX = (1 << 32) - 1
I32_MAX = (1 << 31) - 1
U64_MAX = (1 << 64) - 1

Values = dict[str, int]  # of options, by name


@dataclass(frozen=True)
class Unit:
    value: str = ""  # stands for one in the usage
    what: str = ""  # a value has to be, as tc says it
    wrong: tuple[str, ...] = ()  # what is typed and is not
    suffixes: tuple[tuple[str, Fraction], ...] = ()  # to type, and what 1 of it is
    shown: tuple[tuple[str, Fraction], ...] = ()  # the largest that divides a value
    zero: str = "0"  # as it is shown
    refused: str = ""  # after the range in a refusal
    json: str = ""  # what names end in there
    one: int = 1  # what is typed as 1
    format: str = "=I"  # of the attribute, as in struct

    @property
    def ends(self) -> tuple[int, int]:
        """Of what the attribute can be"""
        bits = 8 * struct.calcsize(self.format)
        return (-1 << bits - 1, (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)

    @property
    def signed(self) -> bool:
        return self.format.islower()

    def text(self, value: int) -> str:
        """As tc shows it, which can be typed, too"""
        for suffix, size in self.shown if value else ():
            if (value / size).denominator == 1:
                return f"{value / size}{suffix}"
        return _decimal(Fraction(value, self.one)) if value else self.zero

    def spellings(self, value: int) -> list[str]:
        """All ways to type it with at most three decimals"""
        ways = [(suffix, value / size) for suffix, size in self.suffixes]
        found = [
            _decimal(typed) + suffix for suffix, typed in ways if 1000 % typed.denominator == 0
        ]
        return found or [self.text(value)]


def _decimal(number: Fraction) -> str:
    if number < 0:
        return f"-{_decimal(-number)}"
    digits = f"{number.numerator * 10**9 // number.denominator:010d}"
    return f"{digits[:-9]}.{digits[-9:]}".rstrip("0").rstrip(".")


def _suffixes(**sizes: Fraction | int) -> tuple[tuple[str, Fraction], ...]:
    return tuple((suffix, Fraction(size)) for suffix, size in sizes.items())


_WHOLE = ("many", "-1", "4294967296", "1.5", "5k", "nan", "0x")
NUMBER = Unit("NUMBER", "a whole number", _WHOLE)
SIGNED = Unit(
    "NUMBER",
    "a whole number",
    ("many", "-2147483649", "2147483648", "1.5", "--5", "-", "5k", "-nan"),
    format="=i",
)
PACKETS = Unit("PACKETS", "a whole number", _WHOLE, refused=" packets")
BYTES = Unit(
    "BYTES",
    "a size in whole bytes",
    ("many", "-1", "4294967296", "20000.5b", "5parsec", "5s"),
    (
        ("", Fraction(1)),
        *_suffixes(b=1, k=1 << 10, kb=1 << 10, kbit=1 << 7, m=1 << 20, mb=1 << 20, mbit=1 << 17),
        *_suffixes(g=1 << 30, gb=1 << 30, gbit=1 << 27),
    ),
    _suffixes(Mb=1 << 20, Kb=1 << 10, b=1),
    "0b",
    " bytes",
)
MS = Unit(
    "TIME",
    "a time in whole milliseconds",
    ("many", "-1", "4294967296ms", "1.5ms", "999", "5parsec", "5b"),
    (
        ("", Fraction(1, 1000)),
        *_suffixes(us=Fraction(1, 1000), usec=Fraction(1, 1000), usecs=Fraction(1, 1000)),
        *_suffixes(ms=1, msec=1, msecs=1, s=1000, sec=1000, secs=1000),
    ),
    _suffixes(s=1000, ms=1),
    "0s",
    " ms",
    "_ms",
)
US = Unit(
    "TIME",
    "a time in whole microseconds",
    ("many", "-1", "4294967296us", "1.5us", "5parsec", "5b"),
    (
        *_suffixes(us=1, usec=1, usecs=1, ms=1000, msec=1000, msecs=1000),
        *_suffixes(s=10**6, sec=10**6, secs=10**6),
        ("", Fraction(1)),
    ),
    _suffixes(s=10**6, ms=1000, us=1),
    "0us",
    " us",
)
RATE = Unit(
    "RATE",
    "a rate of whole bytes per second",
    ("many", "-1", "4294967296bps", "7bit", "5parsec", "5s"),
    (
        ("", Fraction(1, 8)),
        *_suffixes(bit=Fraction(1, 8), kbit=125, mbit=125000, gbit=125000000, tbit=125 * 10**9),
        *_suffixes(kibit=1 << 7, mibit=1 << 17, gibit=1 << 27, tibit=1 << 37),
        *_suffixes(bps=1, kbps=1000, mbps=10**6, gbps=10**9, tbps=10**12),
        *_suffixes(kibps=1 << 10, mibps=1 << 20, gibps=1 << 30, tibps=1 << 40),
    ),
    _suffixes(Tbit=125 * 10**9, Gbit=125000000, Mbit=125000, Kbit=125, bit=Fraction(1, 8)),
    "0bit",
    " bytes per second",
)
RATE64 = replace(
    RATE,
    value="RATE | unlimited",
    what="a rate of whole bytes per second or unlimited",
    wrong=(*RATE.wrong[:2], "1125899906842624bps", *RATE.wrong[3:], "unlimit"),
    format="=Q",
)
PERCENT = Unit(
    "PERCENT",
    "a whole number of percent",
    ("many", "-1", "4294967296", "1.5", "5parsec"),
    (("", Fraction(1)), ("%", Fraction(1))),
    (("%", Fraction(1)),),
    "0%",
    " percent",
    "_percent",
)
MILLI = Unit(
    "NUMBER",
    "a number with at most three decimals",
    ("many", "-1", "0.3333", "4294968", "5s"),
    one=1000,
)
NANO = Unit(
    "PROBABILITY",
    "a number with at most nine decimals",
    ("many", "-1", "0.0000000001", "5", "1s"),
    one=10**9,
)
CHOICE = Unit()
SWITCH = Unit()


@dataclass(frozen=True)
class Option:
    number: int  # its attribute
    name: str  # typed, and in refusals
    unit: Unit
    default: int
    least: int
    most: int
    good: tuple[
        int, ...
    ]  # some values other than the default, which go together with others' first
    zero: bool = False  # is good, too
    power: bool = False  # of two
    fixed: bool = False  # once the qdisc exists
    names: tuple[str, ...] = ()  # typed after its own for the values 0, 1, ...
    words: tuple[str, ...] = ()  # typed instead of its own for the values 0, 1, ...
    alone: int | None = None  # what it is if no name is typed after its own
    special: tuple[int, str] | None = None  # a value that is no number, and how it is shown
    brisk: int | None = None  # with less packets do not leave as fast as tests send them
    said: str = ""  # in refusals, where that is not made of the above
    resets: tuple[str, ...] = ()  # options that become 0 if they are not given beside it
    # by a value to which it changes: what others become if they are not given beside it
    brings: dict[int, Values] = field(default_factory=dict)

    def takes(self, value: int) -> bool:
        if self.zero and not value:
            return True
        return self.least <= value <= self.most and not (self.power and value & (value - 1))

    @property
    def values(self) -> list[int]:
        """All that are good of a choice, and else those that are special"""
        found = [self.default, *self.good, self.least, self.most, *[0] * self.zero]
        if self.names or self.words:
            found += range(self.least, self.most + 1)
        return list(dict.fromkeys(found))

    @property
    def bad(self) -> list[int]:
        """Values that an attribute may have and the option may not"""
        found = [0, 1, 3, self.least // 2, self.least - 1, self.least + 1, self.most - 1]
        found += [self.most + 1, 2 * self.most, 1 << 31, U32_MAX, *self.unit.ends]
        first, last = self.unit.ends
        fit = dict.fromkeys(value for value in found if first <= value <= last)
        return [value for value in fit if not self.takes(value)]

    @property
    def refusal(self) -> str:
        """What is said of these, after the kind"""
        if self.said:
            return self.said
        if len(self.words) == 2:
            return f"{self.name} must be 0 or 1"
        if self.names or self.words:
            all_names = self.names or self.words
            *names, last = [f"{value} ({name})" for value, name in enumerate(all_names)]
            return f"{self.name} must be {', '.join(names)} or {last}"
        ends = [_decimal(Fraction(end, self.unit.one)) for end in (self.least, self.most)]
        if self.power:
            return f"{self.name} must be a power of two, {ends[0]} to {ends[1]}"
        zero = "0 or " * self.zero
        return f"{self.name} must be {zero}{ends[0]} to {ends[1]}{self.unit.refused}"

    @property
    def needs(self) -> str:
        """What tc says it needs"""
        if self.names:
            return f"{', '.join(self.names[:-1])} or {self.names[-1]}"
        return self.unit.what

    def text(self, value: int) -> str:
        """As tc shows it, which can be typed, too"""
        if self.special and value == self.special[0]:
            return self.special[1]
        if self.words:
            return self.words[value]
        return f"{self.name} {self.names[value] if self.names else self.unit.text(value)}"

    def spellings(self, value: int) -> list[str]:
        if self.words or self.names or self.special and value == self.special[0]:
            return [self.text(value), *[self.name] * (value == self.alone)]
        return [f"{self.name} {typed}" for typed in self.unit.spellings(value)]

    def packed(self, value: int) -> bytes:
        """As its attribute has it"""
        return struct.pack(self.unit.format, value)

    @property
    def valued(self) -> bool:
        """Whether something has to be typed after its name"""
        return not self.words and self.alone is None

    @property
    def wrong(self) -> list[str]:
        """What may be typed as its value and cannot be one"""
        if not self.valued:
            return []
        return ["middle", "", "0"] if self.names else list(self.unit.wrong)

    @property
    def typed(self) -> list[str]:
        """The words that name it"""
        return list(self.words) or [self.name]

    @property
    def usage(self) -> str:
        """How it is typed, as tc and man pages tell"""
        if self.words:
            return " | ".join(reversed(self.words))
        return f"{self.name} {' | '.join(self.names) or self.unit.value}"

    @property
    def json(self) -> str:
        return self.name + self.unit.json

    def in_json(self, value: int) -> Any:
        if self.special and value == self.special[0]:
            return self.special[1].split()[-1]
        if len(self.words) == 2:
            return bool(value)
        if self.names or self.words:
            return (self.names or self.words)[value]
        return value / self.unit.one if self.unit.one > 1 else value


def switch(number: int, name: str, default: int, off: str = "") -> Option:
    words = (off or f"no_{name}", name)
    return Option(number, name, SWITCH, default, 0, 1, (1 - default,), words=words)


def choice(
    number: int, name: str, names: Iterable[str], said: str = "", default: int = 0
) -> Option:
    names = tuple(names)
    most = len(names) - 1
    good = tuple(value for value in range(most, -1, -1) if value != default)
    return Option(number, name, CHOICE, default, 0, most, good, names=names, said=said)


# Those of every kind


def limit(number: int, default: int = 10000) -> Option:
    return Option(number, "limit", PACKETS, default, 1, 1000000, (2, 77))


def memory_limit(number: int) -> Option:
    good = (1 << 20, 64 << 10, 4097)
    return Option(number, "memory_limit", BYTES, 32 << 20, 4096, I32_MAX, good)


def flows(number: int) -> Option:
    return Option(number, "flows", NUMBER, 4096, 8, 1 << 20, (16, 1024), power=True, fixed=True)


def split_gso(number: int) -> Option:
    names = ("off", "on", "auto")
    return replace(choice(number, "split_gso", names, default=2), alone=1)


_FRAMINGS = tuple(FRAMINGS)


def shaper(first: int) -> tuple[Option, ...]:
    """Those that every kind has at its end; the attributes follow each other."""
    return (
        Option(
            *(first, "rate", RATE64, U64_MAX, 1, U64_MAX),
            (125 * 10**6, 1 << 37, 125 * 10**9, 10**12 + 1),
            said="rate must be at least 1 byte per second",
            special=(U64_MAX, "rate unlimited"),
            brisk=125 * 10**6,
        ),
        Option(
            *(first + 1, "overhead", SIGNED, -65, -65, 256, (18, -20, -64, 0)),
            said="overhead must be -64 to 256 bytes, or -65 (raw)",
            special=(-65, "raw"),
        ),
        Option(first + 2, "mpu", replace(NUMBER, refused=" bytes"), 0, 0, 256, (84, 1)),
        Option(first + 3, "framing", SWITCH, 0, 0, 2, (2, 1), words=_FRAMINGS),
        Option(first + 4, "ingress", SWITCH, 0, 0, 1, (1,), words=("egress", "ingress")),
    )


def _link(overhead: int, framing: str = "", mpu: int = 0) -> Values:
    found = {"overhead": overhead}
    if mpu:
        found["mpu"] = mpu
    if framing:
        found["framing"] = _FRAMINGS.index(framing)
    return found


# Typed for the shaper of all kinds, beside the above: the names of links, as tc-cake(8) has them,
LINKS = {word: _link(each.overhead, each.framing, each.mpu) for word, each in KEYWORDS.items()}
LINKS["via-ethernet"] = {}
# other words,
WORDS: dict[str, Values] = {"raw": {"overhead": -65}, "no_split_gso": {"split_gso": 0}}
# several at once,
TOGETHER = {
    "pppoe-ptm ether-vlan": _link(34, "ptm"),
    "ether-vlan ether-vlan bridged-ptm ptm": _link(30, "ptm"),
    "conservative ether-vlan": _link(52, "atm"),
    "docsis ether-vlan": _link(22, "noatm", 64),
    "docsis overhead 22": _link(22, "noatm", 64),
    "overhead 22 docsis": _link(40, "noatm", 64),
    "overhead -4 ethernet mpu 64": _link(34, "", 64),
    "ethernet overhead 44 mpu 84": _link(44, "", 84),
    "atm overhead 44": _link(44, "atm"),
    "pppoe-vcmux conservative": _link(48, "atm"),
    "docsis raw": _link(-65, "noatm", 64),
    "raw atm": _link(-65, "atm"),
    "via-ethernet docsis rate 125mbps": _link(18, "noatm", 64) | {"rate": 125 * 10**6},
    "split_gso ingress": {"split_gso": 1, "ingress": 1},
}
# and what is refused since one says another thing than the other
APART = (
    ("atm", "ptm"),
    ("noatm", "atm"),
    ("atm", "pppoe-ptm"),
    ("bridged-ptm", "noatm"),
    ("docsis", "atm"),
    ("conservative", "docsis"),
    ("ipoa-vcmux", "pppoe-ptm"),
    ("raw", "ether-vlan"),
    ("raw", "conservative"),
)


# Those of several


def buffer(number: int, default: int) -> Option:
    return Option(number, "buffer", MS, default, 10, 60000, (100, 2000), zero=True)


def guarantee(number: int, default: int) -> Option:
    return Option(number, "guarantee", PERCENT, default, 0, 99, (35, 0))


# Of those with two bands


def queues(number: int, default: int) -> Option:
    good = (16, 1)
    return Option(number, "queues", NUMBER, default, 1, 4096, good, power=True, fixed=True)


def quantum(number: int) -> Option:
    return Option(number, "quantum", BYTES, 1514, 256, 1 << 20, (300, 9000))


def linger(number: int) -> Option:
    return Option(number, "linger", MS, 1000, 0, 60000, (20, 0))


# Those of the kinds with groups of flows (policy.h)


def plain(number: int) -> Option:
    brings = {1: {"buffer": 0, "target": 0}, 0: {"buffer": 500, "target": 5000}}
    return replace(switch(number, "plain", 0, off="noplain"), brings=brings)


def target(number: int) -> Option:
    return Option(number, "target", US, 5000, 0, 2000000, (1000, 20001))


def ecn(number: int) -> Option:
    return switch(number, "ecn", 1, off="noecn")


def hosts(number: int) -> Option:
    return choice(number, "hosts", ("none", "src", "dst", "both"))


def nat(number: int) -> Option:
    return switch(number, "nat", 0, off="nonat")


NUMBERS = 9  # attributes of a build for tests


def numbers(last: int, groups: bool) -> tuple[Option, ...]:
    """Those of a build for tests (include/shortfirst/test_numbers.h), which a user has not; with
    `groups` those of policy.h, too. `last` is the last attribute of others."""

    def number(at: int, name: str, unit: Unit, *names: str) -> Option:
        return Option(last + 1 + at, name, unit, U32_MAX, 0, U32_MAX, (), names=names)

    of_groups = (
        number(1, "fair", BYTES),
        number(2, "forgive_share", PERCENT),
        number(3, "rank", CHOICE, "attained", "visible"),
        number(4, "newcomers", NUMBER),
        number(5, "known_share", PERCENT),
        number(6, "long_share", PERCENT),
        number(7, "quantum", BYTES),
        number(8, "host_records", NUMBER),
    )
    return (number(0, "idle", MS), *(of_groups if groups else ()))


GROUPS_STATISTICS = (
    *("drop_buffer", "drop_new", "drop_codel", "marked", "flows_seen", "flows_new"),
    *("flows_long", "room", "hosts_known", "hosts_over", "host_evictions"),
)
QUEUE_STATISTICS = (
    *("drop_limit", "drop_memory", "gso_split", "flows_queued", "records", "evictions"),
    *("overflow", "memory", "memory_peak"),
)
BANDS = ("high", "low")


@dataclass(frozen=True)
class Rule:
    """Two options, good each, of which some values do not go together."""

    names: tuple[str, str]  # a refusal is about the first of these that is given
    refusal: str
    holds: Callable[[int, int], bool]
    bad: tuple[Values, ...]  # where all others have their defaults


@dataclass(frozen=True)
class Table:
    module: str  # __name__, which has the kind's
    options: tuple[Option, ...]
    statistics: tuple[str, ...]  # tc -s shows of the qdisc
    numbers: tuple[Option, ...] = ()  # that only a build for tests takes as options
    flow_statistics: tuple[str, ...] = ()  # and of its flows
    rules: tuple[Rule, ...] = ()
    words: dict[str, Values] = field(default_factory=dict)  # for values of several options
    published: Values = field(default_factory=dict)  # what makes it that, without our additions
    grouped: Values = field(default_factory=dict)  # what makes it that, but for groups of flows
    records: Values = field(default_factory=dict)  # what gives each flow of TCP that waits a record
    by_class: Values = field(default_factory=dict)  # what leaves the choice of a band to filters
    room: int = 0  # bytes that may wait by `buffer`, however slow the link is
    more_extremes: tuple[Values, ...] = ()

    @property
    def kind(self) -> str:
        return self.module.split(".")[0].removeprefix("sch_")

    def __getitem__(self, name: str) -> Option:
        return next(o for o in (*self.options, *self.numbers) if o.name == name)

    def __contains__(self, name: str) -> bool:
        return any(option.name == name for option in (*self.options, *self.numbers))

    @property
    def defaults(self) -> Values:
        return {option.name: option.default for option in self.options}

    @property
    def changeable(self) -> list[Option]:
        return [option for option in self.options if not option.fixed]

    def text(self, values: Values) -> str:
        """What is typed for them"""
        return " ".join(self[name].text(value) for name, value in values.items())

    def line(self, values: Values) -> str:
        """What is shown of a qdisc on which these were given"""
        return self.text(self.after({}, values))

    def json(self, values: Values) -> dict[str, Any]:
        options = [(self[name], value) for name, value in values.items()]
        return {option.json: option.in_json(value) for option, value in options}

    def attributes(self, values: Values) -> dict[int, bytes]:
        return {self[name].number: self[name].packed(value) for name, value in values.items()}

    def after(self, before: Values, given: Values) -> Values:
        """All values after a request"""
        found = self.defaults | before
        brought: Values = {}
        for name, value in given.items():
            brought |= dict.fromkeys(self[name].resets, 0)
            brought |= self[name].brings.get(value, {}) if found[name] != value else {}
        return found | brought | given

    def broken(self, values: Values) -> Rule | None:
        for rule in self.rules:
            if not rule.holds(*(values[name] for name in rule.names)):
                return rule
        return None

    def given(self, name: str, value: int, before: Values | None = None) -> Values:
        """A value, with another option's if it does not go with that; none if it goes with none"""
        given = {name: value}
        rule = self.broken(self.after(before or {}, given))
        if rule:
            other = self[rule.names[name == rule.names[0]]]
            tried = ({**given, other.name: value} for value in other.values)
            after = ((each, self.after(before or {}, each)) for each in tried)
            return next((each for each, values in after if not self.broken(values)), {})
        return given

    def together(self, values: Values) -> Values:
        """As many of them as go together, the default for the others"""
        while rule := self.broken(self.defaults | values):
            other, first = (self[name] for name in reversed(rule.names))
            out = first if values.get(other.name, other.default) == other.default else other
            values = values | {out.name: out.default}
        return values

    @property
    def others(self) -> Values:
        """Of each option that can be changed a value other than its default"""
        return self.together({option.name: option.good[0] for option in self.changeable})

    @property
    def extremes(self) -> list[Values]:
        """All at their least, 0 if that is good or not, and at their most, but what is fixed

        and takes memory from the beginning; with the first choices and with the last.
        """
        found = []
        for last in (False, True):
            for end in ("least", "zero", "most"):
                values = {}
                for option in self.changeable if end == "most" else self.options:
                    at = end if not (option.names or option.words) else "most" if last else "least"
                    if at == "zero":
                        at = "least"
                        if option.zero:
                            values[option.name] = 0
                            continue
                    values[option.name] = getattr(option, at)
                found.append(self.together(values))
        return found + list(self.more_extremes)

    def brisk(self, values: Values) -> Values:
        """These, but for what would keep packets waiting for longer than a test does"""
        least = {name: self[name].brisk for name in values}
        return {name: max(value, least[name] or value) for name, value in values.items()}

    def refusal(self, of: "Option | Rule") -> str:
        return f"{self.kind}: {of.refusal}"

    def refusal_of_change(self, option: Option) -> str:
        """Of one that is fixed"""
        what = "is fixed once the qdisc exists: delete it and add it anew"
        return f"{self.kind}: {option.name} {what}"


def of(kind: str) -> Table:
    return importlib.import_module(f"sch_{kind}.tests.options").TABLE


def published(kind: str) -> str:
    """What is typed to have it as it was published; others than ours have nothing else."""
    if kind not in KINDS:
        return kind
    table = of(kind)
    brought = {n for each, v in table.published.items() for n in table[each].brings.get(v, ())}
    typed = {name: v for name, v in table.published.items() if name not in brought}
    return f"{kind} {table.text(typed)}"
