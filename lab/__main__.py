# SPDX-License-Identifier: GPL-2.0
"""The one door behind `make`: python3 -m lab demo|experiment|scoreboard|figures|bench|pace."""

import importlib
import sys

from lab.measure.reading import DataError
from vm import VMError

COMMANDS = ("demo", "experiment", "scoreboard", "figures", "bench", "pace")


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: python3 -m lab {'|'.join(COMMANDS)} ... (--help tells more)")
        return 2
    name = sys.argv[1]
    sys.argv[:2] = [f"lab {name}"]
    try:
        return importlib.import_module(f"lab.commands.{name}").main()
    except (VMError, DataError) as error:
        print(f"\n{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
