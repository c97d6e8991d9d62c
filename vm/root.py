# SPDX-License-Identifier: GPL-2.0
"""Distribution roots: one per kernel generation, made by mmdebstrap and kept in the cache."""

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

SUITES = {"5.10": "bookworm", "6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}
# A kernel of the release before, whose programs are too old for the tests
_OLDER = {"5.10": ("bullseye", "5.10.0-32-cloud-amd64")}
# A snapshot of sid is past its Valid-Until soon after it was taken.
_EXTRA = {"sid": ['--aptopt=Acquire::Check-Valid-Until "false"']}
_KERNEL = ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"]
_PACKAGES = (
    "iproute2 busybox-static dash build-essential"
    " ethtool procps kmod python3 python3-pyroute2 python3-pytest python3-scapy tcpdump"
    " libnl-3-dev libnl-route-3-dev nftables pkg-config sparse"
).split()
# What functional guests get, with what it depends on; not compilers and the like.
GUEST_PACKAGES = (
    "base-files base-passwd bash bsdutils busybox-static coreutils dash diffutils ethtool findutils"
    " grep gzip hostname iproute2 kmod libc-bin libnl-3-dev libnl-route-3-dev mawk mount"
    " ncurses-base ncurses-bin nftables procps python3 python3-pyroute2 python3-pytest"
    " python3-scapy sed tar tcpdump util-linux"
).split()
# What our own kernels are built with (kernels.py), in the root of 7.2. All of the source is kept
# there too, so that all kernels of 7.2 are of the same version even when the archive has moved on.
OWN_ROOT = "7.2"
_BUILD_KERNEL = ["bc", "bison", "flex", "libelf-dev"]
SOURCE_KEPT = "usr/src/linux-source.tar.xz"
# No documentation and no initrd (the hook that makes one is left out): nobody reads or boots them.
_LEFT_OUT = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/etc/kernel/postinst.d/initramfs-tools",
]
# Of the kernel's source what no other package has: tdc, which tests tc, and checkpatch.
SOURCE = "opt/linux"
_GET_SOURCE = """set -e
cd /tmp
apt-get -q download linux-source-{kernel}
dpkg-deb -x linux-source-*.deb source
mkdir /opt/linux
tar -C /opt/linux --strip-components=1 --wildcards -xJf source/usr/src/linux-source-*.tar.xz \\
	'*/tools/testing/selftests/tc-testing' '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \\
	'*/scripts/const_structs.checkpatch'
{keep}rm -r source linux-source-*.deb
"""
# As dpkg would if it had installed them
_TELL_PACKAGES = """
for deb in "$1"/var/cache/apt/archives/*.deb; do
	dpkg-deb -f "$deb" && echo "Status: install ok installed" && echo || exit
done >"$1/var/lib/dpkg/status"
"""
# Everything is bound to plain names first: overlay's options cannot carry every path. The arguments
# are upper's and work's directory, the lower ones from the top, "--" and the command.
_ON_OVERLAY = r"""
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/here /mnt/merged
mount --bind "$1" /mnt/here
shift
lower=
while [ "$1" != -- ]; do
	mkdir "/mnt/$#"
	mount --bind "$1" "/mnt/$#"
	lower=$lower${lower:+:}/mnt/$#
	shift
done
mount -t overlay overlay -o "lowerdir=$lower,upperdir=/mnt/here/upper,workdir=/mnt/here/work" \
	/mnt/merged
mount -t proc proc /mnt/merged/proc
cd /mnt/merged
shift
exec chroot . /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
_NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]


class VMError(Exception):
    """Something to tell the user in one line."""


def cache_dir() -> Path:
    named = os.environ.get("SHORTFIRST_CACHE")
    path = Path(named).absolute() if named else Path.home() / ".cache/shortfirst"
    path.mkdir(parents=True, exist_ok=True)
    return path


def need(program: str) -> str:
    found = shutil.which(program)
    if not found:
        raise VMError(f"{program} is not installed: run vm/host-setup as root")
    return found


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which is created beside what it protects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def in_namespace(command: list[str], out: IO[bytes] | None = None) -> int:
    """Run a command with mounts and processes of its own, which end with this program."""
    if os.geteuid() != 0:
        raise VMError("this mounts and changes root, so run it as root")
    process = subprocess.Popen(
        # unshare would survive the death of this program; setpriv sees to that.
        ["setpriv", "--pdeathsig", "KILL", "--", *_NAMESPACE, *command],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if out else None,
    )
    try:
        return process.wait()
    finally:
        process.kill()  # after an interrupt; takes everything in the namespace along
        process.wait()


def on_overlay(lower: list[Path], home: Path, command: list[str]) -> list[str]:
    """The command line to run a command in `lower`, the topmost first; changes go to `home`."""
    for part in ("upper", "work"):
        (home / part).mkdir(parents=True, exist_ok=True)
    return ["sh", "-c", _ON_OVERLAY, "overlay", str(home), *map(str, lower), "--", *command]


def logged(what: str, command: list[str], log: Path) -> None:
    """Run a command as above; its output goes to `log`, and the end of it is shown on failure."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        status = in_namespace(command, out)
    if status != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        raise VMError(f"{what} failed (status {status}), the end of {log}:\n{tail}")


