# SPDX-License-Identifier: GPL-2.0
"""All processors send through our qdiscs while others look at these, change and replace them, give
them filters, take the link down and try to unload the modules. Afterwards all packets are accounted
for: what was sent has left, was dropped and counted as that, or is freed.

On the kcsan kernel a data race of ours ends up on the console (vm/console.py).
"""

import json
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from selftests.lib.command import alone, do, refused, run, unload
from selftests.lib.crowd import (
    PROCESSORS,
    Crowd,
    Options,
    Sender,
    change,
    connect,
    filters,
    obeyed,
    receive,
    show,
    transmit,
    write,
)
from selftests.lib.options import KINDS

pytestmark = [pytest.mark.processors, pytest.mark.debug_kernel]
SPACE = "crowd"  # a namespace
WHILE_IT_GOES = 1.5  # s, in which packets are sent to a device that goes with its namespace
# What commands may say that fail
WHATEVER, NEVER = "", "\0"
# A kind is that for a moment when it was loaded to be used; the next one may have its handle
UNLOADED = "kind is unknown|must match existing qdisc"
CYCLE = 8  # s between two of them

# Bytes of memory that a sender's packets may take until they are freed: more than fit into a queue.
# Where all senders share one, whoever has its lock may have to queue all that they have sent, and
# nothing else runs on his processor meanwhile. With 64 MB each that took 67 s on the kcsan kernel.
ROOM, ROOM_SHARED = 64 << 20, 8 << 20
ROOM_BUNDLES = 16 << 20  # a bundle takes many times as long as another packet

KCSAN = Path("/sys/kernel/debug/kcsan")
SAMPLING = Path("/sys/module/kcsan/parameters")


def sample() -> None:
    """Let the kernel look at ever other accesses to memory, and for how long each waits for another
    one of the same place. Emulated processors are slow, and may not run side by side. Most is
    found if about as much time is spent in accesses as in waiting for them; and a bundle of
    segments that is queued with the lock held has a hundred thousand of them."""
    rng = random.Random("sample")
    while True:
        time.sleep(0.05)
        (SAMPLING / "skip_watch").write_text(str(rng.randint(500, 4000)))
        for context, most in (("task", 200), ("interrupt", 50)):
            (SAMPLING / f"udelay_{context}").write_text(str(rng.randint(1, most)))


@pytest.fixture(scope="module", autouse=True)
def races_are_looked_for() -> Iterator[None]:
    """By the kernel that can"""
    if not KCSAN.exists():
        yield
        return
    sampler = multiprocessing.get_context("fork").Process(target=sample, daemon=True)
    sampler.start()
    KCSAN.write_text("on")
    yield
    KCSAN.write_text("off")
    sampler.terminate()


@pytest.fixture
def no_burst_is_too_large() -> Iterator[None]:
    """Of packets that have come while one processor had the lock newer kernels drop what is too
    much, before a qdisc sees it. Where nothing is counted they may: whoever has the lock queues
    what others have sent meanwhile, and where that is bundles others are soon faster than he is."""
    most = Path("/proc/sys/net/core/qdisc_max_burst")
    if not most.exists():
        yield
        return
    was = most.read_text()
    most.write_text("1000000")
    yield
    most.write_text(was)


@contextmanager
def senders_of(dev: str, room: int, bundles: bool = False) -> Iterator[list[Sender]]:
    """One for each processor; at last the device is taken away, if it is there."""
    senders = [Sender(dev, number, room, bundles) for number in range(len(PROCESSORS))]
    try:
        yield senders
    finally:
        for sender in senders:
            sender.sock.close()
        do(f"ip link del {dev}")


def device(dev: str, queues: int) -> None:
    run(f"ip link add {dev} numtxqueues {queues} type dummy")
    Path(f"/proc/sys/net/ipv6/conf/{dev}/disable_ipv6").write_text("1")
    for number in range(queues) if queues > 1 else ():
        mask = 1 << PROCESSORS[number % len(PROCESSORS)]
        Path(f"/sys/class/net/{dev}/queues/tx-{number}/xps_cpus").write_text(f"{mask:x}")
    run(f"ip link set {dev} up")


def told(dev: str) -> dict[str, dict]:
    """What tc shows of its qdiscs, by handle"""
    return {each["handle"]: each for each in json.loads(alone(f"tc -s -j qdisc show dev {dev}"))}


