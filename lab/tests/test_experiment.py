# SPDX-License-Identifier: GPL-2.0
"""Experiments as files: what is refused, and the runs that are made."""

import re
import sys
from pathlib import Path

import pytest

from lab.commands import experiment
from lab.measure.reading import DataError
from lab.run import experiment as scenario
from lab.run import keys
from lab.run.guests import DAEMON, SCRIPT
from lab.run.kinds import KINDS
from lab.run.qdiscs import LISTS
from lab.tests.made_up import MINE, words
from vm import Built, VMError

LAB = Path(__file__).resolve().parents[1]


SINK = "modules/tcp_sink.ko"
SAMPLING = next(kind for kind, of in KINDS.items() if of.samples)


def ours(name: str) -> scenario.Experiment:
    path = scenario.find(name)
    assert path
    return scenario.read(path)


def parse(where: Path, text: str) -> scenario.Experiment:
    path = where / "mine.toml"
    path.write_text(text)
    return scenario.read(path)


def test_all_of_ours_can_be_read() -> None:
    names = scenario.names()
    assert {"demo", "d1-load", "mix", "bulk", "run2c", "sqf-table1", "las-log"} <= set(names)
    for name in names:
        one = ours(name)
        assert one.jobs and len({job.name for job in one.jobs}) == len(one.jobs), name


def test_what_guests_have_is_there() -> None:
    """And each has what its script calls."""
    guest = LAB / "guest"
    for one in map(ours, scenario.names()):
        for job in one.jobs:
            for need in job.needs:
                source = (guest / need).with_suffix(".c")
                watch = [*LAB.parent.glob(f"sch_*/{source.name}")]
                is_script = (guest / need).suffix == ".sh" and (guest / need).exists()
                of_root = need.startswith("/")
                assert is_script or source.exists() or watch or of_root
            assert job.script in job.needs


def test_example_of_the_documentation(tmp_path: Path) -> None:
    """It can be read, and names no qdisc that nobody knows."""
    text = (LAB.parent / "docs/experiments.md").read_text()
    whole = text.split("```toml\n")[1].split("```")[0]
    one = parse(tmp_path, whole)
    assert len(one.jobs) == 18 and "(18 here)" in text


