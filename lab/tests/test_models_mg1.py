# SPDX-License-Identifier: GPL-2.0
"""The M/G/1 models, against the papers' numbers, closed forms, conservation and a simulation.

run2c is Avrachenkov et al. 2004, las Rai et al. 2004, sched-tcp Ayesta et al. 2014.
"""

import math
from functools import partial

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.integrate import quad

from lab.models import simulate
from lab.models.mg1 import (
    LowerLevel,
    Policy,
    Queue,
    best_threshold,
    fifo,
    las,
    mean_ps_ps,
    mean_response,
    mean_slowdown,
    own_time,
    ps,
    ps_ps,
    slow_start,
    srpt,
)
from lab.models.sizes import (
    BoundedPareto,
    Continuous,
    Exponential,
    Fixed,
    Lomax,
    Mixture,
    Sizes,
    integral,
    lomax,
    pareto,
    parse,
)

BP = parse("bp(13,5000,1.1)")  # Figures 1 and 2 of run2c
D1 = parse("0.8*exp(4)+0.2*bp(13,5000,1.1)")  # section IV of run2c
HYPER = parse("0.9*exp(1)+0.1*exp(30)")  # of decreasing hazard rate, as the next
FILES = Lomax(1e-7, 3)  # bytes, section 6.2 of sched-tcp
STEPS = parse("0.5*fixed(1)+0.3*fixed(4)+0.2*fixed(9)")
ALL = [BP, D1, HYPER, FILES, STEPS, parse("0.7*exp(1)+0.2*bp(3,60,2)+0.1*fixed(2)")]
close = pytest.approx


def shares(sizes: Sizes, *of_mean: float) -> list[float]:
    return [share * sizes.mean for share in of_mean]


# Sizes


@pytest.mark.parametrize("sizes", [*ALL, D1.rest(20), BP.rest(5), pareto(2, 1.2)], ids=repr)
def test_moments(sizes: Sizes) -> None:
    for x in shares(sizes, 0.03, 0.3, 1, 7):
        parts = [0, *(kink for kink in sizes.kinks if kink < x), x]
        for n in (1, 2, 3):
            # E[min(S, x)^n] from the tail alone
            whole = sum(
                quad(lambda y, n: n * y ** (n - 1) * sizes.tail(y), a, b, (n,), epsrel=1e-10)[0]
                for a, b in zip(parts, parts[1:], strict=False)
            )
            assert sizes.truncated(n, x) == close(whole, rel=1e-7)
        points, weights = sizes.nodes([x])
        assert sizes.truncated(1, x) == close(np.minimum(points, x) @ weights, rel=1e-7)
        assert sizes.tail(x) + sizes.atom(x) == close((points >= x) @ weights, abs=1e-9)
    assert sizes.mean == close(np.prod(sizes.nodes(), 0).sum(), rel=1e-7)
    assert sizes.truncated(1, math.inf) == close(sizes.mean, rel=1e-7)


@pytest.mark.parametrize("sizes", [Exponential(3), BP, pareto(2, 1.2)], ids=repr)
def test_closed_forms_are_what_the_numbers_give(sizes: Continuous) -> None:
    x = np.array([1, 3, 20, 400.0])
    for n in (1, 2):
        assert sizes.partial(n, x) == close(Continuous.partial(sizes, n, x), rel=1e-8, abs=1e-12)
    assert sizes.tail(sizes.quantile([1, 0.5, 1e-3])) == close(np.array([1, 0.5, 1e-3]), rel=1e-8)


def test_moments_where_they_are_known() -> None:
    assert [Exponential(3).moment(n) for n in (1, 2, 3)] == [3, 18, 162]
    assert Fixed(3).moment(2) == 9
    assert BoundedPareto(1, 100, 1).mean == close(math.log(100) / 0.99)
    assert FILES.moment(2) == close(1e14)
    assert pareto(2, 1.2).moment(2) == FILES.moment(3) == math.inf


