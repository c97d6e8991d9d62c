# SPDX-License-Identifier: GPL-2.0
"""The command `shortfirst`: what it sets up, puts back and refuses, and what it tells.

    netns box                       netns net
    eth0 ---------------- e1
    10.9.0.1                        10.9.0.2

Each is done by the shell of Debian and by that of OpenWrt, whose own programs busybox has, too.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selftests.lib.command import do, run

COMMAND = str(Path(__file__).parents[1] / "shortfirst")
TRANSFER = str(Path(__file__).parents[2] / "selftests/lib/tcp_transfer.py")
NL = Path(__file__).parents[2] / "selftests/nl"
# Of busybox are all programs but these
REAL = ("ip", "tc", "ss", "nft", "ethtool", "modprobe")
FUNCTIONS = "".join(f'{name}() {{ /usr/bin/env {name} "$@"; }}; ' for name in REAL)
# That of OpenWrt has no cksum, and its tr knows no classes such as [:upper:]
FUNCTIONS += "cksum() { return 127; }; tr() { return 127; }; "
SHELLS = {
    "dash": ["dash", COMMAND],
    "ash": ["busybox", "ash", "-c", f'{FUNCTIONS} . "$0"', COMMAND],
}
BOTH = ("--up", "20mbit", "--down", "95mbit")


pytestmark = pytest.mark.programs


class Box:
    def __init__(self, home: Path, shell: str) -> None:
        self.home, self.shell = home, SHELLS[shell]
        self.bin = home / "bin"
        self.etc, self.run = home / "etc", home / "run"
        self.bin.mkdir()

    def do(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), **self.how(environment))

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", "box", *self.shell, *words]

    def how(self, environment: dict[str, str]) -> dict[str, object]:
        known = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "SHORTFIRST_ETC": str(self.etc),
            "SHORTFIRST_RUN": str(self.run),
        }
        return {
            "env": os.environ | known | environment,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }

    def good(self, *words: str, **environment: str) -> str:
        done = self.do(*words, **environment)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def refused(self, *words: str) -> str:
        """What it says; everything stays as it was."""
        before = self.all()
        done = self.do(*words)
        assert done.returncode == 1
        assert self.all() == before
        return done.stdout

    def stand_in(self, program: str, script: str) -> None:
        """A program that does something else for some arguments, and itself with "$@" """
        where = shutil.which(program)
        path = self.bin / program
        path.write_text(f'#!/bin/sh\nreal={where}\n{script}\nexec $real "$@"\n')
        path.chmod(0o755)

    def all(self) -> list[str]:
        """What iproute2 tells of qdiscs, filters and interfaces, and the files"""
        told = [
            run(f"tc -n box {words}") for words in ("qdisc show", "filter show dev eth0 ingress")
        ]
        told[0] = re.sub(r"direct_packets_stat \d+", "", told[0])  # htb counts there
        link = run("ip -n box link")
        told.append(re.sub(r"[0-9a-f:]{17}|<.*>| state [A-Z]+", "", link))  # which come by and by
        files = sorted(path for top in (self.etc, self.run) for path in top.glob("*"))
        return told + [f"{path}: {path.read_text()}" for path in files]

    def root(self, device: str = "eth0") -> str:
        return run(f"tc -n box qdisc show dev {device} root").removeprefix("qdisc ").strip()

    def sent(self, device: str = "eth0") -> int:
        told = run(f"tc -n box -s qdisc show dev {device} root")
        return int(re.search(r"Sent (\d+) bytes", told)[1])


def plug_in() -> None:
    run("ip link add eth0 netns box numtxqueues 2 type veth peer name e1 netns net")
    for name, device, address in (("box", "eth0", "10.9.0.1"), ("net", "e1", "10.9.0.2")):
        run(f"ip -n {name} addr add {address}/24 dev {device}")
        run(f"ip -n {name} link set {device} up")


@pytest.fixture(params=SHELLS)
def box(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Box]:
    for name in ("box", "net"):
        run(f"ip netns add {name}")
        run(f"ip -n {name} link set lo up")
    plug_in()
    made = Box(tmp_path, request.param)
    yield made
    for name in ("box", "net"):
        run(f"ip netns del {name}")


def ping(size: int = 100) -> None:
    run(f"ip netns exec box busybox ping -q -c 1 -s {size} 10.9.0.2")


def test_start_and_stop(box: Box) -> None:
    before = box.all()[:3]
    box.good("start", "eth0", *BOTH, "--link", "docsis", "--nat")
    root, ifb = box.root(), box.root("ifb-eth0")
    assert root.startswith("las 1f1: ") and ifb.startswith("las 1f1: ")
    for words in ("rate 20Mbit overhead 18 mpu 64 noatm egress", "hosts src nat", "buffer 500ms"):
        assert f" {words} " in f"{root} ", words
    for words in ("rate 95Mbit overhead 18 mpu 64 noatm ingress", "hosts dst nat", "buffer 500ms"):
        assert f" {words} " in f"{ifb} ", words
    assert "target 5ms" in ifb
    ping()
    assert box.sent() > 100 and box.sent("ifb-eth0") > 100
    assert "NOT" not in box.good("status", "eth0")
    box.good("stop", "eth0")
    assert box.all()[:3] == before
    assert not list(box.run.iterdir())
    ping()
    # It knows what to start, but does not by itself
    box.good("apply", "eth0")
    assert box.all()[:3] == before
    box.good("start", "eth0")
    assert (box.root(), box.root("ifb-eth0")) == (root, ifb)
    box.good("apply", "eth0")


def test_again(box: Box) -> None:
    """What waits and what was counted stays with the same words, or another rate."""
    box.good("start", "eth0", *BOTH)
    ping()
    before = box.all()
    box.good("start", "eth0", *BOTH)
    box.good("apply", "eth0")
    assert box.all() == before and box.sent() > 100
    box.good("start", "eth0", "--up", "5mbit", "--down", "95mbit")
    assert "rate 5Mbit" in box.root() and box.sent() > 100
    # Another option is not what was typed before and this, but this
    box.good("start", "eth0", "--up", "5mbit", "--down", "95mbit", "--up-options", "buffer 1s")
    assert "buffer 1s" in box.root() and box.sent() < 100
    box.good("start", "eth0", *BOTH)
    assert "buffer 500ms" in box.root() and box.sent("ifb-eth0") > 100
    box.good("start", "eth0", "--up", "5mbit", "--kind", "sift")
    assert box.root().startswith("sift ")
    assert not do("ip -n box link show ifb-eth0").succeeded
    assert box.all()[1] == "" and "clsact" not in box.all()[0]
    box.good("start", "eth0", "--down", "5mbit")
    assert box.root().startswith("noqueue ") and "rate 5Mbit" in box.root("ifb-eth0")


@pytest.mark.parametrize(
    "old",
    [
        "fq_codel limit 500 target 7ms noecn",
        "pfifo limit 77",
        "cake bandwidth 7mbit docsis",
        "cake",
        "fq",
        "mq",
    ],
)
def test_put_back(box: Box, old: str) -> None:
    kind = old.split()[0]
    if kind in ("cake", "fq_codel"):  # which show a flow that has packets as a class
        shows = f'case "$*" in "class show dev eth0") echo "class {kind} 77:1 parent 77:" ;; esac'
        box.stand_in("tc", shows)
    run(f"tc -n box qdisc add dev eth0 root handle 77: {old}")
    before = box.root()
    box.good("start", "eth0", *BOTH)
    assert box.root().startswith("las ")
    if kind in ("fq_codel", "mq"):  # the rest is the same whatever was there
        box.good("start", "eth0", *BOTH, "--nat")
    box.good("stop", "eth0")
    assert box.root() == before


@pytest.mark.parametrize("old", ["fq_codel limit 500", "las limit 500", ""])
def test_tc_without_plugins(box: Box, old: str) -> None:
    """As OpenWrt's tc-tiny: what it does not know shortfirst-nl does."""
    if old:
        run(f"tc -n box qdisc add dev eth0 root handle 77: {old}")
    before = box.root()
    tiny = {"PATH": f"{NL}:{os.environ['PATH']}", "TC_LIB_DIR": "/none"}
    box.good("start", "eth0", *BOTH, "--link", "docsis", **tiny)
    assert " rate 20Mbit overhead 18 mpu 64 " in box.root() and "rate 95Mbit" in box.root(
        "ifb-eth0"
    )
    if not old:  # what was there before makes no difference to these
        told = box.good("status", "eth0", **tiny)
        assert "no queue" in told and "NOT" not in told
        assert "PROBLEM" not in box.good("check", "eth0", **tiny)
    box.good("start", "eth0", "--up", "3mbit", **tiny)
    assert "rate 3Mbit" in box.root()
    box.good("stop", "eth0", **tiny)
    assert box.root() == before


