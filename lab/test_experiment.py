# SPDX-License-Identifier: GPL-2.0
"""The experiments' goals and tables, on made-up measurements."""

import sys
from pathlib import Path

import numpy as np
import pytest

LAB = Path(__file__).resolve().parent
sys.path[:0] = [str(LAB), str(LAB.parent / "selftests")]
import bulk_tcp  # noqa: E402
import las_log  # noqa: E402
import old_flows  # noqa: E402
import sift_figures  # noqa: E402
import sqf_figures  # noqa: E402
import sqf_tables  # noqa: E402

FLOWGEN = """\
id,start_us,bytes,response_us,status,sender,receiver
0,0,7240,24000,ok,5000,2000
#end flows 1 failed 0
"""
STATS = '[{"handle": "10:", "drops": 3}]\n'


def cbr(name: str, delays: list[int]) -> str:
    lines = "".join(f"{d}\n" if d else "lost\n" for d in delays)
    ends = f"#end packets {len(delays)} lost {delays.count(0)}\n"
    return f"cbr {name} bytes 160 least_us 3000\n{lines}{ends}"


@pytest.mark.parametrize(
    ("flow", "loss", "p99", "reached"),
    [
        ("call", 0, 3, True),
        ("call", 0, 3.1, False),
        ("ssh", 0.001, 1, False),
        ("turned", 0, 20, True),
        ("turned", 0, 21, False),
        ("vpn", 0.001, 30, True),
        ("vpn", 0.002, 1, False),
        ("vpn", 0, 31, False),
    ],
)
def test_goals_of_old_flows(flow: str, loss: float, p99: float, reached: bool) -> None:
    assert old_flows.met(flow, loss, p99, 15)[1] == reached
    assert old_flows.met("vpn", 0, 20, 1)[1]


def test_old_flows(tmp_path: Path) -> None:
    qdiscs = {"fq_codel": "", "las": ""}
    data = {
        "fq_codel-vpn": FLOWGEN + cbr("vpn", [3000, 4000, 4000]) + STATS,
        "las-vpn": FLOWGEN + cbr("vpn", [3000, 0, 5000]) + STATS,
    }
    text, reached = old_flows.report(data, qdiscs, ["vpn"], tmp_path)
    assert not reached and "NOT MET" in text
    rows = [line.split() for line in text.splitlines()]
    assert rows[1] == ["vpn", "fq_codel", "3", "0.00", "1.00", "1.00", "1.00", "2.000"]
    assert rows[2] == ["vpn", "las", "3", "33.33", "1.00", "1.98", "2.00", "2.000"]
    data["las-vpn"] = data["las-vpn"].replace("cbr vpn", "cbr other")
    with pytest.raises(old_flows.DataError):
        old_flows.report(data, qdiscs, ["vpn"], tmp_path)


def test_commands_of_old_flows() -> None:
    calls, vpn = old_flows.jobs({"las": "las"}, ["calls", "vpn"], 7)
    assert calls.args[:2] == ["las", "3600"] and vpn.args[1] == "600"
    assert [flow.split(":")[:2] for flow in calls.args[2].split()] == [
        ["call", "3600"],
        ["ssh", "3600"],
        ["turned", "3630"],
    ]


def bulk(rows: list[str]) -> str:
    flows = rows[0].count(",") + 1
    lines = "".join(f"{row}\n" for row in rows)
    return f"bulk flows {flows} interval_us 10000000\n{lines}#end intervals {len(rows)}\n"


def test_bulk(tmp_path: Path) -> None:
    assert bulk_tcp.jain(np.array([1.0, 1.0, 0.0, 0.0])) == 0.5
    qdiscs = {"fq_codel": "", "las": ""}
    data = {"fq_codel-slow": bulk(["100"]), "las-slow": bulk(["97"])}
    data |= {"fq_codel-ten": bulk(["5,5"]), "las-ten": bulk(["5,5", "9,1"])}
    text, reached = bulk_tcp.report(data, qdiscs, ["slow", "ten"], tmp_path)
    # 0.97 is met; 14 and 6 of 20: 400 / (2 * 232)
    assert not reached and "0.9700" in text and "0.8621" in text
    assert text.count("NOT MET") == 1
    assert bulk_tcp.report(data, qdiscs, ["slow"], tmp_path)[1]


def test_las_log(tmp_path: Path) -> None:
    sent = {
        "plain": [100] * 50 + [0] * 50,
        "log-0.5": [100] * 20 + [50, 100] * 40,
        "log-1": [110] * 99 + [100],
    }
    data = {
        f"{name}-reno": FLOWGEN + bulk([str(1448 * 10 * rate) for rate in rates]) + STATS
        for name, rates in sent.items()
    }
    text, reached = las_log.report(data, dict.fromkeys(sent, ""), ["reno"], tmp_path)
    assert reached and "NOT MET" not in text
    row = text.splitlines()[1].split()
    assert row[1:10] == "plain 100.0 100.0 50.0 0.0 0.0 50.0 0.0 50".split()
    assert (tmp_path / "las-log.svg").stat().st_size > 5000
    data["plain-reno"], data["log-1-reno"] = data["log-1-reno"], data["plain-reno"]
    text, reached = las_log.report(data, dict.fromkeys(sent, ""), ["reno"], tmp_path)
    assert not reached and text.count("NOT MET") == 3


