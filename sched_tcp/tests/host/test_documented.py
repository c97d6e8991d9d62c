# SPDX-License-Identifier: GPL-2.0
"""What the man pages say of options, and whether their examples are read."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sched_tcp.tests.host.test_config import NUMBERS, Files
from sched_tcp.tests.programs import ENVIRONMENT, FOLDER, run

PAGE = (FOLDER / "sched-tcp.conf.5").read_text()
POLICIES = "tcp srpt las fair mu".split()
# What the unit keeps the daemon from
SANDBOX = "NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes PrivateDevices=yes".split()
SANDBOX += "MemoryDenyWriteExecute=yes RestrictNamespaces=yes".split()


def section(name: str) -> str:
    """Of the option, or of the options that have it in their heading"""
    for heading, text in re.findall(r"^\.SS (.*)\n((?:(?!\.S[SH]).*\n)*)", PAGE, re.M):
        if name in re.findall(r"[\w-]+", heading.replace("\\", "")):
            return " ".join(re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.M).split())
    raise AssertionError(f"sched-tcp.conf.5 has no section of {name}")


def test_all_options() -> None:
    source = (FOLDER / "config.c").read_text()
    names = set(re.findall(r"\b(?:OPTION|LIST|CFG_SEC)\(\"([\w-]+)\"", source))
    assert len(names) > 25
    for name in names - {"peer"}:
        assert section(name)


@pytest.mark.parametrize(("name", "least", "most", "default", "unit"), NUMBERS)
def test_numbers(name: str, least: str, most: str, default: int, unit: bool) -> None:
    text = section(name)
    assert re.search(rf"From {least} to {most}\b", text)
    said = f"{default >> 20}M" if unit and default else str(default)
    assert re.search(rf"[Dd]efault is {said}\b", text)


def test_policies() -> None:
    page = (FOLDER / "sched-tcp.8").read_text()
    policies = page[page.index(".SH POLICIES") : page.index(".SH TELLING SIZES")]
    assert re.findall(r"^\.TP\n\.B (\w+)\n", policies, re.M) == POLICIES
    assert all(re.search(rf"\b{name}\b", section("policy")) for name in POLICIES)
    assert " ".join(POLICIES) in (FOLDER / "sched-tcp.bash").read_text()


@pytest.mark.parametrize("example", re.findall(r"^\.EX\n(.*?)^\.EE", PAGE, re.M | re.S)[-2:])
def test_examples(tmp_path: Path, config_say: Path, example: str) -> None:
    text = re.sub(r'"/etc/sched-tcp/\w+\.key"', '"KEY"', example.replace("\\-", "-"))
    assert Files(tmp_path, config_say).read(text)["peers"][0]["name"] == "site"


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
@pytest.mark.parametrize("page", ["sched-tcp.8", "sched-tcp.conf.5"])
def test_pages_are_set(page: str) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-K", "utf-8", str(FOLDER / page)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr and len(done.stdout.splitlines()) > 100


def test_unit() -> None:
    lines = (FOLDER / "sched-tcp.service").read_text().splitlines()
    assert set(SANDBOX) <= set(lines)
    (bound,) = (each for each in lines if each.startswith("CapabilityBoundingSet="))
    assert bound.split("=")[1].split() == ["CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE"]


COMPLETIONS = [
    ("sched-tcp ", "policy status"),
    ("sched-tcp s", "status"),
    ("sched-tcp --te", "--test"),
    ("sched-tcp status --f", "--flows"),
    ("sched-tcp -s x policy ", "far near"),
    ("sched-tcp policy --socket x n", "near"),
    ("sched-tcp policy far ", "fair las mu srpt tcp"),
    ("sched-tcp policy far m", "mu"),
    ("sched-tcp policy far mu ", ""),
]


@pytest.mark.parametrize(("line", "words"), COMPLETIONS)
def test_completion(line: str, words: str) -> None:
    script = f"""
        sched-tcp() {{ echo '{{"peers":[{{"name":"far","x":1}},{{"name": "near"}}]}}'; }}
        . {FOLDER}/sched-tcp.bash
        read -ra COMP_WORDS <<<"$1"
        [[ $1 != *' ' ]] || COMP_WORDS+=('')
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _sched_tcp
        echo "${{COMPREPLY[*]}}" | tr ' ' '\\n' | sort | xargs
    """
    done = run("bash", "-c", script, "bash", line)
    assert (done.stdout.strip(), done.stderr) == (words, "")
