# SPDX-License-Identifier: GPL-2.0
"""What a run has given, in numbers: the vocabulary of all experiments, as far as its data have it.

Where senders have groups, a group's metrics have its name before them. Times are in ms. What bulk
sends and gets is its payload, but for A and X, which are what is on the wire.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lab.measure import beside, lag
from lab.measure.formulas import binned, excess, fairness, jain, loss, of_class, slowdown
from lab.measure.over_time import SMOOTH, in_progress, largest, smooth, turns
from lab.measure.reading import (
    CLASSES,
    ETHERNET,
    HEADER,
    PAYLOAD,
    WIRE_BITS,
    DataError,
    Fetched,
    Heedless,
    Record,
    Run,
    Steady,
    parse_run,
    split_bulk,
    split_fetch,
    split_intervals,
    split_lengths,
    split_packets,
    split_record,
    split_samples,
    split_steady,
)
from lab.measure.rows import LOSSY, SIZES, Metrics, Rows, points
from lab.run.experiment import Experiment
from lab.run.job import MTU, PORT, link
from lab.run.keys import Settings, bits, bulk_count, links_of, policy_of
from lab.run.kinds import is_sampling
from lab.run.qdiscs import FLOOR

NO_FLOWS = f"{HEADER}\n#end flows 0 failed 0\n"
CDF = np.linspace(0.02, 1, 50)
WITHIN = np.round(np.geomspace(0.05, 500, 81), 3)  # seconds, of the distribution of responses
AT_A_TIME = 40  # flows in progress: up to so many of their distribution
MANY = 400  # flows: of more there is no point for each
MOST_WHOLE = 40  # packets: sizes up to this have a point each
PER_DECADE = 8  # of the others' throughput
STEP = 100  # ms, of flows in progress
WIRE = (WIRE_BITS / 8 + ETHERNET) / PAYLOAD
FINE = 0.05  # seconds: intervals that show who has the link
CURVE, POINT = 3, 0.02  # seconds of it that are drawn, a point each so often
LENGTHS = 50  # seconds of a qdisc's lengths that are drawn
PARTS = 5  # of the time
TENTHS = 10
BANDS = ("high", "low")


@dataclass(frozen=True)
class Measured:
    """A run; bulk's are bit/s by interval and flow."""

    run: Run
    steady: dict[str, Steady]
    received: np.ndarray
    sent: np.ndarray
    seconds: float  # of an interval
    skip: int  # intervals that do not count
    queues: np.ndarray  # bytes by interval and flow
    # Seconds, packets in the high band and in the low one, and bytes sent
    lengths: np.ndarray
    fetched: dict[str, Fetched]
    arrived: np.ndarray  # bytes by interval and group of fetch
    heedless: dict[str, Heedless]
    samples: set[tuple[int, int]] | None  # ports of the flows that it has sampled
    record: Record | None  # the packets of the bottleneck

    @property
    def sampled(self) -> np.ndarray:
        """Of each flow."""
        return np.array([tuple(ports) in (self.samples or ()) for ports in self.run.ports], bool)


