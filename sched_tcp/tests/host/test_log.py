# SPDX-License-Identifier: GPL-2.0
"""Log lines: what is quoted, and how many of an event are printed."""

import random
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from sched_tcp.tests.programs import ENVIRONMENT, TIMEOUT, run

Line = tuple[int, int, str]  # when (ms), its priority, the event


def said(program: Path, lines: list[Line]) -> list[str]:
    text = "".join(
        f"{ms} {priority} {event} {i}\n" for i, (ms, priority, event) in enumerate(lines)
    )
    done = run(program, text=text)
    assert done.returncode == 0 and not done.stdout
    return done.stderr.splitlines()


def test_conversions(log_say: Path) -> None:
    done = run(log_say, "-f")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "<3>all s=text i=-1 u=4294967295 x=000000ff z=18446744073709551615 l=-2"
        " q=18446744073709551615 c=c f=1.50 cut=ab p=100% at=[::1]:80"
        ' m="No such file or directory"',
        "<6>nothing",
    ]


VALUES = [
    ("a-b_c./:[]", "a-b_c./:[]"),
    ("", '""'),
    ("a%20b", '"a b"'),
    ("a=b", '"a=b"'),
    ("%22%5c", r'"\"\\"'),
    ("a%0a<0>b%20c=d", r'"a\n<0>b c=d"'),
    ("%1b[2J%07%7f%09", r'"\x1b[2J\x07\x7f\x09"'),
    ("%c3%a4%e2%80%ae%ff", r'"\xc3\xa4\xe2\x80\xae\xff"'),
]


@pytest.mark.parametrize(("value", "printed"), VALUES)
def test_quoted(log_say: Path, value: str, printed: str) -> None:
    assert run(log_say, text=f"0 3 e {value}\n").stderr == f"<3>e value={printed}\n"


@pytest.mark.parametrize("piece", ["a", "%20", "%0a", "%22", "%ff"])
def test_long(log_say: Path, piece: str) -> None:
    """It is one line that a pipe takes whole, and what is cut off is not half of something."""
    for n in (1000, 1020, 1023, 1024, 1025, 1500, 4096, 100000):
        printed = run(log_say, text=f"0 3 e {piece * n}\n").stderr
        assert printed.endswith("\n") and printed.count("\n") == 1 and len(printed) <= 4096
        (value,) = re.fullmatch(r"<3>e value=(.*)\n", printed).groups()
        text = shlex.split(value)[0]
        whole = {"a": "a", "%20": " ", "%0a": r"\n", "%22": '"', "%ff": r"\xff"}[piece]
        if len(printed) > 4080:  # here it is the line that is full
            assert text == whole * (len(text) // len(whole))
        else:
            assert text == whole * min(n, 1024) + ("..." if n > 1024 else "")


def test_bounded(log_say: Path) -> None:
    """20 of an event, whatever others do; then how many were not, with the next line of any."""
    lines = [(5000 + i, 5, "a") for i in range(50)] + [(5050, 6, "b"), (5051, 4, "a")]
    lines += [(6018, 6, "b"), (6019, 6, "b"), (6020, 6, "b"), (9000, 6, "a")]
    printed = said(log_say, lines)
    assert printed[:21] == [f"<5>a value={i}" for i in range(20)] + ["<6>b value=50"]
    assert printed[21:] == [
        "<6>b value=52",
        "<4>lines-withheld event=a lines=31",  # of the most urgent of them; a second after a's last
        "<6>b value=53",
        "<6>b value=54",
        "<6>a value=55",
    ]


def test_told_before_its_own_next(log_say: Path) -> None:
    printed = said(log_say, [(5000, 5, "a")] * 30 + [(5999, 5, "a"), (6000, 5, "a")])
    assert printed[20:] == ["<5>lines-withheld event=a lines=11", "<5>a value=31"]


def test_debug_does_not_count(log_say: Path) -> None:
    printed = said(log_say, [(5000, 7, "a")] * 30 + [(5000, 6, "a")])
    assert printed == ["<6>a value=30"]


@pytest.mark.parametrize("seed", range(8))
def test_never_more(log_say: Path, seed: int) -> None:
    """In no second more than 20 of an event are printed, and none is unaccounted for."""
    chance = random.Random(seed)
    events = [f"e{i}" for i in range(chance.choice((1, 3, 70)))]
    step = chance.choice((1, 5, 45, 60))
    ms, lines = 5000, []
    for _ in range(3000):
        ms += chance.choice((0, 1, step))
        lines.append((ms, chance.randint(3, 6), chance.choice(events)))
    lines += [(ms + 5000, 6, "end")]
    printed = said(log_say, lines)
    times: dict[str, list[int]] = {}
    known = withheld = 0
    for line in printed:
        if found := re.fullmatch(r"<\d>lines-withheld event=(\w+) lines=(\d+)", line):
            withheld += int(found[2])
            continue
        event, number = re.fullmatch(r"<\d>(\w+) value=(\d+)", line).groups()
        assert lines[int(number)][2] == event
        times.setdefault(event, []).append(lines[int(number)][0])
        known += 1
    assert known + withheld == len(lines)
    # With more events than there is room for, the longest unseen is forgotten, and may do so anew.
    if len(events) < 64:
        for each in times.values():
            assert all(b - a >= 1000 for a, b in zip(each, each[20:], strict=False))


def test_nobody_reads(log_say: Path, tmp_path: Path) -> None:
    """A pipe that is full is not waited for."""
    text = tmp_path / "lines"
    text.write_text("".join(f"{i * 1000} 3 e {'x' * 1000}\n" for i in range(4000)))
    with text.open() as lines:
        process = subprocess.Popen(
            [log_say], stdin=lines, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True
        )
    assert process.stderr
    try:
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
    printed = process.stderr.read().splitlines()
    process.stderr.close()
    assert 10 < len(printed) < 200 and all(len(line) == 1011 for line in printed)
