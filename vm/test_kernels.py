# SPDX-License-Identifier: GPL-2.0
from vm.kernels import missing

WANTED = """\
# a comment, with CONFIG_NET=y
CONFIG_KASAN=y
CONFIG_NR_CPUS=4

CONFIG_LOCALVERSION="-debug"
"""


def test_all_there() -> None:
    assert missing(WANTED, "CONFIG_NET=y\n" + WANTED) == []


def test_missing() -> None:
    config = '# CONFIG_KASAN is not set\nCONFIG_NR_CPUS=40\nCONFIG_LOCALVERSION="-debug"\n'
    assert missing(WANTED, config) == ["CONFIG_KASAN=y", "CONFIG_NR_CPUS=4"]


def test_told_twice() -> None:
    config = WANTED.replace("=4", "=2")
    assert missing(WANTED + "CONFIG_NR_CPUS=2\n", config) == []
    assert missing(WANTED + "CONFIG_NR_CPUS=2\n", WANTED) == ["CONFIG_NR_CPUS=2"]


def test_not_wanted() -> None:
    told = WANTED + "CONFIG_KASAN=n\n"
    assert missing(told, WANTED) == ["CONFIG_KASAN=n"]
    assert missing(told, WANTED.replace("CONFIG_KASAN=y", "# CONFIG_KASAN is not set")) == []
