# SPDX-License-Identifier: GPL-2.0
"""The debug kernel: built once from the source in its root by debug.config, kept in the cache."""

import hashlib
import re
import shutil
import sys
import threading
import time
from pathlib import Path

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

_CONFIG = Path(__file__).with_name("debug.config")
_TREE = "usr/src/linux-debug"
_UNPACK = f"""set -e
[ ! -e /{_TREE}.unpacked ] || exit 0
rm -rf /{_TREE}
mkdir /{_TREE}
tar -C /{_TREE} --strip-components=1 -xJf /{SOURCE_KEPT}
touch /{_TREE}.unpacked
"""
_CONFIGURE = f"cd /{_TREE} && KCONFIG_ALLCONFIG=../debug.config make -s allnoconfig"
# What an interrupted make has left in /tmp would keep the next from running jobs side by side.
_MAKE = f'rm -f /tmp/GMfifo*; cd /{_TREE} && nice make -j"$(nproc)" bzImage modules'
# Also makes the lists of what is built in. Of the tree remains what modules are built with.
_INSTALL = f"""set -e
cd /{_TREE}
make -s modules_install
rm /{_TREE}.unpacked
mkdir -p /boot
cp arch/x86/boot/bzImage "/boot/vmlinuz-$(make -s kernelrelease)"
mkdir kept
mv .config Kbuild Makefile Module.symvers include scripts kept
mkdir kept/arch kept/tools
mv arch/Kconfig arch/x86 kept/arch
mv tools/objtool tools/include kept/tools
cd ..
mv linux-debug/kept kept
rm -rf linux-debug
mv kept linux-debug
find linux-debug/arch -name '*.[coSa]' -delete
"""
_OBJECT = re.compile(rb"^  (?:AS|CC|HOSTCC) ", re.MULTILINE)
_OBJECTS = 1100  # that there are, or so
_REPORT = 60  # seconds between two lines about how far it is


def missing(wanted: str, config: str) -> list[str]:
    """The options of a fragment that a configuration does not have: what they need is not there."""
    have = set(config.splitlines())
    return [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in have]


def make_debug_kernel(root: Path) -> Path:
    """What lies on `root` to have the debug kernel there; builds it if it is not in the cache."""
    compilers = [f"{n} {p['Version']}" for n, p in packages(root).items() if n.startswith("gcc-")]
    recipe = [kernel_version(root), *compilers, _CONFIG.read_text(), _UNPACK, _CONFIGURE]
    recipe += [_MAKE, _INSTALL]
    digest = hashlib.sha256("\0".join(recipe).encode()).hexdigest()[:12]
    home = cache_dir() / "kernels" / f"debug-{digest}"
    layer = home / "layer"
    if layer.is_dir():
        return layer
    with locked(home.with_suffix(".lock")):
        if not layer.is_dir():
            print("building the debug kernel (some 10 minutes, once) ...", file=sys.stderr)
            _build(root, home)
            (home / "upper").rename(layer)
            shutil.rmtree(home / "work")
    return layer


def _build(root: Path, home: Path) -> None:
    """In home/upper; goes on where it was interrupted."""
    log = home.with_suffix(".log")

    def step(script: str) -> None:
        logged("building the debug kernel", on_overlay([root], home, ["sh", "-c", script]), log)

    sources = home / "upper" / Path(_TREE).parent
    sources.mkdir(parents=True, exist_ok=True)
    step(_UNPACK)
    shutil.copy(_CONFIG, sources)
    step(_CONFIGURE)
    config = home / "upper" / _TREE / ".config"
    if lost := missing(_CONFIG.read_text(), config.read_text()):
        raise VMError(f"the debug kernel cannot have {', '.join(lost)}")
    done = threading.Event()
    threading.Thread(target=_report, args=(log, done), daemon=True).start()
    try:
        step(_MAKE)
    finally:
        done.set()
    step(_INSTALL)


def _report(log: Path, done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(_REPORT):
        built, minutes = len(_OBJECT.findall(log.read_bytes())), (time.monotonic() - began) / 60
        text = f"debug kernel: {built} of about {_OBJECTS} objects after {minutes:.0f} min"
        print(text, file=sys.stderr, flush=True)
