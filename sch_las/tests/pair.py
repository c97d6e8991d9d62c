# SPDX-License-Identifier: GPL-2.0
"""The gate above las, and a model beside it."""

import time
from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.groups import Packet, typed
from selftests.lib.options import of
from selftests.lib.pair import BasePair, Sent

from .groups import Groups
from .model import Model


def words(**options: int | None) -> str:
    return typed(of("las"), options)


class Pair(BasePair):
    """As published, or with what las adds if there are options of that."""

    def __init__(
        self, gate: Gate, limit: int, memory_limit: int = 32 << 20, **options: int
    ) -> None:
        added = set(options) - {"records", "log"}
        model = Groups if added else Model
        super().__init__(gate, model(limit, memory_limit, **options))
        self.pause = 0.0  # after packets have left, so that the kernel's clock tells flows apart

    def ambiguous(self, flow: Flow) -> bool:
        self.model.now = time.monotonic()
        return self.model.ambiguous(flow.name, flow.begins)

    def release(self, count: int | None = None) -> None:
        self.model.now = time.monotonic()
        super().release(count)
        time.sleep(self.pause)

    def park(self, count: int) -> None:
        self.model.now = time.monotonic()
        super().park(count)

    def expected(self, flow: Flow, packets: list[Sent], priority: bool = False) -> bool:
        self.model.now = time.monotonic()
        return self.model.enqueue(
            *(
                Packet(i, flow.name, n, size, flow.begins, priority, flow.tcp, flow.addresses)
                for i, n, size in packets
            )
        )

    def send(self, flow: Flow, length: int, priority: bool = False) -> bool:
        return super().send(flow, length, 0x100002 if priority else 0, priority=priority)

    def change(self, **options: int | None) -> None:
        self.model.now = time.monotonic()
        self.gate.change(words(**options))
        self.model.change(**{name: value for name, value in options.items() if value is not None})

    def statistics(self) -> dict[str, Any]:
        told = {"overflow": self.model.overflow}
        if isinstance(self.model, Groups):
            told["drop_new"] = self.model.drop_new
            told |= self.model.hosts_told
            told["gso_split"] = self.bundles - self.model.not_split
        return told


CommonPair = Pair  # for the tests of all kinds
