# SPDX-License-Identifier: GPL-2.0
"""sch_las.c as one file of the kernel's, section by section, and its part of linux/pkt_sched.h"""

import re
from pathlib import Path

from .flatten import (
    INCLUDE,
    TOP,
    FlattenError,
    Macro,
    Section,
    expanded,
    gathered,
    in_comments,
    items_of,
    known_to,
    macros_of,
    passed_on,
    plain_macros,
    renamed,
    sections_named,
    unifdef,
    used,
    without_foreign,
    without_unions_of_one,
)
from .style import formatted

KIND = "las"
OTHERS = "run2c|sift|sqf|flow_recent|band_queues|shortfirst(?=/)"
UPPER = KIND.upper()
SOURCE = TOP / f"sch_{KIND}/sch_{KIND}.c"
INTERFACE = [
    INCLUDE / "shortfirst/pkt_shaper.h",
    TOP / f"sch_{KIND}/pkt_{KIND}.h",
    INCLUDE / "shortfirst/pkt_class.h",
]
# What is told by more than one kind's names is this kind's.
PREFIXES = [
    ("TC_SF_", f"TC_{UPPER}_"),
    ("TCA_SF_", f"TCA_{UPPER}_"),
    ("__TCA_SF_", f"__TCA_{UPPER}_"),
    ("SF_", f"{UPPER}_"),
    ("sf_", f"{KIND}_"),
]
# Names that it has for something else already
OWN = {
    "sf_common": "las_common_attributes",
    "sf_enqueue": "las_queue_enqueue",
    "sf_insert": "las_queue_insert",
    "sf_kind": "las_ops",
    "sf_options": "las_option_table",
    "sf_order": "las_order_ops",
    "sf_sched": "las_queue_sched",
}


# Members that other kinds have for something else
_KEPT = {"flow"}

# Headers that are included for what older kernels need, and what shows that they are needed
_UNUSED = {
    "linux/ptrace.h": r"\bpt_regs\b",
    "net/secure_seq.h": r"\bsecure_\w+",
}

# What comments say of other kinds, and of what is not in the kernel's tree. Whatever is left of
# it, _checked() finds.
_EDITS = [
    (r"all kinds (have|tell)\b", r"las \1"),
    (r"have to shape with", "has to shape with"),
    (r"tell of flows and hosts", "tells of flows and hosts"),
    (r"; las and sqf\b", ""),
    (r" \* las and sqf tell of every flow\. run2c.*?\n \*\n", ""),
    (r"; run2c: how far.*?(?=\s*\*/)", ""),
    (r"; las, sqf\b", ""),
    (r"; flow_recent\.h:[^*]*", " "),
    (r" What is inside\s+(?:\* )?a band is told by\s+(?:\* )?band_queues\.h\.", ""),
    (r": shared by module, tc plugin and tests", ""),
    (r"(?:shortfirst/)?pkt_(?:shaper|class)\.h", "this file"),
    (r"\(las-rai2004 section 6\)", "(sch_las.c)"),
    (r"las-rai2004 section 6", "Rai et al. section 6"),
    (r"What kinds with flows have in common", "What is common to all"),
    (
        r"of kinds (?:that have|with) `?(?:buffer|filters)`?(?:: filter\.h)?",
        "of `buffer`, or of filters",
    ),
    (r"For kinds with two classes", "Two classes"),
    (
        r"X:2, that skb->priority and tc filters name",
        "X:2, are what skb->priority and tc filters name",
    ),
]


def _edited(comment: str) -> str:
    # kernel-doc wants all parameters or none of it
    if comment.startswith("/**") and "\n * @" not in comment:
        comment = f"/*{comment[3:]}"
    for old, new in _EDITS:
        comment = re.sub(old, new, comment, flags=re.S)
    return comment


def _checked(text: str, where: str) -> str:
    for line in text.splitlines():
        if found := re.search(rf"\b(?:{OTHERS})(?!\w)", line):
            raise FlattenError(f"{where} speaks of {found[0]}, see onefile._EDITS: {line.strip()}")
    return text