def intervals(what: str, values: np.ndarray, seconds: float) -> str:
    lines = "".join(",".join(str(int(x)) for x in row) + "\n" for row in values)
    head = f"{what} flows {values.shape[1]} interval_us {seconds * 1e6:.0f}\n"
    return f"{head}{lines}#end intervals {len(values)}\n"


def sqf_run(rates: list[float], sent: float = 1.0, lost: int = 0) -> str:
    """A run of a table: Mbit/s on the wire of each flow, and how many of 10 datagrams are lost."""
    count = round((sqf_tables.WARM + sqf_tables.MEASURED) / sqf_tables.SHORT)
    size = np.tile(rates, (count, 1)) * 1e6 / 8 * sqf_tables.SHORT
    size *= sqf_tables.PAYLOAD / sqf_tables.WIRE
    lines = "lost\n" * lost + "5\n" * (10 - lost)
    cbr = f"cbr udp bytes 1472 least_us 5\n{lines}#end packets 10 lost {lost}\n"
    text = intervals("bulk", size, sqf_tables.SHORT)
    return text + intervals("sent", size * sent, sqf_tables.SHORT) + cbr


def test_sqf_table3(tmp_path: Path) -> None:
    rates = {"fq": [5, 5], "lqf": [7, 3], "sqf": [3, 7]}
    data = {job.name: "" for job in sqf_tables.table3.jobs(sqf_tables.POLICIES, ["reno"], 4)}
    labels = ("two", "caption")
    assert set(data) == {f"{p}-{x}-reno-{n}" for p in rates for x in labels for n in (4, 5, 6)}
    for name in data:
        data[name] = sqf_run(rates[name.split("-")[0]], sent=1.1)
    report = sqf_tables.table3.report
    text, reached = report(data, sqf_tables.POLICIES, ["reno"], tmp_path)
    assert reached and text.count(": met") == 2
    rows = [line.split() for line in text.splitlines()]
    assert ["reno", "sqf", "X2", "7.00", "7.08", "7.35"] in rows
    assert ["reno", "lqf", "A1", "7.70", "7.48", "7.35"] in rows
    assert ["reno", "fq", "X2,", "20", "ms", "5.00", "4.79", "5"] in rows
    data["sqf-two-reno-5"] = sqf_run([7, 3])  # a mean of 4.33 and 5.67
    assert not report(data, sqf_tables.POLICIES, ["reno"], tmp_path)[1]


def test_sqf_table4(tmp_path: Path) -> None:
    lost = {("fq", "7"): 3, ("lqf", "3"): 10, ("lqf", "7"): 10}
    data = {job.name: "" for job in sqf_tables.table4.jobs(sqf_tables.POLICIES, ["reno"], 1)}
    for name in data:
        policy, rate = name.split("-")[:2]
        data[name] = sqf_run([4], lost=lost.get((policy, rate), 0))
    text, reached = sqf_tables.table4.report(data, sqf_tables.POLICIES, ["reno"], tmp_path)
    # 3 of 10 are 2.1 Mbit/s of 7
    assert reached and ["2.10", "1.96", "2"] in [line.split()[-3:] for line in text.splitlines()]
    data["sqf-3-reno-1"] = sqf_run([4], lost=2)  # a mean of 0.2 Mbit/s
    text, reached = sqf_tables.table4.report(data, sqf_tables.POLICIES, ["reno"], tmp_path)
    assert not reached and text.count("NOT MET") == 1


def test_sqf_table1(tmp_path: Path) -> None:
    rates = {"fq": [3.3, 3.3, 3.3], "lqf": [8, 2, 0.1], "sqf": [1, 4, 5]}
    jobs = sqf_tables.table1.jobs(sqf_tables.POLICIES, ["reno"], 1)
    data = {job.name: sqf_run(rates[job.name.split("-")[0]]) for job in jobs}
    text, reached = sqf_tables.table1.report(data, sqf_tables.POLICIES, ["reno"], tmp_path)
    # As unfair on the short term as on the long one, which is not what is expected of sqf
    assert not reached and text.count("NOT MET") == 1
    assert [line.split()[1:4] for line in text.splitlines()].count(["sqf", "X,", "200"]) == 1
    # 1/k^2 of equation (22): 1 : 0.01 : 0.0025
    assert sqf_tables.model_shares("lqf", (10, 100, 200))[0] == pytest.approx(1 / 1.0125)


