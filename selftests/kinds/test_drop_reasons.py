# SPDX-License-Identifier: GPL-2.0
"""What those hear who watch drops by the kernel's trace event, where it has one."""

from collections.abc import Callable

import pytest

from selftests.lib.drop_reasons import heard
from selftests.lib.gate import Gate, flow

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