def test_every_key_is_documented() -> None:
    text = (LAB.parent / "docs/experiments.md").read_text()

    def known(spec: dict) -> list[str]:
        found = []
        for name, inner in spec.items():
            inner = inner.each if isinstance(inner, keys.Named | keys.Tables) else inner
            found += [name] if not isinstance(inner, dict) else known(inner)
        return found

    assert [key for key in known(keys.FILE) if not re.search(rf"`\[?{key}\b", text)] == []
    assert [name for name in LISTS if f'`"{name}"`' not in text] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title", "tilte", "tilte is not known; here may be title, seeds"),
        ('title = "Mine"\n', "", "title is missing"),
        ("load", "lode", "flows.lode is not known; here may be size, load, count, mtu"),
        ("load = 0.5", 'load = "x"', "flows.load is 'x'; it has to be a number from 0.001 to 100"),
        ("load = 0.5", "load = true", "flows.load is True; it has to be a number"),
        ("load = 0.5", "load = nan", "flows.load is nan; it has to be a number"),
        ("load = 0.5", "", "case base: flows.load is missing"),
        ("rtt = 6", "rtt = 6.5", "network.rtt is 6.5; it has to be a whole number from 0 to"),
        ("rtt = 6", "", "network has to have either rtt or links"),
        ("rtt = 6", 'rtt = 6\nlinks = ["1mbit/6"]', "network has to have either rtt or links"),
        ("rtt = 6", 'links = ["1mbit"]', "network.links is ['1mbit']; it has to be a list of 1 to"),
        ("rtt = 6", f"links = {['1mbit/6'] * 16}", "network.links is"),
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
        ('"las"', '"las {other}"', "qdiscs.las: {buffer} and {rate} may be in braces"),
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
        ("[qdiscs]", "[bulk]\nstagger = 1\n[qdiscs]", "bulk has to have either flows or rtts"),
        ("[qdiscs]", "[steady.a]\nbytes = 99\n[qdiscs]", "has to have either bytes and every or"),
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
        ("rtt = 6", "links = ['8*1mbit/6', '8*1mbit/7']", "network.links are 16; it may have 15"),
        ("rtt = 6", "rtt = 6\ngroups = { a = 1 }", "network.groups has to tell of each of the 0"),
        ("rtt = 6", "links = ['2*1mbit/6']\ngroups.a = 1", "tell of each of the 2 links in which"),
        ("rtt = 6", "links = ['1mbit/6']\nadapted = 2", "network.adapted is more than there are"),
        ("load = 0.5", "load = 0.5\ncount = 9", "flows.count is in place of duration, and of bulk"),
        ("duration = 10", 'only = ["x"]\nduration = 10', "only has x, which is none of the qdiscs"),
        ("duration = 10", 'include = ["x"]\nduration = 1', 'each "peers" or "ours" or "oracle"'),
        ("duration = 10", 'include = ["peers"]\nduration = 1', "network.buffer is what a qdisc's"),
        ("[qdiscs]", "[bulk]\nrtts = [1]\n[qdiscs]", "have network.rtt = 0, and no access"),
        ("[qdiscs]", "[bulk]\nflows = 1\nrtts = [1]\n[qdiscs]", "either flows or rtts"),
        ("[qdiscs]", "[bulk]\nflows = 1\nskip = 10\n[qdiscs]", "bulk.skip is all of the duration"),
        ("[qdiscs]", "[bulk]\nflows = 1\nstagger = [1]\n[qdiscs]", "or [LEAST, MOST] to draw it"),
        ("[qdiscs]", "[bulk]\nflows = 1\nclasses.las = 2\n[qdiscs]", "bulk.classes needs access"),
        ("[qdiscs]", "[bulk]\nflows = 1\nreverse = true\n[qdiscs]", "needs qdiscs that shape"),
        (
            "[qdiscs]",
            "[bulk]\nflows = 1\nreverse = true\naccess = '1mbit'\n[qdiscs]",
            "bulk.reverse has no link of its own",
        ),
        (
            "[qdiscs]",
            "[bulk]\nflows = 1\naccess = '1mbit'\nclasses.x = 2\n[qdiscs]",
            "bulk.classes.x is none of the qdiscs",
        ),
        (
            "[qdiscs]",
            "[steady.a]\nbytes = 99\nevery = 1\nrate = '1mbit'\n[qdiscs]",
            "steady.a has to have either",
        ),
        ("[qdiscs]", "[steady.a]\nphases = '1*0'\nbegin = 1\n[qdiscs]", "a.phases tell when"),
        (
            "[qdiscs]",
            "[steady.a]\nbytes = 99\nevery = 1\nbegin = [1, 10]\n[qdiscs]",
            "steady.a.begin is after the duration",
        ),
        (
            "[qdiscs]",
            "[watch]\nsamples = 'las'\n[qdiscs]",
            "watch.samples is a qdisc that",
        ),
        ("[qdiscs]", "[watch]\nseconds = 9\n[qdiscs]", "watch.lengths is missing, how often"),
        ("[qdiscs]", "[watch]\nqueues = 1\n[qdiscs]", "watch.queues are those of bulk"),
        ("[qdiscs]", "[cases.x.vary.flows]\nload = 1\n[qdiscs]", "x.vary.flows.load has to be a"),
        (
            "[qdiscs]",
            "[cases.x.vary]\nflows.load = [1]\nnetwork.rtt = [6]\n[qdiscs]",
            "cases.x.vary may have one key",
        ),
        ("[qdiscs]", "[cases.x]\nvary = 1\n[qdiscs]", "cases.x.vary has to be a table"),
        ("title", "cases = 1\ntitle", "cases has to be a table"),
        ("[qdiscs]", "[page]\norder = 1\n[qdiscs]", "page.section is missing"),
        (
            "[qdiscs]",
            "[quick]\nduration = 1\n[qdiscs]",
            "quick.of has to be one of the cases: base",
        ),
        ("[qdiscs]", "[quick]\nof = 'base'\nx = 1\n[qdiscs]", "quick.x is not known"),
        ("rtt = 6", "rtt = 6\ntunnel = true", "network.tunnel is for bulk and steady"),
        ("rtt = 6", "rtt = 6\nvpn = true", "network.vpn is for bulk and steady"),
        ("rtt = 6", "rtt = 6\ntunnel = true\nvpn = true", "network.tunnel or network.vpn"),
        (
            "rtt = 6",
            "rtt = 6\ntunnel = true\n[bulk]\nflows = 1\naccess = '1mbit'",
            "in a network.tunnel bulk has no link of its own",
        ),
        ("[qdiscs]", "[fetch.a]\nevery = 1\n[qdiscs]", "fetch.a.bytes is missing"),
        ("[qdiscs]", "[fetch.a]\nbytes = [9]\n[qdiscs]", "or [LEAST, MOST] to draw it"),
        ("[qdiscs]", "[fetch.a]\nbytes = [9, 8]\n[qdiscs]", "or [LEAST, MOST] to draw it"),
        ("[qdiscs]", "[fetch]\n[qdiscs]", "fetch is empty"),
        ("[qdiscs]", "[packets]\n[qdiscs]", "packets is empty"),
        ("[qdiscs]", "[fetch.a]\nbytes = 9\nskip = 5\n[qdiscs]", "the last 5 s are not measured"),
        ("rtt = 6", "links = ['1mbit/6']\n[fetch.a]", "fetch needs network.rtt"),
        ("10mbit", "0.0bit", "it has to be a rate"),
        ("10mbit", "1001gbit", "it has to be a rate"),
        (
            "rtt = 6",
            "rtt = 6\ntunnel = true\n[steady.a]\nbytes = 1393\nevery = 1",
            "steady.a.bytes may be 1392 in a network.tunnel",
        ),
        (
            "rtt = 6",
            "rtt = 6\ntunnel = true\n[bulk]\nflows = 1\n[watch]\nqueues = 1",
            "watch.queues: in a network.tunnel all is one flow",
        ),
        ("[qdiscs]", "[fetch.a]\nskip = 10\n[qdiscs]", "fetch.a begins, or is measured, after"),
        ("[qdiscs]", "[fetch.a]\nhost = 21\n[qdiscs]", "fetch.a.host is 21; it has to be"),
        ("[qdiscs]", "[fetch.bulk]\n[qdiscs]", "bulk is the name of something else, too"),
        (
            "[qdiscs]",
            "[fetch.a]\n[packets.a]\nbytes = 99\nrate = '1mbit'\n[qdiscs]",
            "a is the name of something else, too",
        ),
        (
            "[qdiscs]",
            "".join(f"[fetch.a{i}]\n" for i in range(9)) + "[qdiscs]",
            "fetch has 9 groups; it may have 8",
        ),
        ("[qdiscs]", "[packets.a]\nbytes = 99\n[qdiscs]", "packets.a.rate is missing"),
        ("[qdiscs]", "[packets.a]\nrate = '1mbit'\n[qdiscs]", "packets.a.bytes is missing"),
        (
            "[qdiscs]",
            "[packets.a]\nbytes = 1461\nrate = '1mbit'\nsyn = 2\n[qdiscs]",
            "packets.a.bytes may be 1460",
        ),
        (
            "rtt = 6",
            "rtt = 6\nipv6 = true\n[packets.a]\nbytes = 1453\nrate = '1mbit'",
            "packets.a.bytes may be 1452",
        ),
        (
            "rtt = 6",
            "rtt = 6\nipv6 = true\n[steady.a]\nbytes = 1453\nevery = 1",
            "steady.a.bytes may be 1452",
        ),
        ("rtt = 6", "rtt = 6\nipv6 = true\nnat = true", "network.nat is of IPv4"),
        ("rtt = 6", "rtt = 6\nipv6 = true\n[bulk]\nflows = 1", "network.ipv6 is not for bulk"),
        ("rtt = 6", "rtt = 6\nisp = '12mbit'", "network.isp is '12mbit'; it has to be \"RATE/MS\""),
        (
            "rtt = 6",
            "rtt = 6\nisp = '12mbit/250'\n[bulk]\nflows = 1\naccess = '1mbit'",
            "bulk.access is beside network.isp",
        ),
        ("rtt = 6", "links = ['1mbit/6']\nnat = true", "network.nat is not for bulk, links"),
        (
            "rtt = 6",
            "rtt = 6\nipv6 = true\n[tcp]\nwindow = 9",
            "tcp.window is not for network.ipv6",
        ),
        (
            "rtt = 6",
            "rtt = 6\nnat = true\n[packets]\na = { bytes = 99, rate = '1mbit' }\n"
            "b = { bytes = 99, rate = '1mbit', host = 2 }",
            "packets behind a network.nat have one host",
        ),
        (
            "rtt = 6",
            "links = ['1mbit/6']\n[cases.x.flows]\nhosts = 2",
            "flows.hosts have a sender's port each",
        ),
        (
            "[qdiscs]",
            "".join(f"[packets.a{i}]\nbytes = 99\nrate = '1mbit'\nstreams = 129\n" for i in (1, 2))
            + "[qdiscs]",
            "packets has more than 256 streams",
        ),
        (
            "[qdiscs]",
            "[[bounds]]\nmetric = 'a'\nat_most = 1\nat_least = 1\nof.qdisc = ['las', 'cake']\n"
            "[qdiscs]",
            "bounds 1: the better of several goes with either",
        ),
        (
            "[qdiscs]",
            "[[bounds]]\nmetric = 'a'\nat_most = 1\nof.qdisc = ['las', 'x']\n[qdiscs]",
            "bounds 1: x is no qdisc",
        ),
        ("[qdiscs]", "[bounds]\nmetric = 'a'\n[qdiscs]", "bounds has to be a list of tables"),
        ("[qdiscs]", "[[bounds]]\nat_most = 1\n[qdiscs]", "bounds 1: metric is missing"),
        ("[qdiscs]", "[[bounds]]\nmetric = 'a'\n[qdiscs]", "at_least and at_most are missing"),
        ("[qdiscs]", "[[bounds]]\nmetric = 'a'\ncase = 'x'\n[qdiscs]", "bounds 1: x is no case"),
        (
            "[qdiscs]",
            "[[bounds]]\nmetric = 'a'\nof.qdisc = 'x'\n[qdiscs]",
            "bounds 1: x is no qdisc",
        ),
        (
            "[qdiscs]",
            "[[bounds]]\nmetric = 'a'\nat_most = 1\nenough = 1\n[qdiscs]",
            "bounds 1: enough goes with of, and with either",
        ),
        ("[qdiscs]", "[pair]\n[qdiscs]", "pair.policy is missing, or policies"),
        ("[qdiscs]", "[pair]\npolicy = 'fifo'\n[qdiscs]", "pair.policy is 'fifo'; it has to be"),
        ("[qdiscs]", "[pair]\npolicies = { x = 'las' }\n[qdiscs]", "pair.policies.x is none of"),
        (
            "[qdiscs]",
            "[pair]\npolicy = 'las'\noutside = ['x']\n[qdiscs]",
            "pair.outside has x, which is no group of fetch",
        ),
        (
            '[flows]\nsize = "fixed(5)"\nload = 0.5\n',
            "[pair]\npolicy = 'las'\noutside = ['a']\n[fetch.a]\n",
            "pair is for flows and groups of fetch, and there are neither",
        ),
        (
            "[qdiscs]",
            "[pair]\npolicy = 'mu'\ntypes = ['x']\n[qdiscs]",
            "pair.types has x, which is no group in the pair",
        ),
        ("rtt = 6", "rtt = 6\nipv6 = true\n[pair]\npolicy = 'las'", "is not for network.ipv6"),
        ("rtt = 6", "links = ['1mbit/6']\n[pair]\npolicy = 'las'", "is not for network.links"),
        ("load = 0.5", "load = 0.5\nhosts = 2\n[pair]\npolicy = 'las'", "have no flows.hosts"),
        (
            "[qdiscs]",
            "[pair]\npolicy = 'las'\n[fetch.a]\nfrom = 2\n[qdiscs]",
            "a pair is of one host: have no fetch.a.from",
        ),
        (
            "[qdiscs]",
            "[pair]\npolicy = 'las'\n[qdiscs]\nx = 'srpt'",
            "qdiscs.x is told the sizes of flows, not of a pair's connections",
        ),
        ("[qdiscs]", "[fetch.a]\nobjects = 3\n[qdiscs]", "fetch.a.bytes is missing"),
        ("[qdiscs]", "[fetch.a]\nbegin = [9, 10]\n[qdiscs]", "fetch.a begins, or is measured"),
        ("[qdiscs]", "[watch]\nfetched = 1\n[qdiscs]", "watch.fetched is of groups of fetch"),
        ("[qdiscs]", "[watch]\nagainst = 'x'\n[qdiscs]", "watch.against: x is none of the qdiscs"),
        ("rtt = 6", "rtt = 6\nloss = 51", "network.loss is 51; it has to be a number from 0 to 50"),
    ],
)
def test_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in MINE
    with pytest.raises(DataError) as refused:
        parse(tmp_path, MINE.replace(old, new))
    assert str(refused.value).startswith("mine.toml: ") and said in str(refused.value)


