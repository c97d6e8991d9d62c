# SPDX-License-Identifier: GPL-2.0
"""What a guest runs on, whichever program it is that runs it, and how it is run.

Workers on other machines are sent this file as it is, and nothing else of the tree (workers.py):
it uses the standard library only, and dask.distributed there.
"""

import contextlib
import os
import random
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FUNCTIONAL, VIRTUAL, REAL = MODES = ("functional", "virtual", "real")
WRITTEN = ("console.log", "data")

# A file: its parts one after the other, each as it is (compressed) or by its digest
Parts = list[bytes | str]


@dataclass(frozen=True)
class Machine:
    """To be started in the run's directory. It writes `console.log` there (unless on a terminal)
    and, what the guest writes to its second serial port, `data`."""

    command: list[str]
    files: list[Path]  # what a virtual run depends on, beside the words of the command
    environment: dict[str, str] | None = field(default=None)  # None: as here
    pinned: bool = False  # on a processor of its own


def _take(stack: contextlib.ExitStack, processors: list[int]) -> int:
    """The first of them that nobody has, as long as `stack` is open; any if there is none."""
    for number in processors:
        # A name in the network namespace: of all users, and free when its process has ended
        lock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        with contextlib.suppress(OSError):
            lock.bind(f"\0shortfirst/processor/{number}")
            return number
    return random.choice(processors)


@contextlib.contextmanager
def processor() -> Iterator[int]:
    """A processor for one guest, alone there if there are enough: one that may move between
    processors takes five times as long."""
    with contextlib.ExitStack() as stack:
        yield _take(stack, sorted(os.sched_getaffinity(0)))


def execute(
    machine: Machine,
    directory: Path,
    *,
    timeout: float,
    silence: float,
    on_line: Callable[[str], None] | None,
    stopped: Callable[[], bool],
) -> tuple[str, str]:
    """
    Run the machine to its end. Gives why it had to be stopped, "" if it had not, and what its
    program has said itself; on_line gets each line of the console.
    """
    for name in WRITTEN:
        (directory / name).touch()
    with contextlib.ExitStack() as stack:
        on = ["taskset", "-c", str(stack.enter_context(processor()))] if machine.pinned else []
        process = subprocess.Popen(
            [*on, *machine.command],
            cwd=directory,
            env=machine.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            error = _watch(process, directory, timeout, silence, on_line, stopped)
        finally:
            process.kill()
            said = process.communicate()[1].strip()
    return error, said


def _watch(
    process: subprocess.Popen[str],
    directory: Path,
    timeout: float,
    silence: float,
    on_line: Callable[[str], None] | None,
    stopped: Callable[[], bool],
) -> str:
    """Hand the console's lines on until the process ends; says so if it has to be stopped."""
    began = heard = time.monotonic()
    rest, size = b"", 0
    with open(directory / "console.log", "rb") as log:
        while True:
            ended = process.poll() is not None  # before reading: then nothing is missed
            new = log.read()
            *lines, rest = (rest + new).split(b"\n")
            if ended and rest:
                lines.append(rest)
            for line in lines if on_line else ():
                on_line(text_of(line))
            if ended:
                return ""
            if stopped():
                return "stopped"
            now, grown = time.monotonic(), (directory / "data").stat().st_size
            if new or grown != size:
                heard, size = now, grown
            if now - heard > silence:
                return f"no output for {silence:g} s"
            if now - began > timeout:
                return f"not finished after {timeout:g} s"
            if not new:
                time.sleep(0.05)


def text_of(line: bytes) -> str:
    """A line of the console."""
    return line.decode(errors="replace").rstrip("\r")


def _keep(store: Path, shared: dict[str, bytes]) -> None:
    """Have these parts there by their digests, each as a whole or not at all."""
    store.mkdir(exist_ok=True)
    for digest, packed in shared.items():
        if not (store / digest).exists():
            with tempfile.NamedTemporaryFile(dir=store, delete=False) as out:
                out.write(zlib.decompress(packed))
            Path(out.name).chmod(0o755)
            Path(out.name).rename(store / digest)


def _place(name: str, parts: Parts, store: Path, directory: Path) -> Path:
    """Where a file is for a run; what is not all there already goes to the run's directory."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return store / parts[0]
    place = directory / Path(name).name
    with open(place, "wb") as out:
        for part in parts:
            kept = isinstance(part, str)
            out.write((store / part).read_bytes() if kept else zlib.decompress(part))
    place.chmod(0o755)
    return place


def execute_at_worker(
    command: list[str],
    environment: dict[str, str],
    pinned: bool,
    files: dict[str, Parts],
    shared: list[dict[str, bytes]],
    timeout: float,
    silence: float,
    topic: str,
) -> tuple[Any, ...]:
    """What execute() gives, and what it has WRITTEN, compressed. A word of the command that is a
    file's name stands for that file; now and then a line of the console is told as `topic`."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    told = 0.0

    def on_line(line: str) -> None:
        nonlocal told
        if time.monotonic() - told > 1:
            told = time.monotonic()
            worker.log_event(topic, (key, line))

    def stopped() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    on_line("")
    store = Path(worker.local_directory, "shortfirst")
    for each in shared:
        _keep(store, each)
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as where:
        directory = Path(where)
        places = {n: str(_place(n, parts, store, directory)) for n, parts in files.items()}
        ended = execute(
            Machine([places.get(word, word) for word in command], [], environment, pinned),
            directory,
            timeout=timeout,
            silence=silence,
            on_line=on_line,
            stopped=stopped,
        )
        return *ended, *(zlib.compress((directory / name).read_bytes(), 1) for name in WRITTEN)
