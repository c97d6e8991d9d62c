# SPDX-License-Identifier: GPL-2.0
"""What is printed once, of what the kernel has told at two looks, a second apart."""

import json
import re
import resource
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from sftop.tests.host import messages as m
from sftop.tests.host.programs import ENVIRONMENT, FOLDER, HERE, MODEL, build

SCHEMA = json.loads((FOLDER.parent / "docs/sftop.schema.json").read_text())
QUICK = ("-d", "0.1")
LINKS = {1: "lo", 2: "eth0", 3: "ifb-eth0"}


class Replay:
    def __init__(self, program: Path, where: Path, promtool: Path | None = None) -> None:
        self.program, self.where, self.promtool = program, where, promtool

    def look(self, number: int, *qdiscs: m.Qdisc, links: dict = LINKS) -> None:
        m.look(self.where, number, qdiscs, links)

    def run(self, *words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self.program, *words],
            env=ENVIRONMENT | {"SFTOP_REPLAY": str(self.where)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def json(self, *words: str, status: int = 0) -> dict:
        told = json.loads(self.run("--json", *QUICK, *words, status=status).stdout)
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.Draft202012Validator(SCHEMA).validate(told)
        return told

    def metrics(self, *words: str, status: int = 0) -> dict[str, float]:
        """By name and labels, without those of the place; promtool has nothing against them."""
        text = self.run("--prometheus", *words, status=status).stdout
        said = subprocess.run(
            [self.promtool, "check", "metrics"], input=text, capture_output=True, text=True
        )
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
        lines = [line for line in text.splitlines() if line[0] != "#"]
        place = r'device="(?:[^"\\]|\\.)*",kind="\w+",qdisc="\w+:",parent="[^"]*",?'
        found = (re.fullmatch(r"shortfirst_(.*) (\S+)", line).groups() for line in lines)
        return {re.sub(place, "", name).removesuffix("{}"): float(value) for name, value in found}


@pytest.fixture
def replay(sftop: Path, promtool: Path, tmp_path: Path) -> Replay:
    return Replay(sftop, tmp_path, promtool)


def two_looks(replay: Replay) -> None:
    """One flow sends, one does not, one counts anew, one is new, and one has another's record"""
    for number in (1, 2):
        later = number - 1
        flows = [
            m.flow(0, bytes=10_000 + 5_000 * later, packets=10 + 5 * later, host=2),
            m.flow(1, bytes=2_000_000, packets=1400, sort=m.LONG, host=3, attained=1 << 63)
            | {"qlen": 2, "backlog": 3000, "waited": 4200, "drops": 7 * later, "marks": 3},
            m.flow(2, bytes=9000 - 8000 * later, packets=9 - 8 * later, silent=40),
            m.flow(4, src="2001:db8::1", dst="2001:db8::2", ethertype=0x86DD, proto=m.UDP),
            m.flow(5, bytes=1000 + 100 * later, sport=number, silent=1),
        ]
        if later:
            flows.append(m.flow(3, sort=m.NEW, bytes=700, packets=1, qlen=1, backlog=60, waited=9))
        flows.append({"type": m.OVERFLOW, "sort": m.LONG, "bytes": 5, "packets": 1})
        hosts = [m.host(2, flows=1), m.host(3, over=1, bytes=4000 * number, level=5)]
        app = struct.pack("=II", 0, 0) + bytes(8 * 16)
        qdisc = m.Qdisc(2, "las", 0x8001, bytes=1 << 40, packets=1 << 33, app=app)
        qdisc.bytes += 125_000 * later
        qdisc.queue, qdisc.classes = (3, 3060, 10 + 2 * later, 1, 99), flows + hosts
        replay.look(number, qdisc, m.Qdisc(3, "sqf", 2), m.Qdisc(1, "noqueue", 3))


def test_rates(replay: Replay) -> None:
    two_looks(replay)
    told = replay.json()
    rates = {each["record"]: each["rate"] for each in told["flows"] if "record" in each}
    # What counts anew and what is new has sent all of it since
    assert rates == {0: 5000, 1: 0, 2: 1000, 3: 700, 4: 0, 5: 1100}
    assert [each.get("record") for each in told["flows"]][:3] == [0, 5, 2]  # the most first
    assert {each["host"]: each["rate"] for each in told["hosts"]} == {2: 0, 3: 4000}
    drops = {each.get("record"): each["drop_rate"] for each in told["flows"]}
    assert drops == {0: 0, 1: 7, 2: 0, 3: 0, 4: 0, 5: 0, None: 0}
    qdisc = told["qdiscs"][0]
    assert (qdisc["rate"], qdisc["packet_rate"], qdisc["drop_rate"]) == (125_000, 0, 2)


def test_json(replay: Replay) -> None:
    two_looks(replay)
    told = replay.json()
    place = {"dev": "eth0", "handle": "8001:", "parent": "root"}
    long = next(each for each in told["flows"] if each.get("record") == 1)
    assert long == place | {
        **{
            "type": "flow",
            "record": 1,
            "sort": "long",
            "host": 3,
            "proto": "tcp",
            "src": "10.0.0.1",
        },
        **{"sport": 10001, "dst": "192.0.2.1", "dport": 443, "attained": 1 << 63},
        **{"bytes": 2_000_000, "packets": 1400, "drops": 7, "marks": 3, "backlog": 3000},
        **{"qlen": 2, "waited_us": 4200, "rate": 0, "drop_rate": 7},
    }
    six = next(each for each in told["flows"] if each.get("record") == 4)
    assert (six["src"], six["dst"], six["proto"]) == ("2001:db8::1", "2001:db8::2", "udp")
    rest = next(each for each in told["flows"] if each["type"] == "rest")
    assert (rest["bytes"], rest["sort"]) == (5, "long") and "record" not in rest
    assert [each["kind"] for each in told["qdiscs"]] == ["las", "sqf"]
    qdisc = told["qdiscs"][0]
    assert (qdisc["bytes"], qdisc["packets"]) == ((1 << 40) + 125_000, 1 << 33)
    assert (qdisc["qlen"], qdisc["backlog"], qdisc["drops"]) == (3, 3060, 12)
    assert (qdisc["hosts"], qdisc["hosts_over"]) == (2, 1)
    assert qdisc["flows"]["long"] == {
        **{"known": 1, "waiting": 1, "backlog": 3000, "waited_us": 4200},
    }
    assert qdisc["flows"]["new"]["known"] == 1 and qdisc["flows"]["short"]["known"] == 4
    assert "notice" not in told


@pytest.mark.parametrize(
    ("order", "first"),
    {"rate": 0, "waiting": 1, "waited": 1, "drops": 1, "bytes": 1, "attained": 1}.items(),
)
def test_sort(replay: Replay, order: str, first: int) -> None:
    two_looks(replay)
    told = replay.json("--sort", order, "--limit", "2")
    assert told["flows"][0]["record"] == first
    assert len(told["flows"]) == len(told["hosts"]) == 2


def test_interfaces(replay: Replay) -> None:
    two_looks(replay)
    told = replay.json("ifb-eth0")
    assert [each["dev"] for each in told["qdiscs"]] == ["ifb-eth0"] and not told["flows"]
    told = replay.json("ifb-eth0", "eth0", "lo")
    assert len(told["qdiscs"]) == 2 and len(told["flows"]) == 7
    done = replay.run("--json", "eth9", status=1)
    assert done.stderr == 'sftop: Cannot find device "eth9"\n' and not done.stdout
    done = replay.run("--json", *QUICK, "lo", status=3)
    assert "No qdisc of shortfirst here" in done.stderr and json.loads(done.stdout)["qdiscs"] == []


def test_table(replay: Replay) -> None:
    two_looks(replay)
    lines = replay.run("--once", *QUICK, "--limit", "3").stdout.splitlines()
    assert lines[0] == (
        "eth0 las 8001: root: 1.0Mbit/s, 0 packets/s, sent 1.1TB, dropped 12, marked 0, "
        "waiting 3.1kB in 3 packets"
    )
    assert "  long  1 flows, waiting: 1 with 3.0kB, for up to 4.2ms" in lines
    assert "  2 hosts, 1 over their share" in lines
    rows = [line.split() for line in lines]
    assert ["eth0", "short", "tcp", "10.0.0.0:10000", "192.0.2.1:443"] + [
        *("40k", "0", "-", "0", "15k")
    ] in rows
    assert "and 4 more" in lines
    assert ["eth0", "over", "10.0.0.3", "32k", "0", "0", "0", "8.0k"] in rows


def test_prometheus(replay: Replay) -> None:
    two_looks(replay)
    found = replay.metrics("eth0")
    assert found["sent_bytes_total"] == 1 << 40 and found["sent_packets_total"] == 1 << 33
    assert found["dropped_packets_total"] == 10 and found["requeues_total"] == 1
    assert (found["backlog_bytes"], found["backlog_packets"]) == (3060, 3)
    assert (found["hosts"], found["hosts_over"]) == (2, 1)
    assert found['flows{sort="short"}'] == 4 and found['flows{sort="new"}'] == 0
    assert found['flows_waiting{sort="long"}'] == 1
    assert found['flows_backlog_bytes{sort="long"}'] == 3000
    assert found['flows_longest_wait_seconds{sort="long"}'] == 0.0042
    assert not any("host_" in name for name in found)
    assert len(found) == 9 + 4 * 3
    found = replay.metrics("--hosts", "eth0")
    assert found['host_sent_bytes_total{host="3",source="10.0.0.3",destination=""}'] == 4000
    assert sum("host_sent_bytes" in name for name in found) == 2
    found = replay.metrics("--hosts", "--limit", "1", "eth0")  # the most bytes
    assert ["3" in name for name in found if "host_sent_bytes" in name] == [True]


@pytest.mark.parametrize(
    ("kind", "values"), {"las": [7], "sqf": [7], "sift": [3, 4], "run2c": []}.items()
)
def test_marks(replay: Replay, kind: str, values: Sequence[int]) -> None:
    """Those that the kinds count in their own statistics"""
    source = FOLDER.parent / f"sch_{kind}/pkt_{kind}.h"
    offsets = replay.where / "offsets.c"
    fields = {"sift": ["high.marked", "low.marked"], "run2c": []}.get(kind, ["marked"])
    prints = "".join(
        f'printf("%zu %zu\\n", offsetof(struct tc_{kind}_xstats, {field}),'
        f" sizeof(((struct tc_{kind}_xstats *)0)->{field}));"
        for field in fields
    )
    offsets.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "{source}"\nint main(void) {{ {prints} return 0; }}\n'
    )
    program = replay.where / "offsets"
    include = f"-I{FOLDER.parent / 'include'}"
    subprocess.run(["gcc", include, "-o", program, offsets], check=True)
    app = bytearray(512)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    for line, value in zip(told.splitlines(), values, strict=True):
        offset, size = map(int, line.split())
        app[offset : offset + size] = value.to_bytes(size, sys.byteorder)
    replay.look(1, m.Qdisc(2, kind, 1, app=bytes(app)))
    assert replay.metrics()["marked_packets_total"] == sum(values)
    replay.look(1, m.Qdisc(2, kind, 1, app=bytes(app[:16])))  # of an older module
    assert replay.metrics()["marked_packets_total"] == 0