def test_what_a_file_has_to_have(tmp_path: Path) -> None:
    flows = '[flows]\nsize = "fixed(5)"\nload = 0.5\n'
    with pytest.raises(DataError, match="neither flows nor bulk nor steady nor fetch"):
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
    assert second.needs == ["scenario.sh", "net.sh", "flowgen", SINK]


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
call = { bytes = 160, every = 20, skip = 1, ecn = true }
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
        "CBR": "call:3.5:12.5*160/20000:ecn b:2.5:1*0,2*40/9.5",
    }
    assert {"sch_prio", "cls_u32", "run2c_isn", "sch_run2c"} <= set(jobs["base-run2c-4"].modules)
    alone = words(jobs["base-floor-4"])
    assert alone["FLOWGEN"] == f"{flows} --seed 4 --alone" and alone["TCP"] == "ns2"
    assert not {"BULK", "CBR", "AFTER", "ISN"} & set(alone)
    assert all(job.seed == 4 for job in jobs.values())
    # Each program or sysctl that the script knows of is told something here
    script = (LAB / "guest" / SCRIPT).read_text()
    assert all(key in script or key in ("QDISC", "RATE", "RTT_MS") for key in one)


def test_words_of_what_is_watched(tmp_path: Path) -> None:
    text = MINE.replace("rtt = 6", 'links = ["2*1mbit/6", "2mbit/60"]\nadapted = 2')
    text = text.replace("duration = 10", "").replace(
        "load = 0.5", "load = 0.5\ncount = 9\nmtu = 1000"
    )
    text += """
samples = "SAMPLING"
srpt = "srpt"
run2c = "run2c no_learn"
[tcp]
like = "ns2"
window = 0
[watch]
samples = "samples"
lengths = 0.5
seconds = 20
"""
    text = text.replace("SAMPLING", SAMPLING)
    runs = parse(tmp_path, text).runs
    one = runs["base", "samples", 1]
    assert words(one) == {
        "QDISC": SAMPLING,
        "RATE": "10mbit",
        "RTT_MS": "0",
        "LINKS": "1mbit/6 1mbit/6 2mbit/60",
        "TCP": "ns2",
        "ROUTE": "advmss 960 initcwnd 1 rto_min 1000ms",
        "FLOWGEN": "--size fixed(5) --load 0.5 --rate 10000000 --flows 9 --mtu 1000 --ports 3"
        " --seed 1",
        "SAMPLES": SAMPLING,
        "LENGTHS": "0.5 40",
    }
    assert one.needs == ["scenario.sh", "net.sh", "flowgen", SINK, f"modules/{SAMPLING}_watch.ko"]
    assert one.weight == max(1, 9 * 5 * 8000 / 1e6)
    other = runs["base", "srpt", 1]
    assert other.needs[-1] == "modules/sch_srpt.ko" and "SAMPLES" not in words(other)
    run2c = runs["base", "run2c", 1]
    assert words(run2c)["ISN"] == "5000-5001" and "run2c_isn" in run2c.modules
    none = parse(tmp_path, text.replace("adapted = 2", "adapted = 0")).runs["base", "run2c", 1]
    assert "ISN" not in words(none) and "run2c_isn" not in none.modules


