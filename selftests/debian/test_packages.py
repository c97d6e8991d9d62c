# SPDX-License-Identifier: GPL-2.0
"""
The life of the packages on a Debian machine, from apt install to apt purge. Each test goes on from
where the one before has left the machine.
"""

import json
import re

import pytest

from vm.deb import MODULES
from vm.debian import NEWER, Debian

PACKAGES = "shortfirst-dkms shortfirst-tools shortfirst-sched-tcp"
BUILD = 3600  # seconds for a command that builds the modules; where there is KVM it is one minute

known: dict[str, str] = {}  # what a test has seen that later ones need


def ok(vm: Debian, script: str, timeout: float = 300) -> str:
    status, said = vm.run(script, timeout)
    assert status == 0, f"{script}\nended with status {status}:\n{said}"
    return said


def installed(vm: Debian, kernel: str = "*") -> set[str]:
    """The modules of ours that kernels have, as a file"""
    found = ok(vm, f"find /lib/modules/{kernel}/ -name '*.ko*'")
    return {path.rsplit("/", 1)[1].split(".ko")[0] for path in found.split()} & MODULES


def loaded(vm: Debian) -> set[str]:
    return {line.split()[0] for line in ok(vm, "lsmod").splitlines()} & MODULES


def is_well(vm: Debian) -> None:
    """The machine has booted, and no unit has failed."""
    status, said = vm.run("systemctl is-system-running --wait", 300)
    assert (status, said) == (0, "running"), ok(vm, "systemctl --failed; journalctl -p warning -b")


def root(vm: Debian, dev: str) -> dict:
    return json.loads(ok(vm, f"tc -s -j qdisc show dev {dev} root"))[0]


def is_up(vm: Debian) -> None:
    """What was started is there, by itself or not, and packets pass."""
    is_well(vm)
    unit = "shortfirst@eth0.service"
    ok(vm, f"until systemctl is-active --quiet {unit}; do sleep 1; done", 180)
    assert " las " in (shown := ok(vm, "tc qdisc show dev eth0 root")), shown
    assert " rate 20Mbit " in shown
    shown = ok(vm, "tc qdisc show dev ifb-eth0 root")
    assert " las " in shown and " rate 95Mbit " in shown and " ingress " in shown
    shown = ok(vm, "tc filter show dev eth0 ingress")
    assert "Redirect to device ifb-eth0" in shown
    ok(vm, "ping -q -c 3 -i 0.2 -W 5 10.0.2.2")
    assert root(vm, "eth0")["packets"] >= 3 <= root(vm, "ifb-eth0")["packets"]


def is_down(vm: Debian) -> None:
    is_well(vm)
    assert f"sch_{root(vm, 'eth0')['kind']}" not in MODULES
    assert "ifb" not in ok(vm, "ip link; tc filter show dev eth0 ingress")
    assert not loaded(vm)
    assert not installed(vm)


def test_install(vm: Debian, modules: set[str]) -> None:
    is_well(vm)
    known["release"] = ok(vm, "uname -r")
    ok(vm, "apt-get -qy install /run/first/*.deb", BUILD)
    known["files"] = ok(vm, f"dpkg -L {PACKAGES}")
    assert installed(vm, known["release"]) == modules


def test_tc_loads_modules(vm: Debian, modules: set[str]) -> None:
    assert not loaded(vm)
    kinds = {name.removeprefix("sch_") for name in modules if name.startswith("sch_")}
    for kind in kinds:
        ok(vm, f"tc qdisc add dev lo root {kind}")
        assert root(vm, "lo")["kind"] == kind
        ok(vm, "tc qdisc del dev lo root")
    assert loaded(vm) == {f"sch_{kind}" for kind in kinds}


def test_start(vm: Debian) -> None:
    ok(vm, "shortfirst start eth0 --up 20mbit --down 95mbit")
    ok(vm, "shortfirst check eth0")
    is_up(vm)


def test_reboot(vm: Debian) -> None:
    vm.reboot()
    assert ok(vm, "uname -r") == known["release"]
    is_up(vm)


@pytest.mark.long
def test_installcheck(vm: Debian) -> None:
    """What is installed passes, beside a machine that is in use."""
    shown = "ip -d link; ip -d addr | sed 's/valid_lft.*//'; ip netns; tc qdisc; nft list ruleset"
    shown += "; cut -d' ' -f1 /proc/modules"
    before = sorted(ok(vm, shown).splitlines())
    ok(vm, "mkdir checks && tar -C checks -xf /run/checks.tar")
    began = float(ok(vm, "cat /proc/uptime").split()[0])
    said = ok(vm, "LIMIT=1800 make -C checks installcheck", BUILD)
    print(f"{float(ok(vm, 'cat /proc/uptime').split()[0]) - began:.0f} s\n{said}")
    assert re.search(r"^ok 1 ", said, re.MULTILINE), said
    ok(vm, "rm -r checks")
    assert sorted(ok(vm, shown).splitlines()) == before
    is_up(vm)


@pytest.mark.long
def test_upgrade_package(vm: Debian, modules: set[str]) -> None:
    """The modules are built anew, and the queues stay as they are."""
    before = root(vm, "eth0")
    ok(vm, "apt-get -qy install /run/second/*.deb", BUILD)
    assert "+second, " in (status := ok(vm, "dkms status")) and len(status.splitlines()) == 1, (
        status
    )
    after = root(vm, "eth0")
    assert after["handle"] == before["handle"] and after["packets"] >= before["packets"]
    assert installed(vm, known["release"]) == modules
    is_up(vm)


def test_upgrade_kernel(vm: Debian, modules: set[str]) -> None:
    ok(vm, f"apt-get -qy install {NEWER}/*.deb", BUILD)
    new = ok(vm, "ls -v /lib/modules").splitlines()[-1]
    assert new != known["release"]
    assert installed(vm, new) == modules
    vm.reboot()
    assert ok(vm, "uname -r") == new
    is_up(vm)


def test_remove(vm: Debian) -> None:
    """Only what was set is left, for the packages to come back."""
    ok(vm, f"apt-get -qy remove {PACKAGES}")
    is_down(vm)
    assert "up 20mbit" in ok(vm, "cat /etc/shortfirst/eth0.conf").splitlines()


@pytest.mark.long
def test_install_again(vm: Debian) -> None:
    ok(vm, "apt-get -qy install /run/first/*.deb", BUILD)
    is_up(vm)


def test_purge(vm: Debian) -> None:
    ok(vm, f"apt-get -qy purge {PACKAGES}")
    is_down(vm)
    files = " ".join(re.findall(r"^/\S+$", known["files"], re.M))
    left = ok(vm, f"for path in {files}; do [ -d $path ] || [ ! -e $path ] || echo $path; done")
    assert not left
    # Names of the whole disk, links of units and empty folders among them
    assert not ok(vm, "find / -xdev -name '*shortfirst*'; ls -d /run/shortfirst 2>/dev/null || :")
    assert not ok(vm, "find /etc/systemd -xtype l")
