# SPDX-License-Identifier: GPL-2.0
"""What the generators (generator.h) are told of the kinds' options: tests/options.py of each."""

import struct

from python.uapi import SIZES, statistics
from selftests.lib.options import KINDS, of


def table() -> str:
    lines = []
    for kind in KINDS:
        for option in of(kind).options:
            good = dict.fromkeys((option.default, *option.good))
            flags = (option.zero, option.power, option.fixed)
            size = struct.calcsize(option.unit.format)
            words = (option.number, size, option.least, option.most, *map(int, flags), *good)
            lines.append(" ".join(("option", kind, option.name, *map(str, words))))
        offset = 0
        for member in statistics(kind):
            lines.append(f"told {kind} {member.name} {offset} {SIZES[member.type]}")
            offset += SIZES[member.type]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
