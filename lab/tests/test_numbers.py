# SPDX-License-Identifier: GPL-2.0
"""The numbers of runs and their bounds, on made-up measurements of the lab's experiments."""

from pathlib import Path

import numpy as np
import pytest

from lab.measure import numbers, over_time
from lab.measure.bounds import verdicts
from lab.measure.numbers import measure
from lab.measure.reading import DataError
from lab.measure.rows import Rows
from lab.measure.tables import tables
from lab.run.experiment import find, read
from lab.tests.made_up import (
    MINE,
    PAYLOAD,
    SOME,
    Flow,
    cbr,
    fetch,
    flows,
    given,
    intervals,
    packets,
    stats,
)


def test_queues_of_the_kernels_own_packets() -> None:
    queues = np.array([[0, 0, 86, 0, 0], [900, 86, 86, 3000, 0], [800, 86, 86, 2000, 0]])
    assert over_time.largest(queues, 2).tolist() == [[0, 0], [900, 3000], [800, 2000]]


def test_flows_in_progress() -> None:
    """Begun after 0, 1, 2 and 3 s; the one of 2 s never ends."""
    begin, response = np.array([0.0, 1000, 2000, 3000]), np.array([500, 4000, np.nan, 100])
    number = over_time.in_progress(begin, response, 6, 100)
    assert number[::5].tolist() == [1, 0, 1, 1, 2, 2, 3, 2, 2, 2, 1, 1]
    assert number[30] == 3 and number[31] == 2
    some: list[Flow] = [(1, 500), (1, 4000), (1, 0), (200, 100)]
    found, _ = given("run2c", "s1-d1", {"droptail": [flows(some, 10) + stats()]})
    fifo = found["droptail"]
    assert fifo["kbit/s >100"] == pytest.approx(200 * PAYLOAD * 8 / 100)
    assert [fifo[f"in progress@{i}"] for i in range(6)] == [1, 1, 2, 3, 2, 1]
    assert fifo["failed"] == 1 and fifo["in progress, most"] == 3


def test_sizes_of_figures() -> None:
    sizes, values = np.array([0.5, 1, 1.2, 20, 39.5]), np.arange(5.0)
    size, mean, most = numbers.by_size(sizes, values, fine=True)
    assert (size.tolist(), mean.tolist(), most.tolist()) == (
        [1, 2, 20, 40],
        [0.5, 2, 3, 4],
        [1, 2, 3, 4],
    )
    size, mean, _ = numbers.by_size(np.array([100, 110.0, 200]), values[:3], fine=False)
    assert (size.tolist(), mean.tolist()) == ([105, 200], [0.5, 2])


def bounded(where: Path, bounds: str, **of: float) -> list[bool]:
    """Whether a metric `a` of each qdisc is within its bounds; b is 1 everywhere."""
    names = "".join(f'{name} = "{name}"\n' for name in [*of, "x"])  # of x there is none
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
        ('of.qdisc = ["q", "r"]\nat_most = 0.5', [True, False, False]),
        ('of.qdisc = ["q", "r"]\nat_least = 0.5', [False, True, True]),
        ('of.qdisc = ["q", "x"]\nat_most = 1', [True, True, False]),
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


def test_groups() -> None:
    """Of 3 MB in 24 s, and of four connections in two bursts of which one has not ended."""
    text = cbr("video", [3000, 102_000, 104_000, 0]) + fetch("web", [9000, 8000, 7000, 0], 2)
    found, _ = given("stream", "pages 2mbit", {"las": [text + stats()]})
    las = found["las"]
    assert las["web Mbit/s"] == 1 and (las["web begun"], las["web done"]) == (4, 3)
    assert (las["web ms"], las["web longest ms"], las["web page ms"]) == (8, 9, 9)
    assert (las["web pages"], las["web pages done"]) == (2, 1)
    assert las["video late %"] == 50 and las["video loss %"] == 25
    text = cbr("call", [3000]) + fetch("tcp", []) + fetch("shorts", [9000]) + packets("rude")
    found, _ = given("impolite", "udp", {"las": [text + stats()]})
    las = found["las"]
    assert las["tcp Mbit/s"] == 1 and "tcp begun" not in las and "shorts pages" not in las
    assert (las["rude wire Mbit/s"], las["rude dropped %"]) == (2, 25)
    assert "call late %" not in las
    with pytest.raises(DataError, match="not the groups of packets that were to be measured"):
        given("impolite", "udp", {"las": [text.replace("rude", "other") + stats()]})