def measured(name: str, settings: Settings, qdisc: str, text: str) -> Measured:
    """What the job has written."""
    alone = qdisc == FLOOR
    bulk = {} if alone else settings.get("bulk", {})
    watch = {} if alone else settings.get("watch", {})
    steady, text = split_steady(name, text)
    if set(steady) != (set() if alone else set(settings.get("steady", {}))):
        raise DataError(f"{name}: not the flows that were to be measured")
    fetched, text = split_fetch(name, text)
    heedless, text = split_packets(name, text)
    for what, groups in (("fetch", fetched), ("packets", heedless)):
        if set(groups) != (set() if alone else set(settings.get(what, {}))):
            raise DataError(f"{name}: not the groups of {what} that were to be measured")
    received = sent = queues = arrived = np.empty((0, 0))
    lengths, samples, seconds, skip = np.empty((0, 4)), None, 0.0, 0
    record = None
    if bulk:
        received, sent, text = split_bulk(name, text)
        seconds = bulk.get("interval", 1)
        skip = round(bulk.get("skip", 0) / seconds)
    if "queues" in watch:
        queues, step, text = split_intervals(name, text, "queues")
        queues = queues[round(bulk.get("skip", 0) / step) :]
    if "fetched" in watch:
        arrived, _, text = split_intervals(name, text, "fetched")
    if "lengths" in watch:
        lengths, text = split_lengths(name, text)
    if watch.get("record"):
        record, text = split_record(name, text)
    if "samples" in watch and is_sampling(settings["qdiscs"][qdisc]):
        samples, text = split_samples(name, text)
    flows = settings.get("flows")
    run = parse_run(name, text if flows else NO_FLOWS + text, (flows or {}).get("mtu", MTU))
    if samples is not None and len({tuple(ports) for ports in run.ports}) < len(run.ports):
        raise DataError(f"{name}: flows of the same ports cannot be told apart")
    return Measured(
        run,
        steady,
        received,
        sent,
        seconds,
        skip,
        queues,
        lengths,
        fetched,
        arrived,
        heedless,
        samples,
        record,
    )


def reference(settings: Settings, qdisc: str) -> str | None:
    """By whose samples the downloads under this qdisc are short or long."""
    qdiscs, other = settings["qdiscs"], settings.get("watch", {}).get("samples")
    if other is None or qdisc == FLOOR:
        return None
    chosen = qdisc if is_sampling(qdiscs[qdisc]) else other
    return chosen if is_sampling(qdiscs.get(chosen, "none")) else None


