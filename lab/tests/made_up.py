# SPDX-License-Identifier: GPL-2.0
"""What runs that were never run would have written."""

import json
from collections.abc import Sequence

import numpy as np

from lab.measure.bounds import verdicts
from lab.measure.numbers import measure
from lab.measure.reading import HEADER, HEADERS
from lab.measure.rows import Metrics, Rows
from lab.run.experiment import EXPERIMENTS, Experiment, read
from lab.run.guests import Job
from lab.run.keys import Settings, bulk_count, links_of
from lab.run.kinds import is_sampling
from lab.run.qdiscs import FLOOR, OURS

# The least that a file says, which tests change
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

PAYLOAD, WIRE = 1448, 1514  # bytes of a packet
# Packets, and how many ms
Flow = tuple[float, float]
SOME: list[Flow] = [(5, 30.0), (7, 40.0), (21, 90.0), (200, 300.0)] * 10


def stats(kind: str = "pfifo", drops: int = 3, **more: int) -> str:
    """What tc says: first of what is not under test."""
    qdisc = {"kind": kind, "handle": "10:", "drops": drops} | more
    return json.dumps([{"kind": "htb", "handle": "1:", "drops": 9}, qdisc]) + "\n"


def flows(some: Sequence[Flow], senders: int = 1, mtu: int = 1500, lost: int = 0) -> str:
    """Begun 1 s after each other, from the senders in turn; one of 0 ms has failed.

    Each has sent 10 packets; every third has lost 1, the one after it 2, if `lost` is 1.
    """
    lines = [HEADER]
    for i, (size, delay) in enumerate(some):
        shown = f"{delay * 1000:.0f},ok" if delay else "0,timeout"
        ports = f"{5000 + i % senders},{2000 + i}"
        lines.append(
            f"{i},{i}000000,{(mtu - HEADERS) * size:.0f},{shown},{ports},10,{lost * i % 3}"
        )
    lines.append(f"#end flows {len(some)} failed {sum(not delay for _, delay in some)}")
    return "\n".join([*lines, ""])


def intervals(what: str, values: np.ndarray, seconds: float) -> str:
    """A line for each interval, a column for each flow."""
    lines = "".join(",".join(str(int(x)) for x in row) + "\n" for row in values)
    head = f"{what} flows {values.shape[1]} interval_us {seconds * 1e6:.0f}\n"
    return f"{head}{lines}#end intervals {len(values)}\n"


def bulk(rates: np.ndarray, seconds: float = 1, sent: float = 1) -> str:
    """Of bit/s by interval and flow, and how much more was sent than received."""
    size = np.asarray(rates) / 8 * seconds
    return intervals("bulk", size, seconds) + intervals("sent", size * sent, seconds)


def cbr(name: str, delays: Sequence[int], least: int = 3000) -> str:
    """Of delays in us; 0 is lost."""
    lines = "".join(f"{delay}\n" if delay else "lost\n" for delay in delays)
    ends = f"#end packets {len(delays)} lost {list(delays).count(0)}\n"
    return f"cbr {name} bytes 160 least_us {least}\n{lines}{ends}"


def fetch(group: str, responses: Sequence[int], bursts: int = 1, size: int = 3_000_000) -> str:
    """Of responses in us, bursts of so many, each begun 1 ms after the one before it; 0 has not
    ended. `size` is what 24 s have brought."""
    lines = "".join(
        f"{i // bursts},9000,{us or -1},{i % bursts * 1000}\n" for i, us in enumerate(responses)
    )
    ends = f"#end begun {len(responses)} done {len(responses) - list(responses).count(0)}\n"
    return f"fetch {group} seconds 24 bytes {size}\n{lines}{ends}"


def packets(group: str, sent: int = 1000, arrived: int = 750, size: int = 6_000_000) -> str:
    """`size` is what 24 s have brought."""
    return f"packets {group} seconds 24 sent {sent} arrived {arrived} bytes {size}\n"


