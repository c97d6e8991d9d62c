# SPDX-License-Identifier: GPL-2.0
"""Two bands, and the part of the bytes that is guaranteed to the low one."""

from collections.abc import Callable

import pytest

from selftests.lib.gate import Gate, flow
from selftests.lib.options import of

HIGH, LOW = 0x100001, 0x100002
A = flow(0)

pytestmark = pytest.mark.has("guarantee")


@pytest.fixture
def words(kind: str) -> str:
    """What leaves all to the classes"""
    return of(kind).text(of(kind).by_class)


def test_guarantee(gate: Callable[..., Gate], words: str) -> None:
    """The low band's share in bytes is what was asked for, whatever the sizes."""
    d0 = gate(f"{words} limit 3000")
    for share in (10, 35, 80):
        d0.change(f"guarantee {share}")
        for ident in range(800):
            d0.send(A.frame(1500, ident), LOW)
            d0.send(A.frame(500 if ident % 2 else 900, 1000 + ident), HIGH)
        out = d0.release(400)
        low = sum(len(frame) for frame in out if len(frame) == 1500)
        assert abs(low / sum(map(len, out)) - share / 100) < 1500 * 1.5 / sum(map(len, out))
        d0.release()


@pytest.mark.parametrize("share", [10, 50, 90])
def test_guarantee_in_a_full_buffer(gate: Callable[..., Gate], words: str, share: int) -> None:
    """Of the high band comes twice what leaves, and as much of the low one."""
    d0 = gate(f"{words} limit 40 guarantee {share}")
    out = []
    for ident in range(500):
        d0.send(A.frame(1000, ident), LOW)
        d0.send(A.frame(1000, 1000 + 2 * ident), HIGH)
        d0.send(A.frame(1000, 1001 + 2 * ident), HIGH)
        out += d0.order(1)
    low = sum(ident < 1000 for ident in out[100:])
    assert abs(low / len(out[100:]) - share / 100) < 0.02


@pytest.mark.parametrize(("share", "length", "limit"), [(2, 1000, 40), (10, 60, 60)])
def test_guarantee_of_a_packet_at_a_time(
    gate: Callable[..., Gate], words: str, share: int, length: int, limit: int
) -> None:
    """The share of a full buffer is less than a packet of the low band: one waits all the same."""
    d0 = gate(f"{words} limit {limit} guarantee {share}")
    out = []
    for ident in range(1000):
        d0.send(A.frame(1500, ident), LOW)
        d0.send(A.frame(length, 1000 + 2 * ident), HIGH)
        d0.send(A.frame(length, 1001 + 2 * ident), HIGH)
        out += [len(frame) for frame in d0.release(1)]
    low = sum(size for size in out[100:] if size == 1500)
    assert abs(low / sum(out[100:]) - share / 100) < 0.02


@pytest.mark.parametrize("used", [False, True])
def test_bytes_that_wrap_around(gate: Callable[..., Gate], words: str, used: bool) -> None:
    """The low band is not empty, though its backlog in 32 bits is 0."""
    d0 = gate(words, stab=f"stab overhead {(1 << 30) - 1000}")
    if used:
        d0.send(A.frame(1000, 9), HIGH)
        assert d0.order() == [9]
    assert d0.send(A.frame(1000, 0), LOW)
    count, rest = divmod(1 << 32, d0.state()["backlog"])
    assert rest == 0
    d0.change(f"limit {count - 1}")
    for ident in range(1, count):
        assert d0.send(A.frame(1000, ident), LOW) == (ident < count - 1)
    assert d0.order() == [*range(count - 1)]


def test_no_guarantee(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(words)
    for ident in range(100):
        d0.send(A.frame(1500, ident), LOW)
        d0.send(A.frame(500, 100 + ident), HIGH)
    assert d0.order() == [*range(100, 200), *range(100)]


def test_guarantee_costs_nothing_when_alone(gate: Callable[..., Gate], words: str) -> None:
    """What the low band had while the high one was empty is not taken from its share."""
    d0 = gate(f"{words} guarantee 50")
    for ident in range(10):
        d0.send(A.frame(1000, ident), LOW)
    assert d0.order(6) == list(range(6))
    for ident in range(10, 20):
        d0.send(A.frame(1000, ident), HIGH)
    assert d0.order(6) == [10, 6, 11, 7, 12, 8]
