# SPDX-License-Identifier: GPL-2.0
"""What pace.sh is told and says, and the tables of it."""

import json
from pathlib import Path

import pytest

from lab.commands import pace
from lab.commands.pace import CASES, SHAPERS, Case, Pace
from lab.run.qdiscs import OURS

FAST = Case("10mbit", "1514 bytes", 5)
NUMBERS = {"in": 110, "out": 100, "noted": 100, "late": 250000}
RATES = {"least": 9999000, "most": 10002000, "early": 500}


def said(drops: int = 3, qlen: int = 7, left: int = 0, **changes: int) -> str:
    """When the time is over, and when all has left."""
    result = ""
    for waits in (qlen, left):
        n = NUMBERS | RATES | changes
        n["out"] += 0 if waits == qlen else qlen
        root = {"kind": "las", "handle": "1:", "drops": drops, "qlen": waits}
        root["packets"] = n["out"]
        tc = [root | {"backlog": 1514 * waits}, {"kind": "fq_codel", "handle": "8001:"}]
        result += "".join(f"{key}={value}\n" for key, value in n.items())
        result += json.dumps(tc) + "\n"
    return result


def test_what_a_guest_says() -> None:
    found = pace.read(FAST, said())
    assert found.off == pytest.approx(0.02)
    assert (found.early, found.late, found.sent, found.dropped) == (0.5, 0.25, 100, 3)
    assert found.exact and not found.missed(FAST)


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({"least": 9970000}, "off by 0.3"),
        ({"least": 0, "most": 0}, "nothing measured"),
        ({"early": 1001}, "early by 1"),
        ({"late": 2000001}, "late by 2"),
        ({"drops": 4}, "tc's numbers are wrong"),
        ({"left": 1}, "tc's numbers are wrong"),
    ],
)
def test_what_is_out_of_bounds(change: dict[str, int], missed: str) -> None:
    assert pace.read(FAST, said(**change)).missed(FAST) == missed


def test_not_what_was_to_be_measured() -> None:
    with pytest.raises(pace.DataError):
        pace.read(FAST, said().replace("late", "later"))
    with pytest.raises(pace.DataError):
        pace.parse(SHAPERS["las"], f"case {FAST.name}\n{said()}")


def test_where_the_rate_changes() -> None:
    """There is none that it is off."""
    case = CASES[-1]
    found = pace.read(case, said(least=1))
    assert case.changes and (found.off, found.early) == (None, None) and not found.missed(case)


def test_what_a_guest_is_told() -> None:
    las, htb = SHAPERS["las"], SHAPERS["htb"]
    assert FAST.spec(las) == "10mbit, 1514 bytes|las rate 10mbit|10000000 1514 0 100 14128|5|"
    whole = Case("1gbit", "bundles, whole", 1)
    assert "|las rate 1gbit split_gso off|1000000000 1514 16 100 " in whole.spec(las)
    assert CASES[-1].spec(las).endswith("|60|qdisc change dev pace0 root las rate @")
    words = CASES[-1].spec(htb).split("|")
    root, of_class, leaf = words[1].split("+")
    assert root == "htb default 1" and leaf.endswith("parent 1:1 fq_codel")
    assert of_class.replace("add", "change").replace("100mbit", "@") == words[4]
    assert not Case("1gbit", "bundles, split", 1).is_of(htb)
    assert {*OURS} < {*SHAPERS} and len({case.name for case in CASES}) == len(CASES)


def test_report(tmp_path: Path) -> None:
    good = {case: Pace(0.1, 0.5, 0.001, 9, 1, True) for case in CASES[:-1]}
    good[CASES[-1]] = Pace(None, None, 1.5, 9, 1, True)
    late = good | {CASES[-1]: Pace(None, None, 9, 9, 1, False)}
    text, met = pace.report({"las": good, "cake": late})
    assert met and "las: off by 0.25 % at most" in text and text.endswith(": met\n")
    row = next(line for line in text.splitlines() if line.endswith("WRONG"))
    assert row.split() == ["cake", "9", "1", "9.000", "WRONG"]
    text, met = pace.report({"las": late})
    assert not met and "late by 9, tc's numbers are wrong" in text
    path = tmp_path / "pace.csv"
    pace.write_csv(path, {"las": good, "cake": late})
    assert pace.read_csv(path) == {"las": good, "cake": late}
