# SPDX-License-Identifier: GPL-2.0
"""What las adds to the paper: `fair`, for flows beyond a size, and `forgive_share`."""

import random
import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Flow, Gate, attain, flow
from selftests.lib.groups import FAIR_MARGIN, NEVER
from selftests.lib.told import flows as told_flows

from .pair import Pair
from .test_random import HUGE_IDLE, play

A, B, C = flow(0), flow(2), flow(4)
FAIR = 16384


def test_long_flows_share(gate: Callable[..., Gate]) -> None:
    """Under plain LAS the one that attained more would wait for the other."""
    d0 = gate(f"fair {FAIR}b limit 1000 {HUGE_IDLE}")
    attain(d0, A, 15 * 1500)
    attain(d0, B, 30 * 1500)
    for ident in range(30):
        d0.send(A.frame(1000, ident))
    for ident in range(100, 130):
        d0.send(B.frame(1000, ident))
    out = d0.order(20)
    assert 9 <= sum(ident < 100 for ident in out) <= 11


def test_long_flows_share_bytes(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair {FAIR}b limit 1000 {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, FAIR + 1500)
    for ident in range(90):
        d0.send(A.frame(500, ident))
    for ident in range(100, 130):
        d0.send(B.frame(1500, ident))
    out = d0.order(40)
    assert 28 <= sum(ident < 100 for ident in out) <= 32


def test_short_flows_go_before_long_ones(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair {FAIR}b {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, FAIR - 1500)
    d0.send(A.frame(100, 1))
    d0.send(B.frame(1000, 2))
    d0.send(C.frame(1000, 3))
    assert d0.order() == [3, 2, 1]


def test_longest_queue_of_the_long_is_dropped(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair {FAIR}b limit 20 {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, FAIR + 1500)
    for ident in range(16):
        assert d0.send(A.frame(1000, ident))
    for ident in range(100, 104):
        assert d0.send(B.frame(1000, ident))
    assert d0.send(B.frame(1000, 104))
    assert d0.send(C.frame(1000, 200))
    out = d0.order()
    assert [ident for ident in out if ident < 100] == list(range(14))
    assert [ident for ident in out if ident >= 100] == [200, 100, 101, 102, 103, 104]


@pytest.mark.parametrize("limit", [20, 60])
def test_random(gate: Callable[..., Gate], limit: int) -> None:
    d0 = gate(f"limit {limit} flows 65536 fair {FAIR}b {HUGE_IDLE}")
    pair = Pair(d0, limit, fair=FAIR, visible=0)
    play(pair, random.Random(limit), [flow(n) for n in range(12)], 1500, 2 * limit)
    assert d0.show()["flows_long"] > 3 and pair.model.drops > 50
    pair.release()


def test_random_changes(gate: Callable[..., Gate]) -> None:
    rng = random.Random(9)
    d0 = gate(f"limit 40 flows 65536 {HUGE_IDLE}")
    pair = Pair(d0, 40, visible=0)
    for _ in range(25):
        pair.release()  # in what order short flows that wait become long is not said
        pair.change(limit=rng.choice([10, 40, 80]), fair=rng.choice([NEVER, FAIR, 4 * FAIR]))
        pair.compare()
        play(pair, rng, [flow(n) for n in range(8)], pair.sent + 50, 50)
    pair.release()


def test_change_of_fair_with_packets(gate: Callable[..., Gate]) -> None:
    """Long flows still share after packets that were ranked otherwise have been dropped."""
    d0 = gate(f"limit 100 {HUGE_IDLE}")
    attain(d0, A, 60000)
    for ident in range(20):
        d0.send(A.frame(1000, ident))
    d0.change(f"fair {FAIR}b")
    d0.change("limit 10")  # drops some that were ranked before
    d0.change("limit 100")
    attain(d0, B, FAIR + 1500)
    for ident in range(20):
        d0.send(A.frame(1000, ident))
    for ident in range(100, 120):
        d0.send(B.frame(1000, ident))
    out = d0.order(20)
    assert 8 <= sum(ident < 100 for ident in out) <= 12, out


def share(d0: Gate, a: Flow, b: Flow) -> float:
    """What part flow a gets while both always have a packet waiting, after a while."""
    out = []
    for _ in range(60):
        for _ in range(2):
            d0.send(a.frame(1000, 1))
            d0.send(b.frame(1000, 2))
        out += d0.order(2)
    return out[40:].count(1) / len(out[40:])


def test_fair_after_plain(gate: Callable[..., Gate]) -> None:
    """What was ranked by what it had attained, much and little, is not virtual time."""
    d0 = gate(HUGE_IDLE)
    attain(d0, A, 600000)
    attain(d0, B, 30000)
    for each in (A, B):
        for _ in range(5):
            d0.send(each.frame(1000, 0))
    d0.change(f"fair {FAIR}b")
    assert 0.4 < share(d0, A, B) < 0.6


def test_fair_after_plain_after_fair(gate: Callable[..., Gate]) -> None:
    """Virtual time goes on where it was."""
    d0 = gate(f"fair {FAIR}b {HUGE_IDLE}")
    attain(d0, A, 600000)
    d0.change("fair 0")
    attain(d0, B, 40000)
    d0.send(B.frame(1000, 0))
    d0.send(B.frame(1000, 0))
    d0.change(f"fair {FAIR}b")
    d0.release(1)
    assert 0.4 < share(d0, A, B) < 0.6


def test_smaller_fair(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"fair 400000b {HUGE_IDLE}")
    attain(d0, A, 500000)
    attain(d0, B, 200000)
    for each in (A, B):
        d0.send(each.frame(1000, 0))
    d0.change(f"fair {FAIR}b")
    d0.release(1)
    assert 0.4 < share(d0, A, B) < 0.6


def test_link_down_forgets_the_turn(gate: Callable[..., Gate]) -> None:
    """A long flow that has lost what waited need not make up for it."""
    d0 = gate(f"fair {FAIR}b limit 1000 {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    for _ in range(300):
        d0.send(A.frame(1000, 0))
    d0.bounce()
    attain(d0, A, FAIR)  # the next is the first that waits its turn
    attain(d0, B, FAIR)
    assert 0.4 < share(d0, A, B) < 0.6


def test_change_of_fair_keeps_a_flow_in_order(gate: Callable[..., Gate]) -> None:
    d0 = gate(HUGE_IDLE)
    attain(d0, B, 100000)
    d0.change(f"fair {FAIR}b")
    attain(d0, A, 300000)
    for ident in (1, 2, 3):
        d0.send(A.frame(1000, ident))
    d0.change("fair 0")
    d0.send(A.frame(1000, 4))  # has attained 80000, not counting what is beyond the margin
    d0.send(B.frame(1000, 5))  # rank 100000
    d0.change("limit 4")
    assert d0.order() == [1, 2, 3, 4]


def test_drops_do_not_make_a_long_flow_short(gate: Callable[..., Gate]) -> None:
    """All that was served counts: a drop gives back no more than the packet had added."""
    d0 = gate(f"fair {FAIR}b limit 200 {HUGE_IDLE}")
    attain(d0, A, FAIR + (200 << 10))
    for ident in range(100):
        d0.send(A.frame(1500, ident))
    d0.change("limit 1")
    d0.release()
    d0.send(A.frame(100, 1))
    attained_less = [d0.send(B.frame(100, 2)), d0.send(C.frame(100, 3))]
    assert attained_less == [True, False]  # B pushes out A, C finds B before it


def test_forgive(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"forgive_share 100% {HUGE_IDLE}")
    attain(d0, A, 15000)
    attain(d0, B, 3000)
    time.sleep(0.1)  # all is forgiven as long as the rate of the link is not known
    d0.send(A.frame(100, 1))
    d0.send(B.frame(100, 2))
    assert d0.order() == [1, 2]
    d0.change("forgive_share 0%")
    attain(d0, B, 15000)
    attain(d0, A, 3000)
    time.sleep(0.1)
    d0.send(B.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order() == [2, 1]


def test_forgive_not_while_packets_wait(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"forgive_share 100% {HUGE_IDLE}")
    d0.send(A.frame(1500, 1))
    time.sleep(0.1)
    d0.send(A.frame(1500, 2))  # rank 1500
    d0.send(B.frame(1000, 3))
    d0.send(B.frame(1000, 4))  # rank 1000
    assert d0.order() == [1, 3, 4, 2]


@pytest.mark.parametrize("percent", [0, 100])
def test_forgives_a_share_of_the_link(gate: Callable[..., Gate], percent: int) -> None:
    """Its rate is what went out while the queue was not empty for an eighth of a second."""
    d0 = gate(f"forgive_share {percent}% {HUGE_IDLE}")
    d0.send(A.frame(3000, 0))
    d0.release()
    d0.send(B.frame(9000, 0))
    d0.send(B.frame(9000, 0))
    time.sleep(0.2)
    d0.release(1)  # so 9000 bytes in the time until now, in which A has been silent
    d0.release()
    d0.send(C.frame(100, 1))
    d0.send(C.frame(100, 2))
    d0.send(A.frame(100, 3))  # rank 3000, or 0
    assert d0.order() == ([1, 3, 2] if percent else [1, 2, 3])


@pytest.mark.parametrize(("others", "order"), [(0, [1, 3, 2]), (20, [1, 2, 3])])
def test_what_is_forgiven_is_divided(
    gate: Callable[..., Gate], others: int, order: list[int]
) -> None:
    """Among the flows that were there before, whatever they have attained"""
    d0 = gate(f"forgive_share 100% {HUGE_IDLE}")
    many = [flow(100 + 2 * number) for number in range(others)]
    attain(d0, A, 30000)
    for _ in range(15):  # so often, that they are of an age
        for each in many:
            d0.send(each.frame(60, 0))
        d0.send(B.frame(9000, 0))
        d0.send(B.frame(9000, 0))
        d0.release(others + 1)
        time.sleep(0.2)
        d0.release(1)  # so no less than 9000 bytes in this time
    d0.send(C.frame(100, 1))
    d0.send(C.frame(100, 2))
    d0.send(A.frame(100, 3))  # rank 0, or 30000 less 15 times that divided by them
    assert d0.order() == order


@pytest.mark.clock
@pytest.mark.parametrize("stands", [False, True])
def test_one_that_stands_is_forgiven_its_share(gate: Callable[..., Gate], stands: bool) -> None:
    """One that always has packets waiting; one of age that has not is forgiven all of its part."""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    many = 40 * [1500]
    attain(d0, A, 60)
    for size in many if stands else []:
        d0.send(A.frame(size, 0))
    for number in range(16):
        d0.send(A.frame(60, 0))
        d0.send(flow(100 + 4 * number).frame(9000, 0))
        d0.send(flow(102 + 4 * number).frame(9000, 0))
        d0.release(1 if stands else 2)
        time.sleep(0.2)
        d0.release(1)  # so 18000 bytes in this time
    for size in [] if stands else many:
        d0.send(A.frame(size, 0))
    d0.release()
    time.sleep(0.4)  # worth 36000 bytes, or half of that
    attain(d0, C, 32000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))  # has attained some 60000 less that
    assert d0.order() == ([1, 2] if stands else [2, 1])


@pytest.mark.clock
@pytest.mark.parametrize(("pauses", "order"), [(3, [1, 2]), (7, [2, 1])])
def test_how_soon_one_that_stood_is_a_stream(
    gate: Callable[..., Gate], pauses: int, order: list[int]
) -> None:
    """However long it has stood, at five more epochs in which it had nothing waiting"""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    attain(d0, A, 60)
    d0.send(A.frame(60, 0))
    for number in range(32 + pauses):
        if number == 32:
            d0.release()
        d0.send(A.frame(60, 0))
        d0.send(flow(100 + 4 * number).frame(9000, 0))
        d0.send(flow(102 + 4 * number).frame(9000, 0))
        d0.release(2)
        time.sleep(0.2)
        d0.release(1)  # so 18000 bytes in this time
    attain(d0, A, 60000)
    time.sleep(0.4)  # worth 36000 bytes, or half of that
    attain(d0, C, 32000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))  # has attained some 60000 less that
    assert d0.order() == order


def that_stand(d0: Gate, count: int) -> list[Flow]:
    """So many flows that always have packets waiting"""
    flows = [flow(100 + 2 * number) for number in range(count)]
    for each in flows:
        attain(d0, each, 60)
    for each in 130 * flows:
        d0.send(each.frame(1000, 0))
    return flows


@pytest.mark.clock
def test_a_stream_is_forgiven_two_parts(gate: Callable[..., Gate]) -> None:
    """One among flows that stand, which are forgiven less"""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 100% {HUGE_IDLE}")
    standing = that_stand(d0, 3)
    for _ in range(16):
        d0.send(A.frame(60, 0))
        for each in standing:
            d0.send(each.frame(60, 0))
        d0.release(17)
        time.sleep(0.2)
        d0.release(1)  # so some 18000 bytes in this time
    attain(d0, A, 60000)
    time.sleep(0.4)  # worth 36000 bytes, of which a part is a quarter
    attain(d0, C, 47000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))  # has attained some 60000 less two parts
    assert d0.order() == [2, 1]
    attain(d0, B, 38000)
    d0.send(B.frame(100, 1))
    d0.send(A.frame(100, 2))  # and no more
    assert d0.order() == [1, 2]


@pytest.mark.clock
@pytest.mark.parametrize(("off", "order"), [(4000, [2, 1]), (-4000, [1, 2])])
@pytest.mark.parametrize(
    ("standing", "bytes_each", "part"), [(0, 60, 20000), (3, 60, 12000), (0, 4000, 0)]
)
def test_a_stream_is_forgiven_what_others_leave(
    gate: Callable[..., Gate],
    standing: int,
    bytes_each: int,
    part: int,
    off: int,
    order: list[int],
) -> None:
    """
    Of thirty that send little nobody's part is a thirtieth: those have it who take more, but none
    has more than half of the link. If they have more than three quarters all are forgiven alike.
    """
    d0 = gate(f"known_share 0 buffer 0 forgive_share 100% {HUGE_IDLE}")
    stand = that_stand(d0, standing)
    modest = [flow(200 + 2 * number) for number in range(30)]
    for number in range(20 if part else 40):  # what is known is of more than a second
        for each in (A, *stand):
            d0.send(each.frame(60, 0))
        for each in modest:
            d0.send(each.frame(bytes_each, 0))
        for young in () if standing else (400, 402):
            d0.send(flow(young + 4 * number).frame(9000, 0))
        d0.release(48 if standing else 32)
        time.sleep(0.2)
        d0.release(1)  # so some 18000 bytes in this time
    attain(d0, C, 60000 - part + off)
    for _ in range(40):
        d0.send(A.frame(1500, 0))
    d0.release(40)
    time.sleep(0.4)  # worth 36000 bytes and what is modest
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order(2) == order


@pytest.mark.clock
def test_a_stream_that_is_long_is_not_modest(gate: Callable[..., Gate]) -> None:
    """However fast the link is, of which it takes less than half"""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% fair 20000b {HUGE_IDLE}")
    that_stand(d0, 10)  # so the link is never idle
    for number in range(800):
        if not number % 5:
            for small in range(6):
                d0.send(flow(50 + 2 * small).frame(60, 0))
            d0.release(6)
        for each, length in ((A, 8600), (B, 4500)):
            d0.send(each.frame(60 if number < 400 else length, 0))
            young = flow(200 + 2 * number + (each is B))
            d0.send(young.frame(9000 if number < 400 else 3500, 0))
        d0.release(5)
        time.sleep(0.01)
    d0.release()
    attain(d0, C, 14000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order(2) == [2, 1]


def streams_of(d0: Gate, count: int) -> list[Flow]:
    """So many streams, of a link of 90000 bytes a second, and A is one, too"""
    streams = [flow(200 + 2 * number) for number in range(count)]
    for number in range(16):
        for each in (A, *streams):
            d0.send(each.frame(60, 0))
        for young in (400, 402):
            d0.send(flow(young + 4 * number).frame(9000, 0))
        d0.release(count + 2)
        time.sleep(0.2)
        d0.release(1)
    return streams


@pytest.mark.clock
@pytest.mark.parametrize(("off", "order"), [(4000, [2, 1]), (-4000, [1, 2])])
def test_a_stream_is_forgiven_its_last_wait(
    gate: Callable[..., Gate], off: int, order: list[int]
) -> None:
    """Though it has nothing waiting when its next packet comes"""
    d0 = gate(f"rank visible known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    streams_of(d0, 1)
    attain(d0, A, 60000)
    attain(d0, C, 60000 - 36000 + off)
    d0.send(A.frame(60, 0))
    time.sleep(0.4)  # worth 36000 bytes, and it is one of two: it has two parts
    d0.release()
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order() == order


@pytest.mark.clock
@pytest.mark.parametrize(("waits", "order"), [(True, [1, 2]), (False, [2, 1])])
def test_a_stream_of_a_link_that_is_another_one(
    gate: Callable[..., Gate], waits: bool, order: list[int]
) -> None:
    """Whatever it has attained is forgiven it, as all are, but not while it waits."""
    d0 = gate(f"rank visible known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    streams_of(d0, 1)
    attain(d0, A, 60000)
    if waits:
        d0.send(A.frame(60, 0))
    d0.change("hosts src")  # which forgets it
    time.sleep(0.1)
    d0.send(C.frame(3000, 0))
    d0.send(C.frame(3000, 1))
    d0.send(A.frame(100, 2))
    assert [ident for ident in d0.order() if ident] == order


@pytest.mark.clock
@pytest.mark.parametrize(("off", "order"), [(6000, [2, 1]), (-6000, [1, 2])])
def test_one_burst_is_not_all(gate: Callable[..., Gate], off: int, order: list[int]) -> None:
    """What streams leave of the link is of all the time, also when nothing waited."""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    streams = streams_of(d0, 8)
    for number in range(10):
        for each in streams:
            d0.send(each.frame(60, 0))
            d0.release()
        time.sleep(0.5)
        if number == 8:
            for _ in range(20):
                d0.send(streams[0].frame(1000, 0))
            d0.release(18)
            time.sleep(0.2)
            d0.release()
    attain(d0, A, 60000)
    time.sleep(0.4)  # worth 36000 bytes
    attain(d0, C, 60000 - 18000 + off)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order() == order


@pytest.mark.clock
def test_a_link_that_sends_next_to_nothing(gate: Callable[..., Gate]) -> None:
    """Less than a byte in an epoch"""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    d0.send(A.frame(60, 1))
    time.sleep(70)
    assert d0.order() == [1]
    time.sleep(2)
    d0.send(A.frame(60, 2))
    assert d0.order() == [2]


@pytest.mark.clock
def test_who_pauses_is_there(gate: Callable[..., Gate]) -> None:
    """Streams that send in every other epoch have their parts in all."""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    others = [flow(200 + 2 * number) for number in range(16)]
    for number in range(51):
        if number % 2:
            for each in 3 * others:
                d0.send(each.frame(1000, 0))
        d0.send(A.frame(60, 0))
        d0.release(23)
        time.sleep(0.2)
        d0.release(1)  # so some 24000 bytes in this time
    d0.release()
    attain(d0, A, 60000)
    time.sleep(0.4)  # worth 48000 bytes, of which a part is a twentieth
    attain(d0, C, 40000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))  # has attained some 60000 less that
    assert d0.order() == [1, 2]


@pytest.mark.clock
def test_two_packets_at_once_do_not_stand(gate: Callable[..., Gate]) -> None:
    """The first of them begins an epoch, and the second is no news of that."""
    d0 = gate(f"known_share 0 buffer 0 forgive_share 50% {HUGE_IDLE}")
    streams_of(d0, 0)
    for _ in range(16):
        for _ in range(2):
            d0.send(A.frame(60, 0))
        d0.release()
        time.sleep(1.1)
    attain(d0, A, 60000)
    time.sleep(0.4)  # worth 36000 bytes, and half of that if it stands
    attain(d0, C, 60000 - 27000)
    d0.send(C.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert d0.order() == [2, 1]


@pytest.mark.clock
@pytest.mark.parametrize(("waits", "order"), [(True, [1, 2]), (False, [2, 1])])
def test_who_waits_is_not_forgiven(
    gate: Callable[..., Gate], waits: bool, order: list[int]
) -> None:
    """Unless it is a stream: else who is kept waiting would come to be as short as a newcomer."""
    d0 = gate(f"rank visible buffer 0 forgive_share 100% {HUGE_IDLE}")
    for _ in range(2):
        d0.send(C.frame(9000, 0))
        d0.send(C.frame(9000, 0))
        time.sleep(0.018)
        d0.release(1)
        time.sleep(0.2)
        d0.release()  # some 90000 bytes per second
    attain(d0, A, 50000)
    attain(d0, B, 60000)
    if waits:
        d0.send(A.frame(60, 3))
    time.sleep(0.4)  # worth 36000 bytes
    if not waits:
        d0.send(A.frame(60, 3))
    d0.send(B.frame(100, 1))
    d0.send(A.frame(100, 2))
    assert [ident for ident in d0.order() if ident < 3] == order


def test_forgives_no_more_than_was_attained(gate: Callable[..., Gate]) -> None:
    d0 = gate(f"forgive_share 100% {HUGE_IDLE}")
    attain(d0, A, 60)
    time.sleep(0.1)
    d0.send(A.frame(1500, 1))
    d0.send(A.frame(1500, 2))  # rank 1500, not less
    d0.send(B.frame(1000, 3))
    d0.send(B.frame(1000, 4))
    assert d0.order() == [1, 3, 4, 2]


def test_what_a_long_flow_attains_is_bounded(gate: Callable[..., Gate]) -> None:
    """So it can be a short one again soon."""
    d0 = gate(f"fair {FAIR}b {HUGE_IDLE}")
    attain(d0, A, 900000)
    d0.send(A.frame(1000, 1))
    (long,) = told_flows()
    assert long.attained == FAIR + FAIR_MARGIN
