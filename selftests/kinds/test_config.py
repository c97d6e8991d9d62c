# SPDX-License-Identifier: GPL-2.0
"""Options, and what is shown of them."""

from collections.abc import Callable

import pytest

from selftests.lib.command import refused, run
from selftests.lib.gate import Gate, flow

pytestmark = pytest.mark.each_kernel

DEFAULTS = {
    "las": {
        "limit": 10000,
        "memory_limit": 32 << 20,
        "flows": 4096,
        "idle_ms": 60000,
        "fair": 256 << 10,
        "forgive": 32000,
        "forgive_share_percent": 25,
        "log": 0.5,
        "split_gso": True,
        "buffer_ms": 500,
    },
    "run2c": {
        "threshold": 32768,
        "span": 4 << 20,
        "learn": True,
        "order": False,
        "other": "high",
        "guarantee_percent": 0,
        "limit": 10000,
        "buffer_ms": 30,
        "memory_limit": 32 << 20,
        "flows": 4096,
        "idle_ms": 60000,
        "split_gso": True,
    },
    "sift": {
        "probability": 0.3,
        "every": 0,
        "samples": 1,
        "bytes": True,
        "slow": 18000,
        "guarantee_percent": 0,
        "limit": 10000,
        "high": 0,
        "low": 0,
        "buffer_ms": 30,
        "memory_limit": 32 << 20,
        "flows": 4096,
        "idle_ms": 60000,
        "red": "none",
        "red_min": 5,
        "red_max": 15,
        "red_probability": 0.1,
        "red_weight": 9,
        "red_bandwidth": 1250000,
        "ecn": False,
        "split_gso": True,
        "seed": 0,
    },
    "sqf": {
        "policy": "sqf",
        "limit": 1000,
        "memory_limit": 32 << 20,
        "flows": 4096,
        "idle_ms": 60000,
        "quantum": 1514,
        "drop": "tail",
        "split_gso": True,
    },
}
# What the gate's qdisc has else, see BASES
PLAIN = {
    "las": {"fair": 0, "forgive": 0, "forgive_share_percent": 0, "buffer_ms": 0},
    "run2c": {"learn": False, "buffer_ms": 0},
    "sift": {"probability": 0.01, "bytes": False, "slow": 0, "seed": 1, "buffer_ms": 0},
    "sqf": {},
}

PRINTED = {
    "limit 1 memory_limit 4096b flows 8 idle 1ms no_split_gso": {
        "limit": 1,
        "memory_limit": 4096,
        "flows": 8,
        "idle_ms": 1,
        "split_gso": False,
    },
    "limit 1000000 memory_limit 2147483647b flows 1024 idle 86400s split_gso": {
        "limit": 1000000,
        "memory_limit": 2147483647,
        "flows": 1024,
        "idle_ms": 86400000,
    },
    "memory_limit 4097b idle 1001ms": {"memory_limit": 4097, "idle_ms": 1001},
    "memory_limit 5Mb": {"memory_limit": 5 << 20},
    "memory_limit 64kb": {"memory_limit": 65536},
}
PRINTED_TOO = {
    "las": {
        "fair 16384b forgive 1bps forgive_share 100% buffer 10ms log 0.25": {
            "fair": 16384,
            "forgive": 1,
            "forgive_share_percent": 100,
            "buffer_ms": 10,
            "log": 0.25,
        },
        "fair 2147483647b forgive 2147483647bps forgive_share 7 buffer 60s log 4": {
            "fair": 2147483647,
            "forgive": 2147483647,
            "forgive_share_percent": 7,
            "buffer_ms": 60000,
            "log": 4,
        },
        "forgive 1mbit log 3.999": {"forgive": 125000, "log": 3.999},
    },
    "run2c": {
        "threshold 1kb span 4kb learn guarantee 99% buffer 10ms": {
            "threshold": 1024,
            "span": 4096,
            "learn": True,
            "guarantee_percent": 99,
            "buffer_ms": 10,
        },
        "threshold 1073741824b span 2147483648b order other low buffer 60s": {
            "threshold": 1 << 30,
            "span": 1 << 31,
            "order": True,
            "other": "low",
            "buffer_ms": 60000,
        },
        "threshold 32kb no_learn no_order other high": {"threshold": 32768},
    },
    "sift": {
        "probability 0.000000001 samples 65535 bytes slow 1kbps guarantee 99%": {
            "probability": 1e-9,
            "samples": 65535,
            "bytes": True,
            "slow": 1000,
            "guarantee_percent": 99,
        },
        "probability 1 high 100 low 50 red both ecn": {
            "probability": 1,
            "high": 100,
            "low": 50,
            "red": "both",
            "ecn": True,
        },
        "every 1000000 red high red_min 1 red_max 2 red_probability 1 red_weight 16": {
            "every": 1000000,
            "red": "high",
            "red_min": 1,
            "red_max": 2,
            "red_probability": 1,
            "red_weight": 16,
        },
        "red low red_max 16384 red_weight 1 red_bandwidth 8kbit seed 4294967295": {
            "red": "low",
            "red_max": 16384,
            "red_weight": 1,
            "red_bandwidth": 1000,
            "seed": 4294967295,
        },
    },
    "sqf": {
        "policy lqf drop head": {"policy": "lqf", "drop": "head"},
        "policy fq quantum 256b": {"policy": "fq", "quantum": 256},
        "quantum 1Mb drop tail": {"quantum": 1 << 20},
    },
}

