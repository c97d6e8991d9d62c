# SPDX-License-Identifier: GPL-2.0
"""What a change is, by git, and what it makes run whole."""

import os
import subprocess
from pathlib import Path

import pytest

from vm.build import CHECKOUT

from . import gate, touched


class Repository:
    def __init__(self, top: Path) -> None:
        self.top, self.hour = top, 0
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        date = f"2026-01-01T{self.hour:02}:00:00Z"
        known = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "HOME": str(self.top)}
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@x.example", *words]
        done = subprocess.run(
            command,
            cwd=self.top,
            env=os.environ | known,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, name: str, hour: int) -> str:
        self.hour = hour
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{hour}\n")
        self.git("add", ".")
        self.git("commit", "-qm", name)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_branch(repository: Repository) -> None:
    """The change is what the branch adds, however old it is, and what is not committed."""
    was = repository.commit("a", 0)
    repository.git("update-ref", "refs/remotes/origin/main", was)
    repository.commit("b", 1)
    repository.commit("c", 20)
    (repository.top / "d").write_text("new")
    (repository.top / "a").write_text("changed")
    assert touched.base(repository.top) == was
    assert touched.changed(was, repository.top) == ["a", "b", "c", "d"]


def test_on_the_main_branch(repository: Repository) -> None:
    """The change is the last commits, of some hours."""
    repository.commit("a", 0)
    was = repository.commit("b", 1)
    repository.commit("c", 8)
    repository.git("update-ref", "refs/remotes/origin/main", repository.commit("d", 10))
    assert touched.base(repository.top) == was
    assert touched.changed(was, repository.top) == ["c", "d"]


def test_a_removed_file(repository: Repository) -> None:
    was = repository.commit("a/b", 0)
    repository.git("mv", "a/b", "c")
    assert touched.changed(was, repository.top) == ["a/b", "c"]


def test_a_name_that_git_would_quote(repository: Repository) -> None:
    was = repository.commit("a", 0)
    repository.commit("sch_las/\u00fc b.c", 1)
    assert touched.changed(was, repository.top) == ["sch_las/\u00fc b.c"]


def test_unknown(repository: Repository, tmp_path: Path) -> None:
    """One commit, as in a shallow clone; no commit; no repository"""
    assert touched.base(repository.top) is None
    repository.commit("a", 0)
    assert touched.base(repository.top) is None
    assert touched.base(Path("/")) is None
    assert touched.changed(None) is None
    assert touched.changed("0" * 40, repository.top) is None


RULES = gate.plan().touch


@pytest.mark.parametrize(
    ("name", "guests", "host", "steps"),
    [
        ("docs/results.md", set(), set(), set()),
        ("README.md", set(), set(), set()),
        ("include/shortfirst/gso.h", {"."}, set(), {"fuzz", "races"}),
        ("sch_las/sch_las.c", {".", "sch_las/tests"}, {"sch_las/tests"}, {"fuzz", "races"}),
        ("sch_las/tests/test_fair.py", *[{"sch_las/tests/test_fair.py"}] * 2, set()),
        ("sch_las/tests/model.py", *[{"sch_las/tests"}] * 2, set()),
        ("selftests/kinds/test_gso.py", *[{"selftests/kinds/test_gso.py"}] * 2, set()),
        ("selftests/lib/gate.py", {"."}, set(), set()),
        ("vm/native.config", {"."}, set(), set()),
        ("vm/qemu.py", set(), set(), set()),
        ("vm/console.py", {"."}, set(), set()),
        ("vm/debian.py", set(), set(), {"packages"}),
        ("sched_tcp/core.c", *[{"sched_tcp", "sched_tcp/tests"}] * 2, set()),
        ("lab/run/runner.py", {"lab/tests"}, {"lab", "lab/tests"}, set()),
        ("debian/rules", set(), set(), {"packages"}),
    ],
)
def test_touched(name: str, guests: set[str], host: set[str], steps: set[str]) -> None:
    found = touched.touched([name], RULES)
    assert (found.guests, found.host, found.steps) == (guests, host, steps)


def test_everything() -> None:
    found = touched.touched(None, RULES)
    assert "." in found.guests and "." in found.host
    assert found.steps == {"fuzz", "packages", "races"}


def test_what_only_stock_kernels_can_run() -> None:
    assert touched.touched(["run2c_isn/run2c_isn.c"], RULES).boot == {"run2c_isn/tests"}
    assert touched.touched(["sched_tcp/core.c"], RULES).boot == {
        "sched_tcp/tests/guest/test_tproxy.py"
    }


def test_every_rule_names_what_is_there() -> None:
    for rule in RULES:
        for pattern in rule["paths"]:
            assert list(CHECKOUT.glob(pattern)), pattern