def test_words_of_bulk(tmp_path: Path) -> None:
    """Round trips and links of its own; what is drawn is by the seed."""
    flows = '[flows]\nsize = "fixed(5)"\nload = 0.5\n'
    text = (
        MINE.replace(flows, "").replace("rtt = 6", "rtt = 0")
        + """
[bulk]
rtts = [10, 0.5]
stagger = [0.1, 1.1]
skip = 2
[steady.udp]
bytes = 1472
rate = "3mbit"
begin = [0.01, 1.01]
skip = 2
[watch]
queues = 0.5
"""
    )
    one = parse(tmp_path, text).runs["base", "las", 1]
    assert words(one) == {
        "QDISC": "las",
        "RATE": "10mbit",
        "RTT_MS": "0",
        "BULK": "--flows 2 --stagger 0.234 --duration 10",
        "RTTS": "10 0.5",
        "CBR": "udp:2:0.857*0,9.143*1472/4037.333333",
        "QUEUES": "--flows 7 --interval 0.5 --duration 10",
    }
    assert one.modules == "veth sch_htb sch_netem sch_prio cls_u32 sch_las tcp_cubic".split()
    assert one.needs == ["scenario.sh", "net.sh", "bulk", "cbr", "queues", SINK]
    bulk = '[bulk]\nflows = 1\naccess = "1mbit"\nclasses = { las = 18 }\n'
    runs = parse(tmp_path, MINE + bulk).runs
    assert words(runs["base", "las", 1])["CLASSID"] == "10:12"
    assert words(runs["base", "cake", 1])["ACCESS"] == "1mbit"
    assert "CLASSID" not in words(runs["base", "cake", 1])
    assert "cls_u32" in runs["base", "cake", 1].modules