def test_not_to_be_put_back(box: Box) -> None:
    run("tc -n box qdisc add dev eth0 root handle 77: htb")
    run("tc -n box class add dev eth0 parent 77: classid 77:1 htb rate 1mbit")
    assert "has a qdisc already (htb 77:)" in box.refused("start", "eth0", *BOTH)
    box.good("start", "eth0", "--down", "95mbit")  # which does not touch it
    assert box.root().startswith("htb ")
    box.good("start", "eth0", *BOTH, "--force")
    box.good("stop", "eth0")
    assert box.root().startswith("noqueue ")


def test_others_on_ingress(box: Box) -> None:
    """Filters of others remain, and so does the hook that was there or that they use."""
    run("tc -n box qdisc add dev eth0 ingress")
    box.good("start", "eth0", *BOTH)
    ping()
    assert box.sent("ifb-eth0") > 100
    box.good("stop", "eth0")
    assert "qdisc ingress " in box.all()[0] and box.all()[1] == ""
    run("tc -n box qdisc del dev eth0 ingress")
    box.good("start", "eth0", *BOTH)
    run("tc -n box filter add dev eth0 egress pref 5 matchall action pass")
    box.good("stop", "eth0")
    assert "qdisc clsact " in box.all()[0]


REFUSED = {
    "start eth0": "no .*eth0.conf: start with --up",
    "start": "which interface",
    "start eth9 --up 5mbit": "there is no interface eth9",
    "start ../x --up 5mbit": "not the name of an interface",
    "start eth0 --up": "--up needs a value",
    "start eth0 --up 5mbut": 'up: "5mbut" is not a rate|rate: "5mbut" is not',
    "start eth0 --up 40": 'up: "40" is not a rate',
    "start eth0 --up 2e3": 'up: "2e3" is not a rate',
    "start eth0 --up 0": "kernel: |rate",
    "start eth0 --down -5mbit": 'down: "-5mbit" is not a rate',
    "start eth0 --upp 5mbit": 'there is no option "upp"',
    "start eth0 --off": 'there is no option "--off"',
    "start eth0 5mbit": 'what is "5mbit"',
    "start eth0 --hosts home --up 5mbit": 'hosts: "home" is not none, wan, lan or both',
    "start eth0 --nat=1": "nat takes no value",
    "start eth0 --nat": "neither up nor down has a rate",
    "start eth0 --up 5mbit --link dokis": 'las rate 5mbit dokis: What is "dokis"',
    "start eth0 --up 5mbit --down 5mbit --down-options limit": "limit: needs a whole number",
    "start eth0 --up 5mbit --up-options limit=x": 'What is "limit=x"',
    "start eth0 --up 5mbit --kind nix": "tc does not know nix",
    "start eth0 --up 5mbit --kind las;ls": "kind: .* is none",
    "start eth0 --up 5mbit --kind sift --nat": 'What is "hosts"',
    "status eth0 eth1": "status takes no options",
    "stop eth0": "eth0 was never started",
    "apply eth0": "no .*eth0.conf",
    "check eth0 --kind": "--kind needs a value",
    "begin eth0": "Usage: ",
    "": "Usage: ",
}


