# SPDX-License-Identifier: GPL-2.0
"""Runs on other machines: those that work for a scheduler of dask.distributed.

A guest in user-mode Linux needs a program, an initramfs, its command's words and a processor, and
gives the same anywhere. Large parts of the files are the same in many runs: a worker gets each once
and keeps it, by the digest of what is in it.
"""

import hashlib
import shutil
import subprocess
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .build import Built
from .machine import WRITTEN, Machine, Parts, text_of
from .root import VMError, cache_dir, locked

VERSION = "2026.8.0"  # of dask.distributed; the scheduler and the workers have to have the same
LARGE = 1 << 18  # what is larger may be in other runs too
CONNECT = 10  # seconds
MISSED = 5  # without a worker, until it is told how to start one
_CPIO = b"070701"
_TOPIC = "shortfirst"

# Plain text runs on whatever Python a worker has, which bytecode would not
_CODE = Path(__file__).with_name("machine.py")
_CALL = """exec(compile(code, "machine.py", "exec", dont_inherit=True), names) or (
    names["execute_at_worker"](**given)
)"""


def parts(data: bytes) -> Iterator[bytes]:
    """The parts of a file; in an archive, large files are parts of their own."""
    start = at = 0
    while data.startswith(_CPIO, at):
        size, name = int(data[at + 54 : at + 62], 16), int(data[at + 94 : at + 102], 16)
        begin = (at + 110 + name + 3) & ~3
        at = (begin + size + 3) & ~3
        if size >= LARGE:
            yield data[start:begin]
            yield data[begin:at]
            start = at
    if start < len(data):
        yield data[start:]


def installed() -> Path:
    """Where dask.distributed is, with its programs in bin; it is got once."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    home = cache_dir() / "workers" / f"distributed-{VERSION}-{python}"
    with locked(home.parent / "lock"):
        if not (home / "complete").exists():
            print(f"getting dask.distributed {VERSION} ...", file=sys.stderr, flush=True)
            shutil.rmtree(home, ignore_errors=True)
            pip = [str(home / "bin/pip"), "-q", "--disable-pip-version-check", "install"]
            for command in (
                [sys.executable, "-m", "venv", str(home)],
                [*pip, f"distributed=={VERSION}"],
            ):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise VMError(f"{' '.join(command)}: {done.stderr.strip()}")
            (home / "complete").touch()
    packages = str(home / "lib" / python / "site-packages")
    if packages not in sys.path:
        sys.path.insert(0, packages)
    return home


class Workers:
    """Those of the scheduler at this address. To be used in a with statement, at the end of which
    what is still under way there is stopped."""

    def __init__(self, built: Built, address: str) -> None:
        if built.arch != "um":
            raise VMError(
                f"workers run guests of the native kernel only, not of {built.kernel}: "
                "leave WORKERS or KERNEL out"
            )
        self.address = address
        self.home = installed()
        self._lock = threading.Lock()
        self._shared: dict[str, Any] = {}  # tasks that give a part, by its digest
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._checked: set[str] = set()
        self._seen = time.monotonic()  # when there was a worker
        self._missed = False  # has it been said that there is none?

    def __enter__(self) -> "Workers":
        import distributed

        # Of packages that do not matter; _check() looks at the one that does
        warnings.filterwarnings("ignore", category=distributed.versions.VersionMismatchWarning)
        try:
            self._client = distributed.Client(self.address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise VMError(
                f"no scheduler at {self.address} ({error}); to start one: "
                f"{self.home}/bin/dask scheduler --host HOST --port 8786"
            ) from None
        self._client.subscribe_topic(_TOPIC, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        # The scheduler gives up what nobody waits for, and the runs see that they are not wanted
        with suppress(Exception):
            self._client.close(timeout=CONNECT)

    def _heard(self, event: tuple[float, tuple[str, str]]) -> None:
        key, line = event[1]
        if on_line := self._listeners.get(key):
            on_line(line)

    def processors(self) -> int:
        """How many runs there may be at a time now."""
        try:
            threads = self._client.nthreads()
            if set(threads) - self._checked:
                self._check()
        except OSError as error:
            raise VMError(f"the scheduler at {self.address} is gone: {error}") from None
        now = time.monotonic()
        if threads:
            self._seen, self._missed, self._checked = now, False, set(threads)
        elif not self._missed and now - self._seen > MISSED:
            self._missed = True
            print(
                f"waiting: no worker is connected to {self.address}; on each machine, N being its"
                f" processors:\n  pip install distributed=={VERSION}\n"
                f"  dask worker {self.address} --nthreads N",
                flush=True,
            )
        return sum(threads.values())

    def _check(self) -> None:
        every = self._client.get_versions()
        told = {"the scheduler": every["scheduler"], **every["workers"]}
        for name, versions in told.items():
            version = versions["packages"]["distributed"] if versions else VERSION
            if version != VERSION:
                raise VMError(f"{name} has distributed {version}; it has to be {VERSION}")

    def _parts(self, path: Path) -> tuple[Parts, list[Any]]:
        """A file's parts, and tasks that give those that other runs may have, too."""
        sent: Parts = []
        tasks = []
        for part in parts(path.read_bytes()):
            if len(part) < LARGE:
                sent.append(zlib.compress(part, 1))
                continue
            digest = hashlib.sha256(part).hexdigest()
            sent.append(digest)
            with self._lock:
                if digest not in self._shared:
                    # Not scattered data: a task dask can do again when a worker is lost
                    packed = {digest: zlib.compress(part, 1)}
                    self._shared[digest] = self._client.submit(dict, packed, key=f"part-{digest}")
            tasks.append(self._shared[digest])
        return sent, tasks

    def execute(
        self,
        machine: Machine,
        directory: Path,
        *,
        timeout: float,
        silence: float,
        on_line: Callable[[str], None] | None,
        stopped: Callable[[], bool],
    ) -> tuple[str, str]:
        """As execute() does here, but that on_line gets only some of the lines until the end."""
        for name in WRITTEN:
            (directory / name).touch()
        files, shared = {}, []
        for path in machine.files:
            files[str(path)], tasks = self._parts(path)
            shared += tasks
        given = {
            "command": machine.command,
            "environment": machine.environment,
            "pinned": machine.pinned,
            "files": files,
            "shared": shared,
            "timeout": timeout,
            "silence": silence,
            "topic": _TOPIC,
        }
        names = {"__name__": "machine"}
        future = self._client.submit(
            eval, _CALL, {"code": _CODE.read_text(), "names": names, "given": given}, pure=False
        )
        if on_line:
            self._listeners[future.key] = on_line
        try:
            while future.status == "pending":
                if stopped():
                    future.cancel()
                    return "stopped", ""
                time.sleep(0.05)
            error, said, *written = future.result()
        except Exception as error:  # whatever it is that dask or the worker has met
            raise VMError(f"not run by the workers of {self.address}: {error!r}") from error
        finally:
            self._listeners.pop(future.key, None)
        console, _ = written = [zlib.decompress(packed) for packed in written]
        for name, content in zip(WRITTEN, written, strict=True):
            (directory / name).write_bytes(content)
        for line in console.split(b"\n") if on_line else ():
            on_line(text_of(line))
        return error, said