def test_words_of_groups(tmp_path: Path) -> None:
    """Other hosts, a tunnel, and what heeds nothing."""
    text = MINE.replace("rtt = 6", "rtt = 6\ntunnel = true").replace("load", "after = 2\nload")
    text += """
[bulk]
flows = 1
[fetch]
long = { at_once = 5, skip = 1 }
page = { at_once = 30, bytes = [100, 5000], every = 2.5, host = 3, begin = 4 }
[packets]
flood = { bytes = 22, rate = "12.8mbit", ports = 1, host = 2, begin = 1 }
some = { bytes = 1446, rate = "24mbit", streams = 4, burst = 3, jitter = 0.5, rst = 12, count = 9 }
"""
    runs = parse(tmp_path, text.replace("duration = 10", "duration = 10\nfloor = true")).runs
    one = runs["base", "las", 1]
    told = words(one)
    assert told["TUNNEL"] == "1" and told["HOSTS"] == "3 4"
    assert told["FETCH"].split() == [
        *"--duration 12 --seed 1".split(),
        "long:at_once=5,host=1,skip=3",
        "page:at_once=30,bytes=100,most=5000,every=2.5,host=4,begin=4,skip=2",
    ]
    assert told["PACKETS"].split() == [
        *"--duration 12 --seed 1".split(),
        "flood:bytes=22,us=40,ports=1,host=3,begin=1,skip=2",
        "some:bytes=1446,us=2000,streams=4,burst=3,jitter=0.5,count=9,rst=12,host=1,skip=2",
    ]
    assert one.needs == [*"scenario.sh net.sh flowgen bulk fetch packets tunnel".split(), SINK]
    assert {"cls_u32", "sch_ingress", "act_gact"} <= set(one.modules)
    assert one.weight == pytest.approx(120 + (11 / 40e-6 + 4 * 9) * 0.012)
    floor = words(runs["base", "floor", 1])
    assert not {"FETCH", "PACKETS", "TUNNEL", "HOSTS", "BULK"} & set(floor)
    isn = text.replace("[qdiscs]", "[qdiscs]\nr = 'run2c no_learn'")
    assert words(parse(tmp_path, isn).runs["base", "r", 1])["ISN"] == "5000-8007"
    script = (LAB / "guest" / SCRIPT).read_text()
    assert all(key in script or key in ("QDISC", "RATE", "RTT_MS") for key in told)


