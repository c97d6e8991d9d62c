# SPDX-License-Identifier: GPL-2.0
"""The series for iproute2: what each patch has"""

import re
import tomllib
from pathlib import Path

from .flatten import TOP, FlattenError, gathered, in_comments, items_of, renamed, unifdef, used
from .onefile import KIND, UPPER, interface
from .series import Patch
from .style import formatted

_HERE = Path(__file__).parent / "iproute2"
PLUGINS = TOP / "tc-plugins"
UAPI = "include/uapi/linux/pkt_sched.h"
SOURCE = f"tc/q_{KIND}.c"
# The tables of a plugin are of every kind; here they are this one's.
_PREFIXES = [
    ("TC_SF_", f"TC_{UPPER}_"),
    ("TCA_SF_", f"TCA_{UPPER}_"),
    ("TC_UNIT_", f"{UPPER}_UNIT_"),
    ("TC_GLUE_", f"{UPPER}_"),
    ("TC_STAT", f"{UPPER}_STAT"),
    ("TC_S32_", f"{UPPER}_S32_"),
    ("TC_U32_", f"{UPPER}_U32_"),
    ("TC_U64_", f"{UPPER}_U64_"),
    ("TC_RATE_", f"{UPPER}_RATE_"),
    ("TC_SPLIT_GSO", f"{UPPER}_SPLIT_GSO"),
    ("tc_", f"{KIND}_"),
]
_INCLUDES = """\
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "utils.h"
#include "tc_util.h"
"""


# Where only the plugins have to do without print_u64() for text
_FORMAT = re.compile(
    r"snprintf\(text, sizeof\(text\), (tc_class_numbers\[i\]\.text), \(unsigned long long\)val\);"
    r'\s*print_color_string\(PRINT_FP, COLOR_NONE, NULL, "%s", text\);'
)


def _cut(text: str, first: str, last: str) -> str:
    begin, end = text.find(first), text.find(last)
    if begin < 0 or end < 0:
        raise FlattenError(f"the plugins' sources have no {first!r} or {last!r}")
    return text[:begin] + text[end + len(last) :]


def q_source(linux: Path, program: Path) -> str:
    """q_las.c, with iproute2's own helpers"""
    sections = gathered(PLUGINS / f"q_{KIND}.c", set())
    rows = unifdef((PLUGINS / "tc_shaper.h").read_text(), [], "SF_TEST")
    rows = re.sub(r"\A.*?\*/\n.*?\*/\n|^#undef.*\n", "", rows, flags=re.S | re.M)
    rows = re.sub(r"\bTC_SHAPER\((\w+)\)", rf"TCA_{UPPER}_\1", rows)
    sections = [each for each in sections if each.name not in ("tc_shaper", "tc_print")]
    own = next(each for each in sections if each.name == f"q_{KIND}")
    source = (PLUGINS / f"q_{KIND}.c").read_text().replace('#include "tc_shaper.h"\n', rows)
    source = re.sub(
        r"\A// SPDX.*\n|^#include.*\n|^#define TC_(?:SHAPER|GROUPS).*\n", "", source, flags=re.M
    )
    said, source = re.match(r"(/\*.*?\*/\n)(.*)", source, re.S).groups()  # type: ignore[union-attr]
    plugin = re.compile(r"^TC_PLUGIN\(.*\n\Z", re.M)
    if not plugin.search(source):
        raise FlattenError(f"q_{KIND}.c does not end as a plugin does")
    own.text = plugin.sub(lambda _: (_HERE / "util.c").read_text().partition("\n")[2], source)
    glue = next(each for each in sections if each.name == "tc_glue")
    glue.text = unifdef(glue.text, [], "(?:TC_OWN_PRINT|SF_TEST)")
    glue.text = _cut(glue.text, "/*\n * All that the plugins", "void print_nl(void);\n")
    at = glue.text.index("/* The plugin of a kind")
    glue.text = glue.text[:at]
    classes = next(each for each in sections if each.name == "tc_class")
    classes.text, changed = _FORMAT.subn(r"print_u64(PRINT_FP, NULL, \1, val);", classes.text)
    if changed != 1:
        raise FlattenError("tc_class.h prints numbers in another way")
    classes.text = classes.text.replace("\tchar text[40];\n", "")
    for section in sections:
        text = re.sub(r"\bPRINT_JSON \| PRINT_FP\b", "PRINT_ANY", section.text)
        text = re.sub(r"\bprint_color_(\w+)\((\s*\w+),\s*COLOR_NONE,", r"print_\1(\2,", text)
        text = re.sub(r"^static inline ", "static ", text, flags=re.M)
        text = re.sub(
            r"\bstrcpy\(text, ([^;]*)\);", r'snprintf(text, sizeof(text), "%s", \1);', text
        )
        section.items = items_of(text)
    used(sections, lambda name: name == f"{KIND}_qdisc_util")
    kept = {name: name for name in (f"tc_{KIND}_xstats", f"tc_{KIND}_flow_xstats")}
    text = "\n".join(item for section in sections for item in section.items)
    text = renamed(in_comments(text, _edited), _PREFIXES, kept)
    text = formatted(f"{said}\n{_INCLUDES}\n{text}", program, linux)
    return f"// SPDX-License-Identifier: GPL-2.0-only\n{text}"


