# SPDX-License-Identifier: GPL-2.0
"""
What is written in the shell: real TCP, NAT, and all that is done to a qdisc under load.

It takes long, so other kernels than the native one and the debug one are asked with las, and with
some of the other kinds.
"""

import subprocess
from pathlib import Path

import pytest

from selftests.lib.options import KINDS

HERE = Path(__file__).parent

each_kind = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.each_kernel if kind == "las" else ()) for kind in KINDS],
)


def passes(script: str, kind: str) -> None:
    done = subprocess.run(
        [HERE / f"{script}.sh", kind], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if not line.startswith("ok ")
    )


@each_kind
@pytest.mark.parametrize("script", ["tcp", pytest.param("churn", marks=pytest.mark.debug_kernel)])
def test_script(script: str, kind: str) -> None:
    passes(script, kind)


@pytest.mark.debug_kernel
@pytest.mark.each_kernel
@pytest.mark.parametrize("kind", ["las", "sqf"])
def test_hosts_behind_nat(kind: str) -> None:
    passes("nat", kind)
