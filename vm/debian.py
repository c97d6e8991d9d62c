# SPDX-License-Identifier: GPL-2.0
"""A Debian machine: systemd, a disk that outlives its boots, and a shell for the host.

The disk is a root of the cache, as mmdebstrap has made it. What boots it is told on the host: of
the kernels in its /boot the newest, as a boot loader would, with an initramfs of its modules for
the disk. The initramfs has what the tests add, too: it is in /run, so that the disk has none of it.

Commands go to the second serial port, one at a time: a token and the command in base64. Their
output comes back, and after it a line with the token and the exit status.
"""

import base64
import os
import random
import re
import select
import shlex
import stat
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from . import initramfs, qemu
from .console import Console
from .machine import text_of
from .root import VMError, bootstrap, kept_root, need

_PACKAGES = (
    "systemd-sysv udev iproute2 iputils-ping ethtool kmod libncursesw6 libnl-3-200 dkms gcc adduser"
    " libconfuse2 libevent-core-2.1-7 libevent-extra-2.1-7 libjansson4 libssl3"
    " make nftables procps python3 busybox-static linux-image-cloud-amd64 linux-headers-cloud-amd64"
).split()
SUITES = ("bookworm", "trixie")
NEWER = "/srv/kernel"  # on the disk: packages of the kernel of backports, and what it needs
_GET_NEWER = f"""set -e
sed -n '1s/ SUITE / SUITE-backports /p' /etc/apt/sources.list >/etc/apt/sources.list.d/newer.list
apt-get -q update
mkdir -p {NEWER}/partial
apt-get -qy --download-only -o Dir::Cache::archives={NEWER} -t SUITE-backports install \\
	linux-image-cloud-amd64 linux-headers-cloud-amd64
rm -r {NEWER}/partial {NEWER}/lock /etc/apt/sources.list.d/newer.list
rm /etc/dpkg/dpkg.cfg.d/99mmdebstrap
"""
_SIZE = "2G"
_FOR_DISK = ("virtio_pci", "virtio_blk", "ext4")
_INIT = """#!/usr/bin/busybox sh
echo "shortfirst-vm: up"
b=/usr/bin/busybox
$b mount -t devtmpfs dev /dev
for module in MODULES; do $b insmod "/$module"; done
until [ -b /dev/vda ]; do $b sleep 0.1; done
$b mount -t ext4 /dev/vda /root
$b mount -t tmpfs -o mode=755 tmpfs /root/run
$b cp -a /run/. /root/run
$b mount --move /dev /root/dev
exec $b switch_root /root /usr/lib/systemd/systemd
"""
_AGENT = """b=busybox
$b stty -F /dev/ttyS1 raw -echo 115200
exec </dev/ttyS1 >/dev/ttyS1 2>&1
export PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive TERM=dumb
cd /root
echo ready
while read -r token code; do
	echo "$code" | base64 -d >/run/command
	# To no terminal: for one programs write otherwise
	{ sh /run/command 2>&1; echo $? >/run/status; } </dev/null | cat
	printf '\\n%s %s\\n' "$token" "$(cat /run/status)"
done
"""
_UNIT = """[Service]
ExecStart=/bin/sh /run/agent
IgnoreSIGPIPE=no
"""
_NETWORK = """[Match]
Name=eth0
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
"""
_UNITS = "run/systemd/system"
_WANTS = f"{_UNITS}/multi-user.target.wants"
_KERNEL = "root=/dev/vda net.ifnames=0 systemd.show_status=0"


def _root(suite: str) -> Path:
    hook = shlex.quote(_GET_NEWER.replace("SUITE", suite))
    return kept_root(suite, [*bootstrap(_PACKAGES), f'--customize-hook=chroot "$1" sh -c {hook}'])


