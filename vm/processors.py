# SPDX-License-Identifier: GPL-2.0
"""Other processors than this machine's: what builds for them, and the machine that a guest has.

Nothing of these is run outside of their guests: a guest's root is unpacked and no more, and one
root of this machine's kind, with all cross compilers and with the kernels and their headers, builds
for all. Both are of sid, which has a kernel for 32 bits still. For what it has no kernel for, the
source of one is configured and made ready for modules.
"""

import hashlib
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from .root import (
    GUEST_PACKAGES,
    OWN_ROOT,
    SOURCE_KEPT,
    cache_dir,
    locked,
    logged,
    make_root,
    make_unpacked,
    on_overlay,
)


def tools(triplet: str) -> list[str]:
    """As make is told of them"""
    return [f"CROSS_COMPILE={triplet}-", f"CC={triplet}-gcc"]


@dataclass(frozen=True)
class Target:
    """What modules and plugins are built for"""

    triplet: str  # of the tools
    arch: str  # as make knows it
    kernel: str = ""  # how the names of its packages, and what uname -r says, end
    config: str = ""  # of the source, where there is none

    @property
    def make(self) -> list[str]:
        """What make is to know"""
        # What is configured only does not know what a kernel exports.
        warn = ["KBUILD_MODPOST_WARN=1"] if self.config else []
        return [f"ARCH={self.arch}", *tools(self.triplet), *warn]


@dataclass(frozen=True)
class Processor:
    """The machine of a guest"""

    qemu: str
    machine: str
    console: str  # its first serial port
    cpu: str  # where KVM does not work
    ports: int = 1  # serial ones
    processors: int = 2
    memory: str = "1G"
    # A thread of QEMU for each of its processors: they run at once.
    threads: bool = True
    shift: int | None = None  # its clock counts instructions, each 1 << shift ns


# By Debian's names
TARGETS = {
    "armhf": Target("arm-linux-gnueabihf", "arm", kernel="armmp"),
    "arm64": Target("aarch64-linux-gnu", "arm64", kernel="arm64"),
    "s390x": Target("s390x-linux-gnu", "s390", kernel="s390x"),
    "i386": Target("i686-linux-gnu", "i386", config="i386_defconfig"),
    # Two of routers, whose first byte is the high one and the low one
    "mips": Target("mips-linux-gnu", "mips", config="ath79_defconfig"),
    "mipsel": Target("mipsel-linux-gnu", "mips", config="rt305x_defconfig"),
}
# Of a processor that has more TCG makes a slower one, by a tenth. After cmpxchg16b it now and then
# leaves bits set in EFLAGS that trap; no kernel needs it.
# With threads QEMU 7.2 may translate code that another processor is changing, and then runs what it
# was for good: a kernel that switches static branches ends with "Oops: int3" now and then. Without
# them two guests beside each other are a tenth faster on two processors.
_X86 = "qemu-system-x86_64", "q35", "ttyS0", "Nehalem,-mtrr,-cx16"
X86 = Processor(*_X86, ports=2, threads=False)
# Of guests with kernels of our own that look for bugs, which have no static branches
LOOKING = {
    "debug": replace(X86, memory="2G", threads=True),  # of which KASAN needs a part
    "kcsan": replace(X86, processors=4, threads=True),
}
# Of guests with Debian's own kernels
FOREIGN = {
    # The kernel sees nothing past 4 GiB.
    "armhf": Processor("qemu-system-arm", "virt,highmem=off", "ttyAMA0", "cortex-a15"),
    # With vectors QEMU 7.2 computes wrong checksums: all that is sent through lo is lost.
    "s390x": Processor("qemu-system-s390x", "s390-ccw-virtio", "ttysclp0", "max,vx=off"),
}
# Of those without a root, as Debian has none any more: their kernel is ours (kernels.py), and their
# only programs are those of the smoke test (selftests/smoke.c)
ROOTLESS = {
    # By a clock of its own QEMU 7.2 loses the processor's timer on a busy host, for 40 s at a time.
    "mips": Processor(
        *("qemu-system-mips", "malta", "ttyS0", "24Kf"),
        ports=2,
        processors=1,
        threads=False,
        memory="256M",
        shift=3,
    )
}

