# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    BYTES,
    QUEUE_STATISTICS,
    Option,
    Table,
    choice,
    flows,
    idle,
    limit,
    memory_limit,
    split_gso,
)

TABLE = Table(
    __name__,
    (
        choice(5, "policy", ("sqf", "lqf", "fq")),
        limit(1, 1000),
        memory_limit(2),
        flows(3),
        idle(4),
        Option(6, "quantum", BYTES, 1514, 256, 1 << 20, (3000, 300)),
        choice(7, "drop", ("tail", "head"), "drop_head must be 0 or 1"),
        split_gso(8),
    ),
    statistics=(*QUEUE_STATISTICS, "flows_seen", "longest"),
    classes=False,
    more_extremes=(
        {"limit": 1000000, "memory_limit": (1 << 31) - 1, "idle": 86400000, "policy": 1},
    ),
)