def test_words_of_hosts(tmp_path: Path) -> None:
    """Of senders, many of the downloads, behind NAT and over IPv6"""
    text = MINE.replace("load", "hosts = 3\nload")
    text += """
[fetch]
one = { from = 2 }
other = { from = 4, host = 2 }
"""
    told = words(parse(tmp_path, text).runs["base", "las", 1])
    assert (told["HOSTS"], told["SENDERS"], told["SPREAD"]) == ("3 101 102 103", "3 5", "1")
    assert told["FLOWGEN"].endswith("--ports 3 --seed 1")
    assert told["FETCH"].split()[-2:] == [
        "one:at_once=1,host=1,from=3",
        "other:at_once=1,host=3,from=5",
    ]
    text = MINE.replace("rtt = 6", "rtt = 6\nnat = true")
    text += "[packets]\nflood = { bytes = 1472, rate = '12.112mbit', host = 2 }\n"
    one = parse(tmp_path, text).runs["base", "las", 1]
    told = words(one)
    assert told["NAT"] == told["HOSTS"] == "3" and "IPV6" not in told
    assert told["PACKETS"].split()[-1] == "flood:bytes=1472,us=1000,host=2"
    assert one.needs[-1] == "/usr/sbin/nft" and {"ifb", "nft_masq"} <= set(one.modules)
    text = text.replace("nat", "ipv6").replace("1472", "1452")
    one = parse(tmp_path, text).runs["base", "las", 1]
    told = words(one)
    assert told["IPV6"] == "1" and "NAT" not in told and "ifb" not in one.modules
    assert told["PACKETS"].split()[-1] == "flood:bytes=1452,us=1000,host=3"
    script = (LAB / "guest" / SCRIPT).read_text()
    assert all(f"${{{key}" in script for key in ("IPV6", "NAT", "SPREAD", "SENDERS"))


