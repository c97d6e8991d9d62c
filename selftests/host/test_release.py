# SPDX-License-Identifier: GPL-2.0
"""The archive of a version, and what stands in the way of tagging one."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from vm.build import CHECKOUT, sources
from vm.deb import MODULES, version

WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Somebody"), ("EMAIL", "somebody@example.org"))
}


class Tree:
    """A repository with all that this one has, also what is not committed here"""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = os.environ | WHO | {"GNUPGHOME": str(path.parent / "keys")}
        for name in sources():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, path / name, follow_symlinks=False)
        self.run("git init -q")
        self.commit()

    def do(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=self.path, env=self.env, capture_output=True, text=True
        )

    def run(self, command: str) -> str:
        done = self.do(command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def commit(self) -> None:
        self.run("git add -A && git commit -qm all")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text()
        assert re.search(old, text), f"{name} has no {old}"
        (self.path / name).write_text(re.sub(old, new, text, count=1))

    @property
    def archive(self) -> Path:
        return self.path / f"build/dist/shortfirst-{version()}.tar.gz"

    def could_be_one(self) -> None:
        """All is as a version has it."""
        self.edit("CHANGES.md", r"## (\S+) \(.*\)", r"## \1 (2026-01-31)")
        for path in self.path.glob("debian/*"):
            if path.is_file():
                path.write_text(path.read_text().replace(".invalid", ".example"))
        self.commit()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def test_same_to_the_byte(tree: Tree, tmp_path: Path) -> None:
    """In a clone, too, by somebody else at another time"""
    tree.run("make -s dist")
    first = tree.archive.read_bytes()
    tree.run(f"umask 077; git clone -q . {tmp_path}/other")
    tree.run(f"umask 077; cd {tmp_path}/other && touch README.md && TZ=Asia/Tokyo make -s dist")
    other = tmp_path / "other" / tree.archive.relative_to(tree.path)
    assert other.read_bytes() == first
    told = tree.archive.with_name(tree.archive.name + ".sha256").read_text().split()
    assert told == [hashlib.sha256(first).hexdigest(), tree.archive.name]


def test_all_is_in_it(tree: Tree) -> None:
    (tree.path / "not-committed").touch()
    tree.run("make -s dist")
    committed = set(tree.run("git ls-files").split("\n")) - {""}
    with tarfile.open(tree.archive) as archive:
        names = {member.name for member in archive if not member.isdir()}
    top = f"shortfirst-{version()}/"
    assert {name.removeprefix(top) for name in names} == committed


def test_sources_for_dkms(tree: Tree, tmp_path: Path) -> None:
    """As they are, for whoever has no package: from an archive, where there is no git"""
    tree.run("make -s dist")
    tree.run(f"tar -C {tmp_path} -xf {tree.archive}")
    tree.run(f"make -s -C {tmp_path}/shortfirst-{version()} install-sources DESTDIR={tmp_path}/to")
    conf = tmp_path / f"to/usr/src/shortfirst-{version()}/dkms.conf"
    shown = 'echo "$PACKAGE_NAME $PACKAGE_VERSION ${BUILT_MODULE_NAME[*]}"'
    said = subprocess.run(
        ["bash", "-euc", f". {conf}; {shown}"], check=True, capture_output=True, text=True
    ).stdout
    name, told, *built = said.split()
    assert (name, told, sorted(built)) == ("shortfirst", version(), sorted(MODULES))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("python/pyproject.toml", r'version = ".*"', 'version = "9"', "python/pyproject.toml has"),
        ("CHANGES.md", r"## \S+", "## 9.9", "CHANGES.md begins with 9.9"),
        ("CHANGES.md", r"\(2026-01-31\)", "(soon)", "a date in CHANGES.md"),
        ("debian/changelog", r"\) \w+;", ") UNRELEASED;", "says UNRELEASED"),
        ("debian/control", r"@shortfirst\.example", "@shortfirst.invalid", "nobody can write to"),
    ],
)
def test_refused(tree: Tree, name: str, old: str, new: str, said: str) -> None:
    tree.could_be_one()
    tree.run("dist/release --check")
    tree.edit(name, old, new)
    tree.commit()
    done = tree.do("dist/release")
    assert (done.returncode, tree.run("git tag")) == (1, "")
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_tagged_and_signed(tree: Tree) -> None:
    tree.could_be_one()
    (tree.path / "README.md").write_text("new")
    assert "not all is committed" in tree.do("dist/release").stderr
    tree.run("git checkout -q README.md")
    tree.run('mkdir -m 700 "$GNUPGHOME"')
    tree.run(
        "gpg --batch --passphrase '' --quick-gen-key somebody@example.org default default never"
    )
    try:
        tree.run("make -s release KEY=somebody@example.org")
        tag = f"v{version()}"
        assert "Good signature" in tree.do(f"git tag -v {tag}").stderr
        told = tree.run(f"git tag -l --format='%(contents)' {tag}")
        assert told.startswith(f"shortfirst {version()}\n\n") and "\n- `las`" in told
        tree.run(f"gpg --verify {tree.archive}.asc {tree.archive}")
        assert "is there" in tree.do("dist/release").stderr
    finally:
        tree.run("gpgconf --kill gpg-agent")
