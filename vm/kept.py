# SPDX-License-Identifier: GPL-2.0
"""What runs with virtual time have given: the same input gives the same again, so it is kept."""

import hashlib
import os
import shutil
from pathlib import Path

from .root import cache_dir, locked

FILES = ("console.log", "data")
MOST = 4 << 30  # bytes; what was not used for longest goes


def digest(words: list[str], files: list[Path]) -> str:
    """Of a command line and of files, wherever they are"""
    state = hashlib.sha256()
    for word in words:
        state.update(hashlib.sha256(word.encode()).digest())
    for path in files:
        state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def _store() -> Path:
    return cache_dir() / "results"


def has(key: str) -> bool:
    return (_store() / key).is_dir()


def fetch(key: str, directory: Path) -> bool:
    """Copy what a run has given into its directory; False if there is none."""
    store = _store()
    with locked(store / "lock"):
        if not (store / key).is_dir():
            return False
        for name in FILES:
            shutil.copyfile(store / key / name, directory / name)
        os.utime(store / key)
    return True


def _size(entry: Path) -> int:
    return sum(path.stat().st_size for path in entry.iterdir())


def keep(key: str, directory: Path, most: int = MOST) -> None:
    """Keep what a run has given, and as much of what was kept before as there is room for."""
    store = _store()
    with locked(store / "lock"):
        partial = store / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(store / key, ignore_errors=True)
        partial.mkdir()
        for name in FILES:
            shutil.copyfile(directory / name, partial / name)
        partial.rename(store / key)
        entries = sorted(
            (entry for entry in store.iterdir() if entry.is_dir()),
            key=lambda entry: -entry.stat().st_mtime_ns,
        )
        total = 0
        for entry in entries:
            total += _size(entry)
            if total > most and entry.name != key:
                shutil.rmtree(entry)