def test_rest() -> None:
    for sizes in ALL:
        for x in shares(sizes, 0.05, 1, 2):
            rest = sizes.rest(x)
            assert rest is not None
            over = (sizes.mean - sizes.truncated(1, x)) / sizes.tail(x)
            assert rest.mean == close(over, rel=1e-7)
            y = sizes.mean / 3
            assert rest.tail(y) * sizes.tail(x) == close(sizes.tail(x + y), rel=1e-9)
    assert BP.rest(5000) is Fixed(3).rest(3) is None
    # Where next to nothing is left, its shape is still known
    assert Exponential(1).rest(300).mean == 1


def test_drawn() -> None:
    drawn = D1.draw(np.random.default_rng(1), 200000)
    for x in (1, 5, 13, 30, 1000):
        assert (drawn > x).mean() == close(float(D1.tail(x)), abs=0.004)
    assert (parse("1*fixed(2)+1*fixed(5)").draw(np.random.default_rng(1), 9000) == 5).mean() == (
        close(0.5, abs=0.03)
    )


def test_what_the_papers_say_of_sizes() -> None:
    # run2c: BP(13, 5000, 1.1) has a mean of 64 packets
    assert BP.mean == close(64, abs=0.5)
    # run2c: 20 % of D1's load are the short flows, 80 % the long ones
    assert 0.8 * 4 / D1.mean == close(0.2, abs=0.001)
    # sched-tcp: a mean of 5 MB
    assert FILES.mean == close(5e6)
    assert lomax(5e6, 3) == FILES
    # las, Table 1, says a minimum of 1 and a mean of 12
    assert pareto(1, 1.2).mean == close(6)
    assert pareto(2, 1.2).mean == close(12)


def test_parse() -> None:
    assert D1 == Mixture((0.8, 0.2), (Exponential(4), BoundedPareto(13, 5000, 1.1)))
    assert parse("4*exp(4)+1*bp(13,5000,1.1)") == D1
    assert parse("fixed(1e3)") == Fixed(1000)
    assert parse("pareto(3,2.5)").mean == close(5)
    assert parse("lomax(3453,3)").mean == close(3453)
    for text in (
        "", "exp(4", "exp(4,5)", "bp(5,4,1)", "0*exp(3)", "exp(-3)", "0.5exp(3)", "exp(4)+",
        "exp(4)x", "pareto(3,0)", "norm(3)", "exp()", "lomax(3,1)", "lomax(-3,2)", "lomax(3)",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="no distribution"):
            parse(text)


# Limits of the load


@pytest.mark.parametrize("load", [1, 1.2, -0.1, math.nan])
def test_load_out_of_range(load: float) -> None:
    with pytest.raises(ValueError, match="the load is .* from 0 to below 1"):
        Queue(BP, load)


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="load is 1.25:"):
        Queue.of_arrivals(Fixed(10), 1, rate=8)
    with pytest.raises(ValueError, match="rate"):
        Queue(BP, 0.5, 0)
    for policy in (fifo, ps, las, srpt, partial(ps_ps, threshold=4)):
        with pytest.raises(ValueError, match="size is below 0"):
            policy(Queue(BP, 0.5), [1, -1])
    with pytest.raises(ValueError, match="threshold is below 0"):
        ps_ps(Queue(BP, 0.5), 3, threshold=-1)


POLICIES = [fifo, ps, las, srpt, partial(ps_ps, threshold=20)]


@pytest.mark.parametrize("policy", POLICIES)
def test_empty_queue_and_units(policy: Policy) -> None:
    x = np.array([0.5, 3, 20, 21, 700])
    assert policy(Queue(D1, 0), x) == close(x)
    # 1 Mbyte/s and packets of 1500 bytes: the same in bytes and in packets
    queue = Queue(D1, 0.8, 1e6 / 1500)
    assert policy(queue, x) == close(policy(Queue(D1, 0.8), x) * 1500 / 1e6)
    sizes = parse("0.8*exp(6000)+0.2*bp(19500,7500000,1.1)")
    in_bytes = Queue.of_arrivals(sizes, queue.arrivals, 1e6)
    expected = policy(queue, x)
    if isinstance(policy, partial):
        policy = partial(ps_ps, threshold=20 * 1500)
    assert policy(in_bytes, x * 1500) == close(expected)


