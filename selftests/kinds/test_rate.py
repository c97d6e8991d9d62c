# SPDX-License-Identifier: GPL-2.0
"""The shaper (shaper.h): when packets leave, by the times at which a tap has seen them.

At 8 Mbit/s a byte takes a microsecond, and at 800 kbit/s ten: what the clock is late is less.
"""

import itertools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from selftests.guest import SLOW
from selftests.lib.command import run
from selftests.lib.gate import Device, Gate, ethertype, flow, host_flow
from selftests.lib.options import published
from selftests.lib.wire import FRAMINGS, KEYWORDS, LINK, wire
from selftests.report import HOST_CLOCK

BYTE_US = "rate 8mbit"
ROOMY = "limit 1000000 memory_limit 1gb buffer 0ms"
LATE = 10_000_000  # ns: what a timer may be late and is made up for, or a jiffy
PLAIN = ethertype(0x88B5)  # has no length of its own, so that frames may be as short as any


class Shaped(Device):
    """d0 with a kind as its root, as published unless told otherwise"""

    def set(self, words: str, kind: str | None = None) -> None:
        """Begin anew"""
        run(f"tc qdisc replace dev {self.dev} root handle 2: pfifo")
        base = kind or published(self.kind)
        run(f"tc qdisc replace dev {self.dev} root handle 1: {base} {words}")
        self.frames()

    def change(self, words: str) -> None:
        run(f"tc qdisc change dev {self.dev} root handle 1: {self.kind} {words}")

    def short(self, length: int) -> bytes:
        """A frame of this many bytes, link header included, of the flow of all such"""
        return PLAIN.headers.ljust(length, b"\0")

    def after(self, seconds: float) -> list[tuple[int, bytes]]:
        time.sleep(seconds)
        return self.departures()

    def first(self, count: int) -> list[tuple[int, bytes]]:
        """So many, which may take a busy machine long"""
        left: list[tuple[int, bytes]] = []
        end = time.monotonic() + 10
        while len(left) < count and time.monotonic() < end:
            left += self.after(0.01)
        return left


@pytest.fixture
def d0(kind: str) -> Iterator[Shaped]:
    device = Shaped(kind)
    device.stamp()
    device.set("")
    yield device
    device.close()


def gaps(left: list[tuple[int, bytes]]) -> list[int]:
    """ns from each to the next"""
    return [after - before for (before, _), (after, _) in itertools.pairwise(left)]


def lengths(left: list[tuple[int, bytes]]) -> list[int]:
    return [len(frame) for _, frame in left]


RATES = {
    "1mbit": 125000,
    "10mbit": 1250000,
    "77mbit": 9625000,  # 103.9 ns for a byte
    "100mbit": 12500000,
    "1gbit": 125000000,
}
SIZES = {"64": [64], "300": [300], "1514": [1514], "mixed": [64, 1514, 300, 64, 700]}


@pytest.mark.clock
@pytest.mark.one_kernel
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("rate", RATES)
def test_exact(d0: Shaped, rate: str, sizes: str) -> None:
    """No packet is early by more than a microsecond, and all together are as fast as the rate."""
    count = 2000 if RATES[rate] >= 1250000 else 300
    d0.set(f"rate {rate} {ROOMY}")
    for _, size in zip(range(count), itertools.cycle(SIZES[sizes]), strict=False):
        d0.send(flow(2).frame(size, 0))
    seconds = count * max(SIZES[sizes]) / RATES[rate]
    left = d0.after(seconds + 0.1)
    assert len(left) == count
    due = left[0][0]
    for at, frame in left:
        assert at >= due - 1000
        due += len(frame) * 1_000_000_000 // RATES[rate]
    sent = sum(lengths(left[:-1]))
    took = (left[-1][0] - left[0][0]) / 1e9
    assert sent / took == pytest.approx(RATES[rate], rel=0.0025)


@pytest.mark.clock
def test_no_burst(d0: Shaped) -> None:
    """However late timers and processors are: no more than what a late timer is owed."""
    d0.set(f"{BYTE_US} {ROOMY}")
    for _ in range(200):
        d0.send(flow(2).frame(1000, 0))
    left = d0.after(0.3)
    while len(left) < 200:
        left += d0.after(0.1)
    for first, last in itertools.combinations(range(0, 200, 10), 2):
        least = (last - first) * 1_000_000 - LATE
        assert left[last][0] - left[first][0] >= least


