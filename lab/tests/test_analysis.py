# SPDX-License-Identifier: GPL-2.0
"""The lab's arithmetic, on small data worked out by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from lab.measure import formulas, tables
from lab.measure import reading as analysis
from lab.page.experiment_pictures import by_size

LINK = analysis.Link(rate=1e7, rtt=6)
STATS = json.dumps([{"handle": "1:", "drops": 9}, {"handle": "10:", "drops": 3}])


def text(flows: list[tuple[float, float, str]], stats: str = STATS) -> str:
    """Flows as (packets, response in ms, status)."""
    lines = [analysis.HEADER]
    lines += [
        f"{i},{i * 1000},{round(size * 1448)},{round(ms * 1000)},{status},5000,{2000 + i},"
        f"{round(size) + 4},{i}"
        for i, (size, ms, status) in enumerate(flows)
    ]
    failed = sum(status != "ok" for *_, status in flows)
    return "\n".join([*lines, f"#end flows {len(flows)} failed {failed}", stats, ""])


# 5 packets take 6 ms on the wire and 6 ms of round trip: slowdown 2. 50 packets: 66 ms, 3.
FLOWS = [(5, 24, "ok"), (50, 198, "ok"), (500, 0, "timeout")]
FLOOR = [(5, 12, "ok"), (50, 66, "ok"), (500, 606, "ok")]


def test_parse() -> None:
    run = analysis.parse_run("x", text(FLOWS))
    assert run.packets.tolist() == [5, 50, 500]
    assert run.start.tolist() == [0, 1, 2]
    assert run.response[:2].tolist() == [24, 198] and np.isnan(run.response[2])
    assert (run.failed, run.drops) == (1, 3)
    assert run.ports.tolist() == [[5000, 2000], [5000, 2001], [5000, 2002]]


def test_carriage_returns_of_a_terminal() -> None:
    assert analysis.parse_run("x", text(FLOWS).replace("\n", "\r\n")).drops == 3


@pytest.mark.parametrize("cut", range(len(text(FLOWS)) - 2))
def test_truncation_is_noticed_wherever_it_happens(cut: int) -> None:
    with pytest.raises(analysis.DataError):
        analysis.parse_run("x", text(FLOWS)[:cut])


@pytest.mark.parametrize("line", range(1, 4))
def test_lost_line(line: int) -> None:
    lines = text(FLOWS).split("\n")
    del lines[line]
    with pytest.raises(analysis.DataError, match="does not add up"):
        analysis.parse_run("x", "\n".join(lines))


def test_no_statistics_of_the_leaf() -> None:
    run = analysis.parse_run("x", text(FLOWS, json.dumps([{"handle": "1:", "drops": 9}])))
    with pytest.raises(analysis.DataError, match="10:"):
        _ = run.drops


def test_slowdown_and_excess() -> None:
    run = analysis.parse_run("x", text(FLOWS))
    floor = analysis.parse_run("floor", text(FLOOR))
    assert formulas.slowdown(run, LINK)[:2].tolist() == pytest.approx([2, 3])
    assert formulas.slowdown(floor, LINK).tolist() == pytest.approx([1, 1, 1])
    # the failed flow counts in neither
    assert formulas.excess(run, floor, LINK) == pytest.approx(1.5)
    other = analysis.parse_run("other", text([(6, 12, "ok"), *FLOOR[1:]]))
    with pytest.raises(analysis.DataError, match="same flows"):
        formulas.excess(run, other, LINK)


def test_loss() -> None:
    """Flows of 5, 50 and 500 packets have sent 4 more, and the i-th has lost i."""
    run = analysis.parse_run("x", text(FLOWS))
    assert (run.sent.tolist(), run.lost.tolist()) == ([9, 54, 504], [0, 1, 2])
    assert [formulas.loss(run, label) for label in ("all", "<=8", "21-100", ">100")] == [
        3 / 567,
        0,
        1 / 54,
        2 / 504,
    ]
    assert np.isnan(formulas.loss(analysis.parse_run("x", text(FLOWS[:1])), ">100"))


def test_fairness() -> None:
    """What counts is how much longer each takes than alone, not how long."""
    run = analysis.parse_run("x", text(FLOWS))
    floor = analysis.parse_run("floor", text(FLOOR))
    # 1/2 and 1/3 of the throughput alone; the failed flow does not count
    assert formulas.fairness(run, floor, "all") == pytest.approx((5 / 6) ** 2 / (2 * 13 / 36))
    assert formulas.fairness(run, floor, "21-100") == pytest.approx(1)
    assert np.isnan(formulas.fairness(run, floor, ">100"))


@pytest.mark.parametrize(
    ("label", "sizes"),
    [
        ("all", [1, 8, 9, 20, 21, 100, 101]),
        ("<=8", [1, 8]),
        ("<=20", [1, 8, 9, 20]),
        ("21-100", [21, 100]),
        (">100", [101]),
    ],
)
def test_classes(label: str, sizes: list[int]) -> None:
    flows = [(size, size, "ok") for size in (1, 8, 9, 20, 21, 100, 101)]
    assert formulas.select(analysis.parse_run("x", text(flows)), label).tolist() == sizes


def test_table() -> None:
    run = analysis.parse_run("x", text(FLOWS))
    cake = analysis.parse_run("cake", text([(5, 60, "ok"), (50, 66, "ok"), (500, 606, "ok")]))
    floor = analysis.parse_run("floor", text(FLOOR))
    shown = tables.by_class([run, cake], floor, LINK)
    rows = [line.split() for line in shown.splitlines()]
    # mean of 24 and 198; no flow over 100 packets has ended
    assert rows[2][:3] == ["x", "111.0", "196.3"] and rows[2][-2:] == ["-", "-"]
    # cake: slowdown (5 + 1 + 1) / 3, excess 4 / 3; x: 1.5, 1.125 of cake's
    assert rows[7] == ["x", "2.500", "1.500", "1.125", "3", "1", "24.0"]
    assert rows[8] == ["cake", "2.333", "1.333", "1.000", "3", "0", "60.0"]
    assert rows[9] == ["floor", "1.000", "-", "-", "3", "0", "12.0"]


def test_binned() -> None:
    flows = [(1.2, 10, "ok")] * 25 + [(2, 20, "ok")] * 25 + [(0.1, 9, "ok")] * 8
    run = analysis.parse_run("x", text([*flows, *[(300, 99, "ok")] * 7, (2, 0, "reset")]))
    size, mean, p99, number = formulas.binned(run)
    assert (size.tolist(), mean.tolist(), number.tolist()) == ([1, 2], [9, 15], [8, 50])
    assert np.isnan(p99[0]) and p99[1] == 20


def test_picture_is_the_same_to_the_byte(tmp_path: Path) -> None:
    run = analysis.parse_run("x", text([(2, 10, "ok")] * 8 + [(90, 99, "ok")] * 8))
    for name in "ab":
        by_size([run], run, "title", tmp_path / name)
    for suffix in (".svg", ".png"):
        first = (tmp_path / "a").with_suffix(suffix).read_bytes()
        assert len(first) > 5000 and first == (tmp_path / "b").with_suffix(suffix).read_bytes()


SECTION = "cbr a bytes 160 least_us 1000\n1000\nlost\n3500\n#end packets 3 lost 1\n"


def test_steady_flows() -> None:
    flows, rest = analysis.split_steady("x", text(FLOWS).replace("[{", f"{SECTION}[{{"))
    one = flows["a"]
    assert one.delay[[0, 2]].tolist() == [0, 2.5] and np.isnan(one.delay[1])
    assert one.loss == pytest.approx(1 / 3)
    assert [one.percentile(q) for q in (0, 50, 100)] == [0, 1.25, 2.5]
    assert analysis.parse_run("x", rest).drops == 3
    assert analysis.Steady(np.array([np.nan])).percentile(99) == np.inf


@pytest.mark.parametrize("cut", range(1, len(SECTION) - 1))
def test_truncated_steady_flow(cut: int) -> None:
    with pytest.raises(analysis.DataError):
        flows, rest = analysis.split_steady("x", text(FLOWS, SECTION[:cut]))
        analysis.parse_run("x", rest)


@pytest.mark.parametrize("line", range(1, 4))
def test_lost_packet_line(line: int) -> None:
    lines = SECTION.split("\n")
    del lines[line]
    with pytest.raises(analysis.DataError, match="do not add up"):
        analysis.split_steady("x", "\n".join(lines))


FETCH = "fetch a seconds 24.5 bytes 700\n0,9,1000,0\n0,9,2500,500\n1,9,-1,0\n#end begun 3 done 2\n"


def test_fetched() -> None:
    groups, rest = analysis.split_fetch(
        "x", f"before\n{FETCH}fetch b seconds 1 bytes 7\n#end begun 0 done 0\nafter\n"
    )
    one = groups["a"]
    assert rest == "before\nafter\n" and (one.seconds, one.bytes) == (24.5, 700)
    assert one.response[:2].tolist() == [1, 2.5] and np.isnan(one.response[2])
    assert one.pages[0] == 3 and np.isnan(one.pages[1]) and one.pages.size == 2
    assert groups["b"].response.size == 0


@pytest.mark.parametrize("cut", range(1, len(FETCH) - 1))
def test_truncated_group(cut: int) -> None:
    with pytest.raises(analysis.DataError):
        _, rest = analysis.split_fetch("x", text(FLOWS, FETCH[:cut]))
        analysis.parse_run("x", rest)


@pytest.mark.parametrize("line", range(1, 4))
def test_lost_connection(line: int) -> None:
    lines = FETCH.split("\n")
    del lines[line]
    with pytest.raises(analysis.DataError, match="do not add up"):
        analysis.split_fetch("x", "\n".join(lines))


def test_heedless() -> None:
    line = "packets a seconds 24.5 sent 9 arrived 8 bytes 7\n"
    groups, rest = analysis.split_packets("x", f"before\n{line}after\n")
    assert groups == {"a": analysis.Heedless(24.5, 9, 8, 7)} and rest == "before\nafter\n"
    with pytest.raises(analysis.DataError, match="a line of packets is truncated"):
        analysis.split_packets("x", line.replace("bytes", "byt"))


def test_what_is_late() -> None:
    """What is lost has not come in time either."""
    one = analysis.Steady(np.array([0, 100, 100.1, np.nan]))
    assert (one.late(100), one.late(99), one.late(1000)) == (0.5, 0.75, 0.25)


def test_bulk_flows() -> None:
    section = "bulk flows 2 interval_us 500000\n1000,0\n500,250\n#end intervals 2\n"
    more = "sent flows 2 interval_us 500000\n1500,9\n500,250\n#end intervals 2\n"
    rates, sent, rest = analysis.split_bulk("x", "before\n" + section + more + "after\n")
    assert rates.tolist() == [[16000, 0], [8000, 4000]] and rest == "before\nafter\n"
    assert sent.tolist() == [[24000, 144], [8000, 4000]]
    for bad in (section[:-5], section.replace("500,250\n", ""), section.replace("0,250", "0")):
        with pytest.raises(analysis.DataError):
            analysis.split_bulk("x", bad + more)
    with pytest.raises(analysis.DataError):
        analysis.split_bulk("x", section)