# Closed forms


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_exponential_sizes(load: float) -> None:
    queue = Queue.of_arrivals(Exponential(1 / 5), 5 * load)
    # Whoever does not know the sizes cannot change the mean: 1 / (mu - lambda)
    mean = 1 / (5 - 5 * load)
    for policy in (fifo, ps, las):
        assert mean_response(queue, policy) == close(mean, rel=1e-7)
    for threshold in (0.01, 0.1, 0.5, 2):
        assert mean_ps_ps(queue, threshold) == close(mean, rel=1e-4)
    assert mean_response(queue, srpt) < mean
    assert fifo(queue, 0) == close(load * mean)


@pytest.mark.parametrize(("load", "threshold"), [(0.5, 1), (0.9, 0.3), (0.9, 2), (0.97, 1)])
def test_lower_level_of_exponential_sizes(load: float, threshold: float) -> None:
    """Equation 8 with B(x) = exp(-mu x): alpha' less its limit is an exponential, too."""
    mu = 0.5
    low = LowerLevel(Queue(Exponential(1 / mu), load), threshold)
    a, b = mu * load * low.batch, low.companions
    x = np.array([0.01, 0.3, 2, 10, 100])
    fall = mu - a
    more = b * (2 * mu - a) / (2 * fall**2) * (1 - np.exp(-fall * x))
    error = 2e-4 if load <= 0.9 else 5e-4
    assert low.alpha(x) == close(x / (1 - a / mu) + more, rel=error)
    assert low.load == close(a / mu)


def test_lower_level_in_numbers() -> None:
    """Sizes 1 and 3, threshold 2: the upper level is a queue of 1 and 2, by hand."""
    low = LowerLevel(Queue.of_arrivals(parse("fixed(1)+fixed(3)"), 0.2), 2)
    assert low.idle == close(1 - 0.2 * 1.5)
    assert low.batch == close(0.5 / 0.7)
    assert low.load == close(0.2 * 0.5 / 0.7)
    assert low.wait == close(0.2 * 2.5 / 2 / 0.7)
    assert low.companions == close(2 * 0.1 * (0.25 / 0.7 + 2) / 0.7)
    # Equation 8 up to x = 1, where B is 1, by iteration
    a, count = 0.2 * low.batch, 2000
    z = (np.arange(count) + 0.5) / count
    slope = np.ones(count)
    for _ in range(60):
        ahead = np.cumsum(slope) / count
        slope = a * (ahead[::-1] + ahead) + low.companions + 1
    assert low.alpha(1) == close(slope.mean(), rel=2e-3)
    assert low.alpha(0.25) == close(slope[z < 0.25].sum() / count, rel=2e-3)


def test_fixed_sizes() -> None:
    queue = Queue(Fixed(2), 0.8)
    # All of a busy period leave at its end under LAS; SRPT is first come, first served
    wait = 0.8 * 2 / 2 / 0.2
    assert fifo(queue, 2) == close(wait + 2)
    assert srpt(queue, 2) == close(wait + 2)
    assert las(queue, 2) == close((wait + 2) / 0.2)
    assert mean_response(queue, las) > mean_response(queue, ps) > mean_response(queue, fifo)


def test_infinite_variance() -> None:
    queue = Queue(pareto(1, 1.5), 0.5)
    assert fifo(queue, 3) == math.inf
    assert mean_response(queue, ps) == close(6)
    assert mean_response(queue, srpt) < mean_response(queue, las) < mean_ps_ps(queue, 5) < 6


# Conservation of work


def pieces(sizes: Sizes, x: float, cut: float) -> list[float]:
    return sorted({0.0, x, *(p for p in [*sizes.panels, cut] if 0 < p < x)})


def unfinished(queue: Queue, policy: Policy, x: float, cut: float = 0) -> float:
    """The mean unfinished work when flows are cut at x: run2c, equation 11."""
    grid = pieces(queue.sizes, x, cut)
    points, weights = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for a, b in zip(grid, grid[1:], strict=False):
        y = a + (b - a) * (points + 1) / 2
        total += (policy(queue, y) * queue.sizes.tail(y)) @ weights * (b - a) / 2
    return queue.per_work * total


