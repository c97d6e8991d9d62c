# SPDX-License-Identifier: GPL-2.0
"""Order of service and push-out, cases after las-rai2004 section 2.2 and 7."""

from collections.abc import Callable

from selftests.lib.gate import Gate, flow

A, B, C = flow(0), flow(1), flow(2)


def test_one_flow_is_fifo(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    for ident, length in enumerate([1514, 60, 700, 60, 1514]):
        assert d0.send(A.frame(length, ident))
    assert d0.order() == [0, 1, 2, 3, 4]


def test_equal_flows_take_turns(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    for ident in range(4):
        d0.send(A.frame(1000, ident))
    for ident in range(10, 14):
        d0.send(B.frame(1000, ident))
    assert d0.order() == [0, 10, 1, 11, 2, 12, 3, 13]


def test_bytes_count_not_packets(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    d0.send(B.frame(1500, 10))
    d0.send(B.frame(66, 11))  # rank 1500
    for ident in range(4):
        d0.send(A.frame(600, ident))  # ranks 0, 600, 1200, 1800
    assert d0.order() == [10, 0, 1, 2, 11, 3]


def test_newcomer_preempts_until_it_has_caught_up(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    for ident in range(3):
        d0.send(A.frame(1000, ident))
    assert d0.order() == [0, 1, 2]
    d0.send(A.frame(1000, 3))  # rank 3000
    d0.send(A.frame(1000, 4))
    for ident in range(10, 16):
        d0.send(B.frame(1000, ident))  # ranks 0 to 5000
    assert d0.order(1) == [10]
    assert d0.order() == [11, 12, 3, 13, 4, 14, 15]


def test_service_counts_across_an_empty_queue(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    d0.send(A.frame(1514, 0))
    d0.send(B.frame(1513, 1))
    assert d0.order() == [0, 1]
    d0.send(A.frame(60, 2))
    d0.send(B.frame(66, 3))
    assert d0.order() == [3, 2]


def test_full_queue_drops_the_end_not_the_newcomer(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 3")
    d0.send(A.frame(1000, 0))
    d0.send(A.frame(1000, 1))
    d0.send(B.frame(1000, 2))
    assert d0.send(C.frame(1000, 3))
    assert d0.order() == [0, 2, 3]
    assert d0.show()["drop_limit"] == 1


def test_newcomer_at_the_end_is_dropped(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 2")
    d0.send(A.frame(1000, 0))
    d0.send(A.frame(1000, 1))
    assert not d0.send(A.frame(1000, 2))
    assert d0.state()["drop"] == 1
    assert d0.order() == [0, 1]


def test_of_equal_ranks_the_later_is_dropped(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 2")
    d0.send(A.frame(1000, 0))
    d0.send(B.frame(1000, 1))
    assert not d0.send(C.frame(60, 2))
    assert d0.order() == [0, 1]


def test_drop_gives_bytes_back(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 2")
    d0.send(A.frame(1000, 0))
    d0.send(A.frame(1000, 1))
    assert not d0.send(A.frame(1000, 2))  # the newcomer itself
    assert d0.send(B.frame(500, 3))  # pushes out 1
    assert d0.order() == [0, 3]
    d0.send(B.frame(1000, 4))  # rank 500
    assert d0.order() == [4]
    d0.send(B.frame(66, 5))  # rank 1500
    d0.send(A.frame(60, 6))  # rank 1000: what was dropped does not count
    assert d0.order() == [6, 5]


def test_push_out_of_several_flows_from_the_end(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 4")
    for ident in range(4):
        d0.send(A.frame(1000, ident))
    pushed = [d0.send(B.frame(1000, 10 + ident)) for ident in range(3)]
    assert pushed == [True, True, False]  # A1000 was there before B1000, so B2000 is the end
    assert d0.order() == [0, 10, 1, 11]
