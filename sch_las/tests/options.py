# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    BYTES,
    I32_MAX,
    MILLI,
    PERCENT,
    QUEUE_STATISTICS,
    RATE,
    Option,
    Table,
    buffer,
    flows,
    idle,
    limit,
    memory_limit,
    split_gso,
)

PLAIN = {"fair": 0, "forgive": 0, "forgive_share": 0, "buffer": 0}

TABLE = Table(
    __name__,
    (
        limit(1),
        memory_limit(2),
        flows(3),
        idle(4),
        Option(5, "fair", BYTES, 256 << 10, 16384, I32_MAX, (64 << 10, 20000), zero=True),
        Option(6, "forgive", RATE, 32000, 0, I32_MAX, (8000, 1, 125000)),
        Option(10, "forgive_share", PERCENT, 25, 0, 100, (50, 7)),
        buffer(9, 500),
        Option(7, "log", MILLI, 500, 250, 4000, (1000, 3999)),
        split_gso(8),
    ),
    statistics=(*QUEUE_STATISTICS, "drop_buffer", "flows_seen", "room"),
    flow_statistics=("attained",),
    words={"plain": PLAIN},
    published=PLAIN,
    room=65536,
)
