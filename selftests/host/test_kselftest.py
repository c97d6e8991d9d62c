# SPDX-License-Identifier: GPL-2.0
"""selftests/ as a folder of the kernel's: its own makefiles and runner take it."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from vm import NATIVE, Guest, prepare
from vm.build import CHECKOUT, sources
from vm.kernels import OWN
from vm.root import OWN_ROOT, SOURCE_KEPT, make_root

SELFTESTS = "tools/testing/selftests"
OURS = "net/shortfirst"
TOLD = f"ok 1 selftests: {OURS}: installcheck"
JOB = """
ln -s /proc/self/fd/1 /dev/stdout
mkdir /kselftest
tar -C /kselftest -xmf /kselftest.tar
KSELFTEST_INSTALLCHECK_ARGS=options /kselftest/run_kselftest.sh
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel's source, but only what its selftests share, with ours in it"""
    top = tmp_path_factory.mktemp("kernel")
    shared = ("Makefile", "lib.mk", "run_kselftest.sh", "kselftest/*")
    names = [*(f"*/{SELFTESTS}/{name}" for name in shared), "*/scripts/subarch.include"]
    command = ["tar", "-C", top, "--strip-components=1", "--wildcards"]
    command += ["--no-wildcards-match-slash", "-xJf", make_root(OWN_ROOT) / SOURCE_KEPT]
    subprocess.run([*command, *names], check=True)
    for name in sources():
        if name.startswith("selftests/"):
            target = top / SELFTESTS / OURS / name.removeprefix("selftests/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target)
    return top


def make(kernel: Path, *words: str) -> str:
    """As somebody who can load nothing, whatever is installed here"""
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "make", "-C"]
    done = subprocess.run(
        [*command, kernel / SELFTESTS, f"TARGETS={OURS}", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_run(kernel: Path) -> None:
    said = make(kernel, "run_tests").splitlines()
    lacking = [line for line in said if line.startswith("# # lacks: ")]
    assert lacking
    assert lacking[0].replace("# lacks:", "1..0 # SKIP") in said
    assert f"{TOLD} # SKIP" in said


def test_installed(kernel: Path, tmp_path: Path) -> None:
    """In a guest, where it finds by itself what is installed there"""
    made = tmp_path / "made"
    make(kernel, "install", f"KSFT_INSTALL_PATH={made}")
    with tarfile.open(tmp_path / "kselftest.tar", "w") as archive:
        archive.add(made, "")
    job = tmp_path / "job"
    job.write_text(JOB)
    said: list[str] = []
    result = Guest(
        prepare(NATIVE),
        mode="functional",
        name="kselftest",
        job=str(job),
        files={"/kselftest.tar": tmp_path / "kselftest.tar"},
    ).run(said.append)
    text = "\n".join(said)
    assert (result.status, result.error) == (0, ""), text
    lines = [line.rstrip() for line in said]
    assert {"TAP version 13", "1..1", TOLD, "# timeout set to 900"} <= set(lines), text
    assert "# ok 1 options las" in lines
    assert "# ok 5 modules are unloaded" in lines


def test_config() -> None:
    """The kernel of that guest has all of it, so that each is an option."""
    layer = prepare(NATIVE).layer
    assert layer
    lines = (layer / OWN[NATIVE].tree / ".config").read_text().splitlines()
    have = {line.split("=")[0] for line in lines}
    wanted = [line.split("=")[0] for line in (CHECKOUT / "selftests/config").read_text().split()]
    assert wanted == sorted(set(wanted))
    assert not set(wanted) - have
