# SPDX-License-Identifier: GPL-2.0
"""Whether the series in build/upstream apply, build, load, pass tdc and their selftest, and do with
downloads (D1) what the tree does.

What is not checked on each patch: MISSING_SIGN_OFF, since who sends it signs it off;
FILE_PATH_CHANGES, since MAINTAINERS is changed once, for all new files; COMMIT_LOG_LONG_LINE, which
takes git's own "create mode" for a part of the message.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.run import experiment, guests
from vm import prepare
from vm.kernels import NATIVE, OWN
from vm.root import OWN_ROOT, SOURCE_KEPT, VMError, logged, make_root, on_overlay

from . import guest, selftest
from .cover import LOAD
from .flatten import FlattenError
from .kernel import TDC
from .onefile import KIND, UPPER
from .sources import HOME

IGNORED = "MISSING_SIGN_OFF,FILE_PATH_CHANGES,COMMIT_LOG_LONG_LINE"
_OBJECT = f"net/sched/sch_{KIND}"
_SPARSE = 'W=1 C=1 CF="-D__CHECK_ENDIAN__ -Wsparse-error" KCFLAGS=-Werror'
_TREE = "usr/src/linux-upstream"
_APPLIED = HOME / "kernel/upper" / _TREE  # with the series
_UNPACK = f"""set -e
[ ! -e /{_TREE}.unpacked ] || exit 0
rm -rf /{_TREE}
mkdir /{_TREE}
tar -C /{_TREE} --strip-components=1 -xJf /{SOURCE_KEPT}
cd /{_TREE}
patch -p1 -s <../native.patch
touch /{_TREE}.unpacked
"""
_BUILD = f"""set -e
cd /{_TREE}
for how in y m; do
	(cat ../native.config; echo CONFIG_NET_SCH_{UPPER}=$how) >../config
	KCONFIG_ALLCONFIG=../config make -s ARCH=um allnoconfig
	grep -x CONFIG_NET_SCH_{UPPER}=$how .config
	rm -f {_OBJECT}.o
	make ARCH=um {_SPARSE} {_OBJECT}.o
done
make ARCH=um KBUILD_MODPOST_WARN=1 {_OBJECT}.ko
"""
_TC = """set -e
cd /usr/src/iproute2
./configure >/dev/null
make -s -j"$(nproc)" SUBDIRS="lib tc" all
"""
_JOB = f"""cd /opt/linux/tools/testing/selftests/tc-testing
./tdc.py -f /upstream/{KIND}.json
"""


def _patches(name: str) -> list[Path]:
    return sorted((HOME / name).glob("*.patch"))[1:]


def complaints(linux: Path, patches: Sequence[Path]) -> str:
    """What checkpatch says of these"""
    said = ""
    for path in patches:
        command = ["scripts/checkpatch.pl", "--strict", "--show-types", "--terse", "--no-summary"]
        command += ["--ignore", IGNORED, str(path)]
        said += subprocess.run(command, cwd=linux, capture_output=True, text=True).stdout
    return said


def checkpatch(linux: Path) -> None:
    if said := complaints(linux, _patches("linux")):
        raise FlattenError(f"checkpatch says:\n{said}")


def coccinelle(linux: Path) -> None:
    """What the kernel's semantic patches report"""
    scripts = sorted((linux / "scripts/coccinelle").rglob("*.cocci"))
    command = ["spatch", "-D", "report", "--no-show-diff", "--very-quiet", "--no-includes"]
    said = []
    for script in scripts:
        if not re.search(r"^virtual.*\breport\b", script.read_text(), re.MULTILINE):
            continue
        one = [*command, "--cocci-file", str(script), f"{_OBJECT}.c"]
        done = subprocess.run(one, cwd=_APPLIED, capture_output=True, text=True)
        said += [script.name, done.stdout or done.stderr] if done.stdout or done.returncode else []
    if said or not scripts:
        raise FlattenError("\n".join(said) or f"{linux} has no scripts of coccinelle")


