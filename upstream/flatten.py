# SPDX-License-Identifier: GPL-2.0
"""A source of this tree as one file of another's.

Here what several kinds share is in headers, and compat.h knows kernels of all ages. In the kernel's
tree, as in iproute2's, there is one kind to begin with, and one version: headers are put where they
are first included, each as a section; what only older kernels need goes away, and what this kind
has no use for; macros that make names of the kind's are expanded; and names are the kind's own.
"""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
INCLUDE = TOP / "include"
UAPI = re.compile(r"pkt_\w+\.h")  # these become a part of linux/pkt_sched.h
OMITTED = re.compile(rf"{UAPI.pattern}|test_\w+\.h")  # and of these nothing is left
_INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]\n', re.MULTILINE)
_SPDX = re.compile(r"\A(?://|/\*) SPDX[^\n]*\n")
_GUARD = re.compile(r"^#ifndef (_\w+_H)\n#define \1\n(.*)^#endif[^\n]*\n?\Z", re.M | re.S)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_PLAIN = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.S)
_WORD = re.compile(r"\w+")
_HEADER = re.compile(r"\b(?:shortfirst/)?(\w+)\.h\b")


class FlattenError(Exception):
    """Something to tell the user in one line."""


@dataclass
class Section:
    """What was one file, or what is left of it"""

    name: str  # without .h
    text: str
    items: list[str] = field(default_factory=list)  # its top level


def known_to(linux: Path) -> list[str]:
    """The flags that compat.mk has for the kernel whose source is there"""
    lines = [f"srctree = {linux}", f"include {INCLUDE}/shortfirst/compat.mk"]
    make = "\n".join([*lines, "all:\n\t@echo $(sf-flags)\n"])
    command = ["make", "-s", "-f", "-"]
    told = subprocess.run(command, input=make, check=True, capture_output=True, text=True)
    return told.stdout.split()


def unifdef(text: str, flags: Sequence[str], prefix: str) -> str:
    """What is left of it if of the macros with this prefix only those of `flags` are defined"""
    text = re.sub(
        r"^#if(?:[^\n]*\\\n)+[^\n]*", lambda c: re.sub(r"\s*\\\n\s*", " ", c[0]), text, flags=re.M
    )
    defined = {flag[2:].partition("=")[0] for flag in flags}
    others = set(re.findall(rf"\b{prefix}\w*", text)) - defined
    command = ["unifdef", "-k", "-B", *flags, *(f"-U{macro}" for macro in sorted(others))]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode > 1:
        raise FlattenError(f"unifdef: {done.stderr.strip()}")
    return done.stdout


def gathered(path: Path, outside: set[str], seen: set[Path] | None = None) -> list[Section]:
    """The file behind those of ours that it includes; the names of all others go to `outside`."""
    seen = set() if seen is None else seen
    text = _SPDX.sub("", path.read_text())
    if guard := _GUARD.search(text):
        text = text[: guard.start()] + guard[2]
    before: list[Section] = []
    for found in _INCLUDE.finditer(text):
        own = (each / found[1] for each in (path.parent, INCLUDE))
        file = next((each.resolve() for each in own if each.exists()), None)
        if not file:
            outside.add(found[1])
        elif not OMITTED.fullmatch(file.name) and file not in seen:
            seen.add(file)
            before += gathered(file, outside, seen)
    return [*before, Section(path.stem, _INCLUDE.sub("", text))]


def items_of(text: str) -> list[str]:
    """Its top level, comments with what they are before"""
    items, now, depth, comment = [], "", 0, False
    for line in text.splitlines(keepends=True):
        now += line
        if comment:
            comment = "*/" not in line
            continue
        bare = _PLAIN.sub("", line)
        if "/*" in bare:
            comment = True
            bare = bare[: bare.index("/*")]
        if not line.startswith("#"):
            depth += bare.count("{") - bare.count("}")
        if not depth and not line.strip() and _COMMENT.sub("", now).strip():
            items.append(now.strip("\n") + "\n")
            now = ""
    return [*items, now.strip("\n") + "\n"] if now.strip() else items


# What an item defines: macros, or types, functions and objects
_MACRO = re.compile(r"^#define (\w+)", re.M)
_ENUMERATORS = re.compile(r"^\t(\w+)(?: = [^,]*)?,", re.M)
_DEFINED = (
    re.compile(r"^(?:struct|union|enum) (\w+) \{", re.M),
    re.compile(r"^typedef [^;]*?\b(\w+);", re.M),
    re.compile(
        r"^(?:static|extern)\b[^;=({]*?\b(\w+)(?:\[[^]]*\])*\s*(?:__read_mostly )?[=;(]", re.M
    ),
)


