# SPDX-License-Identifier: GPL-2.0
"""What a guest's tree is built anew for, and what the cache keeps of builds."""

import os
from pathlib import Path

import pytest

from vm import build
from vm.build import Built, _feeds_make, prepare, sources
from vm.root import VMError

MAKE_READS = [
    "include/shortfirst/compat.mk",
    "sch_las/sch_las.c",
    "tc-plugins/q_las.c",
    "command/shortfirst",
    "lab/guest/modules/pace.c",
    "selftests/generated/Makefile",
    "selftests/modules/Kbuild",
    "selftests/smoke.c",
    "vm/lockstep.c",
]
IT_DOES_NOT = [
    "README.md",
    ".ci/run",
    "debian/changelog",
    "sch_las/tests/host/log_rank.c",
    "sched_tcp/tests/fuzz/fuzz_core.c",
    "selftests/fuzz/fuzz.c",
    "selftests/fuzz/corpus/las.tar",
    "selftests/generated/run",
    "upstream/iproute2/util.c",
    "upstream/linux/Kconfig",
]


@pytest.mark.parametrize("name", MAKE_READS + IT_DOES_NOT)
def test_feeds_make(name: str) -> None:
    assert name in sources()
    assert _feeds_make(name) == (name in MAKE_READS)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is built; the sources are those of a tree with one file."""
    done: list[str] = []

    def logged(what: str, command: list[str], log: Path) -> None:
        (Path(command[4]) / "upper/usr/lib/modules/6.1.0").mkdir(parents=True)
        (Path(command[4]) / "upper/usr/lib/modules/6.1.0/modules.dep").touch()
        done.append((tmp_path / "tree/x.c").read_text())

    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/x.c").write_text("one")
    monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "CHECKOUT", tmp_path / "tree")
    monkeypatch.setattr(build, "sources", lambda: ["x.c"])
    monkeypatch.setattr(build, "logged", logged)
    base = Built("6.1", "6.1.0", tmp_path / "root", tmp_path / "tree/build/6.1")
    monkeypatch.setattr(build, "_base", lambda _: base)
    return done


def test_the_same_tree_is_built_once(builds: list[str], tmp_path: Path) -> None:
    first = prepare("6.1")
    assert (first.upper / "usr/lib/modules/6.1.0/modules.dep").exists()
    assert prepare("6.1").upper == first.upper and builds == ["one"]
    (tmp_path / "tree/x.c").write_text("two")
    assert prepare("6.1").upper != first.upper and builds == ["one", "two"]
    (tmp_path / "tree/x.c").write_text("one")
    assert prepare("6.1").upper == first.upper and builds == ["one", "two"]


def test_an_interrupted_build_is_done_again(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise VMError("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(build, "logged", interrupted)
        with pytest.raises(VMError, match="interrupted"):
            prepare("6.1")
    assert prepare("6.1").upper.is_dir() and builds == ["one"]


def test_a_tree_that_changes_is_not_built(
    builds: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The sources that are built are those that the digest is of."""
    overlay = build.overlay

    def late(*words: object) -> list[str]:
        (tmp_path / "tree/x.c").write_text("two")
        return overlay(*words)

    with monkeypatch.context() as patch:
        patch.setattr(build, "overlay", late)
        with pytest.raises(VMError, match="run this again"):
            prepare("6.1")
    (tmp_path / "tree/x.c").write_text("one")
    assert prepare("6.1").upper.is_dir() and builds == ["one"]


def test_the_oldest_build_goes(builds: list[str], tmp_path: Path) -> None:
    made = []
    for number in range(build.BUILDS + 1):
        (tmp_path / "tree/x.c").write_text(str(number))
        made.append(prepare("6.1").made)
        os.utime(made[-1] / "complete", (number, number))
    assert [path.exists() for path in made] == [False] + [True] * build.BUILDS
