# SPDX-License-Identifier: GPL-2.0
"""Experiments as files: what is refused, the runs that are made, and their report."""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from lab.commands import experiment
from lab.measure import numbers as metrics
from lab.measure.reading import HEADER, DataError
from lab.page import goals, pictures
from lab.run import experiment as scenario
from vm import Built, VMError

LAB = Path(__file__).resolve().parents[1]

MINE = """\
title = "Mine"
duration = 10

[network]
rate = "10mbit"
rtt = 6

[flows]
size = "fixed(5)"
load = 0.5

[qdiscs]
las = "las"
cake = "cake besteffort flows"
"""


def parse(where: Path, text: str) -> scenario.Experiment:
    path = where / "mine.toml"
    path.write_text(text)
    return scenario.read(path)


def words(job: scenario.Job) -> dict[str, str]:
    return dict(word.split("=", 1) for word in job.args)


def test_all_of_ours_can_be_read() -> None:
    names = [path.stem for path in scenario.EXPERIMENTS.glob("*.toml")]
    assert {"d1-load", "mix", "bulk", "old-flows", "run2c-curve"} <= set(names)
    for name in names:
        one = scenario.read(scenario.find(name))
        assert one.jobs and one.goals in (None, *goals.GOALS), name
        assert len({job.name for job in one.jobs}) == len(one.jobs)


def test_example_of_the_documentation(tmp_path: Path) -> None:
    """It can be read, and names no qdisc that nobody knows."""
    text = (LAB.parent / "docs/experiments.md").read_text()
    whole = text.split("```toml\n")[1].split("```")[0]
    one = parse(tmp_path, whole)
    assert len(one.jobs) == 18 and "(18 here)" in text


