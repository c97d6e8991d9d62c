# SPDX-License-Identifier: GPL-2.0
"""Flows in groups (policy.h), so that nobody starves: by examples; the kinds have the models."""

import time
from collections.abc import Callable

import pytest

from selftests.lib.gate import Flow, Gate, attain, flow
from selftests.lib.options import of
from selftests.lib.told import flows as told_flows

pytestmark = pytest.mark.has("known_share")

HUGE_IDLE = "idle 86400s"
FAIR = 16384
A, B, C = flow(0), flow(2), flow(4)


@pytest.fixture
def words(kind: str) -> str:
    """What makes it one with groups, and nothing else"""
    return of(kind).text(of(kind).grouped)


def test_newcomers(gate: Callable[..., Gate], words: str) -> None:
    """There may be no more of them; who is known, or waits already, is none."""
    d0 = gate(f"{words} newcomers 4 {HUGE_IDLE}")
    attain(d0, A, 1000)
    for number in range(1, 5):
        assert d0.send(flow(4 * number).frame(100, number))
    assert not d0.send(flow(4 * 5).frame(100, 5))
    assert not d0.send(flow(4 * 6).frame(100, 6))
    assert d0.send(flow(4 * 1).frame(100, 7))
    assert d0.send(A.frame(600, 8))
    shown = d0.show()
    assert (shown["drop_new"], shown["drops"], shown["records"]) == (2, 2, 5)
    assert shown["flows_new"] == 4
    d0.release(1)
    assert d0.send(flow(4 * 5).frame(100, 9))
    assert sorted(d0.order()) == [2, 3, 4, 7, 8, 9]


def test_sorts_of_newcomers(gate: Callable[..., Gate], words: str) -> None:
    """TCP or not, over 512 bytes or not: a quarter of each may wait; they take turns."""
    d0 = gate(f"{words} newcomers 8 known_share 50% {HUGE_IDLE}")
    udp, tcp = ([flow(4 * number + is_tcp) for number in range(1, 10)] for is_tcp in (0, 2))
    for ident in range(8):
        assert d0.send(udp[ident].frame(100, ident))
    assert not d0.send(udp[8].frame(100, 8))
    assert d0.send(udp[8].frame(600, 9))
    assert d0.send(tcp[0].frame(100, 10))
    assert d0.send(tcp[1].frame(100, 11))
    assert not d0.send(tcp[2].frame(100, 12))
    assert d0.show()["flows_new"] == 11
    assert d0.order() == [10, 0, 9, 11, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("split", "size", "taken"),
    [
        ("split_gso", 400, False),
        ("split_gso", 480, True),  # with the headers they are large
        ("split_gso", 1000, True),
        ("no_split_gso", 400, True),
    ],
)
def test_sort_of_a_bundle(
    gate: Callable[..., Gate], words: str, split: str, size: int, taken: bool
) -> None:
    """That of its segments if it is split: large ones do not mind how many small ones wait."""
    d0 = gate(f"{words} newcomers 8 known_share 50% {split} {HUGE_IDLE}")
    tcp = [flow(4 * number + 2) for number in range(9)]
    for ident in range(8):
        assert d0.send(tcp[ident].frame(100, ident))
    assert d0.send_bundle(tcp[8], [100, 101], size, size) == taken


def test_a_bundle_of_small_ones(gate: Callable[..., Gate], words: str) -> None:
    """It does not mind how many large ones wait."""
    d0 = gate(f"{words} newcomers 8 known_share 50% split_gso {HUGE_IDLE}")
    for ident in range(8):
        assert d0.send(flow(4 * ident + 2).frame(600, ident))
    assert d0.send_bundle(flow(34), [100, 101], 400, 400)


def test_sorts_lose_apart(gate: Callable[..., Gate], words: str) -> None:
    """A newcomer with two packets is not to lose one for those of another sort."""
    d0 = gate(f"{words} limit 8 known_share 50% {HUGE_IDLE}")
    for ident in range(2):
        d0.send(A.frame(100, ident))
    for ident in range(2, 12):
        d0.send(flow(4 * ident).frame(1000, ident))
    assert sorted(d0.order())[:2] == [0, 1]


def test_sorts_take_turns_by_bytes(gate: Callable[..., Gate], words: str) -> None:
    """One that comes late has no more than its turn."""
    d0 = gate(f"{words} newcomers 1000 known_share 50% {HUGE_IDLE}")
    for number in range(100):  # of UDP and of TCP
        d0.send(flow(2 * number).frame(100, 1))
    d0.release(60)
    for number in range(100, 120):
        d0.send(flow(4 * number).frame(600, 2))
    out = d0.order(36)  # 1200 bytes each
    assert 2 <= out.count(2) <= 4


TCP = flow(6)
SYN = flow(6, "S")