@pytest.mark.clock
def test_idle_saves_nothing(d0: Shaped) -> None:
    d0.set(BYTE_US)
    for _ in range(3):
        time.sleep(1)
        begin = time.clock_gettime_ns(time.CLOCK_REALTIME)
        for _ in range(4):
            d0.send(flow(2).frame(1000, 0))
        left = d0.after(0.1)
        assert left[0][0] - begin < 100_000
        assert all(abs(gap - 1_000_000) < 1000 for gap in gaps(left))
    # The wire is busy with the last one, for as long as that takes, and no longer
    for pause, waits in ((0.0004, 600_000), (0.002, 0)):
        d0.send(flow(2).frame(1000, 0))
        begin = time.clock_gettime_ns(time.CLOCK_REALTIME)
        time.sleep(pause)
        d0.send(flow(2).frame(1000, 0))
        left = d0.after(0.1)
        expected = 1_000_000 if waits else pause * 1e9
        assert gaps(left)[0] == pytest.approx(expected, abs=200_000)


def times(d0: Shaped, words: str, kind: str, sizes: list[int]) -> list[int]:
    """What IP packets of these lengths take, in 10 us, of what is to be as fast as 800 kbit/s"""
    d0.set(words, kind)
    # What comes first leaves at once, while others are still to come.
    frames = [d0.short(LINK + size) for size in (9000, *sizes, sizes[0])]
    for frame in frames:
        assert d0.send(frame)
    left: list[tuple[int, bytes]] = []
    while more := d0.after(10):  # not more than what the tap has room for
        left += more
    assert lengths(left) == [len(frame) for frame in frames]
    return [round(gap / 10000) for gap in gaps(left)][1:]


CAKE = "cake besteffort flowblind rtt 1000s memlimit 1gb no-split-gso bandwidth 800kbit"
MORE_WORDS = ("docsis ether-vlan", "overhead 256 mpu 256 ptm", "mpu 64 atm", "overhead 8 mpu 0")


@pytest.mark.clock
@pytest.mark.one_kernel
@pytest.mark.parametrize("words", [*KEYWORDS, *FRAMINGS, *MORE_WORDS])
def test_wire(d0: Shaped, words: str) -> None:
    """What each length takes on the wire, by arithmetic and by cake

    All of las, and of the others some: it is one piece of code.
    """
    sizes = list(range(1, 9001, 1 if d0.kind == "las" else 97))
    for batch in (sizes[i : i + 500] for i in range(0, len(sizes), 500)):
        ours = times(d0, f"rate 800kbit {words} {ROOMY}", published(d0.kind), batch)
        assert ours == [wire(words, size) for size in batch]
        if d0.kind == "las":
            cakes = times(d0, words, CAKE, batch)
            assert ours == cakes


@pytest.mark.clock
def test_negative_overhead(d0: Shaped) -> None:
    """Who is shorter than that takes nothing, or `mpu`. To cake such a packet is of 4 GB."""
    sizes = [1, 13, 14, 15, 64, 65, 300]
    for words in ("overhead -14", "overhead -64 mpu 20", "overhead -64 atm"):
        ours = times(d0, f"rate 800kbit {words} {ROOMY}", published(d0.kind), sizes)
        assert ours == [wire(words, size) for size in sizes], words


