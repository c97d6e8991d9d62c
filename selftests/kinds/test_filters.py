# SPDX-License-Identifier: GPL-2.0
"""What tc filters do to packets, whatever their classids are to a kind."""

from collections.abc import Callable

from selftests.lib.command import run
from selftests.lib.gate import Gate, flow

A, B = flow(4), flow(9)  # UDP, from port 1028 over IPv4 and from 1033 over IPv6
HUGE_IDLE = "idle 86400s"
ON_IT = "dev d0 parent 10:"
OF_A = "protocol ip u32 match ip sport 1028 0xffff"


def test_filter_that_drops(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"limit 3 {HUGE_IDLE}")
    run(f"tc filter add {ON_IT} {OF_A} action drop")
    for ident in range(4):
        assert d0.send(A.frame(100, ident))  # who sends it is not told
        d0.send(B.frame(100, 10 + ident))
        d0.state()
    assert d0.show()["drops"] == 4 + 1
    assert d0.order() == [10, 11, 12]


def test_filter_that_takes_the_packet(gate: Callable[..., Gate]) -> None:
    """It comes out elsewhere, and is no drop."""
    run("ip link add d9 index 909 type dummy")  # tc goes on to know it by that
    run("ip link set d9 up")
    try:
        d0 = gate(HUGE_IDLE)
        run(f"tc filter add {ON_IT} {OF_A} action mirred egress redirect dev d9")
        for ident in range(4):
            assert d0.send(A.frame(100, ident))
            assert d0.send(B.frame(100, 10 + ident))
            d0.state()
        with open("/sys/class/net/d9/statistics/tx_packets") as file:
            assert int(file.read()) >= 4
        assert (d0.show()["drops"], d0.show()["qlen"]) == (0, 4)
        assert d0.order() == [10, 11, 12, 13]
    finally:
        run("ip link del d9")


def test_filters_go_with_the_qdisc(gate: Callable[..., Gate]) -> None:
    d0 = gate(HUGE_IDLE)
    run(f"tc filter add {ON_IT} {OF_A} action drop")
    run(f"tc filter add {ON_IT} protocol ipv6 matchall classid 10:2")
    d0.send(A.frame(100, 1))
    d0.renew(HUGE_IDLE)
    assert "10:" not in run(f"tc filter show {ON_IT}")
    d0.send(A.frame(100, 1))
    d0.send(B.frame(100, 2))
    assert d0.order() == [1, 2]
