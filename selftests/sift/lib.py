# SPDX-License-Identifier: GPL-2.0
"""The gate above sift, and the model beside it."""

from typing import Any

from lib.gate import Flow, Gate
from sift.model import HIGH, LOW, ONE, Model, Packet

CLASSES = {HIGH: 0x100001, LOW: 0x100002}


class Pair:
    """Every step is done by the gate and by the model, and compared. Let it have seed 1."""

    def __init__(self, gate: Gate, limit: int = 1000, **options: Any) -> None:
        self.gate = gate
        self.model = Model(limit, **options)
        self.before = gate.state()  # may have been used already
        self.truesize: dict[int, int] = {}
        self.sent = 0
        self.bundles = 0

    def send(self, flow: Flow, length: int, flags: str = "", band: int | None = None) -> bool:
        """`flags` are those of TCP in the flow's headers that mean something."""
        self.sent += 1
        accepted = self.gate.send(flow.frame(length, self.sent), CLASSES.get(band, 0))
        if length not in self.truesize:
            self.truesize[length] = self.gate.state()["last_truesize"]
        packet = Packet(self.sent, flow.name, length, self.truesize[length])
        flags = flags or ("S" if flow.begins else "")
        expected = self.model.enqueue(packet, flags=flags, band=band)
        assert accepted == expected, f"packet {self.sent}: accepted {accepted}, not {expected}"
        return accepted

    def send_bundle(self, flow: Flow, segments: int, size: int, last: int) -> bool:
        """For a sift that splits. The memory of segments is not known here."""
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

    def change(self, **options: Any) -> None:
        words = []
        for name, value in options.items():
            if name == "bytes":
                words.append("bytes" if value else "packets")
            elif name == "probability":
                words.append(f"probability {value / ONE:.9f}")
            else:
                words.append(f"{name} {value}{'b' if name == 'memory_limit' else ''}")
        self.gate.change(" ".join(words))
        self.model.change(**options)

    def compare(self) -> None:
        """What the gate knows, cheap enough for every step."""
        state = self.gate.state()
        model = self.model
        found = {key: state[key] for key in ("qlen", "backlog", "parked")}
        expected = {"qlen": model.qlen, "backlog": model.backlog, "parked": len(model.parked)}
        found["cn"] = state["cn"] - self.before["cn"]
        expected["cn"] = model.told
        if not self.bundles:  # which are one packet for the parent, and then become many
            found["drops"] = state["drops"] - self.before["drops"]
            expected["drops"] = model.drops
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
            "drop_band": model.drop_band,
            "samples": model.sampled,
            "flows_sampled": model.began,
            "records": len(model.flows),
            "flows_queued": len(model.queued),
            "high_qlen": len(model.bands[HIGH]),
            "low_qlen": len(model.bands[LOW]),
            "high_backlog": sum(packet.length for packet in model.bands[HIGH]),
            "low_backlog": sum(packet.length for packet in model.bands[LOW]),
            "gso_split": self.bundles,
        }
        if not self.bundles:
            expected["memory"] = model.memory
        shown = self.gate.show()
        assert {key: shown[key] for key in expected} == expected


class LongPair(Pair):
    """Flow 0 is in the low band, so that newcomers of others push it out, as in other kinds."""

    def send(self, flow: Flow, length: int, flags: str = "", band: int | None = None) -> bool:
        if flow.name == "flow 0":
            band = LOW
        return super().send(flow, length, flags, band)