# One after another: what is given, and what it changes
CHANGES = {
    "las": [
        ("fair 2Mb", {"fair": 2 << 20}),
        ("forgive 16bit", {"forgive": 2}),
        ("forgive_share 9%", {"forgive_share_percent": 9}),
        ("buffer 2s", {"buffer_ms": 2000}),
        ("plain", PLAIN["las"]),
        ("log 2", {"log": 2}),
    ],
    "run2c": [
        ("threshold 64kb", {"threshold": 65536}),
        ("span 128kb", {"span": 131072}),
        ("threshold 128kb span 256kb", {"threshold": 131072, "span": 262144}),
        ("learn", {"learn": True}),
        ("guarantee 10", {"guarantee_percent": 10}),
        ("order guarantee 0", {"order": True, "guarantee_percent": 0}),
        ("other low", {"other": "low"}),
        ("buffer 2s", {"buffer_ms": 2000}),
        ("no_learn", {"learn": False}),
        ("no_order other high", {"order": False, "other": "high"}),
    ],
    "sift": [
        ("every 10", {"every": 10}),
        ("bytes", {"bytes": True}),
        ("probability 0.5", {"probability": 0.5, "every": 0}),
        ("packets samples 3", {"bytes": False, "samples": 3}),
        ("slow 16kbit", {"slow": 2000}),
        ("guarantee 10", {"guarantee_percent": 10}),
        ("high 5 low 6", {"high": 5, "low": 6}),
        ("buffer 2s", {"buffer_ms": 2000}),
        ("red low ecn", {"red": "low", "ecn": True}),
        ("red_min 7 red_max 8", {"red_min": 7, "red_max": 8}),
        ("red none no_ecn", {"red": "none", "ecn": False}),
        ("seed 5", {"seed": 5}),
    ],
    "sqf": [
        ("policy fq", {"policy": "fq"}),
        ("quantum 3000b", {"quantum": 3000}),
        ("drop head", {"drop": "head"}),
        ("policy lqf drop tail", {"policy": "lqf", "drop": "tail"}),
        ("policy sqf", {"policy": "sqf"}),
    ],
}


def test_defaults(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate()
    assert d0.show()["options"] == DEFAULTS[kind] | PLAIN[kind]
    run(f"tc qdisc replace dev d0 parent 1:1 handle 20: {kind}")
    assert d0.show()["options"] == DEFAULTS[kind]


def test_print_back(gate: Callable[..., Gate], kind: str) -> None:
    """What is shown can be typed again and gives the same."""
    d0 = gate()
    for options, wanted in (PRINTED | PRINTED_TOO[kind]).items():
        d0.renew(options)
        assert d0.show()["options"] == DEFAULTS[kind] | PLAIN[kind] | wanted
        text = run("tc qdisc show dev d0 parent 1:1").split("parent 1:1", 1)[1]
        d0.renew(text)
        assert d0.show()["options"] == DEFAULTS[kind] | PLAIN[kind] | wanted


def test_change_keeps_what_is_left_out(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate("limit 50 memory_limit 1Mb flows 64 idle 5s")
    expected = DEFAULTS[kind] | PLAIN[kind]
    expected |= {"limit": 50, "memory_limit": 1 << 20, "flows": 64, "idle_ms": 5000}
    for options, new in [
        ("", {}),
        ("limit 60", {"limit": 60}),
        ("idle 6s", {"idle_ms": 6000}),
        ("memory_limit 2Mb", {"memory_limit": 2 << 20}),
        ("flows 64", {}),
        *CHANGES[kind],
        ("no_split_gso", {"split_gso": False}),
        ("split_gso", {"split_gso": True}),
    ]:
        d0.change(options)
        expected |= new
        assert d0.show()["options"] == expected


def test_refused_change_keeps_the_packets(gate: Callable[..., Gate], kind: str) -> None:
    """What is refused, and how: refused.sh."""
    d0 = gate("limit 5 flows 64")
    for ident in range(3):
        d0.send(flow(0).frame(100, ident))
    before = d0.show()
    for how in ("change dev d0 parent 1:1 handle 10:", "replace dev d0 parent 1:1 handle 20:"):
        for words in ("limit 1 idle 0", "idle 0 limit 1", "limit 2 flows 9", "nosuch"):
            refused(f"tc qdisc {how} {kind} {words}")
    assert d0.show() == before
    assert d0.order() == [0, 1, 2]


def test_flows_cannot_change(gate: Callable[..., Gate], kind: str) -> None:
    d0 = gate("limit 5 flows 64")
    before = d0.show()
    assert "flows" in refused(
        f"tc qdisc change dev d0 parent 1:1 handle 10: {kind} limit 2 flows 128"
    )
    assert d0.show() == before
