# SPDX-License-Identifier: GPL-2.0
"""The gate above sqf, and the model beside it."""

from typing import Any

from lib.gate import Flow, Gate
from sqf.model import Model


class Pair:
    """Every step is done by the gate and by the model, and compared."""

    def __init__(self, gate: Gate, limit: int = 1000, **options: Any) -> None:
        self.gate = gate
        self.model = Model(limit, **options)
        self.told = gate.state()["cn"]  # before
        self.truesize: dict[int, int] = {}
        self.sent = 0
        self.bundles = 0

    def send(self, flow: Flow, length: int) -> bool:
        self.sent += 1
        accepted = self.gate.send(flow.frame(length, self.sent))
        if length not in self.truesize:
            self.truesize[length] = self.gate.state()["last_truesize"]
        packet = (self.sent, length, self.truesize[length])
        expected = self.model.enqueue(flow.name, packet)
        assert accepted == expected, f"packet {self.sent}: accepted {accepted}, not {expected}"
        return accepted

    def send_bundle(self, flow: Flow, segments: int, size: int, last: int) -> bool:
        """The memory of segments is not known here."""
        self.bundles += 1
        idents = [self.sent + 1 + i for i in range(segments)]
        self.sent += segments
        accepted = self.gate.send_bundle(flow, idents, size, last)
        lengths = [len(flow.headers) + size] * (segments - 1) + [len(flow.headers) + last]
        packets = [(i, n, 0) for i, n in zip(idents, lengths, strict=True)]
        expected = self.model.enqueue(flow.name, *packets)
        assert accepted == expected, f"bundle {idents}: accepted {accepted}, not {expected}"
        return accepted

    def release(self, count: int | None = None) -> None:
        assert self.gate.order(count) == self.model.release(count)

    def park(self, count: int) -> None:
        self.gate.command(f"park {count}")
        self.model.park(count)

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
        found["cn"] = state["cn"] - self.told
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