def test_no_qdisc(replay: Replay) -> None:
    replay.look(1, m.Qdisc(2, "fq_codel", 1))
    told = replay.json(status=3)
    assert told["qdiscs"] == told["flows"] == told["hosts"] == []
    assert replay.metrics("--hosts", status=3) == {}
    done = replay.run("--once", *QUICK, status=3)
    assert done.stdout == "" and "shortfirst start DEV" in done.stderr


def test_without_cap_net_admin_a_notice_says_why_the_list_is_empty(replay: Replay) -> None:
    notice = "Flows and hosts are listed only for root, or with CAP_NET_ADMIN"
    for number in (1, 2):
        replay.look(number, m.Qdisc(2, bytes=1000))
    assert "notice" not in replay.json()
    for number in (1, 2):
        (replay.where / f"{number}.unprivileged").touch()
    done = replay.run("--once", *QUICK)
    assert done.stderr == f"sftop: {notice}\n" and "sent 1.0kB" in done.stdout
    told = replay.json()
    assert told["notice"] == notice
    assert told["flows"] == told["hosts"] == [] and told["qdiscs"][0]["bytes"] == 1000


def test_arp_has_no_addresses_for_anybody(replay: Replay) -> None:
    arp = {key: value for key, value in m.flow(1).items() if key not in ("src", "dst", "sport")}
    replay.look(1, m.Qdisc(2, classes=[arp | {"ethertype": 0x0806, "proto": 0}]))
    done = replay.run("--once", *QUICK)
    assert done.stderr == "" and " arp " in done.stdout


