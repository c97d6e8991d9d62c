# SPDX-License-Identifier: GPL-2.0
"""A plugin of pytest: the tests in guests. Their fixtures, and which of them a kernel is asked.

The kinds are the folders sch_KIND, in each of which tests/ has its own tests, tests/pair.py the
gate with the kind's model beside it, and tests/options.py its options. A test outside of them that
wants a `kind` is run with each, and one that wants an `option`, too, with each of each. One that
wants a `variant` is run once more with what VARIANTS say is typed for a kind.
"""

import importlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from . import whole
from .lib.command import run
from .lib.drop_reasons import EVENT, TRACING
from .lib.gate import Device, Gate, wait_for_tick
from .lib.options import KINDS, TOP, of
from .lib.refusals import Spare, spare_devices
from .report import HOST_CLOCK, WHY

KMEMLEAK = Path("/sys/kernel/debug/kmemleak")
# What makes a kind another to its parents; one kind is enough for what is the same in several
VARIANTS = {"las": {"hosts": "hosts both fair 16384b"}}
WITH_EACH_OPTION = "las"  # is asked of each kernel what it is to be asked
OWN = os.uname().release.rpartition("-")[2]  # the name of one of vm/kernels.py, if it is one
SCHED_TCP = Path("/usr/sbin/sched-tcp")
FOREIGN = os.uname().machine != "x86_64"
SLOW = FOREIGN or OWN in ("sanitized", "debug", "coverage")  # all that is done takes longer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", default="1/1", help="I/N: of N parts of all tests the I-th")
    parser.addoption("--time", type=float, default=90, help="seconds for several processors")
    parser.addoption(
        "--share",
        default="",
        help="S/N: the S-th of N equal shares of what does not depend on the kernel",
    )


def pytest_configure(config: pytest.Config) -> None:
    for mark in (
        "each_kernel: depends on the distribution's kernel or tc, so that each is asked (of others"
        " some: --share)",
        "debug_kernel: the same for the one that looks for what no other finds",
        "faults: the kernel has to let allocations fail",
        "kprobes: the kernel has to have them",
        "user_namespaces: the kernel has to have them",
        "kmemleak: the kernel has to look for leaks",
        "drop_reasons: the kernel has to tell them",
        "has: only kinds with this option",
        "tproxy: sched-tcp has to be installed and the kernel has to have nftables' tproxy",
        "programs: tests programs rather than the kernel, so not where that looks for bugs",
        "processors: several of them at once, for as long as --time says; where races are looked"
        " for, or bugs",
        "races: the kernel has to look for data races",
        "suspends: the machine has to be able to sleep",
        "mended: old kernels have bugs of their own there",
        "one_kernel: asks the kernel for nothing that others do not, as tdc, or is arithmetic of"
        " ours at length, so is run on one",
        "clock: what comes out depends on how long things take, so the clock has to be virtual",
        "last: after all others, in each part",
    ):
        config.addinivalue_line("markers", mark)


def pytest_sessionstart() -> None:
    if TRACING.is_dir() and not any(TRACING.iterdir()):
        run(f"mount -t tracefs tracefs {TRACING}")
    if KMEMLEAK.exists():
        for word in ("scan", "clear"):
            KMEMLEAK.write_text(word)


def _sleeps() -> bool:
    how = Path("/sys/power/mem_sleep")
    wakes = Path("/sys/class/rtc/rtc0/wakealarm").exists()
    return wakes and how.exists() and "deep" in how.read_text()


def _cannot(item: pytest.Item) -> str:
    """Why this kernel is not asked"""
    if item.get_closest_marker("faults") and OWN not in ("native", "sanitized", "debug"):
        return "only our own kernels let allocations fail"
    if item.get_closest_marker("races") and OWN != "kcsan":
        return "only the kcsan kernel looks for data races"
    if item.get_closest_marker("processors") and OWN not in ("debug", "kcsan"):
        return "several processors at once are for the kernels that look for bugs"
    if OWN == "kcsan" and not item.get_closest_marker("processors"):
        return "no races are looked for where one process does one thing after the other"
    if item.get_closest_marker("kprobes") and OWN in ("native", "sanitized"):
        return "user-mode Linux has no kprobes"
    if item.get_closest_marker("kprobes") and FOREIGN:
        return "run2c_isn does not know this processor's registers, or is not tried on it"
    if item.get_closest_marker("tproxy") and (OWN == "native" or not SCHED_TCP.exists()):
        return "only the distributions' kernels have sched-tcp and tproxy"
    if item.get_closest_marker("mended") and os.uname().release.startswith("5.10."):
        return "5.10 has bugs of its own there, which were mended later"
    if item.get_closest_marker("clock") and not HOST_CLOCK.exists():
        return "only the clock of user-mode Linux waits for all that is slow"
    if item.get_closest_marker("programs") and SLOW:
        return "programs are tested where the kernel is fast"
    if item.get_closest_marker("kmemleak") and OWN != "debug":
        return "only the debug kernel has kmemleak"
    if item.get_closest_marker("user_namespaces") and not Path("/proc/self/ns/user").exists():
        return "the kernel has no user namespaces"
    if item.get_closest_marker("suspends") and not _sleeps():
        return "the machine cannot sleep, or nothing wakes it"
    if item.get_closest_marker("drop_reasons") and not EVENT.exists():
        return "the kernel does not tell why a qdisc drops"
    if item.get_closest_marker("one_kernel") and OWN != "native":
        return "one kernel is enough"
    if whole.is_left_out(item.config, item):
        return whole.REASON
    return ""


