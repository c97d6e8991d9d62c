# SPDX-License-Identifier: GPL-2.0
"""The fluid model against what its paper says in numbers, and each part against another one."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import erf

from lab.models import fluid

LINK = fluid.Link()
LARGE = fluid.Link(buffer=2000)  # more than C^2 R^2 of table 3
POINT = LINK.rate / 1000  # Mbit/s, 0.1 % of the link
TABLE3 = (0.03, 0.05)
FIGURE2 = (0.002, 0.006)


def test_table_3() -> None:
    paper = {
        "fq": ((5.00, 5.00, 5.00, 5.00), 10.01),
        "lqf": ((7.35, 2.65, 7.35, 2.65), 10.00),
        "sqf": ((6.32, 8.68, 2.65, 7.35), 15.00),
    }
    for policy, (values, total) in paper.items():
        got = fluid.table3(policy, LINK, TABLE3)
        assert got == pytest.approx(values, abs=POINT)
        assert got[:2].sum() == pytest.approx(total, abs=0.005)
        assert got[2:].sum() == pytest.approx(10)
        assert got[2:] == pytest.approx(fluid.throughput(policy, LINK, TABLE3))
    # not with the round trips of the caption
    assert fluid.throughput("sqf", LINK, (0.02, 0.05)) == pytest.approx([1.379, 8.621], abs=1e-3)
    assert fluid.throughput("lqf", LINK, (0.02, 0.05)) == pytest.approx([8.621, 1.379], abs=1e-3)


def test_table_3_has_what_no_equation_gives() -> None:
    assert fluid.sending("fq", LINK, TABLE3) == pytest.approx([5.0318, 5.0115], abs=1e-4)
    assert fluid.sending("lqf", LINK, TABLE3) == pytest.approx([7.3848, 2.6585], abs=1e-4)
    assert fluid.sending("sqf", LINK, TABLE3) == pytest.approx([4.5065, 8.0337], abs=1e-4)
    assert fluid.corollary_5_3(LINK, TABLE3) == pytest.approx([4.4966, 8.0249], abs=1e-4)
    # the factor of 2, of which table 3 has the largest part: C^2 / (2 beta) for the logarithm
    twice = fluid.corollary_5_3(LINK, TABLE3, 2)
    assert twice == pytest.approx([6.3462, 8.6969], abs=1e-4)
    tiny = fluid.Link(packet=15)
    assert fluid.corollary_5_3(tiny, TABLE3, 2) == pytest.approx([6.32, 8.68], abs=0.005)
    assert fluid.sending("sqf", tiny, TABLE3) == pytest.approx([4.485, 8.015], abs=0.005)


def test_table_4() -> None:
    paper = {
        3: {"fq": (0, 7), "lqf": (3, 10), "sqf": (0, 7)},
        7: {"fq": (2, 5), "lqf": (7, 10), "sqf": (0, 3)},
    }
    for udp, row in paper.items():
        for policy, values in row.items():
            assert fluid.mixed_as_printed(policy, LINK, udp) == pytest.approx(values)
            got = fluid.mixed(policy, LINK, 0.02, udp)
            if policy != "lqf":
                assert (got.udp_loss, got.tcp) == pytest.approx(values, abs=1e-9)
            # (26) is what gets through
            else:
                assert 10 * udp / (udp + got.tcp_sending) == pytest.approx(udp - got.udp_loss)
    assert fluid.mixed("lqf", LINK, 0.02, 3).udp_loss == pytest.approx(0.0301, abs=1e-4)
    assert fluid.mixed("lqf", LINK, 0.02, 7).udp_loss == pytest.approx(0.1529, abs=1e-4)


@pytest.mark.parametrize("udp", [3, 7])
@pytest.mark.parametrize("policy", fluid.POLICIES)
def test_udp_by_the_equations(policy: str, udp: float) -> None:
    rest = fluid.mixed(policy, LINK, 0.02, udp)
    for start, queue in ((12, 80), (7.5, 20)):
        orbit = fluid.saturated(policy, LINK, (0.02, 1), 6, (start, udp), queue, udp=True)
        got = orbit.between(5.5, 6)
        assert got["lost"][1] == pytest.approx(rest.udp_loss, abs=1e-6)
        assert got["served"][0] == pytest.approx(rest.tcp, abs=1e-6)
        assert got["sent"] == pytest.approx([rest.tcp_sending, udp], abs=1e-6)


def test_udp_at_the_limits() -> None:
    for policy in fluid.POLICIES:
        none = fluid.mixed(policy, LINK, 0.02, 0)
        assert (none.udp_loss, none.tcp) == pytest.approx((0, 10))
        alone = (10 + np.sqrt(100 + 8 * 0.02**-2 * LINK.scale**2)) / 2
        assert none.tcp_sending == pytest.approx(alone)
        for udp in np.linspace(0.1, 9.9, 20):
            got = fluid.mixed(policy, LINK, 0.02, udp)
            assert got.tcp + udp - got.udp_loss == pytest.approx(10)
            near = fluid.mixed(policy, LINK, 0.02, udp + 1e-9)
            assert near.udp_loss == pytest.approx(got.udp_loss, abs=1e-7)
    below, above = (fluid.mixed("fq", LINK, 0.02, 5 + x) for x in (-1e-9, 1e-9))
    assert below.tcp == pytest.approx(above.tcp)
    # printed bounds of (26), which are those of what gets through
    for udp in (3, 7):
        sent = fluid.mixed("lqf", LINK, 0.02, udp).tcp_sending
        least = 10 * udp / (10 + np.sqrt(2) / 0.02 * LINK.scale)
        assert least < 10 * udp / (udp + sent) < udp


def direct(first: float, other: float, rtt: float, times: np.ndarray, part: float) -> np.ndarray:
    """Equation (6) of the flow that loses, with `part` of its rate for each packet lost."""
    c, slope = LINK.capacity, rtt**-2

    def change(t: float, y: np.ndarray) -> np.ndarray:
        return -part * y * (y + other / LINK.scale + slope * t - c)

    found = solve_ivp(
        change, (0, times[-1]), [first / LINK.scale], "DOP853", times, rtol=1e-10, atol=1e-10
    )
    return found.y[0] * LINK.scale


def printed(first: float, other: float, rtt: float, times: np.ndarray) -> np.ndarray:
    """(9) with (7), but for the t that its exponent lacks."""
    a, b, c, slope = first / LINK.scale, other / LINK.scale, LINK.capacity, rtt**-2
    root = np.sqrt(2 * slope)
    area = erf((b - c + slope * times) / root) - erf((b - c) / root)
    under = 2 * slope**0.5 + a * np.exp((b - c) ** 2 / 2 / slope) * np.sqrt(2 * np.pi) * area
    power = -times / 2 * (2 * b - 2 * c + slope * times)
    return 2 * slope**0.5 * a * np.exp(power) / under * LINK.scale


@pytest.mark.parametrize(
    ("first", "other", "rtt", "span"),
    [(20, 0, 0.006, 0.06), (20, 0, 0.02, 0.6), (8, 12, 0.01, 0.02), (12, 1, 0.01, 0.05)],
)
def test_decay(first: float, other: float, rtt: float, span: float) -> None:
    times = np.linspace(0, span, 50)
    want = direct(first, other, rtt, times, 0.5)
    got = fluid.decay(LINK, first, other, rtt, times)
    assert got == pytest.approx(want, rel=1e-6, abs=1e-8)
    assert got[0] == pytest.approx(first)
    # (7) as printed is that of a rate which each packet lost takes away, not half of it
    if rtt <= 0.01:  # or the parts of it are too large
        old = printed(first, other, rtt, times)
        assert old == pytest.approx(direct(first, other, rtt, times, 1), rel=1e-3, abs=1e-8)
        assert abs(old - got).max() > 0.05


def test_decay_is_continuous() -> None:
    edge = (10 - 5) * 0.01**2 / LINK.scale  # when the other one sends 10 Mbit/s
    times = edge + np.array([-1e-9, 0, 1e-9])
    assert np.ptp(fluid.decay(LINK, 12, 5, 0.01, times)) < 1e-4
    others = [fluid.decay(LINK, 12, 10 + x, 0.01, 0.01) for x in (-1e-9, 0, 1e-9)]
    assert np.ptp(others) < 1e-6
    assert fluid.decay(LINK, 20, 0, 0.1, 1e3) == 0


@pytest.mark.parametrize(
    ("link", "rtts"), [(LARGE, TABLE3), (LINK, FIGURE2), (LINK, (0.006, 0.006))]
)
def test_cycle_by_the_equations(link: fluid.Link, rtts: tuple[float, float]) -> None:
    cycle = fluid.cycle(link, rtts)
    assert cycle.least_buffer < link.buffer
    orbit = fluid.saturated("sqf", link, rtts, 5 * cycle.period, (13, 1), link.buffer / 2)
    got = orbit.between(3.5 * cycle.period, 4.5 * cycle.period)
    assert got["served"] == pytest.approx(cycle.throughput, abs=1e-5)
    assert got["sent"] == pytest.approx(cycle.sending, abs=1e-5)
    assert got["queues"] == pytest.approx(cycle.queues, abs=1e-3)
    # and (32), by the decay alone
    for i in range(2):
        begin, length = cycle.begin, cycle.turns[1 - i]
        lost, _ = quad(
            lambda t, i=i, begin=begin: fluid.decay(
                link, 20 - begin[i], begin[1 - i], rtts[1 - i], t
            ),
            0,
            length,
            points=[length / 1000, length / 2],
            limit=200,
        )
        mean = (link.rate * cycle.turns[i] + lost) / cycle.period
        assert mean == pytest.approx(cycle.sending[i], abs=1e-5)
        end = fluid.decay(link, 20 - begin[i], begin[1 - i], rtts[1 - i], length)
        assert end == pytest.approx(begin[i], abs=1e-6)


def test_cycle_of_lemma_5_1() -> None:
    c, (alpha, beta) = LARGE.capacity, fluid.growth(TABLE3)
    cycle = fluid.cycle(LARGE, TABLE3)
    ideal = fluid.cycle(LARGE, TABLE3, ideal=True)
    for each in (cycle, ideal):
        assert each.turns == pytest.approx([2 * c / alpha, 2 * c / beta])
        assert each.period == pytest.approx(2 * c * (1 / alpha + 1 / beta))
        assert each.throughput == pytest.approx(fluid.throughput("sqf", LARGE, TABLE3))
        more = c**2 * (alpha - beta) / (3 * alpha * beta)
        assert each.queues == pytest.approx([1000 + more, 1000 - more])
        assert each.least_buffer == pytest.approx(c**2 / beta)
    assert np.all(ideal.begin == 0)
    # not so where C R is some packets: proposition B.1
    cycle = fluid.cycle(LINK, FIGURE2)
    assert cycle.begin == pytest.approx([0.0204, 1.9837], abs=1e-4)
    assert cycle.throughput == pytest.approx([1.2152, 8.7848], abs=1e-4)
    assert fluid.cycle(LINK, FIGURE2, ideal=True).throughput == pytest.approx([1, 9])
    same = fluid.cycle(LINK, (0.02, 0.02 + 1e-9))
    assert same.throughput == pytest.approx([5, 5], abs=1e-5)
    assert same.queues == pytest.approx([50, 50], abs=1e-3)
    with pytest.raises(ValueError, match="so short"):
        fluid.cycle(LINK, (0.0001, 0.0001))


def test_a_buffer_too_small_for_lemma_5_1() -> None:
    cycle = fluid.cycle(LINK, TABLE3)
    assert cycle.least_buffer > 17 * LINK.buffer
    orbit = fluid.saturated("sqf", LINK, TABLE3, 12, (13, 1), 50)
    assert orbit.queues.min(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert orbit.between(4, 12)["served"].sum() == pytest.approx(10)
    assert orbit.between(4, 12)["served"][0] > 5  # not the smaller part


@pytest.mark.parametrize("policy", ["fq", "lqf"])
def test_stationary_by_the_equations(policy: str) -> None:
    cases = [(FIGURE2, (13, 1), 90, 2), (FIGURE2, (3, 9), 20, 2), ((0.01, 0.01), (13, 1), 60, 5)]
    # longer round trips take longer to get there
    near = 1.01 * fluid.sending(policy, LINK, TABLE3)
    for rtts, start, queue, span in [*cases, (TABLE3, near, 50, 12)]:
        orbit = fluid.saturated(policy, LINK, rtts, span + 1, start, queue)
        got = orbit.between(span, span + 1)
        assert got["sent"] == pytest.approx(fluid.sending(policy, LINK, rtts), abs=2e-5)
        assert got["served"] == pytest.approx(fluid.throughput(policy, LINK, rtts), abs=2e-5)
        assert got["queues"] == pytest.approx(fluid.queues(policy, LINK, rtts), abs=1e-6)


def test_stationary_solves_15_and_19() -> None:
    c, slopes = LINK.capacity, fluid.growth(TABLE3)
    a = fluid.sending("lqf", LINK, TABLE3) / LINK.scale
    assert slopes * a / a.sum() == pytest.approx(a * a / a.sum() * (a.sum() - c) / 2)
    a = fluid.sending("fq", LINK, TABLE3) / LINK.scale
    assert slopes / 2 == pytest.approx(a * (a - c / 2) / 2)
    # (20) as printed takes away but a quarter of what comes
    a = fluid.table3("fq", LINK, TABLE3)[:2] / LINK.scale
    assert a * (a - c / 2) / 2 == pytest.approx(slopes / 8, rel=1e-3)


@pytest.mark.parametrize("policy", fluid.POLICIES)
def test_three_flows(policy: str) -> None:
    """(22) and (23), and (21) only roughly."""
    rtts = (0.002, 0.005, 0.01)
    link = fluid.Link(buffer=60 if policy != "sqf" else 300)
    orbit = fluid.solve(policy, link, rtts, 1.5, delayed=False, step=1e-4, rows=15000)
    got = orbit.between(0.5, 1.5)
    want = fluid.throughput(policy, link, rtts)
    assert fluid.shares(policy, rtts).sum() == pytest.approx(1)
    assert got["served"].sum() == pytest.approx(10, rel=1e-6)
    if policy == "sqf":
        assert got["served"] == pytest.approx(want, abs=1.2)
        assert np.all(np.diff(got["served"]) > 0)
        return
    assert got["served"] == pytest.approx(want, abs=POINT)
    assert got["queues"] == pytest.approx([20, 20, 20], abs=0.5)
    assert got["sent"] == pytest.approx(fluid.sending(policy, link, rtts), rel=0.02)


@pytest.mark.parametrize("policy", fluid.POLICIES)
@pytest.mark.parametrize("delayed", [False, True])
def test_steps_conserve(policy: str, delayed: bool) -> None:
    orbit = fluid.solve(policy, LINK, FIGURE2, 0.8, udp=1, delayed=delayed, step=2e-4)
    inside = (orbit.all_sent - orbit.served - orbit.lost) / LINK.scale
    assert inside == pytest.approx(orbit.queues, abs=1e-8)
    assert orbit.queues.min() >= 0
    assert orbit.queues.sum(axis=1).max() <= 100 + 1e-9
    assert orbit.sent.min() > 0
    busy = (orbit.queues.sum(axis=1) > 1)[:-1]
    rate = np.diff(orbit.served.sum(axis=1)) / np.diff(orbit.time)
    assert busy.mean() > 0.5
    assert rate[busy] == pytest.approx(10)
    assert rate.max() < 10 + 1e-9
    if not delayed:  # Proposition A.1
        full = np.flatnonzero(orbit.queues.sum(axis=1) > 100 - 1e-9)
        assert full.size == orbit.time.size - full[0]


@pytest.mark.parametrize("policy", fluid.POLICIES)
def test_events_conserve(policy: str) -> None:
    orbit = fluid.saturated(policy, LINK, FIGURE2, 0.2, (13, 1), 30)
    inside = (orbit.all_sent - orbit.served - orbit.lost) / LINK.scale
    assert inside == pytest.approx(orbit.queues - orbit.queues[0], abs=1e-4)
    assert orbit.served.sum(axis=1) == pytest.approx(10 * orbit.time, abs=1e-9)
    assert orbit.queues.sum(axis=1) == pytest.approx(np.full(orbit.time.size, 100))
    assert orbit.queues.min() >= 0
    assert np.all(orbit.sent.sum(axis=1) > 10 - 1e-9)


def test_both_solvers_agree() -> None:
    cycle = fluid.cycle(LINK, FIGURE2)
    span = 5 * cycle.period
    steps = fluid.solve("sqf", LINK, FIGURE2, 2 * span, delayed=False, step=2e-5, rows=30000)
    got = steps.between(span, 2 * span)
    assert got["served"] == pytest.approx(cycle.throughput, abs=0.05)
    assert got["sent"] == pytest.approx(cycle.sending, abs=0.05)
    assert got["queues"] == pytest.approx(cycle.queues, abs=0.5)
    for policy in ("fq", "lqf"):
        steps = fluid.solve(policy, LINK, (0.02, 0.01), 6, delayed=False, step=1e-3)
        got = steps.between(4, 6)
        assert got["served"] == pytest.approx(
            fluid.throughput(policy, LINK, (0.02, 0.01)), abs=0.03
        )
        assert got["sent"] == pytest.approx(fluid.sending(policy, LINK, (0.02, 0.01)), abs=0.05)


def test_the_loss_is_felt_later() -> None:
    """One flow that fills the buffer: its rate falls a round trip, with the queue, afterwards."""
    orbit = fluid.solve("fq", fluid.Link(buffer=20), (0.02,), 2, step=1e-4, rows=20000)
    lost = orbit.time[np.flatnonzero(orbit.lost[:, 0] > 0)[0]]
    falls = orbit.time[np.flatnonzero(np.diff(orbit.sent[:, 0]) < 0)[0]]
    assert falls - lost == pytest.approx(0.02 + 20 / LINK.capacity, abs=5e-4)


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="none of"):
        fluid.shares("fifo", TABLE3)
    with pytest.raises(ValueError, match="above 0"):
        fluid.shares("sqf", (0.0, 0.01))
    with pytest.raises(ValueError, match="two flows"):
        fluid.cycle(LINK, (0.01, 0.02, 0.03))
    with pytest.raises(ValueError, match="UDP"):
        fluid.mixed("sqf", LINK, 0.02, 10)
    with pytest.raises(ValueError, match="more than"):
        fluid.saturated("sqf", LINK, TABLE3, 1, (1, 2), 50)
    with pytest.raises(ValueError, match="each flow"):
        fluid.solve("sqf", LINK, TABLE3, 1, start=(1,))
