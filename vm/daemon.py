# SPDX-License-Identifier: GPL-2.0
"""The daemon sched-tcp and the programs that its tests need, for guests.

Each is one static file. They are built in a root of their own, which has the libraries. The guests'
root, in which kernels are built, stays as it is.
"""

import hashlib
from pathlib import Path

from .build import CHECKOUT, INSIDE, overlay, sources
from .kernels import COVERAGE, NATIVE
from .root import SUITES, bootstrap, kept_root, locked, logged

_SUITE = "bookworm"
_PACKAGES = (
    "build-essential pkg-config libevent-dev libssl-dev libconfuse-dev libjansson-dev uthash-dev"
).split()
_FOLDER = "sched_tcp"
_TEST_PROGRAMS = ("churn", "certify")  # in sched_tcp/tests


def _make(program: str, more: list[str], words: list[str]) -> Path:
    """Build a program of the checkout, or return the file at once if nothing has changed. `more`
    names source files beside those of the daemon."""
    root = kept_root(_SUITE, bootstrap(_PACKAGES), "daemon")
    home = CHECKOUT / "build" / program
    made = home / "upper" / INSIDE / _FOLDER / program
    names = [name for name in sources() if name.startswith(f"{_FOLDER}/") and "/tests/" not in name]
    names = [name for name in names if name.endswith((".c", ".h", "Makefile"))] + more
    command = ["make", "-C", _FOLDER, "STATIC=1", *words, program]
    state = hashlib.sha256(" ".join([str(root), *command]).encode())
    for name in names:
        state.update(name.encode() + b"\0" + (CHECKOUT / name).read_bytes())
    stamp = home / "stamp"
    with locked(home / "lock"):
        if not (stamp.is_file() and stamp.read_text() == state.hexdigest()):
            stamp.unlink(missing_ok=True)
            build = overlay([root], home, names, command)
            logged(f"the build of {program}", build, home / "build.log")
            stamp.write_text(state.hexdigest())
    return made


def make_daemon() -> Path:
    return _make("sched-tcp", [], [])


def guest_programs(kernel: str) -> dict[str, Path]:
    """The programs of a functional guest by their path there. sched_tcp/tests/programs.py expects
    them in /usr/sbin."""
    made = {}
    native = kernel in (NATIVE, COVERAGE)  # the same tests
    if native or kernel in SUITES:
        made["sched-tcp"] = make_daemon()
    for name in _TEST_PROGRAMS if native else ():
        source = f"tests/{name}.c"
        words = [f"PROGRAM={name}", f"SOURCES={source}"]
        made[name] = _make(name, [f"{_FOLDER}/{source}"], words)
    return {f"/usr/sbin/{name}": path for name, path in made.items()}
