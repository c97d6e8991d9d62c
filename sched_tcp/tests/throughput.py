#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""How much goes through a pair, and what that costs, beside what else relays at both ends.

    throughput.py [--seconds N] [--streams 1,8] [--only direct,socat,haproxy,tunnel,psk] [--json]

iperf3 sends from one namespace to another: at once, or by way of two relays, one in each. Of the
relays' processes the processor's time is told, for a gigabyte that went through both. All of it
shares this machine with iperf3, so only ratios mean something. Needs root, iperf3, socat, haproxy.
"""

import argparse
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from sched_tcp.tests.pair import FAR, FORWARDS, NEAR, SERVERS, TUNNEL, Link, Pair, until

PORT = SERVERS[0]
# What we want: at least, or at most, of what
GOALS = "goals: of socat 0.8, of direct 0.25, processor's time 1.5 of haproxy's at most"
HAPROXY = """
global
  maxconn 1000
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen relay
  bind {here}
  server next {there}
"""


def spent(groups: list[int]) -> float:
    """Seconds of the processor, of all processes in these groups and of those that have ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) in groups:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def begin(netns: str, *words: str | Path) -> int:
    """The process group."""
    done = subprocess.Popen(
        ["ip", "netns", "exec", netns, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return done.pid


def end(groups: list[int]) -> None:
    for group in groups:
        os.killpg(group, signal.SIGKILL)
        os.waitpid(group, 0)


Relays = tuple[str, int, list[int]]  # where to connect to, and their process groups


def direct(link: Link, home: Path) -> Relays:
    return FAR[0], PORT, []


def socat(link: Link, home: Path) -> Relays:
    def relay(netns: str, address: str, port: int, to: str) -> int:
        listen = f"TCP-LISTEN:{port},bind={address},fork,reuseaddr,backlog=100"
        return begin(netns, "socat", "-b", "65536", listen, f"TCP:{to}")

    far = relay(link.far, FAR[0], 7000, f"{FAR[0]}:{PORT}")
    return NEAR[0], 7000, [far, relay(link.near, NEAR[0], 7000, f"{FAR[0]}:7000")]


def haproxy(link: Link, home: Path) -> Relays:
    groups = []
    for netns, here, to in (
        (link.far, f"{FAR[0]}:7000", f"{FAR[0]}:{PORT}"),
        (link.near, f"{NEAR[0]}:7000", f"{FAR[0]}:7000"),
    ):
        config = home / f"{netns}.cfg"
        config.write_text(HAPROXY.format(here=here, there=to))
        groups.append(begin(netns, "haproxy", "-db", "-f", config))
    return NEAR[0], 7000, groups


def daemons(link: Link, home: Path, trust: str, more: str = "") -> Relays:
    pair = Pair(link, home)
    pair.configure(trust, more=more)
    groups = []
    for each in (pair.far, pair.near):
        each.begin(start_new_session=True)
        groups.append(each.process.pid)
    return NEAR[0], FORWARDS[0], groups


def tunnel(link: Link, home: Path) -> Relays:
    return daemons(link, home, TUNNEL)


def psk(link: Link, home: Path) -> Relays:
    key = home / "key"
    key.write_text("5a" * 32)
    key.chmod(0o600)
    return daemons(link, home, f'psk = "{key}"')


KINDS: dict[str, Callable[[Link, Path], Relays]] = {
    "direct": direct,
    "socat": socat,
    "haproxy": haproxy,
    "tunnel": tunnel,
    "psk": psk,
}


def iperf(netns: str, *words: str) -> dict:
    command = ["ip", "netns", "exec", netns, "iperf3", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout or "{}")


@contextmanager
def relayed(link: Link, kind: str) -> Iterator[Relays]:
    """And the server behind them."""
    with tempfile.TemporaryDirectory() as home:
        server = begin(link.far, "iperf3", "--server", "--port", str(PORT))
        groups = [server]
        try:
            relays = KINDS[kind](link, Path(home))
            groups += relays[2]
            words = ("--client", relays[0], "--port", str(relays[1]), "--bytes", "1K")
            until(lambda: "error" not in iperf(link.near, *words))
            yield relays
        finally:
            end(groups)


def measure(link: Link, kind: str, streams: int, seconds: float) -> dict:
    with relayed(link, kind) as (address, port, groups):
        words = f"--client {address} --port {port} --time {seconds} --parallel {streams}"
        before = spent(groups)
        told = iperf(link.near, *words.split())
        after = spent(groups)
    total = told["end"]["sum_received"]["bytes"]
    return {
        "kind": kind,
        "streams": streams,
        "rate": total * 8 / told["end"]["sum_received"]["seconds"] / 1e9,
        "cpu": (after - before) / (total / 1e9),
    }


def table(rows: list[dict]) -> None:
    print("kind     streams  Gbit/s  of direct  of socat  s/GB  of haproxy")
    for row in rows:
        same = {each["kind"]: each for each in rows if each["streams"] == row["streams"]}

        def of(kind: str, what: str, row: dict = row, same: dict = same) -> str:
            if kind not in same or not same[kind][what]:
                return "-"
            return f"{row[what] / same[kind][what]:.2f}"

        print(
            f"{row['kind']:8} {row['streams']:7}  {row['rate']:6.2f}  {of('direct', 'rate'):>9}  "
            f"{of('socat', 'rate'):>8}  {row['cpu']:4.2f}  {of('haproxy', 'cpu'):>10}"
        )
    print(GOALS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=3, help="of which the median is told")
    parser.add_argument("--streams", default="1,8")
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with Link() as link:
        for streams in map(int, options.streams.split(",")):
            for kind in options.only.split(","):
                runs = [
                    measure(link, kind, streams, options.seconds) for _ in range(options.repeat)
                ]
                rows.append(
                    runs[0] | {name: median(run[name] for run in runs) for name in ("rate", "cpu")}
                )
    print(json.dumps(rows)) if options.json else table(rows)


if __name__ == "__main__":
    main()