class Debian:
    def __init__(self, suite: str, directory: Path, files: Mapping[str, Path]) -> None:
        """`files` are for the guest: a name in /run, and where it is here."""
        root = _root(suite)
        self.busybox = root / "usr/bin/busybox"
        self.directory, self.files = directory, dict(files)
        self.disk = directory / "disk"
        self.boots = 0
        self.process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True)
        # No journal: here a second boot follows upon a clean end only.
        command = [need("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(root)]
        subprocess.run([*command, str(self.disk), _SIZE], check=True, stdout=subprocess.DEVNULL)

    def _on_disk(self, *commands: str) -> str:
        done = subprocess.run(
            [need("debugfs"), "-f", "-", str(self.disk)],
            input="\n".join(commands),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _load(self) -> None:
        """Write what boots: `vmlinuz` and `initramfs`."""
        kernels = re.findall(r"/vmlinuz-([^/]+)/", self._on_disk("ls -p /boot"))
        kernel = max(kernels, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
        modules, here = f"/usr/lib/modules/{kernel}", self.directory / "modules"
        here.mkdir(exist_ok=True)
        self._on_disk(
            f"dump /boot/vmlinuz-{kernel} {self.directory}/vmlinuz",
            f"dump {modules}/modules.dep {here}/modules.dep",
        )
        known = initramfs.module_dependencies(here)
        wanted = [path for path in known if initramfs.module_name(path) in _FOR_DISK]
        load = dict.fromkeys(part for path in wanted for part in initramfs.closure(known, path))
        paths = {path: here / Path(path).name for path in load}
        self._on_disk(*(f"dump {modules}/{path} {target}" for path, target in paths.items()))
        tree = {initramfs.unpacked_name(p.name): initramfs.unpacked(p) for p in paths.values()}
        init = _INIT.replace("MODULES", " ".join(tree))
        texts = {
            "run/agent": _AGENT,
            f"{_UNITS}/agent.service": _UNIT,
            "run/systemd/network/eth0.network": _NETWORK,
        }
        networkd = "systemd-networkd.service"
        tree |= {name: initramfs.Node(stat.S_IFDIR | 0o755) for name in ("dev", "root")}
        tree |= {name: initramfs.file(text.encode()) for name, text in texts.items()}
        tree |= {f"run/{name}": initramfs.file(path) for name, path in self.files.items()}
        tree |= {
            "init": initramfs.file(init.encode(), 0o755),
            "usr/bin/busybox": initramfs.file(self.busybox, 0o755),
            f"{_WANTS}/agent.service": initramfs.link("../agent.service"),
            f"{_WANTS}/{networkd}": initramfs.link(f"/usr/lib/systemd/system/{networkd}"),
        }
        with open(self.directory / "initramfs", "wb") as out:
            initramfs.write(tree, out)

    def boot(self, timeout: float = 900) -> None:
        """Up to where commands can be given."""
        self._load()
        try:
            self._start(timeout)
        except VMError:
            # As of any guest: what fails before the first process begins is QEMU's, now and then
            if self.console().up or not self.console().trouble:
                raise
            self._start(timeout)

    def _start(self, timeout: float) -> None:
        self.boots += 1
        kernel = self.directory / "vmlinuz"
        accel = [*qemu.accelerator(kernel, self.busybox), "-smp", "2", "-m", "1G"]
        append = f"{qemu.FOR_TESTS} {_KERNEL}"
        command = qemu.command_line(accel, kernel, append)
        command += ["-drive", "file=disk,format=raw,if=virtio,cache=unsafe"]
        command += ["-nic", "user,model=virtio-net-pci,restrict=on"]
        command += ["-serial", f"file:{self.console_path.name}"]
        command += ["-chardev", "stdio,id=shell,signal=off", "-serial", "chardev:shell"]
        with open(self.directory / "qemu.log", "ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._wait("ready()", timeout, "the boot")

    @property
    def console_path(self) -> Path:
        return self.directory / f"console-{self.boots}.log"

    def console(self) -> Console:
        """What the kernel has said since it was booted"""
        console = Console("")
        for line in self.console_path.read_bytes().split(b"\n"):
            console.feed(text_of(line))
        return console

    def _give(self, token: str, script: str) -> None:
        assert self.process and self.process.stdin
        code = base64.b64encode(script.encode()).decode()
        self.process.stdin.write(f"{token} {code}\n".encode())
        self.process.stdin.flush()

    def _wait(self, end: str, timeout: float, what: str) -> tuple[str, str]:
        """What the guest says until it says this line; and the group in it."""
        assert self.process and self.process.stdout
        said, until = b"", time.monotonic() + timeout
        out = self.process.stdout.fileno()
        line = re.compile(rf"^{end}\r?\n".encode(), re.MULTILINE)
        while not (found := line.search(said)):
            left = max(0, until - time.monotonic())
            new = os.read(out, 1 << 16) if select.select([out], [], [], left)[0] else b""
            if not new:
                why = "no end of it before QEMU's" if left else f"not finished after {timeout:g} s"
                self.stop()
                console = self.console_path.read_text(errors="replace")
                raise VMError(f"{what}: {why}:\n{text_of(said)[-2000:]}\n{console[-2000:]}")
            said += new
        if trouble := self.console().report:
            raise VMError(f"{what}: kernel trouble: " + "\n".join(trouble))
        return text_of(said[: found.start()]).replace("\r\n", "\n").strip("\n"), found[1].decode()

    def run(self, script: str, timeout: float = 120) -> tuple[int, str]:
        """Run a script of sh as root; its exit status, and what it has printed."""
        token = f"end-{random.randrange(1 << 32):08x}"
        self._give(token, script)
        said, status = self._wait(rf"{token} (\d+)", timeout, script)
        return int(status), said

    def reboot(self, timeout: float = 600) -> None:
        """Into the newest kernel"""
        self._give("reboot", "systemctl reboot")
        assert self.process
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise VMError(f"no end of it {timeout:g} s after systemctl reboot") from None
        finally:
            self.stop()
        self.boot()

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
