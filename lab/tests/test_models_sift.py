# SPDX-License-Identifier: GPL-2.0
"""SIFT's analysis against the paper's numbers and against simulations of the same queues."""

from functools import cache
from heapq import heappop, heappush, heapreplace

import numpy as np
import pytest
from scipy.special import comb

from lab.models import sift

POINT = 0.001  # the paper's percentages, within 0.1 point
FLOWS = 200_000
LOAD = 0.5


@cache
def paper() -> sift.Split:
    return sift.Split(sift.bounded_pareto())


def small(samples: int = 1) -> sift.Split:
    """Of a tail short enough for a simulation."""
    return sift.Split(sift.bounded_pareto(1, 50), 0.1, samples)


# What the paper says in numbers


def test_misclassified() -> None:
    wrong = sift.misclassified(paper().sizes, 100)
    assert wrong.all == pytest.approx(0.026, abs=POINT)
    assert wrong.short == pytest.approx(0.025, abs=POINT)
    assert wrong.long == pytest.approx(0.158, abs=POINT)
    # To one digit more, as the misprints say
    assert f"{wrong.all:.4f} {wrong.short:.4f} {wrong.long:.4f}" == "0.0262 0.0257 0.1579"
    more = [sift.misclassified(paper().sizes, 100, n).all for n in (1, 2, 5, 10, 100)]
    assert more == sorted(more, reverse=True) and more[-1] == 0


def test_short_flows() -> None:
    assert paper().short_parts == pytest.approx(0.972, abs=POINT)
    assert 1 - paper().share == pytest.approx(0.972, abs=POINT)
    assert f"{paper().short_parts:.4f} {1 - paper().share:.4f}" == "0.9721 0.9713"


def test_continuous_sizes_are_not_the_papers() -> None:
    rounded = sift.bounded_pareto(round_up=True)
    u = (np.arange(10**6) + 0.5) / 10**6
    x = (1 - u * (1 - 1e6**-1.1)) ** (-1 / 1.1)
    found, short = sift.sampled(np.ceil(x), 0.01), np.ceil(x) < 100
    wrong = sift.misclassified(rounded)
    assert wrong.all == pytest.approx(np.where(short, found, 1 - found).mean(), abs=1e-5)
    found = 1 - 0.99**x
    assert np.where(x < 100, found, 1 - found).mean() == pytest.approx(0.0385, abs=1e-4)


def test_short_flows_of_the_simulations() -> None:
    """Section 4.1: approximately 95 % of flows up to 1e8 packets are never sampled."""
    split = sift.Split(sift.bounded_pareto(1, 10**8, round_up=True))
    assert 1 - split.share == pytest.approx(0.95, abs=0.002)


def test_highest_load() -> None:
    assert f"{0.193 * paper().sizes.mean:.4f}" == str(sift.MAX_LOAD)


def test_sampled() -> None:
    x = np.arange(1, 300)
    # The sum as it is printed in 3.2
    terms = [comb(x, i) * 0.03**i * 0.97 ** (x - i) for i in range(3)]
    assert sift.sampled(x, 0.03, 3) == pytest.approx(1 - sum(terms), abs=1e-12)
    assert sift.sampled(x, 0.01) == pytest.approx(1 - 0.99**x)
    curves = sift.figure3((1, 2, 5, 100), x)
    assert curves[1] == pytest.approx(1 - 0.99**x)
    assert curves[2] == pytest.approx(1 - 0.98**x - x * 0.02 * 0.98 ** (x - 1))
    # T_s = T samples all flows of T packets and no other
    assert (curves[100] == (x >= 100)).all()
    assert sift.packet_probability(100, 5) == 0.05


def test_ratios() -> None:
    """What sections 3.3 to 3.5 say of each formula and figure."""
    loads = np.array([0.01, 0.1, 0.3, 0.6, 0.9, sift.MAX_LOAD])
    found = sift.figure(6, loads, paper())
    found |= {name: sift.SCHEMES[name](paper(), loads) for name in ("ps", "sift-ps")}
    assert set(found) - {"sift-fifo", "fifo"} == set(sift.FIGURES[7])
    fifo, ps, srpt = (found[name] for name in ("fifo", "ps", "srpt"))
    high = loads * paper().mean_high / paper().sizes.mean
    # 3.3: a factor for the long, orders of magnitude for the short
    assert found["sift-fifo"].long / fifo.long == pytest.approx(1 / (1 - high))
    assert (found["sift-fifo"].short[1:] < fifo.short[1:] / 100).all()
    assert (found["sift-fifo"].all < fifo.all / 10).all()
    # 3.4: another for the short, about the same for the long, better overall at all loads
    assert ps.short / found["sift-ps"].short == pytest.approx((1 - high) / (1 - loads))
    assert found["sift-ps"].long == pytest.approx(ps.long, rel=0.06)
    assert (found["sift-ps"].all < ps.all).all()
    # 3.5: the short close to SRPT, which is much better for the long, overall in between, on a
    # logarithmic axis nearer to SRPT at low loads and nearer to FIFO at high loads
    assert (srpt.long < found["sift-fifo"].long / 3).all()
    assert (found["sift-ps"].short < 1.5 * srpt.short).all()
    for name in ("sift-fifo", "sift-ps"):
        assert (srpt.short < found[name].short).all() and (srpt.all < found[name].all).all()
    nearer = found["sift-fifo"].all ** 2 < fifo.all * srpt.all
    assert nearer.tolist() == [True] * 2 + [False] * 4
    assert set(sift.FIGURES[4]) == {"sift-fifo", "fifo"}
    assert sift.figure(5, 0.9)["sift-ps"].all == pytest.approx(found["sift-ps"].all[4])


