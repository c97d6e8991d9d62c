# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    BANDS,
    LINKS,
    NANO,
    NUMBER,
    PACKETS,
    QUEUE_STATISTICS,
    RATE,
    U32_MAX,
    WORDS,
    Option,
    Rule,
    Table,
    buffer,
    choice,
    flows,
    guarantee,
    idle,
    limit,
    linger,
    memory_limit,
    quantum,
    queues,
    shaper,
    split_gso,
    switch,
)

BAND = ("bytes", "packets", "backlog", "qlen", "drops", "early", "marked")
ONE = 10**9  # a probability of 1
PLAIN = {"probability": ONE // 100, **dict.fromkeys(("bytes", "slow", "guarantee", "buffer"), 0)}
PLAIN |= {"queues": 1, "linger": 0}

TABLE = Table(
    __name__,
    (
        Option(5, "probability", NANO, 3 * ONE // 10, 0, ONE, (ONE // 50, 1), resets=("every",)),
        Option(6, "every", PACKETS, 0, 0, 1000000, (10,)),
        Option(7, "samples", NUMBER, 1, 1, 65535, (2, 3)),
        switch(8, "bytes", 1, "packets"),
        Option(9, "slow", RATE, 18000, 1000, 10**9, (2000, 125000), zero=True),
        guarantee(10, 10),
        limit(1),
        Option(11, "high", PACKETS, 0, 0, 1000000, (5, 100)),
        Option(12, "low", PACKETS, 0, 0, 1000000, (6, 50)),
        buffer(22, 30),
        queues(23, 256),
        quantum(24),
        linger(25),
        memory_limit(2),
        flows(3),
        idle(4),
        choice(13, "red", ("none", *BANDS, "both"), "red must be 0, 1 (high), 2 (low) or 3 (both)"),
        Option(14, "red_min", PACKETS, 5, 1, 16384, (7,)),
        Option(15, "red_max", PACKETS, 15, 1, 16384, (8, 900)),
        Option(16, "red_probability", NANO, ONE // 10, 1, ONE, (10000, ONE // 50)),
        Option(17, "red_weight", NUMBER, 9, 1, 16, (3,)),
        Option(18, "red_bandwidth", RATE, 1250000, 1000, U32_MAX, (5000, 125000000)),
        switch(19, "ecn", 0),
        split_gso(20),
        Option(21, "seed", NUMBER, 0, 0, U32_MAX, (9,)),
        *shaper(27),
    ),
    statistics=(
        *QUEUE_STATISTICS,
        *("drop_band", "drop_buffer", "samples", "flows_sampled", "records_peak", "room"),
        *(f"{band}_{what}" for band in BANDS for what in (*BAND, "queues")),
    ),
    flow_statistics=("samples",),
    rules=(
        Rule(
            ("red_max", "red_min"),
            "red_min must be less than red_max",
            lambda most, least: least < most,
            ({"red_min": 9, "red_max": 9}, {"red_min": 15}, {"red_max": 5}, {"red_max": 1}),
        ),
    ),
    words={"plain": PLAIN, **LINKS, **WORDS},
    published={"seed": 1, **PLAIN},
    records={"every": 1},
    by_class={"probability": 0},
    room=16384,
    more_extremes=(
        {"limit": 1, "memory_limit": 4096, "flows": 8, "idle": 1, "probability": ONE, "high": 1}
        | {"low": 1, "red": 3, "red_min": 1, "red_max": 2, "red_weight": 1, "red_bandwidth": 1000}
        | {"slow": 1000, "guarantee": 99, "buffer": 10},
        {"limit": 1000000, "memory_limit": (1 << 31) - 1, "idle": 86400000, "every": 1000000}
        | {"high": 1000000, "low": 1000000, "red": 3, "red_min": 16383, "red_max": 16384}
        | {"red_weight": 16, "red_bandwidth": U32_MAX, "slow": ONE, "bytes": 1, "buffer": 60000},
        {"probability": 1, "bytes": 1, "samples": 65535, "guarantee": 99, "slow": 0},
    ),
)
