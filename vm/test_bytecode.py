# SPDX-License-Identifier: GPL-2.0
"""Python takes the bytecode that is made for guests, and compiles nothing anew."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

from vm.bytecode import _COMPILE
from vm.initramfs import _unchecked

LATER = 1000  # s; the time of a source in a guest whose kernel keeps no times


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def compiled(path: Path) -> list[Path]:
    """Put the bytecode of a source where Python and pytest look for it."""
    told = json.dumps({str(path): path.read_text()})
    command = [sys.executable, "-B", "-c", _COMPILE]
    done = subprocess.run(command, input=told, stdout=subprocess.PIPE, text=True, check=True)
    made = []
    for name, data in json.loads(done.stdout)[str(path)]:
        made.append(Path(name))
        made[-1].parent.mkdir(exist_ok=True)
        made[-1].write_bytes(base64.b64decode(data))
    return made


def test_modules_of_the_tree(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("print(1)")
    compiled(source)
    source.write_text("print(2)")
    os.utime(source, (LATER, LATER))
    assert python(tmp_path, "-c", "import module").stdout == "1\n"


def test_rewritten_tests(tmp_path: Path) -> None:
    """pytest looks at the time of the source, which is 0 in a guest."""
    source = tmp_path / "test_one.py"
    source.write_text("def test():\n    left = 1\n    assert left == 2\n")
    _, rewritten = compiled(source)
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    source.write_text("def test():\n    left = 1\n    assert left == 1\n")
    os.utime(source, (0, 0))
    said = python(tmp_path, *pytest, str(source)).stdout
    assert "1 failed" in said and "assert 1 == 2" in said  # so that assertions are rewritten
    rewritten.unlink()
    assert "1 passed" in python(tmp_path, *pytest, str(source)).stdout


def test_modules_of_the_root(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("print(1)")
    assert python(tmp_path, "-m", "py_compile", "module.py").returncode == 0
    (cached,) = tmp_path.glob("__pycache__/*.pyc")
    source.write_text("print(2)")
    os.utime(source, (LATER, LATER))
    assert python(tmp_path, "-c", "import module").stdout == "2\n"
    cached.write_bytes(_unchecked(cached.read_bytes()))
    assert python(tmp_path, "-c", "import module").stdout == "1\n"
