# SPDX-License-Identifier: GPL-2.0
"""Writes what is made of the headers (uapi.py): the tables of the plugin of pyroute2, and what the
kernel's specification of tc lacks of our kinds (docs/ynl-tc.yaml).

    python3 -m python.generate [--check]

It is kept in git, so that `pip install` needs no more than its folder. With --check nothing is
written; a file that is not what the headers say is an error.
"""

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from . import uapi

TABLES = Path(__file__).parent / "shortfirst_pyroute2/tables.py"
SPEC = uapi.TOP / "docs/ynl-tc.yaml"

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


_SPEC_HEAD = """\
# SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note
#
# What Documentation/netlink/specs/tc.yaml of Linux lacks of las, run2c, sift and sqf. It is made of
# pkt_*.h by python/generate.py, so nothing to edit; selftests/host/test_ynl.py merges the two.
#
# Classes have other attributes in TCA_OPTIONS than qdiscs of the same kind, and other statistics,
# for which sub-messages have no means: they are selected by the kind alone. So the answer to
# gettclass is a set of its own here, class-attrs. To class-options-msg and class-stats-app-msg
# belong the formats of options-msg and tca-stats-app-msg, too, of kinds that they do not name here.
---
"""
_CLASS_SETS = """\
  -
    name: class-attrs
    subset-of: attrs
    attributes:
{most}
      -
        name: options
        sub-message: class-options-msg
      -
        name: xstats
        sub-message: class-stats-app-msg
      -
        name: stats2
        nested-attributes: class-stats-attrs
  -
    name: class-stats-attrs
    subset-of: tca-stats-attrs
    attributes:
{stats}
      -
        name: app
        sub-message: class-stats-app-msg
"""
_OPERATIONS = """\
operations:
  list:
    -
      name: gettclass
      attribute-set: class-attrs
"""


def _item(indent: int, *lines: str, doc: str = "") -> str:
    """Of a list, with what is said of it"""
    inner = " " * (indent + 2)
    text = " " * indent + "-\n" + "".join(f"{inner}{line}\n" for line in lines)
    if doc:
        wrapped = textwrap.wrap(doc, 78 - indent)
        text += f"{inner}doc: >-\n" + "".join(f"{inner}  {line}\n" for line in wrapped)
    return text


def _dashed(name: str) -> str:
    return name.lower().replace("_", "-")


def _word(text: str) -> str:
    """Which YAML does not take for another type"""
    return f'"{text}"' if text in ("on", "off", "yes", "no", "none", "null") else text


def _said(attribute: uapi.Attribute) -> str:
    return attribute.doc.partition(", ")[2]


def _enum_of(owner: str, attribute: uapi.Attribute) -> str:
    """The name of its values, "" if it is a number with one that is none"""
    if len(attribute.words) < 2:
        return ""
    option = _dashed(attribute.name.split("_", 2)[2])
    shared = "_SF_" in attribute.doc and owner != "sf"
    return f"{'sf' if shared else owner}-{option}"


def _enums(owner: str, attributes: Iterable[uapi.Attribute]) -> dict[str, str]:
    found = {}
    for each in attributes:
        name = _enum_of(owner, each)
        if name:
            kind = "flags" if each.bits else "enum"
            head = (f"name: {name}", f"type: {kind}", "entries:")
            found[name] = _item(2, *head, *(f"  - {_word(word)}" for word in each.words))
    return found


def _struct(name: str, members: Iterable[uapi.Member]) -> str:
    text = _item(2, f"name: {name}", "type: struct", "members:")
    for each in members:
        text += _item(6, f"name: {_dashed(each.name)}", f"type: {each.type}", doc=each.doc)
    return text


def _set(owner: str, name: str, prefix: str, attributes: Iterable[uapi.Attribute]) -> str:
    text = _item(2, f"name: {name}", f"name-prefix: {prefix}", "attributes:")
    for each in attributes:
        lines = [f"name: {_dashed(each.name).removeprefix(prefix)}"]
        if each.type == "be16":
            lines += ["type: u16", "byte-order: big-endian"]
        elif each.type == "address":
            lines += ["type: binary", "display-hint: ipv4-or-v6"]
        elif each.type:
            lines += [f"type: {each.type}"]
        else:
            continue
        enum = _enum_of(owner, each)
        if enum:
            lines += [f"enum: {enum}"] + ["enum-as-flags: true"] * each.bits
        text += _item(6, *lines, doc=_said(each) if each.doc else "")
    return text


def _messages(name: str, what: str, of: dict[str, str]) -> str:
    text = _item(2, f"name: {name}", "formats:")
    return text + "".join(_item(6, f"value: {kind}", f"{what}: {of[kind]}") for kind in of)


def spec() -> str:
    options = {kind: uapi.options(kind) for kind in uapi.KINDS}
    told = uapi.class_attributes()
    enums: dict[str, str] = {}
    for kind, attributes in options.items():
        enums |= _enums(kind, attributes)
    enums |= _enums("sf-class", told)
    structs, sets = "", ""
    for kind in uapi.KINDS:
        structs += _struct(f"tc-{kind}-xstats", uapi.statistics(kind))
        structs += _struct(f"tc-{kind}-flow-xstats", uapi.class_statistics(kind))
        sets += _set(kind, f"{kind}-attrs", f"tca-{kind}-", options[kind])
    sets += _set("sf-class", "sf-class-attrs", "tca-sf-class-", told)
    most = "kind stats rate fcnt stab pad chain ingress-block egress-block ext-warn-msg".split()
    stats = "basic rate-est queue rate-est64 pad basic-hw pkt64".split()
    sets += _CLASS_SETS.format(
        most="".join(_item(6, f"name: {name}") for name in most).rstrip(),
        stats="".join(_item(6, f"name: {name}") for name in stats).rstrip(),
    )
    kinds = uapi.KINDS
    messages = [
        _messages("options-msg", "attribute-set", {kind: f"{kind}-attrs" for kind in kinds}),
        _messages("tca-stats-app-msg", "fixed-header", {k: f"tc-{k}-xstats" for k in kinds}),
        _messages("class-options-msg", "attribute-set", dict.fromkeys(kinds, "sf-class-attrs")),
        _messages("class-stats-app-msg", "fixed-header", {k: f"tc-{k}-flow-xstats" for k in kinds}),
    ]
    return (
        f"{_SPEC_HEAD}definitions:\n{''.join(enums.values())}{structs}\n"
        f"attribute-sets:\n{sets}\nsub-messages:\n{''.join(messages)}\n{_OPERATIONS}"
    )


MADE = {TABLES: tables, SPEC: spec}


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
