# SPDX-License-Identifier: GPL-2.0
"""cbr, bulk, fetch, packets and tunnel, in virtual time."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lab.measure import reading as analysis
from lab.run.guests import DAEMON
from lab.tests import virtual

LAB = Path(__file__).resolve().parents[1]
# The experiments' network; a packet of bulk's takes its bottleneck 1 ms
NETWORK = 'RATE=12112kbit QDISC="pfifo limit 100"\n. ./net.sh\nnet_up\n'
BULK = "./bulk --snd snd --rcv rcv --addr 10.0.1.1"
SEGMENT = 1448 * 8  # bits of payload


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are that refuse what they are told."""
    where = tmp_path_factory.mktemp("generators")
    for name in ("cbr", "fetch", "packets"):
        source = LAB / f"guest/{name}.c"
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", where / name, source, "-lm"]
        subprocess.run(command, check=True)
    return where


def refused(program: Path, *args: str) -> None:
    done = subprocess.run([program, *args], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith(f"{program.name}: ") and not done.stdout


def test_cbr_measures_its_window() -> None:
    # 0.5 s of 1.5 s at 10 ms; silence, then 0.2 s of other packets at 4 ms
    flows = "call:1:1.5*160/10000 two:0.5:0.2*1000/4000,0.4*0,0.2*40/4000"
    text = virtual.run(f"tc qdisc add dev lo root netem rate 8mbit\n./cbr {flows}\n", "cbr")
    steady, rest = analysis.split_steady("x", text)
    assert rest == "" and list(steady) == ["call", "two"]
    # A byte takes the link 1 us, and there are 42 of headers. Of two's last packets each fifth is
    # sent when one of call's is, and waits for it.
    assert re.findall(r"least_us (\d+)", text) == ["202", "82"]
    assert steady["call"].delay.tolist() == [0] * 50
    assert steady["two"].delay.tolist() == [0.202, 0, 0, 0, 0] * 10


def test_cbr_counts_losses() -> None:
    # For half a second nothing gets through
    script = """
    (sleep 1.005; tc qdisc add dev lo root pfifo limit 0; sleep 0.5; tc qdisc del dev lo root) &
    ./cbr call:0:2*160/10000
    """
    call = analysis.split_steady("x", virtual.run(script, "cbr"))[0]["call"]
    assert call.delay.size == 200 and call.loss == 0.25
    assert np.flatnonzero(np.isnan(call.delay)).tolist() == [*range(101, 151)]


@pytest.mark.parametrize(
    "flow",
    [
        "",
        "x",
        "x:1",
        "x:0:1*160",
        "x:0:1*8/10",
        "x:0:1*9999/10",
        "x:0:1*0",
        "x:2:1*160/10",
        "x:0:ecn",
    ],
)
def test_cbr_refuses(built: Path, flow: str) -> None:
    refused(built / "cbr", flow)


def bulk(options: str, before: str = "") -> tuple[np.ndarray, np.ndarray, list[dict]]:
    """Segments received and sent[interval of half a second, flow], and the qdiscs on the way."""
    shown = "sleep 1\nfor at in snd rtr; do tc -n $at -s -j qdisc; done\n"
    script = f"{NETWORK}{before}\n{BULK} --interval 0.5 {options}\n{shown}"
    text = virtual.run(script, "bulk", "net.sh", virtual.SINK)
    rates, sent, rest = analysis.split_bulk("x", text)
    assert rates.shape == sent.shape
    qdiscs = [each for line in rest.splitlines() for each in json.loads(line)]
    return rates / (2 * SEGMENT), sent / (2 * SEGMENT), qdiscs


def check_all_is_received(received: np.ndarray) -> None:
    """All that the bottleneck carries in 1.5 s; its first segment has 3 ms to go there."""
    missing = np.array([497, 997, 1497]) - received.sum(axis=1).cumsum()
    # What waits behind a hole, less than a window, is received with what fills it
    assert missing.min() >= -1 and missing.max() < 50 and np.abs(missing).min() <= 1


def test_bulk() -> None:
    received, sent, qdiscs = bulk("--flows 3 --duration 1.5")
    assert received.shape == (3, 3) and received.min() > 100
    check_all_is_received(received)
    # Whatever was sent again counts again. What opens and ends flows is no segment's size.
    left, drops = ({q["kind"]: q[key] for q in qdiscs} for key in ("bytes", "drops"))
    assert drops["pfifo"] > 0 and sent.sum() == left["netem"] // 1514
    assert (sent.cumsum(axis=0) > received.cumsum(axis=0)).all()


def test_bulk_into_the_sink() -> None:
    received, sent, _ = bulk(f"{virtual.TO_SINK} --flows 3 --duration 1.5", virtual.LOAD_SINK)
    assert received.shape == (3, 3) and received.min() > 100
    check_all_is_received(received)
    assert (sent.cumsum(axis=0) > received.cumsum(axis=0)).all()


def test_bulk_staggered() -> None:
    received, sent, _ = bulk("--flows 2 --duration 1 --stagger 0.5")
    assert np.abs(received.sum(axis=1) - [497, 500]).max() <= 1
    assert received[0, 1] == sent[0, 1] == 0 < received[1].min()


FETCH = "./fetch --snd snd --rcv rcv"
IPV4 = "--addr 10.0.1.1 --hosts 10.0.2.0"
IPV6 = "--addr fd00:0:0:1::1 --hosts fd00:0:0:2::"


def fetch(options: str, before: str = "", addresses: str = IPV4) -> dict[str, analysis.Fetched]:
    script = f"{NETWORK}{before}\n{FETCH} {addresses} --out /dev/ttyS1 {options} >/dev/null\n"
    text = virtual.run(script, "fetch", "net.sh", virtual.SINK)
    groups, rest = analysis.split_fetch("x", text)
    assert not rest
    return groups


def test_fetch_one_after_another() -> None:
    one = fetch("--duration 8 a:bytes=14480,skip=1")["a"]
    # A round trip for the connection, one for the first of its 10 packets, which take 1 ms each
    assert np.allclose(one.response, one.response[0], atol=0.1)
    assert 20 < one.response[0] < 22
    # Each begins when the one before it has ended; those of the last five seconds do not count
    assert one.response.size == pytest.approx(2000 / one.response[0], abs=1.5)
    assert one.seconds == 7 and one.bytes == pytest.approx(14480 * 7000 / one.response[0], rel=0.01)


def test_fetch_pages() -> None:
    options = "--duration 8 p:at_once=3,bytes=1000,most=50000,every=0.5,begin=0.25"
    alone, beside = fetch(options)["p"], fetch(f"{options} a:bytes=1448")["p"]
    # From 0.25 s to 2.75 s
    assert alone.burst.tolist() == [i // 3 for i in range(18)] and not np.isnan(alone.pages).any()
    # The other group slows them, but draws nothing of theirs
    assert beside.bytes == alone.bytes and beside.response.sum() > alone.response.sum()
    assert 1000 * 48 < alone.bytes < 50000 * 48
    assert fetch(f"--seed 2 {options}")["p"].bytes != alone.bytes


def test_fetch_objects() -> None:
    """So many of a page, some at a time: others follow as those end."""
    options = "--duration 12 p:at_once=3,objects=8,bytes=14480,every=2.5,begin=1"
    one = fetch(options)["p"]
    # Pages from 1 s to 6 s
    assert one.burst.tolist() == [i // 8 for i in range(24)] and not np.isnan(one.pages).any()
    first = one.after[:8]
    assert (first[:3] < 0.01).all() and (np.diff(first[2:]) >= 0).all() and first[3] > 20
    # Never more than three at a time
    for begin in first:
        assert ((first <= begin) & (begin < first + one.response[:8] - 0.1)).sum() <= 3
    assert one.pages[0] == (first + one.response[:8]).max() > 3 * 20
    # Without `every` there is one page
    alone = fetch("--duration 12 a:objects=1,bytes=14480,begin=1 b:objects=5,bytes=1448")
    assert alone["a"].response.size == 1 and alone["b"].response.size == 5
    assert alone["a"].bytes == 14480 and alone["b"].bytes == 5 * 1448


def test_fetch_of_intervals() -> None:
    command = f"{FETCH} {IPV4} --out /dev/ttyS1 --interval 0.5 --duration 4"
    script = f"{NETWORK}{command} a:bytes=144800,begin=1,objects=1 b: >/dev/null\n"
    text = virtual.run(script, "fetch", "net.sh", virtual.SINK)
    got, step, rest = analysis.split_intervals("x", text, "fetched")
    groups, rest = analysis.split_fetch("x", rest)
    assert got.shape == (8, 2) and step == 0.5 and not rest
    assert got[:2, 0].tolist() == [0, 0] and got[2:, 0].sum() == 144800
    # Together all that the bottleneck carries. What waits behind a hole comes with what fills it,
    # and is less than a window, which is a third of an interval.
    carried = 500 * 1448 * np.arange(1, 8)
    assert got[1:].sum(axis=1).cumsum() == pytest.approx(carried, abs=170 * 1448)
    assert got.sum() == pytest.approx(4000 * 1448, rel=0.02)
    assert groups["b"].bytes == pytest.approx(got[:, 1].sum(), abs=1448)


PAIR = "pair_up {} '8000' ''\n"
BY_WAY = "--via 10.0.2.1"


@pytest.mark.parametrize("policy", ["tcp", "srpt"])
def test_fetch_by_way_of_a_pair(policy: str) -> None:
    """One group is outside, and a request finds its bytes."""
    options = f"{BY_WAY} --duration 10 a:bytes=100000,via=1 b:bytes=100000"
    script = f"{NETWORK}{PAIR.format(policy)}{FETCH} {IPV4} --out /dev/ttyS1 {options} >/dev/null\n"
    groups, _ = analysis.split_fetch(
        "x", virtual.run(script, "fetch", "net.sh", virtual.SINK, DAEMON)
    )
    a, b = groups["a"], groups["b"]
    assert a.response.size > 10 < b.response.size and not np.isnan(a.response).any()
    # Each gets its part of the link
    assert np.median(a.response) == pytest.approx(np.median(b.response), rel=0.5)


def test_fetch_without_an_end() -> None:
    one = fetch("--duration 2 l:at_once=2,skip=1")["l"]
    assert one.response.size == 0 and one.seconds == 1
    assert one.bytes == pytest.approx(1000 * 1448, rel=0.002)  # all that the bottleneck carries


def test_fetch_of_hosts() -> None:
    """What goes to the other host does not go to the first."""
    before = "more_hosts rcv 3\nip -n rtr route add blackhole 10.0.2.1/32"
    check_one_gets_through(fetch("--duration 6 a:bytes=1448 b:bytes=1448,host=3", before))


@pytest.mark.parametrize("addresses", [IPV4, IPV6])
def test_fetch_from_hosts(addresses: str) -> None:
    """The same of what comes from the other host, over IPv6, too."""
    six = addresses is IPV6
    before = "more_hosts snd 3\nip -n rtr route add blackhole "
    before += "fd00:0:0:1::1/128" if six else "10.0.1.1/32"
    groups = fetch("--duration 6 a:bytes=1448 b:bytes=1448,from=3", before, addresses)
    check_one_gets_through(groups)


def check_one_gets_through(groups: dict[str, analysis.Fetched]) -> None:
    assert np.isnan(groups["a"].response).all() and groups["a"].response.size == 1
    assert groups["b"].response.size > 50 and not np.isnan(groups["b"].response).any()


@pytest.mark.parametrize("size", [1, 1448, 1449, 100000])
def test_fetch_into_the_sink(size: int) -> None:
    """It ends when the last byte has come, as without."""
    options = f"--duration 8 a:bytes={size},skip=1"
    read = fetch(options)["a"]
    thrown = fetch(f"{virtual.TO_SINK} {options}", virtual.LOAD_SINK)["a"]
    assert thrown.bytes == pytest.approx(read.bytes, rel=0.01)
    assert thrown.response.size == pytest.approx(read.response.size, abs=1)
    assert np.median(thrown.response) == pytest.approx(np.median(read.response), abs=0.1)


def test_fetch_without_an_end_into_the_sink() -> None:
    one = fetch(f"{virtual.TO_SINK} --duration 2 l:at_once=2,skip=1", virtual.LOAD_SINK)["l"]
    assert one.bytes == pytest.approx(1000 * 1448, rel=0.002)


@pytest.mark.parametrize("line", ["x", "1", "1 2", "99 5", "-1 5", "1 0"])
def test_sink_refuses(line: str) -> None:
    """What is no socket of TCP, and no number of bytes"""
    write = f"{{ printf '{line}' >{virtual.SINK_FILE}; }} 2>/dev/null"
    script = f"{virtual.LOAD_SINK}\n{write} && echo taken || echo refused"
    assert virtual.run(script, virtual.SINK) == "refused\n"


@pytest.mark.parametrize(
    "group",
    [
        "",
        "a",
        "a:x=1",
        "a:bytes",
        "a:bytes=x",
        "a:bytes=-1",
        "a:every=1",
        "a:objects=2",
        "a:via=1",
        "a:skip=10",
        "a:from=255",
    ],
)
def test_fetch_refuses(built: Path, group: str) -> None:
    refused(built / "fetch", group)


PACKETS = "./packets --snd snd --rcv rcv --dev rcv0"
SEEN = """
seen() { # what matches u32, at rcv
	case $2 in *ip6*) ip=ipv6 ;; *) ip=ip ;; esac
	tc -n rcv filter add dev rcv0 ingress pref $1 protocol $ip u32 $2 action continue
}
tc -n rcv qdisc add dev rcv0 clsact
"""


def packets(
    options: str, *matches: str, addresses: str = IPV4
) -> tuple[dict[str, analysis.Heedless], list[int]]:
    """The groups, and how many packets match each."""
    rules = "".join(f"seen {i} '{match}'\n" for i, match in enumerate(matches, 1))
    command = f"{PACKETS} {addresses} --out /dev/ttyS1 {options}"
    script = f"{NETWORK}{SEEN}{rules}{command} >/dev/null\n"
    script += "tc -n rcv -s filter show dev rcv0 ingress\n"
    groups, rest = analysis.split_packets("x", virtual.run(script, "packets", "net.sh"))
    return groups, [int(found) for found in re.findall(r"Sent \d+ bytes (\d+) pkt", rest)]


def test_packets_of_a_rate() -> None:
    # 0.5 s of 1 s at 2 ms; and 1.25 of the link, of which 2 s are measured
    found, _ = packets("--duration 1 a:bytes=1472,us=2000,skip=0.5")
    assert found["a"] == analysis.Heedless(0.5, 250, 250, 250 * 1514)
    found, _ = packets("--duration 3 a:bytes=1472,us=800,skip=1")
    one = found["a"]
    assert one.sent == 2500 and 1950 < one.arrived < 2150
    assert one.bytes == pytest.approx(2000 * 1514, rel=0.01)


def test_packets_of_streams() -> None:
    at = [f"match ip sport {10000 + i} 0xffff" for i in range(3)]
    found, seen = packets("--duration 1 a:bytes=100,us=10000,streams=3,jitter=1", *at)
    assert found["a"].sent == sum(seen) and all(85 < count < 115 for count in seen)
    found, seen = packets("--duration 1 a:bytes=100,us=10000,streams=3", *at)
    assert seen == [100] * 3
    # Six at once each 60 ms, and no more than there are to be
    found, seen = packets("--duration 1 a:bytes=100,us=10000,streams=3,burst=6", *at)
    assert seen == [96 + 6] * 3
    found, seen = packets("--duration 1 a:bytes=100,us=10000,streams=3,burst=6,count=20", *at)
    assert seen == [20] * 3
    found, _ = packets("--duration 1 a:bytes=100,us=10,count=7")
    assert found["a"].sent == found["a"].arrived == 7


def test_packets_of_ports() -> None:
    at = [f"match ip src 10.0.1.16 match ip sport {port} 0xffff" for port in (2000, 9919, 17838)]
    _, seen = packets("--duration 1 a:bytes=100,us=1000,ports=1,count=2", *at)
    assert seen == [1, 1, 0]
    _, seen = packets("--duration 1 a:bytes=100,us=1000,ports=5,count=7", *at)
    assert seen == [5, 2, 0]


RECORD = """
./record --netns rtr --in rtr0 --out rtr1 --file /run/record >/run/log &
until [ -s /run/log ]; do sleep 0.01; done
"""


def record(limit: int, options: str, addresses: str = IPV4) -> analysis.Record:
    """What record has seen beside a queue of so many packets"""
    script = NETWORK.replace("limit 100", f"limit {limit}") + SEEN + RECORD
    script += f"{PACKETS} {addresses} --out /run/packets --duration 1 {options} >/dev/null\n"
    script += "sleep 0.5; kill $!; wait $!; cat /run/record\n"
    found, rest = analysis.split_record("x", virtual.run(script, "packets", "record", "net.sh"))
    assert rest == ""
    full = found.length == 1514  # not what the programs tell each other
    return analysis.Record(*(each[full] for each in vars(found).values()))


@pytest.mark.parametrize("addresses", [IPV4, IPV6])
def test_record(addresses: str) -> None:
    """Packets come each 0.8 ms, and each takes the link 1 ms, but for HTB's burst."""
    size = 1472 if addresses == IPV4 else 1452
    one = record(100, f"a:bytes={size},us=800,count=20", addresses)
    assert len(one.flow) == 20 and len(set(one.flow)) == 1
    assert np.diff(one.arrival) == pytest.approx(800e-6, abs=20e-6)
    assert np.diff(one.departure)[1:] == pytest.approx(1e-3, abs=20e-6)
    assert (one.departure >= one.arrival).all()


def test_record_tells_what_is_dropped() -> None:
    one = record(3, "a:bytes=1472,us=500,streams=2,count=20")
    lost = np.isinf(one.departure)
    assert np.unique(one.flow, return_counts=True)[1].tolist() == [20, 20]
    # 40 packets in 10 ms: 10 leave, and those that wait
    assert 25 <= lost.sum() <= 28 and (np.diff(one.departure[~lost]) > 0).all()


def test_packets_over_ipv6() -> None:
    ports = "match ip6 sport 2000 0xffff match ip6 dport 9 0xffff"
    at = [f"match ip6 src fd00:0:0:1::{address}/128 {ports}" for address in ("10", "3")]
    over = {"addresses": IPV6}
    found, seen = packets("--duration 1 a:bytes=1452,us=1000,ports=1,count=9", *at, **over)
    assert found["a"] == analysis.Heedless(1, 9, 9, 9 * 1514) and seen == [1, 0]
    found, seen = packets("--duration 1 a:bytes=99,us=1000,tcp=1,ports=9,from=3", *at, **over)
    assert found["a"].arrived == 1000 and seen == [0, 9]


def test_packets_from_a_host() -> None:
    """It has all of their 5-tuples."""
    at = ["match ip src 10.0.1.3", "match ip sport 2000 0xffff"]
    _, seen = packets("--duration 4 a:bytes=22,us=60,from=3,ports=1,count=60001", *at)
    assert seen == [60001, 2]


def flag(bit: int) -> str:
    return f"match ip protocol 6 0xff match u8 {bit} {bit} at 33"


def test_packets_of_tcp() -> None:
    fin, syn, rst = flag(1), flag(2), flag(4)
    _, seen = packets("--duration 1 a:bytes=100,us=1000,tcp=1,ports=5,count=14", fin, syn, rst)
    assert seen == [2, 3, 0]
    _, seen = packets("--duration 1 a:bytes=100,us=1000,rst=12,count=25", fin, syn, rst)
    assert seen == [0, 1, 2]
    _, seen = packets("--duration 1 a:bytes=100,us=1000,syn=12,count=25", fin, syn, rst)
    assert seen == [0, 3, 0]


@pytest.mark.parametrize(
    "group",
    ["a:us=9", "a:bytes=7,us=9", "a:bytes=99", "a:bytes=1473,us=9", "a:bytes=1461,us=9,rst=2",
     "a:bytes=99,us=9,jitter=2", "a:bytes=99,us=9,burst=0.5", "a:bytes=99,us=9,streams=257",
     "a:bytes=99,us=9,host=255", "a:bytes=99,us=9,from=255"],
)  # fmt: skip
def test_packets_refuses(built: Path, group: str) -> None:
    refused(built / "packets", group)


def test_over_ipv6() -> None:
    """A call and downloads, the flows of one of the sender's ports to one host"""
    script = f"""{NETWORK}
    more_hosts rcv '101 102'
    ./cbr --snd snd --rcv rcv --addr fd00:0:0:2::1 call:0:1*160/20000:ecn
    ./flowgen --snd snd --rcv rcv {IPV6} --ports 2 --size 'fixed(9)' --duration 2 >/dev/null
    tc -n rtr -s -j qdisc show dev rtr1
    ss -N snd -Htan | awk '{{ print $4, $5 }}'
    """
    text = virtual.run(script, "cbr", "flowgen", "net.sh")
    steady, text = analysis.split_steady("x", text)
    assert steady["call"].delay.size == 50 and steady["call"].loss == 0
    ends = re.findall(r"\[fd00:0:0:1::1\]:500(\d) \[fd00:0:0:2::(\d+)\]", text)
    assert {*ends} == {("0", "65"), ("1", "66")}


def test_behind_nat() -> None:
    """The bottleneck sees the router's address, and who has asked gets the answer."""
    script = f"""NAT=3\n{NETWORK}{SEEN}
    seen 1 'match ip dst 10.0.2.1'
    seen 2 'match ip dst 10.0.2.3'
    seen 3 'match ip dst 10.0.2.3 match ip dport 9 0xffff'
    more_hosts rcv 3
    tc -n rtr filter add dev ifb0 parent 1: protocol ip u32 match ip dst 10.0.1.2 action continue
    ./cbr --snd snd --rcv rcv --addr 10.0.1.2 --from 10.0.1.1 call:0:1*160/20000
    {FETCH} {IPV4} --duration 6 a:bytes=1448 b:bytes=1448,host=3
    {PACKETS} --addr 10.0.1.1 --hosts 10.0.1.0 --duration 1 c:bytes=99,us=1000,ports=1,host=2
    tc -n rcv -s filter show dev rcv0 ingress
    tc -n rtr -s filter show dev ifb0
    tc -n rtr -s -j qdisc show dev ifb0
    """
    text = virtual.run(script, "cbr", "fetch", "packets", "net.sh", "/usr/sbin/nft")
    text = "".join(line for line in text.splitlines(True) if not line.startswith("progress "))
    steady, text = analysis.split_steady("x", text)
    groups, text = analysis.split_fetch("x", text)
    heedless, text = analysis.split_packets("x", text)
    assert steady["call"].loss == 0 and heedless["c"].arrived == 1000
    assert all(not np.isnan(one.response).any() for one in groups.values())
    first, second, third, router = map(int, re.findall(r"Sent \d+ bytes (\d+) pkt", text))
    assert third == 1000 and second - third > 100 and first > 150
    qdisc = next(each for each in json.loads(text.splitlines()[-1]) if each["handle"] == "10:")
    assert router == first + second
    assert 0 <= qdisc["packets"] - router < 5  # what is not IP


def test_tunnel() -> None:
    """One flow of UDP, whose marks get to what is inside."""
    script = f"""
    {NETWORK.replace("pfifo limit 100", "fq_codel")}here=.\n{SEEN}
    seen 1 'match ip protocol 17 0xff match ip sport 4500 0xffff match ip dport 4500 0xffff'
    seen 2 'match u32 0 0'
    tunnel_up
    for ns in snd.in rcv.in; do ip netns exec $ns sysctl -qw net.ipv4.tcp_ecn=1; done
    inside="--snd snd.in --rcv rcv.in"
    ./bulk $inside --addr 10.0.5.1 --duration 6 --out /run/bulk >/dev/null &
    ./cbr $inside --addr 10.0.5.2 call:3:6*160/20000 >/run/cbr
    wait $!
    cat /run/bulk /run/cbr
    tc -n rcv -s filter show dev rcv0 ingress
    tc -n rtr -s -j qdisc show dev rtr1
    """
    text = virtual.run(script, "bulk", "cbr", "tunnel", "net.sh")
    rates, _, text = analysis.split_bulk("x", text)
    steady, text = analysis.split_steady("x", text)
    inside, every = map(int, re.findall(r"Sent \d+ bytes (\d+) pkt", text))
    assert inside == every > 4000
    assert rates[1:].mean() == pytest.approx(1368 / 1476 * 12.112e6, rel=0.02)
    qdisc = next(each for each in json.loads(text.splitlines()[-1]) if each["handle"] == "10:")
    assert qdisc["ecn_mark"] > 0
    # Were a mark lost on the way, the queue would not end
    assert steady["call"].percentile(99) < 20
