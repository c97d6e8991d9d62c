# SPDX-License-Identifier: GPL-2.0
"""The reasons of drops that are las's own: CoDel's."""

import time
from collections.abc import Callable

import pytest

from selftests.lib.drop_reasons import heard
from selftests.lib.gate import Gate, flow

from .test_fair import FAIR, attain
from .test_random import HUGE_IDLE

pytestmark = pytest.mark.drop_reasons

A = flow(0)


def test_codel(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair {FAIR}b target 1ms interval 10ms noecn {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    for ident in range(40):
        d0.send(A.frame(1000, ident))
    with heard() as reasons:
        for _ in range(30):
            time.sleep(0.005)
            d0.release(1)
    assert reasons == ["CONGESTED"] * d0.show()["drop_codel"]
    assert reasons