def applied(name: str, source: Path, tree: Path) -> None:
    """To a tree of that source, in which they may be from an earlier time"""
    texts = [path.read_text() for path in _patches(name)]
    names = {found for text in texts for found in re.findall(r"^\+\+\+ b/(\S+)", text, re.M)}
    for each in sorted(names):
        if (source / each).exists():
            shutil.copyfile(source / each, tree / each)
        else:
            (tree / each).unlink(missing_ok=True)
    for path in _patches(name):
        command = ["patch", "-d", str(tree), "-p1", "-s", "--fuzz=0", "-i", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise FlattenError(f"{path.name} does not apply: {done.stdout.strip()}")


def built(linux: Path) -> Path:
    """The module, built in the kernel's tree as a module and built in, with all warnings"""
    home = HOME / "kernel"
    for part in ("upper", "work"):
        (home / part).mkdir(parents=True, exist_ok=True)
    _APPLIED.parent.mkdir(parents=True, exist_ok=True)
    for name, text in OWN[NATIVE].texts.items():
        (_APPLIED.parent / name).write_text(text)
    root = make_root(OWN_ROOT)
    log = HOME / "kernel.log"
    logged("unpacking the kernel", on_overlay([root], home, ["sh", "-c", _UNPACK]), log)
    applied("linux", linux, _APPLIED)
    logged("the build in the kernel's tree", on_overlay([root], home, ["sh", "-c", _BUILD]), log)
    said = re.findall(rf"^Warning: .*|^{_OBJECT}.*warning:.*", log.read_text(), re.M)
    if said:
        raise FlattenError(f"warnings, see {log}: {said[0]}")
    return _APPLIED / f"{_OBJECT}.ko"


def tc(iproute2: Path) -> Path:
    """iproute2's tc, which knows it"""
    home = HOME / "tc"
    shutil.rmtree(home, ignore_errors=True)
    tree = home / "upper/usr/src/iproute2"
    (home / "work").mkdir(parents=True)
    shutil.copytree(iproute2, tree, symlinks=True)
    applied("iproute2", iproute2, tree)
    command = on_overlay([make_root(OWN_ROOT)], home, ["sh", "-c", _TC])
    log = HOME / "tc.log"
    logged("the build of tc", command, log)
    if f"q_{KIND}.c" in log.read_text():
        raise FlattenError(f"warnings of q_{KIND}.c; see {log}")
    return tree / "tc/tc"


def tdc(module: Path, program: Path) -> None:
    """The cases of the series, in a guest with the series' module and tc"""
    cases = _APPLIED / TDC / f"tc-tests/qdiscs/{KIND}.json"
    files = {f"/upstream/{KIND}.json": cases}
    result, said = guest.run(prepare(NATIVE), "tdc", _JOB, module, program, files)
    text = "\n".join(said)
    good = re.findall(r"^ok \d+ (\w+)(?!.*# skip)", text, re.M)
    wanted = [case["id"] for case in json.loads(cases.read_text())]
    if sorted(good) != sorted(wanted):
        raise FlattenError(
            f"tdc: {len(good)} of {len(wanted)} are good {result.error}\n{text[-2000:]}"
        )


def figures(module: Path) -> None:
    """Downloads by the tree's module, and by the series': the same, to the byte"""
    with_it = prepare(NATIVE)
    d1 = experiment.read(guests.LAB / "experiments/d1-load.toml")
    job = d1.only({KIND: KIND}, [LOAD]).runs[LOAD, KIND, d1.seeds[0]]
    told = []
    for name, files in ("tree", {}), ("series", {guest.place_of(with_it): module}):
        result = guests.guest_of(job, with_it, f"upstream-{name}", True, None, files).run()
        # Of a module that is not built in the kernel's tree the kernel says so.
        other = f"sch_{KIND}: loading out-of-tree" in result.console_path.read_text()
        if result.status or result.error or other != (name == "tree"):
            raise FlattenError(f"{name}: {result.error}; see {result.console_path}")
        told.append(result.data_path.read_bytes())
    if told[0] != told[1]:
        raise FlattenError("the results are others")


def all_of(linux: Path, iproute2: Path) -> int:
    found: dict[str, Path] = {}

    def kernel() -> None:
        found["module"] = built(linux)

    def tools() -> None:
        found["tc"] = tc(iproute2)

    steps: Sequence[tuple[str, Callable[[], None]]] = [
        ("checkpatch", lambda: checkpatch(linux)),
        ("built in the kernel's tree, W=1 C=1, as y and as m", kernel),
        ("coccinelle", lambda: coccinelle(linux)),
        ("iproute2", tools),
        ("tdc", lambda: tdc(found["module"], found["tc"])),
        ("the selftest", lambda: selftest.run(_APPLIED, found["tc"])),
        ("D1 as by the tree", lambda: figures(found["module"])),
    ]
    failed = False
    for name, step in steps:
        try:
            step()
            print(f"upstream: {name}: ok", flush=True)
        except (FlattenError, VMError, KeyError) as error:
            print(f"upstream: {name}: FAILED: {error}", file=sys.stderr, flush=True)
            failed = True
    return int(failed)
