# SPDX-License-Identifier: GPL-2.0
"""Commands of the tests. Under emulation starting tc takes 0.1 s, so processes of it stay."""

import re
import selectors
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

# What prints nothing if it succeeds, and JSON, which is flushed at its end; text is not. Of older
# versions a process that stays keeps the namespaces that it puts devices into.
_PROMPT = re.compile(
    r"(tc|ip) (-s -j \w+ show dev \w+(?P<parent> parent \S+)?"
    r"|(?!link .* netns )\w+ (add|change|del|replace|set) .*)"
)


@dataclass(frozen=True)
class Done:
    succeeded: bool
    stdout: str
    stderr: str


class Batch:
    """A program of iproute2 that reads its commands from a pipe.

    After each comes one that it does not know: what it says of that is not buffered, and tells
    that the other is done.
    """

    def __init__(self, *words: str) -> None:
        self.words = words
        self.process: subprocess.Popen[bytes] | None = None
        self.line = 0

    def do(self, command: str) -> Done:
        if not self.process:
            self.process = subprocess.Popen(
                [*self.words, "-force", "-batch", "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
            self.line = 0
        process = self.process
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(f"{command}\nunknown\n".encode())
        self.line += 2
        end = f"Command failed -:{self.line}\n".encode()
        failed = f"Command failed -:{self.line - 1}\n"
        said = {process.stdout: b"", process.stderr: b""}
        with selectors.DefaultSelector() as selector:
            for stream in said:
                selector.register(stream, selectors.EVENT_READ)
            while not (complete := said[process.stderr].endswith(end)):
                for key, _ in selector.select():
                    new = key.fileobj.read(65536)
                    said[key.fileobj] += new
                    if not new:
                        selector.unregister(key.fileobj)
                if not selector.get_map():
                    break  # some errors make it exit
            else:
                # Whatever it has written is in the pipe now
                while process.stdout in {key.fileobj for key, _ in selector.select(0)}:
                    said[process.stdout] += process.stdout.read(65536)
        stdout, stderr = (text.decode() for text in said.values())
        if not complete:
            self.close()
            return Done(False, stdout, stderr)
        stderr = stderr[: stderr.rindex('Object "unknown"')]
        return Done(failed not in stderr, stdout, stderr.replace(failed, ""))

    def close(self) -> None:
        if self.process:
            self.process.communicate()
            self.process = None


@cache
def _batch(parent: str, *words: str) -> Batch:
    """One for each parent that is to be shown, which tc is told once and does not forget."""
    return Batch(*words)


def do(command: str) -> Done:
    program, *words = command.split()
    if prompt := _PROMPT.fullmatch(command):
        options = list(takewhile(lambda word: word.startswith("-"), words))
        batch = _batch(prompt["parent"] or "", program, *options)
        if prompt["parent"] and batch.process:
            command = command.removesuffix(prompt["parent"])
        return batch.do(command.split(maxsplit=1 + len(options))[-1])
    done = subprocess.run([program, *words], capture_output=True, text=True)
    return Done(done.returncode == 0, done.stdout, done.stderr)


def run(command: str) -> str:
    """The output of a command that has to succeed."""
    done = do(command)
    assert done.succeeded, f"{command}: {done.stderr}"
    return done.stdout


def unload(module: str, seconds: float = 300) -> None:
    """What was in a namespace goes some time after it was deleted, when the kernel has given up its
    connections."""
    end = time.monotonic() + seconds
    while not (done := do(f"rmmod {module}")).succeeded:
        assert time.monotonic() < end, done.stderr
        time.sleep(0.1)


def alone(command: str) -> str:
    """The same in a process of its own: one that stays takes a new device for the old one."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def refused(command: str) -> str:
    """What a command said that has to fail."""
    done = do(command)
    assert not done.succeeded, f"{command}: succeeded"
    return done.stderr