def test_refused(box: Box) -> None:
    for words, why in REFUSED.items():
        said = box.refused(*words.split())
        assert re.search(why, said), f"{words}: {said}"
    # What would be another line of the settings
    assert "more than a line" in box.refused("start", "eth0", "--up", "5mbit", "--link", "atm\nnat")


def test_bad_change(box: Box) -> None:
    """A wrong word leaves all that runs as it is, and the settings."""
    box.good("start", "eth0", *BOTH, "--nat")
    for words in ("--up 5mbit --link dokis", "--up 5mbit --down 9mbit --down-options limit"):
        box.refused("start", "eth0", *words.split())
    (box.etc / "eth0.conf").write_text("up 5mbit\nlimit 7\n")
    assert 'there is no option "limit"' in box.refused("apply", "eth0")
    (box.etc / "eth0.conf").write_text("# mine\n\nup 5mbit\n   link   docsis  mpu 70 \nnat")
    box.good("apply", "eth0")
    assert " overhead 18 mpu 70 " in box.root() and "hosts src nat" in box.root()
    assert not do("ip -n box link show ifb-eth0").succeeded


def test_settings_by_hand(box: Box) -> None:
    """They stay as they were written, and stop takes down what runs whatever is in them."""
    written = "# of my provider\nup 5mbit\n\ndown 9mbit"
    box.etc.mkdir()
    (box.etc / "eth0.conf").write_text(written)
    box.good("start", "eth0")
    box.good("stop", "eth0")
    box.good("stop", "eth0")
    assert (box.etc / "eth0.conf").read_text().split() == [*written.split(), "off"]
    box.good("start", "eth0")
    assert (box.etc / "eth0.conf").read_text().strip() == written
    (box.etc / "eth0.conf").write_text("up 6mbit # not 7\r\nlink docsis\r\noff \r\n")
    box.good("start", "eth0")
    assert "rate 6Mbit overhead 18" in box.root()
    box.good("apply", "eth0")
    (box.etc / "eth0.conf").write_text(written)
    for verb in ("clear", "stop"):
        box.good("apply", "eth0")
        (box.etc / "eth0.conf").write_text("up 5mbit\nlimit 7\n")
        box.good(verb, "eth0")
        assert box.root().startswith("noqueue ") and "ifb" not in run("ip -n box link")
        (box.etc / "eth0.conf").write_text(written)