def mean(values: np.ndarray) -> float:
    """Of those that there are."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else np.nan


def most(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    return float(values.max()) if values.size else np.nan


def groups_of(settings: Settings) -> Iterator[tuple[str, range]]:
    """What is before a group's metrics, and its senders' ports; "" is all of them."""
    network = settings["network"]
    yield "", range(PORT, PORT + max(len(links_of(network)), 1))
    first = PORT
    for name, count in network.get("groups", {}).items():
        yield f"{name} ", range(first, first + count)
        first += count


def of_some(run: Run, inside: np.ndarray, seconds: float, sampled: np.ndarray | None) -> Metrics:
    """Of those flows."""
    number = in_progress(run.start[inside], run.response[inside], seconds, STEP)
    values: Metrics = {"flows": inside.sum(), "failed": np.isnan(run.response[inside]).sum()}
    values |= {"in progress": mean(number), "in progress, most": most(number)}
    for size in CLASSES:
        times = run.response[inside & of_class(run, size)]
        values |= {f"ms {size}": mean(times), f"max ms {size}": most(times)}
    if sampled is not None:
        for kind, chosen in (("short", inside & ~sampled), ("long", inside & sampled)):
            values |= {f"flows {kind}": chosen.sum(), f"ms {kind}": mean(run.response[chosen])}
    return values


def by_size(packets: np.ndarray, values: np.ndarray, fine: bool) -> tuple[np.ndarray, ...]:
    """Sizes, and means and maxima of the values: of each size in packets, or eight a decade."""
    whole = np.ceil(packets)
    bins = whole if fine else np.floor(np.log10(whole) * PER_DECADE)
    groups = [bins == b for b in np.unique(bins)]
    return (
        np.array([whole[g].mean() for g in groups]),
        np.array([values[g].mean() for g in groups]),
        np.array([values[g].max() for g in groups]),
    )


def curves_of_flows(run: Run, seconds: float) -> Metrics:
    each = in_progress(run.start, run.response, seconds, STEP)[:: 1000 // STEP]
    values = points("in progress", range(each.size), each)
    numbers = np.arange(AT_A_TIME + 1)
    values |= points("in progress CDF", numbers, [np.mean(each <= n) for n in numbers])
    # What has failed has not ended
    values |= points("response CDF", WITHIN, [np.mean(run.response <= 1e3 * x) for x in WITHIN])
    if run.packets.size <= MANY:
        values |= points("s by MB", run.packets * run.payload / 1e6, run.response / 1e3)
    size, times, _, number = binned(run)
    values |= points("ms by size", size, times) | points("flows by size", size, number)
    done = ~np.isnan(run.response)
    few = done & (run.packets <= MOST_WHOLE)
    size, times, longest = by_size(run.packets[few], run.response[few], fine=True)
    values |= points("ms", size, times) | points("max ms", size, longest)
    size, rates, _ = by_size(run.packets[done], run.rates[done], fine=False)
    values |= points("kbit/s", size, rates)
    if (run.lost > 0).any():
        values |= points("CDF", np.quantile(run.packets[run.lost > 0], CDF), CDF)
    return values


def of_flows(
    run: Run, settings: Settings, floor: Run | None, sampled: np.ndarray | None
) -> Metrics:
    ends = link(settings, run.ports[:, 0])
    seconds = settings.get("duration", most(run.start) / 1000)
    values: Metrics = {}
    for prefix, ports in groups_of(settings):
        inside = np.isin(run.ports[:, 0], ports) if prefix else np.ones(run.packets.size, bool)
        some = of_some(run, inside, seconds, sampled)
        values |= {prefix + name: value for name, value in some.items()}
    values["kbit/s >100"] = mean(run.rates[of_class(run, ">100")])
    values["slowdown"] = mean(slowdown(run, ends))
    for size in ("all", *SIZES):
        values[f"loss % {size}".removesuffix(" all")] = 100 * loss(run, size)
    if run.sent.any():  # else packets were not counted
        values["flows with loss"] = np.sum(run.lost > 0)
        values[f"flows with loss <={LOSSY}"] = np.sum((run.lost > 0) & (run.packets <= LOSSY))
    if floor and floor is not run:
        values["excess"] = excess(run, floor, ends)
        values["Jain"] = fairness(run, floor, "all")
        values["Jain >100"] = fairness(run, floor, ">100")
    return values | curves_of_flows(run, seconds)


def of_steady(flow: str, one: Steady, late: float | None = None) -> Metrics:
    values: Metrics = {f"{flow} packets": one.delay.size, f"{flow} loss %": 100 * one.loss}
    for label, q in (("p50", 50), ("p99", 99), ("max", 100)):
        values[f"{flow} {label} ms"] = one.percentile(q)
    values |= {} if late is None else {f"{flow} late %": 100 * one.late(late)}
    return values | {f"{flow} jitter ms": one.jitter}


def of_fetched(group: str, one: Fetched, pages: bool) -> Metrics:
    """Of connections that never end only how much they have got; with `pages` of each burst."""
    values: Metrics = {f"{group} Mbit/s": one.bytes * 8e-6 / one.seconds}
    if not one.response.size:
        return values
    values |= {f"{group} begun": one.response.size, f"{group} done": np.sum(one.response >= 0)}
    values |= {f"{group} ms": mean(one.response), f"{group} longest ms": most(one.response)}
    if pages:
        values |= {f"{group} pages": one.pages.size, f"{group} pages done": np.sum(one.pages >= 0)}
        values[f"{group} page ms"] = mean(one.pages)
    return values


def of_heedless(group: str, one: Heedless) -> Metrics:
    """What arrives is as on the wire."""
    lost = 100 * (1 - one.arrived / one.sent) if one.sent else np.nan
    return {f"{group} wire Mbit/s": one.bytes * 8e-6 / one.seconds, f"{group} dropped %": lost}


def of_bulk(one: Measured, each: bool) -> Metrics:
    """Of all its flows together, and with `each` of each."""
    received, seconds = one.received[one.skip :], one.seconds
    rates = received.mean(axis=0)
    values: Metrics = {"bulk Mbit/s": rates.sum() / 1e6}
    packets = received.sum(axis=1) / (8 * PAYLOAD)  # each second
    parts = [part.mean() for part in np.array_split(packets, PARTS) if part.size]
    values |= {"packets/s": packets.mean(), "packets/s, least": packets.min()}
    values |= {"packets/s, least fifth": min(parts), "packets/s, last fifth": parts[-1]}
    values["halts"] = np.sum(packets == 0)
    if seconds > FINE:
        values |= points("packets/s", (np.arange(packets.size) + 0.5) * seconds, packets)
    if rates.size > 1:
        values["bulk Jain"] = jain(rates)
        values["bulk Jain, short"] = np.mean([jain(row) for row in received if row.any()])
        values |= {"bulk kbit/s": rates.mean() / 1e3, "bulk variance": rates.var() / 1e6}
        values["bulk apart %"] = 100 * np.ptp(rates) / rates.mean()
        values |= points("bulk kbit/s", range(1, rates.size + 1), rates / 1e3)
    if each:
        values |= of_each(one)
    return values


def of_each(one: Measured) -> Metrics:
    """Mbit/s on the wire: A is what is sent, X what gets through."""
    sent, received = (each[one.skip :] * WIRE / 1e6 for each in (one.sent, one.received))
    values: Metrics = {"A": sent.mean(axis=0).sum(), "X": received.mean(axis=0).sum()}
    values["received / sent"] = values["X"] / values["A"]
    for i in range(sent.shape[1]):
        values |= {f"A{i + 1}": sent[:, i].mean(), f"X{i + 1}": received[:, i].mean()}
    if one.seconds <= FINE:
        rates = smooth(one.sent * WIRE / 1e6, round(SMOOTH / one.seconds))[one.skip :]
        if rates.shape[1] > 1:
            part, turn = turns(rates, one.seconds)
            values |= {"one has the link %": 100 * part, "turn s": turn}
        values |= over_time("A", rates, one.seconds)
    return values


def over_time(name: str, values: np.ndarray, seconds: float) -> Metrics:
    """The beginning of a curve for each flow."""
    chosen = range(0, min(round(CURVE / seconds), len(values)), max(1, round(POINT / seconds)))
    time = [i * seconds for i in chosen]
    result: Metrics = {}
    for i in range(values.shape[1]):
        result |= points(f"{name}{i + 1}", time, values[chosen, i])
    return result


def until(name: str, count: np.ndarray, step: float) -> Metrics:
    """Of the bytes until each step: MB, at the end of each tenth of the time."""
    ends = [size.size for size in np.array_split(count, TENTHS)]
    return {
        f"{name} MB at {end * step:g} s": count[end - 1] / 1e6 for end in np.cumsum(ends) if end
    }


def of_arrived(one: Measured, settings: Settings) -> Metrics:
    """What each group of fetch has got over time, of all of it; of endless ones also until when."""
    step = settings["watch"]["fetched"]
    values: Metrics = {}
    for i, name in enumerate(settings["fetch"]):
        rates = one.arrived[:, i] / step / 1e3
        values |= points(f"{name} kB/s", np.arange(1, rates.size + 1) * step, rates)
        if "bytes" not in settings["fetch"][name]:
            values |= until(name, one.arrived[:, i].cumsum(), step)
    return values


def carried(one: Measured, settings: Settings) -> np.ndarray:
    """Bytes that the bottleneck has sent until each time, but for those of groups of fetch that
    are outside a pair; these are seen as often."""
    count = one.lengths[1:, 3]
    names = list(settings.get("fetch", {}))
    for name in settings.get("pair", {}).get("outside", []):
        got = one.arrived[:, names.index(name)].cumsum() * WIRE
        count = count[: got.size] - got[: count.size]
    return count


def of_beside(one: Measured, other: Measured, settings: Settings) -> Metrics:
    """Beside what another qdisc, or another policy of a pair, has given with the same flows."""
    values: Metrics = {}
    if settings.get("flows"):
        values |= beside.of_each(one.run, other.run)
    if "fetched" in settings["watch"]:
        for i, name in enumerate(settings["fetch"]):
            if "bytes" not in settings["fetch"][name]:
                both = (each.arrived[:, i] for each in (one, other))
                values[f"{name} apart %"] = beside.most_apart(*both)
    if "lengths" in settings["watch"]:
        both = (carried(each, settings) for each in (one, other))
        values["bytes apart %"] = beside.most_apart(*both)
    return values


def of_queues(one: Measured, settings: Settings) -> Metrics:
    """kB of each flow, steady ones after bulk's; the mean, and the beginning."""
    seconds = settings["watch"]["queues"]
    count = bulk_count(settings) + len(settings.get("steady", {}))
    queues = largest(one.queues, count) / 1e3
    values: Metrics = {f"kB{i + 1}": queues[:, i].mean() for i in range(count)}
    return values | over_time("kB", queues, seconds)