# The formulas as they are printed, worked out by brute force


@pytest.mark.parametrize("samples", [1, 3])
def test_parts_by_brute_force(samples: int) -> None:
    """Equations 3 and 4, for a smallest size of 2: also flows of 0 and 1 packets go high."""
    p, sizes = 0.1, sift.bounded_pareto(2, 40, 1.3)
    split = sift.Split(sizes, p, samples)
    high, low, kept = np.zeros(41), np.zeros(41), 0.0
    for y in range(2, 41):
        flows = y**-2.3 / sum(k**-2.3 for k in range(2, 41))
        rest = flows
        for n in range(samples, y + 1):  # the packet that decides
            ways = 1 if samples == 1 else (n - 1) * (n - 2) / 2
            hit = flows * ways * p**samples * (1 - p) ** (n - samples)
            high[n - 1] += hit
            low[y - n + 1] += hit
            rest -= hit
        high[y] += rest
        kept += y * rest
    x = np.arange(41)
    share = low.sum()
    assert split.high == pytest.approx(high) and split.low == pytest.approx(low[1:])
    assert split.share == pytest.approx(share)
    assert split.short_parts == pytest.approx(1 / (1 + share))
    assert split.first == samples / p
    assert split.mean_high == pytest.approx(x @ high)
    assert split.square_high == pytest.approx(x**2 @ high)
    assert split.mean_low == pytest.approx(x @ low / share)
    assert split.square_low == pytest.approx(x**2 @ low / share)
    assert split.mean_kept == pytest.approx(kept / (1 - share))
    assert split.mean_sampled == pytest.approx((sizes.mean - kept) / share)


def test_misprints() -> None:
    split = paper()
    # (3) and (4) as printed, the latter from 1 on
    assert split.low.sum() == pytest.approx(split.share)
    assert split.high.sum() == pytest.approx(1)
    assert split.high[1:].sum() == pytest.approx(0.99)
    # Proposition 2: the square of both parts, and that of either
    parts = split.square_high + split.share * split.square_low
    assert parts / split.sizes.square == pytest.approx(0.998, abs=2e-4)
    assert split.mean_sampled - split.mean_low == pytest.approx(13, abs=0.2)


def test_propositions() -> None:
    """Packets of 1 or 3, half each, p = 0.5: E(S) = 2, E(S^2) = 5."""
    split = sift.Split(sift.discrete([1, 0, 1]), 0.5)
    # High parts of 1: 0 or 1; of 3: 0, 1, 2, 3 with 1/2, 1/4, 1/8, 1/8
    assert split.high == pytest.approx([0.5, 0.375, 0.0625, 0.0625])
    h, h2, low, share = 0.6875, 1.1875, 1.3125, 0.6875  # low is E(S_l) share
    load, rate = 0.8, 100.0
    arrivals, high = load / 2, load / 2 * h
    el, w, v = low / share, arrivals * 5 / (2 * 0.2), arrivals * h2 / (2 * (1 - high))
    expected = {
        "fifo": (h + w, el + w),
        "ps": (h / 0.2, el / 0.2),
        "sift-fifo": (h + v, w / (1 - high) + el / (1 - high)),
        "sift-ps": (h / (1 - high), el / 0.2 + arrivals * h2 / (2 * (1 - high) ** 2)),
    }
    for name, (short, long) in expected.items():
        found = sift.SCHEMES[name](split, load, rate)
        assert (found.short, found.long) == pytest.approx((short / rate, long / rate)), name
        assert found.all == pytest.approx((short + share * long) / (1 + share) / rate), name


def test_srpt_of_equal_sizes_is_fifo() -> None:
    split = sift.Split(sift.discrete([0, 0, 1]), 0.5)
    for load in (0.2, 0.9):
        found = sift.srpt_response(split.sizes, load, rate=10)
        assert found[2] == pytest.approx(sift.fifo(split, load, rate=10, flows=True).all)