@pytest.mark.parametrize("number", [2, 3], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("words", ["", "docsis", "pppoe-vcmux", "overhead 30 mpu 256 ptm"])
@pytest.mark.clock
def test_wire_of_a_bundle(d0: Shaped, number: int, words: str) -> None:
    """A bundle that is not split takes as long as its segments."""
    each, size, last = flow(number), 700, 123
    d0.set(f"{BYTE_US} split_gso off {words} {ROOMY}")
    assert d0.send_bundle(each, [1, 2, 3, 4], size, last)
    d0.send(each.frame(100, 5))
    left = d0.after(0.1)
    headers = len(each.headers) - LINK
    expected = 3 * wire(words, headers + size) + wire(words, headers + last)
    assert round(gaps(left)[-1] / 1000) == expected
    assert d0.show()["gso_split"] == 0


@pytest.mark.each_kernel
@pytest.mark.parametrize(
    ("words", "split"),
    [
        ("split_gso auto rate unlimited", False),
        ("split_gso auto rate 10mbit", True),
        ("split_gso auto rate 24216kbit", True),  # 3028 bytes take 1.0003 ms
        ("split_gso auto rate 24224kbit", False),
        ("split_gso auto rate 1gbit", False),
        ("split_gso on rate 1gbit", True),
        ("split_gso rate 1gbit", True),
        ("split_gso off rate 1mbit", False),
        ("no_split_gso rate 1mbit", False),
    ],
)
def test_split(d0: Shaped, words: str, split: bool) -> None:
    d0.set(words)
    assert len(flow(2).headers) == 54  # of each segment
    d0.send_bundle(flow(2), [1, 2], 1460, 1460)
    time.sleep(0.1)
    assert d0.show()["gso_split"] == split


@pytest.mark.clock
@pytest.mark.parametrize(
    ("words", "rate"),
    [("8gbit", 1e9), ("80mbit", 1e7), ("12345kbit", 12345e3 / 8), ("80kbit", 1e4)],
)
def test_change_scales_what_is_left(d0: Shaped, words: str, rate: float) -> None:
    """Who waits goes when the new rate would have let it, and what is on the wire stays there."""
    d0.set(f"rate 8kbit {ROOMY}")  # a byte takes a millisecond
    for _ in range(3):
        d0.send(flow(2).frame(1000, 0))
    ((first, _),) = d0.after(0.25)
    begin = time.clock_gettime_ns(time.CLOCK_REALTIME)
    d0.change(f"rate {words}")
    changed = time.clock_gettime_ns(time.CLOCK_REALTIME)
    left = d0.after(0.3)
    assert len(left) == 2
    spent = left[0][0] - begin
    assert spent <= 760 / rate * 1e9 + 2e7  # tc takes some of it
    assert spent >= (1000 - (changed - first) / 1e6) / rate * 1e9
    assert gaps(left)[0] == pytest.approx(1000 / rate * 1e9, abs=1000)


@pytest.mark.each_kernel
def test_change_to_unlimited(d0: Shaped) -> None:
    """Nobody waits any longer, and nothing is lost."""
    d0.set(f"rate 8bit {ROOMY}")
    for ident in range(50):
        d0.send(flow(2).frame(1000, ident))
    assert len(d0.after(0.1)) == 1
    d0.change("rate unlimited")
    assert len(d0.first(49)) == 49
    shown = d0.show()
    assert (shown["qlen"], shown["backlog"], shown["drops"]) == (0, 0, 0)


@pytest.mark.each_kernel
@pytest.mark.parametrize("how", ["del", "replace", "down"])
def test_gone_while_it_waits(kind: str, how: str) -> None:
    """The timer is not left behind, nor are packets."""
    d0 = Shaped(kind)
    d0.set(f"rate 8kbit {ROOMY}")
    for ident in range(20):
        d0.send(flow(ident).frame(1000, ident))
    if how == "replace":
        run(f"tc qdisc replace dev d0 root handle 3: {kind} rate 16kbit")
    elif how == "down":
        d0.bounce()
        assert d0.send(flow(1).frame(1000, 1))
    time.sleep(0.01)
    d0.close()


@pytest.mark.each_kernel
@pytest.mark.has("forgive_share")
def test_far_more_than_before(d0: Shaped) -> None:
    """Streams have sent what 2^37 times the rate before takes: x86 does not divide what does not
    fit."""
    stream, other = flow(2), flow(4)
    d0.set("rate 1mbit split_gso off limit 100 buffer 0ms")
    for _ in range(20):
        for _ in range(12):  # so that it is measured all the time
            d0.send(other.frame(1500, 0))
        d0.send(stream.frame(60, 0))
        d0.after(0.14)
    d0.change("rate 8bit")
    with d0.bundle_socket() as sock:
        for _ in range(3000):  # of 64 KiB: 2^27 bytes are too many
            with suppress(OSError):  # there is no room for most
                sock.send(d0.bundle(stream, list(range(44)), 1448, 1448))
    d0.change("rate 8tbit")
    assert len(d0.first(100)) >= 100


@pytest.mark.clock
@pytest.mark.has("hosts")
def test_hosts_are_not_over_by_a_change(d0: Shaped) -> None:
    """What a host may have sent of late is of the new rate, and no part of that."""
    hosts = [host_flow(2, dst=2), host_flow(2, dst=3)]
    d0.set(f"rate 10gbit hosts dst forgive_share 50% {ROOMY}")
    for ident in range(60):
        d0.send(hosts[ident % 2].frame(1500, ident))
    d0.first(60)
    d0.change("rate 1mbit")
    for ident in range(8):
        d0.send(hosts[ident % 2].frame(1500, ident))
    shown = d0.show()
    assert (shown["qlen"] >= 6, shown["hosts_over"]) == (True, 0)


@pytest.mark.clock
@pytest.mark.has("hosts")
@pytest.mark.parametrize(
    ("flows", "idle", "words"),
    [
        (60, 0, "rate 1mbit"),
        (60, 0, "rate 1mbit quantum 3000"),
        (200, 0.1, "rate 1mbit"),
        (200, 0.1, "rate 10mbit"),
    ],
)
def test_what_a_host_has_sent_is_of_the_rate(
    d0: Shaped, flows: int, idle: float, words: str
) -> None:
    """Who was not over his share is not when the rate falls, nor who was and has paused since."""
    d0.set(f"rate 100mbit hosts dst forgive_share 50% {ROOMY}")
    for number in 30 * [*range(flows)]:
        d0.send(host_flow(100 + 2 * number, dst=2).frame(1500, 0))
    assert len(d0.first(30 * flows)) == 30 * flows
    time.sleep(idle)
    d0.change(words)
    for ident in range(8):
        d0.send(host_flow(2, dst=2 + ident % 2).frame(1500, ident))
    assert d0.show()["hosts_over"] == 0


@pytest.mark.clock
@pytest.mark.has("hosts")
@pytest.mark.parametrize(
    "changes",
    ["rate 8mbit", "rate 8mbit|rate 1mbit|rate 8mbit", "quantum 3000", "rate 8mbit quantum 3000"],
)
def test_who_is_over_is_not_pardoned_by_a_change(d0: Shaped, changes: str) -> None:
    d0.set(f"rate 80mbit hosts dst forgive_share 50% {ROOMY}")
    for number in 30 * [*range(200)]:
        d0.send(host_flow(100 + 2 * number, dst=2).frame(1500, 0))
    assert len(d0.first(6000)) == 6000
    for change in changes.split("|"):
        d0.change(change)
    for ident in range(8):
        d0.send(host_flow(2, dst=2 + ident % 2).frame(1500, ident))
    assert d0.show()["hosts_over"] == 1


@pytest.mark.clock
@pytest.mark.has("hosts")
@pytest.mark.parametrize("changes", [False, True])
def test_who_is_over_is_not_pardoned_by_many_changes(d0: Shaped, changes: bool) -> None:
    """Nor soon after one: what others have sent is what they have in a whole epoch."""
    d0.set(f"rate 80mbit hosts dst forgive_share 50% {ROOMY}")
    flood = [host_flow(100 + 2 * number, dst=2) for number in range(600)]
    others = itertools.cycle(host_flow(2, dst=host) for host in range(3, 23))
    waiting, left, over = [0, 0], 67, ""  # of the flood, of others; what was sent
    for number in range(300):
        for _ in range(min(left * 7 // 10, 100 - waiting[1])):  # of the link
            waiting[1] += d0.send(next(others).frame(1500, 0))
        for each in itertools.islice(itertools.cycle(flood), number, number + 600 - waiting[0]):
            waiting[0] += d0.send(each.frame(1500, 0))
        sent = [frame[33] == 2 for _, frame in d0.after(0.01)]
        left = len(sent)
        waiting = [waiting[0] - sum(sent), waiting[1] + sum(sent) - left]
        if number > 200 and changes:
            d0.change(f"quantum {3000 + number % 2}")
        over += str(d0.show()["hosts_over"])
    assert over[200:] == 100 * "1"


@pytest.mark.clock
@pytest.mark.has("hosts")
def test_long_flows_wait_by_the_rate_of_their_host(d0: Shaped) -> None:
    """A host's short flows may keep its long ones waiting for three seconds of what it has of the
    link, not of all."""
    d0.set(f"rate 8mbit hosts dst fair 20kb flows 65536 newcomers 0 target 0ms {ROOMY}", d0.kind)
    long = [host_flow(2, dst=2 + number) for number in range(4)]
    waiting = {long[0].frame(1500, ident) for ident in range(200)}
    for each in 20 * long:
        d0.send(each.frame(1500, 0))
    for number in 12 * [*range(500)]:
        d0.send(host_flow(100 + 2 * number, dst=2).frame(1500, 0))
    assert len(d0.first(6080)) == 6080
    d0.change("rate 800kbit")
    for number in range(1000):
        d0.send(host_flow(4000 + 2 * number, dst=2).frame(1500, 0))
        d0.send(long[1 + number % 3].frame(1500, 0))
    for frame in waiting:
        d0.send(frame)
    assert d0.show()["hosts_over"] == len(long)
    left = [frame for _, frame in d0.first(500)]
    first = next((at for at, frame in enumerate(left) if frame in waiting), len(left))
    assert 220 < first < 260, "3 s of 800 kbit/s are 200 packets of all, and one costs 34"


@pytest.mark.each_kernel
def test_overlimits(d0: Shaped) -> None:
    d0.set(f"rate 8bit {ROOMY}")
    d0.send(flow(2).frame(1000, 0))
    assert d0.show()["overlimits"] == 0
    d0.send(flow(2).frame(1000, 0))
    assert d0.show()["overlimits"] > 0


@pytest.mark.each_kernel
@pytest.mark.parametrize("rate", ["8bit", "100gbit", "1234567890123bps"])
def test_extremes(d0: Shaped, rate: str) -> None:
    d0.set(f"rate {rate} overhead 256 mpu 256 atm {ROOMY}")
    for ident in range(100):
        d0.send(flow(ident).frame(1514, ident))
    count = 1 if rate == "8bit" else 100
    left = d0.first(count) + d0.after(0.1)
    assert len(left) == count
    assert d0.show()["qlen"] == 100 - len(left)


@pytest.mark.clock
def test_ingress(d0: Shaped) -> None:
    """What was dropped has used the link: that is paid back, half a packet's time by each sent."""
    for words, later in (("egress", 0), ("ingress", 10)):
        d0.set(f"{BYTE_US} {ROOMY} limit 20 {words}")
        for ident in range(31):  # the first leaves at once, and 10 find no room
            d0.send(flow(2).frame(1000, ident))
        left = d0.after(1)
        assert len(left) == 21 and d0.show()["drops"] == 10
        # The first was on its way before there was a drop.
        expected = [1_000_000] + [1_500_000] * 2 * later + [1_000_000] * 20
        assert gaps(left) == pytest.approx(expected[:20], abs=2000)


@pytest.mark.clock
def test_ingress_leaves_two_thirds(d0: Shaped) -> None:
    """However much is dropped, and what is owed for it is soon paid back."""
    d0.set(f"{BYTE_US} {ROOMY} limit 20 ingress")
    sent = []
    for _ in range(100):
        for ident in range(60):
            d0.send(flow(2).frame(1000, ident))
        sent += d0.after(0.02)
    middle = gaps(sent)[20:-20]
    assert sum(middle) / len(middle) == pytest.approx(1_500_000, rel=0.02)
    time.sleep(0.2)
    d0.departures()
    owed = 0
    for ident in range(1000):
        d0.send(flow(2).frame(1000, ident))
        owed += sum(gap > 1_400_000 for gap in gaps(d0.after(0.01)))
    assert owed < 10  # nothing waits, and the wire is free all the time
    left = []
    for _ in range(30):
        for ident in range(20):
            d0.send(flow(2).frame(1000, ident))
        left += d0.after(0.025)
    assert gaps(left)[-2] < 6_000_000


@pytest.mark.clock
def test_debt_is_forgotten(d0: Shaped) -> None:
    """By a wire that is idle for long, and by going without `ingress` or rate"""
    for words, pause in (("", 0.3), ("egress", 0), ("rate unlimited", 0.05)):
        d0.set(f"{BYTE_US} {ROOMY} limit 20 ingress")
        for ident in range(100):
            d0.send(flow(2).frame(1000, ident))
        if words:
            d0.change(words)
        d0.after(0.06)
        time.sleep(pause)
        d0.change(f"{BYTE_US} ingress")
        d0.departures()
        for ident in range(10):
            d0.send(flow(2).frame(1000, ident))
        assert gaps(d0.after(0.1)) == pytest.approx([1_000_000] * 9, abs=2000), words


@pytest.mark.clock
def test_debt_outlasts_a_change(d0: Shaped) -> None:
    """Of other options"""
    d0.set(f"{BYTE_US} {ROOMY} limit 20 ingress")
    for ident in range(31):  # the first leaves at once, and 10 find no room
        d0.send(flow(2).frame(1000, ident))
    d0.change("limit 30")
    left = d0.after(1)
    assert gaps(left)[2:] == pytest.approx([1_500_000] * 18, abs=2000)


@pytest.mark.clock
def test_all_drops_are_owed(d0: Shaped) -> None:
    """Those of a change, and of filters, too"""
    for _ in range(2):
        d0.set(f"{BYTE_US} {ROOMY} ingress")
        for ident in range(30):
            d0.send(flow(2).frame(1000, ident))
        d0.change("limit 19")
        assert d0.show()["drops"] == 10
        left = d0.after(0.1)
        assert gaps(left)[1:] == pytest.approx([1_500_000] * 18, abs=2000)
    d0.set(f"{BYTE_US} {ROOMY} ingress")
    for ident in range(20):
        d0.send(flow(2).frame(1000, ident))
    run("tc filter add dev d0 parent 1: protocol all matchall action drop")
    for ident in range(10):
        d0.send(flow(2).frame(1000, ident))
    left = d0.after(0.1)
    assert len(left) == 20
    assert gaps(left)[1:] == pytest.approx([1_500_000] * 18, abs=2000)


@pytest.mark.clock
def test_unlimited_saves_nothing(d0: Shaped) -> None:
    """What was sent without a rate is not remembered as late."""
    d0.set(f"{BYTE_US} {ROOMY}")
    for ident in range(20):
        d0.send(flow(2).frame(1000, ident))
    time.sleep(0.005)
    d0.change("rate unlimited")
    d0.after(0.1)
    d0.change(BYTE_US)
    time.sleep(1)
    for ident in range(20):
        d0.send(flow(2).frame(1000, ident))
    assert gaps(d0.after(0.1)) == pytest.approx([1_000_000] * 19, abs=2000)


@pytest.mark.clock
@pytest.mark.has("long_share")
@pytest.mark.parametrize("rates", ["2", "15 11 8 6 4 3 2"])
def test_nothing_is_stale_by_a_change(d0: Shaped, rates: str) -> None:
    """What the link had sent before was in less time, whether it slows at once or by and by."""
    d0.set("rate 20mbit limit 10000 memory_limit 1gb target 0ms", d0.kind)
    for ident in range(400):
        d0.send(flow(2).frame(1500, ident))
    left = d0.after(0.21)
    assert 300 < len(left) < 390
    for rate in rates.split():
        d0.change(f"rate {rate}mbit")
    left += d0.first(400 - len(left))
    assert (len(left), d0.show()["drops"]) == (400, 0)


@pytest.mark.each_kernel
def test_change_drops_nothing_but_for_limits(gate: Callable[..., Gate]) -> None:
    """What is more than `buffer` allows now goes as more comes: two for one."""
    d0 = gate("buffer 1s rate 80mbit limit 10000 memory_limit 1gb")
    for ident in range(1000):
        assert d0.send(flow(2).frame(1000, ident))
    for words in ("rate 1mbit", "rate 1mbit", "", "limit 9999", "buffer 900ms"):
        d0.change(words)
        assert (d0.show()["qlen"], d0.show()["drops"]) == (1000, 0)
    d0.send(flow(2).frame(1000, 1000))
    assert (d0.show()["qlen"], d0.show()["drops"]) == (999, 2)
    d0.change("limit 500")
    assert (d0.show()["qlen"], d0.show()["drops"]) == (500, 501)


@pytest.mark.has("long_share")
def test_groups_follow_the_rate(gate: Callable[..., Gate], kind: str) -> None:
    """A flow is long from half of what the link sends in `buffer` on, from the next packet on."""
    d0 = gate()
    for first, then, long in (("1mbit", "1mbit", 1), ("1mbit", "1gbit", 0), ("1gbit", "1mbit", 1)):
        run("tc qdisc replace dev d0 parent 1:1 handle 20: pfifo")
        run(f"tc qdisc replace dev d0 parent 1:1 handle 10: {kind} rate {first}")
        d0.send(flow(2).frame(1000, 0))
        assert len(d0.release()) == 1
        d0.change(f"rate {then}")
        for ident in range(60):
            d0.send(flow(2).frame(1000, ident))
        assert d0.show()["flows_long"] == long, (first, then)


@pytest.mark.clock
def test_ten_changes_a_second(d0: Shaped) -> None:
    """For twenty seconds, or five, under load: nothing is lost but by limits, nobody stalls, all
    is counted."""
    rng = random.Random(1)
    changes = 50 if SLOW else 200
    rates = [1, 100, *(rng.choice((1, 2, 5, 10, 20, 50, 100)) for _ in range(changes - 2))]
    d0.set(f"rate 100mbit {ROOMY} limit 100000")
    sent = 0
    left: list[tuple[int, bytes]] = []
    since = [(0, 100)]  # when each rate may have begun, and by then it has
    for rate in rates:
        while d0.show()["qlen"] < 1500:
            for _ in range(1000):
                assert d0.send(flow(2).frame(1000, sent))
                sent += 1
        begin = time.clock_gettime_ns(time.CLOCK_REALTIME)
        d0.change(f"rate {rate}mbit")
        since.append((begin, rate))
        left += d0.after(0.1)
    shown = d0.show()
    assert shown["drops"] == 0
    assert shown["qlen"] == sent - len(left)
    assert shown["backlog"] == 1000 * shown["qlen"]
    # No gap is longer than a packet takes at the slowest of the rates that may have been, and 2 ms
    at = 0
    for (after, _), gap in zip(left[1:], gaps(left), strict=True):
        while at + 1 < len(since) and since[at + 1][0] + 50_000_000 < after - gap:
            at += 1
        may = [rate for begin, rate in since[at : at + 3] if begin <= after]
        assert gap <= 8_000_000 / min(may) + 2_000_000, (gap, may)


@pytest.mark.each_kernel
def test_room_is_known(d0: Shaped) -> None:
    """`buffer` is of the rate that is set, from the first packet on."""
    d0.set("buffer 2s rate 8mbit")
    assert d0.show()["room"] == 2000000
    d0.change("rate 16mbit")
    assert d0.show()["room"] == 4000000
    d0.change("buffer 1s")
    assert d0.show()["room"] == 2000000
    d0.change("rate unlimited")
    assert d0.show()["room"] == 0


@pytest.mark.each_kernel
@pytest.mark.parametrize("parent", ["prio", "tbf rate 1gbit burst 10mb limit 10mb"])
def test_under_a_parent(d0: Shaped, parent: str) -> None:
    """Whether it peeks, as tbf, or not: who has to wait is counted, and comes when it is time."""
    run("tc qdisc replace dev d0 root handle 2: pfifo")
    run(f"tc qdisc replace dev d0 root handle 3: {parent}")
    if parent == "prio":
        run("tc qdisc replace dev d0 parent 3:1 handle 4: pfifo")
    above = "3:2" if parent == "prio" else "3:1"
    run(f"tc qdisc replace dev d0 parent {above} handle 1: {published(d0.kind)} {BYTE_US}")
    for ident in range(20):
        assert d0.send(flow(2).frame(1000, ident))
    left: list[tuple[int, bytes]] = []
    while len(left) < 20:
        left += d0.after(0.01)
    if HOST_CLOCK.exists():  # else a tap's times may come late
        assert left[19][0] - left[0][0] >= 19_000_000 - LATE
    for kind in (d0.kind, parent.split()[0]):
        shown = d0.show(kind)
        assert (shown["qlen"], shown["backlog"], shown["drops"]) == (0, 0, 0)


def test_several_queues(kind: str) -> None:
    """As the root of a device with several queues the rate is that of all, and of each under mq."""
    name = f"rate-{kind}"  # tc remembers a name's number
    run(f"ip link add {name} numtxqueues 4 type dummy")
    try:
        run(f"ip link set {name} up")
        run(f"tc qdisc replace dev {name} root handle 1: {kind} rate 20mbit")
        assert '"rate":2500000' in run(f"tc -j qdisc show dev {name}").replace(" ", "")
        run(f"tc qdisc replace dev {name} root handle 2: mq")
        for child in range(1, 5):
            run(f"tc qdisc replace dev {name} parent 2:{child} {kind} rate {child}mbit")
        shown = run(f"tc -j qdisc show dev {name}").replace(" ", "")
        for child in range(1, 5):
            assert f'"rate":{125000 * child}' in shown
    finally:
        run(f"ip link del {name}")
