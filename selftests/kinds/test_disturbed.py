# SPDX-License-Identifier: GPL-2.0
"""While packets wait and somebody looks all the time: the clock jumps, the machine sleeps,
interfaces and their namespaces go, and modules are to go.

    netns disturbed: q0, a dummy --- KIND 10: with a rate
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from selftests.lib.command import alone, do, unload
from selftests.lib.gate import Device, host_flow
from selftests.lib.options import KINDS, of

NETNS = "disturbed"
DAY = 86400
ALARM = Path("/sys/class/rtc/rtc0/wakealarm")
LOOKS = f"""while :; do
	tc -n {NETNS} -s qdisc show dev q0
	tc -n {NETNS} -s class show dev q0
	sleep 0.01
done"""
FLOOD = """
import socket, sys, time
sys.path.insert(0, ".")
from selftests.lib.gate import host_flow
frames = [host_flow(n, n % 9, n % 7).frame(100 + n, n) for n in range(400)]
while True:
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            sock.bind(("q0", 0))
            while True:
                for frame in frames:
                    try:
                        sock.send(frame, socket.MSG_DONTWAIT)
                    except OSError as error:
                        if error.errno not in (11, 105):  # there is no room, or it was dropped
                            raise
                time.sleep(0.01)
    except OSError:  # it is gone
        time.sleep(0.005)
"""


@contextmanager
def running(*command: str) -> Iterator[None]:
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
        assert process.poll() is None, f"{command} has ended"
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def options(kind: str) -> str:
    """With what can be looked at of flows and hosts"""
    table = of(kind)
    return table.text(table.records | ({"hosts": 1} if "hosts" in table else {}))


def add(kind: str) -> None:
    words = f"tc -n {NETNS} qdisc add dev q0 root handle 10: {kind} rate 2mbit {options(kind)}"
    alone(words)


def packets() -> int:
    """That wait"""
    told = alone(f"tc -n {NETNS} -s qdisc show dev q0 root")
    return int(told.partition("backlog ")[2].split()[1].removesuffix("p"))


def add_link() -> None:
    alone(f"ip -n {NETNS} link add q0 type dummy")
    alone(f"ip -n {NETNS} link set q0 up")


def until_some_wait() -> None:
    for _ in range(2000):
        if packets() > 5:
            return
        time.sleep(0.01)
    raise AssertionError("none waits")


@pytest.fixture
def namespace() -> Iterator[None]:
    """With a load, and with somebody who looks"""
    alone(f"ip netns add {NETNS}")
    add_link()
    load = ("ip", "netns", "exec", NETNS, "/usr/bin/python3", "-c", FLOOD)
    with running(*load), running("sh", "-c", LOOKS):
        yield
    do(f"ip netns del {NETNS}")


def users(kind: str) -> int:
    return int(Path(f"/sys/module/sch_{kind}/refcnt").read_text())


def test_links_and_the_namespace_go(namespace: None, kind: str) -> None:
    alone(f"modprobe sch_{kind}")
    before = users(kind)
    for _ in range(4):
        add(kind)
        until_some_wait()
        assert users(kind) == before + 1
        alone(f"ip -n {NETNS} link del q0")
        add_link()
    add(kind)
    until_some_wait()
    # Whoever is in it keeps it, but not the link, nor that from being looked at meanwhile
    alone(f"ip -n {NETNS} link set q0 down")
    alone(f"ip -n {NETNS} link set q0 up")
    alone(f"ip -n {NETNS} link del q0")
    alone(f"ip netns del {NETNS}")
    end = time.monotonic() + 60
    while users(kind) != before:
        assert time.monotonic() < end, users(kind)
        time.sleep(0.05)


def test_the_module_goes(namespace: None, kind: str) -> None:
    """Not while it is used; and then it is loaded by itself."""
    for _ in range(4):
        add(kind)
        until_some_wait()
        refused = do(f"rmmod sch_{kind}")
        assert not refused.succeeded and "in use" in refused.stderr
        alone(f"tc -n {NETNS} qdisc del dev q0 root")
        unload(f"sch_{kind}")
        assert not Path(f"/sys/module/sch_{kind}").exists()


def test_the_clock_jumps(device: Device, kind: str) -> None:
    """Nothing is late, and nothing is forgotten."""
    words = f"{kind} rate 1mbit {options(kind)} buffer 0"
    alone(f"tc qdisc replace dev d0 root handle 10: {words}")
    clock = time.CLOCK_REALTIME
    began = time.clock_gettime(clock) - time.monotonic()
    known = []
    try:
        for days in (0, 0, 4000, -15000, 1):
            time.clock_settime(clock, time.monotonic() + began + days * DAY)
            for number in range(20):
                device.send(host_flow(number, number % 3, 2).frame(1000, number))
            start = time.monotonic()
            device.wait_until_empty(kind)
            assert len(device.frames()) == 20
            told = device.show()
            known.append((told["records"], told["evictions"], told["drops"]))
            assert time.monotonic() - start < 15  # s; 20 frames take 0.16
    finally:
        time.clock_settime(clock, time.monotonic() + began)
    # With the first of its packets a flow need not have been sampled
    assert set(known[1:]) == {(20, 0, 0)}, known


class Own(Device):
    """A device for each kind"""

    def __init__(self, kind: str) -> None:
        self.dev = f"q-{kind}"
        super().__init__(kind)

    def close(self) -> None:
        super().close()
        alone(f"ip link del {self.dev}")


def sleep(seconds: int) -> None:
    ALARM.write_text("0")
    ALARM.write_text(f"+{seconds}")
    Path("/sys/power/state").write_text("mem")


@pytest.mark.each_kernel
@pytest.mark.suspends
def test_the_machine_sleeps() -> None:
    """What waits goes on where it was: nothing is lost, and nothing goes at once that could have
    gone meanwhile. All kinds in one sleep: QEMU's clock wakes the machine once only."""
    rate, count, size = 12_500, 40, 1000  # bytes in a second
    with ExitStack() as stack:
        devices = [stack.enter_context(closing(Own(kind))) for kind in KINDS]
        for device in devices:
            words = f"{device.kind} rate {rate}bps {options(device.kind)} buffer 0"
            alone(f"tc qdisc replace dev {device.dev} root handle 10: {words}")
        began, lost = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        for device in devices:
            for number in range(count):
                assert device.send(host_flow(number, number % 3, 2).frame(size, number))
        sleep(8)  # going to sleep may take some of that, and clocks count whole seconds
        sent = [len(device.frames()) for device in devices]
        awake = time.monotonic() - began
        slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic() - lost
        assert slept > 1
        assert max(sent) <= awake * rate / size + 2, (sent, awake)
        for device, before in zip(devices, sent, strict=True):
            device.wait_until_empty(device.kind)
            assert before + len(device.frames()) == count
            told = device.show()
            assert (told["drops"], told["backlog"]) == (0, 0)