def test_a_flow_in_a_tunnel_has_its_hash_and_no_ports(replay: Replay) -> None:
    tunnel = {key: value for key, value in m.flow(1).items() if key not in ("sport", "dport")}
    replay.look(1, m.Qdisc(2, classes=[tunnel | {"proto": m.UDP, "inner": 1 << 31}]))
    only = replay.json()["flows"][0]
    assert only["inner"] == 1 << 31 and "sport" not in only
    assert " 192.0.2.1 inner 2147483648 " in replay.run("--once", *QUICK).stdout


def test_old_modules(replay: Replay) -> None:
    """Their classes have no attributes."""
    qdisc = m.Qdisc(2)
    replay.look(1, qdisc)
    bare = qdisc.tc(m.RTM_NEWTCLASS, 0x18000, 0x10000, m.statistics(1, 1))
    (replay.where / "1.class").write_bytes(bare)
    done = replay.run("--once", *QUICK)
    assert done.stderr == "sftop: The modules are older than sftop and do not tell of flows\n"


def test_replaced(replay: Replay) -> None:
    """A qdisc with the same handle that counts anew has no rates, and its flows have none."""
    replay.look(1, m.Qdisc(2, bytes=10**6, packets=10**3, classes=[m.flow(1, bytes=10**6)]))
    replay.look(2, m.Qdisc(2, bytes=1500, packets=1, classes=[m.flow(1)]))
    told = replay.json()
    assert "rate" not in told["qdiscs"][0] and "rate" not in told["flows"][0]


