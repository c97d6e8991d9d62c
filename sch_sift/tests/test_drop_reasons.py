# SPDX-License-Identifier: GPL-2.0
"""The reasons of drops that are sift's own: its bands' limits, and RED."""

from collections.abc import Callable

import pytest

from selftests.lib.drop_reasons import heard
from selftests.lib.gate import Gate, flow

pytestmark = pytest.mark.drop_reasons

A = flow(0)


@pytest.mark.parametrize(("band", "minor"), [("high", 1), ("low", 2)])
def test_limit_of_a_band(gate: Callable[..., Gate], band: str, minor: int) -> None:
    d0 = gate(f"{band} 2")
    with heard() as reasons:
        for ident in range(5):
            d0.send(A.frame(100, ident), 0x100000 + minor)
    assert reasons == ["BAND_LIMIT"] * 3


def test_red(gate: Callable[..., Gate]) -> None:
    d0 = gate("probability 0 red low red_min 1 red_max 2 red_weight 1 no_ecn")
    with heard() as reasons:
        for ident in range(20):
            d0.send(A.frame(100, ident), 0x100002)
    assert reasons == ["CONGESTED"] * d0.show()["low_early"]
    assert reasons
