# SPDX-License-Identifier: GPL-2.0
"""The kinds in user space (selftests/fuzz): what fuzzing has kept, and random operations."""

import subprocess
from pathlib import Path

import pytest

from selftests.fuzz.__main__ import GUARANTEED
from selftests.fuzz.build import BUILD, HERE, KINDS, build, checked, clang, kept, soak
from vm.root import VMError

PACKETS = 1_000_000
SEQUENCES = 500  # of random senders on a link
ENDLESS = """
#include "host.h"
void fuzz_input(const unsigned char *data, unsigned long size)
{
	for (volatile int i = 0;; i++)
		;
}
"""


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    try:
        return dict(zip(KINDS, build(checked(), KINDS), strict=True))
    except VMError as error:
        pytest.fail(str(error))


def run(program: Path, packets: int, *files: Path) -> subprocess.CompletedProcess:
    command = [program, str(packets), "1", *files]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("kind", KINDS)
def test_kept(programs: dict[str, Path], kind: str) -> None:
    files = kept(kind)
    assert files
    done = run(programs[kind], 1, *files)
    if done.returncode:
        # Which of them is it?
        wrong = [file for file in files if run(programs[kind], 1, file).returncode]
        pytest.fail(f"again: {programs[kind]} 1 1 {wrong[0] if wrong else '...'}\n{done.stderr}")


@pytest.mark.parametrize("kind", KINDS)
def test_random(programs: dict[str, Path], kind: str) -> None:
    done = run(programs[kind], PACKETS)
    log = BUILD / f"{kind}-random.log"
    log.write_text(done.stdout + done.stderr)
    assert not done.returncode, f"again: {programs[kind]} {PACKETS} 1; {log}\n{done.stderr}"


@pytest.mark.parametrize("kind", GUARANTEED)
def test_guarantee(kind: str) -> None:
    """Whatever others send, no backlogged flow pauses for longer than is guaranteed."""
    (program,) = build(soak(), [kind])
    done = subprocess.run([program, "link", str(SEQUENCES), "1"], capture_output=True, text=True)
    assert not done.returncode, f"again: {program} link {SEQUENCES} 1\n{done.stdout}{done.stderr}"


def test_an_input_that_does_not_end(tmp_path: Path) -> None:
    """Fuzzing finds it by the time of a processor, so not for want of one."""
    source, program = tmp_path / "endless.c", tmp_path / "endless"
    source.write_text(ENDLESS)
    command = [clang(), "-fsanitize=fuzzer", "-DLONGEST=1", f"-I{HERE}"]
    subprocess.run([*command, HERE / "host.c", source, "-o", program], check=True)
    done = subprocess.run([program, "-runs=1"], cwd=tmp_path, capture_output=True, text=True)
    assert "host.c" in done.stderr and "an input takes too long" in done.stderr
    assert "Test unit written to ./crash-" in done.stderr
