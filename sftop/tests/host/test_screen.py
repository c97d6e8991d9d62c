# SPDX-License-Identifier: GPL-2.0
"""The screen, in tmux: keys are sent and what is on it is read."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sftop.tests.host import messages as m
from sftop.tests.host.programs import ENVIRONMENT

SIZES = pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=["80x24", "200x50"])
HANG = 120  # seconds until a wait for something that never happens ends
LINKS = {1: "lo", 2: "eth0", 3: "ifb-eth0"}


class Screen:
    """sftop in a terminal; sanitizers' reports, and its exit status, go to a file."""

    def __init__(self, program: Path, where: Path) -> None:
        self.program, self.where, self.log = program, where, where / "log"
        self.tmux = ["tmux", "-L", f"sftop-{where.name}", "-f", "/dev/null"]

    def do(self, *words: str) -> str:
        done = subprocess.run(
            [*self.tmux, *words], capture_output=True, text=True, env=ENVIRONMENT, check=True
        )
        return done.stdout

    def start(self, *words: str, size: tuple[int, int] = (80, 24), **environment: str) -> None:
        given = ENVIRONMENT | {"SFTOP_REPLAY": str(self.where)} | environment
        given["SFTOP_NAMES"] = str(self.where)
        settings = " ".join(f"{name}={value}" for name, value in given.items())
        command = f"env {settings} {self.program} {' '.join(words or ('-d', '0.1'))}"
        width, height = map(str, size)
        self.do(
            *("new", "-d", "-s", "s", "-x", width, "-y", height),
            f"{command} 2>{self.log}; echo status $? >>{self.log}; sleep 60",
        )

    def keys(self, *keys: str) -> None:
        self.do("send-keys", "-t", "s", *keys)

    def lines(self, *options: str) -> list[str]:
        return self.do("capture-pane", "-p", "-t", "s", *options).splitlines()

    def until(self, good: Callable[[list[str]], object]) -> list[str]:
        """Wait until the screen is as it should be; what is on it then. It may be read when half
        of it is drawn: what is asked for must be in @good."""
        end = time.monotonic() + HANG
        while True:
            lines = self.lines()
            with suppress(IndexError, StopIteration):
                if good(lines):
                    return lines
            assert time.monotonic() < end, "\n".join(lines)
            time.sleep(0.05)

    def has(self, text: str) -> list[str]:
        return self.until(lambda lines: any(text in line for line in lines))

    def lacks(self, text: str) -> list[str]:
        return self.until(lambda lines: not any(text in line for line in lines))

    def ended(self) -> str:
        """What it said, the status included"""
        end = time.monotonic() + HANG
        while "status" not in (said := self.log.read_text() if self.log.exists() else ""):
            assert time.monotonic() < end, self.lines()
            time.sleep(0.05)
        return said

    def quit(self) -> None:
        self.keys("q")
        assert self.ended() == "status 0\n"


@pytest.fixture
def screen(sftop: Path, tmp_path: Path) -> Iterator[Screen]:
    made = Screen(sftop, tmp_path)
    yield made
    subprocess.run([*made.tmux, "kill-server"], capture_output=True)


def looks(where: Path, n: int = 300) -> None:
    """40 short flows, of which each fourth waits, 3 long ones, and 8 hosts; and another qdisc"""
    for number in range(1, n + 1):
        flows = [
            m.flow(r, sort=m.SHORT if r % 8 else m.NEW, bytes=number * r * 100, packets=number)
            | ({"silent": r} if r % 4 else {"qlen": 1, "backlog": 1000 + r, "waited": 100 * r})
            for r in range(1, 41)
        ]
        for r in range(100, 103):
            long = m.flow(r, sort=m.LONG, bytes=10**6 * number * (r - 99), packets=700 * number)
            long |= {"qlen": 20, "backlog": 30000, "drops": (103 - r) * number, "attained": 1 << 40}
            flows.append(long | {"waited": 5000 + 1000 * (number % 9)})
        hosts = [m.host(h, bytes=h * 1000 * number, flows=h, over=h % 2) for h in range(2, 10)]
        qdisc = m.Qdisc(2, bytes=10**6 * number, packets=800 * number, classes=flows + hosts)
        qdisc.queue = (70, 100_000, 3 * number, 0, 0)
        other = m.Qdisc(3, "sqf", 2, classes=[m.flow(7, dst="203.0.113.9")])
        m.look(where, number, [qdisc, other], LINKS)


def panes(lines: list[str]) -> tuple[list[str], list[str]]:
    """The rows of the flows that are not long, and of those that are"""
    header = next(i for i, line in enumerate(lines) if " DESTINATION " in line)
    border = next(i for i, line in enumerate(lines) if " long: " in line)
    first, long = lines[header + 1 : border], lines[border + 1 : -1]
    return [line for line in first if line], [line for line in long if line]