def test_comes_back(box: Box) -> None:
    """An interface that goes and comes back is set up again, and what it had is forgotten."""
    run("tc -n box qdisc add dev eth0 root handle 77: fq_codel")
    box.good("start", "eth0", *BOTH)
    run("ip -n box link del eth0")
    box.good("clear", "eth0")
    assert not do("ip -n box link show ifb-eth0").succeeded
    run("ip link add eth0 netns box type veth peer name e1 netns net")
    run("ip -n box link set eth0 up")
    box.good("apply", "eth0")
    assert box.root().startswith("las ") and "clsact" in box.all()[0]
    # And without anybody seeing it go
    run("ip -n box link del eth0")
    run("ip link add eth0 netns box type veth peer name e1 netns net")
    run("ip -n box link set eth0 up")
    box.good("apply", "eth0")
    assert box.root().startswith("las ") and "ifb-eth0" in box.all()[1]
    box.good("stop", "eth0")
    assert box.root().startswith("noqueue ") and "clsact" not in box.all()[0]


def test_names(box: Box) -> None:
    """Of 15 characters, and with what a shell or a pattern would take for its own"""
    for name in ("a23456789012345", "eth0.100", "br-lan", "w*[a]?$x;"):
        run("ip -n box link set eth0 down")
        run(f"ip -n box link set eth0 name {name}")
        box.good("start", name, *BOTH)
        told = box.good("status", name)
        assert told.startswith(f"{name}: las")
        box.good("stop", name)
        assert "ifb" not in run("ip -n box link")
        run(f"ip -n box link set {name} name eth0")


def test_two_at_once(box: Box) -> None:
    box.good("start", "eth0", *BOTH)
    run("tc -n box qdisc del dev eth0 root")
    run("ip -n box link del ifb-eth0")
    many = [subprocess.Popen(box.command("apply", "eth0"), **box.how({})) for _ in range(3)]
    for each in many:
        said, _ = each.communicate()
        assert each.returncode == 0, said
    box.good("status", "eth0")
    box.good("stop", "eth0")
    assert box.root().startswith("noqueue ")


def test_stop_while_a_hook_runs(box: Box) -> None:
    """What came before it took effect is not set up again after it."""
    box.good("start", "eth0", *BOTH)
    box.stand_in("tc", 'case "$*" in *"qdisc del dev eth0"*) sleep 3 ;; esac')
    stop = subprocess.Popen(box.command("stop", "eth0"), **box.how({}))
    time.sleep(1)
    box.good("apply", "eth0")
    said, _ = stop.communicate()
    assert stop.returncode == 0, said
    assert box.root().startswith("noqueue ")


