# SPDX-License-Identifier: GPL-2.0
"""What runs have given side by side, on measurements worked out by hand."""

from pathlib import Path

import numpy as np
import pytest

from lab.measure import rows as numbers
from lab.measure import tables
from lab.measure.numbers import measure
from lab.measure.reading import DataError
from lab.measure.rows import Rows
from lab.run.experiment import Experiment, read
from lab.tests.made_up import MINE, Flow, bulk, cbr, flows, stats


def parse(where: Path, text: str) -> Experiment:
    path = where / "mine.toml"
    path.write_text(text)
    return read(path)


# 5 packets are 6 ms on the wire: slowdown 2 in 24 ms
def run(delays: list[float], more: str = "", drops: int = 3) -> str:
    """Flows of 5, 50 and 500 packets in turn, one for each response in ms (0: failed)."""
    some: list[Flow] = [([5, 50, 500][i % 3], delay) for i, delay in enumerate(delays)]
    return flows(some, 2, lost=1) + more + stats("las", drops, records_peak=7)


def rates(*rows: tuple[float, ...]) -> str:
    """What bulk has received, Mbit/s by interval and flow."""
    return bulk(np.array(rows) * 1e6)


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


ALL = MINE.replace("duration = 10", 'duration = 10\nseeds = [1, 2]\nfloor = true\nagainst = "cake"')
ALL += "[bulk]\nflows = 2\n[steady]\ncall = { bytes = 160, every = 20 }\n"


def test_report(tmp_path: Path) -> None:
    one = parse(tmp_path, ALL)
    more = rates((0.8, 1.2), (1.2, 0.8)) + cbr("call", [3000, 0, 5000, 4000])
    data = {f"base-floor-{seed}": run([12, 66, 606]) for seed in (1, 2)}
    data |= {f"base-cake-{seed}": run([24, 66, 606], more) for seed in (1, 2)}
    data["base-las-1"] = run([18, 66, 606], more)
    data["base-las-2"] = run([18, 66, 0], rates((0, 0.016)) + cbr("call", [3000] * 4), drops=5)
    assert set(data) == {job.name for job in one.jobs}
    rows = measure(one, data)
    assert rows["base", "floor", 1]["slowdown"] == 1 and "excess" not in rows["base", "floor", 1]
    las = rows["base", "las", 1]
    assert (las["ms <=8"], las["ms 21-100"], las["ms >100"]) == (18, 66, 606)
    assert las["kbit/s >100"] == pytest.approx(500 * 1448 * 8 / 606)
    assert (las["excess"], rows["base", "cake", 1]["excess"]) == pytest.approx((0.5 / 3, 1 / 3))
    assert (las["drops"], las["failed"], las["flows"], las["records"]) == (3, 0, 3, 7)
    # Of 10 packets each the second and the third flow have lost 1 and 2
    assert [las[f"loss %{size}"] for size in ("", " <=8", " 21-100", " >100")] == [10, 0, 10, 20]
    assert (las["flows with loss"], las["flows with loss <=40"]) == (2, 0)
    assert las["CDF@500"] == 1
    # The first flow has 2/3 of the throughput that it has alone
    assert las["Jain"] == pytest.approx((8 / 3) ** 2 / (3 * 22 / 9)) and las["Jain >100"] == 1
    assert "Jain" not in rows["base", "floor", 1]
    assert las["call loss %"] == 25 and las["call max ms"] == 2
    assert las["call jitter ms"] == pytest.approx((2 + 1) / 2)
    assert las["bulk Mbit/s"] == pytest.approx(2) and las["bulk Jain"] == pytest.approx(1)
    assert np.isnan(rows["base", "las", 2]["ms >100"]) and rows["base", "las", 2]["failed"] == 1
    assert rows["base", "las", 2]["bulk Jain"] == 0.5

    # The same from what is kept of it
    kept = numbers.from_csv(numbers.to_csv(rows))
    assert numbers.to_csv(kept) == numbers.to_csv(rows) and list(kept) == list(rows)
    text = tables.tables(kept, one.against)
    found = rows_of(text)
    # Of 3 and 5 drops the mean is 4, and its interval 12.706 standard errors of 1 wide
    row = next(line for line in found if line[:2] == ["base", "las"] and "606.0" in line)
    assert row[-7:] == ["4", "±13", "0", "±6", "7", "±0", "0.625"]
    cake = next(line for line in found if line[:2] == ["base", "cake"])
    assert cake[-1] == "1.000" and cake[2:6] == ["3", "±0", "24.0", "±0.0"]
    floor = next(line for line in found if line[:2] == ["base", "floor"])
    assert floor[-1] == "-"
    lost = "10.00 ±0.00 0.00 ±0.00 10.00 ±0.00 20.00 ±0.00 2 ±0 0 ±0"
    assert ["base", "las", *lost.split()] in found
    call = next(line for line in found if line[:3] == ["base", "cake", "call"])
    assert call[3:7] == ["4", "±0", "25.00", "±0.00"]
    told = "2.000 ±0.000 1.0000 ±0.0000 0.9615 ±0.0000 0.00 ±0.00 172.7 ±0.0 172.7 ±0.0 0 ±0 3 ±0"
    assert ["base", "cake", *told.split()] in found


