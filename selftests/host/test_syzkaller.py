# SPDX-License-Identifier: GPL-2.0
"""syzkaller's descriptions: whether they are of the headers as they are now."""

import re
from pathlib import Path

import pytest

from selftests.lib.options import KINDS, TOP
from selftests.syzkaller.generate import descriptions

HEADERS = [*TOP.glob("sch_*/pkt_*.h"), *TOP.glob("include/shortfirst/pkt_*.h")]
TEXT = (TOP / "selftests/syzkaller/shortfirst.txt").read_text()


def test_they_are_generated() -> None:
    assert descriptions() == TEXT


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_each_attribute_is_there(path: Path) -> None:
    told = re.findall(r"^\t(TCA_\w+)", path.read_text(), re.M)
    names = {name for name in told if not name.endswith("_UNSPEC")}
    assert names or path.name == "pkt_shaper.h"
    described = set(re.findall(r"\tnlattr\[(TCA_\w+), ", TEXT))
    assert names <= described, names - described


def test_what_is_named_is_defined() -> None:
    used = set(re.findall(r"\bshortfirst_\w+", TEXT))
    defined = re.findall(
        r"^(?:type )?(shortfirst_\w+)(?:\[NAME, VALUES\])? (?:\[|\{|=)", TEXT, re.M
    )
    assert sorted(defined) == sorted(used)
    assert {f"shortfirst_{kind}_options" for kind in KINDS} <= used