def test_words_of_a_pair(tmp_path: Path) -> None:
    """By way of which downloads go, and those groups that are not outside."""
    text = MINE.replace("rtt = 6", "rtt = 6\nloss = 0.5").replace("load", "after = 2\nload")
    text += """
[pair]
policies = { las = "fair" }
outside = ["sample"]
unsent = 0
[fetch]
sample = { begin = [1, 2] }
page = { bytes = 9000, at_once = 6, objects = 30, every = 5 }
[watch]
fetched = 0.5
"""
    text = text.replace("duration = 10", "duration = 10\nfloor = true")
    runs = parse(tmp_path, text).runs
    one, other = runs["base", "las", 1], runs["base", "cake", 1]
    told = words(one)
    assert (told["PAIR"], told["PAIR_PORTS"]) == ("fair", "5000 8001")
    assert told["PAIR_OPTIONS"] == "unsent_=_0" and told["LOSS"] == "0.5"
    assert told["FETCH"].split() == [
        *"--duration 12 --seed 1 --interval 0.5".split(),
        "sample:at_once=1,host=1,begin=1.134,skip=2",
        "page:at_once=6,bytes=9000,every=5,objects=30,via=1,host=1,skip=2",
    ]
    assert DAEMON in one.needs and DAEMON not in other.needs
    assert "PAIR" not in words(other) and "via=1" not in words(other)["FETCH"]
    assert "begin=1.134" in words(other)["FETCH"]
    assert not {"PAIR", "PAIR_OPTIONS", "LOSS"} & set(words(runs["base", "floor", 1]))
    every = text.replace('policies = { las = "fair" }', 'policy = "mu"\ntypes = ["page"]')
    told = words(parse(tmp_path, every).runs["base", "cake", 1])
    assert (told["PAIR"], told["PAIR_PORTS"]) == ("mu", "5000 8001=page")
    assert told["PAIR_OPTIONS"] == "types_=_{page} unsent_=_0"
    single = every.replace('"mu"', '"one-carrier"')
    told = words(parse(tmp_path, single).runs["base", "cake", 1])
    assert told["PAIR"] == "tcp one-carrier = yes"
    none = every.replace('"mu"', '"direct"')
    assert "PAIR" not in words(parse(tmp_path, none).runs["base", "cake", 1])
    script = (LAB / "guest" / SCRIPT).read_text()
    assert (
        all(f"${{{key}" in script for key in ("PAIR", "PAIR_OPTIONS")) and "$PAIR_PORTS" in script
    )
    assert "${LOSS" in (LAB / "guest/net.sh").read_text()


def test_words_of_shapers(tmp_path: Path) -> None:
    """One is told the rate, and is there in place of HTB; it may be behind an ISP's link."""
    text = MINE.replace("rtt = 6", "rtt = 6\nisp = '12mbit/250'")
    text += 'own = "las rate {rate} ingress"\n'
    one = parse(tmp_path, text)
    told = words(one.runs["base", "own", 1])
    assert (told["QDISC"], told["SHAPES"]) == ("las rate 10mbit ingress", "1")
    assert told["RATE"] == "10mbit" and told["ISP"] == "12mbit limit 250"
    assert "SHAPES" not in words(one.runs["base", "las", 1])
    modules = one.runs["base", "own", 1].modules
    assert {"ifb", "act_mirred", "sch_ingress", "sch_las"} <= {*modules}
    assert "nft_masq" not in modules
    other = one.only({"x": "cake bandwidth {rate}"}).runs["base", "x", 1]
    assert words(other)["QDISC"] == "cake bandwidth 10mbit"
    script = "".join((LAB / "guest" / name).read_text() for name in (SCRIPT, "net.sh"))
    assert "${ISP-}" in script and "${SHAPES-}" in script


def test_lists_of_qdiscs(tmp_path: Path) -> None:
    text = MINE.replace("rtt = 6", "rtt = 6\nbuffer = 9").replace(
        "duration", 'include = ["ours", "peers"]\nduration'
    )
    one = parse(tmp_path, text.replace('"cake b', '"cake x b'))
    assert list(one.qdiscs) == [*LISTS["ours"], *LISTS["peers"]]
    assert one.qdiscs["cake"] == "cake x besteffort flows"


def test_a_case_without_some_qdiscs(tmp_path: Path) -> None:
    one = parse(tmp_path, MINE + "[cases.a]\n[cases.b]\nonly = ['cake']\n")
    assert list(one.runs) == [("a", "las", 1), ("a", "cake", 1), ("b", "cake", 1)]


def test_the_short_case(tmp_path: Path) -> None:
    """It runs where it is asked for, with one seed."""
    text = MINE.replace("duration", "seeds = [3, 4]\nduration")
    text += (
        "[cases.a]\nflows.load = 0.7\n[cases.b]\n[quick]\nof = 'a'\nduration = 2\nonly = ['las']\n"
    )
    one = parse(tmp_path, text)
    assert list(one.cases) == ["a", "b"] and one.short_of == "a"
    assert list(one.short.runs) == [("quick", "las", 3)]
    assert list(one.only(cases=["quick"]).runs) == [("quick", "las", 3), ("quick", "las", 4)]
    assert "--load 0.7 --rate 10000000 --duration 2 " in words(one.short.jobs[0])["FLOWGEN"]


