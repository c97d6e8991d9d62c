# SPDX-License-Identifier: GPL-2.0
"""The machine on which the packages are tried, the same for all tests."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from selftests.report import WHY
from vm.build import CHECKOUT
from vm.deb import MODULES, make_packages, version
from vm.debian import Debian

RELEASES = ("first", "second")  # of the packages
CHECKS = "checks.tar"  # what `make installcheck` is
BRIEF = {"sch_las"}  # gcc takes half a minute for each where there is no KVM


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", default="bookworm", help="the release")
    parser.addoption("--brief", action="store_true", help="one module, built as seldom as can be")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("brief"):
        return
    why = "they build modules once more, or take as long (make test-deb)"
    left_out = [item for item in items if "long" in item.keywords]
    for item in left_out:
        item.stash[WHY] = why
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: builds modules, or takes minutes otherwise")


@pytest.fixture(scope="session")
def modules(pytestconfig: pytest.Config) -> set[str]:
    """Those that the packages have"""
    return BRIEF if pytestconfig.getoption("brief") else MODULES


@pytest.fixture(scope="session")
def vm(pytestconfig: pytest.Config, modules: set[str]) -> Iterator[Debian]:
    suite = pytestconfig.getoption("suite")
    versions = {name: make_packages(f"{version()}+{name}", MODULES - modules) for name in RELEASES}
    files = {
        f"{n}/{path.name}": path for n, where in versions.items() for path in where.glob("*.deb")
    }
    where = CHECKOUT / "build" / f"debian-{suite}" / "vm"
    shutil.rmtree(where, ignore_errors=True)
    files[CHECKS] = where.with_name(CHECKS)
    tar = ["tar", "-C", str(CHECKOUT), "--exclude=__pycache__", "-cf", str(files[CHECKS])]
    subprocess.run([*tar, "Makefile", "selftests"], check=True)
    machine = Debian(suite, where, files)
    try:
        machine.boot()
        yield machine
    finally:
        machine.stop()
        machine.disk.unlink(missing_ok=True)