def lengths(*rows: tuple[float, int, int]) -> str:
    """What tc shows of a qdisc of two bands, by seconds and packets of these; it sends 10 kB/s."""
    return "".join(
        f"lengths {at} {stats(qlen=9, high_qlen=high, low_qlen=low, bytes=round(10000 * at))}"
        for at, high, low in rows
    )


def samples(some: Sequence[int], senders: int = 1) -> str:
    """Those of the flows, by number."""
    return "".join(f"long {5000 + i % senders} {2000 + i}\n" for i in some)


def of_run(settings: Settings, qdisc: str) -> str:
    """All that such a run writes."""
    alone, watch = qdisc == FLOOR, settings.get("watch", {})
    senders = max(len(links_of(settings["network"])), 1)
    text = ""
    if settings.get("flows"):
        # Beside another qdisc some are faster, and some slower
        other = watch.get("against", qdisc) != qdisc and not alone
        some = [(x, ms * (2, 0.5)[i % 2]) for i, (x, ms) in enumerate(SOME)] if other else SOME
        text += flows(some, senders, settings["flows"].get("mtu", 1500), lost=not alone)
    kind = "pfifo" if alone else settings["qdiscs"][qdisc].split()[0]
    more = {"records_peak": 7} if kind in OURS else {}
    if not alone and "bulk" in settings:
        count, seconds = bulk_count(settings), settings["bulk"].get("interval", 1)
        number = round(settings["bulk"].get("skip", 0) / seconds) + 20
        text += bulk(np.tile(1e6 * (1 + np.arange(count) % 3), (number, 1)), seconds, 1.1)
        if "queues" in watch:
            queues = np.tile(np.arange(count + 5) * 1000, (number, 1))
            text += intervals("queues", queues, watch["queues"])
    for name in () if alone else settings.get("steady", {}):
        text += cbr(name, [5000, 0, 4000])
    for name, group in {} if alone else settings.get("fetch", {}).items():
        text += fetch(name, [9000, 0, 8000, 7000] if "bytes" in group else [], 2)
    if not alone and "fetched" in watch:
        text += intervals("fetched", np.tile(9000, (40, len(settings["fetch"]))), watch["fetched"])
    for name in () if alone else settings.get("packets", {}):
        text += packets(name)
    if not alone and "lengths" in watch:
        text += lengths((10, 30, 2), (10.1, 4, 50), *((i, 0, 0) for i in range(11, 60)))
    if not alone and "samples" in watch and is_sampling(kind):
        text += samples(range(senders + 1), senders)
    return text + stats(kind, **more)


def data(one: Experiment) -> dict[str, str]:
    """By the name of the job."""
    return {job.name: of_run(one.cases[case], qdisc) for (case, qdisc, _), job in one.runs.items()}


def experiment(name: str) -> Experiment:
    """One of the lab's."""
    return read(EXPERIMENTS / f"{name}.toml")


def words(job: Job) -> dict[str, str]:
    """What its script is told."""
    return dict(word.split("=", 1) for word in job.args)


def part(name: str, case: str, qdiscs: list[str], seeds: int = 1) -> Experiment:
    """A case of it, with some of its qdiscs."""
    own = experiment(name).only(None, [case])
    settings = next(iter(own.cases.values()))
    chosen = {qdisc: settings["qdiscs"][qdisc] for qdisc in qdiscs}
    return own.only(chosen, None, list(range(1, seeds + 1)))


def given(
    name: str, case: str, texts: dict[str, list[str]]
) -> tuple[dict[str, Metrics], list[str]]:
    """Of what each seed's run of each qdisc has written: the first's numbers, and what is unmet."""
    seeds = len(next(iter(texts.values())))
    one = part(name, case, list(texts), seeds)
    rows = measure(one, {job.name: texts[q][seed - 1] for (_, q, seed), job in one.runs.items()})
    first: Rows = {key: values for key, values in rows.items() if key[2] == 1}
    unmet = [what for what, met in verdicts(one, rows) if not met]
    return {qdisc: values for (_, qdisc, _), values in first.items()}, unmet
