# SPDX-License-Identifier: GPL-2.0
"""A gate and a kind's model beside it: every step is done by both and compared."""

import copy
import random
from collections.abc import Callable, Iterable
from typing import Any

from selftests.lib.gate import Flow, Gate
from selftests.lib.model import HIGH, LOW, Tie

FAULT = "the kernel differs from its model"  # selftests/report.py
Sent = tuple[int, int, int]  # identity, length and truesize of a packet
CLASSES = {HIGH: 0x100001, LOW: 0x100002}


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

    def statistics(self) -> dict[str, Any]:
        """What the model has and tc shows of this kind alone."""
        raise NotImplementedError

    def ties(self, step: Callable[[], object]) -> bool:
        """Would it be up to the kernel which queue loses a packet? `step` is the model's."""
        kept = copy.deepcopy(self.model)
        try:
            step()
        except Tie:
            return True
        finally:
            self.model = kept
        return False

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

    def compare(self) -> None:
        """What the gate knows, cheap enough for every step."""
        model, state = self.model, self.gate.state()
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
            "flows_queued": model.flows_queued,
            "gso_split": self.bundles,
            **self.statistics(),
        }
        if not self.bundles:
            expected["memory"] = model.memory
        shown = self.gate.show()
        differ = {key: (shown[key], n) for key, n in expected.items() if shown[key] != n}
        assert not differ, f"shown and expected: {differ}"

    def play(
        self,
        rng: random.Random,
        packets: int,
        full: int,
        burst: Callable[[], None],
        other: Callable[[], None] | None = None,
    ) -> None:
        """Bursts in and bursts out; queue lengths wander about `full`.

        `burst` puts packets in; `other` is what else happens to this kind, now and then.
        """
        steps = 0
        while self.sent < packets:
            filling = self.model.qlen < full
            if rng.random() < (0.7 if filling else 0.5):
                burst()
            elif other and rng.random() < 0.1:
                other()
            elif rng.random() < 0.3:
                self.park(1)
            else:
                self.release(rng.randint(1, 5))
            self.compare()
            steps += 1
            if steps % 100 == 0:
                self.compare_statistics()
        self.compare_statistics()


class BandsPair(BasePair):
    """Of kinds whose bands have queues: which flows share one is the kernel's secret."""

    queues: dict[Any, int]  # of flows, by what queue_name() says

    def queue_name(self, flow: Flow) -> Any:
        return flow.name

    def queue_of(self, flow: Flow) -> int:
        return self.queues[self.queue_name(flow)] if self.model.queues > 1 else 0

    def find_queues(self, flows: Iterable[Flow]) -> None:
        """Before anything is sent. A packet of a quantum is a turn, and leaves nothing owed."""
        self.queues = {}
        if self.model.queues == 1:
            return
        self.gate.change("limit 100000")
        named = {self.queue_name(each): each for each in flows}

        def order(names: list[Any]) -> list[int]:
            for ident, name in enumerate(names):
                self.gate.send(named[name].frame(self.model.quantum, ident), CLASSES[HIGH])
            return self.gate.order()

        # The second packet of the first flow ends the first round, of one packet of each queue.
        names = list(named)
        out = order([names[0], *names])
        first = [names[max(ident - 1, 0)] for ident in out[: out.index(1)]]
        # The others stand between the first of all queues and so many that every round is whole.
        other = [name for name in names if name not in first]
        rounds = 16 + 4 * len(other) // len(first)
        out = order([*first, *other, *first * rounds])[: len(first) * rounds]
        self.queues = {name: i for i, name in enumerate(first)}
        for i, name in enumerate(other, len(first)):
            self.queues[name] = out.index(i) % len(first)
        self.gate.change(f"limit {self.model.limit}")

    def send(self, flow: Flow, length: int, skb_priority: int = 0, **more: Any) -> bool:
        """Nothing is sent if it would be up to the kernel what is dropped for it."""
        packets = [(self.sent + 1, length, self.truesize.get(length, 0))]
        if self.model.queues > 1 and self.ties(lambda: self.expected(flow, packets, **more)):
            return True
        return super().send(flow, length, skb_priority, **more)

    def send_bundle(self, flow: Flow, segments: int, size: int, last: int) -> bool:
        lengths = [len(flow.headers) + size] * (segments - 1) + [len(flow.headers) + last]
        packets = [(self.sent + 1 + i, length, 0) for i, length in enumerate(lengths)]
        if self.model.queues > 1 and self.ties(lambda: self.expected(flow, packets)):
            return True
        return super().send_bundle(flow, segments, size, last)
