# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    GROUPS_STATISTICS,
    LINKS,
    MILLI,
    QUEUE_STATISTICS,
    WORDS,
    Option,
    Table,
    buffer,
    ecn,
    flows,
    hosts,
    limit,
    memory_limit,
    nat,
    numbers,
    plain,
    shaper,
    split_gso,
    target,
)

TABLE = Table(
    __name__,
    (
        limit(1),
        memory_limit(2),
        flows(3),
        plain(6),
        buffer(5, 500),
        target(8),
        ecn(9),
        hosts(10),
        nat(11),
        Option(7, "log", MILLI, 500, 250, 4000, (1000, 3999)),
        split_gso(4),
        *shaper(13),
    ),
    statistics=(*QUEUE_STATISTICS, *GROUPS_STATISTICS),
    numbers=numbers(17, groups=True),
    flow_statistics=("attained", "host"),
    words={**LINKS, **WORDS},
    published={"plain": 1, "buffer": 0, "target": 0},
    grouped={"rank": 1},
    room=65536,
)
