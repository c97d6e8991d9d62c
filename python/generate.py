# SPDX-License-Identifier: GPL-2.0
"""Writes what is made of the headers (uapi.py): the tables of the plugin of pyroute2.

    python3 -m python.generate [--check]

It is kept in git, so that `pip install` needs no more than its folder. With --check nothing is
written; a file that is not what the headers say is an error.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from . import uapi

TABLES = Path(__file__).parent / "shortfirst_pyroute2/tables.py"

_TYPES = {
    "": "none",
    "pad": "hex",
    "u8": "uint8",
    "u32": "uint32",
    "s32": "int32",
    "u64": "uint64",
    "be16": "be16",
    "address": "ipaddr",
}
_FORMATS = {"u32": "I", "u64": "Q"}
_HEAD = '''\
# SPDX-License-Identifier: GPL-2.0
"""Made of pkt_*.h by python/generate.py, so nothing to edit"""
'''


def _text(value: object) -> str:
    return repr(value).replace("'", '"')


def _dict(name: str, rows: dict[str, Iterable[str]]) -> str:
    text = f"{name} = {{\n"
    for key, lines in rows.items():
        text += f'    "{key}": (\n' + "".join(f"        {line},\n" for line in lines) + "    ),\n"
    return text + "}\n"


def _words(attribute: uapi.Attribute) -> dict[str, int]:
    if not attribute.bits:
        return attribute.words
    return {"none": 0, **attribute.words, "both": sum(attribute.words.values())}


def _members(members: Iterable[uapi.Member]) -> list[str]:
    return [_text((each.name, _FORMATS[each.type])) for each in members]


def tables() -> str:
    options = {
        kind: [_text((a.name, _TYPES[a.type], a.unit, _words(a))) for a in uapi.options(kind)]
        for kind in uapi.KINDS
    }
    rows = [_text((a.name, _TYPES[a.type])) for a in uapi.class_attributes()]
    values = uapi.class_values()
    return "\n".join(
        [
            _HEAD,
            "# Attribute, type, unit, words for values",
            _dict("OPTIONS", options),
            "# TCA_STATS_APP of qdiscs and of classes",
            _dict("STATISTICS", {kind: _members(uapi.statistics(kind)) for kind in uapi.KINDS}),
            _dict(
                "CLASS_STATISTICS",
                {kind: _members(uapi.class_statistics(kind)) for kind in uapi.KINDS},
            ),
            "# TCA_OPTIONS of classes",
            "CLASS = (\n" + "".join(f"    {row},\n" for row in rows) + ")",
            "# Words for values of TCA_SF_CLASS_TYPE and TCA_SF_CLASS_SORT",
            f"TYPES = {_text(tuple(values['type']))}",
            f"SORTS = {_text(tuple(values['sort']))}\n",
        ]
    )


MADE = {TABLES: tables}


def main(check: bool) -> int:
    status = 0
    for path, make in MADE.items():
        text = make()
        if check and (not path.exists() or path.read_text() != text):
            print(f"{path.name} is not what the headers say: python3 -m python.generate")
            status = 1
        elif not check:
            path.write_text(text)
    return status


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