def names_of(item: str) -> set[str]:
    code = _PLAIN.sub("", item).strip()
    if code.startswith("enum {"):
        found = set(_ENUMERATORS.findall(code))
        return found or set(_WORD.findall(code)) - {"enum"}
    if code.startswith("#define"):
        return set(_MACRO.findall(code))
    return {name for each in _DEFINED for name in each.findall(code)} - {"static_assert"}


def _one_define_each(item: str) -> list[str] | None:
    """A block of macros of a line each, by its lines; a comment may lead it"""
    parts = re.findall(r"#define \w[^\n]*?(?:/\*(?:(?!\*/).)*\*/)?\n", item, re.S)
    lead = item[: item.find("#define")]
    whole = lead + "".join(parts)
    if len(parts) < 2 or whole != item or _COMMENT.sub("", lead).strip() or "\\\n" in item:
        return None
    return [lead, *parts]


def used(sections: Sequence[Section], keep: Callable[[str], bool]) -> None:
    """Leave out what nothing uses; what `keep` says of a name is used from outside."""
    while True:
        words: dict[str, int] = {}
        for section in sections:
            for item in section.items:
                for word in set(_WORD.findall(_PLAIN.sub("", item))):
                    words[word] = words.get(word, 0) + 1
        gone = False

        for section in sections:
            left = []
            for item in section.items:
                names = names_of(item)
                if not names:
                    left.append(item)
                elif (lines := _one_define_each(item)) is not None:
                    bare = _PLAIN.sub("", item)
                    block = [
                        line
                        for line in lines[1:]
                        if any(
                            words[name] > 1
                            or keep(name)
                            or len(re.findall(rf"\b{name}\b", bare)) > 1
                            for name in names_of(line)
                        )
                    ]
                    gone |= len(block) < len(lines) - 1
                    if block:
                        left.append(lines[0] + "".join(block))
                elif any(words[name] > 1 or keep(name) for name in names):
                    left.append(item)
                else:
                    gone = True
            section.items = left
        if not gone:
            return


@dataclass
class Macro:
    parameters: list[str]
    body: str

    def __call__(self, arguments: Sequence[str]) -> str:
        given = dict(zip(self.parameters, arguments, strict=True))
        parts = re.split(r'("(?:\\.|[^"\\])*")', self.body)
        return "".join(
            part if part.startswith('"') else _WORD.sub(lambda w: given.get(w[0], w[0]), part)
            for part in parts
        ).replace(" ## ", "")


_DEFINITION = re.compile(
    r"(?:/\*(?:(?!\*/).)*\*/\n)?^#define (\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*\n)", re.M | re.S
)


def macros_of(text: str, wanted: Callable[[str, list[str], str], bool]) -> dict[str, Macro]:
    """Those with parameters for which `wanted` says so, of name, parameters and body"""
    found = {}
    for each in _DEFINITION.finditer(text):
        parameters = [name.strip() for name in each[2].split(",")]
        body = re.sub(r"\s*\\\n", "\n", each[3]).strip()
        if wanted(each[1], parameters, body):
            found[each[1]] = Macro(parameters, body)
    return found


def arguments_at(text: str, at: int) -> tuple[list[str], int]:
    """What is in the parentheses that begin at `at`, by commas; and where they end"""
    depth, begin, found, i = 0, at + 1, [], at
    while True:
        quoted = re.compile(r'"(?:\\.|[^"\\])*"').match(text, i)
        if quoted:
            i = quoted.end()
            continue
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if not depth or (depth == 1 and text[i] == ","):
            found.append(" ".join(text[begin:i].split()))
            begin = i + 1
        if not depth:
            return found, i + 1
        i += 1


def expanded(text: str, macros: Mapping[str, Macro]) -> str:
    """With these in place of their uses, and without what defines them. A comment that has NAME()
    tells of what is called instead."""
    text = _DEFINITION.sub(lambda d: "" if d[1] in macros else d[0], text)
    if not macros:
        return text
    use = re.compile(rf"\b({'|'.join(map(re.escape, macros))})\(")

    def told(comment: str) -> str:
        return use.sub(lambda w: macros[w[1]].body.partition("(")[0] + "(", comment)

    def code(part: str) -> str:
        at = 0
        while found := use.search(part, at):
            arguments, end = arguments_at(part, found.end() - 1)
            part = part[: found.start()] + macros[found[1]](arguments) + part[end:]
            at = found.start()
        return part

    parts = re.split(r"(/\*.*?\*/)", text, flags=re.S)
    return "".join(told(part) if part.startswith("/*") else code(part) for part in parts)


