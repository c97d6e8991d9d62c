# SPDX-License-Identifier: GPL-2.0
"""What the smoke test (smoke.c) is told of the kinds' options: tests/options.py of each."""

from selftests.lib.options import KINDS, of


def table() -> str:
    """Its lines: there."""
    lines = []
    for kind in KINDS:
        known = of(kind)
        lines.append(("records", kind, known.text(known.published | known.records)))
        lines.append(("tells", kind, known.flow_statistics[0]))
        lines.append(("published", kind, known.text(known.published)))
        if "hosts" in known:
            lines.append(("hosts", kind, "hosts src"))
        sets = [known.others, *known.extremes]
        for option in known.options:
            # The most records there may be do not fit into a router
            values = [v for v in option.values if not option.fixed or v < option.most]
            sets += [known.given(option.name, value) for value in values]
        lines += [("set", kind, known.text(given), known.line(given)) for given in sets if given]
    return "".join("\t".join(line) + "\n" for line in lines)
