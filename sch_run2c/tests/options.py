# SPDX-License-Identifier: GPL-2.0
"""The options of this kind: selftests/lib/options.py"""

from selftests.lib.options import (
    BANDS,
    BYTES,
    LINKS,
    PERCENT,
    QUEUE_STATISTICS,
    RATE,
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

BAND = ("bytes", "packets", "backlog", "qlen", "drops")
PLAIN = dict.fromkeys(("learn", "other", "resent", "guarantee", "buffer", "linger"), 0)
PLAIN |= {"queues": 1}

TABLE = Table(
    __name__,
    (
        Option(4, "threshold", BYTES, 32 << 10, 1 << 10, 1 << 30, (8 << 10, 64 << 10), power=True),
        Option(5, "span", BYTES, 4 << 20, 4 << 10, 1 << 31, (128 << 10, 16 << 20), power=True),
        switch(7, "learn", 1),
        switch(6, "order", 0),
        choice(8, "other", (*BANDS, "count"), default=2),
        Option(16, "slow", RATE, 32000, 1000, 10**9, (18000, 125000), zero=True),
        Option(15, "resent", PERCENT, 50, 0, 100, (10, 0)),
        guarantee(9, 10),
        limit(1),
        buffer(11, 30),
        queues(12, 256),
        quantum(13),
        linger(14),
        memory_limit(2),
        flows(3),
        split_gso(10),
        *shaper(18),
    ),
    statistics=(
        *QUEUE_STATISTICS,
        *("drop_buffer", "tcp", "other", "flows_learned", "records_peak", "room"),
        *(f"{band}_{what}" for band in BANDS for what in (*BAND, "queues")),
    ),
    numbers=numbers(22, groups=False),
    flow_statistics=("rank",),
    rules=(
        Rule(
            ("threshold", "span"),
            "threshold must be less than span",
            lambda threshold, span: threshold < span,
            (
                {"threshold": 64 << 10, "span": 64 << 10},
                {"threshold": 4 << 20},
                {"threshold": 1 << 30},
                {"span": 16 << 10},
                {"span": 4 << 10},
            ),
        ),
    ),
    words={"plain": PLAIN, **LINKS, **WORDS},
    published=PLAIN,
    records={"learn": 1, "order": 1},
    room=16384,
    more_extremes=(
        {"learn": 0, "threshold": 1 << 10, "span": 1 << 31, "order": 1, "other": 1, "buffer": 0},
    ),
)