@pytest.mark.parametrize("load", [0.3, 0.9])
@pytest.mark.parametrize("sizes", ALL, ids=repr)
def test_work_is_conserved(sizes: Sizes, load: float) -> None:
    queue = Queue(sizes, load)
    top = sizes.top * (1 if sizes is not FILES else 1000)
    work = load * sizes.moment(2) / sizes.mean / 2 / (1 - load)
    for policy in (fifo, ps, las):
        assert unfinished(queue, policy, top) == close(work, rel=1e-5)
    # LAS works on flows cut at x as if nothing else were there
    for x in shares(sizes, 0.2, 1, 3):
        assert unfinished(queue, las, x) == close(queue.wait_of_cut(x), rel=1e-7)
    # So does PS+PS up to the threshold; beyond it, it is the solution of equation 8 that counts
    for th in shares(sizes, 0.1, 0.8, 3):
        policy = partial(ps_ps, threshold=th)
        assert unfinished(queue, policy, th) == close(queue.wait_of_cut(th), rel=1e-7)
        assert unfinished(queue, policy, top, th) == close(work, rel=5e-4)


@pytest.mark.parametrize("load", [0.3, 0.9])
@pytest.mark.parametrize("sizes", [BP, D1, HYPER, STEPS], ids=repr)
def test_srpt_conserves_work(sizes: Sizes, load: float) -> None:
    """A flow of size x waits with all of it, then has r left for dr / (1 - load below r)."""
    queue = Queue(sizes, load)

    def rate(r: np.ndarray, power: int) -> np.ndarray:
        return r**power / (1 - queue.per_work * sizes.partial(1, r))

    x, share = sizes.nodes()
    alone, left = (integral(partial(rate, power=power), sizes.panels, x) for power in (0, 1))
    seen = x * (srpt(queue, x) - alone) + left
    work = load * sizes.moment(2) / sizes.mean / 2 / (1 - load)
    assert queue.per_work * seen @ share == close(work, rel=1e-4)


# Limits


@pytest.mark.parametrize("sizes", ALL, ids=repr)
def test_a_threshold_of_nothing_or_all_is_ps(sizes: Sizes) -> None:
    queue = Queue(sizes, 0.8)
    x = np.array(shares(sizes, 0.01, 0.5, 2, 10))
    for threshold in (0, sizes.mean / 1e9, sizes.top * 10, math.inf):
        assert ps_ps(queue, x, threshold) == close(ps(queue, x), rel=1e-4)


def test_upper_level_is_a_queue_of_its_own() -> None:
    queue = Queue(D1, 0.9)
    x = np.array([1, 5, 20])
    assert ps_ps(queue, x, 20) == close(x / (1 - queue.per_work * D1.truncated(1, 20)))
    # and beyond the threshold a flow waits for the end of the upper level's busy period
    assert ps_ps(queue, 20 + 1e-9, 20) == close(las(queue, 20))


@pytest.mark.parametrize("sizes", [BP, D1, HYPER, STEPS, pareto(13, 1.1)], ids=repr)
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_slowdown_of_large_flows(sizes: Sizes, load: float) -> None:
    """run2c, theorem 1, and the limit of LAS: 1 / (1 - rho)."""
    queue, x = Queue(sizes, load), 1e60
    for policy in (ps, las, partial(ps_ps, threshold=50), partial(ps_ps, threshold=2)):
        assert policy(queue, x) / x == close(1 / (1 - load), abs=0.001 / (1 - load))
    assert srpt(queue, x) / x == close(1 / (1 - load), abs=0.001 / (1 - load))


def test_slope_beyond_the_threshold() -> None:
    """run2c, equation 14 as it must be: never below that of PS."""
    queue = Queue(D1, 0.9)
    x = np.geomspace(20.001, 1e6, 400)
    slope = np.diff(ps_ps(queue, x, 20)) / np.diff(x)
    assert (slope > 10 - 1e-6).all()
    assert slope[0] > 11
    assert slope[-1] == close(10, abs=1e-3)


