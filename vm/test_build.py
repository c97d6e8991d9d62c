# SPDX-License-Identifier: GPL-2.0
"""What a guest's tree is built anew for."""

import pytest

from vm.build import _feeds_make, sources


@pytest.mark.parametrize(
    "name",
    [
        "include/shortfirst/compat.mk",
        "sch_las/sch_las.c",
        "tc-plugins/q_las.c",
        "command/shortfirst",
        "lab/guest/modules/pace.c",
        "selftests/generated/Makefile",
        "selftests/modules/Kbuild",
        "selftests/smoke.c",
        "vm/lockstep.c",
    ],
)
def test_feeds(name: str) -> None:
    assert name in sources()
    assert _feeds_make(name)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        ".ci/run",
        "debian/changelog",
        "sch_las/tests/host/log_rank.c",
        "sched_tcp/tests/fuzz/fuzz_core.c",
        "selftests/fuzz/fuzz.c",
        "selftests/fuzz/corpus/las/01",
        "selftests/generated/run",
        "upstream/iproute2/util.c",
        "upstream/linux/Kconfig",
    ],
)
def test_does_not(name: str) -> None:
    assert name in sources()
    assert not _feeds_make(name)