def test_interrupted(box: Box) -> None:
    """Nothing is left of what it tried; one that was killed is in nobody's way."""
    before = box.all()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        box.stand_in("tc", 'case "$*" in *matchall*) sleep 60 ;; esac')
        process = subprocess.Popen(
            box.command("start", "eth0", *BOTH), **box.how({}), start_new_session=True
        )
        while "sf-try" not in run("ip -n box link"):
            assert process.poll() is None
            time.sleep(0.1)
        os.killpg(process.pid, number)
        assert process.wait() != 0
        (box.bin / "tc").unlink()
        if number != signal.SIGKILL:
            assert box.all() == before and not list(box.run.glob(".*"))
    box.good("start", "eth0", *BOTH)
    box.good("stop", "eth0")
    assert "sf-try" not in run("ip -n box link")


# Before each command that changes something, which these are, counts; after so many all is over, or
# when half of a file is written
CHANGES = {
    "ip": "*add*|*set*|*del*",
    "tc": "*add*|*replace*|*change*|*del*",
    "modprobe": "*",
    "mkdir": "*",
    "mv": "*",
    "cat": "",
}
COUNT = """case "$*" in
PATTERN)
	read -r n <COUNTER
	echo $((n - 1)) >COUNTER
	[ "$n" -ne 1 ] || { HALF kill -9 0; } ;;
esac"""
HALVES = {"cat": "$real | head -c 20;"}


def dies(box: Box, after: int, *words: str) -> bool:
    """Do something, and kill it, with all that it has begun, before so many changes."""
    counter = box.home / "counter"
    counter.write_text(f"{after}\n")
    for program, pattern in CHANGES.items():
        half = HALVES.get(program, "")
        script = COUNT.replace("PATTERN", pattern or '""').replace("HALF", half)
        box.stand_in(program, script.replace("COUNTER", str(counter)))
    process = subprocess.Popen(box.command(*words), **box.how({}), start_new_session=True)
    said, _ = process.communicate()
    for program in CHANGES:
        (box.bin / program).unlink()
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0


def boots(box: Box) -> None:
    """What is in memory only is gone."""
    for name in ("eth0", "ifb-eth0", "sf-try"):
        do(f"ip -n box link del {name}")
    shutil.rmtree(box.run, ignore_errors=True)
    plug_in()


@pytest.mark.one_kernel
@pytest.mark.parametrize("box", ["dash"], indirect=True)  # busybox is most programs itself
@pytest.mark.parametrize("power", [True, False])
def test_killed_anywhere(box: Box, power: bool) -> None:
    """Or the power is cut: the settings are the old ones or the new ones, and what is done again is
    done as if it had not been tried. Some of the places are enough at a time."""
    old, words = ("--up", "7mbit"), (*BOTH, "--nat", "--link", "docsis")
    conf = box.etc / "eth0.conf"
    settings, roots = [], []
    for each in (old, words):
        box.good("start", "eth0", *each)
        settings.append(conf.read_text())
        roots.append(box.root().split()[2:])
        box.good("stop", "eth0")
    left = []  # what is there when it is killed
    for first in (True, False):  # the settings are new, or others than before
        number, died = first + 2 * power, True
        while died:
            number += 5
            shutil.rmtree(box.etc)
            run("tc -n box qdisc replace dev eth0 root handle 77: fq_codel limit 500")
            before = box.all()[:3]
            if not first:
                box.good("start", "eth0", *old)
            died = dies(box, number, "start", "eth0", *words)
            left.append(conf.read_text() if conf.exists() else "")
            assert left[-1] in (["", settings[1]] if first else settings)
            if power:
                boots(box)
                if left[-1]:
                    box.good("apply", "eth0")
                    assert box.root().split()[2:] == roots[settings.index(left[-1])]
            again = number // 5 % 2
            box.good("start", "eth0", *(words if again else old))
            assert conf.read_text() == settings[again] and list(box.etc.iterdir()) == [conf]
            assert box.root().split()[2:] == roots[again]
            if power:
                boots(box)
            else:
                box.good("stop", "eth0")
                assert box.all()[:3] == before, f"killed before change {number}"
        assert number > 12
    assert set(left) == {"", *settings}


