# SPDX-License-Identifier: GPL-2.0
"""Kernels of our own, by NAME.config: each is built once from the source in the root of 7.2, by the
compiler there or, for another processor, by that of the root that builds for all, and kept in the
cache.

    debug     looks for bugs, in QEMU
    kcsan     looks for data races, in QEMU, from when it is told to (selftests/kinds)
    native    user-mode Linux, a program of the machine it runs on, whose time can be virtual
    coverage  the same, and our modules count how often each line is executed
    sanitized the same, and it looks for bugs
    mips      for a processor of home routers, of which Debian has no root: a smoke test runs there
"""

import hashlib
import re
import shutil
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from .processors import TARGETS, tools
from .root import (
    SOURCE_KEPT,
    VMError,
    cache_dir,
    kernel_version,
    locked,
    logged,
    on_overlay,
    packages,
)

DEBUG = "debug"
KCSAN = "kcsan"
NATIVE = "native"
COVERAGE = "coverage"
SANITIZED = "sanitized"
_HERE = Path(__file__).parent
_OBJECT = re.compile(rb"^  (?:AS|CC|HOSTCC) ", re.MULTILINE)
_OPTION = re.compile(r"^(CONFIG_\w+)=.*", re.MULTILINE)
_REPORT = 60  # seconds between two lines about how far it is

_UNPACK = """set -e
[ ! -e /{tree}.unpacked ] || exit 0
rm -rf /{tree}
mkdir /{tree}
tar -C /{tree} --strip-components=1 -xJf /{source}
cd /{tree}
[ ! -e ../{name}.patch ] || patch -p1 -s <../{name}.patch
touch /{tree}.unpacked
"""
_CONFIGURE = "cd /{tree} && KCONFIG_ALLCONFIG=../{name}.config make -s {given} allnoconfig"
# What an interrupted make has left in /tmp would keep the next from running jobs side by side.
# Who built it when is mixed into the kernel's random numbers.
_MAKE = """rm -f /tmp/GMfifo*
cd /{tree} && nice make -j"$(nproc)" {given} KBUILD_BUILD_TIMESTAMP=2026-01-01 \\
	KBUILD_BUILD_USER=shortfirst KBUILD_BUILD_HOST=shortfirst {goals}
"""
# Also makes the lists of what is built in. Of the tree remains what modules are built with.
_INSTALL = """set -e
cd /{tree}
make -s {given} modules_install
rm /{tree}.unpacked
mkdir -p /boot
{strip}
cp {image} "/boot/vmlinuz-$(make -s {given} kernelrelease)"
mkdir kept
mv .config Kbuild Makefile Module.symvers include scripts kept
mkdir kept/arch kept/tools
mv arch/Kconfig {arches} kept/arch
mv tools/objtool tools/include kept/tools
cd ..
mv linux-{name}/kept kept
rm -rf linux-{name}
mv kept linux-{name}
find linux-{name}/arch -name '*.[coSa]' -delete
"""


@dataclass(frozen=True)
class Recipe:
    """How one of them is built; beside this file are NAME.config and maybe NAME.patch.

    Those of `like` come first, if it is like another.
    """

    name: str
    arch: str
    goals: str
    image: str  # in the tree, when it is built
    arches: str  # what modules need of the tree's arch/
    objects: int  # that there are, or so
    minutes: int  # that it takes, or so
    strip: str = ""
    like: str = ""
    triplet: str = ""  # of the tools, if they are not this machine's

    @property
    def tree(self) -> str:
        return f"usr/src/linux-{self.name}"

    @property
    def texts(self) -> dict[str, str]:
        """NAME.config and maybe NAME.patch"""
        found = {}
        for suffix in ("config", "patch"):
            paths = [_HERE / f"{name}.{suffix}" for name in (self.like, self.name)]
            if text := "".join(path.read_text() for path in paths if path.exists()):
                found[f"{self.name}.{suffix}"] = text
        return found

    @property
    def make(self) -> list[str]:
        """What make is to know"""
        return [f"ARCH={self.arch}", *(tools(self.triplet) if self.triplet else [])]

    def script(self, text: str) -> str:
        known = {"source": SOURCE_KEPT, "tree": self.tree, "given": " ".join(self.make)}
        return text.format(**known, **vars(self))

    @property
    def steps(self) -> list[str]:
        return [self.script(text) for text in (_UNPACK, _CONFIGURE, _MAKE, _INSTALL)]