def _other_share(config: pytest.Config, item: pytest.Item) -> bool:
    share, _, shares = config.getoption("--share").partition("/")
    marked = {
        "debug": ["debug_kernel"],
        "sanitized": [],
    }
    marks = marked.get(OWN, ["each_kernel", "drop_reasons"])
    if FOREIGN:  # its kernel and tc are those of 7.2, but for the processor
        marks = []
    params = item.callspec.params if hasattr(item, "callspec") else {}
    # Options of other kinds are read and told by the same code.
    if OWN not in marked and "option" in params and params["kind"] != WITH_EACH_OPTION:
        marks = []
    if not share or any(map(item.get_closest_marker, marks)) or whole.is_whole(config, item):
        return False
    return zlib.crc32(item.nodeid.encode()) % int(shares) != int(share) % int(shares)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("SF_MODE") != "functional":
        pytest.exit("these tests are for a virtual machine: make test", 1)
    left: list[pytest.Item] = []
    for item in items:
        why = _cannot(item)
        if not why and _other_share(config, item):
            why = "in another share: make test-all"
        if why:
            item.stash[WHY] = why
            left.append(item)
    gone = set(left)
    here = [item for item in items if item not in gone]
    last = [item for item in here if item.get_closest_marker("last")]
    here = [item for item in here if item not in last]
    part, _, parts = config.getoption("--part").partition("/")
    items[:] = here[int(part) - 1 :: int(parts)] + last
    if left and part == "1":  # told by one of the parts
        config.hook.pytest_deselected(items=left)


def _kind_of(path: Path) -> str:
    """Of whose folder it is, "" if of none's"""
    folder = path.relative_to(TOP).parts[0] if path.is_relative_to(TOP) else ""
    return folder.removeprefix("sch_") if folder.startswith("sch_") else ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marks = metafunc.definition.iter_markers("parametrize")
    if "kind" in metafunc.fixturenames and not any("kind" in mark.args[0] for mark in marks):
        if not _kind_of(metafunc.definition.path) and not hasattr(metafunc.module, "TESTED"):
            has = metafunc.definition.get_closest_marker("has")
            kinds = [kind for kind in KINDS if not has or has.args[0] in of(kind)]
            if "option" in metafunc.fixturenames:
                pairs = [(kind, option) for kind in kinds for option in of(kind).options]
                names = [f"{kind}-{option.name}" for kind, option in pairs]
                metafunc.parametrize(("kind", "option"), pairs, ids=names)
            elif "variant" in metafunc.fixturenames:
                named = {kind: (kind, "") for kind in kinds}
                for kind in kinds:
                    for name, typed in VARIANTS.get(kind, {}).items():
                        named[f"{kind}-{name}"] = (kind, typed)
                metafunc.parametrize(("kind", "variant"), named.values(), ids=named)
            else:
                metafunc.parametrize("kind", kinds)


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    """For this test, of all that want some"""
    sharing = [item for item in request.session.items if "seconds" in item.fixturenames]
    return request.config.getoption("--time") / len(sharing)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """That of the folder, or what the file says is TESTED; elsewhere each"""
    return _kind_of(request.path) or request.module.TESTED


@pytest.fixture
def gate(kind: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., Gate]]:
    """Make a device with gate and qdisc; it is taken down and checked after the test."""
    made: list[Gate] = []

    def make(*args: str | None, **kwargs: str) -> Gate:
        made.append(Gate(kind, *args, **kwargs))
        if request.node.get_closest_marker("clock"):
            wait_for_tick()
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def device(kind: str) -> Iterator[Device]:
    made = Device(kind)
    yield made
    made.close()


@pytest.fixture
def spare(kind: str) -> Iterator[Spare]:
    """Two devices, for requests that are to be refused"""
    with spare_devices(kind) as made:
        yield made


@pytest.fixture
def pair_of(kind: str) -> Callable[..., Any]:
    """Make a gate and the kind's model beside it: every step is done by both and compared."""
    return importlib.import_module(f"sch_{kind}.tests.pair").CommonPair
