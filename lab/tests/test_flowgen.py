# SPDX-License-Identifier: GPL-2.0
"""The traffic generator: the flows it draws, and what it does with them, in virtual time."""

import json
import math
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lab.models.sizes import parse
from lab.run.guests import DAEMON
from lab.tests import virtual

LAB = Path(__file__).resolve().parents[1]

HERE = ["--snd", "/proc/self/ns/net", "--rcv", "/proc/self/ns/net"]
DELAY = "tc qdisc add dev lo root netem delay 5ms limit 1000000"
MARK = "-- flows --"  # what the script ends with begins here
LOOKS = 10  # us, all that a flow takes of looks at the clock
D1 = "0.8*exp(4)+0.2*bp(13,5000,1.1)"


@pytest.fixture(scope="session")
def flowgen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("flowgen") / "flowgen"
    command = [
        "gcc",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        built,
        LAB / "guest/flowgen.c",
        "-lm",
    ]
    subprocess.run(command, check=True)
    return built


def listed(flowgen: Path, *options: str) -> list[tuple[int, int]]:
    """(start in us, bytes) of every flow."""
    done = subprocess.run([flowgen, "--list", *options], check=True, capture_output=True, text=True)
    head, *lines, end = done.stdout.splitlines()
    assert head == "id,start_us,bytes"
    assert end == f"#end flows {len(lines)} failed 0"
    rows = [tuple(map(int, line.split(","))) for line in lines]
    assert [row[0] for row in rows] == list(range(len(rows)))
    return [row[1:] for row in rows]


def bp_mean(k: float, p: float, a: float) -> float:
    return k**a / (1 - (k / p) ** a) * a / (a - 1) * (k ** (1 - a) - p ** (1 - a))


MEANS = {
    "exp(4)": 4,
    "fixed(10)": 10,
    "pareto(3,2.5)": 5,
    "lomax(20,3)": 20,
    "bp(13,5000,1.1)": bp_mean(13, 5000, 1.1),
    "bp(1,100,1)": math.log(100) / 0.99,
    D1: 0.8 * 4 + 0.2 * bp_mean(13, 5000, 1.1),
    "4*exp(4)+1*bp(13,5000,1.1)": 0.8 * 4 + 0.2 * bp_mean(13, 5000, 1.1),
}


@pytest.mark.parametrize(("size", "mean"), MEANS.items())
def test_means_and_load(flowgen: Path, size: str, mean: float) -> None:
    duration = 100_000 * 12000 * mean / (0.5 * 1e7)
    flows = listed(flowgen, "--size", size, "--load", "0.5", "--duration", str(duration))
    sizes = [size / 1448 for _, size in flows]
    assert sum(sizes) / len(sizes) == pytest.approx(mean, rel=0.05)
    # The load is what was asked for as soon as the last flow is in, and not before
    work = 0.5 * 1e7 * duration / 12000
    assert sum(sizes[:-1]) < work <= sum(sizes) + 1e-6


# Where half and nine tenths of a distribution lie
def bp_quantile(q: float) -> float:
    return 13 * (1 - q * (1 - (13 / 5000) ** 1.1)) ** (-1 / 1.1)


