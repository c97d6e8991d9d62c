# SPDX-License-Identifier: GPL-2.0
"""The numbers of runs and their bounds, on made-up measurements of the lab's experiments."""

from pathlib import Path

import numpy as np
import pytest

from lab.measure import over_time, runs
from lab.measure.bounds import verdicts
from lab.measure.numbers import Metrics, Rows
from lab.measure.reading import DataError
from lab.measure.runs import measure
from lab.run.experiment import Experiment, find, read
from lab.tests.made_up import Flow, bulk, cbr, flows, intervals, lengths, samples, stats

PAYLOAD, WIRE = 1448, 1514


def part(name: str, case: str, qdiscs: list[str], seeds: int = 1) -> Experiment:
    path = find(name)
    assert path
    whole = read(path)
    own = whole.only(None, [case])
    settings = next(iter(own.cases.values()))
    chosen = {qdisc: settings["qdiscs"][qdisc] for qdisc in qdiscs}
    return own.only(chosen, None, list(range(1, seeds + 1)))


def given(
    name: str, case: str, texts: dict[str, list[str]]
) -> tuple[dict[str, Metrics], list[str]]:
    """Of what each seed's run of each qdisc has written: the first's numbers, and what is unmet."""
    seeds = len(next(iter(texts.values())))
    one = part(name, case, list(texts), seeds)
    rows = measure(one, {job.name: texts[q][seed - 1] for (_, q, seed), job in one.runs.items()})
    first: Rows = {key: values for key, values in rows.items() if key[2] == 1}
    unmet = [what for what, met in verdicts(one, rows) if not met]
    return {qdisc: values for (_, qdisc, _), values in first.items()}, unmet


def packets(rates: list[float]) -> str:
    """One long flow of so many packets/s in each 10 s, beside downloads."""
    return flows([(5, 24.0)]) + bulk(np.array(rates)[:, None] * PAYLOAD * 8.0, 10) + stats()


def test_las_log() -> None:
    sent = {
        "plain": [100.0] * 50 + [0.0] * 50,
        "log-0.5": [100.0] * 20 + [50.0, 100.0] * 40,
        "log-1": [110.0] * 99 + [100.0],
    }
    texts = {name: [packets(rates)] for name, rates in sent.items()}
    found, unmet = given("las-log", "reno", texts)
    assert not unmet
    plain, half = found["plain"], found["log-0.5"]
    assert (plain["packets/s"], plain["packets/s, least"], plain["halts"]) == (50, 0, 50)
    assert plain["packets/s, last fifth"] == 0 and plain["packets/s@5"] == 100
    assert half["packets/s, least fifth"] == pytest.approx(75) and half["packets/s@985"] == 50
    texts["plain"], texts["log-1"] = texts["log-1"], texts["plain"]
    _, unmet = given("las-log", "reno", texts)
    assert [what.split(" at ")[0] for what in unmet] == [
        "reno, log-1: packets/s, least",
        "reno, plain: halts",
        "reno, log-1: halts",
        "reno, log-1: packets/s",
        "reno, log-0.5: packets/s",
    ]


def sqf_run(rates: list[float], sent: float = 1.0, lost: int | None = None) -> str:
    """A run of a table: Mbit/s on the wire of each flow, and how many of 10 datagrams are lost.

    In the first 20 s, which do not count, nothing goes.
    """
    size = np.tile(rates, (640, 1)) * 1e6 * PAYLOAD / WIRE
    size[:40] = 0
    udp = "" if lost is None else cbr("udp", [0] * lost + [5] * (10 - lost), 5)
    return bulk(size, 0.5, sent) + udp + stats("sqf")


def test_sqf_table3() -> None:
    rates = {"fq": [5.0, 5], "lqf": [7.0, 3], "sqf": [3.0, 7]}
    texts = {name: [sqf_run(of, sent=1.1)] * 3 for name, of in rates.items()}
    found, unmet = given("sqf-table3", "reno", texts)
    assert not unmet
    assert found["sqf"]["X2"] == pytest.approx(7, rel=1e-5)
    assert found["lqf"]["A1"] == pytest.approx(7.7, rel=1e-5)
    assert found["fq"]["X"] == pytest.approx(10, rel=1e-5)
    assert found["fq"]["received / sent"] == pytest.approx(1 / 1.1, rel=1e-5)
    texts["sqf"][1] = sqf_run([7, 3])  # a mean of 4.33 and 5.67
    _, unmet = given("sqf-table3", "reno", texts)
    assert [what.split(":")[0] for what in unmet] == ["reno, sqf"] * 2
    _, unmet = given("sqf-table3", "ns2", texts)
    assert not unmet


