# SPDX-License-Identifier: GPL-2.0
"""The daemon sched-tcp for experiments' guests: one file that needs no other, made in a root of its
own, which has what the daemon is built with; the guests' root, on which kernels are built, stays as
it is."""

import hashlib
from pathlib import Path

from .build import CHECKOUT, INSIDE, overlay, sources
from .root import bootstrap, kept_root, locked, logged

_SUITE = "bookworm"
_PACKAGES = (
    "build-essential pkg-config libevent-dev libssl-dev libconfuse-dev libjansson-dev uthash-dev"
).split()
_FOLDER = "sched_tcp"
_MAKE = ["make", "-C", _FOLDER, "STATIC=1", "sched-tcp"]


def _sources() -> list[str]:
    every = [name for name in sources() if name.startswith(f"{_FOLDER}/") and "/tests/" not in name]
    return [name for name in every if name.endswith((".c", ".h", "Makefile"))]


def make_daemon() -> Path:
    """Its file, of the checkout as it is now; fast if nothing has changed."""
    root = kept_root(_SUITE, bootstrap(_PACKAGES), "daemon")
    home = CHECKOUT / "build/daemon"
    made = home / "upper" / INSIDE / _FOLDER / "sched-tcp"
    names = _sources()
    state = hashlib.sha256(" ".join([str(root), *_MAKE]).encode())
    for name in names:
        state.update(name.encode() + b"\0" + (CHECKOUT / name).read_bytes())
    stamp = home / "stamp"
    with locked(home / "lock"):
        if not (stamp.is_file() and stamp.read_text() == state.hexdigest()):
            stamp.unlink(missing_ok=True)
            command = overlay([root], home, names, _MAKE)
            logged("the build of sched-tcp", command, home / "build.log")
            stamp.write_text(state.hexdigest())
    return made
