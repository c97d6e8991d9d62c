# SPDX-License-Identifier: GPL-2.0
"""What tc -s shows of las."""

from collections.abc import Callable

from selftests.lib.command import run
from selftests.lib.gate import Gate, flow


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
