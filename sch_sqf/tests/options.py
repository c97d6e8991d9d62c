# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    GROUPS_STATISTICS,
    QUEUE_STATISTICS,
    Table,
    buffer,
    ce_threshold,
    choice,
    ecn,
    fair,
    flows,
    forgive,
    forgive_share,
    host_records,
    hosts,
    idle,
    interval,
    known_share,
    limit,
    long_share,
    memory_limit,
    nat,
    newcomers,
    quantum,
    split_gso,
    target,
)

PLAIN = dict.fromkeys(
    (
        *("fair", "forgive", "forgive_share", "buffer", "newcomers"),
        *("known_share", "long_share", "target"),
    ),
    0,
)

TABLE = Table(
    __name__,
    (
        choice(5, "policy", ("sqf", "lqf", "fq")),
        limit(1),
        memory_limit(2),
        flows(3),
        idle(4),
        fair(9, 256 << 10),
        forgive(10),
        forgive_share(11, 25),
        buffer(12, 500),
        newcomers(13, 512),
        known_share(14),
        long_share(15),
        quantum(6),
        target(16),
        interval(17),
        ce_threshold(18),
        ecn(19),
        hosts(20),
        nat(21),
        host_records(22),
        choice(7, "drop", ("tail", "head"), "drop_head must be 0 or 1"),
        split_gso(8),
    ),
    statistics=(*QUEUE_STATISTICS, *GROUPS_STATISTICS, "longest"),
    flow_statistics=("attained", "host"),
    words={"plain": PLAIN},
    published=PLAIN,
    grouped={"known_share": 1},
    room=65536,
    more_extremes=(
        {"limit": 1000000, "memory_limit": (1 << 31) - 1, "idle": 86400000, "policy": 1},
    ),
)
