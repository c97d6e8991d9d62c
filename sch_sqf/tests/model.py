# SPDX-License-Identifier: GPL-2.0
"""The reference model of sqf: what it does with the groups of selftests/lib/groups.py.

A short flow's rank is its visible size, or as published, without shares, what it has waiting.
Without shares the longest queue loses a packet; which of several is up to the kernel. There is no
`idle` here, since it depends on the time.
"""

from dataclasses import dataclass
from typing import Any

from selftests.lib.groups import LONG, Groups, Queue
from selftests.lib.groups import Options as BaseOptions
from selftests.lib.model import Tie

POLICIES = ("sqf", "lqf", "fq")


@dataclass
class Options(BaseOptions):
    policy: str = "sqf"
    drop: str = "tail"


class Model(Groups):
    options = Options
    opt: Options

    def _shares(self) -> bool:
        return bool(self.opt.known or self.opt.long)

    def _rank(self, queue: Queue) -> int:
        if self.opt.policy == "lqf":
            return -queue.backlog
        if not self._shares():
            return queue.backlog
        return self._rank_of_size(queue, self._visible_size(queue))

    def _loss(self, queue: Queue) -> tuple[int, int]:
        return -queue.backlog, 0

    def _apart(self) -> bool:
        return self.opt.known > 0

    def _singles(self) -> bool:
        return not self._shares() or self.opt.policy == "lqf"

    def _fair(self) -> int:
        return 0 if self.opt.policy == "fq" else self.opt.fair

    def _victim(self) -> Queue:
        self.drop_head = self.opt.drop == "head"
        losers = self._losers()
        found = super()._victim()
        for other in losers:
            equal = (other.group == LONG) == (found.group == LONG)
            if other is not found and equal and other.backlog == found.backlog:
                raise Tie
        return found

    @property
    def longest(self) -> int:
        """What waits in the queue that is to lose a packet"""
        return super()._victim().backlog if self._busy() else 0

    def ties(self, flow: Any, length: int) -> bool:
        """Might it be up to the kernel which of two queues loses a packet, if one does?"""
        lengths = {name: (q.group == LONG, q.backlog) for name, q in self.queues.items()}
        own = self.queues.get(flow, Queue())
        lengths[flow] = (own.group == LONG, own.backlog + length)
        found = sorted(length for _, length in lengths.values() if length)
        if self._singles():
            return found[-2:-1] == found[-1:]
        return len(set(found)) < len(found)
