# SPDX-License-Identifier: GPL-2.0
"""A run of an experiment as a guest's job: the words of scenario.sh, and what the guest needs."""

import random
import re
from collections.abc import Iterator

import numpy as np

from lab.measure.reading import ETHERNET, WIRE_BITS, DataError, Link
from lab.models.sizes import parse
from lab.run.guests import DAEMON, SCRIPT, Job
from lab.run.keys import (
    ONE,
    TCP,
    UDP,
    Settings,
    bits,
    bulk_count,
    headers_of,
    inside,
    is_tcp,
    links_of,
    number_of_host,
    policy_of,
)
from lab.run.kinds import is_sampling
from lab.run.qdiscs import BUFFER, FLOOR, RATE

PORT = 5000  # flowgen's first one
FETCHED = 8000  # fetch's first one
HOST = 101  # the last byte of the first host's address, where flowgen's flows have several
ROUTER = 2  # of the router's address
LAST_PORT = 7063  # bulk's last one,
LAST_FETCHED = FETCHED + 7  # and fetch's
MTU = 1500
NS2 = {"window": 30, "initcwnd": 1, "rto_min": 1}
# Are in every kernel; srpt is the lab's own, and net.sh loads it
BUILT_IN = ("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "srpt")
IFB_MODULES = ["ifb", "act_mirred", "cls_matchall"]
NAT_MODULES = ["nft_chain_nat", "nft_masq", "nft_nat"]
NFT = "/usr/sbin/nft"
COMMAND = "shortfirst"  # in a qdisc's place: sets up both ways (command/)
PROGRAMS = ("flowgen", "bulk", "cbr", "fetch", "packets", "tunnel", "queues", "record")
# Not there when each flow is alone
BESIDE = ("bulk", "steady", "fetch", "packets", "watch", "pair")
# What a queue of single packets of the kernel's own may take of those that are watched
SPARE = 4


def plain(value: float) -> str:
    """A number as the programs read it."""
    return str(int(value)) if value == int(value) else repr(round(value, 6))


def flows_of(settings: Settings) -> list[str]:
    """The options of flowgen, but for the seed."""
    flows, network = settings["flows"], settings["network"]
    words = ["--size", flows["size"], "--load", plain(flows["load"])]
    words += ["--rate", plain(bits(network["rate"]))]
    words += ["--flows", str(flows["count"])] if "count" in flows else []
    words += ["--duration", plain(settings["duration"])] if "duration" in settings else []
    words += ["--mtu", str(flows["mtu"])] if "mtu" in flows else []
    words += ["--web"] if flows.get("web") else []
    words += ["--wait", plain(flows["wait"])] if "wait" in flows else []
    ports = flows.get("hosts") or len(links_of(network))
    return words + (["--ports", str(ports)] if ports else [])


def drawn(value: float | list[float], rng: random.Random) -> float:
    return round(rng.uniform(*value), 3) if isinstance(value, list) else value


def every_of(settings: Settings, flow: Settings) -> float:
    """Microseconds from one packet of a steady flow to the next."""
    if "rate" in flow:
        wire = flow["bytes"] + headers_of(settings, UDP) + ETHERNET
        return wire * 8e6 / bits(flow["rate"])
    return flow["every"] * 1000


def steady_of(settings: Settings, rng: random.Random) -> str:
    """The flows of cbr; those of flowgen begin after a while, and are there when it measures."""
    after = settings.get("flows", {}).get("after", 0)
    result = []
    for name, flow in settings["steady"].items():
        phases = flow.get("phases")
        if not phases:
            begin = drawn(flow.get("begin", 0), rng)
            phases = f"{plain(begin)}*0," if begin else ""
            span = after + settings["duration"] - begin
            phases += f"{plain(span)}*{flow['bytes']}/{plain(every_of(settings, flow))}"
        ecn = ":ecn" if flow.get("ecn") else ""
        result.append(f"{name}:{plain(after + flow.get('skip', 0))}:{phases}{ecn}")
    return " ".join(result)


def bulk_of(settings: Settings, span: float, rng: random.Random) -> str:
    """The options of bulk."""
    bulk = settings["bulk"]
    given = {"flows": bulk_count(settings), "interval": bulk.get("interval", 0)}
    given["stagger"] = drawn(bulk.get("stagger", 0), rng)
    given["duration"] = span
    return " ".join(f"--{key} {plain(value)}" for key, value in given.items() if value)


def group_of(name: str, values: Settings) -> str:
    """As fetch and packets read it; what is 0 or false is as if not told."""
    shown = ",".join(f"{key}={plain(value)}" for key, value in values.items() if value)
    return f"{name}:{shown}"


def places_of(settings: Settings, group: Settings, rng: random.Random) -> Settings:
    """Where it goes, when it begins, and from when on it is measured, of the run's time."""
    skip = settings.get("flows", {}).get("after", 0) + group.get("skip", 0)
    found = {"host": number_of_host(group.get("host", 1))}
    if "from" in group:
        found["from"] = number_of_host(group["from"])
    return found | {"begin": drawn(group.get("begin", 0), rng), "skip": skip}


def fetch_of(settings: Settings, by_way: list[str], rng: random.Random) -> Iterator[str]:
    """The groups of fetch, some of them by way of a pair."""
    for name, group in settings["fetch"].items():
        size = group.get("bytes", 0)
        least, most = size if isinstance(size, list) else (size, 0)
        values = {"at_once": group.get("at_once", 1), "bytes": least, "most": most}
        values |= {key: group.get(key, 0) for key in ("every", "objects")}
        values["via"] = int(name in by_way)
        yield group_of(name, values | places_of(settings, group, rng))


def us_of(settings: Settings, group: Settings) -> float:
    """From one packet of a stream of `packets` to its next."""
    wire = group["bytes"] + headers_of(settings, TCP if is_tcp(group) else UDP) + ETHERNET
    return wire * 8e6 * group.get("streams", 1) / bits(group["rate"])


def packets_of(settings: Settings, rng: random.Random) -> Iterator[str]:
    """The groups of packets."""
    for name, group in settings["packets"].items():
        values = {"bytes": group["bytes"], "us": us_of(settings, group)}
        for key in ("streams", "burst", "jitter", "ports", "tuples", "count", "tcp", "rst", "syn"):
            values[key] = group.get(key, 0)
        places = places_of(settings, group, rng)
        # From before a NAT all is the router's
        nat = {"host": ROUTER} if settings["network"].get("nat") else {}
        yield group_of(name, values | places | nat)


def packets_sent(settings: Settings, group: Settings, span: float) -> float:
    """By all streams of a group of `packets`."""
    each = (span - group.get("begin", 0)) * 1e6 / us_of(settings, group)
    return group.get("streams", 1) * min(each, group.get("count", each))


def hosts_of(settings: Settings, key: str) -> list[int]:
    """The last bytes of the addresses that are not the first host's, receivers or senders."""
    groups = [one for what in ("fetch", "packets") for one in settings.get(what, {}).values()]
    found = {number_of_host(group.get(key, 1)) for group in groups} - {1}
    spread = settings.get("flows", {}).get("hosts", 0) if key == "host" else 0
    return sorted(found | {*range(HOST, HOST + spread)})


def nat_of(settings: Settings) -> int:
    """Where a NAT takes what nobody has asked for: the last byte of the address; 0: no NAT."""
    if not settings["network"].get("nat"):
        return 0
    return max(number_of_host(g.get("host", 1)) for g in settings.get("packets", {"": {}}).values())


def isp_of(settings: Settings) -> str:
    """The ISP's link, as netem is told; its FIFO has room for so many full packets."""
    if "isp" not in settings["network"]:
        return ""
    rate, ms = settings["network"]["isp"].split("/")
    return f"{rate} limit {max(round(bits(rate) * float(ms) / 1000 / WIRE_BITS), 1)}"


def route_of(tcp: Settings, mtu: int) -> str:
    """What a route tells TCP; a window of 0 is none."""
    tcp = (NS2 if tcp.get("like") == "ns2" else {}) | tcp
    mss = mtu - 40
    words = [f"advmss {mss}"] if mtu != MTU else []
    words += [f"window {tcp['window'] * mss}"] if tcp.get("window") else []
    words += [f"initcwnd {tcp['initcwnd']}"] if "initcwnd" in tcp else []
    words += [f"rto_min {plain(tcp['rto_min'] * 1000)}ms"] if "rto_min" in tcp else []
    return " ".join(words)


def modules_of_kind(words: str) -> list[str]:
    """The qdisc's own, or those of what the command sets up."""
    kind = words.split()[0]
    if kind == COMMAND:
        found = re.search(r"--kind[ =](\w+)", words)
        return [f"sch_{found[1] if found else 'las'}", "sch_ingress", *IFB_MODULES]
    return [] if kind in BUILT_IN else [f"sch_{kind}"]


def needs_isn(words: str) -> bool:
    """The last word of these decides; `plain` is not to learn."""
    told = [word for word in words.split() if word in ("learn", "no_learn", "plain")]
    return words.split()[0] == "run2c" and told[-1:] not in ([], ["learn"])


def isn_of(settings: Settings, words: str) -> str:
    """The ports of the senders that tell what run2c does not learn."""
    if not needs_isn(words):
        return ""
    network = settings["network"]
    adapted = network.get("adapted")
    if adapted is None or adapted == len(links_of(network)):
        return f"{PORT}-{LAST_FETCHED if 'fetch' in settings else LAST_PORT}"
    return f"{PORT}-{PORT + adapted - 1}" if adapted else ""


def modules_of(settings: Settings, words: str, isn: str) -> list[str]:
    """The kernel modules that a run needs."""
    bulk = settings.get("bulk", {})
    own = "links" in settings["network"] or "rtts" in bulk
    result = ["veth", "sch_htb", "sch_netem"]
    result += ["sch_prio"] if own else []
    result += ["cls_u32"] if own or "access" in bulk or "packets" in settings else []
    nat = settings["network"].get("nat")
    ifb = nat or "isp" in settings["network"]
    ifb = ifb or bulk.get("reverse", False)
    result += ["sch_ingress", "act_gact"] if "packets" in settings or ifb else []
    result += IFB_MODULES if ifb else []
    result += NAT_MODULES if nat else []
    result += modules_of_kind(words)
    result += ["run2c_isn"] if isn else []
    congestion = settings.get("tcp", {}).get("congestion", "cubic")
    return result + ([] if congestion == "reno" else [f"tcp_{congestion}"])


def mean_size(size: str) -> float:
    """Packets."""
    return parse(size).mean


def weight_of(settings: Settings, span: float) -> float:
    """Mbit that the bottleneck sends."""
    flows = settings.get("flows")
    rate = bits(settings["network"]["rate"]) / 1e6
    weight = 0.0
    if flows and "count" in flows:
        weight = flows["count"] * mean_size(flows["size"]) * flows.get("mtu", MTU) * 8 / 1e6
    elif flows:
        weight = flows["load"] * settings["duration"] * rate
    groups = settings.get("packets", {}).values()
    heedless = sum(packets_sent(settings, group, span) for group in groups)
    if "bulk" in settings or "fetch" in settings:
        return span * rate + heedless * WIRE_BITS / 1e6
    # Small packets take as long as others
    steady = settings.get("steady", {}).values()
    packets = sum(span * 1e6 / every_of(settings, flow) for flow in steady if "bytes" in flow)
    return max(1.0, weight) + (packets + heedless) * WIRE_BITS / 1e6


def watch_of(settings: Settings, words: str) -> dict[str, str]:
    watch = settings.get("watch", {})
    result = {"SAMPLES": words.split()[0]} if "samples" in watch and is_sampling(words) else {}
    if "lengths" in watch:
        times = watch.get("seconds", settings.get("duration")) / watch["lengths"]
        result["LENGTHS"] = f"{plain(watch['lengths'])} {round(times)}"
    if "queues" in watch:
        most = bulk_count(settings) + len(settings.get("steady", {})) + SPARE
        options = {"flows": most, "interval": watch["queues"], "duration": settings["duration"]}
        result["QUEUES"] = " ".join(f"--{key} {plain(value)}" for key, value in options.items())
    return result | ({"RECORD": "1"} if watch.get("record") else {})


def pair_of(settings: Settings, qdisc: str) -> dict[str, str]:
    """By way of which downloads go; nothing if there is none."""
    policy = policy_of(settings, qdisc)
    if not policy:
        return {}
    if policy == ONE:
        policy = "tcp one-carrier = yes"
    groups = list(settings.get("fetch", {}))
    ports: list[int | str] = [PORT] if "flows" in settings else []
    pair = settings["pair"]
    for name in inside(settings):
        of_type = f"={name}" if name in pair.get("types", []) else ""
        ports.append(f"{FETCHED + groups.index(name)}{of_type}")
    options = [f"types_=_{{{','.join(pair['types'])}}}"] if "types" in pair else []
    options += [f"{key}_=_{pair[key]}" for key in ("unsent", "window", "queue") if key in pair]
    told = {"PAIR": policy, "PAIR_PORTS": " ".join(map(str, ports))}
    return told | {"PAIR_OPTIONS": " ".join(options)}


def job_of(name: str, settings: Settings, qdisc: str, seed: int) -> Job:
    """One run; that of the floor is each flow alone, and nothing beside them."""
    alone, rng = qdisc == FLOOR, random.Random(seed)
    if alone:
        settings = {k: v for k, v in settings.items() if k not in BESIDE}
    network, tcp, flows = settings["network"], settings.get("tcp", {}), settings.get("flows", {})
    words = "pfifo limit 10000" if alone else settings["qdiscs"][qdisc]
    shapes = RATE in words
    words = words.replace(BUFFER, str(network.get("buffer"))).replace(RATE, network["rate"])
    after = 0 if alone else flows.get("after", 0)
    span = settings.get("duration", 0) + after
    bulk = settings.get("bulk", {})
    given = {
        "QDISC": words,
        "SHAPES": "1" if shapes else "",
        "RATE": network["rate"],
        "RTT_MS": str(network.get("rtt", 0)),
        "LINKS": " ".join(links_of(network)),
        "TCP": "ns2" if tcp.get("like") == "ns2" else "",
        "ROUTE": route_of(tcp, flows.get("mtu", MTU)),
        "CONGESTION": tcp.get("congestion", ""),
        "ECN": "" if "ecn" not in tcp else str(int(tcp["ecn"])),
        "SOCKET_MEMORY": str(tcp.get("socket_memory", "")),
        "ISN": isn_of(settings, words),
        "AFTER": plain(after) if after else "",
        "LOSS": plain(network.get("loss", 0)) if network.get("loss") and not alone else "",
    } | pair_of(settings, qdisc)
    if flows:
        options = [*flows_of(settings), "--seed", str(seed), *(["--alone"] if alone else [])]
        given["FLOWGEN"] = " ".join(options)
    if bulk:
        given["BULK"] = bulk_of(settings, span, rng)
        given["RTTS"] = " ".join(map(plain, bulk.get("rtts", [])))
        given["ACCESS"] = bulk.get("access", "")
        given["REVERSE"] = "1" if bulk.get("reverse") else ""
        minor = bulk.get("classes", {}).get(qdisc)
        given["CLASSID"] = f"10:{minor:x}" if minor else ""
    if "steady" in settings:
        given["CBR"] = steady_of(settings, rng)
    often = f"--duration {plain(span)} --seed {seed}"
    if "fetch" in settings:
        step = settings.get("watch", {}).get("fetched")
        by_way = inside(settings) if "PAIR" in given else []
        words_of = [f"--interval {plain(step)}"] if step else []
        given["FETCH"] = " ".join([often, *words_of, *fetch_of(settings, by_way, rng)])
    if "packets" in settings:
        given["PACKETS"] = " ".join([often, *packets_of(settings, rng)])
    given["HOSTS"] = " ".join(map(str, hosts_of(settings, "host")))
    given["SENDERS"] = " ".join(map(str, hosts_of(settings, "from")))
    given["SPREAD"] = "1" if "hosts" in flows else ""
    given["IPV6"] = "1" if network.get("ipv6") else ""
    given["NAT"] = str(nat_of(settings) or "")
    given["ISP"] = isp_of(settings)
    given["TUNNEL"] = "1" if network.get("tunnel") and not alone else ""
    given["GSO"] = "on" if network.get("gso") else ""
    given["VPN"] = "1" if network.get("vpn") and not alone else ""
    given |= watch_of(settings, words)
    args = [f"{key}={value}" for key, value in given.items() if value]
    needs = [SCRIPT, "net.sh", *(name for name in PROGRAMS if given.get(name.upper()))]
    needs.append("modules/tcp_sink.ko")
    needs += [NFT] if given["NAT"] else []
    needs += [f"/usr/sbin/{COMMAND}"] if words.split()[0] == COMMAND else []
    needs += [DAEMON] if "PAIR" in given else []
    needs += ["modules/sch_srpt.ko"] if words.split()[0] == "srpt" else []
    needs += [f"modules/{given['SAMPLES']}_watch.ko"] if "SAMPLES" in given else []
    modules = modules_of(settings, words, given["ISN"])
    weight = weight_of(settings, span)
    return Job(name, SCRIPT, args, modules, needs, weight, seed)


def link(settings: Settings, senders: np.ndarray) -> Link:
    """What each flow has to itself, by the port of its sender."""
    network = settings["network"]
    rate, mtu = bits(network["rate"]), settings["flows"].get("mtu", MTU)
    own = [each.split("/") for each in links_of(network)]
    if not own:
        return Link(rate, network["rtt"], mtu)
    rates = np.array([min(rate, bits(each)) for each, _ in own])
    rtts = np.array([float(rtt) for _, rtt in own])
    place = senders - PORT
    if place.size and not 0 <= place.min() <= place.max() < len(own):
        raise DataError("a flow of no sender's port")
    return Link(rates[place], rtts[place], mtu)
