# SPDX-License-Identifier: GPL-2.0
"""What those hear who watch drops by the kernel's trace event, where it has one."""

import time
from collections.abc import Callable

import pytest

from selftests.lib.drop_reasons import heard
from selftests.lib.gate import Gate, attain, flow

pytestmark = pytest.mark.drop_reasons

A = flow(0)


def test_limit(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 2")
    with heard() as reasons:
        for ident in range(5):
            d0.send(A.frame(100, ident))
    assert reasons == ["OVERLIMIT"] * 3
    with heard() as reasons:
        d0.change("limit 1")
    assert reasons == []  # by a change, not because one came


def test_memory_limit(gate: Callable[..., Gate]) -> None:
    d0 = gate("memory_limit 4096b")
    with heard() as reasons:
        d0.send(A.frame(9000, 0))
    assert reasons == ["OVERLIMIT"]


@pytest.mark.has("target")
def test_codel(gate: Callable[..., Gate]) -> None:
    d0 = gate("fair 16384b target 1ms noecn idle 86400s known_share 1")
    attain(d0, A, 20000)
    for ident in range(40):
        d0.send(A.frame(1000, ident))
    with heard() as reasons:
        for _ in range(30):
            time.sleep(0.005)
            d0.release(1)
    assert reasons == ["CONGESTED"] * d0.show()["drop_codel"]
    assert reasons