def test_beside(tmp_path: Path) -> None:
    """Flow by flow, and what is got in each second, beside what tcp has given."""
    path = tmp_path / "mine.toml"
    path.write_text(
        MINE
        + """
tcp = "pfifo"
[watch]
against = "tcp"
lengths = 1
fetched = 1
[pair]
policies = { las = "las", tcp = "tcp" }
outside = ["sample"]
[fetch]
sample = {}
"""
    )
    one = read(path)

    def run(times: list[float], got: list[int], sent: list[int]) -> str:
        seen = [f"lengths {i} {stats(bytes=b, qlen=0)}" for i, b in enumerate(sent)]
        arrived = intervals("fetched", np.array([got]).T, 1)
        some = flows([(5, ms) for ms in times])
        return some + fetch("sample", []) + arrived + "".join(seen) + stats()

    texts = {
        "tcp": run([1000, 1000, 1000, 1000, 0], [1448, 1448, 0], [0, 2514, 4028]),
        "las": run([500, 900, 2000, 1010, 9], [1448, 724, 9], [0, 2514, 4028]),
        "cake": run([1000, 1000, 1000, 1000, 0], [1448, 1448, 0], [0, 2514, 4528]),
    }
    rows = measure(one, {job.name: texts[q] for (_, q, _), job in one.runs.items()})
    las, cake = rows["base", "las", 1], rows["base", "cake", 1]
    # What has failed under one is not compared; 1 % is nothing
    assert (las["faster %"], las["slower %"], las["equal %"]) == (50, 25, 25)
    assert las["gain s"] == pytest.approx(0.3) and las["loss s"] == 1
    # The last second, in which tcp has nothing, is not compared
    assert las["sample apart %"] == 50 and las["sample kB/s@2"] == 0.724
    # 1000 bytes of the pair until 1 s; until 2 s 1000, and with half as much of sample's 1757
    assert las["bytes apart %"] == pytest.approx(75.7)
    assert (cake["equal %"], cake["sample apart %"]) == (100, 0)
    assert cake["bytes apart %"] == pytest.approx(50) and np.isnan(cake["gain s"])
    assert "faster %" not in rows["base", "tcp", 1]
    assert las["in progress CDF@0"] < las["in progress CDF@1"]
    assert las["response CDF@500"] == 1 and cake["response CDF@500"] == 0.8
    shown = tables(rows)
    assert "faster %" in shown and "base las sample" in shown
    texts["las"] = texts["las"].replace(",7240,", ",7241,", 1)
    with pytest.raises(DataError, match="have not had the same flows"):
        measure(one, {job.name: texts[q] for (_, q, _), job in one.runs.items()})


def test_packets_that_nobody_counted(tmp_path: Path) -> None:
    """Of a pair's connections those are not which the ends see."""
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    one = read(path)
    text = flows(SOME).replace(",10,0\n", ",0,0\n") + stats()
    rows = measure(one, {job.name: text for job in one.runs.values()})
    values = rows["base", "las", 1]
    assert "flows with loss" not in values and np.isnan(values["loss %"])


IMPOLITE = {"tcp Mbit/s": 4.0, "shorts done": 100, "shorts ms": 50, "call loss %": 0}
IMPOLITE |= {"call p99 ms": 2}


@pytest.mark.parametrize(
    ("qdisc", "change", "met"),
    [
        ("las", {}, True),
        ("las", {"tcp Mbit/s": 4.5}, True),  # 0.9 of cake's 5
        ("las", {"tcp Mbit/s": 4.4}, False),
        ("las", {"shorts done": 99}, False),
        ("las", {"shorts ms": 51}, False),
        ("las", {"call loss %": 0.1}, False),
        ("las", {"call p99 ms": 2.1}, False),
        ("sift", {"tcp Mbit/s": 2.0, "shorts ms": 99, "call loss %": 9}, True),
        ("sift", {"shorts ms": 101}, False),
        ("run2c", {"call loss %": 51}, False),
        ("sift", {"tcp Mbit/s": 1.9}, False),
        ("sqf", {"shorts done": 49}, False),
    ],
)
def test_bounds_of_impolite(qdisc: str, change: dict[str, float], met: bool) -> None:
    path = find("impolite")
    assert path
    mine = IMPOLITE | {"tcp Mbit/s": 5.0} | change
    rows: Rows = {("udp", "fq_codel", 1): IMPOLITE, ("udp", qdisc, 1): mine}
    rows["udp", "cake", 1] = {"tcp Mbit/s": 5.0, "shorts done": 80, "shorts ms": 60}
    rows["udp", "cake", 1] |= {"call loss %": 3.0, "call p99 ms": 9}
    assert all(ok for _, ok in verdicts(read(path), rows)) == met
