# SPDX-License-Identifier: GPL-2.0
"""The gate above sqf, and the model beside it."""

import time
from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.groups import Packet, typed
from selftests.lib.options import of
from selftests.lib.pair import BasePair, Sent

from .model import POLICIES, Model

ENDS = ("tail", "head")


def words(**options: Any) -> str:
    """What is typed for options of the model"""
    named = {"policy": POLICIES, "drop": ENDS}
    numbers = {
        name: named[name].index(value) if name in named else value
        for name, value in options.items()
    }
    return typed(of("sqf"), numbers)


class Pair(BasePair):
    def __init__(self, gate: Gate, limit: int = 10000, **options: Any) -> None:
        super().__init__(gate, Model(limit, **options))

    def expected(self, flow: Flow, packets: list[Sent]) -> bool:
        self.model.now = time.monotonic()
        return self.model.enqueue(
            *(
                Packet(i, flow.name, n, size, tcp=flow.tcp, addresses=flow.addresses)
                for i, n, size in packets
            )
        )

    def change(self, **options: Any) -> None:
        self.gate.change(words(**options))
        self.model.change(**options)

    def statistics(self) -> dict[str, Any]:
        return {
            "longest": self.model.longest,
            "drop_new": self.model.drop_new,
            **self.model.hosts_told,
            "gso_split": self.bundles - self.model.not_split,
        }


CommonPair = Pair  # for the tests of all kinds
