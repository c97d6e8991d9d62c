# SPDX-License-Identifier: GPL-2.0
"""The rank of priority flows, which the kernel computes in integers, against the real function."""

import ctypes
import math
import random
from pathlib import Path

import pytest

from selftests.host.library import library as build

from ..model import log_rank

UNIT = 1500  # bytes
THOUSANDTHS = [250, 300, 333, 500, 750, 1000, 1500, 2000, 3000, 4000]  # K


def attained() -> list[int]:
    """From 1 to 2^62: the powers of two and the packets' own, with neighbours, and random ones."""
    edges = [1 << i for i in range(63)] + [UNIT << i for i in range(51)]
    # where the result goes from one octave to the next, for K = 1
    edges += [int(UNIT * 2 ** (2.0**i)) for i in range(-10, 6)]
    values = {edge + near for edge in edges for near in range(-3, 4)}
    rng = random.Random(1)
    values.update(int(2 ** rng.uniform(0, 62)) for _ in range(20000))
    values.update(rng.randrange(UNIT + 1, 4 * UNIT) for _ in range(2000))
    return sorted(value for value in values if 1 <= value <= 1 << 62)


def exact(x: int, k: int) -> float:
    return UNIT * math.log2(x / UNIT) ** (1000 / k) if x > UNIT else 0.0


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = build(Path(__file__).with_name("log_rank.c"))
    found.rank.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
    found.falls.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32]
    found.rank.restype = found.falls.restype = ctypes.c_uint64
    return found


@pytest.mark.parametrize("k", THOUSANDTHS)
def test_error_is_as_stated(library: ctypes.CDLL, k: int) -> None:
    for x in attained():
        rank, expected = library.rank(x, k), exact(x, k)
        assert abs(rank - expected) <= 1 + expected / 4000, f"x {x}: {rank}, not {expected}"


@pytest.mark.parametrize("k", THOUSANDTHS)
def test_zero_up_to_the_first_packet(library: ctypes.CDLL, k: int) -> None:
    assert not any(library.rank(x, k) for x in range(UNIT + 1))
    assert library.rank(4 * UNIT, k) > 0


@pytest.mark.parametrize("k", THOUSANDTHS)
def test_never_falls(library: ctypes.CDLL, k: int) -> None:
    assert library.falls(1, 1 << 24, k) == 0
    ranks = [library.rank(x, k) for x in attained()]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("k", THOUSANDTHS)
def test_model_agrees(library: ctypes.CDLL, k: int) -> None:
    """That of the packet-exact tests."""
    for x in attained()[::7]:
        assert log_rank(x, k) == library.rank(x, k), x