@pytest.mark.parametrize(
    ("size", "half", "nine"),
    [
        ("exp(4)", 4 * math.log(2), 4 * math.log(10)),
        ("pareto(3,2.5)", 3 * 2**0.4, 3 * 10**0.4),
        ("lomax(3453,3)", 6906 * (2 ** (1 / 3) - 1), 6906 * (10 ** (1 / 3) - 1)),
        ("bp(13,5000,1.1)", bp_quantile(0.5), bp_quantile(0.9)),
    ],
)
def test_quantiles(flowgen: Path, size: str, half: float, nine: float) -> None:
    flows = listed(flowgen, "--size", size, "--flows", "60000")
    sizes = sorted(size / 1448 for _, size in flows)
    assert sizes[len(sizes) // 2] == pytest.approx(half, rel=0.03)
    assert sizes[len(sizes) * 9 // 10] == pytest.approx(nine, rel=0.03)


@pytest.mark.parametrize(
    "size",
    ["exp(4)", "pareto(3,2.5)", "lomax(3453,3)", "lomax(20,1.5)", "bp(13,5000,1.1)"],
)
def test_sizes_are_the_models(flowgen: Path, size: str) -> None:
    """What lab.models calculates with is what flows are drawn from, wherever one looks."""
    drawn = listed(flowgen, "--size", size, "--flows", "60000")
    flows = np.sort([bytes_ / 1448 for _, bytes_ in drawn])
    tails = 1 - (np.arange(60000) + 0.5) / 60000
    assert np.abs(parse(size).tail(flows) - tails).max() < 0.01


def test_bounds(flowgen: Path) -> None:
    sizes = [s for _, s in listed(flowgen, "--size", "bp(13,50,1.1)", "--duration", "1000")]
    assert 13 * 1448 <= min(sizes) < 13.1 * 1448 and 49 * 1448 < max(sizes) <= 50 * 1448
    assert {s for _, s in listed(flowgen, "--size", "fixed(0.0001)", "--duration", "0.01")} == {1}


def test_arrivals_are_poisson(flowgen: Path) -> None:
    starts = [t for t, _ in listed(flowgen, "--duration", "2000")]
    gaps = sorted(b - a for a, b in zip(starts, starts[1:], strict=False))
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(10 * 12000 / (0.5 * 1e7) * 1e6, rel=0.02)
    assert gaps[len(gaps) // 2] == pytest.approx(mean * math.log(2), rel=0.03)
    assert gaps[len(gaps) * 9 // 10] == pytest.approx(mean * math.log(10), rel=0.03)


def test_web_sessions(flowgen: Path) -> None:
    options = ["--size", "pareto(2,1.2)", "--load", "0.7", "--duration", "2000"]
    web = listed(flowgen, "--web", *options)
    plain = listed(flowgen, *options)
    assert [size for _, size in web] == [size for _, size in plain]
    starts = [t for t, _ in web]
    assert starts == sorted(starts) and 0 <= starts[0] and starts[-1] < 2000e6
    # Sessions of some 200 flows over minutes: flows come in crowds, unlike a Poisson process
    spread = {}
    for name, flows in (("web", web), ("plain", plain)):
        counts = Counter(t // 10_000_000 for t, _ in flows)
        spread[name] = sum((counts[i] - len(web) / 200) ** 2 for i in range(200)) / len(web)
    assert spread["plain"] < 1.5 and spread["web"] > 3


def test_seed_decides(flowgen: Path) -> None:
    one = listed(flowgen, "--seed", "1", "--size", D1)
    assert one == listed(flowgen, "--seed", "1", "--size", D1)
    assert one != listed(flowgen, "--seed", "2", "--size", D1)


def test_flows_do_not_change_between_machines(flowgen: Path) -> None:
    # Figures are only comparable as long as this holds
    flows = listed(flowgen, "--seed", "1", "--size", D1, "--load", "0.9", "--duration", "150")
    assert flows[:3] == [(5379, 678), (10748, 23580), (15168, 176)]
    assert (len(flows), sum(s for _, s in flows)) == (6809, 163021378)


def test_load_leaves_sizes_alone(flowgen: Path) -> None:
    low = [s for _, s in listed(flowgen, "--size", D1, "--load", "0.3")]
    high = [s for _, s in listed(flowgen, "--size", D1, "--load", "0.9")]
    assert 0 < len(low) < len(high) and high[: len(low)] == low


@pytest.mark.parametrize(
    "options",
    [
        ["--size", "exp(4"],
        ["--size", "exp(4,5)"],
        ["--size", "bp(5,4,1)"],
        ["--size", "pareto(3,0)"],
        ["--size", "lomax(3,1)"],
        ["--size", "lomax(3)"],
        ["--size", "0*exp(3)"],
        ["--size", "exp(-3)"],
        ["--size", "0.5exp(3)"],
        ["--size", "exp(4)+"],
        ["--size", "exp(4)x"],
        ["--size", "gauss(4)"],
        ["--size", ""],
        ["--load", "0"],
        ["--load", "1x"],
        ["--duration", "nan"],
        ["more"],
    ],
)
def test_refuses(flowgen: Path, options: list[str]) -> None:
    done = subprocess.run([flowgen, "--list", *options], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("flowgen: ")


def run(*options: str, before: str = "", after: str = "") -> tuple[list[str], str]:
    """Run it between such lines of a script; returns the lines of the CSV and what was told."""
    words = shlex.join(["./flowgen", "--out", "/run/flows", *options])
    script = f"{before}\n{words}\n{after}\necho {MARK}\ncat /run/flows\n"
    text = virtual.run(script, "flowgen", "net.sh", virtual.SINK)
    told, _, csv = text.partition(f"{MARK}\n")
    return csv.splitlines(), told


def check(lines: list[str], flows: list[tuple[int, int]], failed: int = 0) -> list[list[str]]:
    assert lines[0] == "id,start_us,bytes,response_us,status,sender,receiver,sent,lost"
    assert lines[-1] == f"#end flows {len(flows)} failed {failed}"
    rows = [line.split(",") for line in lines[1:-1]]
    assert [int(row[2]) for row in rows] == [size for _, size in flows]
    return rows


def test_by_way_of_a_pair(flowgen: Path) -> None:
    """Each gets its own bytes, whose packets nobody counts; with the sink as without."""
    options = ["--size", "0.5*fixed(1)+0.5*exp(50)", "--load", "0.6", "--duration", "4"]
    flows = listed(flowgen, *options)
    ends = ["--snd", "snd", "--rcv", "rcv", "--addr", "10.0.1.1", "--via", "10.0.2.1"]
    words = shlex.join(["./flowgen", "--out", "/run/flows", *ends, *options])
    for sink in ("", f" {virtual.TO_SINK}"):
        script = f". ./net.sh\nnet_up\n{virtual.LOAD_SINK}\npair_up srpt 5000 ''\n{words}{sink}\n"
        script += f"pair_lives\necho {MARK}\ncat /run/flows\n"
        text = virtual.run(script, "flowgen", "net.sh", virtual.SINK, DAEMON)
        rows = check(text.partition(f"{MARK}\n")[2].splitlines(), flows)
        assert len(rows) > 30 and {row[4] for row in rows} == {"ok"}
        assert {(row[7], row[8]) for row in rows} == {("0", "0")}
        # A round trip for the pair's connection, one for the request and what it brings
        assert min(int(row[3]) for row in rows) >= 2 * 6000


def test_number_of_flows_and_size_of_packets(flowgen: Path) -> None:
    """The duration is what makes so many flows that load."""
    size = ["--size", "bp(1,1e8,1.1)", "--mtu", "1000", "--rate", "1e7"]
    flows = listed(flowgen, *size, "--flows", "2000", "--load", "0.9")
    assert len(flows) == 2000 and min(size for _, size in flows) >= 948
    duration = sum(size for _, size in flows) / 948 * 8000 / 0.9e7
    assert duration * 0.99e6 < flows[-1][0] < duration * 1e6
    slower = listed(flowgen, *size, "--flows", "2000", "--load", "0.45")
    assert [size for _, size in slower] == [size for _, size in flows]
    assert slower[-1][0] == pytest.approx(2 * flows[-1][0], abs=2)


def test_ports(flowgen: Path) -> None:
    options = ["--size", "fixed(2)", "--flows", "30", "--rate", "1e8", "--ports", "3"]
    lines, _ = run(*options, *HERE, "--port", "6000")
    rows = check(lines, listed(flowgen, *options))
    assert [int(row[5]) for row in rows] == [6000, 6001, 6002] * 10
    assert [int(row[6]) for row in rows] == list(range(2000, 2030))
    assert all(row[4] == "ok" for row in rows)


def test_same_port_of_the_receiver(flowgen: Path) -> None:
    """Connections to several ports may have it at the same time."""
    options = ["--size", "fixed(40)", "--load", "0.9", "--duration", "1.5", "--rate", "1e9"]
    options += ["--ports", "20"]
    few = "echo 20000 20199 >/proc/sys/net/ipv4/ip_local_port_range"
    lines, _ = run(*options, *HERE, before=few)
    rows = check(lines, listed(flowgen, *options))
    assert len(rows) > 2000 and all(row[4] == "ok" for row in rows)


def test_sizes_are_told(flowgen: Path) -> None:
    options = ["--size", D1, "--load", "0.9", "--duration", "0.5", "--rate", "1e8"]
    told = {"before": ">/run/sizes", "after": "cat /run/sizes"}
    lines, console = run(*options, "--sizes", "/run/sizes", **told)
    rows = check(lines, listed(flowgen, *options))
    sizes = [line for line in console.splitlines() if not line.startswith("progress ")]
    assert sizes == [" ".join([*row[5:7], row[2]]) for row in rows]


@pytest.mark.parametrize("addr", ["127.0.0.1", "::1"])
def test_open_loop(flowgen: Path, addr: str) -> None:
    options = ["--size", D1, "--load", "0.9", "--duration", "6", "--rate", "1e8"]
    flows = listed(flowgen, *options)
    lines, console = run(*options, *HERE, "--addr", addr, before=DELAY)
    rows = check(lines, flows)
    assert all(row[4] == "ok" for row in rows)
    # Started when planned, however long the others took
    late = [int(row[1]) - at for row, (at, _) in zip(rows, flows, strict=True)]
    assert 0 <= min(late) and max(late) < LOOKS
    # What needs no second window takes two round trips
    short = [int(row[3]) for row in rows if int(row[2]) <= 14480]
    assert min(short) >= 20_000 and max(short) < 20_000 + LOOKS
    assert re.search("^progress 5 6 active", console, re.MULTILINE)
    assert console.splitlines()[-1] == f"progress 6 6 active 0 done {len(flows)}"


def test_alone(flowgen: Path) -> None:
    options = ["--size", D1, "--load", "0.9", "--duration", "3", "--gap", "0.005"]
    lines, _ = run("--alone", *options, before=DELAY)
    rows = check(lines, listed(flowgen, *options))
    ends = [int(row[1]) + int(row[3]) for row in rows]
    starts = [int(row[1]) for row in rows]
    # A round trip until both ends are closed, and the gap
    gaps = [b - a for a, b in zip([-10_000, *ends], starts, strict=False)]
    assert min(gaps) >= 15_000 and max(gaps) < 15_000 + LOOKS


def test_refused_connections_are_counted(flowgen: Path) -> None:
    # Sender and receiver in two namespaces that nothing connects: each --snd, --rcv is entered
    options = ["--size", "fixed(1)", "--duration", "0.2"]
    flows = listed(flowgen, *options)
    apart = "for ns in snd rcv; do ip netns add $ns; ip -n $ns link set lo up; done"
    lines, console = run(*options, "--snd", "snd", "--rcv", "rcv", before=apart)
    rows = check(lines, flows, failed=len(flows))
    assert all(row[4] == "connect" for row in rows)
    assert console.count(": connect Connection refused") == len(flows) > 0


def test_packets_that_are_dropped(flowgen: Path) -> None:
    """Each flow's, by what both ends tell: all that the qdisc has dropped."""
    options = ["--size", D1, "--load", "0.9", "--duration", "2", "--rate", "2e7"]
    network = 'RATE=20mbit QDISC="bfifo limit 20k"\n. ./net.sh\nnet_up'
    ends = ["--snd", "snd", "--rcv", "rcv", "--addr", "10.0.1.1"]
    shown = "tc -n rtr -s -j qdisc show dev rtr1"
    lines, console = run(*options, *ends, before=network, after=shown)
    rows = check(lines, listed(flowgen, *options))
    sent, lost = (sum(int(row[i]) for row in rows) for i in (7, 8))
    qdisc = json.loads(console.splitlines()[-1])[-1]
    # At most a few are of no socket that was asked: each is in place of a flow's last that was lost
    others = qdisc["packets"] + qdisc["drops"] - sent
    assert qdisc["kind"] == "bfifo" and lost > 100
    assert 0 <= qdisc["drops"] - lost <= others < 10
    # Beside the data: one to connect, one at last, and one that ends it, or is the last of data
    more = [int(row[7]) + -int(row[2]) // 1448 for row in rows if row[8] == "0"]
    assert set(more) == {2, 3}


@pytest.mark.parametrize("mode", [[], ["--alone"]])
def test_what_never_ends_is_given_up(flowgen: Path, mode: list[str]) -> None:
    # Nothing gets through a queue of no packets
    options = ["--size", "fixed(1)", "--duration", "0.1", "--wait", "2", "--gap", "0.03"]
    flows = listed(flowgen, *options)
    lines, console = run(*options, *mode, before="tc qdisc add dev lo root pfifo limit 0")
    rows = check(lines, flows, failed=len(flows))
    assert {row[4] for row in rows} == {"timeout"}
    starts = [int(row[1]) for row in rows]
    alone = [30_000, *(at + 2_030_000 for at in starts)]
    planned = alone if mode else [at for at, _ in flows]
    late = [b - a for a, b in zip(planned, starts, strict=False)]
    assert 0 <= min(late) and max(late) < LOOKS
    assert console.splitlines()[-1].startswith(f"progress {starts[-1] / 1e6 + 2:.0f} ")


def test_sink(flowgen: Path) -> None:
    """What the kernel throws away for the receiver ends each flow at the same time as a read."""
    options = ["--size", D1, "--load", "0.7", "--duration", "4", "--snd", "snd", "--rcv", "rcv"]
    options += ["--addr", "10.0.1.1"]
    before = "RATE=10mbit RTT_MS=6\n. ./net.sh\nnet_up\n"
    load = f"{before}{virtual.LOAD_SINK}"
    flows = listed(flowgen, *options[:6])
    read = check(run(*options, before=before)[0], flows)
    thrown = check(run(*options, *virtual.TO_SINK.split(), before=load)[0], flows)
    assert {row[4] for row in read + thrown} == {"ok"}
    times = [sorted(int(row[3]) for row in rows) for rows in (read, thrown)]
    # Not to the microsecond: an acknowledgment less may be sent, or more
    assert sum(times[1]) == pytest.approx(sum(times[0]), rel=0.02)
    alone = [check(run(*options, "--alone", *more, before=load)[0], flows)
             for more in ([], virtual.TO_SINK.split())]  # fmt: skip
    for rows in zip(*alone, strict=True):
        assert int(rows[1][3]) == pytest.approx(int(rows[0][3]), abs=LOOKS)
