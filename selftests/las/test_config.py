# SPDX-License-Identifier: GPL-2.0
"""Options, what is shown of them, and the statistics."""

from collections.abc import Callable

from las.lib import Gate, flow, refused, run

DEFAULTS = {
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
}
PLAIN = {"fair": 0, "forgive": 0, "forgive_share_percent": 0, "buffer_ms": 0}


def test_defaults(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    assert d0.show()["options"] == DEFAULTS | PLAIN
    run("tc qdisc replace dev d0 parent 1:1 handle 20: las")
    assert d0.show()["options"] == DEFAULTS


PRINTED = {
    "limit 1 memory_limit 4096b flows 8 idle 1ms": {
        "limit": 1,
        "memory_limit": 4096,
        "flows": 8,
        "idle_ms": 1,
    },
    "limit 1000000": {"limit": 1000000},
    "memory_limit 4097b": {"memory_limit": 4097},
    "memory_limit 5Mb": {"memory_limit": 5 << 20},
    "memory_limit 64kb": {"memory_limit": 65536},
    "memory_limit 2147483647b": {"memory_limit": 2147483647},
    "flows 1024": {"flows": 1024},
    "idle 1001ms": {"idle_ms": 1001},
    "idle 86400s": {"idle_ms": 86400000},
    "fair 16384b": {"fair": 16384},
    "fair 2147483647b forgive 1mbit": {"fair": 2147483647, "forgive": 125000},
    "forgive 1bps": {"forgive": 1},
    "forgive 2147483647bps": {"forgive": 2147483647},
    "log 0.25 no_split_gso": {"log": 0.25, "split_gso": False},
    "log 3.999": {"log": 3.999},
    "log 4 split_gso": {"log": 4},
    "forgive_share 100%": {"forgive_share_percent": 100},
    "forgive_share 7": {"forgive_share_percent": 7},
    "buffer 10ms": {"buffer_ms": 10},
    "buffer 60s": {"buffer_ms": 60000},
}


def test_print_back(gate: Callable[..., Gate]) -> None:
    """What is shown can be typed again and gives the same."""
    d0 = gate()
    for options, wanted in PRINTED.items():
        d0.renew(options)
        assert d0.show()["options"] == DEFAULTS | PLAIN | wanted
        text = run("tc qdisc show dev d0 parent 1:1").split("parent 1:1", 1)[1]
        d0.renew(text)
        assert d0.show()["options"] == DEFAULTS | PLAIN | wanted


def test_change_keeps_what_is_left_out(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 50 memory_limit 1Mb flows 64 idle 5s fair 1Mb forgive 8bit")
    expected = {"limit": 50, "memory_limit": 1 << 20, "flows": 64, "idle_ms": 5000}
    expected |= {"fair": 1 << 20, "forgive": 1, "log": 0.5, "split_gso": True, "buffer_ms": 0}
    expected |= {"forgive_share_percent": 0}
    for options, new in [
        ("", {}),
        ("limit 60", {"limit": 60}),
        ("idle 6s", {"idle_ms": 6000}),
        ("memory_limit 2Mb", {"memory_limit": 2 << 20}),
        ("flows 64", {}),
        ("fair 2Mb", {"fair": 2 << 20}),
        ("forgive 16bit", {"forgive": 2}),
        ("forgive_share 9%", {"forgive_share_percent": 9}),
        ("buffer 2s", {"buffer_ms": 2000}),
        ("plain", PLAIN),
        ("log 2", {"log": 2}),
        ("no_split_gso", {"split_gso": False}),
        ("split_gso", {"split_gso": True}),
    ]:
        d0.change(options)
        expected |= new
        assert d0.show()["options"] == expected


def test_refused_change_keeps_the_packets(gate: Callable[..., Gate]) -> None:
    """What is refused, and how: las_refused.sh."""
    d0 = gate("limit 5 flows 64")
    for ident in range(3):
        d0.send(flow(0).frame(100, ident))
    before = d0.show()
    for how in ("change dev d0 parent 1:1 handle 10:", "replace dev d0 parent 1:1 handle 20:"):
        for words in ("limit 1 idle 0", "idle 0 limit 1", "limit 2 flows 8 log 0", "nosuch"):
            refused(f"tc qdisc {how} las {words}")
    assert d0.show() == before
    assert d0.order() == [0, 1, 2]


def test_flows_cannot_change(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 5 flows 64")
    before = d0.show()
    assert "flows" in refused("tc qdisc change dev d0 parent 1:1 handle 10: las limit 2 flows 128")
    assert d0.show() == before


def test_statistics(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 10 memory_limit 1Mb flows 8 idle 86400s")
    for number in range(8):
        d0.send(flow(number).frame(100 + number, number))
    truesize = d0.state()["last_truesize"]
    d0.send(flow(8).frame(100, 8))  # no record: overflow
    d0.send(flow(0).frame(100, 9))
    d0.send(flow(1).frame(100, 10))  # pushes out the one in overflow
    shown = d0.show()
    bytes_in = sum(range(100, 108)) + 200
    expected = {
        "drop_limit": 1,
        "drop_memory": 0,
        "flows_seen": 8,
        "evictions": 0,
        "overflow": 1,
        "flows_queued": 8,
        "records": 8,
        "memory": 10 * truesize,
        "memory_peak": 10 * truesize,
        "drops": 1,
        "qlen": 10,
        "backlog": bytes_in,
        "packets": 0,
    }
    assert {key: shown[key] for key in expected} == expected
    text = run("tc -s qdisc show dev d0 parent 1:1")
    for key in list(expected)[:7]:
        assert f"{key} {expected[key]}" in text
    d0.release()
    shown = d0.show()
    assert (shown["packets"], shown["bytes"], shown["qlen"]) == (10, bytes_in, 0)
    assert (shown["memory"], shown["memory_peak"]) == (0, 10 * truesize)
    assert (shown["flows_queued"], shown["records"]) == (0, 8)
    d0.send(flow(9).frame(100, 11))
    assert d0.show()["evictions"] == 1
    d0.change("memory_limit 4096b")
    while d0.send(flow(9).frame(100, 12)):
        pass
    assert d0.show()["drop_memory"] == 1