def column(lines: list[str], rows: list[str], name: str) -> list[str]:
    """What rows have under a right-aligned name"""
    header = next(line for line in lines if " DESTINATION " in line)
    end = header.index(f" {name}") + 1 + len(name)
    return [row[:end].split(" ")[-1] for row in rows]


@SIZES
def test_flows(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start("-d", "0.1", "eth0", size=size)
    screen.has("24M")
    lines = screen.until(lambda lines: column(lines, panes(lines)[1][-1:], "BIT/S") == ["8.0M"])
    assert len(lines) == size[1] and max(map(len, lines)) <= size[0]
    assert lines[0].startswith("sftop  eth0  las 1: root")
    assert lines[0].endswith("[Flows] Hosts")
    assert "800 packets/s" in lines[1] and "dropped 3/s" in lines[1] and "100kB in 70" in lines[1]
    assert "5 (5) new" in lines[2] and "35 (5) short" in lines[2] and "3 (3) long" in lines[2]
    assert "hosts (over): 8 (4)" in lines[2]
    first, long = panes(lines)
    assert len(long) == 3 and [row.split()[0] for row in long] == ["L"] * 3
    assert long[0].split()[2] == "10.0.0.102:10102" and long[0].split()[3] == "192.0.2.1:443"
    assert column(lines, long, "BIT/S") == ["24M", "16M", "8.0M"]
    assert first[0].split()[2] == "10.0.0.40:10040" and first[0][0] == "N"
    assert column(lines, first[:3], "BIT/S") == ["32k", "31k", "30k"]
    assert not any(" DEV" in line or line.startswith("DEV") for line in lines)
    # What is left is the other pane's
    assert len(first) == (13 if size[1] == 24 else 33)
    wide = " ATTAINED " in next(line for line in lines if " DESTINATION " in line)
    assert wide == (size[0] == 200)
    screen.quit()


@SIZES
def test_sort(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start(size=size)
    screen.has("24M")
    for key, first in (
        ("D", ":10100 "),
        ("W", ":10100 "),
        ("R", ":10102 "),
        ("<", ":10100 "),  # by bytes attained, of which all have as many
        ("<", ":10102 "),  # by bytes
        ("I", ":10100 "),
        ("I", ":10102 "),
    ):
        screen.keys(key)
        screen.until(lambda lines, first=first: first in panes(lines)[1][0])
    screen.keys("W")
    waited = ["4.0ms", "3.6ms"]
    screen.until(lambda lines: column(lines, panes(lines)[0][:2], "WAITED") == waited)
    screen.keys("s")
    sorts = ["rate", "waiting", "waited", "drops", "bytes", "attained"]
    screen.until(lambda lines: [line.split()[0] for line in lines if "|" in line[:12]][1:] == sorts)
    screen.keys("Down", "Down", "Enter")  # from waiting to drops
    screen.lacks(" Sort by")
    screen.until(lambda lines: ":10100 " in panes(lines)[1][0])
    screen.quit()


@SIZES
def test_moves(screen: Screen, size: tuple[int, int]) -> None:
    """Through both panes, by lines and pages"""

    def selected(text: str) -> None:
        screen.until(lambda _: any("\x1b[7m" in x and text in x for x in screen.lines("-e")))

    looks(screen.where)
    screen.start("-d", "0.1", "eth0", size=size)
    lines = screen.has("24M")
    assert ":10040 " in panes(lines)[0][0]
    screen.keys("NPage", "NPage")
    if len(panes(lines)[0]) == 13:  # 26 lines on, which is now the last of them
        screen.until(lambda lines: ":10026 " in panes(lines)[0][0])
    selected(":10014 " if len(panes(lines)[0]) == 13 else ":10100 ")
    screen.keys("End")
    screen.until(lambda lines: len(panes(lines)[1]) == 3)
    selected(":10100 ")
    screen.keys("Up")
    selected(":10101 ")
    screen.keys("Home")
    screen.until(lambda lines: ":10040 " in panes(lines)[0][0])
    screen.keys("Down")
    selected(":10039 ")
    screen.keys("Down", "Down")
    selected(":10037 ")
    screen.keys("PPage", "Up", "Up", "Down")
    selected(":10039 ")
    screen.quit()


@SIZES
def test_hosts(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start(size=size)
    screen.has("24M")
    expected = [f"10.0.0.{h}" for h in range(9, 1, -1)]
    for there, back in (("Tab", "F"), ("F", "Tab")):
        screen.keys(there)
        screen.until(lambda lines: " Flows [Hosts]" in lines[0])
        lines = screen.until(lambda lines: [x.split()[1] for x in lines if "10.0" in x] == expected)
        rows = [line.split() for line in lines if "10.0.0." in line]
        assert column(lines, [line for line in lines if "10.0.0.9 " in line], "BIT/S") == ["72k"]
        assert rows[0][2] == "over" and rows[1][2] != "over"
        screen.keys(back)
        screen.has("[Flows] Hosts")
    screen.quit()


@SIZES
def test_filter(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start(size=size)
    screen.has("24M")
    screen.keys("/", "1", "0", "0", "3")
    screen.until(lambda lines: "Filter: 1003_" in lines[-1])
    screen.until(lambda lines: len(panes(lines)[0]) == 10 and not panes(lines)[1])
    screen.keys("BSpace", "1", "q", "BSpace", "Enter")  # what is typed is no command
    screen.until(lambda lines: "/ Filter: 1001" in lines[-1])
    screen.until(lambda lines: all(":1001" in row for row in panes(lines)[0]))
    screen.keys("Escape")
    screen.until(lambda lines: len(panes(lines)[0]) > 10)
    screen.keys("/", "T", "C", "P", "Enter")  # as it is written does not matter
    screen.until(lambda lines: "Filter: TCP" in lines[-1] and len(panes(lines)[0]) > 10)
    screen.keys("/", "Escape")
    screen.until(lambda lines: "Filter:" not in lines[-1])
    screen.quit()


def test_interfaces(screen: Screen) -> None:
    looks(screen.where)
    screen.start()
    screen.has("all interfaces  2 qdiscs")
    screen.keys("i")
    screen.until(lambda lines: lines[0].startswith("sftop  eth0  las 1: root"))
    screen.keys("i")
    screen.until(lambda lines: lines[0].startswith("sftop  ifb-eth0  sqf 2: root"))
    screen.until(lambda lines: ["203.0.113.9:443" in row for row in panes(lines)[0]] == [True])
    screen.keys("i")
    screen.has("all interfaces  2 qdiscs")
    screen.quit()


def test_names(screen: Screen) -> None:
    """Nobody is asked until r is typed; the screen goes on; nothing of them but names is shown."""
    looks(screen.where)
    screen.start("-d", "0.1", "eth0")
    screen.has("24M")
    asked = screen.where / "asked"
    assert not asked.exists()
    screen.keys("Tab")
    screen.has(" Flows [Hosts]")
    screen.keys("r")
    # So many are asked at a time, of eight.
    screen.until(lambda _: asked.exists() and asked.read_text() == 4 * "asked\n")
    screen.keys("h")
    screen.has("asks the name server")
    screen.keys("q")
    screen.has("10.0.0.9 ")
    assert asked.read_text() == 4 * "asked\n"
    (screen.where / "answer").touch()
    lines = screen.has("n9")
    assert re.search(r"n9..31m", "\n".join(lines)) and "\x1b[31m" not in "".join(lines)
    assert "\x9b" not in "".join(screen.lines("-e"))
    screen.until(lambda lines: not any("10.0.0." in line for line in lines))
    time.sleep(0.5)
    assert asked.read_text() == 8 * "asked\n"  # once each
    screen.keys("r")
    screen.has("10.0.0.9 ")
    screen.quit()


def test_quits_while_asked(screen: Screen) -> None:
    looks(screen.where)
    screen.start()
    screen.has("24M")
    screen.keys("r", "q")
    assert screen.ended() == "status 0\n"


@SIZES
def test_help(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start(size=size)
    screen.has("24M")
    screen.keys("h")
    screen.has("asks the name server")
    screen.has("The graphs are the longest")
    screen.keys("q")  # closes it only
    screen.lacks("asks the name server")
    screen.quit()


def test_graph(screen: Screen) -> None:
    """How long the first packet has waited, now and at most: blocks, or ASCII without UTF-8"""
    looks(screen.where, 15)
    screen.start("-d", "0.1", "eth0")
    screen.has("long  11ms, most 13ms")
    lines = screen.until(lambda lines: "█" in lines[4])
    assert lines[3].startswith("short 4.0ms, most 4.0ms")
    assert set(lines[4][24:].strip()) <= set("▁▂▃▄▅▆▇█")
    screen.quit()


@SIZES
def test_ascii(screen: Screen, size: tuple[int, int]) -> None:
    looks(screen.where)
    screen.start(size=size, LC_ALL="C", TERM="vt100")
    lines = screen.has("24M")
    assert "".join(lines).isascii() and any("#" in line for line in lines[3:5])
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", "\n".join(screen.lines("-e")))
    screen.quit()


def test_colours(screen: Screen) -> None:
    looks(screen.where)
    screen.start()
    screen.has("24M")
    colour = r"\x1b\[[0-9;]*3[0-7]m"
    coloured = [line for line in screen.lines("-e") if re.search(colour, line)]
    assert any(" L " in line or "L\x1b" in line or "tcp" in line for line in coloured)
    screen.quit()


def test_no_color(screen: Screen) -> None:
    looks(screen.where)
    screen.start(NO_COLOR="1")
    screen.has("24M")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", "\n".join(screen.lines("-e")))
    screen.quit()


def test_dumb(screen: Screen) -> None:
    """Without a cursor that can be moved there are tables."""
    looks(screen.where)
    screen.start("-d", "0.1", "-n", "2", TERM="dumb", size=(200, 50))
    assert screen.ended() == "status 0\n"
    assert sum("eth0 las 1: root:" in line for line in screen.lines("-S", "-")) == 2


def test_resized(screen: Screen) -> None:
    looks(screen.where)
    screen.start()
    screen.has("24M")
    for width, height in ((200, 50), (80, 24), (40, 10), (20, 5), (1, 1), (3, 200), (80, 24)):
        screen.do("resize-window", "-t", "s", "-x", str(width), "-y", str(height))
        screen.keys("Tab", "s", "Down", "Enter", "End", "F", "End", "h", "h")
        time.sleep(0.3)
    screen.keys("Home", "R")
    screen.until(lambda lines: len(lines) == 24 and len(panes(lines)[1]) == 4 - 1)
    screen.quit()


def test_count(screen: Screen) -> None:
    looks(screen.where)
    screen.start("-d", "0.1", "-n", "3")
    assert screen.ended() == "status 0\n"


def test_end_of_terminal(screen: Screen) -> None:
    """It does not stay when nobody looks."""
    looks(screen.where)
    screen.start()
    screen.has("24M")
    pid = screen.do("list-panes", "-t", "s", "-F", "#{pane_pid}").strip()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children
    screen.do("kill-server")
    end = time.monotonic() + HANG
    while any(Path(f"/proc/{child}/exe").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_changes(screen: Screen) -> None:
    """No qdisc, one that comes, another in its place, the interface gone and back with another
    number, an error, and all well again"""
    links = {1: "lo", 2: "eth0"}
    m.look(screen.where, 1, [], links)
    screen.start("-d", "0.1", "eth0")
    screen.has("No qdisc of shortfirst here. Set one:")
    m.look(screen.where, 2, [m.Qdisc(2, classes=[m.flow(1)])], links)
    screen.has(":10001 ")
    screen.until(lambda lines: "eth0  las 1:" in lines[0])
    m.look(screen.where, 3, [m.Qdisc(2, "sqf", 7, classes=[m.flow(2)])], links)
    screen.has("eth0  sqf 7: root")
    screen.lacks(":10001 ")
    screen.has(":10002 ")
    m.look(screen.where, 4, [m.Qdisc(2, "run2c", 8)], links)
    screen.has("eth0  run2c 8: root")
    m.look(screen.where, 5, [], {1: "lo"})
    screen.has("no qdisc of shortfirst there now")
    m.look(screen.where, 6, [m.Qdisc(9, classes=[m.flow(3)])], {1: "lo", 9: "eth0"})
    screen.has(":10003 ")
    (screen.where / "7.error").write_text("Out of memory")
    screen.until(lambda lines: "Cannot read from the kernel: Out of memory" in lines[-1])
    m.look(screen.where, 8, [m.Qdisc(9, classes=[m.flow(4)])], {1: "lo", 9: "eth0"})
    screen.has(":10004 ")
    screen.quit()


def test_without_cap_net_admin_a_notice_says_why_the_list_is_empty(screen: Screen) -> None:
    (screen.where / "1.unprivileged").touch()
    m.look(screen.where, 1, [m.Qdisc(2)], LINKS)
    screen.start()
    notice = "Flows and hosts are listed only for root"
    screen.until(lambda lines: sum(notice in line for line in lines) == 1)
    screen.quit()


def test_many(screen: Screen) -> None:
    """65536 flows: the last of them can be seen."""
    sorts = (m.SHORT, m.LONG)
    flows = [m.flow(r, bytes=r + 1, sort=sorts[r % 2], sport=r % 65536) for r in range(65536)]
    m.look(screen.where, 1, [m.Qdisc(2, classes=flows)], LINKS)
    screen.start("-d", "1", "--sort", "bytes")
    screen.has(" long: 32768 flows")
    screen.until(lambda lines: ":65534 " in panes(lines)[0][0] and ":65535 " in panes(lines)[1][0])
    screen.keys("End")
    screen.until(lambda lines: ":1 " in panes(lines)[1][-1])
    screen.quit()