# A function that does nothing but return what another makes of its own arguments
_FORWARD = re.compile(
    r"(?:/\*(?:(?!\*/).)*\*/\n)?"
    r"^static inline [^;={}]*?\b(\w+)\(([^)]*)\)\n\{\n\treturn (\w+\([^;{}]*\));\n\}\n",
    re.M | re.S,
)


def passed_on(text: str) -> tuple[str, dict[str, Macro]]:
    """Functions and macros that only pass on, as macros; and the text without them"""
    found: dict[str, Macro] = {}

    def take(each: re.Match[str]) -> str:
        parameters = [_WORD.findall(part)[-1] for part in each[2].split(",")]
        found[each[1]] = Macro(parameters, each[3])
        return ""

    text = _FORWARD.sub(take, text)
    found |= macros_of(text, lambda name, _, body: name.islower() and "{" not in body)
    return text, found


def plain_macros(text: str) -> dict[str, str]:
    """Those that are another name"""
    return dict(re.findall(r"^#define (\w+)\s+([A-Za-z_]\w*)$", text, re.M))


def without_foreign(text: str, here: set[str], kept: set[str]) -> str:
    """Without members that are for other kinds: their comment begins with a header not in `here`,
    by which comments tell that. Those in `kept` are used for something else, too."""
    lines, out, i = text.splitlines(keepends=True), [], 0
    begins = re.compile(r"/\* (\w+)\.h\b")
    while i < len(lines):
        line = lines[i]
        found = begins.search(line)
        inside = line.startswith("\t") and found and found[1] not in here
        if not inside or not found:
            out.append(line)
            i += 1
            continue
        code = line[: found.start()]
        while "*/" not in lines[i]:
            i += 1
        i += 1
        if set(_WORD.findall(code)) & kept:
            out.append(f"{code}/* for the kind */\n")
            continue
        depth = code.count("{")
        while depth:
            depth += lines[i].count("{") - lines[i].count("}")
            i += 1
    return "".join(out)


_UNION = re.compile(r"^(\t+)union \{[ \t]*(/\*(?:(?!\*/).)*\*/)?\n", re.M | re.S)
_ANONYMOUS = re.compile(r"\A\t+struct \{[ \t]*(/\*(?:(?!\*/).)*\*/)?\n(.*)^\t+\};\n\Z", re.M | re.S)


def without_unions_of_one(text: str) -> str:
    """Unions that have one member only, since others were for other kinds, are that member."""
    at = 0
    while found := _UNION.search(text, at):
        at = found.end()
        indent = found[1]
        end = re.compile(rf"^{indent}\}};\n", re.M).search(text, at)
        if not end:
            continue
        inner = text[at : end.start()]
        ended = re.findall(
            rf"^{indent}\t(?:[^\t\n][^\n]*;|\}}[^\n]*;)", _COMMENT.sub("", inner), re.M
        )
        if len(ended) != 1:
            continue
        less = 1
        if anonymous := _ANONYMOUS.match(inner):
            inner, less = anonymous[2], 2
        inner = re.sub(rf"^\t{{{less}}}", "", inner, flags=re.M)
        said = f"{indent}{found[2]}\n" if found[2] else ""
        text = text[: found.start()] + said + inner + text[end.end() :]
        at = found.start()
    return text


def sections_named(comment: str, names: set[str]) -> str:
    """Of headers it says that they are sections, or nothing if they are not here."""

    def name(found: re.Match[str]) -> str:
        return f"section {found[1]}" if found[1] in names else found[0]

    return _HEADER.sub(name, comment)


def in_comments(text: str, change: Callable[[str], str]) -> str:
    return _COMMENT.sub(lambda found: change(found[0]), text)


def renamed(text: str, prefixes: Sequence[tuple[str, str]], own: Mapping[str, str]) -> str:
    """Names by their beginnings, but for those of `own`; it must not make two of one name."""

    def new(word: str) -> str:
        if word in own:
            return own[word]
        for old, now in prefixes:
            if word.startswith(old):
                return now + word[len(old) :]
        return word

    words = set(_WORD.findall(_PLAIN.sub("", text)))
    clash = sorted(word for word in words if new(word) != word and new(word) in words)
    if clash:
        raise FlattenError(f"names that are there already: {', '.join(clash)}")
    pattern = "|".join(
        [*map(re.escape, sorted(own, key=len, reverse=True)), *(p for p, _ in prefixes)]
    )
    return re.sub(rf"(?<![\w/])(?:{pattern})\w*", lambda w: new(w[0]), text)