def _compat(section: Section) -> tuple[dict[str, Macro], dict[str, str]]:
    """What is left in its place, of which nothing tells of other kernels; what passes on"""
    text = re.sub(
        r"^#ifndef MODULE_ALIAS_NET_SCH\n.*?^#endif\n", "", section.text, flags=re.M | re.S
    )
    text, functions = passed_on(text)
    others = plain_macros(text)
    text = re.sub(r"^#define (\w+)\s+[A-Za-z_]\w*\n", "", text, flags=re.M)
    section.text = re.sub(r"^/\*.*?\*/\n", "", text, flags=re.M | re.S)
    return functions, others


def sections(linux: Path) -> tuple[list[Section], list[str]]:
    """All of it for the kernel whose source is there, and the headers that it includes"""
    outside: set[str] = set()
    found = gathered(SOURCE, outside)
    flags = known_to(linux)
    for section in found:
        section.text = unifdef(section.text, flags, r"SF_(?:HAVE_|TEST\b)")
    compat = next(each for each in found if each.name == "compat")
    compat.text = unifdef(compat.text, [], "CONFIG_HAVE_")
    functions, others = _compat(compat)
    macros = dict(functions)
    for section in found:
        macros |= macros_of(section.text, lambda _, names, __: names[0] == "KIND")
    here = {each.name for each in found}
    for section in found:
        text = expanded(section.text, macros)
        for name, other in others.items():
            text = re.sub(rf"\b{name}\b", other, text)
        text = re.sub(r"(?:/\*[^\n]*\*/\n)?#define SF_KIND[^\n]*\n", "", text)
        text = re.sub(r'\bSF_KIND\b\s+"', f'"{KIND}', text)
        text = re.sub(r"\bSF_KIND\b", f'"{KIND}"', text)
        section.text = without_unions_of_one(without_foreign(text, here, _KEPT))
        section.items = items_of(section.text)
    used(found, lambda _: False)
    for section in found:
        text = in_comments("\n".join(section.items), _edited)
        text = in_comments(text, lambda said: sections_named(said, here))
        text = re.sub(r"^static inline ", "static ", text, flags=re.M)
        section.text = renamed(text, PREFIXES, OWN)
    return [each for each in found if each.text.strip()], sorted(outside)


def _opening(text: str) -> tuple[str, str]:
    """The comment that it begins with, and the rest"""
    found = re.match(r"\s*(/\*.*?\*/\n)\n*", text, re.S)
    return (found[1], text[found.end() :]) if found else ("", text)


def one_file(linux: Path, program: Path) -> list[Section]:
    """All of sch_las.c: what is first in it, and then the sections; `program` is clang-format."""
    found, includes = sections(linux)
    whole = "".join(each.text for each in found)
    wanted = [name for name in includes if name not in _UNUSED or re.search(_UNUSED[name], whole)]
    opening, found[-1].text = _opening(found[-1].text)
    first = "".join(f"#include <{name}>\n" for name in wanted)
    made = [Section("", f"// SPDX-License-Identifier: GPL-2.0\n{opening}\n{first}")]
    for section in found:
        said, rest = _opening(section.text)
        # Of a file it tells what is in it; of the first definition it would be close to that.
        if said and section is not found[-1]:
            said = f"/*\n * Section {section.name}\n *\n" + said.removeprefix("/*\n") + "\n"
        made.append(Section(section.name, said + rest))
    for section in made:
        section.text = (
            _checked(formatted(section.text, program, linux), section.name).strip("\n") + "\n"
        )
        section.items = items_of(section.text)
    return made


def interface(linux: Path, program: Path) -> str:
    """The part of linux/pkt_sched.h"""
    parts = []
    for path in INTERFACE:
        text = gathered(path, set())[-1].text
        text = in_comments(text, _edited)
        parts.append(renamed(text, PREFIXES, {}).strip("\n") + "\n")
    text = formatted("\n".join(parts), program, linux)
    return f"/* {UPPER} */\n\n" + _checked(text, "the interface").strip("\n") + "\n"
