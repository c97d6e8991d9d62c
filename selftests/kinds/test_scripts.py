# SPDX-License-Identifier: GPL-2.0
"""
What is written in the shell: real TCP, NAT, and all that is done to a qdisc under load.

It takes long, so other kernels than the native one are asked for las' TCP, alone and behind NAT,
and for some of the others; the debug one for churn of las, and for some. The native one runs these
two of las in test_installcheck.py::test_passes.
"""

import subprocess
from pathlib import Path

import pytest

from selftests.guest import OWN
from selftests.lib.options import KINDS

HERE = Path(__file__).parent

LAS = [pytest.param("las", marks=pytest.mark.each_kernel)] if OWN != "native" else []


def passes(script: str, kind: str) -> str:
    done = subprocess.run(
        [HERE / f"{script}.sh", kind], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if not line.startswith("ok ")
    )
    return done.stdout


@pytest.mark.parametrize("kind", [*LAS, *(kind for kind in KINDS if kind != "las")])
def test_tcp(kind: str) -> None:
    passes("tcp", kind)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.debug_kernel if kind == "las" else ()) for kind in KINDS],
)
def test_churn(kind: str) -> None:
    passes("churn", kind)


@pytest.mark.parametrize("kind", [*LAS, "sqf"])
def test_hosts_behind_nat(kind: str) -> None:
    said = passes("nat", kind)
    # It skips a flowtable if the kernel has none, as those of vm/debug.config.
    assert OWN in ("debug", "kcsan") or "# SKIP" not in said