def test_what_is_varied_in_a_case(tmp_path: Path) -> None:
    text = MINE + "[cases.a]\nduration = 9\nvary.flows.load = [0.5, 0.9]\n[cases.b]\n"
    one = parse(tmp_path, text)
    assert list(one.cases) == ["a 0.5", "a 0.9", "b"]
    assert one.cases["a 0.9"]["flows"]["load"] == 0.9 and one.cases["a 0.9"]["duration"] == 9
    assert one.runs["a 0.9", "las", 1].name == "a-0.9-las-1"
    assert list(one.only(cases=["a"]).cases) == ["a 0.5", "a 0.9"]
    assert list(one.only(cases=["b", "a 0.9"]).cases) == ["a 0.9", "b"]


def test_the_demo() -> None:
    one = ours("demo")
    assert [*one.qdiscs] == ["pfifo", "fq_codel", "cake", "las"] and len(one.jobs) == 5
    las = words(one.runs["base", "las", 1])
    assert las["FLOWGEN"] == (
        "--size 0.8*exp(4)+0.2*bp(13,5000,1.1) --load 0.9 --rate 10000000 --duration 150 --seed 1"
    )


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
    ran: list[object] = []
    monkeypatch.setattr(experiment, "prepare", lambda kernel: built)
    monkeypatch.setattr(experiment, "run_all", lambda *given: ran.append(given) or 1 / 0)
    with pytest.raises((DataError, VMError)) as refused:
        experiment.run(parse(tmp_path, MINE.replace(*change)), "6.1", 1)
    assert str(refused.value) == said and not ran and not capsys.readouterr().out
    with pytest.raises(ZeroDivisionError):
        experiment.run(parse(tmp_path, MINE), "6.1", 1)
    assert ran and capsys.readouterr().out.startswith("Mine\n2 run(s)")


def test_how_long_runs_take() -> None:
    """In Mbit: downloads of 0.7 of 10 Mbit/s in 150 s, and 750 s of a packet each 5.6 ms."""
    runs = ours("old-flows").runs
    assert runs["vpn", "las", 1].weight == pytest.approx(1050 + 750 / 0.0056 * 0.012)
    runs = ours("mix").runs
    assert runs["base", "las", 1].weight == 20 * 50  # bulk takes all of it


def test_commands_of_old_flows() -> None:
    one = ours("old-flows")
    calls, vpn = (words(one.runs[case, "las", 1]) for case in ("calls", "vpn"))
    assert (calls["AFTER"], vpn["AFTER"]) == ("3600", "600")
    assert calls["CBR"].split() == [
        "call:3600:3750*160/20000",
        "ssh:3600:3750*40/200000",
        "turned:3630:3577*0,23*1472/1000,150*160/20000",
    ]
    assert vpn["CBR"] == "vpn:600:750*1400/5600"


def test_qdiscs_of_the_command_line() -> None:
    known = {"las": "las", "cake": "cake besteffort flows"}
    assert experiment.parse_qdiscs("cake,las", known) == known
    assert experiment.parse_qdiscs("las,las50=las limit 50", known)["las50"] == "las limit 50"
    for text in ("", "nothing", "floor", "floor=pfifo", "a/b=las", "las,,cake"):
        with pytest.raises(DataError, match="give las, cake, or NAME=KIND"):
            experiment.parse_qdiscs(text, known)


def test_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEED", raising=False)
    ran: list[scenario.Experiment] = []
    monkeypatch.setattr(experiment, "run", lambda one, *_: ran.append(one) or one.name != "bulk")

    def given(*args: str) -> scenario.Experiment:
        monkeypatch.setattr(sys, "argv", ["experiment", *args])
        assert experiment.main() == (args[0] == "bulk")
        return ran[-1]

    assert given("mine.toml").seeds == [1] and given("mix", "--seed", "0").seeds == [0]
    assert scenario.find("d1-load") and not scenario.find("mine") and not scenario.find("x.toml")
    one = given("mine.toml", "--qdiscs", "cake,x=fq_codel", "--cases", "base")
    assert one.qdiscs == {"cake": "cake besteffort flows", "x": "fq_codel"}
    assert list(given("run2c", "--cases", "quick").cases) == ["quick"]
    monkeypatch.setenv("SEED", "5")
    assert given("d1-load").seeds == [5] and given("bulk").seeds == [5]
    with pytest.raises(SystemExit):
        given("nothing")
    with pytest.raises(DataError, match="mine: the cases are base"):
        given("mine.toml", "--cases", "x")
