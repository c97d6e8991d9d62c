# SPDX-License-Identifier: GPL-2.0
import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "include"


@pytest.fixture(scope="session")
def shared_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ctypes.CDLL]:
    """Build NAME.c of this directory, a header of the kernel as a library of user space.

    The kernel headers it includes are named, and are empty: see kernel.h for what is used.
    """

    def build(name: str, headers: list[str]) -> ctypes.CDLL:
        path = tmp_path_factory.mktemp(name)
        (path / "linux").mkdir()
        for header in headers:
            (path / "linux" / header).touch()
        built = path / f"{name}.so"
        subprocess.run(
            ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
            + ["-fno-sanitize-recover", "-fPIC", "-shared", f"-I{path}", f"-I{INCLUDE}"]
            + ["-o", built, HERE / f"{name}.c"],
            check=True,
        )
        return ctypes.CDLL(str(built))

    return build