def freed(senders: list[Sender]) -> None:
    end = time.monotonic() + 60
    while any(sender.unfreed() for sender in senders):
        assert time.monotonic() < end, "packets were leaked"
        time.sleep(0.05)


def rmmod_refused(kind: str) -> Iterator[int]:
    """While it is used: how often"""
    while True:
        assert "in use" in refused(f"rmmod sch_{kind}")
        yield 1
        time.sleep(0.1)


def reload(kinds: list[str]) -> Iterator[int]:
    """Unload modules whenever nothing uses them, and load them again: how often."""
    rng = random.Random("reload")
    while True:
        kind = rng.choice(kinds)
        if do(f"rmmod sch_{kind}").succeeded:
            run(f"modprobe sch_{kind}")
            yield 1
        yield 0


def check_accounts(dev: str, at: dict[str, str], senders: list[Sender], seconds: float) -> None:
    """Of qdiscs that stay: {where it is: its kind}; all that is done to one is done at once."""
    handles = [place.split()[-1] for place in at]
    crowd = Crowd()
    for cpu, sender in zip(PROCESSORS, senders, strict=True):
        crowd.begin(sender.run, cpu)
    crowd.begin(show, dev)
    crowd.begin(change, dev, [(place, Options(kind, place)) for place, kind in at.items()])
    crowd.begin(filters, dev, handles)
    for kind in set(at.values()):
        crowd.begin(rmmod_refused, kind)
    crowd.go_on(seconds)
    sent = sum(crowd.end()[: len(senders)])

    for place, kind in at.items():
        run(f"tc qdisc change dev {dev} {place} {kind} rate unlimited")
    freed(senders)
    found = told(dev)
    ours = [found[handle] for handle in handles]
    assert not any(each[name] for each in ours for name in ("qlen", "backlog", "memory"))
    left, dropped = (sum(each[name] for each in ours) for name in ("packets", "drops"))
    assert (left + dropped, dropped > 0) == (sent, True)
    gone = json.loads(alone(f"ip -s -j link show dev {dev}"))[0]["stats64"]["tx"]
    assert (gone["packets"], gone["bytes"]) == (left, sum(each["bytes"] for each in ours))


def unload_all(kinds: list[str]) -> None:
    for kind in kinds:
        unload(f"sch_{kind}")
        run(f"modprobe sch_{kind}")


