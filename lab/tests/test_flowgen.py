# SPDX-License-Identifier: GPL-2.0
"""The traffic generator: the flows it draws, and runs over loopback in a namespace of its own."""

import json
import math
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[1]

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
        ("bp(13,5000,1.1)", bp_quantile(0.5), bp_quantile(0.9)),
    ],
)
def test_quantiles(flowgen: Path, size: str, half: float, nine: float) -> None:
    flows = listed(flowgen, "--size", size, "--flows", "60000")
    sizes = sorted(size / 1448 for _, size in flows)
    assert sizes[len(sizes) // 2] == pytest.approx(half, rel=0.03)
    assert sizes[len(sizes) * 9 // 10] == pytest.approx(nine, rel=0.03)


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


def over_loopback(flowgen: Path, *options: str, script: str = 'exec "$@"') -> tuple[list[str], str]:
    """Run in a network namespace of its own; returns the lines of the CSV and the console."""
    out = flowgen.parent / "out.csv"
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-euc"]
    command += [f"ip link set lo up; {script}", "sh", str(flowgen), "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return out.read_text().splitlines(), done.stdout


def check(lines: list[str], flows: list[tuple[int, int]], failed: int = 0) -> list[list[str]]:
    assert lines[0] == "id,start_us,bytes,response_us,status,sender,receiver,sent,lost"
    assert lines[-1] == f"#end flows {len(flows)} failed {failed}"
    rows = [line.split(",") for line in lines[1:-1]]
    assert [int(row[2]) for row in rows] == [size for _, size in flows]
    return rows


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
    namespaces = ["--snd", "/proc/self/ns/net", "--rcv", "/proc/self/ns/net"]
    lines, _ = over_loopback(flowgen, *options, *namespaces, "--port", "6000")
    rows = check(lines, listed(flowgen, *options))
    assert [int(row[5]) for row in rows] == [6000, 6001, 6002] * 10
    assert [int(row[6]) for row in rows] == list(range(2000, 2030))
    assert all(row[4] == "ok" for row in rows)


def test_same_port_of_the_receiver(flowgen: Path) -> None:
    """Connections to several ports may have it at the same time."""
    options = ["--size", "fixed(40)", "--load", "0.9", "--duration", "1.5", "--rate", "1e9"]
    options += ["--ports", "20"]
    namespaces = ["--snd", "/proc/self/ns/net", "--rcv", "/proc/self/ns/net"]
    few = "echo 20000 20199 >/proc/sys/net/ipv4/ip_local_port_range"
    lines, _ = over_loopback(flowgen, *options, *namespaces, script=f'{few}; exec "$@"')
    rows = check(lines, listed(flowgen, *options))
    assert len(rows) > 2000 and all(row[4] == "ok" for row in rows)


def test_sizes_are_told(flowgen: Path) -> None:
    told = flowgen.parent / "sizes"
    told.touch()
    options = ["--size", D1, "--load", "0.9", "--duration", "0.5", "--rate", "1e8"]
    lines, _ = over_loopback(flowgen, *options, "--sizes", str(told))
    rows = check(lines, listed(flowgen, *options))
    assert told.read_text().splitlines() == [" ".join([*row[5:7], row[2]]) for row in rows]


@pytest.mark.parametrize("addr", ["127.0.0.1", "::1"])
def test_open_loop(flowgen: Path, addr: str) -> None:
    options = ["--size", D1, "--load", "0.9", "--duration", "6", "--rate", "1e8"]
    flows = listed(flowgen, *options)
    namespaces = ["--snd", "/proc/self/ns/net", "--rcv", "/proc/self/ns/net"]
    lines, console = over_loopback(flowgen, *options, *namespaces, "--addr", addr)
    rows = check(lines, flows)
    assert all(row[4] == "ok" and 0 < int(row[3]) < 1e7 for row in rows)
    # started when planned, however long the others took (median: the machine may be busy)
    late = sorted(int(row[1]) - at for row, (at, _) in zip(rows, flows, strict=True))
    assert late[0] >= 0 and late[len(late) // 2] < 20_000
    assert re.search("^progress [56] 6 active", console, re.MULTILINE)
    assert console.splitlines()[-1].endswith(f"active 0 done {len(flows)}")


def test_alone(flowgen: Path) -> None:
    options = ["--size", D1, "--load", "0.9", "--duration", "3", "--gap", "0.005"]
    lines, _ = over_loopback(flowgen, "--alone", *options)
    rows = check(lines, listed(flowgen, *options))
    ends = [int(row[1]) + int(row[3]) for row in rows]
    starts = [int(row[1]) for row in rows]
    assert all(b - a >= 5000 for a, b in zip(ends, starts[1:], strict=False))


def test_refused_connections_are_counted(flowgen: Path) -> None:
    # Sender and receiver in two namespaces that nothing connects: each --snd, --rcv is entered
    options = ["--size", "fixed(1)", "--duration", "0.2"]
    flows = listed(flowgen, *options)
    inner = 'ip link set lo up; exec "$@" --snd /proc/self/ns/net'
    script = f"unshare --net sh -euc '{inner}' sh \"$@\" --rcv /proc/$$/ns/net; true"
    lines, console = over_loopback(flowgen, *options, script=script)
    rows = check(lines, flows, failed=len(flows))
    assert all(row[4] == "connect" for row in rows)
    assert console.count(": connect Connection refused") == len(flows) > 0


# rcv, where this begins, and snd, with a narrow way out of it
NARROW = """
unshare --net sleep 60 &
snd=$!
trap "kill $snd" EXIT
while [ /proc/$snd/ns/net -ef /proc/$$/ns/net ]; do sleep 0.01; done
ip link add rcv0 type veth peer name snd0
ip link set snd0 netns $snd
ip link set rcv0 up gso_max_segs 1
ip addr add 10.0.1.2/24 dev rcv0
nsenter --net=/proc/$snd/ns/net sh -euc "
	ip link set snd0 up gso_max_segs 1
	ip addr add 10.0.1.1/24 dev snd0
	tc qdisc add dev snd0 root tbf rate 20mbit burst 3k limit 20k"
"$@" --snd /proc/$snd/ns/net --rcv /proc/$$/ns/net --addr 10.0.1.1 >/dev/null
nsenter --net=/proc/$snd/ns/net tc -s -j qdisc show dev snd0
"""


def test_packets_that_are_dropped(flowgen: Path) -> None:
    """Each flow's, by what both ends tell: all that the qdisc has dropped."""
    options = ["--size", D1, "--load", "0.9", "--duration", "2", "--rate", "2e7"]
    lines, console = over_loopback(flowgen, *options, script=NARROW)
    rows = check(lines, listed(flowgen, *options))
    sent, lost = (sum(int(row[i]) for row in rows) for i in (7, 8))
    tbf = json.loads(console)[0]
    assert tbf["drops"] > 100 and lost == pytest.approx(tbf["drops"], rel=0.02)
    # Neighbours and the like are no flow's
    assert 0 <= tbf["packets"] + tbf["drops"] - sent < 30
    # Beside the data: one to connect, one at last, and one that ends it, or is the last of data
    more = sorted(int(row[7]) + -int(row[2]) // 1448 for row in rows if row[8] == "0")
    assert more[len(more) // 2] in (2, 3)


@pytest.mark.parametrize("mode", [[], ["--alone"]])
def test_what_never_ends_is_given_up(flowgen: Path, mode: list[str]) -> None:
    # Nothing gets through a queue of no packets
    options = ["--size", "fixed(1)", "--duration", "0.1", "--wait", "0.1"]
    flows = listed(flowgen, *options)
    script = 'tc qdisc add dev lo root pfifo limit 0; exec "$@"'
    lines, _ = over_loopback(flowgen, *options, *mode, script=script)
    assert {row[4] for row in check(lines, flows, failed=len(flows))} == {"timeout"}