def make_root(kernel: str) -> Path:
    """The directory of the root for this kernel generation; makes it if it is not in the cache."""
    if kernel not in SUITES:
        raise VMError(f"no kernel {kernel!r}: choose one of {', '.join(SUITES)}")
    suite = SUITES[kernel]
    own = kernel == OWN_ROOT
    image = _KERNEL
    if kernel in _OLDER:
        older, release = _OLDER[kernel]
        image = [f"linux-image-{release}", f"linux-headers-{release}"]
    command = bootstrap([*image, *_PACKAGES, *(_BUILD_KERNEL if own else [])])
    command += _EXTRA.get(suite, [])
    if kernel in _OLDER:
        lists = '"$1"/etc/apt/sources.list'
        text = f"sed -n '1s/ {suite} / {older} /p' {lists} >{lists}.d/older.list"
        command.append(f"--setup-hook={text}")
    keep = f"mv source/usr/src/linux-source-*.tar.xz /{SOURCE_KEPT}\n" if own else ""
    get_source = shlex.quote(_GET_SOURCE.format(kernel=kernel, keep=keep))
    command += [f'--customize-hook=chroot "$1" sh -c {get_source}']
    return kept_root(suite, command, f"{suite}-{kernel}" if kernel in _OLDER else suite)


def make_unpacked(name: str, architectures: str, included: list[str], hook: str) -> Path:
    """The same of a root of sid of which nothing is run while it is made: packages are unpacked,
    and the hook, which is given the directory, does what else there is to do."""
    command = ["mmdebstrap", "--variant=extract", "--include=" + ",".join(included)]
    command += [f"--architectures={architectures}"]
    command += [f"--extract-hook={text}" for text in (_TELL_PACKAGES, hook)]
    return kept_root("sid", [*command, *_EXTRA["sid"]], name)


def bootstrap(included: list[str]) -> list[str]:
    """The command of mmdebstrap for a root with these packages."""
    command = ["mmdebstrap", "--variant=minbase", "--include=" + ",".join(included)]
    return command + [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]


def kept_root(suite: str, command: list[str], name: str = "") -> Path:
    """What this command of mmdebstrap makes of the suite; runs it if that is not in the cache."""
    name = name or suite
    mirror = os.environ.get("SHORTFIRST_MIRROR")
    recipe = hashlib.sha256("\0".join([suite, *command]).encode()).hexdigest()[:12]
    home = cache_dir() / "roots" / f"{name}-{recipe}"
    root = home / "root"
    if root.is_dir():
        return root
    need("mmdebstrap")
    with locked(home.with_suffix(".lock")):
        if root.is_dir():
            return root
        print(f"making the {name} root (some minutes, once) ...", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        made = home / "root.tmp"
        target = [suite, str(made)] + ([mirror] if mirror else [])
        try:
            logged("mmdebstrap", command + target, home.with_suffix(".log"))
            made.rename(root)
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
    return root


def kernel_version(root: Path, flavour: str = "") -> str:
    kernels = (root / "boot").glob(f"vmlinuz-*{flavour}")
    found = sorted(path.name.removeprefix("vmlinuz-") for path in kernels)
    if len(found) != 1:
        raise VMError(f"expected one kernel in {root}/boot, found {found or 'none'}")
    return found[0]


def packages(root: Path) -> dict[str, dict[str, str]]:
    """The installed packages by name, as dpkg describes them (the first line of each field)."""
    result = {}
    for entry in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", entry, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            result[fields["Package"]] = fields
    return result
