# SPDX-License-Identifier: GPL-2.0
"""Where the sources are that the series apply to, and clang-format; each is got once."""

import hashlib
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

from vm.root import OWN_ROOT, SOURCE_KEPT, VMError, cache_dir, locked, make_root, need

from .flatten import TOP
from .style import VERSION

HOME = TOP / "build/upstream"
_IPROUTE2 = "iproute2_7.2.0.orig.tar.xz"
_POOL = "pool/main/i/iproute2"
_SHA256 = "4c2fa124c2cf0afd7ca34d1eeacba6ba048a56f6374e2aab93dafbdbd4eea9c0"


def _unpacked(archive: Path, name: str) -> Path:
    where = cache_dir() / "upstream" / name
    with locked(where.with_suffix(".lock")):
        if where.is_dir():
            return where
        print(f"unpacking {archive.name} ...", file=sys.stderr)
        part = where.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        command = ["tar", "-C", str(part), "--strip-components=1", "-xJf", str(archive)]
        if subprocess.run(command).returncode:
            raise VMError(f"cannot unpack {archive}")
        part.rename(where)
    return where


def known() -> bool:
    """Whether all of it is here, so that a test need not get it"""
    here = [cache_dir() / f"check/clang-format-{VERSION}/bin/clang-format"]
    here.append(cache_dir() / "upstream" / f"linux-{make_root(OWN_ROOT).parent.name}")
    return all(path.exists() for path in here) and bool(shutil.which("unifdef"))


def linux() -> Path:
    """Of the version that our own kernels have"""
    root = make_root(OWN_ROOT)
    return _unpacked(root / SOURCE_KEPT, f"linux-{root.parent.name}")


def _mirror() -> str:
    """Whence the root of our own kernels has its packages"""
    lists = make_root(OWN_ROOT) / "etc/apt/sources.list"
    found = re.search(r"https?://\S+", lists.read_text())
    if not found:
        raise VMError(f"{lists} names no mirror; name a source of yours")
    return found[0].rstrip("/")


def iproute2() -> Path:
    archive = cache_dir() / "upstream" / _IPROUTE2
    archive.parent.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        url = f"{_mirror()}/{_POOL}/{_IPROUTE2}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                data = answer.read()
        except OSError as error:
            raise VMError(f"no {url}: {error}; name a source of yours") from None
        if hashlib.sha256(data).hexdigest() != _SHA256:
            raise VMError(f"{url} is another one")
        archive.write_bytes(data)
    return _unpacked(archive, _IPROUTE2.removesuffix(".orig.tar.xz"))


def clang_format() -> Path:
    need("unifdef")
    where = cache_dir() / f"check/clang-format-{VERSION}"
    program = where / "bin/clang-format"
    if not program.exists():
        print(f"getting clang-format {VERSION} ...", file=sys.stderr)
        for command in (
            ["/usr/bin/python3", "-m", "venv", str(where)],
            [str(where / "bin/pip"), "-q", "install", f"clang-format=={VERSION}"],
        ):
            if subprocess.run(command).returncode:
                raise VMError(f"cannot get clang-format {VERSION}")
    return program
