# SPDX-License-Identifier: GPL-2.0
"""Write the series for the kernel and for iproute2 to build/upstream, or check them, too.

    python3 -m upstream write [--linux DIR] [--iproute2 DIR]
    python3 -m upstream check [--linux DIR] [--iproute2 DIR]

Without DIR the kernel's source is that of the root of 7.2 (vm/root.py), and iproute2's is Debian's.
"""

import argparse
import sys
from pathlib import Path

from vm.root import VMError

from . import check, cover, iproute, kernel, series, sources
from .flatten import FlattenError

OUT = sources.HOME


def write(linux: Path, iproute2: Path) -> list[Path]:
    program = sources.clang_format()
    ours = kernel.patches(linux, program)
    title = "net/sched: add the las qdisc (Least Attained Service)"
    made = series.write(OUT / "linux", linux, ours, "PATCH net-next", title, cover.kernel(ours))
    ours = iproute.patches(iproute2, linux, program)
    title = "tc: add the las qdisc"
    made += series.write(
        OUT / "iproute2", iproute2, ours, "PATCH iproute2-next", title, cover.iproute2()
    )
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="upstream", description=__doc__)
    parser.add_argument("command", choices=("write", "check"))
    parser.add_argument("--linux", type=Path)
    parser.add_argument("--iproute2", type=Path)
    given = parser.parse_args()
    linux = (given.linux or sources.linux()).resolve()
    iproute2 = (given.iproute2 or sources.iproute2()).resolve()
    for path in write(linux, iproute2):
        if given.command == "write":
            print(path.relative_to(sources.TOP))
    return check.all_of(linux, iproute2) if given.command == "check" else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (FlattenError, VMError) as error:
        print(f"upstream: {error}", file=sys.stderr)
        sys.exit(2)
