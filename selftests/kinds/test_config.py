# SPDX-License-Identifier: GPL-2.0
"""Options, and what is shown of them."""

from collections.abc import Callable

import pytest

from selftests.lib.command import refused, run
from selftests.lib.gate import Gate, flow
from selftests.lib.options import TOGETHER, Option, of

pytestmark = pytest.mark.each_kernel


def options_line() -> str:
    return run("tc qdisc show dev d0 parent 1:1").split("parent 1:1", 1)[1].strip()


def test_defaults(gate: Callable[..., Gate], kind: str) -> None:
    table = of(kind)
    d0 = gate()
    assert d0.show()["options"] == table.json(table.defaults | table.published)
    run(f"tc qdisc replace dev d0 parent 1:1 handle 20: {kind}")
    assert d0.show()["options"] == table.json(table.defaults)
    assert options_line() == table.line({})


def test_print_back(gate: Callable[..., Gate], kind: str, option: Option) -> None:
    """Each way to type a value gives it, and so does what is shown."""
    table, d0 = of(kind), gate()
    for value in option.values:
        if option.fixed and value == option.most:
            continue  # takes memory from the beginning: once is enough, below
        given = table.given(option.name, value, table.published)
        if not given:
            continue
        after = table.after(table.published, given)
        rest = table.text({name: v for name, v in given.items() if name != option.name})
        for words in option.spellings(value):
            d0.renew(f"{words} {rest}")
            assert d0.show()["options"] == table.json(after), words
        line = options_line()
        assert line == table.text(after)
        d0.renew(line)
        assert d0.show()["options"] == table.json(after), line


def test_words_together(gate: Callable[..., Gate], kind: str) -> None:
    """Where one adds to another or has the last word, in a change as at the beginning"""
    table, d0 = of(kind), gate()
    for words, given in TOGETHER.items():
        after = table.after(table.published, given)
        d0.renew(words)
        assert d0.show()["options"] == table.json(after), words
        d0.renew("mpu 7 ptm overhead 9 rate 99gbit ingress split_gso off")
        before = {"mpu": 7, "framing": 2, "overhead": 9, "rate": 99 * 125 * 10**6, "ingress": 1}
        d0.change(words)
        after = table.after(table.published, before | {"split_gso": 0} | given)
        assert d0.show()["options"] == table.json(after), words


def test_most_flows(gate: Callable[..., Gate], kind: str) -> None:
    """All of them are there, and traffic passes; they take memory from the beginning."""
    flows, d0 = of(kind)["flows"], gate()
    d0.renew(f"flows {flows.most}")
    assert d0.show()["options"]["flows"] == flows.most
    for ident in range(50):
        d0.send(flow(ident).frame(100, ident))
    assert sorted(d0.order()) == list(range(50))


def test_print_back_extremes(gate: Callable[..., Gate], kind: str) -> None:
    table, d0 = of(kind), gate()
    for given in table.extremes:
        after = table.after(table.published, given)
        for words in (table.text(given), table.text(after)):
            d0.renew(words)
            assert d0.show()["options"] == table.json(after), words
            assert options_line() == table.text(after)


def test_change_keeps_what_is_left_out(gate: Callable[..., Gate], kind: str) -> None:
    table = of(kind)
    first = {"limit": 50, "memory_limit": 1 << 20, "flows": 64, "buffer": 2000}
    d0 = gate(table.text(first))
    now = table.after(table.published, first)

    def change(words: str, given: dict[str, int]) -> None:
        nonlocal now
        d0.change(words)
        now = table.after(now, given)
        assert d0.show()["options"] == table.json(now), words

    change("", {})
    for option in table.options:
        for value in [now[option.name]] if option.fixed else option.values:
            given = table.given(option.name, value, now)
            change(table.text(given), given)
    for option in table.options:  # and what that resets
        for name in option.resets:
            for given in ({name: table[name].good[0]}, {option.name: option.good[0]}):
                change(table.text(given), given)
    for word, given in table.words.items():
        change(word, given)


def test_statistics(gate: Callable[..., Gate], kind: str) -> None:
    common = {"bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"}
    shown = set(gate().show()) - {"kind", "handle", "parent", "options", "refcnt", "root"}
    assert shown - common == set(of(kind).statistics) - common


def test_refused_change_keeps_the_packets(gate: Callable[..., Gate], kind: str) -> None:
    """What is refused, and how: test_refused.py."""
    d0 = gate("limit 5 flows 64")
    for ident in range(3):
        d0.send(flow(0).frame(100, ident))
    before = d0.show()
    for how in ("change dev d0 parent 1:1 handle 10:", "replace dev d0 parent 1:1 handle 20:"):
        for words in ("limit 1 mpu 257", "mpu 257 limit 1", "limit 2 flows 9", "nosuch"):
            refused(f"tc qdisc {how} {kind} {words}")
    assert d0.show() == before
    assert d0.order() == [0, 1, 2]
