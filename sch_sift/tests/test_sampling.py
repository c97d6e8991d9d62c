# SPDX-License-Identifier: GPL-2.0
"""Who is sampled, and what becomes of it."""

import time
from collections.abc import Callable

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Gate, flow
from selftests.lib.told import classes

A, B, C = flow(2), flow(6), flow(10)


def bands(d0: Gate) -> tuple[int, int]:
    """Packets in the two"""
    shown = d0.show()
    return shown["high_qlen"], shown["low_qlen"]


def test_never(gate: Callable[..., Gate]) -> None:
    d0 = gate("probability 0")
    for ident in range(500):
        d0.send(flow(ident % 50).frame(100, ident))
    assert bands(d0) == (500, 0)
    shown = d0.show()
    assert (shown["samples"], shown["records"], shown["flows_sampled"]) == (0, 0, 0)


@pytest.mark.parametrize("how", ["probability 1", "every 1"])
def test_always(gate: Callable[..., Gate], how: str) -> None:
    d0 = gate(f"{how} flows 1024")
    for ident in range(100):
        d0.send(flow(ident % 50).frame(100, ident))
    assert bands(d0) == (0, 100)
    assert d0.show()["records"] == 50


def test_every(gate: Callable[..., Gate]) -> None:
    """Each tenth packet, whoever's it is"""
    d0 = gate("every 10")
    for ident in range(9):
        d0.send(flow(ident).frame(100, ident))
    assert bands(d0) == (9, 0)
    d0.send(A.frame(100, 9))
    assert bands(d0) == (9, 1)
    d0.send(A.frame(100, 10))  # from now on
    d0.send(B.frame(100, 11))
    assert bands(d0) == (10, 2)
    assert d0.order() == [*range(9), 11, 9, 10]


def test_samples(gate: Callable[..., Gate]) -> None:
    """The packet that completes the samples goes low; Figure 1 would send the next."""
    d0 = gate("every 1 samples 3")
    for ident in range(5):
        d0.send(A.frame(100, ident))
    assert bands(d0) == (2, 3)
    assert classes().popitem()[1] == {"backlog": 300, "qlen": 3, "samples": 5}


def test_bytes(gate: Callable[..., Gate]) -> None:
    """Small packets count for what they carry."""
    d0 = gate("every 2 bytes")  # 3000 bytes
    for ident in range(29):
        d0.send(A.frame(100, ident))
    assert bands(d0) == (29, 0)
    d0.send(B.frame(1514, 30))
    assert bands(d0) == (29, 1)