def test_every_key_is_documented() -> None:
    text = (LAB.parent / "docs/experiments.md").read_text()

    def keys(spec: dict) -> list[str]:
        found = []
        for name, inner in spec.items():
            inner = inner.each if isinstance(inner, scenario.Named) else inner
            found += [name] if not isinstance(inner, dict) else keys(inner)
        return found

    assert [key for key in keys(scenario.FILE) if not re.search(rf"`\[?{key}\b", text)] == []
    assert [name for name in goals.GOALS if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title", "tilte", "tilte is not known; here may be title, seeds"),
        ('title = "Mine"\n', "", "title is missing"),
        ("load", "lode", "flows.lode is not known; here may be size, load, web, after, wait"),
        ("load = 0.5", 'load = "x"', "flows.load is 'x'; it has to be a number from 0.001 to 100"),
        ("load = 0.5", "load = true", "flows.load is True; it has to be a number"),
        ("load = 0.5", "load = nan", "flows.load is nan; it has to be a number"),
        ("load = 0.5", "", "case base: flows.load is missing"),
        ("rtt = 6", "rtt = 6.5", "network.rtt is 6.5; it has to be a whole number from 0 to"),
        ("rtt = 6", "", "network has to have either rtt or links"),
        ("rtt = 6", 'rtt = 6\nlinks = ["1mbit/6"]', "network has to have either rtt or links"),
        ("rtt = 6", 'links = ["1mbit"]', "network.links is ['1mbit']; it has to be a list of 1 to"),
        ("rtt = 6", f"links = {['1mbit/6'] * 16}", "a list of 1 to 15, each"),
        ("10mbit", "10 mbit", "network.rate is '10 mbit'; it has to be a rate such as \"10mbit\""),
        ('rate = "10mbit"', "", "network.rate is missing"),
        ("fixed(5)", "fixed(5,6)", "flows.size is 'fixed(5,6)'; it has to be a sum such as"),
        ("duration = 10", "", "case base: duration is missing"),
        ("duration = 10", "duration = 10\nseeds = [1, 1]", "seeds has one of them twice"),
        ("duration = 10", "duration = 10\nseeds = 1", "seeds is 1; it has to be a list of 1 to"),
        ("duration = 10", 'duration = 10\nagainst = "las"', "against is the qdisc whose excess"),
        ("duration = 10", 'duration = 10\nfloor = true\nagainst = "x"', "against is the qdisc"),
        ('"las"', '"las; reboot"', "qdiscs.las is 'las; reboot'; it has to be a kind and its"),
        ('"las"', '"las limit {buffer}"', "network.buffer is what a qdisc's {buffer} is"),
        ("rtt = 6", "rtt = 6\nbuffer = 9", "network.buffer is what a qdisc's {buffer} is"),
        ('"las"', '"las {other}"', "qdiscs.las: {buffer} is all that may be in braces"),
        ("cake =", "floor =", "qdiscs: 'floor' is no name here; a name is letters"),
        ("[qdiscs]", "[other]", "other is not known"),
        ('las = "las"\ncake = "cake besteffort flows"\n', "", "qdiscs is empty"),
        ("[qdiscs]", "[tcp]\nlike = 'ns3'\n[qdiscs]", 'has to be "linux" or "ns2"'),
        (
            "[qdiscs]",
            "[tcp]\nlike = 'ns2'\ncongestion = 'bbr'\n[qdiscs]",
            'tcp.congestion cannot be chosen with like = "ns2"',
        ),
        ("[qdiscs]", "[tcp]\necn = 1\n[qdiscs]", "tcp.ecn is 1; it has to be true or false"),
        ("[qdiscs]", "[bulk]\nstagger = 1\n[qdiscs]", "bulk.flows is missing"),
        ("[qdiscs]", "[steady.a]\nbytes = 99\n[qdiscs]", "has to have either bytes and every, or"),
        (
            "[qdiscs]",
            "[steady.a]\nbytes = 99\nevery = 1\nphases = '1*99/9'\n[qdiscs]",
            "steady.a has to have either",
        ),
        ("[qdiscs]", "[steady.A]\nbytes = 99\n[qdiscs]", "steady: 'A' is no name here"),
        (
            "[qdiscs]",
            "".join(f"[steady.a{i}]\nbytes = 99\nevery = 9\n" for i in range(9)) + "[qdiscs]",
            "steady has 9 flows; it may have 8",
        ),
        ("[qdiscs]", "[vary.flows]\nload = 1\n[qdiscs]", "vary.flows.load has to be a list"),
        ("[qdiscs]", "[vary.flows]\nload = [0]\n[qdiscs]", "vary.flows.load is 0; it has to be"),
        ("[qdiscs]", "[vary]\ntitle = ['x']\n[qdiscs]", "vary.title is not known"),
        ("[qdiscs]", "[vary.flows]\nload = [1, 1]\n[qdiscs]", "two cases have the name load-1"),
        ("[qdiscs]", "[cases]\nx = 1\n[qdiscs]", "cases.x has to be a table"),
        ("[qdiscs]", "[cases.'a b']\n[qdiscs]", "cases: 'a b' is no name here"),
        ("[qdiscs]", "[cases.x.tcp]\necnn = true\n[qdiscs]", "cases.x.tcp.ecnn is not known"),
        ("[flows]", "[flows", "Expected"),
    ],
)
def test_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in MINE
    with pytest.raises(DataError) as refused:
        parse(tmp_path, MINE.replace(old, new))
    assert str(refused.value).startswith("mine.toml: ") and said in str(refused.value)


def test_what_a_file_has_to_have(tmp_path: Path) -> None:
    flows = '[flows]\nsize = "fixed(5)"\nload = 0.5\n'
    with pytest.raises(DataError, match="neither flows nor bulk nor steady"):
        parse(tmp_path, MINE.replace(flows, ""))
    alone = MINE.replace(flows, "[bulk]\nflows = 1\n").replace("\n\n", "\nfloor = true\n\n", 1)
    with pytest.raises(DataError, match="not every case has flows"):
        parse(tmp_path, alone)
    with pytest.raises(DataError, match="nowhere.toml: .*No such file"):
        scenario.read(tmp_path / "nowhere.toml")
    (tmp_path / "a b.toml").write_text(MINE)
    with pytest.raises(DataError, match="the name of the file"):
        scenario.read(tmp_path / "a b.toml")