def test_sqf_table4() -> None:
    texts = {"fq": [sqf_run([4], lost=3)], "sqf": [sqf_run([4], lost=0)]}
    found, unmet = given("sqf-table4", "reno 7mbit", texts)
    # 3 of 10 are 2.1 Mbit/s of 7
    assert not unmet and found["fq"]["udp loss %"] == pytest.approx(30)
    texts = {"fq": [sqf_run([4], lost=0)], "sqf": [sqf_run([4], lost=2)]}
    _, unmet = given("sqf-table4", "reno 3mbit", texts)
    assert len(unmet) == 1 and unmet[0].startswith("reno 3mbit, sqf: udp loss % at most 3.33")


def test_sqf_table1() -> None:
    rates = {"fq": [3.3, 3.3, 3.3], "lqf": [8, 2, 0.1], "sqf": [1.0, 4, 5]}
    found, unmet = given("sqf-table1", "reno", {name: [sqf_run(of)] for name, of in rates.items()})
    # As unfair on the short term as on the long one, which is not what is expected of sqf
    assert unmet == ["reno, sqf: bulk Jain, short at most 0.85 of bulk Jain's (1)"]
    assert found["sqf"]["bulk Jain"] == pytest.approx(100 / (3 * 42), rel=1e-4)
    turns = np.zeros((640, 3))
    turns[np.arange(640), np.arange(640) % 3] = 1e7
    found, _ = given("sqf-table1", "reno", {"sqf": [bulk(turns, 0.5) + stats()]})
    assert found["sqf"]["bulk Jain, short"] == pytest.approx(1 / 3)
    assert found["sqf"]["bulk Jain"] == pytest.approx(1, rel=1e-4)


def test_sqf_figures() -> None:
    turn = np.arange(4000) // 50 % 2 == 0  # half a second each
    alone = np.stack([turn, ~turn], axis=1) * 9.6e6
    queues = np.stack([~turn, turn], axis=1) * 80000
    fair = np.full((4000, 2), 4.8e6)

    def run(rates: np.ndarray) -> list[str]:
        return [bulk(rates, 0.01) + intervals("queues", queues, 0.01) + stats("sqf")]

    found, unmet = given("sqf-figures", "two", {"sqf": run(alone), "fq": run(fair)})
    assert not unmet
    assert found["sqf"]["turn s"] == pytest.approx(0.43, abs=0.01)  # less the 0.1 s of its mean
    assert found["sqf"]["kB1"] == 40 and found["sqf"]["kB2@0.02"] == 80
    assert found["sqf"]["X1"] == pytest.approx(4.8 * WIRE / PAYLOAD)
    assert found["fq"]["A1@2.98"] == pytest.approx(4.8 * WIRE / PAYLOAD)
    assert "A1@3" not in found["fq"] and "packets/s@0.005" not in found["fq"]
    _, unmet = given("sqf-figures", "two", {"sqf": run(fair), "fq": run(alone)})
    assert [what.split(":")[0] for what in unmet] == ["two, sqf", "two, fq"]


def test_queues_of_the_kernels_own_packets() -> None:
    queues = np.array([[0, 0, 86, 0, 0], [900, 86, 86, 3000, 0], [800, 86, 86, 2000, 0]])
    assert over_time.largest(queues, 2).tolist() == [[0, 0], [900, 3000], [800, 2000]]


def sift_run(delays: list[float], long: list[int], peak: int | None, senders: int = 5) -> str:
    """A flow for each delay in ms; those that were sampled, by number."""
    text = flows([(1, delay) for delay in delays], senders, 1000) + samples(long, senders)
    return text + (stats("sift", records_peak=peak) if peak else stats())


@pytest.mark.parametrize(
    ("delays", "peak", "unmet"),
    [
        ([10, 10, 10, 10, 1000, 10, 100], 1600, []),
        ([11, 11, 11, 11, 1000, 11, 100], 1600, ["ms short"]),
        ([10, 10, 10, 10, 1300, 10, 1000], 1600, ["ms all"]),
        ([10, 10, 10, 10, 6001, 10, 0.1], 1600, ["ms long", "ms all"]),
        ([10, 10, 10, 10, 1000, 10, 100], 1601, ["records"]),
    ],
)
def test_bounds_of_sift(delays: list[float], peak: int, unmet: list[str]) -> None:
    """Of seven flows two are sampled, and the FIFO's are the same."""
    fifo = [100.0, 100, 100, 100, 2000, 100, 1000]
    texts = {
        "fifo": [sift_run(fifo, [], None, 1)],
        "sift": [sift_run(delays, [4, 6], peak, 1)],
    }
    found, missed = given("sift", "tail 0.9", texts)
    assert [what.split(": ")[1].split(" at ")[0] for what in missed] == unmet
    assert found["fifo"]["flows long"] == 2 and found["fifo"]["ms long"] == 1500
    _, missed = given("sift", "tail 0.6", texts)
    assert [what.split(": ")[1].split(" at ")[0] for what in missed] == [
        name for name in unmet if name in ("ms long", "records")
    ]


