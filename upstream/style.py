# SPDX-License-Identifier: GPL-2.0
"""The kernel's style in 80 columns: clang-format, as the kernel's tree configures it, for the code,
and for comments what is here."""

import re
import subprocess
import tempfile
import textwrap
from pathlib import Path

from .flatten import FlattenError

VERSION = "21.1.8"  # what it makes of a source depends on it
WIDTH = 80
# Beside .clang-format of the kernel
_OTHER = {"BitFieldColonSpacing": "None", "PenaltyBreakBeforeFirstCallParameter": "300"}
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_PLAIN = re.compile(r"\S.*")


def _columns(line: str) -> int:
    return len(line.expandtabs(8))


def _indent(columns: int) -> str:
    return "\t" * (columns // 8) + " " * (columns % 8)


def _fits(line: str, width: int) -> bool:
    """What is behind " *": a tab, or else a blank first"""
    return _columns(("  " if line[:1].isspace() else "   ") + line) <= width + 3


def _table(lines: list[str], width: int) -> list[str]:
    """A drawing: if it is too wide, without what is blank in all lines at once"""
    if all(_fits(line, width) for line in lines):
        return lines
    rows = [f"  {line}".expandtabs(8)[2:] for line in lines]
    rows = [row.ljust(max(map(len, rows))) for row in rows]
    columns = list(zip(*rows, strict=True))
    blank = [not "".join(column).strip() for column in columns]
    for gap in (2, 1):
        kept = [
            i for i in range(len(columns)) if not (blank[i] and all(blank[max(i - gap, 0) : i]))
        ]
        made = ["".join(row[i] for i in kept).rstrip() for row in rows]
        if all(len(line) <= width for line in made):
            break
    return [f" {line}" for line in made]


def _wrapped(lines: list[str], width: int) -> list[str]:
    """What a comment says, where it is too wide; a list has what it lists behind - or @name:."""
    made, i = [], 0
    while i < len(lines):
        drawn = i
        while drawn < len(lines) and (not _PLAIN.fullmatch(lines[drawn]) or "\t" in lines[drawn]):
            drawn += 1
        if drawn > i:
            made += _table(lines[i:drawn], width)
            i = drawn
            continue
        item = re.match(r"- |@\w+: ", lines[i])
        hang = "" if not item else "  " if item[0] == "- " else "     "
        end = i + 1
        while end < len(lines) and (item or "\t" not in lines[end]):
            rest = lines[end]
            if not rest.strip() or re.match(r"- |@\w+: ", rest):
                break
            if bool(hang) != rest[0].isspace():
                break
            end += 1
        block = lines[i:end]
        if not all(_fits(line, width) for line in block):
            block = textwrap.wrap(
                " ".join(" ".join(block).split()),
                width,
                subsequent_indent=hang,
                break_long_words=False,
                break_on_hyphens=False,
            )
        made += block
        i = end
    return made


def _comment(text: str, column: int, alone: bool) -> str:
    """One that begins in that column, after code or alone"""
    kernel_doc = text.startswith("/**")
    inner = text[3 if kernel_doc else 2 : -2].split("\n")
    lines = [re.sub(r"^\s*\* ?", "", line) if i else line.strip() for i, line in enumerate(inner)]
    lines = [line.rstrip() for line in lines]
    if "\n" not in text and column + len(text) <= WIDTH:
        return text
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    prefix = _indent(column + 1)
    lines = _wrapped(lines, WIDTH - column - 3)
    rest = [f"{prefix}*{line if line[:1].isspace() else f' {line}'}".rstrip() for line in lines]
    if alone or kernel_doc:
        return "\n".join([text[: 3 if kernel_doc else 2], *rest, f"{prefix}*/"])
    if len(lines) == 1 and column + len(lines[0]) + 6 <= WIDTH:
        return f"/* {lines[0]} */"
    return "\n".join([f"/* {lines[0]}", *rest[1:], f"{prefix}*/"])


_NARROW = 56  # from this column on a comment that needs several lines stands before the line


def _comments(text: str) -> str:
    made, at = [], 0
    for found in _COMMENT.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        before = text[begin : found.start()]
        end = text.find("\n", found.end())
        behind = text[found.end() : end]
        column = _columns(before)
        made.append(text[at : found.start()])
        at = found.end()
        if not before.strip():
            made.append(_comment(found[0], column, not behind.strip()))
            continue
        wide = "\n" in found[0] or column + len(found[0]) + _columns(behind) > WIDTH
        if not wide or behind.strip() or before.startswith("#"):
            made.append(found[0])
        elif column < _NARROW:
            made.append(_comment(found[0], column, False))
        else:
            indent = len(before) - len(before.lstrip("\t"))
            code = made.pop()
            head, line = code[: len(code) - len(before)], before.rstrip()
            moved = _comment(re.sub(r"\s*\n\s*\*(?= |/) ?", " ", found[0]), indent * 8, True)
            made += [head, f"{before[:indent]}{moved}\n{line}"]
    return "".join([*made, text[at:]])


def _joined(lines: re.Match[str]) -> str:
    """A call that ends its line with a parenthesis: with its first argument there, or all"""
    if _columns(whole := lines[1] + lines[2]) <= 100:
        return whole
    first, comma, rest = lines[2].partition(", ")
    return f"{lines[1]}{first}{comma.rstrip()}\n{_indent(_columns(lines[1]))}{rest}"


def formatted(text: str, program: Path, linux: Path) -> str:
    """C as the kernel has it; `program` is clang-format."""
    config = (linux / ".clang-format").read_text()
    for name in _OTHER:
        config = re.sub(rf"^{name}:.*\n", "", config, flags=re.M)
    config = config.replace("\n...", "").rstrip()
    config += "".join(f"\n{name}: {value}" for name, value in _OTHER.items()) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".clang-format") as style:
        style.write(config)
        style.flush()
        command = [program, f"--style=file:{style.name}", "--assume-filename=file.c"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise FlattenError(f"clang-format: {done.stderr.strip()}")
    text = re.sub(
        r"^[ \t]+\\$", lambda c: _indent(_columns(c[0]) - 1) + "\\", done.stdout, flags=re.M
    )
    # checkpatch would rather have a line of 100
    text = re.sub(r"^([\t ]+\S.*\()\n\s+(\S[^\n]*)$", _joined, text, flags=re.M)
    return _comments(re.sub(r"^(\};\n)(?=\S)", r"\1\n", text, flags=re.M))
