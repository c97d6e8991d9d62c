# SPDX-License-Identifier: GPL-2.0
"""The gate above sqf, and the model beside it."""

from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.pair import BasePair, Sent

from .model import Model


class Pair(BasePair):
    def __init__(self, gate: Gate, limit: int = 1000, **options: Any) -> None:
        super().__init__(gate, Model(limit, **options))

    def expected(self, flow: Flow, packets: list[Sent]) -> bool:
        return self.model.enqueue(flow.name, *packets)

    def change(self, **options: Any) -> None:
        units = {"memory_limit": "b", "quantum": "b"}
        words = [f"{name} {value}{units.get(name, '')}" for name, value in options.items()]
        self.gate.change(" ".join(words))
        self.model.change(**options)

    def statistics(self) -> dict[str, Any]:
        return {"longest": self.model.longest}


CommonPair = Pair  # for the tests of all kinds
