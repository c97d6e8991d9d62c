# SPDX-License-Identifier: GPL-2.0
"""The init and the hotplug script, with rc.common in place of OpenWrt's, and the real command.

They are put where OpenWrt has them, which the tests' machine has nothing of.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selftests.lib.command import alone as run

HERE = Path(__file__).parent
FILES = HERE.parent / "shortfirst/files"
ETC = Path("/etc/shortfirst")
MARK = "# Of /etc/config/shortfirst, section"
PUT = {
    Path("/etc/rc.common"): HERE / "rc.common",
    Path("/etc/init.d/shortfirst"): FILES / "shortfirst.init",
    Path("/lib/functions/network.sh"): None,
}
TRIGGERS = "reload when shortfirst changes\nreload with interface wan\n"

pytestmark = pytest.mark.one_kernel


class Router:
    def __init__(self, home: Path, shell: list[str]) -> None:
        self.shell, self.uci = shell, home / "uci"
        self.networks = "lan=br-lan wan=wan0"
        shutil.copy(FILES / "shortfirst.config", self.uci)

    def set(self, *options: str, section: str = "wan") -> None:
        """As `uci set` would, with a section that has these options"""
        lines = [f"\toption {name} '{value}'" for name, value in (o.split("=") for o in options)]
        self.uci.write_text("\n".join([f"config interface '{section}'", *lines, ""]))

    def do(self, *words: str | Path, **environment: str) -> str:
        done = subprocess.run(
            [*self.shell, *words],
            env=os.environ | {"UCI": str(self.uci), "NETWORKS": self.networks} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def service(self, verb: str) -> str:
        return self.do("/etc/rc.common", "/etc/init.d/shortfirst", verb)

    def hotplug(self, action: str, device: str, enabled: str = "1") -> str:
        script = FILES / "shortfirst.hotplug"
        return self.do(script, ACTION=action, DEVICENAME=device, ENABLED=enabled)


def root(device: str) -> dict[str, Any]:
    shown = json.loads(run(f"tc -s -j qdisc show dev {device}"))
    return next((each for each in shown if each.get("root")), {})


def rate(device: str) -> int:
    return root(device).get("options", {}).get("rate", 0)


def state() -> str:
    return " ".join(sorted(os.listdir("/sys/class/net"))) + run("tc qdisc show")


def written(path: Path) -> tuple[int, int]:
    """Which file, and when, unless somebody writes it again"""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def add(device: str) -> None:
    run(f"ip link add {device} type dummy")
    run(f"ip link set {device} up")


@pytest.fixture(params=["dash", "busybox ash"])
def router(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Router]:
    for path, source in PUT.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes() if source else b"")
        path.chmod(0o755)
    shutil.rmtree(ETC, ignore_errors=True)
    add("wan0")
    made = Router(tmp_path, request.param.split())
    yield made
    made.service("stop")
    shutil.rmtree(ETC)
    for path in PUT:
        path.unlink()
    for device in ("wan0", "wan1"):
        if os.path.isdir(f"/sys/class/net/{device}"):
            run(f"ip link del {device}")


def test_as_installed(router: Router) -> None:
    """Nothing is set up until it is enabled; the rest of what is installed can be."""
    before = state()
    assert router.service("start") == TRIGGERS
    assert state() == before and not list(ETC.glob("*"))
    told = router.uci.read_text()
    router.uci.write_text(re.sub("enabled '0'", "enabled '1'", told))
    assert router.service("start") == TRIGGERS
    assert (ETC / "wan0.conf").read_text().splitlines() == [
        f"{MARK} wan",
        *("up 19mbit", "down 86mbit", "link ethernet", "hosts wan", "nat"),
    ]
    options = root("wan0")["options"]
    assert (options["rate"], options["hosts"], options["overhead"]) == (2375000, "src", 38)
    assert root("ifb-wan0")["options"]["rate"] == 10750000
    assert router.service("stop") == ""
    assert state() == before


def test_again_and_changed(router: Router) -> None:
    router.set("up=8mbit", "up_options=limit 500", "kind=sqf")
    router.service("start")
    file, first = written(ETC / "wan0.conf"), root("wan0")
    assert (first["kind"], first["options"]["limit"]) == ("sqf", 500)
    router.service("reload")
    assert written(ETC / "wan0.conf") == file and root("wan0") == first
    router.set("up=9mbit", "up_options=limit 500", "kind=sqf")
    router.service("reload")
    assert rate("wan0") == 1125000 and root("wan0")["handle"] == first["handle"]
    router.set("up=9mbit", "enabled=0")
    router.service("reload")
    assert root("wan0")["kind"] == "noqueue" and not list(ETC.glob("*"))


def test_network_comes_and_goes(router: Router) -> None:
    router.networks = ""
    router.set("up=8mbit")
    assert router.service("start") == TRIGGERS
    assert not list(ETC.glob("*"))
    router.networks = "wan=wan0"
    router.service("reload")
    file = written(ETC / "wan0.conf")
    assert rate("wan0") == 10**6
    router.networks = ""
    run("ip link del wan0")
    router.service("reload")
    assert written(ETC / "wan0.conf") == file
    add("wan0")
    router.networks = "wan=wan0"
    router.service("reload")
    assert rate("wan0") == 10**6 and written(ETC / "wan0.conf") == file
    add("wan1")
    router.networks = "wan=wan1"
    router.service("reload")
    assert (rate("wan0"), rate("wan1")) == (0, 10**6)
    assert [path.name for path in ETC.glob("*")] == ["wan1.conf"]


def test_device(router: Router) -> None:
    """Of its own, whatever network has"""
    add("wan1")
    router.set("up=8mbit", "device=wan1")
    router.service("start")
    assert (rate("wan0"), rate("wan1")) == (0, 10**6)
    router.set("up=8mbit", "device=wan1", section="other")
    assert router.service("reload").endswith("reload with interface other\n")
    assert (ETC / "wan1.conf").read_text().startswith(f"{MARK} other\n")
    assert rate("wan1") == 10**6


def test_of_the_command(router: Router) -> None:
    """What `shortfirst start` has written is set up, too, and not taken away."""
    add("wan1")
    router.set("up=8mbit")
    run("shortfirst start wan1 --up 3mbit")
    run("shortfirst clear wan1")
    router.service("start")
    assert (rate("wan0"), rate("wan1")) == (10**6, 375000)
    router.service("stop")
    assert (rate("wan0"), rate("wan1")) == (0, 0)
    assert {path.name for path in ETC.glob("*")} == {"wan0.conf", "wan1.conf"}


def test_failure_is_told(router: Router) -> None:
    router.set("up=8mbit", "kind=nosuch")
    said = router.service("start")
    assert "apply wan0: " in said and "nosuch" in said


def test_hotplug(router: Router) -> None:
    router.set("up=8mbit")
    router.service("start")
    run("ip link del wan0")
    add("wan0")
    for action, device, enabled in (
        ("remove", "wan0", "1"),
        ("add", "wan0", ""),
        ("add", "lo", "1"),
    ):
        router.hotplug(action, device, enabled)
        assert rate("wan0") == 0
    router.hotplug("add", "wan0")
    assert rate("wan0") == 10**6
    run("ip link set wan0 down")
    run("ip link set wan0 name wan1")
    (ETC / "wan0.conf").rename(ETC / "wan1.conf")
    run("tc qdisc del dev wan1 root")
    router.hotplug("move", "wan1")
    assert rate("wan1") == 10**6
