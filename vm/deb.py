# SPDX-License-Identifier: GPL-2.0
"""The Debian packages, built and looked at by lintian in a root that has nothing else."""

import re
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from .build import CHECKOUT, INSIDE, overlay, sources
from .root import VMError, bootstrap, kept_root, locked, logged

# The oldest release for which they are
_SUITE = "bookworm"
_PACKAGES = (
    "build-essential debhelper dh-dkms libconfuse-dev libevent-dev libjansson-dev libncurses-dev"
    " libnl-3-dev libssl-dev lintian uthash-dev"
).split()
# A module is a folder with a source of its name, as for Kbuild.
MODULES = {path.stem for path in CHECKOUT.glob("*/*.c") if path.stem == path.parent.name}
_BUILD = """set -e
export DEB_BUILD_OPTIONS=noautodbgsym
if [ "$1" ]; then
	sed -i "1s/(.*)/($1)/" debian/changelog
fi
dpkg-buildpackage --unsigned-source --unsigned-changes
if [ -z "$1" ]; then
	lintian --allow-root --info --display-info --fail-on error,warning,info ../*.changes
fi
"""


def version() -> str:
    """What debian/changelog has"""
    found = re.match(r"\S+ \((\S+)\)", (CHECKOUT / "debian/changelog").read_text())
    if not found:
        raise VMError("debian/changelog has no version")
    return found[1]


def make_packages(other: str = "", without: Collection[str] = ()) -> Path:
    """
    The directory with the packages, of the version that debian/changelog has. For tests there are
    packages of another version, without some modules' sources: at these lintian does not look.
    """
    root = kept_root(_SUITE, bootstrap(_PACKAGES))
    home = CHECKOUT / "build" / f"deb{'-' if other else ''}{other}"
    with locked(home.with_name(f"{home.name}.lock")):
        print(f"building packages {other or version()} ...", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        names = [name for name in sources() if name not in {f"{m}/{m}.c" for m in without}]
        command = overlay([root], home / "work", names, ["sh", "-c", _BUILD, "build", other])
        logged("the build of packages", command, home / "log")
        for path in (home / "work/upper" / Path(INSIDE).parent).iterdir():
            if path.is_file():
                shutil.move(path, home)
        shutil.rmtree(home / "work")
    return home
