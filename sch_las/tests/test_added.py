# SPDX-License-Identifier: GPL-2.0
"""What las does with groups: selftests/kinds/test_groups.py has what it shares with others."""

from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, attain, flow

from .test_random import HUGE_IDLE

A, B = flow(0), flow(2)


@pytest.mark.parametrize(("rank", "order"), [("visible", [1, 2, 3]), ("attained", [2, 3, 1])])
def test_visible_size(gate: Callable[..., Gate], rank: str, order: list[int]) -> None:
    """Who has attained more but has less waiting goes first."""
    d0 = gate(f"rank {rank} {HUGE_IDLE}")
    attain(d0, A, 8000)
    attain(d0, B, 400)
    d0.send(A.frame(100, 1))  # 100 and a quarter of 8100
    d0.send(B.frame(1500, 2))
    d0.send(B.frame(1500, 3))  # 3000 and a quarter of 3400
    assert d0.order() == order


@pytest.mark.parametrize(("rank", "last"), [("visible", 70), ("attained", 100)])
def test_patience(gate: Callable[..., Gate], rank: str, last: int) -> None:
    """Who has waited while much was sent goes before those with somewhat less."""
    d0 = gate(f"rank {rank} {HUGE_IDLE}")
    others = [flow(100 + 2 * number) for number in range(100)]
    attain(d0, A, 400)
    for each in others:
        attain(d0, each, 100)
    d0.send(A.frame(1400, 1))  # 1400 and a quarter of 1800
    out = []
    for each in others:
        d0.send(each.frame(1200, 2))  # 1200 and a quarter of 1300, 325 less
        out += d0.order(1)
    assert [*out, 1].index(1) == last  # 256 * 325 are 83,200 bytes


def test_priority_packet_is_not_refused(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"newcomers 4 {HUGE_IDLE}")
    for number in range(100, 104):
        assert d0.send(flow(number).frame(100, number))
    assert d0.send(flow(300).frame(100, 1), 0x100002)
    assert not d0.send(flow(301).frame(100, 2), 0x100001)


def test_newcomers_first(gate: Callable[..., Gate]) -> None:
    """However many, if nothing is guaranteed to others"""
    d0 = gate(f"rank visible {HUGE_IDLE}")
    attain(d0, A, 1000)
    for ident in range(100, 160):
        d0.send(A.frame(1000, ident))
    for number in range(1, 101):
        d0.send(flow(2 * number).frame(1000, number))
    assert d0.order(100) == [*range(1, 101)]
