# SPDX-License-Identifier: GPL-2.0
"""The gate above las, and the model beside it."""

from las.model import OVERFLOW, Model, Packet
from lib.gate import Flow, Gate


class Pair:
    """A gate and the model beside it: every step is done by both and compared."""

    def __init__(
        self, gate: Gate, limit: int, memory_limit: int = 32 << 20, **options: int
    ) -> None:
        self.gate = gate
        self.model = Model(limit, memory_limit, **options)
        self.before = gate.state()  # may have been used already
        self.truesize: dict[int, int] = {}
        self.sent = 0
        self.bundles = 0

    def send(self, flow: Flow, length: int, priority: bool = False) -> bool:
        self.sent += 1
        accepted = self.gate.send(flow.frame(length, self.sent), 0x100002 if priority else 0)
        if length not in self.truesize:
            self.truesize[length] = self.gate.state()["last_truesize"]
        packet = Packet(self.sent, flow.name, length, self.truesize[length], flow.begins, priority)
        expected = self.model.enqueue(packet)
        assert accepted == expected, f"packet {self.sent}: accepted {accepted}, not {expected}"
        return accepted

    def send_bundle(self, flow: Flow, segments: int, size: int, last: int) -> bool:
        """For a las that splits. The memory of segments is not known here."""
        self.bundles += 1
        idents = [self.sent + 1 + i for i in range(segments)]
        self.sent += segments
        accepted = self.gate.send_bundle(flow, idents, size, last)
        lengths = [len(flow.headers) + size] * (segments - 1) + [len(flow.headers) + last]
        packets = [Packet(i, flow.name, n, 0) for i, n in zip(idents, lengths, strict=True)]
        expected = self.model.enqueue(*packets)
        assert accepted == expected, f"bundle {idents}: accepted {accepted}, not {expected}"
        return accepted

    def release(self, count: int | None = None) -> None:
        assert self.gate.order(count) == self.model.release(count)

    def park(self, count: int) -> None:
        self.gate.command(f"park {count}")
        self.model.park(count)

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
