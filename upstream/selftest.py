# SPDX-License-Identifier: GPL-2.0
"""The series' test of net/forwarding, with the series' module and tc.

It wants VRF, bridges and BPF, so it is run on Debian's kernel of the version that the series are
for; jq and mausezahn it has from a root of their own.
"""

import re
import shutil
from pathlib import Path

from vm import prepare
from vm.root import OWN_ROOT, logged, make_unpacked, on_overlay

from . import guest
from .flatten import FlattenError
from .kernel import SCHED, TESTS, UAPI
from .onefile import KIND
from .sources import HOME

_PLACE = "usr/src/series"
# <linux/pkt_sched.h> is to be the series', not that of the headers
_BUILD = f"""set -e
cd /{_PLACE}
echo obj-m := {Path(SCHED).stem}.o >Kbuild
make -C /lib/modules/{{version}}/build M=/{_PLACE} \\
	NOSTDINC_FLAGS=-I/{_PLACE}/include/uapi modules
"""
_PACKAGES = ["jq", "netsniff-ng"]
_TOOLS = ("usr/bin/jq", "usr/sbin/mausezahn", "usr/lib/*-linux-gnu/*.so.*")
_INSIDE = "/upstream"
_JOB = f"""cd {_INSIDE}/{TESTS}
./sch_{KIND}.sh
"""
# Of these all scripts, which the test sources
_SOURCED = (TESTS, f"{Path(TESTS).parent}/lib/sh", "tools/testing/selftests/kselftest")


def _module(tree: Path, version: str, root: Path) -> Path:
    """The series' module, out of the kernel's tree"""
    home = HOME / "selftest"
    shutil.rmtree(home, ignore_errors=True)
    there = home / "upper" / _PLACE
    for name, place in ((SCHED, Path(SCHED).name), (UAPI, UAPI)):
        (there / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / name, there / place)
    command = on_overlay([root], home, ["sh", "-c", _BUILD.format(version=version)])
    logged("the build against Debian's headers", command, HOME / "selftest.log")
    return (there / Path(SCHED).name).with_suffix(".ko")


def _tools(there: Path) -> dict[str, Path]:
    """jq, mausezahn and their libraries, but what is there"""
    root = make_unpacked("forwarding", "amd64", _PACKAGES, "true")
    found = [path.relative_to(root) for pattern in _TOOLS for path in root.glob(pattern)]
    return {f"/{path}": (root / path).resolve() for path in found if not (there / path).exists()}


def _scripts(tree: Path) -> dict[str, Path]:
    found = [path for folder in _SOURCED for path in (tree / folder).glob("*.sh")]
    found.append(tree / Path(TESTS).parent / "lib.sh")
    return {f"{_INSIDE}/{path.relative_to(tree)}": path for path in found}


def run(tree: Path, program: Path) -> None:
    """`tree` has the series applied, `program` is the series' tc."""
    debian = prepare(OWN_ROOT)
    module = _module(tree, debian.version, debian.root)
    files = _tools(debian.root) | _scripts(tree)
    result, said = guest.run(debian, "selftest", _JOB, module, program, files)
    told = [line for line in said if line.startswith("TEST: ")]
    bad = [line for line in told if not line.endswith("[ OK ]")]
    script = (tree / TESTS / f"sch_{KIND}.sh").read_text()
    (names,) = re.findall(r'^ALL_TESTS="(.*?)"', script, re.DOTALL | re.MULTILINE)
    if result.status or result.error or bad or len(told) < len(names.split()):
        text = "\n".join(said)
        raise FlattenError(f"{len(bad)} of {len(told)} are bad {result.error}\n{text[-2000:]}")