_DEBUG = Recipe(DEBUG, "x86", "bzImage modules", "arch/x86/boot/bzImage", "arch/x86", 1200, 10)
_KCSAN = replace(_DEBUG, name=KCSAN, like=DEBUG, minutes=6)
_NATIVE = Recipe(
    NATIVE, "um", "linux modules", "linux", "arch/um arch/x86", 800, 5, strip="strip linux"
)
_COVERAGE = replace(_NATIVE, name=COVERAGE, like=NATIVE)
_SANITIZED = replace(_NATIVE, name=SANITIZED, like=NATIVE)
_ROUTER = TARGETS["mips"].triplet
_MIPS = Recipe("mips", "mips", "vmlinux modules", "vmlinux", "arch/mips", 810, 6, triplet=_ROUTER)
OWN = {recipe.name: recipe for recipe in (_DEBUG, _KCSAN, _NATIVE, _COVERAGE, _SANITIZED, _MIPS)}


def missing(wanted: str, config: str) -> list[str]:
    """The options of a fragment that a configuration does not have: what they need is not there.
    Of an option that is told twice the last counts, and it may be that there is none: `=n`."""
    have = {found[1]: found[0] for found in _OPTION.finditer(config)}
    told = {found[1]: found[0] for found in _OPTION.finditer(wanted)}
    return [line for name, line in told.items() if have.get(name, f"{name}=n") != line]


def make_kernel(name: str, lower: list[Path]) -> Path:
    """What lies on these, the root with the source at the bottom and what has the compiler on top,
    to have this kernel there; builds it if it is not in the cache."""
    recipe = OWN[name]
    installed = packages(lower[0])
    compilers = [f"{n} {p['Version']}" for n, p in installed.items() if n.startswith("gcc-")]
    known = [kernel_version(lower[-1]), *compilers, *recipe.texts.values()]
    digest = hashlib.sha256("\0".join([*known, *recipe.steps]).encode()).hexdigest()[:12]
    home = cache_dir() / "kernels" / f"{name}-{digest}"
    layer = home / "layer"
    if layer.is_dir():
        return layer
    with locked(home.with_suffix(".lock")):
        if not layer.is_dir():
            what = f"building the {name} kernel (some {recipe.minutes} minutes, once) ..."
            print(what, file=sys.stderr)
            _build(recipe, lower, home)
            (home / "upper").rename(layer)
            shutil.rmtree(home / "work")
    return layer


def _build(recipe: Recipe, lower: list[Path], home: Path) -> None:
    """In home/upper; goes on where it was interrupted."""
    log = home.with_suffix(".log")

    def step(script: str) -> None:
        command = on_overlay(lower, home, ["sh", "-c", script])
        logged(f"building the {recipe.name} kernel", command, log)

    unpack, configure, make, install = recipe.steps
    sources = home / "upper" / Path(recipe.tree).parent
    sources.mkdir(parents=True, exist_ok=True)
    for name, text in recipe.texts.items():
        (sources / name).write_text(text)
    step(unpack)
    step(configure)
    config = home / "upper" / recipe.tree / ".config"
    if lost := missing(recipe.texts[f"{recipe.name}.config"], config.read_text()):
        raise VMError(f"the {recipe.name} kernel cannot have {', '.join(lost)}")
    done = threading.Event()
    threading.Thread(target=_report, args=(recipe, log, done), daemon=True).start()
    try:
        step(make)
    finally:
        done.set()
    step(install)


def _report(recipe: Recipe, log: Path, done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(_REPORT):
        built, minutes = len(_OBJECT.findall(log.read_bytes())), (time.monotonic() - began) / 60
        text = f"{recipe.name} kernel: {built} of about {recipe.objects} objects"
        print(f"{text} after {minutes:.0f} min", file=sys.stderr, flush=True)
