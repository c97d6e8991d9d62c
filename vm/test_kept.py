# SPDX-License-Identifier: GPL-2.0
"""What is kept of virtual runs."""

import os
from pathlib import Path

import pytest

from vm import kept


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/results"


def outcome(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in kept.FILES:
        (directory / name).write_text(f"{name}: {text}")
    return directory


def test_fetch_what_was_kept(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    assert not kept.fetch("a", here)
    kept.keep("a", outcome(tmp_path / "run", "one"))
    kept.keep("b", outcome(tmp_path / "run", "two"))
    assert kept.fetch("a", here)
    assert [(here / name).read_text() for name in kept.FILES] == ["console.log: one", "data: one"]
    kept.keep("a", outcome(tmp_path / "run", "three"))
    assert kept.fetch("a", here) and (here / "data").read_text() == "data: three"


def test_what_was_not_used_for_longest_goes(tmp_path: Path, store: Path) -> None:
    run = outcome(tmp_path / "run", "x" * 980)  # 2 kB each
    for i, key in enumerate("abc"):
        kept.keep(key, run)
        os.utime(store / key, (i, i))
    assert kept.fetch("a", run)
    kept.keep("d", run, most=6500)
    assert [kept.fetch(key, run) for key in "abcd"] == [True, False, True, True]
    kept.keep("e", run, most=10)
    assert [kept.fetch(key, run) for key in "abcde"] == [False] * 4 + [True]


def test_digest(tmp_path: Path) -> None:
    """Of words one by one, and of what is in files, not of where they are."""
    for name, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / name).write_text(text)
    a, b, c = (tmp_path / name for name in "abc")
    known = kept.digest(["x", "yz"], [a, b])
    assert known == kept.digest(["x", "yz"], [c, b])
    others = [(["xy", "z"], [a, b]), (["x", "yz"], [b, a]), (["x", "yz"], [a]), (["x"], [a, b])]
    assert all(known != kept.digest(*other) for other in others)