def test_report_without_flows(tmp_path: Path) -> None:
    text = MINE.replace('[flows]\nsize = "fixed(5)"\nload = 0.5\n', "[bulk]\nflows = 1\n")
    one = parse(tmp_path, text)
    assert len(one.only(seeds=[1, 2]).jobs) == 4  # other machines, though of the same words
    data = {f"base-{q}-1": rates((1,)) + stats() for q in one.qdiscs}
    text = tables.tables(numbers.from_csv(numbers.to_csv(measure(one, data))))
    assert rows_of(text) == [["Mbit/s", "packets/s", "least", "halts", "drops"]] + [
        ["base", name, "1.000", "86.3", "86.3", "0", "3"] for name in ("las", "cake")
    ]


def test_links_of_senders(tmp_path: Path) -> None:
    """Slowdown is against what the flow has to itself: 1 here, of the first sender's 2 flows."""
    text = MINE.replace("rtt = 6", 'links = ["100mbit/6", "1mbit/60"]')
    one = parse(tmp_path, text)
    data = {f"base-{q}-1": run([12, 660, 606]) for q in one.qdiscs}
    assert measure(one, data)["base", "las", 1]["slowdown"] == pytest.approx(1)
    data["base-las-1"] = data["base-las-1"].replace(",5001,", ",5002,")
    with pytest.raises(DataError, match="of no sender's port"):
        measure(one, data)


def test_measured_data_that_does_not_fit(tmp_path: Path) -> None:
    one = parse(tmp_path, MINE + "[steady.call]\nbytes = 160\nevery = 20\n")
    data = {f"base-{q}-1": run([12, 66, 606], cbr("other", [3000])) for q in one.qdiscs}
    with pytest.raises(DataError, match="not the flows that were to be measured"):
        measure(one, data)


def test_interval() -> None:
    mean, half = numbers.interval([1, 2, 3])
    # 4.303 standard errors of 1/sqrt(3)
    assert mean == 2 and half == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert np.isnan(numbers.interval([5.0])[1]) and numbers.interval([1, np.inf])[0] == np.inf


def values_of(metric: str, **of: list[float]) -> Rows:
    """Of each qdisc the seeds' values, which begin at seed 1."""
    return {
        ("base", name, i): {metric: value}
        for name, values in of.items()
        for i, value in enumerate(values, 1)
    }


