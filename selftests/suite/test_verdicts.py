# SPDX-License-Identifier: GPL-2.0
"""What a guest tells of its tests, whole and broken."""

import json

import pytest

from .verdicts import read

TWO = {"tests": ["a.py::x", "a.py::y"], "left_out": {"why": 3}}
WHOLE = [
    TWO,
    {"begins": 0},
    {"ends": 0, "how": "passed", "seconds": 1.5},
    {"begins": 1},
    {"ends": 1, "how": "passed", "seconds": 0},
    {"done": 0},
]


def text(*lines: object) -> str:
    return "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)


def test_all_is_well() -> None:
    told = read(text(*WHOLE))
    assert (told.passed, told.failures(), told.left_out) == (2, [], {"why": 3})
    assert told.tests[0].seconds == 1.5


def test_one_fails() -> None:
    lines = [*WHOLE[:4], {"ends": 1, "how": "failed", "seconds": 0, "text": "E 1 != 2"}]
    told = read(text(*lines, {"done": 1}))
    assert (told.passed, told.failures()) == (1, ["a.py::y\nE 1 != 2"])


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (0, "unreadable line: "),  # all of what is told is about no test
        (1, ""),  # only who was at it is not known
        (2, "a.py::x\nbegan and did not end"),
        (5, "the run did not report its end"),
    ],
)
def test_a_line_is_lost(missing: int, expected: str) -> None:
    failures = read(text(*WHOLE[:missing], *WHOLE[missing + 1 :])).failures()
    assert failures[0].startswith(expected) if expected else not failures


def test_a_line_is_broken() -> None:
    half = json.dumps(WHOLE[2])[:12]
    failures = read(text(*WHOLE[:2], half, *WHOLE[3:])).failures()
    assert failures == [
        "unreadable line: '{\"ends\": 0, '",
        "a.py::x\nbegan and did not end",
    ]


@pytest.mark.parametrize("line", ["[]", "7", '{"ends": 5, "how": "passed", "seconds": 1}', "{}"])
def test_a_line_makes_no_sense(line: str) -> None:
    assert read(text(*WHOLE, line)).failures() == [f"unreadable line: {line!r}"]


def test_twice() -> None:
    """A test has one end, and there is one list of them."""
    assert len(read(text(*WHOLE, WHOLE[2])).failures()) == 1
    assert len(read(text(*WHOLE, TWO)).failures()) == 1


def test_the_guest_ends() -> None:
    """What it died of comes first; who was at it is named, and how many never ran."""
    told = read(text(*WHOLE[:2]))
    assert told.now() == "a.py::x"
    assert told.failures("panic") == [
        "panic",
        "a.py::x\nbegan and did not end",
        "1 tests did not run, the first is a.py::y",
    ]
    assert read("").failures("panic") == ["panic"]


def test_no_tests() -> None:
    assert read(text({"tests": [], "left_out": {}}, {"done": 0})).failures() == [
        "there were no tests"
    ]


def test_what_pytest_says() -> None:
    """Of what is no test's: a file that cannot be read, or its exit status."""
    lines = [{"trouble": "a.py: SyntaxError"}, *WHOLE[:-1], {"done": 2}]
    assert read(text(*lines)).failures() == ["a.py: SyntaxError"]
    assert read(text(*WHOLE[:-1], {"done": 3})).failures() == ["pytest ended with status 3"]
