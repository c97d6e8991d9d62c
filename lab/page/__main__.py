# SPDX-License-Identifier: GPL-2.0
"""Whether docs/results.md, the pages and pictures in docs/results/, README.md and docs/security.md
are what the CSVs make, and whether what these two and the man pages state are their numbers.

Pictures are compared if the matplotlib at hand is that which has drawn them: how it lays out
differs between versions, and which one a machine has is its distribution's affair.
"""

import sys
import tempfile
from pathlib import Path

from lab.page import readme, results, stated, stored, svg
from lab.run.guests import RESULTS

KINDS = ("*.csv", "*.md", "*.svg")  # that are generated


def other_files(here: Path, anew: Path) -> list[str]:
    """The names of those that only one has, or that differ, but for what cannot be compared."""
    found = []
    names = {path.name for where in (here, anew) for kind in KINDS for path in where.glob(kind)}
    for name in sorted(names):
        old, new = here / name, anew / name
        if not (old.exists() and new.exists()):
            found.append(name)
        elif old.read_bytes() != new.read_bytes():
            if old.suffix != ".svg" or svg.drawn_by(old) == svg.drawn_by(new):
                found.append(name)
    return found


def differences(where: Path, *texts: Path) -> list[str]:
    """Paths of all that differs from what would be made now; `texts` have parts that are made."""
    before = stored.load(where)
    with tempfile.TemporaryDirectory() as temporary:
        anew = Path(temporary) / where.name
        for name, rows in before.items():
            stored.store(anew, name, rows)
        (anew / stored.NOTES).write_text((where / stored.NOTES).read_text())
        page = results.write(anew)
        found = [f"docs/{where.name}/{name}" for name in other_files(where, anew)]
        if anew.with_suffix(".md").read_text() != where.with_suffix(".md").read_text():
            found.append(f"docs/{where.name}.md")
    texts_differ = (p for p in texts if readme.renewed(p, where, page.results) != p.read_text())
    return found + [path.name for path in texts_differ]


def main() -> int:
    found = differences(RESULTS, readme.README, readme.SECURITY)
    for name in found:
        print(f"{name} is not what the CSVs make: run 'make figures PAGE=1' and commit it")
    wrong = [one for path in stated.pages() for one in stated.unfounded(path, RESULTS)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if found or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