@pytest.mark.parametrize(
    ("metric", "las", "cake", "worse"),
    [
        # Seeds differ by much more than the two do
        ("ms <=8", [10.0, 50, 90], [9.0, 48.9, 89.1], True),
        ("ms <=8", [10.0, 50, 90], [9.0, 51.0, 89.1], False),
        ("ms <=8", [9.0, 48.9, 89.1], [10.0, 50, 90], False),
        ("kbit/s >100", [9.0, 48.9, 89.1], [10.0, 50, 90], True),
        ("call loss %", [9.0, 48.9, 89.1], [10.0, 50, 90], False),
        # 2 and 4 more: 3 ± 12.7
        ("excess", [3.0, 5], [1.0, 1], False),
        ("excess", [3.0, 3], [1.0, 1], True),
        ("excess", [3.0, 3], [3.0, 3], False),
        ("excess", [3.0], [2.9], True),
        # Of the seed that both have
        ("excess", [3.0], [3.1, 1.0], False),
        ("excess", [3.0], [2.9, 4.0], True),
        ("call p99 ms", [np.inf], [5.0], True),
        ("call p99 ms", [np.inf, 5], [np.inf, 5], False),
        ("call p99 ms", [np.inf, 5], [np.inf, 4], True),
        ("drops", [9.0], [1.0], False),
        ("flows with loss", [9.0], [1.0], False),
    ],
)
def test_defeats(metric: str, las: list[float], cake: list[float], worse: bool) -> None:
    rows = values_of(metric, floor=[0], las=las, cake=cake, srpt=[0], plain=[1e6])
    found = tables.defeats(numbers.from_csv(numbers.to_csv(rows)))
    assert [one[:4] for one in found] == [("base", metric, "las", "cake")] * worse
    if worse:
        pairs = [pair for pair in zip(las, cake, strict=False) if min(pair) < np.inf]
        assert found[0][4:] == pytest.approx(tuple(np.mean(pairs, axis=0)))


def test_what_is_compared(tmp_path: Path) -> None:
    """All that a run tells has been thought of."""
    one = parse(tmp_path, ALL)
    more = rates((0.8, 1.2)) + cbr("call", [3000, 0, 5000])
    data = {job.name: run([12, 66, 606], "" if "floor" in job.name else more) for job in one.jobs}
    rows = measure(one, data)
    known = {name for values in rows.values() for name in values if numbers.AT not in name}
    less = [name for _, name, sign in tables.compared(rows) if sign == 1]
    more = [name for _, name, sign in tables.compared(rows) if sign == -1]
    sizes = ["<=8", "21-100", ">100"]
    delays = [f"call {what}" for what in ("loss %", "p50 ms", "p99 ms", "max ms", "jitter ms")]
    losses = ["loss %", *(f"loss % {size}" for size in sizes)]
    assert sorted(less) == sorted(
        [*(f"ms {size}" for size in sizes), "excess", "failed", *losses, *delays]
    )
    assert sorted(more) == ["Jain", "Jain >100", "bulk Jain", "bulk Mbit/s", "kbit/s >100"]
    assert known - set(less) - set(more) == {
        "flows", "slowdown", "drops", "records", "call packets", "flows with loss",
        "flows with loss <=40", "in progress", "in progress, most", "ms all", "ms <=20", "ms 21-40",
        *(f"max ms {size}" for size in ("all", *sizes, "<=20", "21-40")), "halts", "packets/s",
        *(f"packets/s, {what}" for what in ("least", "least fifth", "last fifth")),
        *(f"bulk {what}" for what in ("Jain, short", "kbit/s", "variance", "apart %")),
    }  # fmt: skip


def test_groups_that_are_compared() -> None:
    """Those that what is impolite is beside, and slowdown where excess does not tell it."""
    every = ["slowdown", "shorts ms", "shorts done", "shorts longest ms", "web page ms"]
    every += ["tcp Mbit/s", "rude Mbit/s", "rude ms", "rude wire Mbit/s", "video late %"]
    rows: Rows = {("base", "las", 1): dict.fromkeys(every, 1.0)}
    signs = {name: sign for _, name, sign in tables.compared(rows)}
    assert signs == {
        "slowdown": 1, "shorts ms": 1, "shorts done": -1, "web page ms": 1, "tcp Mbit/s": -1,
        "video late %": 1,
    }  # fmt: skip
    rows["base", "las", 1]["excess"] = 1
    assert "slowdown" not in {name for _, name, _ in tables.compared(rows)}


def test_winners() -> None:
    rows = values_of("ms <=8", floor=[1], srpt=[2], las=[4, 6], cake=[7, 7], run2c=[9, 9])
    for key, values in rows.items():
        values |= {"failed": 0, "bulk Jain": 0.5 if key[1] == "las" else 0.75}
    assert tables.winners(rows)[1:] == [
        ["base", "ms <=8", "las", "5 ±13", "run2c (cake)"],
        ["base", "failed", "all", "0 ±0", "-"],
        ["base", "bulk Jain", "cake, run2c", "0.75 ±0", "las (cake)"],
    ]
    assert tables.best(rows)["base", "bulk Jain"] == ["cake", "run2c"]
