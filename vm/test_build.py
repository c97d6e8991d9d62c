# SPDX-License-Identifier: GPL-2.0
"""What a guest's tree is built anew for."""

import pytest

from vm.build import _feeds_make, sources

MAKE_READS = [
    "include/shortfirst/compat.mk",
    "sch_las/sch_las.c",
    "tc-plugins/q_las.c",
    "command/shortfirst",
    "lab/guest/modules/pace.c",
    "selftests/generated/Makefile",
    "selftests/modules/Kbuild",
    "selftests/smoke.c",
    "vm/lockstep.c",
]
IT_DOES_NOT = [
    "README.md",
    ".ci/run",
    "debian/changelog",
    "sch_las/tests/host/log_rank.c",
    "sched_tcp/tests/fuzz/fuzz_core.c",
    "selftests/fuzz/fuzz.c",
    "selftests/fuzz/corpus/las.tar",
    "selftests/generated/run",
    "upstream/iproute2/util.c",
    "upstream/linux/Kconfig",
]


@pytest.mark.parametrize("name", MAKE_READS + IT_DOES_NOT)
def test_feeds_make(name: str) -> None:
    assert name in sources()
    assert _feeds_make(name) == (name in MAKE_READS)
