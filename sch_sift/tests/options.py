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
    limit,
    linger,
    memory_limit,
    numbers,
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
        Option(4, "probability", NANO, 3 * ONE // 10, 0, ONE, (ONE // 50, 1), resets=("every",)),
        Option(5, "every", PACKETS, 0, 0, 1000000, (10,)),
        Option(6, "samples", NUMBER, 1, 1, 65535, (2, 3)),
        switch(7, "bytes", 1, "packets"),
        Option(8, "slow", RATE, 18000, 1000, 10**9, (2000, 125000), zero=True),
        guarantee(9, 10),
        limit(1),
        Option(10, "high", PACKETS, 0, 0, 1000000, (5, 100)),
        Option(11, "low", PACKETS, 0, 0, 1000000, (6, 50)),
        buffer(21, 30),
        queues(22, 256),
        quantum(23),
        linger(24),
        memory_limit(2),
        flows(3),
        choice(12, "red", ("none", *BANDS, "both"), "red must be 0, 1 (high), 2 (low) or 3 (both)"),
        Option(13, "red_min", PACKETS, 5, 1, 16384, (7,)),
        Option(14, "red_max", PACKETS, 15, 1, 16384, (8, 900)),
        Option(15, "red_probability", NANO, ONE // 10, 1, ONE, (10000, ONE // 50)),
        Option(16, "red_weight", NUMBER, 9, 1, 16, (3,)),
        Option(17, "red_bandwidth", RATE, 1250000, 1000, U32_MAX, (5000, 125000000)),
        switch(18, "ecn", 0),
        split_gso(19),
        Option(20, "seed", NUMBER, 0, 0, U32_MAX, (9,)),
        *shaper(26),
    ),
    statistics=(
        *QUEUE_STATISTICS,
        *("drop_band", "drop_buffer", "samples", "flows_sampled", "records_peak", "room"),
        *(f"{band}_{what}" for band in BANDS for what in (*BAND, "queues")),
    ),
    numbers=numbers(30, groups=False),
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
        {"limit": 1, "memory_limit": 4096, "flows": 8, "probability": ONE, "high": 1}
        | {"low": 1, "red": 3, "red_min": 1, "red_max": 2, "red_weight": 1, "red_bandwidth": 1000}
        | {"slow": 1000, "guarantee": 99, "buffer": 10},
        {"limit": 1000000, "memory_limit": (1 << 31) - 1, "every": 1000000}
        | {"high": 1000000, "low": 1000000, "red": 3, "red_min": 16383, "red_max": 16384}
        | {"red_weight": 16, "red_bandwidth": U32_MAX, "slow": ONE, "bytes": 1, "buffer": 60000},
        {"probability": 1, "bytes": 1, "samples": 65535, "guarantee": 99, "slow": 0},
    ),
)
