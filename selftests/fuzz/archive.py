# SPDX-License-Identifier: GPL-2.0
"""A fuzzing corpus in one file: an uncompressed tar archive of inputs.

        python3 -m selftests.fuzz.archive unpack FILE FOLDER
        python3 -m selftests.fuzz.archive pack FILE FOLDER

The same inputs give the same bytes: members are sorted by name, and have fixed times, modes and
owners. The archive is not compressed, because the output of a compressor depends on its version;
git compresses it.
"""

import argparse
import io
import os
import sys
import tarfile
from pathlib import Path

from vm.root import VMError

_END = 2 * tarfile.BLOCKSIZE  # zeros, at least, after the last member


def read(archive: Path) -> dict[str, bytes]:
    """The inputs by name, sorted. Raise VMError if the archive is damaged or has anything else."""
    try:
        data = archive.read_bytes()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            members = tar.getmembers()
            rest = data[tar.offset :]
            inputs = {each.name: _input(tar, each) for each in members}
    except (OSError, tarfile.TarError) as error:
        raise VMError(f"{archive}: cannot be read as a tar archive: {error}") from None
    # The module takes a damaged or missing header for the end of the archive.
    if len(rest) < _END or any(rest):
        raise VMError(f"{archive}: cannot be read as a tar archive: it has no end, or is damaged")
    if len(inputs) < len(members):
        raise VMError(f"{archive}: two inputs have the same name")
    return dict(sorted(inputs.items()))


def _input(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member) if member.isreg() else None
    if not file or member.name != Path(member.name).name:
        raise tarfile.ReadError(f"{member.name!r} is not a file at its top")
    return file.read()


def pack(archive: Path, inputs: dict[str, bytes]) -> None:
    """Write the archive. It is replaced in one step."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f".{archive.name}.{os.getpid()}")
    with tarfile.open(fresh, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(inputs.items()):
            member = tarfile.TarInfo(name)  # has 0 as its owner and as its time
            member.mode, member.size = 0o644, len(data)
            tar.addfile(member, io.BytesIO(data))
    fresh.rename(archive)


def pack_folder(archive: Path, folder: Path) -> None:
    pack(archive, {path.name: path.read_bytes() for path in folder.iterdir()})


def unpack(archive: Path, folder: Path) -> list[Path]:
    """Make the folder's files those of the archive; their paths, sorted. Others are deleted.

    Several processes may unpack the same archive at once: a file that is already there with the
    right contents is not touched.
    """
    inputs = read(archive)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in inputs:
            path.unlink(missing_ok=True)
    for name, data in inputs.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != data:
            fresh = folder.with_name(f".{folder.name}.{name}.{os.getpid()}")
            fresh.write_bytes(data)
            fresh.rename(path)
    return [folder / name for name in inputs]


def main() -> None:
    parser = argparse.ArgumentParser(prog="selftests.fuzz.archive")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("unpack", "make a folder's files those of an archive"),
        ("pack", "make an archive of a folder's files"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("file", type=Path)
        command.add_argument("folder", type=Path)
    given = parser.parse_args()
    (unpack if given.command == "unpack" else pack_folder)(given.file, given.folder)


if __name__ == "__main__":
    try:
        main()
    except (OSError, VMError) as error:
        sys.exit(f"archive: {error}")
