# SPDX-License-Identifier: GPL-2.0
"""The gate above las, and the model beside it."""

from las.model import OVERFLOW, Model, Packet
from lib.gate import Flow, Gate
from lib.pair import BasePair, Sent


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

    def compare(self) -> None:
        """What the gate knows, cheap enough for every step."""
        state = self.gate.state()
        found = {key: state[key] for key in ("qlen", "backlog", "parked")}
        found["cn"] = state["cn"] - self.before["cn"]
        expected = {
            "qlen": self.model.qlen,
            "backlog": self.model.backlog,
            "parked": len(self.model.parked),
            "cn": self.model.replaced,
        }
        if not self.bundles:  # which are one packet for the parent, and then become many
            found["drops"] = state["drops"] - self.before["drops"]
            expected["drops"] = self.model.drops
        assert found == expected

    def compare_statistics(self) -> None:
        """What only tc can tell."""
        model = self.model
        ranks = {packet.flow if rank < OVERFLOW else None for rank, _, packet in model.order}
        expected = {
            "qlen": model.qlen,
            "backlog": model.backlog,
            "drops": model.drops,
            "drop_limit": model.drop_limit,
            "drop_memory": model.drop_memory,
            "overflow": model.overflow,
            "flows_queued": len(ranks),
            "gso_split": self.bundles,
        }
        if not self.bundles:
            expected["memory"] = model.memory
        shown = self.gate.show()
        assert {key: shown[key] for key in expected} == expected
