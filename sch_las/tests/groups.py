# SPDX-License-Identifier: GPL-2.0
"""The reference model of las with what it adds to the paper"""

from dataclasses import dataclass

from selftests.lib.groups import Groups as BaseGroups
from selftests.lib.groups import Options as BaseOptions
from selftests.lib.groups import Queue

from .model import log_rank


@dataclass
class Options(BaseOptions):
    log: int = 500
    visible: bool = True


class Groups(BaseGroups):
    options = Options
    opt: Options

    def _rank(self, queue: Queue) -> int:
        size = queue.attained - min(queue.attained, queue.backlog)
        if self.opt.visible:
            size = self._visible_size(queue)
        if queue.priority:
            size = log_rank(size, self.opt.log)
        return self._rank_of_size(queue, size) if self.opt.visible else size

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