def test_distance_from_ps() -> None:
    """run2c, section II.B: it stays bounded under PS+PS even if the variance is infinite."""
    queue = Queue(pareto(1, 1.1), 0.7)
    x = np.geomspace(1e4, 1e10, 7)
    assert (abs(ps_ps(queue, x, 10) - ps(queue, x)) < 50).all()
    assert (abs(las(queue, x) - ps(queue, x)) > 10000).all()


def test_asymptote_of_las() -> None:
    """run2c, section II.A: with a finite variance; then as corrected in models.mg1."""
    queue = Queue(D1, 0.8)
    above = queue.per_work * D1.moment(2) / (2 * 0.2**2)
    x = 1e7
    assert las(queue, x) - ps(queue, x) == close(above, rel=1e-6)
    for alpha in (1.4, 1.8):
        queue, x = Queue(pareto(3, alpha), 0.8), 1e12
        factor = queue.per_work * 3**alpha / 0.2**2
        printed = factor / (2 - alpha) * x ** (2 - alpha)
        corrected = printed * (2 * alpha - 3) / (alpha - 1)
        assert las(queue, x) - ps(queue, x) == close(corrected, rel=0.01)
        assert abs(las(queue, x) - ps(queue, x) - printed) > 0.2 * printed
    # So the largest flows gain by LAS if alpha is below 1.5
    assert las(Queue(pareto(3, 1.4), 0.8), 1e12) < ps(Queue(pareto(3, 1.4), 0.8), 1e12)


# What the papers find


@pytest.mark.long
def test_optimal_threshold() -> None:
    """run2c, Figure 1: around 200 packets for BP(13, 5000, 1.1); it does not give the load."""
    best, mean = best_threshold(Queue(BP, 0.8), 13, 4000)
    assert 180 < best < 220
    for load in (0.5, 0.7, 0.8, 0.9):
        queue = Queue(BP, load)
        best, mean = best_threshold(queue, 13, 4000)
        assert 100 < best < 300
        assert mean_ps_ps(queue, 200) < 1.01 * mean
        # Nearly the same gain as that of LAS, the optimum
        gain, most = (mean_response(queue, ps) - m for m in (mean, mean_response(queue, las)))
        assert 0.8 * most < gain < most


def test_large_flows_suffer_less_than_under_las() -> None:
    """run2c, Figure 2: a smaller degradation for large flows under PS+PS."""
    queue, x = Queue(BP, 0.8), np.linspace(2000, 5000, 7)
    assert (ps_ps(queue, x, 200) < las(queue, x)).all()
    assert (ps(queue, x) < ps_ps(queue, x, 200)).all()
    assert ps_ps(queue, 5000, 200) < 1.08 * ps(queue, 5000)
    assert las(queue, 5000) > 1.2 * ps(queue, 5000)


@pytest.mark.parametrize("sizes", [HYPER, FILES, Lomax(0.1, 1.3)], ids=repr)
@pytest.mark.parametrize("load", [0.2, 0.9])
def test_order_of_the_policies(sizes: Sizes, load: float) -> None:
    """With a decreasing hazard rate: SRPT, LAS, PS+PS, PS: run2c, theorem 2, and sched-tcp, 4.3."""
    queue = Queue(sizes, load)
    means = [mean_response(queue, policy) for policy in (srpt, las, ps)]
    assert means[0] < means[1] < means[2]
    for threshold in shares(sizes, 0.05, 5):
        assert means[1] < mean_ps_ps(queue, threshold) < means[2]


def test_slowdown() -> None:
    queue = Queue(D1, 0.9, 1e7 / 12000)
    assert mean_slowdown(queue, ps) == close(10)
    assert mean_slowdown(queue, ps, 1e9) == close(1)
    # The round-trip time counts in what is divided by
    x, weights = D1.nodes()
    rates = 0.006 * 1e7 / 12000
    assert mean_slowdown(queue, ps, 0.006) == close((10 * x + rates) / (x + rates) @ weights)
    srpts, lases = (mean_slowdown(queue, policy, 0.006) - 1 for policy in (srpt, las))
    assert 2 < lases / srpts < 3