def test_groups_of_sift() -> None:
    """Senders are told apart by their port."""
    texts = {
        "fifo": [sift_run([300, 100, 100, 100, 100, 500], [], None)],
        "sift": [sift_run([30, 10, 10, 10, 10, 50], [5], 7)],
    }
    found, unmet = given("sift", "rates 0.9", texts)
    assert not unmet
    fifo, sift = found["fifo"], found["sift"]
    assert (fifo["turtles flows"], fifo["turtles flows short"], fifo["turtles ms short"]) == (
        2,
        1,
        300,
    )
    assert (sift["turtles ms long"], sift["records"]) == (50, 7)
    assert (fifo["cheetahs ms all"], sift["cheetahs ms all"]) == (100, 10)
    assert fifo["cheetahs flows"] == 4 and np.isnan(fifo["cheetahs ms long"])
    assert fifo["flows"] == 6 and fifo["ms all"] == 200


def test_samples_of_another_qdisc() -> None:
    """Without it, nobody knows which are short; and it must have had the same flows."""
    found, unmet = given("sift", "tail 0.9", {"fifo": [sift_run([10, 20], [], None, 1)]})
    assert not unmet and "flows short" not in found["fifo"]
    texts = {"fifo": [sift_run([10], [], None, 1)], "sift": [sift_run([10, 20], [], 7, 1)]}
    with pytest.raises(DataError, match="have not had the same flows"):
        given("sift", "tail 0.9", texts)
    text = sift_run([10, 20], [0], 7, 1).replace(",2001,", ",2000,")
    with pytest.raises(DataError, match="cannot be told apart"):
        given("sift", "tail 0.9", {"sift": [text]})


def test_lengths_of_sift() -> None:
    text = sift_run([10, 20], [1], 7, 1) + lengths((10, 30, 2), (10.5, 4, 50), (60.5, 90, 100))
    found, _ = given("sift", "queues 0.9", {"sift": [text]})
    one = {k: v for k, v in found["sift"].items() if k.startswith(("high", "low"))}
    over = one.pop("high, >50 %"), one.pop("high, >60 %")
    assert over == pytest.approx((100 / 3, 100 / 3))
    assert one == {
        "high, most": 90, "low, most": 100, "high@0": 30, "high@0.5": 4, "low@0": 2, "low@0.5": 50
    }  # fmt: skip
    plain = f"lengths 10 {stats('pfifo', qlen=150)}"
    found, _ = given("sift", "queues 0.9", {"fifo": [sift_run([10, 20], [], None, 1) + plain]})
    assert (found["fifo"]["high, most"], found["fifo"]["low, most"]) == (150, 0)
    with pytest.raises(DataError, match="truncated"):
        given("sift", "queues 0.9", {"fifo": [sift_run([10], [], None, 1) + plain[:30]]})
    with pytest.raises(DataError, match="no lengths"):
        given("sift", "queues 0.9", {"fifo": [sift_run([10], [], None, 1)]})


def run2c_run(some: list[Flow], persistent: list[int] | None = None) -> list[str]:
    """Flows of so many packets and ms, begun 1 s after each other; kbit/s of others."""
    beside = bulk(np.array([persistent]) * 1e3, 10) if persistent else ""
    return [flows(some, 10) + beside + stats()]


SLOW: list[Flow] = [(5, 1000.0), (20, 3000.0), (21, 9000.0)]


@pytest.mark.parametrize(
    ("case", "name", "some", "unmet"),
    [
        ("s1-d1", "run2c", [(5, 30), (20, 60), (21, 9000)], []),  # a mean of 45 against 2000
        ("s1-d1", "run", [(5, 100), (20, 60), (21, 9)], ["max ms"]),
        ("s1-d1", "run2c-learn", [(5, 350), (20, 60), (21, 9)], ["ms", "max ms"]),
        ("s2-d1", "run2c", [(5, 1000), (20, 3000)], []),  # without a bound
        ("s1-d1-today", "run2c", [(5, 1000), (20, 3000)], []),
        ("quick", "run2c", [(5, 375), (20, 375)], []),
        ("quick", "run2c", [(5, 190), (20, 376)], ["max ms"]),
    ],
)
def test_gain_of_run2c(case: str, name: str, some: list[Flow], unmet: list[str]) -> None:
    texts = {"droptail": run2c_run(SLOW), name: run2c_run(some)}
    _, missed = given("run2c", case, texts)
    found = [what.split(": ")[1].split(" <=20")[0] for what in missed]
    assert found == unmet


