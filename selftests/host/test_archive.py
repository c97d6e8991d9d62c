# SPDX-License-Identifier: GPL-2.0
"""The archives of fuzzing corpora (selftests/fuzz/archive.py)."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from selftests.fuzz.archive import pack, pack_folder, read, unpack
from vm.root import VMError

TOP = Path(__file__).resolve().parents[2]
INPUTS = {"01": b"\0\1\2", "10": b"", "02": bytes(2000), "a-name": b"\xff" * 512}
CORPORA = sorted(
    [*TOP.glob("selftests/fuzz/corpus/*.tar"), *TOP.glob("sched_tcp/tests/fuzz/corpus/*.tar")]
)


def test_round_trip(tmp_path: Path) -> None:
    pack(tmp_path / "one.tar", INPUTS)
    assert list(read(tmp_path / "one.tar").items()) == sorted(INPUTS.items())
    paths = unpack(tmp_path / "one.tar", tmp_path / "folder")
    assert [path.name for path in paths] == sorted(INPUTS)
    assert {path.name: path.read_bytes() for path in paths} == INPUTS


def test_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the order, times and modes of the files are."""
    pack(tmp_path / "one.tar", INPUTS)
    pack(tmp_path / "again.tar", dict(reversed(INPUTS.items())))
    (tmp_path / "folder").mkdir()
    for number, (name, data) in enumerate(INPUTS.items()):
        path = tmp_path / "folder" / name
        path.write_bytes(data)
        path.chmod(0o600)
        os.utime(path, (number, number))
    pack_folder(tmp_path / "folder.tar", tmp_path / "folder")
    first = (tmp_path / "one.tar").read_bytes()
    assert first == (tmp_path / "again.tar").read_bytes()
    assert first == (tmp_path / "folder.tar").read_bytes()


def test_unpack_leaves_only_the_inputs(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    pack(tmp_path / "one.tar", INPUTS)
    first = unpack(tmp_path / "one.tar", folder)
    (folder / "old").write_bytes(b"old")
    (folder / "01").write_bytes(b"changed")
    untouched = (folder / "02").stat().st_ino
    assert unpack(tmp_path / "one.tar", folder) == first
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == INPUTS
    assert (folder / "02").stat().st_ino == untouched


def broken(data: bytes, how: str) -> bytes:
    if how == "not an archive":
        return b"something else\n" * 1000
    if how == "empty":
        return b""
    if how == "cut between members":  # where the header of the second is
        return data[:1024]
    if how == "cut in a member":
        return data[:2100]
    if how == "without its end":
        return data.rstrip(b"\0")
    assert how == "damaged header"
    return data[:1030] + b"\xff" + data[1031:]


@pytest.mark.parametrize(
    "how",
    "not an archive,empty,cut between members,cut in a member,without its end,damaged header".split(
        ","
    ),
)
def test_a_broken_archive_is_refused(tmp_path: Path, how: str) -> None:
    path = tmp_path / "one.tar"
    pack(path, INPUTS)
    path.write_bytes(broken(path.read_bytes(), how))
    with pytest.raises(VMError, match="one.tar: cannot be read as a tar archive: "):
        read(path)


def test_what_is_not_an_input_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.tar"
    with pytest.raises(VMError, match="one.tar: cannot be read as a tar archive: .*No such file"):
        read(path)
    for name, kind in (("../01", tarfile.REGTYPE), ("a/01", tarfile.REGTYPE), ("01", b"2")):
        with tarfile.open(path, "w") as tar:
            member = tarfile.TarInfo(name)
            member.type = kind
            tar.addfile(member)
        with pytest.raises(VMError, match=f"'{name}' is not a file at its top"):
            read(path)
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("01"))
        tar.addfile(tarfile.TarInfo("01"))
    with pytest.raises(VMError, match="two inputs have the same name"):
        read(path)


def test_command(tmp_path: Path) -> None:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "selftests.fuzz.archive", *arguments]
        return subprocess.run(command, cwd=TOP, capture_output=True, text=True)

    pack(tmp_path / "one.tar", INPUTS)
    assert not run("unpack", tmp_path / "one.tar", tmp_path / "folder").returncode
    assert not run("pack", tmp_path / "two.tar", tmp_path / "folder").returncode
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    done = run("unpack", tmp_path / "none.tar", tmp_path / "folder")
    assert done.returncode == 1 and done.stderr.startswith("archive: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", CORPORA, ids=lambda path: path.name)
def test_corpora_are_as_pack_writes_them(path: Path, tmp_path: Path) -> None:
    pack(tmp_path / "again.tar", read(path))
    assert path.read_bytes() == (tmp_path / "again.tar").read_bytes()