@pytest.mark.races
def test_a_race_is_found() -> None:
    """In a module that has one, or else what else is found here means nothing."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    end, said = time.monotonic() + 60, ""
    run("insmod selftests/modules/race_test.ko")
    try:
        while "data-race in race_test_count [race_test]" not in said:
            assert time.monotonic() < end
            try:
                said = os.read(log, 8192).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.1)
    finally:
        run("rmmod race_test")
        os.close(log)


@pytest.mark.usefixtures("no_burst_is_too_large")
def test_one_queue(kind: str, seconds: float) -> None:
    dev = f"many_{kind}"
    device(dev, 1)
    run(f"tc qdisc add dev {dev} root handle 10: {kind}")
    with senders_of(dev, ROOM_SHARED) as senders:
        check_accounts(dev, {"root handle 10:": kind}, senders, seconds)
    unload_all([kind])


@pytest.mark.usefixtures("no_burst_is_too_large")
def test_a_queue_for_each_processor(seconds: float) -> None:
    """mq has no lock of its own for all of them."""
    dev, at = "many_mq", {}
    device(dev, len(PROCESSORS))
    run(f"tc qdisc add dev {dev} root handle 1: mq")
    for number in range(1, len(PROCESSORS) + 1):
        kind = KINDS[number % len(KINDS)]
        place = f"parent 1:{number} handle {number}0:"
        run(f"tc qdisc add dev {dev} {place} {kind}")
        at[place] = kind
    with senders_of(dev, ROOM) as senders:
        check_accounts(dev, at, senders, seconds)
    unload_all(KINDS)


HANDLES = 3


def commands(what: str, rounds: int = 14) -> list[str]:
    """That do this with kinds and options of all sorts, and with others, again and again"""
    rng, found = random.Random(what), []
    for i in range(rounds * HANDLES):
        kind = rng.choice([*KINDS, *KINDS, "pfifo", "fq_codel"])
        options = Options(kind, f"{what} {i}").text() if kind in KINDS else ""
        # With the handle that is there, of the last for the first, too, another kind is refused
        found.append(f"tc qdisc {what.format(i % HANDLES + 1)} {kind} {options}")
    return found


def test_nothing_stays(seconds: float) -> None:
    dev = "many"
    device(dev, 1)
    with senders_of(dev, ROOM_BUNDLES, bundles=True) as senders:
        crowd = Crowd()
        for cpu, sender in zip(PROCESSORS, senders, strict=True):
            crowd.begin(sender.run, cpu)
        crowd.begin(show, dev)
        crowd.begin(obeyed, commands(f"replace dev {dev} root handle {{}}0:"), UNLOADED)
        crowd.begin(obeyed, [f"ip link set {dev} {to}" for to in ("down", "up")], NEVER)
        crowd.begin(obeyed, commands(f"change dev {dev} root"), WHATEVER, idle=True)
        filters = [f"tc filter {verb} dev {dev} pref 1 matchall" for verb in ("add", "del")]
        crowd.begin(obeyed, filters, WHATEVER, idle=True)
        crowd.begin(reload, KINDS)
        crowd.go_on(seconds)
        crowd.end()
        do(f"tc qdisc del dev {dev} root")
        freed(senders)
    unload_all(KINDS)


def ingress(kind: str, seconds: float) -> None:
    """What comes is sent through a queue before it goes on, and the namespace goes meanwhile."""
    here = ("-n", SPACE)
    for command in (
        f"ip netns add {SPACE}",
        f"ip link add out type veth peer name in netns {SPACE}",
        "ip address add 10.9.0.1/24 dev out",
        "ip link set out up",
        f"ip -n {SPACE} link add ifb0 type ifb",
        f"ip -n {SPACE} link set ifb0 up",
        f"ip -n {SPACE} address add 10.9.0.2/24 dev in",
        f"ip -n {SPACE} link set in up",
        f"tc -n {SPACE} qdisc add dev in clsact",
        f"tc -n {SPACE} filter add dev in ingress matchall action mirred egress redirect dev ifb0",
        f"tc -n {SPACE} qdisc add dev ifb0 root handle {HANDLES + 1}0: {kind} rate 100mbit",
        f"tc -n {SPACE} qdisc add dev in root handle 10: {kind}",
    ):
        alone(command)
    with senders_of("out", ROOM_BUNDLES, bundles=True) as senders:
        sending, others = Crowd(), Crowd()
        others.begin(receive, SPACE, 5001)
        for _ in range(2):
            others.begin(transmit, "10.9.0.2", 5001)
        # A device's backlog is full of what these send: it takes minutes to connect through that.
        others.go_on(0)
        for cpu, sender in zip(PROCESSORS, senders, strict=True):
            sending.begin(sender.run, cpu)
        for dev in ("ifb0", "in"):
            others.begin(show, dev, *here)
        others.begin(obeyed, commands("replace dev ifb0 root handle {}0:"), NEVER, *here)
        others.begin(obeyed, commands("change dev ifb0 root"), WHATEVER, *here, idle=True)
        others.go_on(seconds)
        others.end()
        sending.go_on(0)  # who has not sent anything yet cannot any more
        run(f"ip netns del {SPACE}")
        sending.go_on(WHILE_IT_GOES)
        sending.end()
        freed(senders)
    end = time.monotonic() + 60
    while do("ip link show dev out").succeeded:
        assert time.monotonic() < end, "the namespace has not gone"
        time.sleep(0.1)


@pytest.mark.kprobes
def test_parameters(seconds: float) -> None:
    """Those of run2c_isn, while connections begin"""
    run("modprobe run2c_isn")
    parameters = {
        "span": ("65536", "4194304"),
        "ports": ("1-9000", "0-65535"),
        "enabled": ("N", "Y"),
    }
    crowd = Crowd()
    for cpu in PROCESSORS:
        crowd.begin(connect, 7000 + cpu, cpu)
    for chosen in (parameters, dict(reversed(parameters.items()))):
        there = {f"/sys/module/run2c_isn/parameters/{n}": v for n, v in chosen.items()}
        crowd.begin(write, there)
    crowd.go_on(seconds)
    crowd.end()
    unload("run2c_isn")


def test_ingress(seconds: float) -> None:
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end or not number:
        ingress(KINDS[number % len(KINDS)], min(CYCLE, seconds))
        number += 1
    unload_all(KINDS)