def of_lengths(lengths: np.ndarray, over: list[int]) -> Metrics:
    """Packets in the bands: the most ever, how often more than so many, and the beginning."""
    time = lengths[:, 0] - lengths[0, 0]
    values: Metrics = {f"{band}, most": lengths[:, i].max() for i, band in enumerate(BANDS, 1)}
    values |= {f"high, >{number} %": 100 * np.mean(lengths[:, 1] > number) for number in over}
    for i, band in enumerate(BANDS, 1):
        values |= points(band, time[time < LENGTHS], lengths[time < LENGTHS, i])
    return values


def numbers_of(
    one: Measured,
    settings: Settings,
    floor: Run | None,
    sampled: np.ndarray | None,
    other: Measured | None = None,
) -> Metrics:
    """Of a run, given that of the floor, which of its flows were sampled, and what it is beside."""
    values: Metrics = {}
    for flow, steady in one.steady.items():
        values |= of_steady(flow, steady, settings["steady"][flow].get("late"))
    for name, group in one.fetched.items():
        told = settings["fetch"][name]
        most_at_once = max(told.get("at_once", 1), told.get("objects", 1))
        values |= of_fetched(name, group, "every" in told and most_at_once > 1)
    for name, stray in one.heedless.items():
        values |= of_heedless(name, stray)
    if one.received.size:
        values |= of_bulk(one, "rtts" in settings["bulk"])
    if one.lengths.size and policy_of(settings, settings["watch"].get("against", "")):
        values |= until("carried", carried(one, settings), settings["watch"]["lengths"])
    if one.arrived.size:
        values |= of_arrived(one, settings)
    if other:
        values |= of_beside(one, other, settings)
    if one.queues.size:
        values |= of_queues(one, settings)
    if one.lengths.size:
        values |= of_lengths(one.lengths, settings["watch"].get("over", []))
    if one.record:
        values |= lag.of_record(one.record, bits(settings["network"]["rate"]))
    values["drops"] = one.run.drops
    peaks = [q["records_peak"] for q in one.run.qdiscs if "records_peak" in q]
    values |= {"records": peaks[0]} if peaks else {}
    if settings.get("flows"):
        values |= of_flows(one.run, settings, floor, sampled)
    return values


def measure(experiment: Experiment, data: dict[str, str]) -> Rows:
    """The numbers of every run; `data` is what each job has written."""
    found = {
        (case, qdisc, seed): measured(job.name, experiment.cases[case], qdisc, data[job.name])
        for (case, qdisc, seed), job in experiment.runs.items()
    }
    result: Rows = {}
    for (case, qdisc, seed), one in found.items():
        settings, floor = experiment.cases[case], found.get((case, FLOOR, seed))
        other = reference(settings, qdisc)
        sampled = found[case, other, seed].sampled if other else None
        if sampled is not None and sampled.size != one.run.packets.size:
            raise DataError(f"{case}, {qdisc} and {other} have not had the same flows")
        against = found.get((case, settings.get("watch", {}).get("against"), seed))
        same = against if qdisc != FLOOR and against is not one else None
        result[case, qdisc, seed] = numbers_of(one, settings, floor and floor.run, sampled, same)
    return result