CROSS = "cross"  # the name of the root that builds for all of them
_BUILD_PACKAGES = (
    "base-files bash bc bison busybox-static coreutils dash diffutils findutils flex gcc grep gzip"
    " kmod libc6-dev make mawk patch perl-base python3 sed sparse tar xz-utils"
    " musl-dev:armhf musl-dev:arm64"
).split()
# A kernel is where it is in other roots; nobody has chosen an awk.
_BUILD_HOOK = """set -e
mkdir "$1/mnt"
ln -s mawk "$1/usr/bin/awk"
for kernel in "$1"/usr/lib/modules/*/vmlinuz; do
	version=${kernel%/*}
	ln "$kernel" "$1/boot/vmlinuz-${version##*/}"
done
"""
# Else each guest would compile what it imports, which takes it long.
_GUEST_HOOK = """
mount --bind "$1" {builder}/mnt &&
	chroot {builder} sh -c 'exec python3 -m compileall -q -s /mnt -p / /mnt/usr/lib/python3*'
"""
_TREES = """set -e
mkdir -p /usr/src/linux
cd /usr/src/linux
tar --strip-components=1 -xJf /{source} --exclude='*.rst' --exclude='*.yaml' --exclude='*.dts*' \
	--exclude='*/drivers/*.c' --exclude='*/fs/*.c' --exclude='*/sound/*.c' \
	--exclude='*/drivers/gpu/*.h' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*'
prepare() {{
	tree=$1 config=$2
	shift 2
	make -s O="$tree" "$@" "$config"
	scripts/config --file "$tree/.config" -e MODULES -e NET -e INET -e IPV6 -e NETFILTER \\
		-e NF_CONNTRACK -e NET_SCHED -e NET_CLS -e NET_CLS_ACT
	make -s O="$tree" "$@" olddefconfig
	make -s -j"$(nproc)" O="$tree" "$@" modules_prepare
}}
{prepare}
find . -path ./scripts -prune -o -name '*.[cS]' -exec rm {{}} +
"""


def make_build_root() -> Path:
    """The directory of the root that builds for all of them, and has their kernels."""
    included, architectures = list(_BUILD_PACKAGES), ["amd64"]
    for name, target in TARGETS.items():
        included += [f"gcc-{target.triplet}", f"libc6-dev-{name}-cross"]
        if target.kernel:
            architectures.append(name)
            included.append(f"linux-headers-{target.kernel}:{name}")
        if name in FOREIGN:
            included.append(f"linux-image-{target.kernel}:{name}")
    return make_unpacked(CROSS, ",".join(architectures), included, _BUILD_HOOK)


def make_guest_root(name: str) -> Path:
    """The directory of the root of guests with this processor."""
    hook = _GUEST_HOOK.format(builder=shlex.quote(str(make_build_root())))
    return make_unpacked(name, name, GUEST_PACKAGES, hook)


def build_dir(name: str, builder: Path) -> str:
    """In the root that builds, what modules for it are built with."""
    target = TARGETS[name]
    if target.config:
        return f"/usr/src/linux-{name}"
    found = list((builder / "usr/lib/modules").glob(f"*-{target.kernel}"))
    return f"/usr/lib/modules/{found[0].name}/build"


def make_trees() -> Path:
    """What lies on the root that builds, to have there what is configured of the source."""
    builder = make_build_root()
    prepare = "\n".join(
        shlex.join(["prepare", build_dir(name, builder), target.config, *target.make])
        for name, target in TARGETS.items()
        if target.config
    )
    script = _TREES.format(source=SOURCE_KEPT, prepare=prepare)
    lower = [builder, make_root(OWN_ROOT)]  # which has the source
    digest = hashlib.sha256("\0".join([*map(str, lower), script]).encode()).hexdigest()[:12]
    home = cache_dir() / "kernels" / f"trees-{digest}"
    layer = home / "layer"
    with locked(home.with_suffix(".lock")):
        if not layer.is_dir():
            print("configuring kernels of other processors (a minute, once) ...", file=sys.stderr)
            shutil.rmtree(home, ignore_errors=True)
            logged(
                "configuring kernels",
                on_overlay(lower, home, ["sh", "-c", script]),
                home.with_suffix(".log"),
            )
            (home / "upper").rename(layer)
            shutil.rmtree(home / "work")
    return layer
