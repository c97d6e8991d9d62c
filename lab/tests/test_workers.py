# SPDX-License-Identifier: GPL-2.0
"""Runs at workers: a scheduler and workers on this machine, and guests that are shell scripts."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.run.guests import SCRIPT, Job, run_all
from vm import Built, VMError, initramfs, kept, workers

pytestmark = pytest.mark.long  # processes that wait for each other in real time

# The archive is a script, too: it has the run's arguments. A comment as long as a kernel follows.
KERNEL = f"""#!/bin/sh
. ./initramfs
echo "shortfirst-vm: up"
echo "progress 5 10 active"
echo "$$ $args" >>"$told"
case $args in
*quick*) ;;
*fail*) echo "what went wrong"; sleep 1; echo "shortfirst-vm: exit 3 taint 0 $token"; exit;;
*panic*) echo "[    1.000000] Kernel panic - not syncing: no"; exit;;
*long*) sleep 100 2>/dev/null;;
*together*)
	tries=600
	until [ "$(wc -l <"$told")" -ge 2 ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || exit
		sleep 0.1 2>/dev/null
	done;;
*) sleep 1 2>/dev/null;;
esac
echo "data of $args" >&3
echo "shortfirst-vm: exit 0 taint 0 $token"
exit
#{"x" * 2 * workers.LARGE}
"""


class Cluster:
    """A scheduler, and workers that know nothing of this tree."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.home, self.programs = home, programs
        self.processes: list[subprocess.Popen[bytes]] = []
        self.told = home / "told"  # the process and the arguments of each run that began
        known = home / "scheduler.json"
        self.start("scheduler", "--port", "0", "--scheduler-file", str(known))
        until(lambda: known.exists() and known.read_text().rstrip().endswith("}"))
        self.address = json.loads(known.read_text())["address"]

    def start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        directory = self.home / f"{what}-{len(self.processes)}"
        directory.mkdir()
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        with open(directory / "log", "wb") as log:
            process = subprocess.Popen(
                [self.programs / "dask", what, "--host", "127.0.0.1", "--no-dashboard", *words],
                cwd=directory,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        words = ["--nthreads", "1", "--no-nanny", "--local-directory", "."]
        process = self.start("worker", self.address, *words)
        log = self.home / f"worker-{len(self.processes) - 1}" / "log"
        until(lambda: "Registered to" in log.read_text())
        return process

    def began(self) -> list[str]:
        """The arguments of each run that began."""
        return [line.split(" ", 1)[1] for line in self.lines()]

    def lines(self) -> list[str]:
        return self.told.read_text().splitlines() if self.told.exists() else []

    def running(self) -> list[str]:
        return [line for line in self.lines() if Path("/proc", line.split()[0]).exists()]

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def until(known: Callable[[], Any]) -> Any:
    end = time.monotonic() + 60
    while not (result := known()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return result


@pytest.fixture(scope="module")
def programs() -> Path:
    return workers.installed() / "bin"


@pytest.fixture
def cluster(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        cluster = Cluster(tmp_path, programs)
        stack.callback(cluster.end)
        monkeypatch.setattr(workers, "installed", lambda: programs.parent)
        monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("WORKERS", cluster.address)
        monkeypatch.delenv("FRESH", raising=False)

        def make(out: Any, built: Built, mode: str, config: dict, args: list, *_: object) -> None:
            told = f"token={config['token']} args='{' '.join(args)}' told={cluster.told}\n"
            out.write(told.encode())

        monkeypatch.setattr(initramfs, "make", make)
        yield cluster


@pytest.fixture
def built(tmp_path: Path) -> Built:
    kernel = tmp_path / "layer/boot/vmlinuz-1"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(KERNEL)
    kernel.chmod(0o755)
    return Built("native", "1", tmp_path / "root", tmp_path / "build", tmp_path / "layer")


def jobs(*names: str) -> list[Job]:
    return [Job(name, SCRIPT, [name], [], []) for name in names]


def data(every: list[Job]) -> list[str]:
    return [job.result.data_path.read_text() if job.result else "" for job in every]


def test_one_dies(
    cluster: Cluster, built: Built, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Nothing is lost, nothing is there twice, and it is what runs give here."""
    first, _ = cluster.worker(), cluster.worker()
    names = [f"run {number}" for number in range(8)]
    here, there, again = jobs(*names), jobs(*names), jobs(*names)

    def kill() -> None:
        until(lambda: len(cluster.began()) >= 3)
        first.send_signal(signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    run_all(built, there, 1, "there")
    thread.join()
    assert data(there) == [f"data of {name}\n" for name in names]
    assert set(cluster.began()) == set(names)
    assert len(cluster.began()) <= len(names) + 2  # what it ran, and what it had not handed over
    assert "8 of 8 runs done" in capsys.readouterr().out
    ran = len(cluster.began())
    monkeypatch.delenv("WORKERS")
    run_all(built, again, 2, "there")
    assert len(cluster.began()) == ran  # all of it was kept
    monkeypatch.setenv("FRESH", "1")
    run_all(built, here, 8, "here")
    assert len(cluster.began()) == ran + len(names)
    assert data(here) == data(again) == data(there)


def test_both_work(cluster: Cluster, built: Built) -> None:
    """Also where there are no more runs than workers: each of these ends when both have begun."""
    cluster.worker(), cluster.worker()
    every = jobs("together 1", "together 2")
    run_all(built, every, 1, "x")
    assert data(every) == ["data of together 1\n", "data of together 2\n"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fail", "its job failed with status 3; see .*; it said last:\n  what went wrong"),
        ("panic", "kernel trouble: .* Kernel panic - not syncing: no; see .*console.log"),
    ],
)
def test_a_run_fails(cluster: Cluster, built: Built, name: str, why: str) -> None:
    """The error is here with its console, and the workers stop what is not wanted any more."""
    cluster.worker(), cluster.worker()
    with pytest.raises(VMError, match=f"the run {name}: {why}"):
        run_all(built, jobs(name, "long"), 1, "x")
    assert (built.home / f"runs/x-{name}/console.log").read_text().startswith("shortfirst-vm: up")
    until(lambda: not cluster.running())


def test_a_file_is_lost(cluster: Cluster, built: Built) -> None:
    """A worker has a kernel once, and again if it is gone."""
    worker = cluster.worker()
    run_all(built, jobs("quick 1", "quick 2"), 1, "x")
    (store,) = until(lambda: list(cluster.home.glob("worker-*/**/shortfirst")))
    (kernel,) = store.iterdir()
    assert kernel.read_text() == KERNEL
    when = kernel.stat().st_mtime_ns
    run_all(built, jobs("quick 3"), 1, "x")
    assert kernel.stat().st_mtime_ns == when
    kernel.unlink()
    last = jobs("quick 4")
    run_all(built, last, 1, "x")
    assert data(last) == ["data of quick 4\n"]
    assert kernel.exists() and worker.poll() is None


def test_nobody_works_yet(
    cluster: Cluster, built: Built, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(workers, "MISSED", 1)
    told = ""

    def start() -> None:
        nonlocal told

        def waiting() -> bool:
            nonlocal told
            told += capfd.readouterr().out
            return "--nthreads N" in told

        until(waiting)
        cluster.worker()

    thread = threading.Thread(target=start)
    thread.start()
    every = jobs("quick")
    run_all(built, every, 1, "x")
    thread.join()
    assert f"no worker is connected to {cluster.address}" in told
    assert f"dask worker {cluster.address} --nthreads N" in told
    assert data(every) == ["data of quick\n"]


def test_refusals(tmp_path: Path, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = Built("6.1", "1", tmp_path, tmp_path)
    monkeypatch.setenv("WORKERS", "tcp://127.0.0.1:1")
    with pytest.raises(VMError, match="only, not of 6.1: leave WORKERS or KERNEL out"):
        run_all(stock, jobs("a"), 1, "x")
    monkeypatch.setattr(workers, "CONNECT", 1)
    with pytest.raises(VMError, match=r"no scheduler at tcp://127\.0\.0\.1:1 .*dask scheduler"):
        run_all(built, jobs("a"), 1, "x")


def test_the_scheduler_ends(cluster: Cluster, built: Built) -> None:
    cluster.worker()

    def kill() -> None:
        until(cluster.began)
        cluster.processes[0].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(VMError, match=cluster.address):
        run_all(built, jobs(*"abcd"), 1, "x")
    thread.join()


def test_parts(tmp_path: Path) -> None:
    """What is large and the same in two archives is a part of its own, and nothing is lost."""
    large = bytes(range(256)) * (workers.LARGE // 256 + 1)
    cut = []
    for number in range(2):
        tree = {
            "a": initramfs.file(f"the run {number}".encode()),
            "b/large": initramfs.file(large),
            "c": initramfs.file(b"small"),
        }
        path = tmp_path / "archive"
        with open(path, "wb") as out:
            initramfs.write(tree, out)
        cut.append(list(workers.parts(path.read_bytes())))
        assert b"".join(cut[-1]) == path.read_bytes()
    assert len(cut[0]) == len(cut[1]) == 3
    assert cut[0][0] != cut[1][0]
    assert cut[0][1] == cut[1][1]
    assert large in cut[0][1]
    assert list(workers.parts(b"no archive")) == [b"no archive"]
    assert list(workers.parts(b"")) == []
    assert kept.FILES == workers.WRITTEN