@pytest.mark.parametrize("box", ["dash"], indirect=True)
def test_settings_are_on_the_disk(box: Box) -> None:
    """Before they have their name: after a power cut there would be an empty file else."""
    for program in ("sync", "mv"):
        box.stand_in(program, f'echo {program} "$1" >>{box.home}/done')
    for rate in ("5mbit", "6mbit"):
        box.good("start", "eth0", "--up", rate)
    box.good("stop", "eth0")
    done = (box.home / "done").read_text().splitlines()
    new = box.etc / "eth0.conf.new"
    assert [line for line in done if str(new) in line] == [f"sync {new}", f"mv {new}"] * 3


def test_anybody(box: Box) -> None:
    """status is for everybody, who may have no sbin in PATH; of the rest they are told."""
    box.good("start", "eth0", *BOTH)
    for folder in (box.home, *box.home.parents):
        folder.chmod(folder.stat().st_mode | 0o11)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    box.shell = [*nobody, "env", "PATH=/usr/bin:/bin", *box.shell]
    assert "no queue, the link has room" in box.good("status", "eth0")
    for verb in ("start", "stop", "apply", "clear"):
        assert "only root may change" in box.refused(verb, "eth0")
    assert "PROBLEM root: only root" in box.do("check", "eth0").stdout


class Situation:
    """What is done, with and after a start, what status says and its exit status, and what check
    says is a problem; None: it is not asked, "" there is none."""

    def __init__(
        self,
        status: str | None,
        code: int,
        check: str | None,
        *after: str,
        stand_in: tuple[str, str] = ("", ""),
        start: str = "--up 20mbit --down 95mbit",
        **environment: str,
    ) -> None:
        self.status, self.code, self.check, self.after = status, code, check, after
        self.stand_in, self.start, self.environment = stand_in, start, environment


