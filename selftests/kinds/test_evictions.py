# SPDX-License-Identifier: GPL-2.0
"""Which record goes when another flow wants one and there is none left."""

import time
from collections.abc import Callable

from selftests.lib.gate import Gate, tcp_flow
from selftests.lib.options import of


def test_who_is_silent_for_longest(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate(f"flows 8 idle 86400s {of(kind).text(of(kind).records)}")

    def evictions(*numbers: int) -> int:
        for number in numbers:
            d0.send(tcp_flow(number).frame(100, number))
            d0.release()
            time.sleep(0.03)
        return int(d0.show()["evictions"])

    assert evictions(*range(8), 0) == 0
    assert evictions(8) == 1  # that of flow 1
    assert evictions(0, *range(2, 8)) == 1
    assert evictions(1) == 2
