# SPDX-License-Identifier: GPL-2.0
"""Build and install the checkout inside a root, on an overlay: the root itself stays as it is."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from . import processors
from .kernels import COVERAGE, OWN, make_kernel
from .processors import FOREIGN, LOOKING, ROOTLESS, TARGETS, X86, Processor
from .root import (
    OWN_ROOT,
    SUITES,
    VMError,
    cache_dir,
    in_namespace,
    kernel_version,
    locked,
    logged,
    make_root,
    need,
    on_overlay,
    packages,
)

CHECKOUT = Path(__file__).resolve().parents[1]
KERNELS = (*SUITES, *FOREIGN, *OWN)
BUILDS = 8  # of the tree that the cache keeps for each kernel
DAY = 86400  # seconds
ROOT_MINUTES = 2  # to make a root, on two processors
INSIDE = "build/shortfirst"  # where the checkout is in the chroot and in the guest

_MAKE = 'for goal in all install {}; do make -j"$(nproc)" "$@" "$goal" || exit; done'


@dataclass(frozen=True)
class Built:
    kernel: str  # of KERNELS
    version: str  # the kernel's full version
    root: Path
    home: Path  # build/<kernel> in the checkout
    layer: Path | None = None  # what has the kernel, if it is not the root's
    compilers: Path | None = None  # what has them, if neither of these has
    made: Path | None = None  # where the tree was built, in the cache

    @property
    def upper(self) -> Path:
        """What the build and its installation put on top of the root."""
        return (self.made or self.home) / "upper"

    @property
    def lower(self) -> list[Path]:
        """What all of that lies on, the topmost first."""
        if self.layer and self.kernel in FOREIGN:
            return [self.layer]  # nothing of the guest's root can be run
        return [part for part in (self.layer, self.compilers, self.root) if part]

    @property
    def builder(self) -> Path:
        """The root whose programs can be run here."""
        return self.lower[-1]

    @property
    def processor(self) -> Processor:
        return (FOREIGN | LOOKING | ROOTLESS).get(self.kernel, X86)

    @property
    def make(self) -> str:
        """What makes all that a guest needs"""
        return _MAKE.format("smoke" if self.kernel in ROOTLESS else "testtools")

    @property
    def arch(self) -> str:
        """As make knows it."""
        if self.kernel in OWN:
            return OWN[self.kernel].arch
        return TARGETS[self.kernel].arch if self.kernel in TARGETS else "x86"

    @property
    def vmlinuz(self) -> Path:
        return self.lower[0] / "boot" / f"vmlinuz-{self.version}"

    @property
    def modules(self) -> Path:
        """The kernel's own modules."""
        return self.lower[0] / "usr/lib/modules" / self.version


def sources() -> list[str]:
    """The checkout's files, relative to it: tracked ones and new ones, not ignored ones."""
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True).stdout
    except FileNotFoundError:
        raise VMError("git is not installed: run vm/host-setup as root") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        raise VMError(f"cannot list the checkout's files: {reason}") from None
    names = sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})
    return [n for n in names if os.path.lexists(CHECKOUT / n) and not (CHECKOUT / n).is_dir()]


# What make reads nothing of, or what only runs on this side
_APART = (
    "debian docs openwrt python upstream selftests/fuzz selftests/host selftests/syzkaller"
).split()


def _feeds_make(name: str) -> bool:
    """Scripts, tests and results do not need a new build: the guest gets what it needs of them."""
    path = Path(name)
    if "tests" in path.parts or any(map(path.is_relative_to, _APART)):
        return False
    if path.parts[0] in ("lab", "selftests", "vm"):
        return path.suffix in (".c", ".h") or path.name in ("Makefile", "Kbuild")
    return path.suffix not in (".md", ".py", ".toml") and not name.startswith(".")


def _digest(built: Built, names: list[str]) -> str:
    state = hashlib.sha256((" ".join(map(str, built.lower)) + built.make).encode())
    for name in names:
        path = CHECKOUT / name
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        head = f"{len(os.fsencode(name))} {path.lstat().st_mode:o} {len(data)} "
        state.update(head.encode() + os.fsencode(name) + data)
    return state.hexdigest()


def overlay(lower: list[Path], home: Path, names: list[str], command: list[str]) -> list[str]:
    """Put the named sources into a new overlay in `home`; the command line to use there."""
    for part in ("upper", "work"):
        shutil.rmtree(home / part, ignore_errors=True)
        (home / part).mkdir(parents=True)
    for name in names:
        target = home / "upper" / INSIDE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, target, follow_symlinks=False)
    return on_overlay(lower, home, ["env", "-C", f"/{INSIDE}", *command])