def test_queues(replay: Replay) -> None:
    """Those of an interface with several queues have handles of their own, or none."""
    for handles in ((0x10, 0x11), (0, 0)):
        qdiscs = [
            m.Qdisc(2, "las", handle, 0x80010000 + i, classes=[m.flow(i, sport=i)])
            for i, handle in enumerate(handles, 1)
        ]
        replay.look(1, *qdiscs)
        told = replay.json()
        assert len(told["qdiscs"]) == 2 and len(told["flows"]) == 2
        assert {each["parent"] for each in told["qdiscs"]} == {"8001:1", "8001:2"}
        where = {each["sport"]: each["handle"] for each in told["flows"]}
        assert where == {1: f"{handles[0]:x}:", 2: f"{handles[1]:x}:"}
        assert len(replay.metrics()) == 9 + 12  # labels are less than the names here
    assert len(replay.run("--prometheus").stdout.splitlines()) == 2 * 13 + 2 * (9 + 12)


def test_names_of_interfaces(replay: Replay) -> None:
    links = {2: b'q"\\b', 3: b"\x1b[31m\xff"}
    replay.look(1, m.Qdisc(2, classes=[m.flow(1)]), m.Qdisc(3), links=links)
    assert [each["dev"] for each in replay.json()["qdiscs"]] == ['q"\\b', "?[31m?"]
    text = replay.run("--prometheus").stdout
    assert 'device="q\\"\\\\b"' in text and replay.run("--once", *QUICK).stdout.isascii()
    assert replay.metrics()