def test_whole_bundle_counts_as_its_segments(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 20 no_split_gso")
    d0.send_bundle(A, [1] * 10, 1000, 1000)
    assert bands(d0) == (1, 0)
    d0.send_bundle(A, [2] * 10, 1000, 1000)
    assert bands(d0) == (1, 1)
    assert d0.show()["samples"] == 1


@pytest.mark.parametrize("flags", ["FA", "R"])
def test_end(gate: Callable[..., Gate], flags: str) -> None:
    d0 = gate("every 1")
    d0.send(A.frame(100, 1))
    d0.send(flow(2, flags).frame(100, 2))
    d0.change("probability 0")
    assert d0.show()["records"] == 1  # its packets are here
    d0.send(A.frame(100, 3))
    assert bands(d0) == (0, 3)
    d0.send(B.frame(100, 4))
    assert d0.order() == [4, 1, 2, 3]
    assert d0.show()["records"] == 0
    d0.send(A.frame(100, 5))
    assert bands(d0) == (1, 0)


def test_end_without_packets(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 2 samples 2")
    for ident, each in enumerate([A, A, flow(2, "FA")]):
        d0.send(each.frame(100, ident))
    assert bands(d0) == (3, 0)
    assert d0.show()["records"] == 0


def test_sampled_at_its_end(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1")
    d0.send(flow(2, "FA").frame(100, 1))
    assert d0.show()["records"] == 1
    assert d0.order() == [1]
    assert d0.show()["records"] == 0


def test_port_used_again(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1")
    d0.send(A.frame(100, 1))
    d0.order()
    d0.change("probability 0")
    d0.send(A.frame(100, 2))
    assert bands(d0) == (0, 1)
    d0.order()
    d0.send(flow(2, "S").frame(100, 3))
    assert bands(d0) == (1, 0)
    assert d0.show()["records"] == 0


def test_port_used_again_while_packets_wait(gate: Callable[..., Gate]) -> None:
    """Not even a new connection may pass by what is here of the old one."""
    d0 = gate("every 1")
    d0.send(A.frame(100, 1))
    d0.change("probability 0")
    d0.send(flow(2, "S").frame(100, 2))
    d0.send(A.frame(100, 3))
    assert bands(d0) == (0, 3)
    d0.order()
    d0.send(A.frame(100, 4))
    assert bands(d0) == (1, 0)


def test_begins_with_a_sample(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1")
    d0.send(flow(2, "S").frame(100, 1))
    d0.order()
    d0.change("probability 0")
    d0.send(A.frame(100, 2))
    assert bands(d0) == (0, 1)


def test_idle(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1 idle 200ms")
    d0.send(A.frame(100, 1))
    d0.change("probability 0")
    time.sleep(0.5)
    d0.send(A.frame(100, 2))
    assert bands(d0) == (0, 2)  # not while it has packets
    d0.order()
    time.sleep(0.5)
    d0.send(A.frame(100, 3))
    assert bands(d0) == (1, 0)
    assert d0.show()["records"] == 0


def test_full_table(gate: Callable[..., Gate]) -> None:
    """Of 8 records: those with packets stay, of the others the oldest goes."""
    d0 = gate("every 1 flows 8")
    for number in range(8):
        d0.send(flow(number).frame(100, number))
        if number < 5:
            d0.order()
            time.sleep(0.02)
    assert d0.show()["records"] == 8
    d0.send(flow(20).frame(100, 20))
    shown = d0.show()
    assert (shown["records"], shown["evictions"], shown["overflow"]) == (8, 1, 0)
    d0.change("probability 0")
    d0.send(flow(0).frame(100, 30))
    assert bands(d0)[0] == 1  # it was flow 0
    d0.send(flow(1).frame(100, 31))
    assert bands(d0)[0] == 1


def test_table_full_of_packets(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1 flows 8")
    for number in range(9):
        d0.send(flow(number).frame(100, number))
    assert bands(d0) == (1, 8)
    shown = d0.show()
    assert (shown["records"], shown["evictions"], shown["overflow"]) == (8, 0, 1)
    assert d0.order() == [8, *range(8)]


def test_unsampled_leave_no_trace(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1000 flows 8")
    for ident in range(999):
        d0.send(flow(ident).frame(100, ident))
        d0.order(1)
    shown = d0.show()
    assert (shown["records"], shown["flows_sampled"], shown["memory"]) == (0, 0, 0)


def test_slow(gate: Callable[..., Gate]) -> None:
    """A flow goes low once it has filled its bucket, and high again after four seconds."""
    d0 = gate("every 1 slow 80kbit")
    for ident in range(40):
        d0.send(A.frame(1000, ident))
    high, low = bands(d0)
    assert high >= 9 and low > 0 and high + low == 40
    assert d0.order() == list(range(40))
    d0.send(A.frame(1000, 40))
    assert bands(d0) == (0, 1)
    time.sleep(4.5)
    d0.send(A.frame(1000, 41))
    assert bands(d0) == (0, 2)  # its packets are here
    d0.order()
    d0.send(A.frame(1000, 42))
    assert bands(d0) == (1, 0)


def test_fast_stays_low(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1 slow 8kbit")
    end = time.monotonic() + 3
    ident = 0
    while time.monotonic() < end:  # two buckets, again and again
        for _ in range(2):
            d0.send(A.frame(1000, ident))
            ident += 1
        assert bands(d0) == (0, 2)
        d0.order()
        time.sleep(0.05)


def test_slow_again_takes_four_seconds(gate: Callable[..., Gate]) -> None:
    """A fast flow that is made to wait for two does not become slow by that."""
    d0 = gate("every 1 slow 8kbit")
    for _ in range(10):  # unless the machine does
        began = time.monotonic()
        for ident in range(8):
            d0.send(A.frame(1000, ident))
        d0.order()
        time.sleep(2)
        d0.send(A.frame(100, 9))
        if time.monotonic() - began < 3.5:
            break
    assert bands(d0) == (0, 1)


def test_filter(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1")
    run("tc filter add dev d0 parent 10: protocol ip u32 match ip sport 1026 0xffff classid 10:1")
    run("tc filter add dev d0 parent 10: protocol ip u32 match ip sport 1030 0xffff classid 10:2")
    d0.send(A.frame(100, 1))
    assert bands(d0) == (1, 0)
    d0.change("probability 0")
    d0.send(B.frame(100, 2))
    d0.send(C.frame(100, 3))
    assert bands(d0) == (2, 1)
    shown = d0.show()
    assert (shown["samples"], shown["records"]) == (0, 0)
    assert d0.order() == [1, 3, 2]


@pytest.mark.parametrize(("band", "minor"), [("high", 1), ("low", 2)])
@pytest.mark.parametrize("ecn", [False, True])
def test_red(gate: Callable[..., Gate], band: str, minor: int, ecn: bool) -> None:
    """
    The average follows the queue at once (weight 1): none is dropped up to red_min, all from
    red_max on, marked instead if they can be.
    """
    d0 = gate(
        f"probability 0 red {band} red_min 5 red_max 10 red_weight 1 red_probability 1"
        f" {'ecn' if ecn else 'no_ecn'}"
    )
    frame = bytearray(A.frame(100, 1))
    frame[15] |= 2  # ECT(0)
    for number in range(30):
        accepted = d0.send(bytes(frame), 0x100000 + minor)
        assert accepted or number > 5 and not ecn
        assert d0.send(A.frame(100, 2), 0x100000 + 3 - minor)  # the other band has none
    shown = d0.show()
    assert shown[f"{'low' if band == 'high' else 'high'}_qlen"] == 30
    if ecn:
        assert shown[f"{band}_qlen"] == 30 and shown[f"{band}_early"] == 0
        assert 18 <= shown[f"{band}_marked"] <= 25
        marks = sum(frame[15] & 3 == 3 for frame in d0.release())
        assert marks == shown[f"{band}_marked"]
    else:
        assert 5 <= shown[f"{band}_qlen"] <= 12
        assert shown[f"{band}_early"] == 30 - shown[f"{band}_qlen"]
        assert shown["drops"] == shown[f"{band}_early"]
    d0.release()


def test_red_is_changed(gate: Callable[..., Gate]) -> None:
    d0 = gate("probability 0 red low red_min 500 red_max 1000 red_weight 1 no_ecn")
    for changed in (False, True):
        if changed:
            d0.change("red_min 5 red_max 10")
        for _ in range(30):
            d0.send(A.frame(100, 1), 0x100002)
        shown = d0.show()
        assert (shown["low_early"] > 0) == changed
    d0.release()


def test_red_cannot_mark(gate: Callable[..., Gate]) -> None:
    """What is not capable of ECN is dropped."""
    d0 = gate("probability 0 red low red_min 1 red_max 2 red_weight 1 ecn")
    for ident in range(20):
        d0.send(A.frame(100, ident), 0x100002)
    shown = d0.show()
    assert shown["low_marked"] == 0 and shown["low_early"] > 10


def test_reset_forgets(gate: Callable[..., Gate]) -> None:
    d0 = gate("every 1")
    for number in range(20):
        d0.send(flow(number).frame(100, number))
    d0.bounce()
    shown = d0.show()
    assert (shown["records"], shown["flows_queued"], shown["low_qlen"]) == (0, 0, 0)
    d0.change("probability 0")
    d0.send(flow(3).frame(100, 3))
    assert bands(d0) == (1, 0)
    d0.change("every 1")
    for number in range(20):
        d0.send(flow(number).frame(100, number))
    assert d0.show()["records"] == 20


def test_new_limits_keep_what_they_allow(gate: Callable[..., Gate]) -> None:
    """What is dropped for a band makes room for the other."""
    d0 = gate("probability 0")
    for ident in range(60):
        d0.send(A.frame(100, ident), 0x100001)
    for ident in range(60, 90):
        d0.send(A.frame(100, ident), 0x100002)
    d0.change("limit 50 high 10")
    assert bands(d0) == (10, 30)
    assert d0.order() == [*range(10), *range(60, 90)]


def test_no_drop_for_what_cannot_stay(gate: Callable[..., Gate]) -> None:
    d0 = gate("probability 0 limit 20 high 10 low 10")
    for ident in range(30):
        d0.send(A.frame(100, ident), 0x100001 + ident % 2)
    shown = d0.show()
    assert bands(d0) == (10, 10)
    assert (shown["drop_band"], shown["drop_limit"]) == (10, 0)


def test_sampled_anew_while_packets_wait(gate: Callable[..., Gate]) -> None:
    """The samples of a new connection are its own, and stay."""
    d0 = gate("every 1 samples 2")
    d0.send(A.frame(100, 1))
    d0.send(A.frame(100, 2))  # low
    d0.send(flow(2, "S").frame(100, 3))
    assert bands(d0) == (1, 2)
    assert classes().popitem()[1]["samples"] == 1
    d0.order()
    assert d0.show()["records"] == 1
    d0.send(A.frame(100, 4))
    assert bands(d0) == (0, 1)


def test_end_that_was_dropped(gate: Callable[..., Gate]) -> None:
    """The flow goes on: its sender has to repeat it."""
    d0 = gate("every 1 limit 1")
    d0.send(A.frame(100, 1))
    assert not d0.send(flow(2, "FA").frame(100, 2))
    d0.order()
    assert d0.show()["records"] == 1


def test_forgotten_between_segments(gate: Callable[..., Gate]) -> None:
    """The flow that ends loses its last packet to a segment of its own; the next ones go high."""
    d0 = gate("every 1 buffer 1s split_gso")
    for ident in range(100):
        d0.send(flow(20 + 4 * (ident % 5)).frame(1500, ident))
    d0.send(flow(2, "FA").frame(100, 100))
    d0.change("probability 0")
    time.sleep(0.2)
    assert d0.order(1) == [0]
    assert d0.show()["room"] == 16384 and d0.show()["records"] == 6
    assert d0.send_bundle(A, [200, 201, 202, 203], 1000, 1000)
    shown = d0.show()
    assert (shown["drop_buffer"], shown["records"], shown["records_peak"]) == (8, 5, 6)
    assert d0.order() == [201, 202, 203, *range(1, 94)]
    assert d0.show()["flows_queued"] == 0


def test_lower_rate(gate: Callable[..., Gate]) -> None:
    """What is counted against a flow is no more than four seconds of the new rate, too."""
    d0 = gate("every 1 slow 8gbit")
    for ident in range(10):
        d0.send(A.frame(1000, ident))
    d0.order()
    d0.change("slow 8kbit")
    time.sleep(4.5)
    d0.send(A.frame(100, 11))
    assert bands(d0) == (1, 0)


def test_red_declines_evenly(gate: Callable[..., Gate]) -> None:
    """In a sixth of the time in which half of the average is gone, that is not so yet."""
    d0 = gate(
        "probability 0 red low red_min 5 red_max 6 red_weight 9 red_probability 1"
        " red_bandwidth 1mbit"
    )
    for _ in range(10):  # unless the machine pauses
        for ident in range(400):
            d0.send(A.frame(100, ident), 0x100002)
        d0.release()
        began = time.monotonic()
        accepted = []
        for ident in range(4):  # the average was 40
            time.sleep(0.5)
            accepted.append(d0.send(A.frame(100, ident), 0x100002))
        if time.monotonic() - began < 4:
            break
    assert not any(accepted)


@pytest.mark.parametrize("refused", [False, True])
def test_red_while_idle(gate: Callable[..., Gate], refused: bool) -> None:
    """
    The average declines while the band is empty, by half in 355 packets of 1000 bytes: at
    10 Mbit/s in 0.28 s, and no less so after a packet that was not let in.
    """
    d0 = gate(
        "probability 0 red low red_min 5 red_max 6 red_weight 9 red_probability 1"
        " red_bandwidth 10mbit"
    )
    for _ in range(10):  # unless the machine pauses
        for ident in range(400):
            d0.send(A.frame(100, ident), 0x100002)
        before = d0.show()["low_early"]
        assert before > 0
        began = time.monotonic()
        d0.release()
        let_in = refused and d0.send(A.frame(100, 1), 0x100002)
        if time.monotonic() - began < 0.5:
            break
    assert not let_in
    assert d0.show()["low_early"] == before + refused
    time.sleep(2)
    assert d0.send(A.frame(100, 2), 0x100002)