FAILS = 'case "$*" in *{}*) echo "Error: Specified qdisc kind is unknown." >&2; exit 2 ;; esac'
REPLACED = "somebody has replaced the qdisc of"
SITUATIONS = {
    "all is well": Situation("no queue, the link has room", 0, ""),
    "a connection that waits elsewhere, on an idle link": Situation(
        "up: no queue",
        0,
        "",
        stand_in=("ss", "echo cubic rtt:300.5/20 minrtt:10.2 lastsnd:100 lastrcv:90; exit"),
    ),
    "not started": Situation(None, 3, "", start=""),
    "stopped": Situation("stopped: shortfirst start eth0", 3, "", "shortfirst stop eth0"),
    "no ifb": Situation(
        None, 3, "ifb: the kernel has no ifb", stand_in=("ip", FAILS.format("ifb")), start=""
    ),
    "no module": Situation(
        None,
        3,
        "module sch_las: the kernel has no module sch_las .*kind is unknown.*shortfirst-dkms",
        stand_in=("tc", FAILS.format("1f3:")),
        start="",
    ),
    "no plugin": Situation(
        "Mbit/s", 0, "plugin: tc does not know las: install shortfirst-tools", TC_LIB_DIR="/none"
    ),
    "no redirecting": Situation(
        None,
        3,
        "redirecting what comes in: the kernel cannot redirect",
        stand_in=("tc", FAILS.format("matchall")),
        start="",
    ),
    "interface gone": Situation(
        "the interface is not there", 3, "no interface eth0", "ip -n box link del eth0"
    ),
    "another qdisc before": Situation(
        None,
        3,
        r"qdisc of eth0: eth0 has a qdisc already \(prio 9:\) .*--force",
        "tc -n box qdisc add dev eth0 root handle 9: prio",
        "tc -n box qdisc add dev eth0 parent 9:1 handle 8: pfifo",
        start="",
    ),
    "another qdisc since": Situation(
        f"NOT as told: {REPLACED} eth0 by fq_codel",
        1,
        f"set as told: {REPLACED} eth0 by fq_codel",
        "tc -n box qdisc replace dev eth0 root handle 9: fq_codel",
    ),
    "another rate since": Situation(
        "set the rate of eth0 to 5Mbit, not 20mbit",
        1,
        "set as told: .* to 5Mbit, not 20mbit",
        "tc -n box qdisc change dev eth0 root las rate 5mbit",
    ),
    "another qdisc on ifb": Situation(
        f"{REPLACED} ifb-eth0",
        1,
        f"set as told: {REPLACED} ifb-eth0",
        "tc -n box qdisc del dev ifb-eth0 root",
    ),
    "no ifb any more": Situation(
        "ifb-eth0 is missing", 1, "ifb-eth0 is missing", "ip -n box link del ifb-eth0"
    ),
    "ifb down": Situation(
        "ifb-eth0 is down", 1, "ifb-eth0 is down", "ip -n box link set ifb-eth0 down"
    ),
    "filter gone": Situation(
        "not sent to ifb-eth0 any more", 1, "any more", "tc -n box filter del dev eth0 ingress"
    ),
    "another filter": Situation(
        "Mbit/s",
        0,
        "ingress of eth0: another filter sends what comes in to lo",
        "tc -n box filter add dev eth0 ingress pref 7 matchall"
        " action mirred egress redirect dev lo",
    ),
    "faster than the interface": Situation(
        "Mbit/s", 0, "rate: 20gbit is more than the 10000 Mbit/s of eth0", start="--up 20gbit"
    ),
    "large receive offload": Situation(
        "Mbit/s",
        0,
        "offloads of eth0: large-receive-offload .* ethtool -K eth0 lro off",
        stand_in=("ethtool", "echo 'large-receive-offload: on'; exit"),
    ),
    "offloaded to hardware": Situation(
        "Mbit/s",
        0,
        "hw-tc-offload can forward past the qdisc",
        stand_in=("ethtool", "echo 'hw-tc-offload: on'; exit"),
    ),
    "nftables forwards in hardware": Situation(
        "Mbit/s",
        0,
        "flowtables of eth0: nftables forwards some flows in hardware",
        stand_in=("nft", "echo '  flags offload'; exit"),
    ),
}
# One for each exit status of `status` is enough for `status` without an interface
SHOWN_WITH_ALL = ("all is well", "stopped", "another qdisc since")


@pytest.mark.parametrize("name", SITUATIONS)
def test_situations(box: Box, name: str) -> None:
    situation = SITUATIONS[name]
    program, script = situation.stand_in
    if situation.start:
        box.good("start", "eth0", *situation.start.split())
    if program:
        box.stand_in(program, script)
    for command in situation.after:
        if command.startswith("shortfirst "):
            box.good(*command.split()[1:])
        else:
            run(command)
    if situation.start:
        status = box.do("status", "eth0", **situation.environment)
        assert (situation.code, True) == (status.returncode, situation.status in status.stdout)
        if name in SHOWN_WITH_ALL:
            assert box.do("status").returncode == situation.code
    else:
        status = box.do("status", **situation.environment)
        assert (status.returncode, "nothing is set" in status.stdout) == (3, True)
    check = box.do("check", "eth0", **situation.environment)
    problems = re.findall(r"^PROBLEM (.*)", check.stdout, re.MULTILINE)
    if situation.check:
        assert check.returncode == 1 and len(problems) == 1, check.stdout
        assert re.search(situation.check, problems[0]), check.stdout
    else:
        assert check.returncode == 0 and not problems, check.stdout
    assert "sf-try" not in run("ip -n box link")


def test_without_ethtool(box: Box) -> None:
    box.good("start", "eth0", *BOTH)
    box.shell = SHELLS["dash"]  # in the other one all that is REAL is a function
    ethtool = Path("/usr/sbin/ethtool")
    hidden = ethtool.rename(ethtool.with_suffix(".hidden"))
    try:
        told = box.good("check", "eth0")
    finally:
        hidden.rename(ethtool)
    assert "unknown offloads of eth0: there is no ethtool to ask" in told
    assert "ok      rate" in told


