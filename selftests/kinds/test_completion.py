# SPDX-License-Identifier: GPL-2.0
"""The usage that tc tells, and what bash completion makes of it.

That is with the completion of tc that the system has.
"""

import re
import subprocess
from pathlib import Path

import pytest

from selftests.lib.options import BYTES, MS, RATE, RATE64, of

OURS = "/etc/bash_completion.d/tc-shortfirst"
# As bash-completion does it, of which the tests' machine has only tc's part
SCRIPT = """
complete() { :; }
. /usr/share/bash-completion/completions/tc
. "$1"
_shortfirst_tc_others() { COMPREPLY=(others); }
shift
kind=$1
words=(tc qdisc add dev d0 root "$@")
cword=$((${#words[@]} - 1))
cur=${words[cword]} prev=${words[cword - 1]} COMPREPLY=()
_shortfirst_tc_options "$kind"
printf '%s\\n' "${COMPREPLY[@]}"
"""

pytestmark = pytest.mark.each_kernel


def offered(*words: str) -> list[str]:
    """After these, of which the last is being typed"""
    command = ["bash", "-c", SCRIPT, "bash", OURS, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_usage(kind: str) -> None:
    command = ["tc", "qdisc", "add", "dev", "lo", "root", kind, "help"]
    told = subprocess.run(command, capture_output=True, text=True).stderr
    assert told.startswith(f"Usage: ... {kind} [ ")
    assert max(len(line) for line in told.splitlines()) < 80
    groups = re.findall(r"\[ (.*?) \]", " ".join(told.split()))
    table = of(kind)
    options = (*table.options, *table.numbers)
    assert sorted(groups) == sorted([*(o.usage for o in options), *table.words])


def test_options(kind: str) -> None:
    table = of(kind)
    options = (*table.options, *table.numbers)
    words = {word for option in options for word in option.typed} | set(table.words)
    found = offered(kind, "")
    assert sorted(found) == sorted(words)
    assert offered(kind, "lim") == ["limit"]
    assert "limit" not in offered(kind, "limit", "5", "")
    assert "@KINDS@" not in Path(OURS).read_text()


def test_values(kind: str) -> None:
    suffixes = {BYTES: "b kb mb gb", MS: "ms s", RATE: "bit kbit mbit gbit"}
    suffixes[RATE64] = suffixes[RATE]
    for option in of(kind).options:
        if option.names:
            assert offered(kind, option.name, "") == list(option.names)
        elif option.unit in suffixes:
            wanted = ["7", *(f"7{suffix}" for suffix in suffixes[option.unit].split())]
            assert offered(kind, option.name, "7") == wanted
        elif option.words:
            assert not set(option.words) & set(offered(kind, option.words[0], ""))


def test_value_or_word(kind: str) -> None:
    assert offered(kind, "rate", "") == offered(kind, "rate", "unl") == ["unlimited"]


def test_others() -> None:
    assert offered("fq_codel", "") == ["others"]