def full_of_newcomers(d0: Gate) -> None:
    """There may be no more; TCP is known, and silent for a second"""
    d0.send(TCP.frame(100, 50))
    d0.release()
    time.sleep(1.1)
    for number in range(100, 104):
        assert d0.send(flow(number).frame(100, number))
    assert not d0.send(flow(200).frame(100, 200))


def test_syn_of_a_known_flow_is_a_newcomer(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} newcomers 4 {HUGE_IDLE}")
    full_of_newcomers(d0)
    assert not d0.send(SYN.frame(100, 1))
    assert d0.send(TCP.frame(100, 2))
    assert d0.send(SYN.frame(100, 3))  # it has a packet waiting
    shown = d0.show()
    assert (shown["flows_new"], shown["drop_new"]) == (4, 2)


@pytest.mark.clock
def test_syn_that_comes_soon_is_no_newcomer(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} newcomers 4 {HUGE_IDLE}")
    for number in range(100, 104):
        d0.send(flow(number).frame(100, number))
    d0.release(1)
    d0.send(TCP.frame(100, 1))
    d0.release(4)
    for number in range(200, 204):
        d0.send(flow(number).frame(100, number))
    assert d0.send(SYN.frame(100, 2))
    assert d0.show()["flows_new"] == 4


def test_flow_past_idle_is_a_newcomer(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} newcomers 4 idle 500ms")
    full_of_newcomers(d0)
    assert not d0.send(TCP.frame(100, 1))
    assert d0.show()["drop_new"] == 2
    d0.release(1)
    assert d0.send(TCP.frame(100, 2))
    assert d0.show()["flows_new"] == 4


def known_flows(d0: Gate, count: int, is_tcp: bool = False) -> list[Flow]:
    """So many, of which something was served"""
    flows = [flow(1000 + 4 * number + 2 * is_tcp) for number in range(count)]
    for each in flows:
        attain(d0, each, 100)
    return flows


def crowd(d0: Gate, flows: list[Flow]) -> None:
    """These known flows have packets waiting, of the identity 1000, and are short."""
    for each in flows:
        assert d0.send(each.frame(600, 1000))
    assert d0.show()["flows_new"] == 0


@pytest.mark.clock
def test_a_crowd_of_short_flows(gate: Callable[..., Gate], words: str) -> None:
    """Who comes to it is a newcomer, though known, by his sort; until no short flow waits."""
    d0 = gate(f"{words} newcomers 4 known_share 50% {HUGE_IDLE}")
    udp, tcp = known_flows(d0, 12), known_flows(d0, 1, True)
    crowd(d0, udp[:4])
    for ident in range(4, 8):
        assert d0.send(udp[ident].frame(600, ident))
    shown = d0.show()
    assert (shown["flows_new"], shown["drop_new"]) == (4, 0)
    assert not d0.send(udp[8].frame(600, 8))
    assert d0.send(udp[0].frame(600, 1000)) and d0.send(udp[4].frame(600, 4))  # they wait already
    assert d0.send(udp[8].frame(100, 8)) and d0.send(tcp[0].frame(100, 20))
    shown = d0.show()
    assert (shown["flows_new"], shown["drop_new"]) == (6, 1)
    out = d0.order()
    assert sorted(set(out[:6])) == [4, 5, 8, 20, 1000]  # each sort has its turn, and who waits
    crowd(d0, udp[:3])


@pytest.mark.clock
def test_a_newcomer_in_a_crowd(gate: Callable[..., Gate], words: str) -> None:
    """He is not known by what is served of him, so that the crowd does not grow."""
    d0 = gate(f"{words} newcomers 4 known_share 50% {HUGE_IDLE}")
    crowd(d0, known_flows(d0, 4))
    for ident in range(3):
        d0.send(A.frame(600, ident))
    assert d0.order(1) == [0]
    assert d0.show()["flows_new"] == 1


@pytest.mark.clock
def test_a_crowd_without_shares(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} newcomers 4 known_share 0 {HUGE_IDLE}")
    crowd(d0, known_flows(d0, 12))


def rate(d0: Gate) -> None:
    """Let it know that the link is slow: so little waits that 64 kB are the bound."""
    for _ in range(2):
        d0.send(B.frame(1000, 0))
    time.sleep(0.2)
    d0.release()


@pytest.mark.clock
@pytest.mark.parametrize(("flows", "length", "news"), [(64, 600, 1), (63, 600, 0), (64, 400, 0)])
def test_a_crowd_by_bytes(
    gate: Callable[..., Gate], words: str, flows: int, length: int, news: int
) -> None:
    """Fewer flows are one if they have half of what may wait."""
    d0 = gate(f"{words} buffer 100ms known_share 50% {HUGE_IDLE}")
    known = known_flows(d0, flows + 1)
    rate(d0)
    for each in known:
        d0.send(each.frame(length, 1))
    assert d0.show()["flows_new"] == news