@pytest.mark.parametrize(
    ("devices", "named"),
    [("e2, eth0", True), ('"eth0", "e2"', True), ("eth0.7, e2", False)],
    ids=["with it", "quoted", "without it"],
)
def test_flow_offload_in_software_is_no_problem(box: Box, devices: str, named: bool) -> None:
    lines = f"\tflowtable ft {{\n\t\tdevices = {{ {devices} }}\n\t}}"
    box.stand_in("nft", f"echo '{lines}'; exit")
    told = box.good("check", "eth0")
    assert (
        "ok      flowtables of eth0: nftables offloads flows of eth0 in software" in told
    ) == named
    assert ("ok      flowtables of eth0\n" in told) != named


@pytest.mark.clock
def test_passing_by(box: Box) -> None:
    """Who ends the classification of what comes in before our filter takes it past the ifb."""
    box.good("start", "eth0", *BOTH)
    run("tc -n box filter add dev eth0 ingress pref 5 protocol ip matchall action pass")
    flood = ["ip", "netns", "exec", "net", TRANSFER, "flood", "10.9.0.1", "9", "1"]
    flooding = subprocess.Popen(flood)
    try:
        time.sleep(1)
        assert "down: most of what comes in passes by" in box.good("status", "eth0")
        run("tc -n box filter del dev eth0 ingress pref 5")
        assert "passes by" not in box.good("status", "eth0")
    finally:
        flooding.kill()
        flooding.wait()


# By ash test_situations and test_passing_by do the same sums
@pytest.mark.parametrize(
    "box", ["dash", pytest.param("ash", marks=pytest.mark.long)], indirect=True
)
@pytest.mark.clock
def test_where_the_queue_is(box: Box) -> None:
    """Here while TCP fills it. With a slower link behind it that is in the way it is not here, and
    what is told to be set instead brings it back."""
    serve = subprocess.Popen(["ip", "netns", "exec", "net", TRANSFER, "serve", "5001"])
    sending: list[subprocess.Popen[bytes]] = []

    def percent(told: str) -> int:
        return int(re.search(r"up .* (\d+) % ", told)[1])

    def load() -> None:
        command = ["ip", "netns", "exec", "box", TRANSFER, "repeat", "10.9.0.2", "5001"]
        sending.append(subprocess.Popen([*command, "30000000", "4"]))
        time.sleep(2)

    try:
        box.good("start", "eth0", *BOTH)
        load()
        assert 85 <= percent(told := box.good("status", "eth0")) <= 101
        assert "up: the queue is here" in told and "down: no queue" in told
        # The cells of ATM are on the link, too
        box.good("start", "eth0", *BOTH, "--link", "pppoe-vcmux")
        time.sleep(2)
        assert 95 <= percent(told := box.good("status", "eth0")) <= 101
        assert "up: the queue is here" in told and "down: no queue" in told
        # What comes out of eth0 goes through a slower link with a long queue. As on another machine
        # it is not of the sender's socket any more there, which netem sees to: what is in tbf's
        # queue is to TCP as if not yet sent, and it may stay at two segments of a flow for ever.
        box.good("start", "eth0", *BOTH)
        run("tc -n net qdisc add dev e1 clsact")
        run("ip -n net link add slow type ifb")
        run("ip -n net link set slow up")
        run("tc -n net filter add dev e1 ingress matchall action mirred egress redirect dev slow")
        for link in (18, 10):
            run(f"tc -n net qdisc replace dev slow root netem rate {link}mbit limit 266")
            time.sleep(5)
            rates: list[int] = []
            for _ in range(12):
                told = box.good("status", "eth0")
                assert "down: no queue" in told, told
                # A connection that begins, or wins back what it lost, fills both queues;
                # one that waits for a timeout leaves the link with room
                if found := re.search(r"up: the queue is NOT here: .* say --up (\d+)kbit", told):
                    rates.append(int(found[1]))
                if len(rates) == 3:
                    break
            assert len(rates) == 3, told
            assert link * 850 <= max(rates) <= link * 990
        box.stand_in("ss", "sleep 2")  # which measures nothing
        assert percent(box.good("status", "eth0")) < 60
        box.good("start", "eth0", "--up", f"{max(rates)}kbit")
        time.sleep(8)
        assert "up: the queue is here" in box.good("status", "eth0")
    finally:
        for each in (*sending, serve):
            each.kill()
            each.wait()
