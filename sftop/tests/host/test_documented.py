# SPDX-License-Identifier: GPL-2.0
"""The man page and the completion know all options, keys, columns and metrics."""

import re
import subprocess
from pathlib import Path

import pytest

from sftop.tests.host.programs import FOLDER

PAGE = (FOLDER / "sftop.8").read_text().replace("\\-", "-").replace("\\fR", "").replace("\\fB", "")
DRAWN = (FOLDER / "draw.c").read_text()


def options(program: Path) -> list[str]:
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"--[a-z]+", told)))


def test_options(sftop: Path) -> None:
    found = options(sftop)
    assert len(found) == 10
    for option in found:
        assert re.search(rf"^\..*{option}\b", PAGE, re.M), option


def test_columns() -> None:
    columns = re.findall(r'^\t\{ "([A-Z/]+)", \d+,', DRAWN, re.M)
    assert len(columns) > 15
    for name in set(columns) - {"DEV", "PROTO", "SOURCE", "DESTINATION"}:
        assert re.search(rf"^\.[B]+R? .*\b{name}\b", PAGE, re.M), name


def test_keys() -> None:
    """Those of the help are in the page."""
    lines = re.search(r"lines\[\] = \{(.*?)\};", DRAWN, re.S)[1]
    keys = re.findall(r'"([A-Za-z/, ]+?)  ', lines)
    keys = {key for each in keys for key in re.split(r"[, ]+", each)} - {"", "N", "S"}
    assert {"q", "Tab", "R", "PgUp", "/"} <= keys
    section = PAGE[PAGE.index(".SS Keys") : PAGE.index(".SH OPTIONS")]
    for key in keys - {"BIT/S", "ATTAINED", "WAITS", "WAITED"}:
        assert re.search(rf"^\.BR? .*(?<!\w){re.escape(key)}(?!\w)", section, re.M), key


def test_metrics() -> None:
    source = (FOLDER / "output.c").read_text()
    names = re.findall(r'^\t\{ "([a-z_]+)", "(?:counter|gauge)"', source, re.M)
    assert len(names) == 9 + 4 + 5
    for name in names:
        assert re.search(rf"\bshortfirst_{name}\b", PAGE), name


@pytest.mark.parametrize(
    ("typed", "offered"),
    {
        ("--so",): ["--sort"],
        ("-s", "wa"): ["waited", "waiting"],
        ("--limit", ""): [],
        ("lo",): ["lo"],
        ("--once", "--p"): ["--prometheus"],
    }.items(),
)
def test_completion(sftop: Path, typed: tuple[str, ...], offered: list[str]) -> None:
    script = (
        'complete() { :; }; . "$0"; COMP_WORDS=(sftop "$@"); COMP_CWORD=$#; _sftop;'
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, FOLDER / "sftop.bash", *typed],
        env={"PATH": f"{sftop.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (sorted(done.stdout.split()), done.stderr) == (offered, "")
