# SPDX-License-Identifier: GPL-2.0
"""Turns of flows that share a link."""

import numpy as np
import pytest

from lab.measure.over_time import OWNED, smooth, turns


def test_one_after_the_other() -> None:
    rates = np.array([[9.0, 1]] * 30 + [[1, 9.0]] * 10)
    assert turns(rates, 0.01) == pytest.approx((1, 0.2))
    assert turns(rates, 0.1) == pytest.approx((1, 2))


def test_a_turn_goes_on_where_nobody_has_the_link() -> None:
    """What is between two turns of the same flow ends none, and is not part of any."""
    rates = np.array([[9.0, 1]] * 10 + [[5, 5]] * 20 + [[9, 1]] * 10)
    assert turns(rates, 0.01) == pytest.approx((0.5, 0.2))


@pytest.mark.parametrize("rates", [[[5.0, 5]], [[OWNED, 1 - OWNED]], [[0.0, 0]]])
def test_no_turns(rates: list) -> None:
    assert turns(np.array(rates * 50), 0.01) == (0, 0)


def test_smooth() -> None:
    rates = np.zeros((100, 2))
    rates[50] = 10, 20
    flat = smooth(rates, 10)
    assert flat.shape == rates.shape and np.count_nonzero(flat[:, 0]) == 10
    assert flat[50].tolist() == pytest.approx([1, 2])
