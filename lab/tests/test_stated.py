# SPDX-License-Identifier: GPL-2.0
"""Numbers in prose: each is of a CSV, or known to be none that is measured."""

from pathlib import Path

import pytest

from lab.page import stated
from lab.run.guests import RESULTS

CSV = """\
case,qdisc,seed,ms,loss %,enqueue,dequeue
a,las,1,1.04,0,2,1
a,las,2,1.08,0,2,1
a,cake,1,4,,6,3
b,las,1,9,12.4,2,2
b,cake,1,8,3,1,1
"""
CONSTANTS = 'man = ["5ms", "64 kB"]\nreadme = ["10 Mbit/s", "6.1"]\n'


@pytest.fixture
def where(tmp_path: Path) -> Path:
    (tmp_path / "x.csv").write_text(CSV)
    (tmp_path / "constants.toml").write_text(CONSTANTS)
    return tmp_path


def found(where: Path, name: str, text: str) -> list[str]:
    (where / name).write_text(text)
    return [one.split(": ", 1)[1] for one in stated.unfounded(where / name, where)]


@pytest.mark.parametrize(
    ("text", "query", "instead"),
    [
        ("1.06 ms", "x; case=a; qdisc=las; ms", ""),
        ("1.1 ms", "x; case=a; qdisc=las; ms", ""),
        ("1 ms", "x; case=a; qdisc=las; ms", ""),
        ("2 ms", "x; case=a; qdisc=las; ms", "1"),
        ("1,060 us", "x; case=a; qdisc=las; ms * 1000", ""),
        ("4 times", "x; case=a; qdisc=cake; ms / qdisc=las; ms", ""),
        ("3 times", "x; case=a; qdisc=cake; enqueue+dequeue / qdisc=las; enqueue+dequeue", ""),
        ("8 ms", "x; case=b; ms - 0.5", ""),
        ("12 %", "x; qdisc=las; case=b; loss %", ""),
        ("nothing", "x; case=a; qdisc=las; ms", "a number"),
        ("4 ms", "x; case=a; qdisc=fq; ms", "nan"),
        ("cake", "least x; case=b; ms", ""),
        ("las", "least x; case=b; ms", "cake"),
        ("las", "least x; case=a; ms", ""),
    ],
)
def test_what_a_statement_has_to_be(where: Path, text: str, query: str, instead: str) -> None:
    assert stated.wrong(where, text, query) == instead


def test_readme(where: Path) -> None:
    text = """\
On 6.1 a call over 10 Mbit/s waits 1.06 ms.
<!-- measured: 1.06 ms = x; case=a; qdisc=las; ms -->
[Kept](at-99 %) as `99 %`, 3 kinds, 192.0.2.1.

    99 %

<!-- begin: demo -->
99 %
<!-- end: demo -->
"""
    assert found(where, "README.md", text) == []
    (wrong,) = found(where, "README.md", text.replace("1.06", "1.07"))
    assert wrong == "'1.07 ms' is 1.06 by x; case=a; qdisc=las; ms"
    first, second = found(where, "README.md", text.replace("waits 1.06", "waits 1.05"))
    assert first == "'1.06 ms' is measured, but not stated"
    assert second.startswith("'1.05 ms' is not measured, nor a constant: ")
    for more in ("99 %", "0.5", "4 times", "1,234 packets/s", "20 instructions", "3s"):
        (wrong,) = found(where, "README.md", f"{text}\nThen {more}.\n")
        assert wrong.startswith(f"'{more}' is not measured")
    # What is a part of a constant is none
    (wrong,) = found(where, "README.md", f"{text}\nOver 110 Mbit/s.\n")
    assert "'110 Mbit/s' is" in wrong


def test_man_page(where: Path) -> None:
    text = """\
.\\" measured: 12 % = x; case=b; qdisc=las; loss %
A call loses 12 %. Default is
.BR 5ms .
.EX
99 %
.EE
Best is
.\\" measured: cake = least x; case=b; ms
.B cake
with 64 kB.
"""
    assert found(where, "tc-x.8", text) == []
    assert found(where, "tc-x.8", text.replace("5ms", "6ms"))[0].startswith("'6ms' is not")
    assert found(where, "tc-x.8", text.replace("12 %", "13 %"))[0].startswith("'13 %' is 12 by")


def test_all_that_is_stated() -> None:
    """By README.md and all man pages, and what is measured is so."""
    pages = stated.pages()
    assert len(pages) >= 10
    assert [one for path in pages for one in stated.unfounded(path, RESULTS)] == []
    text = pages[0].read_text()
    assert len([line for line in text.splitlines() if stated.MEASURED.search(line)]) > 10