def test_error(replay: Replay) -> None:
    two_looks(replay)
    (replay.where / "2.error").write_text("Out of memory")
    done = replay.run("--json", *QUICK, status=1)
    assert done.stderr == "sftop: Cannot read from the kernel: Out of memory\n"
    assert done.stdout == ""


def test_full(sftop: Path, tmp_path: Path) -> None:
    """What cannot be written is an error."""
    two_looks(Replay(sftop, tmp_path))
    env = ENVIRONMENT | {"SFTOP_REPLAY": str(tmp_path)}
    with open("/dev/full", "w") as full:
        done = subprocess.run([sftop, "--prometheus"], env=env, stdout=full, stderr=full)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "-d": "-d: something is missing after it",
        "--limit": "--limit: something is missing after it",
        "-d x": '"x" is not from 0.1 to 3600 seconds',
        "-d 0": '"0" is not from 0.1 to 3600 seconds',
        "-d nan": '"nan" is not from 0.1 to 3600 seconds',
        "-d 1e3": '"1e3" is not from 0.1 to 3600 seconds',
        "-d 3601": '"3601" is not from 0.1 to 3600 seconds',
        "-n 0": '"0" is not how many times',
        "-n 1.5": '"1.5" is not how many times',
        "--json --limit -1": '"-1" is not how many',
        "--sort size": '"size" is nothing to sort by',
        "--bogus": '"--bogus" is no option',
        "-x": '"-x" is no option',
        "--once=1": '"--once=1" is no option',
        "--once --json": "one of --once, --json and --prometheus",
        "--json -n 3": "--count is not for --json",
        "--limit 3": "--limit is for --once, --json and --prometheus",
        "--once --hosts": "--hosts is for --prometheus",
        "--prometheus -d 2": "--delay is not for --prometheus, which has no rates",
        "--prometheus --limit 2": "--limit is of hosts, and there is no --hosts",
        "--prometheus --sort bytes": "--sort is of hosts, and there is no --hosts",
    }.items(),
)
def test_misused(replay: Replay, words: str, said: str) -> None:
    done = replay.run(*words.split(), status=2)
    assert done.stderr == f"sftop: {said}; see sftop --help\n" and not done.stdout


def test_help(replay: Replay) -> None:
    assert replay.run("--help").stdout.startswith("Usage: sftop [OPTIONS] [INTERFACE...]\n")
    changelog = (FOLDER.parent / "debian/changelog").read_text()
    assert replay.run("-V").stdout == f"sftop {re.search(r'[(](.*)[)]', changelog)[1]}\n"


def test_tables(replay: Replay) -> None:
    """Where there is no screen each look is a table."""
    two_looks(replay)
    done = replay.run("-n", "2", *QUICK)
    assert done.stdout.count("eth0 las 8001: root") == 2 and "\x1b" not in done.stdout


def test_without_screen(tmp_path: Path) -> None:
    """The same, if it is built without ncurses"""
    program = tmp_path / "sftop"
    build(program, f"main.c {MODEL} no_screen.c", HERE / "replay.c")
    replay = Replay(program, tmp_path)
    two_looks(replay)
    assert replay.run("-n", "1", *QUICK).stdout.count("eth0 las 8001: root") == 1


def test_many(tmp_path: Path) -> None:
    """65536 flows are quick, and take no more memory the tenth time."""
    build(tmp_path / "sftop", f"main.c {MODEL} no_screen.c", HERE / "replay.c", flags="-O2")
    replay = Replay(tmp_path / "sftop", tmp_path)
    for number in (1, 2):
        flows = [m.flow(record, bytes=1500 * number + record) for record in range(65536)]
        replay.look(number, m.Qdisc(2, classes=flows))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    replay.program = Path("prlimit")
    done = replay.run(f"--as={96 << 20}", tmp_path / "sftop", "-n", "10", *QUICK)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.stdout.count("short 65536 flows") == 10 and used < 2
