# SPDX-License-Identifier: GPL-2.0
"""The gate above las, and the model beside it."""

from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.pair import BasePair, Sent

from .model import OVERFLOW, Model, Packet


class Pair(BasePair):
    def __init__(
        self, gate: Gate, limit: int, memory_limit: int = 32 << 20, **options: int
    ) -> None:
        super().__init__(gate, Model(limit, memory_limit, **options))

    def expected(self, flow: Flow, packets: list[Sent], priority: bool = False) -> bool:
        return self.model.enqueue(
            *(Packet(i, flow.name, n, size, flow.begins, priority) for i, n, size in packets)
        )

    def send(self, flow: Flow, length: int, priority: bool = False) -> bool:
        return super().send(flow, length, 0x100002 if priority else 0, priority=priority)

    def change(
        self,
        limit: int | None = None,
        memory_limit: int | None = None,
        fair: int | None = None,
        log: int | None = None,
    ) -> None:
        options = f"limit {limit} " if limit else ""
        options += f"memory_limit {memory_limit}b " if memory_limit else ""
        options += f"fair {0 if fair == OVERFLOW else fair}b " if fair else ""
        options += f"log {log / 1000} " if log else ""
        self.gate.change(options)
        self.model.change(limit, memory_limit, fair, log)

    def statistics(self) -> dict[str, Any]:
        return {"overflow": self.model.overflow}


CommonPair = Pair  # for the tests of all kinds