def test_sqf_figures(tmp_path: Path) -> None:
    count = round(sqf_figures.DURATION / sqf_figures.INTERVAL)
    turn = np.arange(count) // 50 % 2 == 0  # half a second each
    alone = np.stack([turn, ~turn], axis=1) * 12000.0
    queues = np.stack([~turn, turn], axis=1) * 80000
    fair = np.full((count, 2), 6000)

    def run(size: np.ndarray) -> str:
        parts = [("bulk", size), ("sent", size), ("queues", queues)]
        return "".join(intervals(what, each, sqf_figures.INTERVAL) for what, each in parts)

    data = {"sqf-two": run(alone), "fq-two": run(fair)}
    qdiscs = {"sqf": "", "fq": ""}
    text, reached = sqf_figures.report(data, qdiscs, ["two"], tmp_path)
    assert reached and (tmp_path / "sqf-two.png").stat().st_size > 5000
    data = {"sqf-two": run(fair), "fq-two": run(alone)}
    text, reached = sqf_figures.report(data, qdiscs, ["two"], tmp_path)
    assert not reached and text.count("NOT MET") == 2


def test_queues_of_the_kernels_own_packets() -> None:
    queues = np.array([[0, 0, 86, 0, 0], [900, 86, 86, 3000, 0], [800, 86, 86, 2000, 0]])
    assert sqf_figures.largest(queues, 2).tolist() == [[0, 0], [900, 3000], [800, 2000]]


def sift_run(delays: list[float], long: list[int], peak: int | None) -> str:
    """A flow for each delay in ms; those that were sampled, by number."""
    lines = ["id,start_us,bytes,response_us,status,sender,receiver"]
    for i, delay in enumerate(delays):
        lines.append(f"{i},0,948,{delay * 1000:.0f},ok,{5000 + i % 5},{3000 + i}")
    lines.append(f"#end flows {len(delays)} failed 0")
    lines += [f"long {5000 + i % 5} {3000 + i}" for i in long]
    more = f', "records_peak": {peak}' if peak else ""
    kind = "sift" if peak else "pfifo"
    return "\n".join([*lines, f'[{{"kind": "{kind}", "handle": "10:", "drops": 3{more}}}]', ""])


@pytest.mark.parametrize(
    ("delays", "peak", "unmet"),
    [
        ([10, 10, 10, 10, 1000, 10, 100], 1600, []),
        ([11, 11, 11, 11, 1000, 11, 100], 1600, ["short"]),
        ([10, 10, 10, 10, 1300, 10, 1000], 1600, ["all"]),
        ([10, 10, 10, 10, 6001, 10, 0.1], 1600, ["all", "long"]),
        ([10, 10, 10, 10, 1000, 10, 100], 1601, ["sampled"]),
    ],
)
def test_goals_of_sift(
    delays: list[float],
    peak: int,
    unmet: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Of seven flows through five places two are sampled."""
    case = sift_figures.Case("x", ("1mbit/1",) * 5, ("all",) * 5, loads=(0.9,))
    monkeypatch.setitem(sift_figures.CASES, "x", case)
    data = {
        "x-0.9-fifo": sift_run([100, 100, 100, 100, 2000, 100, 1000], [], None),
        "x-0.9-sift": sift_run(delays, [4, 6], peak),
    }
    qdiscs = {name: sift_figures.QDISCS[name] for name in ("fifo", "sift")}
    text, reached = sift_figures.report(data, qdiscs, ["x"], tmp_path)
    assert reached == (not unmet)
    found = [line.split()[3] for line in text.splitlines() if line.endswith("NOT MET")]
    assert sorted(found) == sorted({"sampled": "at"}.get(word, word) for word in unmet)


def test_groups_of_sift(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Places are told apart by the sender's port, and a picture is made of several loads."""
    loads = (0.6, 0.9)
    case = sift_figures.Case("x", ("1mbit/1",) * 5, ("a", *("b",) * 4), loads=loads)
    monkeypatch.setitem(sift_figures.CASES, "x", case)
    data = {}
    for load in loads:
        data[f"x-{load}-fifo"] = sift_run([300, 100, 100, 100, 100, 500], [], None)
        data[f"x-{load}-sift"] = sift_run([30, 10, 10, 10, 10, 50], [5], 7)
    qdiscs = {name: sift_figures.QDISCS[name] for name in ("fifo", "sift")}
    text, reached = sift_figures.report(data, qdiscs, ["x"], tmp_path)
    assert reached and (tmp_path / "sift.svg").exists()
    rows = [line.split() for line in text.splitlines()]
    assert ["x", "a", "short", "0.9", "1", "300.0", "30.0", "10.00", "7", "-", "0"] in rows
    assert ["x", "a", "long", "0.9", "1", "500.0", "50.0", "10.00"] in rows
    assert ["x", "b", "all", "0.9", "4", "100.0", "10.0", "10.00"] in rows