@pytest.mark.clock
@pytest.mark.parametrize(("measurements", "news"), [(10, 1), (14, 0)])
def test_an_old_flow_in_a_crowd(
    gate: Callable[..., Gate], words: str, measurements: int, news: int
) -> None:
    """It has been there for longer than what makes the crowd, and is none of the newcomers."""
    d0 = gate(f"{words} newcomers 4 known_share 50% forgive_share 50% {HUGE_IDLE}")
    for _ in range(measurements):
        d0.send(A.frame(100, 0))
        rate(d0)
    crowd(d0, known_flows(d0, 4))
    d0.send(A.frame(100, 0))
    assert d0.show()["flows_new"] == news


def test_young_flows_take_turns_in_an_overload(gate: Callable[..., Gate], words: str) -> None:
    """One that always has more packets does not keep those behind it waiting."""
    d0 = gate(f"{words} newcomers 4 known_share 50% {HUGE_IDLE}")
    attain(d0, A, 100)
    attain(d0, B, 100)
    crowd(d0, known_flows(d0, 4))
    for ident in range(1, 5):
        d0.send(A.frame(100, ident))
    d0.send(B.frame(100, 100))
    out = []
    for ident in range(5, 10):
        out += [found for found in d0.order(1) if found <= 100]
        d0.send(A.frame(100, ident))
    assert 100 in out


def first(d0: Gate, count: int, least: int) -> int:
    """How many of the next frames have identities from `least` on"""
    return sum(ident >= least for ident in d0.order(count))


@pytest.mark.parametrize("share", [25, 50])
def test_known_share(gate: Callable[..., Gate], words: str, share: int) -> None:
    """However many flows begin"""
    d0 = gate(f"{words} known_share {share}% {HUGE_IDLE}")
    attain(d0, A, 1000)
    for ident in range(100, 160):
        d0.send(A.frame(1000, ident))
    for number in range(1, 101):
        d0.send(flow(2 * number).frame(1000, number))
    assert abs(first(d0, 80, 100) - 80 * share / 100) <= 1


def test_small_known_flows_go_ahead(gate: Callable[..., Gate], words: str) -> None:
    """For an eighth of what newcomers send; not those with more waiting"""
    d0 = gate(f"{words} known_share 50% {HUGE_IDLE}")
    attain(d0, A, 1000)
    for number in range(1, 101):
        d0.send(flow(2 * number).frame(1000, number))
    d0.send(A.frame(600, 1000))
    assert d0.order(2) == [1, 1000]
    out = [1000]
    while len(out) < 60:
        if out[-1] == 1000:
            d0.send(A.frame(200, 1000))
        out += d0.order(1)
    # 200 bytes at half price are five for each newcomer's 1000; 125 of these go ahead
    news = [i for i, ident in enumerate(out) if ident != 1000]
    between = [b - a - 1 for a, b in zip(news, news[1:], strict=False)]
    assert set(between) == {5, 6} and between.count(6) == pytest.approx(0.625 * len(between), abs=1)


@pytest.mark.clock
def test_who_goes_ahead_starves_nobody(gate: Callable[..., Gate], words: str) -> None:
    """Beside many long flows that are late one small one after another goes ahead of them."""
    d0 = gate(f"{words} fair {FAIR}b known_share 50% long_share 5% {HUGE_IDLE}")
    attain(d0, B, 1000)
    many = [flow(100 + 2 * number) for number in range(20)]
    for each in many:
        attain(d0, each, FAIR + 1500)
    for each in 30 * many:
        d0.send(each.frame(1000, 1000))
    out = [2000]
    for step in range(250):
        if out[-1] == 2000:
            assert d0.send(B.frame(100, 2000))
        if step == 200:
            assert d0.send(C.frame(1000, 3000))
        out += d0.order(1)
    assert out.count(1000) > 80 and 3000 in out