# Ten senders, of whom the second five are not adapted
@pytest.mark.parametrize(("delay", "met"), [(1250, True), (1251, False)], ids=["at most", "more"])
def test_mixed_senders(delay: float, met: bool) -> None:
    texts = {
        "droptail": run2c_run([(5, 1000)] * 10),
        "run2c": run2c_run([(5, 20)] * 5 + [(5, delay)] * 5),
    }
    found, unmet = given("run2c", "mixed", texts)
    assert (not unmet) == met and all("others ms all" in what for what in unmet)
    mine = found["run2c"]
    assert (mine["adapted flows"], mine["adapted failed"], mine["adapted in progress, most"]) == (
        5,
        0,
        1,
    )
    assert mine["adapted ms <=8"] == mine["adapted max ms <=20"] == 20
    assert np.isnan(mine["adapted ms >100"])


@pytest.mark.parametrize(
    ("run", "run2c", "unmet"),
    [
        ([1000, 1010], [900, 1100], []),
        ([1000, 1011], [900, 1100], ["run"]),
        ([1000, 1000], [899, 1100], ["run2c"]),
    ],
)
def test_persistent_flows_of_run2c(run: list[int], run2c: list[int], unmet: list[str]) -> None:
    rates = {"droptail": [1100, 900], "run": run, "run2c": run2c}
    texts = {name: run2c_run(SLOW, each) for name, each in rates.items()}
    found, missed = given("run2c", "s1-d2", texts)
    assert [what.split(":")[0] for what in missed] == [f"s1-d2, {name}" for name in unmet]
    fifo = found["droptail"]
    shown = [fifo[f"bulk {what}"] for what in ("kbit/s", "variance", "apart %")]
    assert shown == pytest.approx([1000, 10000, 20])
    assert (fifo["bulk kbit/s@1"], fifo["bulk kbit/s@2"]) == (1100, 900)
    _, missed = given("run2c", "s2-d2", texts)
    assert not missed


def test_flows_in_progress() -> None:
    """Begun after 0, 1, 2 and 3 s; the one of 2 s never ends."""
    begin, response = np.array([0.0, 1000, 2000, 3000]), np.array([500, 4000, np.nan, 100])
    number = over_time.in_progress(begin, response, 6, 100)
    assert number[::5].tolist() == [1, 0, 1, 1, 2, 2, 3, 2, 2, 2, 1, 1]
    assert number[30] == 3 and number[31] == 2
    some: list[Flow] = [(1, 500), (1, 4000), (1, 0), (200, 100)]
    found, _ = given("run2c", "s1-d1", {"droptail": run2c_run(some)})
    fifo = found["droptail"]
    assert fifo["kbit/s >100"] == pytest.approx(200 * PAYLOAD * 8 / 100)
    assert [fifo[f"in progress@{i}"] for i in range(6)] == [1, 1, 2, 3, 2, 1]
    assert fifo["failed"] == 1 and fifo["in progress, most"] == 3


def test_sizes_of_figures() -> None:
    sizes, values = np.array([0.5, 1, 1.2, 20, 39.5]), np.arange(5.0)
    size, mean, most = runs.by_size(sizes, values, fine=True)
    assert (size.tolist(), mean.tolist(), most.tolist()) == (
        [1, 2, 20, 40],
        [0.5, 2, 3, 4],
        [1, 2, 3, 4],
    )
    size, mean, _ = runs.by_size(np.array([100, 110.0, 200]), values[:3], fine=False)
    assert (size.tolist(), mean.tolist()) == ([105, 200], [0.5, 2])


def bounded(where: Path, bounds: str, **of: float) -> list[bool]:
    """Whether a metric `a` of each qdisc is within its bounds; b is 1 everywhere."""
    names = "".join(f'{name} = "{name}"\n' for name in of)
    text = 'title = "x"\nduration = 1\nbulk.flows = 1\nnetwork = { rate = "1mbit", rtt = 1 }\n'
    (where / "x.toml").write_text(f"{text}\n[cases.c]\n[cases.d]\n[qdiscs]\n{names}\n{bounds}")
    rows: Rows = {("c", name, 1): {"a": value, "b": 1.0} for name, value in of.items()}
    return [met for _, met in verdicts(read(where / "x.toml"), rows)]


