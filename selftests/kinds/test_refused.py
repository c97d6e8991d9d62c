# SPDX-License-Identifier: GPL-2.0
"""What is refused through tc, by the kernel or by tc, in a sentence that names option and range.

What was there stays, and nothing is said in the kernel's log. What tc cannot send: test_netlink.py
"""

import pytest

from selftests.lib.command import refused
from selftests.lib.options import APART, Option, of
from selftests.lib.refusals import BARE, USED, Spare

pytestmark = pytest.mark.each_kernel

WAYS = (f"add dev {BARE} root", f"change dev {USED} root", f"replace dev {USED} root")


def check(spare: Spare, kind: str, words: str, sentence: str) -> None:
    before = spare.state()
    for way in WAYS:
        command = f"tc qdisc {way} {kind} {words}"
        said = refused(command)
        assert sentence in said, f'{command}: not "{sentence}" but {said}'
        assert spare.state() == before, f"{command}: changed something"


def test_out_of_range(spare: Spare, kind: str, option: Option) -> None:
    table = of(kind)
    beside = table["buffer" if option.name == "limit" else "limit"]
    good = beside.text(beside.good[0])
    for value in [] if option.names or option.words else option.bad:
        sentence = f"Error: {table.refusal(option)}."
        check(spare, kind, option.text(value), sentence)
        check(spare, kind, f"{good} {option.text(value)}", sentence)


def test_not_a_value(spare: Spare, kind: str, option: Option) -> None:
    for wrong in filter(None, option.wrong):
        sentence = f'{kind}: {option.name}: "{wrong}" is not {option.needs}'
        check(spare, kind, f"{option.name} {wrong}", sentence)
    if option.valued:
        said = f"{kind}: {option.name}: needs {option.needs}"
        check(spare, kind, f"buffer 2s {option.name}", said)


def test_values_that_do_not_go_together(spare: Spare, kind: str) -> None:
    table = of(kind)
    for rule in table.rules:
        for values in rule.bad:
            check(spare, kind, table.text(values), f"Error: {table.refusal(rule)}.")


def test_words_that_do_not_go_together(spare: Spare, kind: str) -> None:
    for pair in APART:
        for first, second in (pair, pair[::-1]):
            if second != "raw":  # which has the last word
                sentence = f'{kind}: "{first}" and "{second}" do not go together'
                check(spare, kind, f"{first} limit 5 {second}", sentence)


def test_unknown_option(spare: Spare, kind: str) -> None:
    check(spare, kind, "speed 9", 'What is "speed"?')


def test_fixed(spare: Spare, kind: str) -> None:
    table = of(kind)
    for option in table.options:
        if option.fixed:
            before = spare.state()
            for way in WAYS[1:]:
                said = refused(f"tc qdisc {way} {kind} limit 2 {option.text(option.good[0])}")
                assert f"Error: {table.refusal_of_change(option)}." in said
                assert spare.state() == before
