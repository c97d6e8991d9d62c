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

FLOWGEN = """\
id,start_us,bytes,response_us,status
0,0,7240,24000,ok
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