@pytest.mark.parametrize(
    ("bound", "met"),
    [
        ("at_most = 3", [True, True, True]),
        ("at_least = 2", [False, True, True]),
        ("at_least = 2\nat_most = 2", [False, True, False]),
        ('at_most = 1\nqdisc = "p*"', [True]),
        ('at_most = 1\nqdisc = ["q", "r"]', [False, False]),
        ('at_most = 1\ncase = "d"', []),
        ('of.qdisc = "q"\nat_most = 0.5', [True, False, False]),
        ('of.qdisc = "q"\nat_most = 0.5\nenough = 2', [True, True, False]),
        ('of.qdisc = "q"\nat_least = 1.5\nenough = 2', [False, True, True]),
        ('of.metric = "b"\nat_most = 2', [True, True, False]),
        ('of.case = "d"\nat_most = 0', []),
        ('of.metric = "c"\nat_most = 0', []),
    ],
)
def test_bounds(bound: str, met: list[bool], tmp_path: Path) -> None:
    found = bounded(tmp_path, f'[[bounds]]\nmetric = "a"\n{bound}\n', p=1, q=2, r=3)
    assert found == met


def test_bounds_of_what_there_is_not(tmp_path: Path) -> None:
    assert bounded(tmp_path, '[[bounds]]\nmetric = "z"\nat_most = 1\n', p=1) == [False]
    assert bounded(tmp_path, '[[bounds]]\nmetric = "a"\nat_most = 1\n', p=np.nan) == []
    nothing = '[[bounds]]\nmetric = "a"\nof.qdisc = "q"\nat_most = 1\n'
    assert bounded(tmp_path, nothing, p=0, q=0) == [True, True]
    assert bounded(tmp_path, nothing, p=1, q=0) == [False, True]


QUIET = {
    f"{name} {what}": 0.0
    for name in ("call", "ssh", "turned", "vpn")
    for what in ("loss %", "p99 ms")
}


@pytest.mark.parametrize(
    ("flow", "loss", "p99", "met"),
    [
        ("call", 0, 3, True),
        ("call", 0, 3.1, False),
        ("ssh", 0.1, 1, False),
        ("turned", 0, 20, True),
        ("turned", 0, 21, False),
        ("vpn", 0.1, 30, True),
        ("vpn", 0.2, 1, False),
        ("vpn", 0, 31, False),
    ],
)
def test_bounds_of_old_flows(flow: str, loss: float, p99: float, met: bool) -> None:
    path = find("old-flows")
    assert path
    one = read(path)
    mine = QUIET | {f"{flow} loss %": loss, f"{flow} p99 ms": p99}
    rows: Rows = {(case, "las", 1): mine for case in one.cases}
    rows |= {(case, "fq_codel", 1): QUIET | {"vpn p99 ms": 15.0} for case in one.cases}
    found = list(verdicts(one, rows))
    assert len(found) == 8 and all(ok for _, ok in found) == met
    # Enough, whatever part of fq_codel's it is
    rows["vpn", "las", 1], rows["vpn", "fq_codel", 1] = (
        QUIET | {"vpn p99 ms": 20.0},
        QUIET | {"vpn p99 ms": 1.0},
    )
    rows["calls", "las", 1] = QUIET
    assert all(ok for _, ok in verdicts(one, rows))


def test_bounds_of_bulk_and_run2c_curve() -> None:
    def unmet(name: str, rows: Rows) -> list[bool]:
        path = find(name)
        assert path
        return [met for _, met in verdicts(read(path), rows)]

    def of(case: str, qdisc: str, **values: float) -> Rows:
        return {(case, qdisc, 1): {name.replace("_", " "): v for name, v in values.items()}}

    rate = "bulk Mbit/s"
    rows: Rows = {("slow", "las", 1): {rate: 9.7}, ("slow", "fq_codel", 1): {rate: 10}}
    rows |= of("ten", "las", bulk_Jain=0.95)
    assert unmet("bulk", rows) == [True, True]
    rows |= {("slow", "las", 1): {rate: 9.69}} | of("ten", "las", bulk_Jain=0.949)
    assert unmet("bulk", rows) == [False, False]
    rows = of("default", "cake", excess=1) | of("default", "run2c", excess=0.5)
    assert unmet("run2c-curve", rows) == [True]
    assert unmet("run2c-curve", rows | of("default", "run2c", excess=0.6)) == [False]
    assert unmet("run2c-curve", of("threshold", "4k", excess=1)) == []
