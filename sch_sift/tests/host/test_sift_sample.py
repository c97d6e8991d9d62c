# SPDX-License-Identifier: GPL-2.0
"""The sampler of sift by itself: exact against the model, and by the laws of the article."""

import ctypes
import itertools
import random
from pathlib import Path

import pytest
from scipy.stats import beta, binom

from selftests.host.library import library as build

from ..model import ONE, PACKET, Sampler  # noqa: E402

FLOWS = 100_000
SIZES = [1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 453, 640, 905]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    made = build(Path(__file__).with_name("sift_sample.c"))
    made.make.restype = ctypes.c_void_p
    made.gap.restype = ctypes.c_ulonglong
    made.gap.argtypes = [ctypes.c_void_p]
    made.samples.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    made.sampled.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 3
    return made


@pytest.mark.parametrize("unit", [1, PACKET])
@pytest.mark.parametrize("probability", [0, 1, 1000, ONE // 100, ONE // 3, ONE - 1, ONE])
def test_model(library: ctypes.CDLL, probability: int, unit: int) -> None:
    rng = random.Random(probability)
    seed = rng.randint(1, 1 << 32)
    ours = library.make(seed, probability, 0, unit > 1)
    model = Sampler(seed, probability, unit=unit)
    for _ in range(5000):
        units = rng.choice([1, rng.randint(1, 50), rng.randint(40, 70000)])
        assert library.samples(ours, units) == model.samples(units)
        assert library.gap(ours) == model.gap > 0


def test_every(library: ctypes.CDLL) -> None:
    ours = library.make(1, ONE, 7, False)
    assert [i for i in range(1, 50) if library.samples(ours, 1)] == list(range(7, 50, 7))


@pytest.mark.parametrize(("probability", "expected"), [(0, 0), (ONE, FLOWS)])
@pytest.mark.parametrize("size", [1, 20])
def test_none_and_all(library: ctypes.CDLL, probability: int, expected: int, size: int) -> None:
    assert library.sampled(library.make(3, probability, 0, False), FLOWS, size, 1) == expected


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("needed", [1, 2, 4])
def test_fraction_sampled(library: ctypes.CDLL, size: int, needed: int) -> None:
    """
    Equation 2 and the binomial tail of section 3.2, for as many packets on average up to the last
    sample. Of 60 intervals of 99.9 % all have to hold; seeds were not chosen, and are fixed.
    """
    p = needed / 100
    found = library.sampled(library.make(size, ONE * needed // 100, 0, False), FLOWS, size, needed)
    # Clopper and Pearson
    least = beta.ppf(0.0005, found, FLOWS - found + 1) if found else 0
    most = beta.ppf(0.9995, found + 1, FLOWS - found) if found < FLOWS else 1
    assert least <= binom.sf(needed - 1, size, p) <= most


def test_bytes(library: ctypes.CDLL) -> None:
    """A packet of 1500 bytes is sampled as often as without `bytes`, one of 100 a fifteenth."""
    for length, expected in [(PACKET, 0.01), (100, 0.01 / 15)]:
        ours = library.make(5, ONE // 100, 0, True)
        found = sum(library.samples(ours, length) for _ in range(300_000)) / 300_000
        assert abs(found - expected) < 4 * (expected / 300_000) ** 0.5


def test_samples_are_independent(library: ctypes.CDLL) -> None:
    """Packets after a sample are sampled as others are."""
    ours = library.make(9, ONE // 4, 0, False)
    row = [library.samples(ours, 1) for _ in range(200_000)]
    after = [b for a, b in itertools.pairwise(row) if a]
    assert abs(sum(after) / len(after) - 0.25) < 4 * (0.25 * 0.75 / len(after)) ** 0.5