# Slow start


@pytest.mark.parametrize("window", [1, 2, 8, 32])
def test_slow_start_is_a_packet_at_a_time(window: int) -> None:
    """The n-th packet of a window's worth goes when the n-th of the last one is acknowledged."""
    size, sent, expected = 1, 0, []
    for trip in range(1, 12):
        full = sent >= 2 * window - 1  # from here on, spread over the round trip
        for packet in range(size):
            expected.append(trip + (packet / window if full else 0))
        sent, size = sent + size, min(2 * size, window)
    packets = np.arange(1, len(expected) + 1)
    assert slow_start(packets, 2, window) == close(2 * np.array(expected))


def test_own_time() -> None:
    """A round trip of the handshake comes first; less than a packet is one."""
    assert own_time([0.2, 1, 3, 94], 0.06, 30) == close(np.array([2, 2, 3, 9]) * 0.06)


def test_slow_start_in_numbers() -> None:
    # run2c's window of 30 packets and round-trip time of 60 ms
    assert slow_start([1, 3, 4, 64, 94], 0.06, 30) == close(np.array([1, 2, 3, 7, 8]) * 0.06)
    assert slow_start([0.2, 3.4], 1, 30) == close([1, 3])
    # las, section 3.2, as corrected in models.mg1: k round trips until the last window of them
    for k in range(5):
        assert slow_start(2 ** (k + 1) - 1, 1, 64) == k + 1
        assert slow_start(2 ** (k + 1), 1, 64) == k + 2
    for packets, window in ((0, 30), (5, 0)):
        with pytest.raises(ValueError, match="slow start"):
            slow_start(packets, 1, window)


# Simulation


def test_the_simulation_itself() -> None:
    """Three flows, by hand."""
    starts, sizes = np.array([0, 1, 2.0]), np.array([4, 1, 2.0])
    expected = {
        "fifo": [4, 4, 5],
        # 3 and 1 are left at 1; 2.5, 0.5 and 2 at 2; 2, 0 and 1.5 at 3.5; 0.5, 0 and 0 at 6.5
        "ps": [7, 2.5, 4.5],
        "srpt": [7, 1, 2],
        "las": [7, 1, 3],
    }
    for policy, responses in expected.items():
        assert simulate.responses(policy, starts, sizes) == close(np.array(responses)), policy
    # Threshold 1: the first has had its 1 at 1, the second leaves at 2, the third has its 1 at 3;
    # then 3 and 1 are left to share, and the third's 1 takes until 5
    assert simulate.responses("ps+ps", starts, sizes, 1) == close(np.array([7, 1, 3]))
    with pytest.raises(ValueError, match="no policy"):
        simulate.responses("lifo", starts, sizes)


MIXED = parse("0.7*exp(1)+0.2*bp(3,30,1.1)+0.1*fixed(2)")


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("fifo", fifo),
        ("ps", ps),
        ("las", las),
        ("srpt", srpt),
        ("ps+ps", partial(ps_ps, threshold=4)),
        ("ps+ps", partial(ps_ps, threshold=1.5)),
    ],
)
def test_simulated(name: str, policy: Policy) -> None:
    queue, rng, count = Queue(MIXED, 0.6), np.random.default_rng(1), 150000
    sizes = MIXED.draw(rng, count)
    starts = np.cumsum(rng.exponential(1, count))
    starts *= sizes.sum() / queue.load / starts[-1]  # the load is not left to chance
    threshold = policy.keywords["threshold"] if isinstance(policy, partial) else 0
    found = simulate.responses(name, starts, sizes, threshold)

    def error(which: ArrayLike) -> float:
        return found[which].mean() / policy(queue, sizes[which]).mean() - 1

    for low, high in ((0, 1), (1, 2), (2, 4), (4, 10), (10, 30)):
        assert abs(error((sizes > low) & (sizes <= high))) < 0.025
    assert abs(error(sizes > 0)) < 0.025
