# SPDX-License-Identifier: GPL-2.0
"""What fuzzing has kept, and random changes of it, by all that is fuzzed (sched_tcp/tests/fuzz)."""

import re
from pathlib import Path

import pytest

from sched_tcp.tests.programs import FOLDER, build, run
from selftests.fuzz.archive import unpack

FUZZ = FOLDER / "tests/fuzz"
TIMES = {"core": 100}  # of each file; the others are quicker


@pytest.mark.parametrize("path", sorted(FUZZ.glob("fuzz_*.c")), ids=lambda path: path.stem[5:])
def test_replay(path: Path, tmp_path: Path) -> None:
    name, text = path.stem.removeprefix("fuzz_"), path.read_text()
    sources = re.search(r"^ \* sources: (.*)", text, re.MULTILINE)[1]
    wrapped = " ".join(re.findall(r"--wrap=(\w+)", text))
    made = f"tests/fuzz/{path.name} tests/host/replay.c {sources}"
    program = build(tmp_path / name, made, wrap=wrapped)
    files = unpack(FUZZ / "corpus" / f"{name}.tar", tmp_path / "inputs")
    times = TIMES.get(name, 2000)
    done = run(program, str(times), *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == times * len(files) > 0