def test_srpt_by_parts() -> None:
    """Averages over the printed (3) and (4), and over flows."""
    split = small(2)
    times = sift.srpt_response(split.sizes, LOAD)
    parts = sift.srpt(split, [0.3, LOAD])
    assert parts.short[1] == pytest.approx(split.high[1:] @ times)
    assert parts.long[1] == pytest.approx(split.low @ times / split.low.sum())
    flows = sift.srpt(split, LOAD, rate=10, flows=True)
    assert flows.all == pytest.approx(split.sizes.p @ times / 10)


def test_lumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that are put together give the same as one by one."""
    monkeypatch.setattr(sift, "WHOLE", 20000)
    for round_up in (False, True):
        lumps = sift.Split(sift.bounded_pareto(1, 10**5, round_up=round_up), 0.01, 2)
        monkeypatch.setattr(sift, "WHOLE", 10**5)
        whole = sift.Split(sift.bounded_pareto(1, 10**5, round_up=round_up), 0.01, 2)
        monkeypatch.setattr(sift, "WHOLE", 20000)
        assert len(lumps.sizes.x) < 22000 and len(whole.sizes.x) == 10**5
        assert lumps.sizes.mean == pytest.approx(whole.sizes.mean, rel=1e-9)
        assert lumps.sizes.square == pytest.approx(whole.sizes.square, rel=1e-6)
        for name in ("share", "mean_high", "square_high", "mean_low", "mean_kept", "mean_sampled"):
            assert getattr(lumps, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
        assert lumps.square_low == pytest.approx(whole.square_low, rel=1e-6)
        for flows in (False, True):
            found = [sift.srpt(split, 0.95, flows=flows) for split in (lumps, whole)]
            assert found[0].long == pytest.approx(found[1].long, rel=1e-4)
            assert found[0].short == pytest.approx(found[1].short, rel=1e-9)
    with pytest.raises(ValueError, match="too small"):
        sift.Split(sift.bounded_pareto(1, 10**5), 1e-5)


@pytest.mark.parametrize("load", [0, 1, -0.5, [0.5, 1.2]])
def test_loads_without_a_mean(load: float | list[float]) -> None:
    with pytest.raises(ValueError, match="load"):
        sift.fifo(small(), load)


def test_bad_arguments() -> None:
    for wrong in ((0, 5, 1.1), (6, 5, 1.1), (1, 5, 0)):
        with pytest.raises(ValueError, match="Pareto"):
            sift.bounded_pareto(*wrong)
    for p in (0, 1):
        with pytest.raises(ValueError, match="divide"):
            sift.Split(sift.bounded_pareto(1, 50), p)
    with pytest.raises(ValueError, match="no prob"):
        sift.discrete([0, 0])
    with pytest.raises(ValueError, match="samples"):
        sift.packet_probability(10, 11)
    with pytest.raises(ValueError, match="samples"):
        sift.sampled(3, 0.1, 0)


# The same queues, simulated


class Flows:
    """As the formulas have them; sizes and gaps as often as they should be, to vary less."""

    def __init__(self, split: sift.Split, seed: int) -> None:
        rng = np.random.default_rng(seed)
        ranks = (np.arange(FLOWS) + rng.random(FLOWS)) / FLOWS
        at = np.searchsorted(np.cumsum(split.sizes.p), rng.permutation(ranks))
        self.size = split.sizes.x[np.minimum(at, len(split.sizes.x) - 1)]
        self.time = np.cumsum(-np.log(rng.permutation(ranks))) * split.sizes.mean / LOAD
        first = rng.negative_binomial(split.samples, split.probability, FLOWS) + split.samples
        self.high = np.minimum(self.size, first - 1)
        self.low = self.size - self.high
        self.sampled = self.low > 0


def priority(arrivals: list[tuple[float, int, float, int]], ps: bool, flows: int) -> np.ndarray:
    """Two queues, FIFO or PS each: when (time, queue, size, flow) ends, by queue and flow."""
    ends, now = np.zeros((2, flows)), 0.0
    heaps: tuple[list, list] = ([], [])  # of flows by the service of the queue that ends them
    served = [0.0, 0.0]
    total = [0.0, 0.0]

    def run(until: float) -> None:
        nonlocal now
        for queue, heap in enumerate(heaps):
            while heap:
                share = len(heap) if ps else 1
                need = (heap[0][0] - served[queue]) * share
                if now + need > until:
                    served[queue] += (until - now) / share
                    now = until
                    return
                now += need
                served[queue], flow = heappop(heap)
                ends[queue, flow] = now
        now = until

    for time, queue, size, flow in arrivals:
        run(time)
        start = served[queue] if ps else max(served[queue], total[queue])
        total[queue] = start + size
        heappush(heaps[queue], (total[queue], flow))
    run(float("inf"))
    return ends


@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("ps", [False, True])
def test_sift_simulated(ps: bool, samples: int) -> None:
    split = small(samples)
    flows = Flows(split, 1 + samples)
    arrivals = []
    rows = zip(flows.time.tolist(), flows.high.tolist(), flows.low.tolist(), strict=True)
    for i, (time, high, low) in enumerate(rows):
        arrivals.append((time, 0, high, i))
        if low:
            arrivals.append((time, 1, low, i))
    ends = priority(arrivals, ps, FLOWS)
    both = np.where(flows.sampled, ends[1], ends[0]) - flows.time
    model = sift.sift_ps if ps else sift.sift_fifo
    expected, parts = model(split, LOAD, flows=True), model(split, LOAD)
    assert both[~flows.sampled].mean() == pytest.approx(expected.short, rel=0.03)
    assert (ends[0] - flows.time).mean() == pytest.approx(parts.short, rel=0.03)
    if ps:  # an approximation for long flows
        assert both[flows.sampled].mean() == pytest.approx(expected.long, rel=0.15)
        return
    assert both[flows.sampled].mean() == pytest.approx(expected.long, rel=0.03)
    assert both.mean() == pytest.approx(expected.all, rel=0.03)
    # Proposition 2 as printed, and what it leaves out
    queue = sift.Queue(split, LOAD, 1)
    rest = both[flows.sampled] - flows.high[flows.sampled] / (1 - queue.high)
    assert rest.mean() == pytest.approx(parts.long, rel=0.03)


def independent(split: sift.Split, ps: bool) -> np.ndarray:
    """Delays of low parts that come at other times than the high ones, as section 3.1 assumes."""
    high, low = Flows(split, 4), Flows(split, 5)
    rows = enumerate(zip(high.time, high.high, low.time, low.low, strict=True))
    arrivals = []
    for i, (time, size, other, rest) in rows:
        arrivals += [(time, 0, size, i), (other, 1, rest, i)]
    arrivals = [each for each in arrivals if each[1] == 0 or each[2]]
    ends = priority(sorted(arrivals), ps, FLOWS)
    return (ends[1] - low.time)[low.sampled]


def test_independent_streams_fifo() -> None:
    """Proposition 2 as printed has the square of whole flows where there are parts."""
    split = small()
    queue = sift.Queue(split, LOAD, 1)
    parts = split.square_high + split.share * split.square_low
    wait = queue.arrivals * parts / (2 * (1 - LOAD) * (1 - queue.high))
    delay = independent(split, False).mean()
    assert delay == pytest.approx(wait + split.mean_low / (1 - queue.high), rel=0.03)
    assert delay < 0.93 * sift.sift_fifo(split, LOAD).long


def test_independent_streams_ps() -> None:
    """Proposition 4 is an approximation: at most 10 % from the truth here."""
    split = small()
    delay = independent(split, True).mean()
    assert sift.sift_ps(split, LOAD).long == pytest.approx(delay, rel=0.1)


def test_fifo_and_ps_simulated() -> None:
    split = small()
    flows = Flows(split, 6)
    rows = [(t, 0, s, i) for i, (t, s) in enumerate(zip(flows.time, flows.size, strict=True))]
    for ps, model in ((False, sift.fifo), (True, sift.ps)):
        delay = priority(rows, ps, FLOWS)[0] - flows.time
        expected = model(split, LOAD, flows=True)
        assert delay[~flows.sampled].mean() == pytest.approx(expected.short, rel=0.03)
        assert delay[flows.sampled].mean() == pytest.approx(expected.long, rel=0.03)
        assert delay.mean() == pytest.approx(expected.all, rel=0.03)


def srpt_ends(time: np.ndarray, size: np.ndarray) -> np.ndarray:
    ends, now, heap = np.zeros(len(time)), 0.0, []
    for flow, (until, new) in enumerate(zip([*time[1:], np.inf], size, strict=True)):
        now = max(now, time[flow])
        # Of equal ones the first goes first
        heappush(heap, (new, flow))
        while heap:
            left, first = heap[0]
            if now + left > until:
                heapreplace(heap, (left - (until - now), first))
                break
            now += left
            ends[first] = now
            heappop(heap)
    return ends


def test_srpt_simulated() -> None:
    split = small()
    flows = Flows(split, 7)
    delay = srpt_ends(flows.time, flows.size) - flows.time
    times = sift.srpt_response(split.sizes, LOAD)
    for size in (1, 2, 5):
        waited = delay[flows.size == size].mean() - size
        assert waited == pytest.approx(times[size - 1] - size, rel=0.03)
    expected = sift.srpt(split, LOAD, flows=True)
    assert delay[~flows.sampled].mean() == pytest.approx(expected.short, rel=0.03)
    assert delay[flows.sampled].mean() == pytest.approx(expected.long, rel=0.03)
