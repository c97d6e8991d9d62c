# SPDX-License-Identifier: GPL-2.0
"""The Debian packages, built and looked at by lintian in a root that has nothing else."""

import shutil
import sys
from pathlib import Path

from .build import CHECKOUT, INSIDE, overlay, sources
from .root import bootstrap, kept_root, locked, logged

# The oldest release for which they are
_SUITE = "bookworm"
_PACKAGES = "build-essential debhelper dh-dkms lintian".split()
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


def make_packages(version: str = "") -> Path:
    """
    The directory with the packages, of the version that debian/changelog has. If another one is
    asked for, as tests do, lintian is not.
    """
    root = kept_root(_SUITE, bootstrap(_PACKAGES))
    home = CHECKOUT / "build" / f"deb{'-' if version else ''}{version}"
    with locked(home.with_suffix(".lock")):
        print(f"building packages {version}...", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        command = overlay([root], home / "work", sources(), ["sh", "-c", _BUILD, "build", version])
        logged("the build of packages", command, home / "log")
        for path in (home / "work/upper" / Path(INSIDE).parent).iterdir():
            if path.is_file():
                shutil.move(path, home)
        shutil.rmtree(home / "work")
    return home
