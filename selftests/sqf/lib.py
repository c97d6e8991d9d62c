# SPDX-License-Identifier: GPL-2.0
"""The gate above sqf, and the model beside it."""

from typing import Any

from lib.gate import Flow, Gate
from lib.pair import BasePair, Sent
from sqf.model import Model


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

    def compare(self) -> None:
        """What the gate knows, cheap enough for every step."""
        state = self.gate.state()
        found = {key: state[key] for key in ("qlen", "backlog", "parked")}
        model = self.model
        expected = {"qlen": model.qlen, "backlog": model.backlog, "parked": len(model.parked)}
        found["cn"] = state["cn"] - self.before["cn"]
        expected["cn"] = model.told
        assert found == expected

    def compare_statistics(self) -> None:
        """What only tc can tell."""
        model = self.model
        expected = {
            "qlen": model.qlen,
            "backlog": model.backlog,
            "drops": model.drops,
            "drop_limit": model.drop_limit,
            "drop_memory": model.drop_memory,
            "flows_queued": len(model.busy),
            "longest": model.longest,
            "gso_split": self.bundles,
        }
        if not self.bundles:
            expected["memory"] = model.memory
        shown = self.gate.show()
        assert {key: shown[key] for key in expected} == expected
