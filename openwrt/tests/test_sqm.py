# SPDX-License-Identifier: GPL-2.0
"""The queue setup scripts for sqm-scripts, with sqm.sh in its place, by the shells of both."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selftests.lib.command import alone as run
from selftests.lib.options import TOP, of

HERE = Path(__file__).parent
FILES = HERE.parent / "shortfirst/files"
SHELLS = {"dash": ["dash"], "ash": ["busybox", "ash"]}
SCRIPTS = ("las", "sqf")
IFACE, IFB = "sqm0", "ifb4sqm0"
INGRESS = {"ingress": 1}

pytestmark = pytest.mark.one_kernel


class Sqm:
    def __init__(self, shell: str, script: str) -> None:
        self.kind, self.command = script, [*SHELLS[shell], HERE / "sqm.sh"]
        self.environment = {
            **{"IFACE": IFACE, "UPLINK": "8000", "DOWNLINK": "20000"},
            "PATH": f"{TOP / 'selftests/nl'}:{os.environ['PATH']}",
        }

    def do(self, verb: str, **configured: str) -> str:
        """What it says"""
        done = subprocess.run(
            [*self.command, verb, FILES / f"{self.kind}.qos"],
            env=os.environ | self.environment | configured,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def values(self, device: str) -> dict[str, Any]:
        """Those of the options that are not the defaults"""
        shown = json.loads(run(f"tc -s -j qdisc show dev {device}"))
        (root,) = [each["options"] for each in shown if each.get("root")]
        assert [each["kind"] for each in shown if each.get("root")] == [self.kind]
        table = of(self.kind)
        default = table.json(table.defaults)
        return {name: value for name, value in root.items() if value != default[name]}

    def given(self, **values: int) -> dict[str, Any]:
        return of(self.kind).json(values)


def state() -> str:
    devices = " ".join(sorted(os.listdir("/sys/class/net")))
    return devices + run("tc qdisc show") + run(f"tc filter show dev {IFACE} ingress")


def sent(device: str) -> int:
    return json.loads(run(f"tc -s -j qdisc show dev {device}"))[0]["packets"]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=SCRIPTS)
def sqm(request: pytest.FixtureRequest, shell: str) -> Iterator[Sqm]:
    run("ip netns add sqm")
    run(f"ip link add {IFACE} type veth peer name net0 netns sqm")
    run(f"ip addr add 10.7.0.1/24 dev {IFACE}")
    run(f"ip link set {IFACE} up")
    run("ip -n sqm addr add 10.7.0.2/24 dev net0")
    run("ip -n sqm link set net0 up")
    yield Sqm(shell, request.param)
    run(f"ip link del {IFACE}")
    if os.path.isdir(f"/sys/class/net/{IFB}"):
        run(f"ip link del {IFB}")
    run("ip netns del sqm")


def test_both_directions(sqm: Sqm) -> None:
    before = state()
    for _ in range(2):
        assert sqm.do("start") == ""
        assert sqm.values(IFACE) == sqm.given(rate=10**6)
        assert sqm.values(IFB) == sqm.given(rate=2500000, **INGRESS)
        counted = sent(IFACE), sent(IFB)
        run("ping -q -c 5 -i 0.01 10.7.0.2")
        assert sent(IFACE) >= counted[0] + 5 and sent(IFB) >= counted[1] + 5
        assert sqm.do("stop") == ""
        assert state() == before


def test_one_direction(sqm: Sqm) -> None:
    before = state()
    sqm.do("start", DOWNLINK="0")
    assert sqm.values(IFACE) == sqm.given(rate=10**6)
    assert f"dev {IFACE} ingress" not in run(f"tc qdisc show dev {IFACE}")
    sqm.do("stop", DOWNLINK="0")
    assert state() == before
    sqm.do("start", UPLINK="0")
    assert sqm.values(IFB)["rate"] == 2500000
    assert "noqueue" in run(f"tc qdisc show dev {IFACE} root")


@pytest.mark.parametrize(
    ("configured", "link"),
    [
        ({"OVERHEAD": "44", "STAB_MPU": "84"}, {}),
        ({"LINKLAYER": "ethernet", "OVERHEAD": "18"}, {"overhead": 18}),
        ({"LINKLAYER": "ethernet", "OVERHEAD": "-4"}, {"overhead": -4}),
        (
            {"LINKLAYER": "ethernet", "OVERHEAD": "38", "STAB_MPU": "84"},
            {"overhead": 38, "mpu": 84},
        ),
        ({"LINKLAYER": "atm", "OVERHEAD": "32"}, {"overhead": 32, "framing": 1}),
        ({"LINKLAYER": "adsl", "OVERHEAD": "10"}, {"overhead": 10, "framing": 1}),
    ],
)
def test_link_layer(sqm: Sqm, configured: dict[str, str], link: dict[str, int]) -> None:
    assert sqm.do("start", **configured) == ""
    assert sqm.values(IFACE) == sqm.given(rate=10**6, **link)
    assert sqm.values(IFB) == sqm.given(rate=2500000, **link, **INGRESS)


def test_option_strings(sqm: Sqm) -> None:
    """Have the last word"""
    words = {"EQDISC_OPTS": "hosts src nat", "IQDISC_OPTS": "hosts dst nat buffer 300ms"}
    assert sqm.do("start", **words) == ""
    assert sqm.values(IFACE) == sqm.given(rate=10**6, hosts=1, nat=1)
    assert sqm.values(IFB) == sqm.given(rate=2500000, hosts=2, nat=1, **INGRESS | {"buffer": 300})


def test_refused_option(sqm: Sqm) -> None:
    said = sqm.do("start", EQDISC_OPTS="mpu 257")
    assert said.startswith("ERROR: tc: ") and f"Error: {sqm.kind}: mpu must be " in said
    assert sqm.values(IFB)


def test_tc_without_plugins(sqm: Sqm) -> None:
    before = state()
    assert sqm.do("start", TC_LIB_DIR="/nonexistent", LINKLAYER="ethernet", OVERHEAD="18") == ""
    assert sqm.values(IFACE) == sqm.given(rate=10**6, overhead=18)
    assert sqm.values(IFB) == sqm.given(rate=2500000, overhead=18, **INGRESS)
    sqm.do("stop", TC_LIB_DIR="/nonexistent")
    assert state() == before
    said = sqm.do("start", TC_LIB_DIR="/nonexistent", EQDISC_OPTS="mpu 257")
    assert said.startswith("ERROR: shortfirst-nl: ")


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script: str) -> None:
    """What LuCI lists beside the scripts"""
    assert script in (FILES / f"{script}.qos.help").read_text()
