# SPDX-License-Identifier: GPL-2.0
"""A gate and a kind's model beside it: every step is done by both and compared."""

from typing import Any

from lib.gate import Flow, Gate

Sent = tuple[int, int, int]  # identity, length and truesize of a packet


class BasePair:
    """What a kind adds is how its model is told of packets, and what else is compared."""

    def __init__(self, gate: Gate, model: Any) -> None:
        self.gate = gate
        self.model = model
        self.before = gate.state()  # may have been used already
        self.truesize: dict[int, int] = {}
        self.sent = 0
        self.bundles = 0

    def expected(self, flow: Flow, packets: list[Sent], **more: Any) -> bool:
        """Whether the model accepts a packet, or the segments of one."""
        raise NotImplementedError

    def send(self, flow: Flow, length: int, skb_priority: int = 0, **more: Any) -> bool:
        self.sent += 1
        accepted = self.gate.send(flow.frame(length, self.sent), skb_priority)
        if length not in self.truesize:
            self.truesize[length] = self.gate.state()["last_truesize"]
        expected = self.expected(flow, [(self.sent, length, self.truesize[length])], **more)
        assert accepted == expected, f"packet {self.sent}: accepted {accepted}, not {expected}"
        return accepted

    def send_bundle(self, flow: Flow, segments: int, size: int, last: int) -> bool:
        """For a qdisc that splits. The memory of segments is not known here."""
        self.bundles += 1
        idents = [self.sent + 1 + i for i in range(segments)]
        self.sent += segments
        accepted = self.gate.send_bundle(flow, idents, size, last)
        lengths = [len(flow.headers) + size] * (segments - 1) + [len(flow.headers) + last]
        packets = [(i, n, 0) for i, n in zip(idents, lengths, strict=True)]
        expected = self.expected(flow, packets)
        assert accepted == expected, f"bundle {idents}: accepted {accepted}, not {expected}"
        return accepted

    def release(self, count: int | None = None) -> None:
        assert self.gate.order(count) == self.model.release(count)

    def park(self, count: int) -> None:
        self.gate.command(f"park {count}")
        self.model.park(count)