def _base(kernel: str) -> Built:
    """What to build the tree for and on."""
    home = CHECKOUT / "build" / kernel
    if kernel in FOREIGN:
        layer = processors.make_build_root()
        version = kernel_version(layer, TARGETS[kernel].kernel)
        return Built(kernel, version, processors.make_guest_root(kernel), home, layer)
    root = make_root(OWN_ROOT if kernel in OWN else kernel)
    if kernel not in OWN:
        return Built(kernel, kernel_version(root), root, home)
    compilers = processors.make_build_root() if kernel in ROOTLESS else None
    layer = make_kernel(kernel, [compilers, root] if compilers else [root])
    return Built(kernel, kernel_version(layer), root, home, layer, compilers)


def make_arguments(built: Built) -> list[str]:
    """What make is to know of the kernel to build for."""
    where = f"KDIR=/lib/modules/{built.version}/build"
    if built.kernel in FOREIGN:
        return [where, *TARGETS[built.kernel].make]
    if built.kernel in ROOTLESS:
        return [where, *OWN[built.kernel].make]
    counted = ["GCOV_PROFILE=y"] if built.kernel == COVERAGE else []
    return [where, f"ARCH={built.arch}", *counted]


def prepare(kernel: str) -> Built:
    """Make the root, build the tree and install it there, unless the cache has the same build."""
    built = _base(kernel)
    store = cache_dir() / "builds" / kernel
    with locked(store / "lock"):
        names = [name for name in sources() if _feeds_make(name)]
        digest = _digest(built, names)
        made = store / digest[:16]
        done = made / "complete"
        if not done.exists():
            print(f"building for {built.version} ...", file=sys.stderr, flush=True)
            shutil.rmtree(made, ignore_errors=True)
            make = ["sh", "-c", built.make, "make", *make_arguments(built), "SF_TEST=1"]
            command = overlay(built.lower, made, names, make)
            if _digest(built, names) != digest:
                raise VMError(
                    "the tree has changed while it was copied to be built: run this again"
                )
            logged("the build", command, built.home / "build.log")
            if not (made / "upper/usr/lib/modules" / built.version / "modules.dep").exists():
                raise VMError(f"make install put no modules in /lib/modules/{built.version}")
            shutil.rmtree(made / "work")
        done.touch()
        _forget(store, BUILDS)
    return replace(built, made=made)


def minutes_to_make(kernels: Iterable[str]) -> float:
    """Estimate of the minutes that it takes to make the roots and kernels that the cache lacks."""
    cache = cache_dir()
    minutes: dict[str, float] = {}
    for kernel in kernels:
        suite = SUITES.get(OWN_ROOT if kernel in OWN else kernel, kernel)
        if not any(cache.glob(f"roots/{suite}-*/root")):
            minutes[suite] = ROOT_MINUTES
        if kernel in OWN and not any(cache.glob(f"kernels/{kernel}-*/layer")):
            minutes[kernel] = OWN[kernel].minutes
    return sum(minutes.values())


def _forget(store: Path, most: int) -> None:
    """Keep the builds that were used last, and those of a day: somebody may be using them."""
    builds = [path for path in store.iterdir() if path.is_dir()]

    def used(path: Path) -> float:
        done = path / "complete"
        return done.stat().st_mtime if done.exists() else 0

    for path in sorted(builds, key=used)[:-most]:
        if time.time() - used(path) > DAY:
            shutil.rmtree(path, ignore_errors=True)


def chroot(kernel: str, command: list[str]) -> int:
    """Run a command in the root, in a fresh copy of the checkout; `KDIR` is set for make."""
    home = CHECKOUT / "build" / kernel / "chroot"
    if kernel in TARGETS:
        builder = processors.make_build_root()
        lower = [processors.make_trees(), builder]
        given = [f"KDIR={processors.build_dir(kernel, builder)}", *TARGETS[kernel].make]
    else:
        built = _base(kernel)
        lower, given = built.lower, make_arguments(built)
    with locked(home.with_name("chroot.lock")):
        return in_namespace(overlay(lower, home, sources(), ["env", *given, *command]))


def versions(built: Built) -> dict[str, str]:
    """Versions of everything a result may depend on."""
    installed = packages(built.builder) | packages(built.root)
    version = kernel_version(built.root) if built.kernel in OWN else built.version
    image = f"linux-image-{version}"  # of the source of our own kernels, too
    names = [image, "iproute2", "libc6"]
    names += [name for name in installed if re.fullmatch(r"gcc-\d+", name)]
    result = {name: installed[name]["Version"] for name in names}
    if built.arch == "um":
        return result
    command = [need(built.processor.qemu), "--version"]
    shown = subprocess.run(command, capture_output=True, text=True)
    result["qemu (host)"] = shown.stdout.split("\n")[0].removeprefix("QEMU emulator version ")
    return result