def _edited(comment: str) -> str:
    comment = comment.replace("tc plugin of the", "tc's part of the")
    comment = re.sub(r" \(pkt_class\.h\)", "", comment)
    return comment.replace("What all kinds tell", f"What {KIND} tells")


def _man() -> str:
    text = (PLUGINS / f"man/tc-{KIND}.8").read_text()
    text = re.sub(
        r'^(\.TH \w+ 8) "" "shortfirst"', r'\1 "1 January 2026" "iproute2"', text, flags=re.M
    )
    if found := re.search(r".*\b(?:sftop|shortfirst-nl|sqf|sift|run2c)\b.*", text):
        raise FlattenError(f"tc-{KIND}.8 speaks of what iproute2 has not: {found[0]}")
    return text


def _completion(text: str, words: list[str]) -> str:
    rows, line = [], "            _tc_once_attr '"
    for word in words:
        if len(line) + len(word) > 76:
            rows.append(line.rstrip() + " \\\n")
            line = "                "
        line += word + " "
    rows.append(line.rstrip() + "'\n")
    entry = f"        {KIND})\n{''.join(rows)}            return 0\n            ;;\n"
    text, changed = re.subn(r"(drr hfsc htb prio qfq[^']*)'", rf"\1 {KIND}'", text, count=1)
    at = text.find("        multiq|pfifo_fast|drr|qfq)\n")
    if at < 0 or not changed:
        raise FlattenError("this iproute2's completion has no list of qdiscs")
    return text[:at] + entry + text[at:]


def patches(iproute2: Path, linux: Path, program: Path) -> list[Patch]:
    """For iproute2's source, in the style of the kernel whose source is in `linux`"""
    told = tomllib.loads((_HERE / "messages.toml").read_text())

    def of(name: str) -> str:
        try:
            return (iproute2 / name).read_text()
        except OSError as error:
            raise FlattenError(f"{iproute2} is no source of iproute2: {error}") from None

    header = of(UAPI)
    at = header.rindex("#endif")
    header = header[:at] + interface(linux, program) + "\n" + header[at:]
    source = q_source(linux, program)
    make = of("tc/Makefile")
    line = re.search(r"^TCMODULES \+= q_fifo\.o\n", make, re.M)
    if not line:
        raise FlattenError("this iproute2's tc/Makefile has no q_fifo.o")
    make = make[: line.end()] + f"TCMODULES += q_{KIND}.o\n" + make[line.end() :]
    table = re.search(
        rf"^static const struct \w+ {KIND}_opts\[\] = \{{\n(.*?)^\}};", source, re.M | re.S
    )
    assert table
    words = re.findall(r"^\t\{ \"(\w[\w-]*)\"", table[1], re.M)
    man = of("man/man8/tc.8")
    man = man.replace(".BR tc-cake (8),\n", f".BR tc-cake (8),\n.BR tc-{KIND} (8),\n", 1)
    return [
        Patch(f"uapi: add {KIND} to pkt_sched.h", told["uapi"], {UAPI: header}),
        Patch(f"tc: add the {KIND} qdisc", told["tc"], {SOURCE: source, "tc/Makefile": make}),
        Patch(
            f"man: tc-{KIND}.8, and completion of its options",
            told["man"],
            {
                f"man/man8/tc-{KIND}.8": _man(),
                "man/man8/tc.8": man,
                "bash-completion/tc": _completion(
                    of("bash-completion/tc"), list(dict.fromkeys(words))
                ),
            },
        ),
    ]
