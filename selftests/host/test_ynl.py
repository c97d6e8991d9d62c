# SPDX-License-Identifier: GPL-2.0
"""What the kernel's specification of tc lacks of ours (docs/ynl-tc.yaml), by the kernel's tools.

las.dump is what a kernel has told of a las and its classes: the type of each message and what comes
after its header.
"""

import copy
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vm.build import CHECKOUT
from vm.root import OWN_ROOT, SOURCE_KEPT, make_root

SPECS = "Documentation/netlink"
TOOLS = "tools/net/ynl/pyynl"
LIKE = {"class-options-msg": "options-msg", "class-stats-app-msg": "tca-stats-app-msg"}
DUMP = Path(__file__).with_name("las.dump")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("kernel")
    command = ["tar", "-C", top, "--strip-components=1", "--wildcards", "-xJf"]
    command += [make_root(OWN_ROOT) / SOURCE_KEPT, f"*/{TOOLS}/*", f"*/{SPECS}/*.yaml"]
    subprocess.run(command, check=True)
    return top


def merged(tc: dict[str, Any]) -> dict[str, Any]:
    """The kernel's with what it lacks"""
    whole = copy.deepcopy(tc)
    ours = yaml.safe_load((CHECKOUT / "docs/ynl-tc.yaml").read_text())
    for part in ("definitions", "attribute-sets"):
        whole[part] += ours[part]
    messages = {each["name"]: each for each in whole["sub-messages"]}
    for each in ours["sub-messages"]:
        name = each["name"]
        if name not in messages:
            named = {form["value"] for form in each["formats"]}
            like = messages[LIKE[name]]["formats"]
            messages[name] = {"name": name, "formats": []}
            messages[name]["formats"] += [form for form in like if form["value"] not in named]
        messages[name]["formats"] += each["formats"]
    whole["sub-messages"] = list(messages.values())
    operations = {each["name"]: each for each in whole["operations"]["list"]}
    for each in ours["operations"]["list"]:
        operations[each["name"]].update(each)
    return whole


@pytest.fixture(scope="module")
def spec(kernel: Path) -> Path:
    """Where the kernel's tools look for their schema from"""
    path = kernel / SPECS / "specs/tc.yaml"
    text = yaml.safe_dump(merged(yaml.safe_load(path.read_text())), sort_keys=False)
    path.write_text(f"# SPDX-License-Identifier: GPL-2.0\n{text}")
    return path


@pytest.fixture(scope="module")
def family(kernel: Path, spec: Path) -> Iterator[Any]:
    sys.path.insert(0, str(kernel / TOOLS))
    yield importlib.import_module("lib").YnlFamily(str(spec))
    sys.path.pop(0)


def test_it_is_valid(kernel: Path, spec: Path) -> None:
    command = [sys.executable, kernel / TOOLS / "cli.py", "--spec", spec]
    done = subprocess.run([*command, "--validate"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    said = subprocess.run([*command, "--list-attrs", "gettclass"], capture_output=True, text=True)
    assert "class-stats-attrs" in said.stdout


def decoded(family: Any, operation: str, number: str) -> list[dict[str, Any]]:
    """Of the messages of a type, what comes after struct tcmsg"""
    attributes = importlib.import_module("lib.ynl").NlAttrs
    space = family.ops[operation].attr_set.name
    lines = [line.split() for line in DUMP.read_text().splitlines()]
    found = [bytes.fromhex(content) for kind, content in lines if kind == number]
    return [family._decode(attributes(content, 20), space) for content in found]


def test_a_qdisc(family: Any) -> None:
    (told,) = decoded(family, "getqdisc", "36")
    assert told["kind"] == "las"
    options, statistics = told["options"], told["stats2"]["app"]
    assert (options["hosts"], options["plain"], options["split-gso"]) == ("src", 1, "auto")
    assert (options["rate"], options["overhead"], options["buffer"]) == ((1 << 64) - 1, -65, 0)
    assert statistics["hosts-known"] == statistics["records"] == 2 == told["xstats"]["flows-seen"]


def test_classes(family: Any) -> None:
    silent, waiting, *hosts = (each["options"] for each in decoded(family, "gettclass", "40"))
    assert (silent["type"], silent["sort"], silent["ethertype"]) == ("flow", "short", 0x86DD)
    assert (silent["src"], silent["dst"], silent["dport"]) == ("fd00::9", "fd00::2", 80)
    assert (waiting["src"], waiting["sport"], waiting["waited"]) == ("10.0.0.1", 1030, 1)
    assert [(each["type"], each["src"]) for each in hosts] == [
        ("host", "10.0.0.1"),
        ("host", "fd00::9"),
    ]
    (flow, *_) = decoded(family, "gettclass", "40")
    assert flow["stats2"]["app"] == {"type": 1, "host": silent["host"], "attained": 1000}
    assert flow["stats2"]["basic"]["bytes"] == 1000
