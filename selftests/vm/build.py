# SPDX-License-Identifier: GPL-2.0
"""Build and install the checkout inside a root, on an overlay: the root itself stays as it is."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .root import VMError, kernel_version, locked, make_root, packages, run_in_namespace

CHECKOUT = Path(__file__).resolve().parents[2]
INSIDE = "build/shortfirst"  # where the checkout is in the chroot and in the guest

# Everything is bound to plain names first: overlay's options cannot carry every path.
_SCRIPT = r"""
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/lower /mnt/here /mnt/merged
mount --bind "$1" /mnt/lower
mount --bind "$2" /mnt/here
mount -t overlay overlay -o lowerdir=/mnt/lower,upperdir=/mnt/here/upper,workdir=/mnt/here/work \
	/mnt/merged
mount -t proc proc /mnt/merged/proc
cd /mnt/merged
run() {
	chroot . /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		make -C /build/shortfirst -j"$(nproc)" KDIR="/lib/modules/$3/build" "$4"
}
run "$1" "$2" "$3" all
run "$1" "$2" "$3" install
run "$1" "$2" "$3" testtools
"""


@dataclass(frozen=True)
class Built:
    kernel: str  # the generation, as "6.1"
    version: str  # the kernel's full version
    root: Path
    home: Path  # build/<kernel> in the checkout

    @property
    def upper(self) -> Path:
        """What the build and its installation put on top of the root."""
        return self.home / "upper"

    @property
    def vmlinuz(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.version}"


def sources() -> list[str]:
    """The checkout's files, relative to it: tracked ones and new ones, not ignored ones."""
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True).stdout
    except FileNotFoundError:
        raise VMError("git is not installed: run selftests/vm/host-setup as root") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        raise VMError(f"cannot list the checkout's files: {reason}") from None
    names = sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})
    return [n for n in names if os.path.lexists(CHECKOUT / n) and not (CHECKOUT / n).is_dir()]


def _feeds_make(name: str) -> bool:
    """Scripts and tests reach the guest without make: changing them needs no new build."""
    path = Path(name)
    if path.parts[0] in ("lab", "selftests"):
        return path.suffix in (".c", ".h") or path.name in ("Makefile", "Kbuild")
    return path.suffix not in (".md", ".py") and path.parts[0] != ".ci"


def _digest(root: Path, names: list[str]) -> str:
    state = hashlib.sha256((str(root) + _SCRIPT).encode())
    for name in names:
        path = CHECKOUT / name
        data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        head = f"{len(os.fsencode(name))} {path.lstat().st_mode:o} {len(data)} "
        state.update(head.encode() + os.fsencode(name) + data)
    return state.hexdigest()


def prepare(kernel: str) -> Built:
    """Root made, tree built and installed in it for this kernel generation; fast if nothing changed."""
    root = make_root(kernel)
    built = Built(kernel, kernel_version(root), root, CHECKOUT / "build" / kernel)
    stamp = built.home / "stamp"
    with locked(built.home / "lock"):
        names = [name for name in sources() if _feeds_make(name)]
        digest = _digest(root, names)
        if stamp.is_file() and stamp.read_text() == digest:
            return built
        print(f"building for {built.version} ...", flush=True)
        stamp.unlink(missing_ok=True)
        for part in ("upper", "work"):
            shutil.rmtree(built.home / part, ignore_errors=True)
            (built.home / part).mkdir()
        for name in names:
            target = built.upper / INSIDE / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target, follow_symlinks=False)
        command = ["sh", "-c", _SCRIPT, "build", str(root), str(built.home), built.version]
        run_in_namespace("the build", command, built.home / "build.log")
        stamp.write_text(digest)
    return built


def versions(built: Built) -> dict[str, str]:
    """Versions of everything a result may depend on."""
    installed = packages(built.root)
    names = [f"linux-image-{built.version}", "iproute2", "libc6", "gcc"]
    result = {name: installed.get(name, "not installed") for name in names}
    shown = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True)
    result["qemu (host)"] = shown.stdout.split("\n")[0].removeprefix("QEMU emulator version ")
    return result