def test_words_of_a_run(tmp_path: Path) -> None:
    first, second = parse(
        tmp_path, MINE.replace("rtt", "buffer = 7\nrtt") + "p = 'p {buffer}'"
    ).jobs[:2]
    assert (first.name, second.name) == ("base-las-1", "base-cake-1")
    assert words(second) == {
        "QDISC": "cake besteffort flows",
        "RATE": "10mbit",
        "RTT_MS": "6",
        "FLOWGEN": "--size fixed(5) --load 0.5 --rate 10000000 --duration 10 --seed 1",
    }
    assert second.modules == "veth sch_htb sch_netem sch_cake tcp_cubic".split()


def test_words_of_all_there_is(tmp_path: Path) -> None:
    text = MINE.replace("duration = 10", "duration = 10\nfloor = true\nseeds = [4]")
    text = text.replace("rtt = 6", 'links = ["10mbit/6", "2mbit/60.5"]')
    text = text.replace("load = 0.5", "load = 0.5\nweb = true\nafter = 2.5\nwait = 9")
    text += """
run2c = "run2c no_learn"
[tcp]
like = "ns2"
window = 20
ecn = true
socket_memory = 5000
[bulk]
flows = 3
interval = 0.5
stagger = 0
[steady]
call = { bytes = 160, every = 20, skip = 1 }
b = { phases = "1*0,2*40/9.5" }
"""
    jobs = {job.name: job for job in parse(tmp_path, text).jobs}
    one = words(jobs["base-run2c-4"])
    flows = "--size fixed(5) --load 0.5 --rate 10000000 --duration 10 --web --wait 9 --ports 2"
    assert one == {
        "QDISC": "run2c no_learn",
        "RATE": "10mbit",
        "RTT_MS": "0",
        "LINKS": "10mbit/6 2mbit/60.5",
        "TCP": "ns2",
        "ROUTE": "window 29200 initcwnd 1 rto_min 1000ms",
        "ECN": "1",
        "SOCKET_MEMORY": "5000",
        "ISN": "5000-7063",
        "FLOWGEN": f"{flows} --seed 4",
        "AFTER": "2.5",
        "BULK": "--flows 3 --interval 0.5 --duration 12.5",
        "CBR": "call:3.5:12.5*160/20000 b:2.5:1*0,2*40/9.5",
    }
    assert {"sch_prio", "cls_u32", "run2c_isn", "sch_run2c"} <= set(jobs["base-run2c-4"].modules)
    alone = words(jobs["base-floor-4"])
    assert alone["FLOWGEN"] == f"{flows} --seed 4 --alone" and alone["TCP"] == "ns2"
    assert not {"BULK", "CBR", "AFTER", "ISN"} & set(alone)
    assert all(job.seed == 4 for job in jobs.values())
    # Each program or sysctl that the script knows of is told something here
    script = (LAB / "guest" / scenario.SCRIPT).read_text()
    assert all(key in script or key in ("QDISC", "RATE", "RTT_MS") for key in one)


def test_one_factor_at_a_time(tmp_path: Path) -> None:
    """What is the same in two cases is one run."""
    text = MINE.replace("duration = 10", "duration = 10\nseeds = [1, 2]")
    text += '[tcp]\ncongestion = "cubic"\necn = false\n'
    text += "[vary.tcp]\necn = [false, true]\ncongestion = ['cubic', 'bbr']\n"
    text += "[vary.network]\nlinks = [['1mbit/2']]\n"
    with pytest.raises(DataError, match="case links-1: network has to have either rtt or links"):
        parse(tmp_path, text)
    one = parse(tmp_path, text.replace("links = [['1mbit/2']]", "rtt = [6, 7]"))
    cases = "ecn-false ecn-true congestion-cubic congestion-bbr rtt-6 rtt-7".split()
    assert list(one.cases) == cases and len(one.runs) == 6 * 2 * 2 and len(one.jobs) == 4 * 2 * 2
    assert one.runs["ecn-false", "las", 2] is one.runs["rtt-6", "las", 2]
    assert words(one.runs["congestion-bbr", "las", 1])["CONGESTION"] == "bbr"
    assert "tcp_bbr" in one.runs["congestion-bbr", "las", 1].modules
    assert words(one.runs["ecn-true", "las", 1])["ECN"] == "1"
    assert words(one.runs["rtt-7", "las", 1]) == words(one.runs["rtt-6", "las", 1]) | {
        "RTT_MS": "7"
    }
    assert one.summary() == "16 run(s) of 6 case(s) and 2 seed(s)"


