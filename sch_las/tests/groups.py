# SPDX-License-Identifier: GPL-2.0
"""The reference model of las with what it adds to the paper"""

from dataclasses import dataclass

from selftests.lib.groups import Groups as BaseGroups
from selftests.lib.groups import Options as BaseOptions
from selftests.lib.groups import Queue

from .model import log_rank

PATIENCE = 256  # bytes that the link sends for each by which a short flow grows shorter


@dataclass
class Options(BaseOptions):
    log: int = 500
    visible: bool = True


class Groups(BaseGroups):
    options = Options
    opt: Options

    def _rank(self, queue: Queue) -> int:
        waits = queue.backlog
        rank = queue.attained - min(queue.attained, waits)
        if self.opt.visible:
            rank = waits + queue.attained // 4
        if queue.priority:
            rank = log_rank(rank, self.opt.log)
        return self._sent_before(queue) + PATIENCE * rank if self.opt.visible else rank

    def _tail_rank(self, queue: Queue) -> int:
        rank = max(0, queue.attained - queue.packets[-1][1].length)
        return log_rank(rank, self.opt.log) if queue.priority else rank

    def _loss(self, queue: Queue) -> tuple[int, int]:
        rank = queue.backlog if self.opt.visible else self._tail_rank(queue)
        return -rank, -queue.packets[-1][0]

    def _last(self, found: list[Queue]) -> Queue | None:
        if self.opt.visible:
            return None
        return max(found, key=lambda q: (self._tail_rank(q), q.packets[-1][0]))