@pytest.mark.clock
@pytest.mark.parametrize("share", [0, 10, 40])
def test_long_share(gate: Callable[..., Gate], words: str, share: int) -> None:
    """However many short flows there are"""
    d0 = gate(f"{words} fair {FAIR}b long_share {share}% {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    for number in range(1, 61):
        attain(d0, flow(2 * number), 100)
    for ident in range(1000, 1060):
        d0.send(A.frame(1000, ident))
    for number in range(1, 61):
        for _ in range(3):
            d0.send(flow(2 * number).frame(1000, number))
    assert abs(first(d0, 100, 1000) - share) <= 2


@pytest.mark.clock
@pytest.mark.parametrize(
    ("longs", "shorts", "newcomers", "share"),
    [(1, 1, 0, 50), (3, 1, 0, 50), (1, 2, 1, 25), (2, 0, 1, 50)],
)
def test_long_flows_that_are_late_have_a_fair_share(
    gate: Callable[..., Gate], words: str, longs: int, shorts: int, newcomers: int, share: int
) -> None:
    """It is that of their number, and half at most; newcomers are no more than they."""
    d0 = gate(f"{words} fair {8 * FAIR}b long_share 5% {HUGE_IDLE}")
    for number in range(longs + shorts):
        attain(d0, flow(number), 8 * FAIR + 1500 if number < longs else 1000)
    for ident in range(60):
        for number in range(longs + shorts):
            d0.send(flow(number).frame(1000, 1000 * (number < longs) + ident))
        if newcomers:
            d0.send(flow(100 + ident).frame(1000, ident))
    assert abs(first(d0, 40, 1000) - 40 * share / 100) <= 2


@pytest.mark.clock
def test_long_flows_that_are_late_may_have_no_share(gate: Callable[..., Gate], words: str) -> None:
    """They wait from then on, but for the packet that they were owed."""
    d0 = gate(f"{words} fair {8 * FAIR}b long_share 5% {HUGE_IDLE}")
    attain(d0, A, 8 * FAIR + 1500)
    attain(d0, B, 1000)
    for ident in range(60):
        d0.send(A.frame(1000, 1000))
        d0.send(B.frame(1000, ident))
    assert first(d0, 20, 1000) > 5
    d0.change("long_share 0%")
    assert first(d0, 20, 1000) <= 1


@pytest.mark.clock
def test_known_share_beside_long_ones(gate: Callable[..., Gate], words: str) -> None:
    """What long ones are owed is taken from newcomers and known ones alike."""
    d0 = gate(f"{words} fair {FAIR}b known_share 50% long_share 50% {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, 1000)
    for ident in range(40):
        d0.send(A.frame(300, ident))
        d0.send(B.frame(300, 100 + ident))
        d0.send(flow(100 + ident).frame(300, 200 + ident))
    out = d0.order(40)
    assert abs(sum(ident < 100 for ident in out) - 20) <= 1
    assert abs(sum(100 <= ident < 200 for ident in out) - 10) <= 1


def debt(d0: Gate, packets: int, more: int) -> None:
    """Let A, which is long, have what the link sends in a fifth of a second, and more."""
    attain(d0, A, FAIR + 1500)
    for _ in range(1000):
        d0.send(A.frame(1000, 1000))
    d0.release(packets - 1)
    time.sleep(0.2)
    d0.release(1)
    d0.release(more)


def shorts(d0: Gate) -> int:
    """Packets of short flows that go before one of a long one"""
    for number in range(200):
        d0.send(flow(1000 + number).frame(1000, number))
    return (d0.order(200) + [1000]).index(1000)


@pytest.mark.clock
def test_what_long_flows_have_had_counts(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    debt(d0, 50, 30)
    assert abs(shorts(d0) - 30) <= 2


@pytest.mark.clock
def test_debt_is_of_three_seconds(gate: Callable[..., Gate], words: str) -> None:
    """What long flows have had beyond their share before that does not count."""
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    debt(d0, 10, 250)
    assert abs(shorts(d0) - 150) <= 2


@pytest.mark.clock
def test_debt_on_a_link_that_has_become_slower(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    debt(d0, 50, 150)
    for _ in range(2):  # the first measurement has the packets before in it
        time.sleep(0.2)
        d0.release(1)
    assert shorts(d0) < 18


@pytest.mark.clock
def test_time_without_long_flows_counts(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    d0.send(B.frame(1000, 0))
    for number in range(100):
        d0.send(flow(2000 + number).frame(1000, number))
    d0.release(49)
    time.sleep(0.2)
    d0.release(1)  # until then nobody could do without
    d0.release(20)
    d0.send(A.frame(1000, 1000))
    d0.send(A.frame(1000, 1000))
    assert 18 <= d0.order(80).index(1000)


@pytest.mark.clock
def test_a_busy_period_begins_with_patience(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    debt(d0, 10, 0)
    d0.release()
    d0.send(A.frame(1000, 1000))
    d0.send(A.frame(1000, 1000))
    assert abs(shorts(d0) - 150) <= 2


@pytest.mark.clock
def test_overdue_beside_long_ones(gate: Callable[..., Gate], words: str) -> None:
    """A short flow that waits for long has its part, though it is not the last of them."""
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, 8000)
    attain(d0, C, 9000)
    for _ in range(40):
        d0.send(A.frame(1000, 1))
    d0.send(B.frame(1000, 2))
    time.sleep(1.6)
    d0.send(C.frame(1000, 3))
    d0.send(C.frame(1000, 3))
    for number in range(30):
        d0.send(flow(100 + number).frame(1000, 4))
    assert d0.order().index(2) < 10


@pytest.mark.clock
@pytest.mark.parametrize(("share", "seconds", "place"), [(50, 1.6, 4), (50, 0, 60), (0, 1.6, 60)])
def test_overdue(
    gate: Callable[..., Gate], words: str, share: int, seconds: float, place: int
) -> None:
    """Of what others send a short flow has its part, once it has waited for long."""
    d0 = gate(f"{words} long_share {share}% {HUGE_IDLE}")
    attain(d0, A, 20000)
    d0.send(A.frame(1000, 1000))
    time.sleep(seconds)
    for number in range(30):
        d0.send(flow(100 + number).frame(1000, number))
        d0.send(flow(100 + number).frame(600, number))  # not small: it goes ahead of nobody
    assert d0.order().index(1000) == place


@pytest.mark.clock
@pytest.mark.parametrize(
    ("measurements", "length", "order"),
    [(10, 400, [1, 2]), (15, 400, [2, 1]), (15, 600, [1, 2])],
)
def test_an_old_small_flow(
    gate: Callable[..., Gate], words: str, measurements: int, length: int, order: list[int]
) -> None:
    """It goes before a shorter one that has come before, as if it had waited."""
    d0 = gate(f"{words} known_share 50% forgive_share 50% {HUGE_IDLE}")
    for _ in range(measurements):
        for each in (A, *(60 * [B])):
            d0.send(each.frame(100 if each is A else 1500, 0))
        d0.release(60)
        time.sleep(0.2)
        d0.release()
    attain(d0, C, 60)
    d0.send(C.frame(length - 100, 1))
    d0.send(A.frame(length, 2))
    assert d0.order() == order


@pytest.mark.clock
@pytest.mark.parametrize("flows", [2, 3])
def test_overdue_in_a_crowd(gate: Callable[..., Gate], words: str, flows: int) -> None:
    """Who has waited for a fifth of a second has as much as the known are owed."""
    d0 = gate(f"{words} newcomers 4 known_share 50% long_share 10% {HUGE_IDLE}")
    known = known_flows(d0, flows)
    attain(d0, A, 20000)
    rate(d0)
    for _ in range(10):
        d0.send(A.frame(1000, 2000))
    time.sleep(0.3)
    for _ in range(6):
        crowd(d0, known)
    place = d0.order().index(2000)
    assert place < 8 if flows == 3 else place == 12  # A is the fourth


@pytest.mark.clock
def test_overdue_take_turns(gate: Callable[..., Gate], words: str) -> None:
    """Of those that wait for long each has its turn, not the last of them alone."""
    d0 = gate(f"{words} long_share 50% {HUGE_IDLE}")
    flows = [flow(2 * number) for number in range(41)]
    for each in flows:
        attain(d0, each, 8000 if each is not A else 1000)
    for ident, each in enumerate(flows):
        for _ in range(10 if each is not A else 2):
            d0.send(each.frame(1000, 1000 + ident))
    time.sleep(1.6)
    for number in range(200):
        d0.send(flow(100 + number).frame(1000, 1))
        d0.send(flow(100 + number).frame(500, 1))
    out = [ident for ident in d0.order(200) if ident >= 1000]
    assert len(out) > 41 and sorted(out[:41]) == list(range(1000, 1041))


@pytest.mark.clock
def test_overdue_that_is_the_last(gate: Callable[..., Gate], words: str) -> None:
    """It need not wait until its queue is looked at in turn."""
    d0 = gate(f"{words} long_share 50% {HUGE_IDLE}")
    for number in range(300):
        d0.send(flow(1000 + 2 * number).frame(60, 1))
    attain(d0, A, 20000)
    d0.send(B.frame(60, 1))
    d0.send(A.frame(1000, 1000))
    time.sleep(1.6)
    for number in range(30):
        d0.send(flow(100 + number).frame(1000, number))
        d0.send(flow(100 + number).frame(600, number))
    assert 3 <= d0.order().index(1000) <= 6


@pytest.mark.clock
def test_small_goes_ahead_of_overdue(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} buffer 0 known_share 50% long_share 50% {HUGE_IDLE}")
    attain(d0, A, 20000)
    attain(d0, B, 60)
    others = [flow(100 + 2 * number) for number in range(60)]
    for each in others:
        attain(d0, each, 4000)
    for _ in range(40):
        d0.send(A.frame(1000, 1000))
    time.sleep(1.6)
    for each in others:
        d0.send(each.frame(1000, 1))
    assert 1000 in d0.order(8)  # what is owed to A lets B go ahead
    out = []
    for _ in range(20):
        d0.send(B.frame(100, 2000))
        out += d0.order(2)
    assert out[::2] == 20 * [2000] and out.count(1000) > 5


@pytest.mark.clock
def test_what_is_owed_does_not_pile_up(gate: Callable[..., Gate], words: str) -> None:
    """While there are no long flows"""
    d0 = gate(f"{words} fair {FAIR}b long_share 50% {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    for number in range(200):
        d0.send(flow(100 + number).frame(1000, number))
    d0.release(150)
    for _ in range(50):
        d0.send(A.frame(1000, 1000))
    assert d0.order(20).count(1000) <= 12


@pytest.mark.parametrize("quantum", [300, 1514])
def test_turns_are_of_bytes(gate: Callable[..., Gate], words: str, quantum: int) -> None:
    """Though one flow has a single packet, that of many turns, whenever it is its own."""
    d0 = gate(f"{words} fair {FAIR}b quantum {quantum}b {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    attain(d0, B, FAIR + 1500)
    for _ in range(400):
        d0.send(B.frame(300, 2))
    d0.send(A.frame(9000, 1))
    out = []
    for _ in range(200):
        out += d0.order(1)
        if out[-1] == 1:
            d0.send(A.frame(9000, 1))
    assert 5 <= out.count(1) <= 8  # 30 times as large


def test_many_that_owe_take_turns(gate: Callable[..., Gate], words: str) -> None:
    """More of them than are passed over at a time: then the one that owes least is served."""
    d0 = gate(f"{words} fair {FAIR}b quantum 256b {HUGE_IDLE}")
    flows = [flow(2 * number) for number in range(100)]
    for each in flows:
        attain(d0, each, FAIR + 1500)
    for _ in range(4):
        for ident, each in enumerate(flows):
            d0.send(each.frame(1500, ident))
    out = d0.order(200)
    counts = [out.count(ident) for ident in range(100)]
    assert (min(counts), max(counts)) in ((2, 2), (1, 3))


def test_turns_that_are_put_off_are_bounded(gate: Callable[..., Gate], words: str) -> None:
    """A bundle that is 200 quanta counts as 64."""
    d0 = gate(f"{words} fair {FAIR}b quantum 256b no_split_gso {HUGE_IDLE}")
    tcp = flow(2)
    other = flow(6)
    attain(d0, tcp, FAIR + 1500)
    attain(d0, other, FAIR + 1500)
    for _ in range(2):
        d0.send_bundle(tcp, list(range(100, 140)), 1300, 1300)
    for _ in range(300):
        d0.send(other.frame(256, 2))
    out = d0.order()
    first, second = (at for at, ident in enumerate(out) if ident != 2)
    assert 60 <= second - first <= 70


@pytest.mark.parametrize("bounced", [False, True])
@pytest.mark.parametrize(("share", "left"), [(50, 8), (0, 7), (10, 7)])
def test_long_flows_keep_their_share_of_the_buffer(
    gate: Callable[..., Gate], words: str, share: int, left: int, bounced: bool
) -> None:
    """What has waited before a reset does not count."""
    d0 = gate(f"{words} fair {FAIR}b long_share {share}% limit 20 {HUGE_IDLE}")
    if bounced:
        attain(d0, A, FAIR + 1500)
        for each in 10 * [A, B]:
            d0.send(each.frame(1000 if each is A else 100, 1))
        d0.bounce()
    attain(d0, A, FAIR + 1500)
    attain(d0, B, 1000)
    for _ in range(8):
        d0.send(A.frame(1000, 1))
    for _ in range(13):
        d0.send(B.frame(1000, 2))
    assert d0.order().count(1) == left


@pytest.mark.parametrize(("share", "left"), [(50, 5), (0, 4), (10, 4)])
def test_known_flows_keep_their_share_of_the_buffer(
    gate: Callable[..., Gate], words: str, share: int, left: int
) -> None:
    """Of what newcomers have beyond theirs the newest goes, if none has two packets."""
    d0 = gate(f"{words} known_share {share}% limit 20 {HUGE_IDLE}")
    attain(d0, B, 1000)
    for _ in range(5):
        d0.send(B.frame(1000, 2))
    for number in range(15):
        d0.send(flow(100 + number).frame(1000, 100 + number))
    assert d0.send(flow(200).frame(1000, 200)) == (left == 4)
    assert d0.order().count(2) == left


def test_of_newcomers_the_longest_queue_is_dropped(gate: Callable[..., Gate], words: str) -> None:
    d0 = gate(f"{words} known_share 50% limit 20 {HUGE_IDLE}")
    attain(d0, B, 1000)
    for _ in range(3):
        d0.send(B.frame(1000, 2))
        d0.send(C.frame(1000, 3))
        d0.send(C.frame(1000, 3))
    for number in range(12):
        assert d0.send(flow(100 + number).frame(1000, 100))
    out = d0.order()
    assert [out.count(ident) for ident in (2, 3, 100)] == [3, 5, 12]


def test_newcomer_that_becomes_long_can_lose(gate: Callable[..., Gate], words: str) -> None:
    """It is the first to lose as soon as it is known, though nothing has come since."""
    d0 = gate(f"{words} fair {FAIR}b limit 25 {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    for _ in range(5):
        d0.send(A.frame(1000, 1))
    for _ in range(20):
        d0.send(B.frame(1000, 2))
    d0.release(1)  # of B, which is long from then on
    d0.send(C.frame(1000, 3))
    d0.send(C.frame(1000, 3))
    out = d0.order()
    assert [out.count(ident) for ident in (1, 2, 3)] == [5, 18, 2]


@pytest.mark.parametrize("ecn", [True, False])
def test_own_queue_is_held_short(gate: Callable[..., Gate], words: str, ecn: bool) -> None:
    """CoDel takes from a long flow what waits for longer than target, or marks it; no other."""
    codel = f"target 1ms {'ecn' if ecn else 'noecn'}"
    d0 = gate(f"{words} fair {FAIR}b {codel} {HUGE_IDLE}")
    attain(d0, A, FAIR + 1500)
    frame = bytearray(A.frame(1000, 1))
    frame[15] |= 2  # ECT(0)
    attain(d0, B, 1000)
    for _ in range(40):
        d0.send(bytes(frame))
        d0.send(B.frame(100, 2))
    out = []
    for _ in range(60):
        time.sleep(0.005)
        out += d0.release(1)
    out += d0.release()
    shown = d0.show()
    marked = sum(frame[15] & 3 == 3 for frame in out)
    assert shown["marked"] == marked and (marked > 3) == ecn
    assert shown["drop_codel"] == shown["drops"] == 80 - len(out)
    assert (shown["drop_codel"] > 3) != ecn
    assert sum(len(frame) == 100 for frame in out) == 40
    assert (shown["qlen"], shown["backlog"]) == (0, 0)


def measure_slow_link(d0: Gate) -> None:
    for _ in range(10):  # unless the machine pauses: then the link is slower
        for _ in range(2):
            began = time.monotonic()
            d0.send(A.frame(1500, 0))
            time.sleep(0.2)
            d0.release(1)  # 7500 bytes per second
            took = time.monotonic() - began
            d0.release()
        if took < 0.25:
            break


def test_what_waits_is_bounded_at_once(gate: Callable[..., Gate], words: str) -> None:
    """By the rate that was measured last: not only after an eighth of a second.

    One short flow may have an eighth more waiting.
    """
    d0 = gate(f"{words} buffer 100ms {HUGE_IDLE}")
    measure_slow_link(d0)
    for ident in range(100):
        d0.send(B.frame(1500, ident))
    shown = d0.show()
    assert shown["room"] == 65536 and shown["drop_buffer"] == 100 - (65536 + 8192) // 1500


@pytest.mark.parametrize(
    ("flows", "each", "packets"), [(0, 0, 43), (1, 2, 45), (1, 6, 49), (3, 6, 49)]
)
def test_first_windows_come_on_top_of_the_buffer(
    gate: Callable[..., Gate], words: str, flows: int, each: int, packets: int
) -> None:
    """16 kB for each short flow, up to what these have waiting and to an eighth of 65,536 bytes"""
    d0 = gate(f"{words} buffer 100ms fair {FAIR}b {HUGE_IDLE}")
    attain(d0, C, FAIR + 1500)
    measure_slow_link(d0)
    for number in range(flows):
        for ident in range(each):
            d0.send(flow(number).frame(1500, ident))
    for ident in range(100):
        d0.send(C.frame(1500, ident))
    assert d0.show()["qlen"] == packets


def test_first_windows_are_of_16_kb(gate: Callable[..., Gate], words: str) -> None:
    """Where an eighth of `buffer` is more: two flows, of which one has more than that waiting"""
    d0 = gate(f"{words} buffer 60s fair {8 * FAIR}b {HUGE_IDLE}")
    attain(d0, C, 8 * FAIR + 1500)
    measure_slow_link(d0)
    for ident in range(30):
        d0.send(A.frame(1500, ident))
    d0.send(B.frame(1500, 0))
    for ident in range(400):
        d0.send(C.frame(1500, ident))
    room = d0.show()["room"]
    assert room > 8 * 32768
    assert d0.show()["qlen"] == (room + 2 * 16384) // 1500


def test_a_short_flow_loses_its_second_packet(gate: Callable[..., Gate], words: str) -> None:
    """Those behind it tell its sender, and the first keeps its age; a long one loses its last."""
    d0 = gate(f"{words} known_share 50% fair {FAIR}b {HUGE_IDLE}")
    attain(d0, B, FAIR + 1500)
    d0.change("limit 4")
    for ident in range(6):
        d0.send(A.frame(1000, ident))
    assert d0.order() == [0, 3, 4, 5]
    for ident in range(6):
        d0.send(B.frame(1000, ident))
    assert d0.order() == [0, 1, 2, 3]


@pytest.mark.clock  # the rate is measured anew every eighth of a second
@pytest.mark.parametrize(
    ("long", "buffer", "waits", "kept"),
    [(0, 1, 4.1, 1), (1, 1, 4.1, 1), (1, 1, 0, 8), (1, 0, 4, 8)],
)
def test_what_is_of_no_use_is_dropped(
    gate: Callable[..., Gate], words: str, long: int, buffer: int, waits: float, kept: int
) -> None:
    """It has waited while four times what may wait was sent, and for as long as that is to take;
    the last packet stays."""
    d0 = gate(f"{words} fair {FAIR}b buffer {buffer}s {HUGE_IDLE}")
    measure_slow_link(d0)
    before = FAIR + 1500 if long else 1000
    attain(d0, B, before)
    waiting = [*range(1000, 1008)]
    for ident in waiting:
        d0.send(B.frame(1500, ident))
    out: list[int] = []
    for number in range(4 * 65536 // 8000 + 1):  # newcomers go first
        d0.send(flow(2000 + 2 * number).frame(8000, 1))
        out += d0.order(1)
    waiting = waiting[sum(ident > 1 for ident in out) :]
    time.sleep(waits)
    left = [ident for ident in d0.order() if ident > 1]
    assert left == waiting[-kept:]
    assert d0.show()["drop_buffer"] == len(waiting) - len(left)
    d0.send(B.frame(100, 1))
    (now,) = (told.attained for told in told_flows() if told.qlen)
    lost = 0 if long else 1500 * (len(waiting) - len(left))
    assert now - before == 100 + 8 * 1500 - lost, "as for CoDel, which drops of long flows"


def test_what_is_refused_forgives_nothing(gate: Callable[..., Gate], words: str) -> None:
    """Ranks are by what flows have attained, which changes only where a queue does."""
    d0 = gate(f"{words} forgive_share 100% memory_limit 4096b {HUGE_IDLE}")
    for _ in range(2):
        attain(d0, A, 1500)
    time.sleep(0.1)
    assert not d0.send(A.frame(9000, 2))
    assert told_flows()[0].attained == 3000
    assert d0.send(A.frame(100, 3))
    assert told_flows()[0].attained == 100


@pytest.mark.parametrize(
    ("buffer", "attained", "longs"),
    [
        ("60s", 30000, 0),
        ("20s", 55000, 0),  # half is 75000, a third 50000
        ("5s", 20000, 1),
        ("1s", 16000, 0),
        ("1s", 17000, 1),
        ("0", 20000, 0),
    ],
)
def test_less_makes_a_flow_long_on_a_slow_link(
    gate: Callable[..., Gate], words: str, buffer: str, attained: int, longs: int
) -> None:
    """What the link sends in half of buffer, but no less than 16384 bytes: with the first buffer it
    would have to be as slow as 1000 bytes per second for a long flow."""
    d0 = gate(f"{words} fair 256kb buffer {buffer} forgive_share 0% {HUGE_IDLE}")
    measure_slow_link(d0)
    attain(d0, B, attained - 100)
    d0.send(B.frame(100, 0))
    assert d0.show()["flows_long"] == longs


def test_nobody_overtakes_himself(gate: Callable[..., Gate], words: str) -> None:
    """As long as packets of his set wait without a record, nobody new there gets one."""
    d0 = gate(f"{words} flows 8 {HUGE_IDLE}")
    for number in range(8):
        d0.send(flow(number).frame(1000, number))
    for ident in (100, 101, 102):
        d0.send(flow(8).frame(1000, ident))
    out = d0.order(4)
    d0.send(flow(8).frame(1000, 103))
    out += d0.order()
    assert [ident for ident in out if ident >= 100] == [100, 101, 102, 103]


@pytest.mark.parametrize("sent", [300, 530])
def test_nobody_overtakes_himself_without_a_queue(
    gate: Callable[..., Gate], words: str, sent: int
) -> None:
    """There are queues for half of the flows. Who has a record, but packets that wait without it,
    gets none before these have gone."""
    d0 = gate(f"{words} flows 1024 {HUGE_IDLE}")
    late = flow(2000)
    attain(d0, late, 1000)
    for number in range(600):
        d0.send(flow(number).frame(100, 10))
    for ident in (100, 101, 102):
        d0.send(late.frame(1000, ident))
    out = d0.order(sent)
    d0.send(late.frame(1000, 103))
    out += d0.order()
    assert [ident for ident in out if ident >= 100] == [100, 101, 102, 103]


def test_overflow_takes_turns(gate: Callable[..., Gate], words: str) -> None:
    """Those for whom there is no record are one long flow together: they are not last."""
    d0 = gate(f"{words} flows 8 long_share 50% {HUGE_IDLE}")
    for number in range(8):
        for _ in range(10):
            d0.send(flow(number).frame(1000, number))
    d0.send(flow(8).frame(1000, 100))
    assert d0.show()["flows_long"] == 1
    assert 100 in d0.order(4)