def test_cases_change_what_they_name(tmp_path: Path) -> None:
    text = MINE + "[cases.a]\n[cases.b]\nduration = 99\nflows.load = 0.9\nqdiscs.x = 'pfifo'\n"
    one = parse(tmp_path, text)
    assert [*one.cases["a"]["qdiscs"]] == ["las", "cake"] == [*one.common]
    assert [*one.cases["b"]["qdiscs"]] == ["las", "cake", "x"]
    assert one.cases["a"]["flows"] == {"size": "fixed(5)", "load": 0.5}
    assert one.cases["b"]["flows"] == {"size": "fixed(5)", "load": 0.9}
    # The longest first
    assert one.jobs[0].name == "b-las-1" and one.jobs[-1].name == "a-cake-1"
    assert one.runs["b", "x", 1].modules == "veth sch_htb sch_netem tcp_cubic".split()


def test_parts_of_an_experiment(tmp_path: Path) -> None:
    one = parse(tmp_path, MINE + "[vary.flows]\nload = [0.5, 0.9]\n")
    part = one.only({"mine": "fq_codel"}, ["load-0.9"], [7])
    assert list(part.runs) == [("load-0.9", "mine", 7)] and list(part.common) == ["mine"]
    assert list(one.only().runs) == list(one.runs)
    with pytest.raises(DataError, match="mine: the cases are load-0.5, load-0.9"):
        one.only(None, ["x"])
    with pytest.raises(DataError, match="there is no network.buffer in the case load-0.5"):
        one.only({"x": "pfifo limit {buffer}"})
    with pytest.raises(DataError, match="x is 'b=c'; it has to be a kind and its options"):
        one.only({"x": "b=c"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ('las = "las"', 'las = "lass"'),
            'mine: the qdisc las is "lass"; of that kind there is no module sch_lass, neither of '
            "kernel 6.1.0 nor of this tree: correct it, or add it as docs/experiments.md says",
        ),
        (
            ("[qdiscs]", '[tcp]\ncongestion = "bb"\n[qdiscs]'),
            "kernel 6.1.0 has no module tcp_bb",
        ),
    ],
)
def test_what_the_kernel_has_not(
    change: tuple[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is refused before anything is said of the runs."""
    built = Built("6.1", "6.1.0", tmp_path / "root", tmp_path / "home")
    built.modules.mkdir(parents=True)
    names = ("drivers/veth", *(f"net/sch_{kind}" for kind in ("htb", "netem", "las", "cake")))
    (built.modules / "modules.dep").write_text("".join(f"{name}.ko:\n" for name in names))
    (built.modules / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    runs = []
    monkeypatch.setattr(experiment, "prepare", lambda kernel: built)
    monkeypatch.setattr(experiment, "run_all", lambda *given: runs.append(given) or 1 / 0)
    options = argparse.Namespace(qdiscs=None, cases=None, seed=None, kernel="6.1", jobs=1)
    with pytest.raises((DataError, VMError)) as refused:
        experiment.run_file(parse(tmp_path, MINE.replace(*change)), options)
    assert str(refused.value) == said and not runs and not capsys.readouterr().out
    with pytest.raises(ZeroDivisionError):
        experiment.run_file(parse(tmp_path, MINE), options)
    assert runs and capsys.readouterr().out.startswith("Mine\n2 run(s)")
    runs.clear()
    options = argparse.Namespace(**vars(options) | {"name": "las-log", "qdiscs": "plain,x=lass"})
    with pytest.raises(DataError, match='^las-log: the qdisc x is "lass"; of that kind there'):
        experiment.run_module(options)
    assert not runs and not capsys.readouterr().out


# 5 packets are 6 ms on the wire: slowdown 2 in 24 ms
def run(delays: list[float], more: str = "", drops: int = 3) -> str:
    """Flows of 5, 50 and 500 packets in turn, one for each response in ms (0: failed)."""
    lines = [HEADER]
    for i, delay in enumerate(delays):
        shown = f"{delay * 1000:.0f},ok" if delay else "0,timeout"
        ports = f"{5000 + i % 2},{2000 + i}"
        lines.append(f"{i},0,{1448 * [5, 50, 500][i % 3]},{shown},{ports},10,{i % 3}")
    lines.append(f"#end flows {len(delays)} failed {delays.count(0)}")
    stats = [{"handle": "1:", "drops": 9}, {"handle": "10:", "drops": drops, "records_peak": 7}]
    return "\n".join([*lines, ""]) + more + json.dumps(stats) + "\n"


def cbr(name: str, delays: list[int]) -> str:
    lines = "".join(f"{d}\n" if d else "lost\n" for d in delays)
    ends = f"#end packets {len(delays)} lost {delays.count(0)}\n"
    return f"cbr {name} bytes 160 least_us 3000\n{lines}{ends}"


def bulk(rows: list[str]) -> str:
    head = f" flows {rows[0].count(',') + 1} interval_us 1000000\n"
    body = head + "".join(f"{row}\n" for row in rows) + f"#end intervals {len(rows)}\n"
    return f"bulk{body}sent{body}"


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


ALL = MINE.replace("duration = 10", 'duration = 10\nseeds = [1, 2]\nfloor = true\nagainst = "cake"')
ALL += "[bulk]\nflows = 2\n[steady]\ncall = { bytes = 160, every = 20 }\n"


def test_report(tmp_path: Path) -> None:
    one = parse(tmp_path, ALL)
    more = bulk(["100000,150000", "150000,100000"]) + cbr("call", [3000, 0, 5000, 4000])
    data = {f"base-floor-{seed}": run([12, 66, 606]) for seed in (1, 2)}
    data |= {f"base-cake-{seed}": run([24, 66, 606], more) for seed in (1, 2)}
    data["base-las-1"] = run([18, 66, 606], more)
    data["base-las-2"] = run([18, 66, 0], bulk(["0,2000"]) + cbr("call", [3000] * 4), drops=5)
    assert set(data) == {job.name for job in one.jobs}
    rows = metrics.measure(one, data)
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
    kept = metrics.from_csv(metrics.to_csv(rows))
    assert metrics.to_csv(kept) == metrics.to_csv(rows) and list(kept) == list(rows)
    text = metrics.tables(kept, one.against)
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
    assert ["base", "cake", "2.000", "±0.000", "1.0000", "±0.0000", "3", "±0"] in found


def test_report_without_flows(tmp_path: Path) -> None:
    text = MINE.replace('[flows]\nsize = "fixed(5)"\nload = 0.5\n', "[bulk]\nflows = 1\n")
    one = parse(tmp_path, text)
    assert len(one.only(seeds=[1, 2]).jobs) == 4  # other machines, though of the same words
    data = {f"base-{q}-1": bulk(["125000"]) + run([]).split("failed 0\n")[1] for q in one.qdiscs}
    text = metrics.tables(metrics.from_csv(metrics.to_csv(metrics.measure(one, data))))
    assert rows_of(text) == [["Mbit/s", "drops"]] + [
        ["base", name, "1.000", "3"] for name in ("las", "cake")
    ]


def test_links_of_senders(tmp_path: Path) -> None:
    """Slowdown is against what the flow has to itself: 1 here, of the first sender's 2 flows."""
    text = MINE.replace("rtt = 6", 'links = ["100mbit/6", "1mbit/60"]')
    one = parse(tmp_path, text)
    data = {f"base-{q}-1": run([12, 660, 606]) for q in one.qdiscs}
    assert metrics.measure(one, data)["base", "las", 1]["slowdown"] == pytest.approx(1)
    data["base-las-1"] = data["base-las-1"].replace(",5001,", ",5002,")
    with pytest.raises(DataError, match="of no sender's port"):
        metrics.measure(one, data)


def test_measured_data_that_does_not_fit(tmp_path: Path) -> None:
    one = parse(tmp_path, MINE + "[steady.call]\nbytes = 160\nevery = 20\n")
    data = {f"base-{q}-1": run([12, 66, 606], cbr("other", [3000])) for q in one.qdiscs}
    with pytest.raises(DataError, match="not the flows that were to be measured"):
        metrics.measure(one, data)


def test_interval() -> None:
    mean, half = metrics.interval([1, 2, 3])
    # 4.303 standard errors of 1/sqrt(3)
    assert mean == 2 and half == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert np.isnan(metrics.interval([5.0])[1]) and metrics.interval([1, np.inf])[0] == np.inf


def values_of(metric: str, **of: list[float]) -> metrics.Rows:
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
    found = metrics.defeats(metrics.from_csv(metrics.to_csv(rows)))
    assert [one[:4] for one in found] == [("base", metric, "las", "cake")] * worse
    if worse:
        pairs = [pair for pair in zip(las, cake, strict=False) if min(pair) < np.inf]
        assert found[0][4:] == pytest.approx(tuple(np.mean(pairs, axis=0)))


def test_what_is_compared(tmp_path: Path) -> None:
    """All that a run tells has been thought of."""
    one = parse(tmp_path, ALL)
    more = bulk(["100000,150000"]) + cbr("call", [3000, 0, 5000])
    data = {job.name: run([12, 66, 606], "" if "floor" in job.name else more) for job in one.jobs}
    rows = metrics.measure(one, data)
    known = {name for values in rows.values() for name in values if metrics.AT not in name}
    less = [name for _, name, sign in metrics.compared(rows) if sign == 1]
    more = [name for _, name, sign in metrics.compared(rows) if sign == -1]
    sizes = ["<=8", "21-100", ">100"]
    delays = [f"call {what}" for what in ("loss %", "p50 ms", "p99 ms", "max ms", "jitter ms")]
    losses = ["loss %", *(f"loss % {size}" for size in sizes)]
    assert sorted(less) == sorted(
        [*(f"ms {size}" for size in sizes), "excess", "failed", *losses, *delays]
    )
    assert sorted(more) == ["Jain", "Jain >100", "bulk Jain", "bulk Mbit/s", "kbit/s >100"]
    assert known - set(less) - set(more) == {
        "flows", "slowdown", "drops", "records", "call packets", "flows with loss",
        "flows with loss <=40",
    }  # fmt: skip


def test_how_long_runs_take() -> None:
    """In Mbit: downloads of 0.7 of 10 Mbit/s in 150 s, and 750 s of a packet each 5.6 ms."""
    runs = scenario.read(LAB / "experiments/old-flows.toml").runs
    assert runs["vpn", "las", 1].weight == pytest.approx(1050 + 750 / 0.0056 * 0.012)
    runs = scenario.read(LAB / "experiments/mix.toml").runs
    assert runs["base", "las", 1].weight == 20 * 50  # bulk takes all of it


def test_winners() -> None:
    rows = values_of("ms <=8", floor=[1], srpt=[2], las=[4, 6], cake=[7, 7], run2c=[9, 9])
    for key, values in rows.items():
        values |= {"failed": 0, "bulk Jain": 0.5 if key[1] == "las" else 0.75}
    assert metrics.winners(rows)[1:] == [
        ["base", "ms <=8", "las", "5 ±13", "run2c (cake)"],
        ["base", "failed", "all", "0 ±0", "-"],
        ["base", "bulk Jain", "cake, run2c", "0.75 ±0", "las (cake)"],
    ]
    assert metrics.best(rows)["base", "bulk Jain"] == ["cake", "run2c"]


@pytest.mark.parametrize(
    ("flow", "loss", "p99", "reached"),
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
def test_goals_of_old_flows(flow: str, loss: float, p99: float, reached: bool) -> None:
    assert goals.met(flow, loss, p99, 15)[1] == reached
    assert goals.met("vpn", 0, 20, 1)[1]
    one = scenario.read(scenario.find("old-flows"))
    quiet = {f"{name} {what}": 0.0 for name in ("call", "ssh", "turned", "vpn") for what in WHAT}
    mine = quiet | {f"{flow} loss %": loss, f"{flow} p99 ms": p99}
    of = {"las": mine, "fq_codel": quiet | {"vpn p99 ms": 15.0}}
    found = goals.old_flows(dict.fromkeys(("calls", "vpn"), of), one)
    assert len(found) == 4 and all(ok for _, ok in found) == reached
    assert goals.old_flows(dict.fromkeys(("calls", "vpn"), {"las": mine}), one) == []


WHAT = ("loss %", "p99 ms")


def test_commands_of_old_flows() -> None:
    one = scenario.read(scenario.find("old-flows"))
    calls, vpn = (words(one.runs[case, "las", 1]) for case in ("calls", "vpn"))
    assert (calls["AFTER"], vpn["AFTER"]) == ("3600", "600")
    assert calls["CBR"].split() == [
        "call:3600:3750*160/20000",
        "ssh:3600:3750*40/200000",
        "turned:3630:3577*0,23*1472/1000,150*160/20000",
    ]
    assert vpn["CBR"] == "vpn:600:750*1400/5600"


def test_goals_of_bulk() -> None:
    one = scenario.read(scenario.find("bulk"))
    means = {"slow": {"las": {"bulk Mbit/s": 9.7}, "fq_codel": {"bulk Mbit/s": 10}}}
    means["ten"] = {"las": {"bulk Mbit/s": 1, "bulk Jain": 0.95}}
    assert [ok for _, ok in goals.bulk(means, one)] == [True, True]
    means["slow"]["las"]["bulk Mbit/s"] = 9.69
    means["ten"]["las"]["bulk Jain"] = 0.949
    assert [ok for _, ok in goals.bulk(means, one)] == [False, False]
    assert goals.bulk({"slow": {"fq_codel": {}}}, one) == []


def test_goal_and_picture_of_a_curve(tmp_path: Path) -> None:
    one = scenario.read(scenario.find("run2c-curve"))
    means = {
        case: {name: {"excess": 1.0} for name in settings["qdiscs"]}
        for case, settings in one.cases.items()
    }
    assert [ok for _, ok in goals.run2c_curve(means, one)] == [False]
    means["default"]["run2c"]["excess"] = 0.5
    assert [ok for _, ok in goals.run2c_curve(means, one)] == [True]
    assert goals.run2c_curve({}, one) == []
    assert pictures.by_option(means, one, tmp_path / "curves")
    assert (tmp_path / "curves.png").stat().st_size > 5000
    part = one.only(None, ["order"])
    assert not pictures.by_option(means, part, tmp_path / "none")


def test_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEED", raising=False)

    def given(*args: str) -> argparse.Namespace:
        monkeypatch.setattr(sys, "argv", ["experiment.py", *args])
        return experiment.arguments()

    assert given("mine.toml").seed is None and given("sift", "--seed", "0").seed == 0
    assert scenario.find("d1-load") and not scenario.find("mine") and not scenario.find("x.toml")
    options = given("mine.toml", "--qdiscs", "cake,x=fq_codel", "--cases", "base")
    known = scenario.read(Path("mine.toml")).qdiscs
    assert experiment.chosen(options, known) == (
        {"cake": "cake besteffort flows", "x": "fq_codel"},
        ["base"],
    )
    monkeypatch.setenv("SEED", "5")
    assert given("d1-load").seed == 5
    with pytest.raises(SystemExit):
        given("nothing")
    options.qdiscs = "nothing"
    with pytest.raises(DataError, match="give las, cake, or NAME=KIND"):
        experiment.chosen(options, known)
