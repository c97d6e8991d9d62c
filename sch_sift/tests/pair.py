# SPDX-License-Identifier: GPL-2.0
"""The gate above sift, and the model beside it."""

from typing import Any

from selftests.lib.gate import Flow, Gate, flow
from selftests.lib.pair import CLASSES, BandsPair, Sent

from .model import HIGH, LOW, ONE, Model, Packet


class Pair(BandsPair):
    """Let the gate's sift have seed 1."""

    def __init__(self, gate: Gate, limit: int = 1000, flows: int = 0, **options: Any) -> None:
        super().__init__(gate, Model(limit, **options))
        self.find_queues([flow(number) for number in range(flows)])

    def expected(
        self, flow: Flow, packets: list[Sent], flags: str = "", band: int | None = None
    ) -> bool:
        """`flags` are those of TCP in the flow's headers that mean something."""
        flags = flags or ("S" if flow.begins else "")
        queue = self.queue_of(flow)
        sent = [
            Packet(ident, flow.name, length, size, queue=queue) for ident, length, size in packets
        ]
        return self.model.enqueue(*sent, flags=flags, band=band)

    def send(self, flow: Flow, length: int, flags: str = "", band: int | None = None) -> bool:
        return super().send(flow, length, CLASSES.get(band, 0), flags=flags, band=band)

    def change(self, **options: Any) -> None:
        if self.model.queues > 1 and self.ties(lambda: self.model.change(**options)):
            return
        words = []
        for name, value in options.items():
            if name == "bytes":
                words.append("bytes" if value else "packets")
            elif name == "probability":
                words.append(f"probability {value / ONE:.9f}")
            else:
                unit = {"memory_limit": "b", "quantum": "b", "linger": "s"}.get(name, "")
                words.append(f"{name} {value}{unit}")
        self.gate.change(" ".join(words))
        self.model.change(**options)

    def statistics(self) -> dict[str, Any]:
        model = self.model
        return {
            "drop_band": model.drop_band,
            "samples": model.sampled,
            "flows_sampled": model.began,
            "records": len(model.flows),
            "high_qlen": len(model.bands[HIGH]),
            "low_qlen": len(model.bands[LOW]),
            "high_backlog": sum(packet.length for packet in model.bands[HIGH]),
            "low_backlog": sum(packet.length for packet in model.bands[LOW]),
            "high_queues": len(model.bands[HIGH].ring),
            "low_queues": len(model.bands[LOW].ring),
        }


class CommonPair(Pair):
    """Flow 0 is in the low band, so that newcomers of others push it out, as in other kinds."""

    def send(self, flow: Flow, length: int, flags: str = "", band: int | None = None) -> bool:
        if flow.name == "flow 0":
            band = LOW
        return super().send(flow, length, flags, band)
