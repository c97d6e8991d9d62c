# SPDX-License-Identifier: GPL-2.0
"""The gate above sqf, and the model beside it."""

import time
from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.groups import Packet, typed
from selftests.lib.options import of
from selftests.lib.pair import BasePair, Sent

from .model import POLICIES, Model

ENDS = ("tail", "head")
TRUESIZE_MOST = 4096  # of a packet


def words(**options: Any) -> str:
    """What is typed for options of the model"""
    named = {"policy": POLICIES, "drop": ENDS}
    numbers = {
        name: named[name].index(value) if name in named else value
        for name, value in options.items()
    }
    return typed(of("sqf"), numbers)


class Pair(BasePair):
    def __init__(self, gate: Gate, limit: int = 10000, **options: Any) -> None:
        super().__init__(gate, Model(limit, **options))

    def expected(self, flow: Flow, packets: list[Sent]) -> bool:
        self.model.now = time.monotonic()
        return self.model.enqueue(
            *(
                Packet(i, flow.name, n, size, tcp=flow.tcp, addresses=flow.addresses)
                for i, n, size in packets
            )
        )

    def is_plain(self, flow: Flow, length: int) -> bool:
        """Is it not up to the kernel which queues lose a packet? There are several that go if all
        of them hold less memory than the new one."""
        if self.model.ties(flow.name, length):
            return False
        size = self.truesize.get(length, TRUESIZE_MOST)
        more = self.model.memory + size - self.model.memory_limit
        if more <= min((packet.truesize for packet in self.model.waiting), default=more):
            return True
        return not self.ties(lambda: self.expected(flow, [(self.sent + 1, length, size)]))

    def change(self, **options: Any) -> None:
        self.gate.change(words(**options))
        self.model.change(**options)

    def statistics(self) -> dict[str, Any]:
        return {
            "longest": self.model.longest,
            "drop_new": self.model.drop_new,
            **self.model.hosts_told,
            "gso_split": self.bundles - self.model.not_split,
        }


CommonPair = Pair  # for the tests of all kinds
