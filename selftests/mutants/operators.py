# SPDX-License-Identifier: GPL-2.0
"""What a mutant is: a source of the modules in which one token of one statement is another.

Only the bodies of functions are changed. Declarations, tables and what the preprocessor reads are
not, nor what no test on one processor can see: locks, barriers and what is told to the compiler.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign><<=|>>=|->|\+\+|--|<<|>>|[<>=!+*/%&|^-]=|&&|\|\||.)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_RELATIONS = ("<", "<=", ">", ">=", "==", "!=")
_OTHERS = {
    "+": "-",
    "-": "+",
    "+=": "-=",
    "-=": "+=",
    "++": "--",
    "--": "++",
    "&&": "||",
    "||": "&&",
    "<<": ">>",
    ">>": "<<",
    "true": "false",
    "false": "true",
    "break": "continue",
    "continue": "break",
    "min": "max",
    "max": "min",
    "min_t": "max_t",
    "max_t": "min_t",
}
# Calls of which only another processor, or the compiler, would miss something
_UNSEEN = re.compile(
    r"(sch_tree_|rcu_|spin_|lockdep_|sf_assert_|prefetch|barrier|smp_|WARN|READ_|WRITE_)\w*"
)
_ASSERTIONS = ("static_assert", "BUILD_BUG_ON")  # which the compiler reads
_BEFORE_ELEMENT = ("return", "case", "else")
_BEFORE_STATEMENT = (";", "{", "}", ")", ":", "else")


@dataclass(frozen=True)
class Token:
    kind: str  # a group of _TOKEN
    text: str
    begin: int

    @property
    def end(self) -> int:
        return self.begin + len(self.text)


@dataclass(frozen=True)
class Mutant:
    file: str  # in the tree
    text: str  # of the file, as it was
    begin: int  # what is replaced,
    end: int
    by: str  # and by what; it has as many lines

    @property
    def source(self) -> str:
        return self.text[: self.begin] + self.by + self.text[self.end :]

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.begin) + 1

    @property
    def _bounds(self) -> tuple[int, int]:
        """Of the lines, whole ones, that are changed"""
        after = self.text.find("\n", self.end)
        return self.text.rfind("\n", 0, self.begin) + 1, after

    @property
    def was(self) -> str:
        """The lines that are changed, as they were, on one"""
        first, last = self._bounds
        return " ".join(self.text[first:last].split())

    @property
    def becomes(self) -> str:
        first, last = self._bounds
        changed = self.text[first : self.begin] + self.by + self.text[self.end : last]
        return " ".join(changed.split())

    @property
    def change(self) -> str:
        """Of one token: what it was and what it is, or what is left out"""
        old, new = (" ".join(text.split()) for text in (self.text[self.begin : self.end], self.by))
        return f"{old} -> {new}" if new else f"no {old}"

    @property
    def diff(self) -> str:
        names = f"a/{self.file}", f"b/{self.file}"
        lines = self.text.splitlines(), self.source.splitlines()
        return "\n".join(difflib.unified_diff(*lines, *names, lineterm=""))


def tokens(text: str) -> list[Token]:
    """All but comments, white space and the preprocessor's lines"""
    found = _TOKEN.finditer(text)
    return [Token(m.lastgroup or "", m[0], m.start()) for m in found if m.lastgroup != "space"]


def _bodies(found: list[Token]) -> Iterator[list[Token]]:
    """Of functions, with their braces: what a ( ) at the top stands before"""
    depth, first = 0, None
    for i, token in enumerate(found):
        if token.text == "{":
            if not depth and i and found[i - 1].text == ")":
                first = i
            depth += 1
        elif token.text == "}":
            depth -= 1
            if not depth and first is not None:
                yield found[first : i + 1]
                first = None


def _closes(body: list[Token], opens: int) -> int:
    """Where the ( or [ at `opens` is closed"""
    depth = 0
    for i in range(opens, len(body)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(body[i].text, 0)
        if not depth:
            return i
    raise ValueError(f"a {body[opens].text} is never closed")


def _constants(text: str) -> list[str]:
    digits = text.rstrip("uUlL")
    value, suffix = int(digits, 0), text[len(digits) :]
    return [f"{other}{suffix}" for other in ((0, 2) if value == 1 else (value + 1,))]


def _removed(text: str) -> str:
    """In place of it: nothing, on as many lines"""
    return "\n" * text.count("\n")


def _changes(text: str, body: list[Token], i: int) -> Iterator[tuple[int, int, str]]:
    """What one token of a body may become, as what is replaced and by what"""
    token, before, after = body[i], body[i - 1].text, body[i + 1].text
    here = token.begin, token.end
    if token.text in _RELATIONS:
        yield from ((*here, other) for other in _RELATIONS if other != token.text)
    elif token.text in _OTHERS:
        yield *here, _OTHERS[token.text]
    elif token.text == "!":
        yield *here, ""
    elif token.kind == "number":
        yield from ((*here, other) for other in _constants(token.text))
    elif token.kind == "name" and after == "(":
        opens, closes = body[i + 1].end, _closes(body, i + 1)
        end = body[closes].end
        if token.text in ("if", "while"):
            yield opens, end - 1, f"!({text[opens : end - 1]})"
        elif before in _BEFORE_STATEMENT and body[closes + 1].text == ";":
            if not _UNSEEN.fullmatch(token.text):
                yield token.begin, end, _removed(text[token.begin : end])


def _is_declared(body: list[Token], i: int) -> bool:
    """Is the [ here that of an array's size?"""
    names = body[i - 1].kind == body[i - 2].kind == "name"
    return body[i].text == "[" and names and body[i - 2].text not in _BEFORE_ELEMENT


def mutants(file: str, text: str) -> list[Mutant]:
    """All there are of a file"""
    found = []
    for body in _bodies(tokens(text)):
        skipped = 0  # up to here
        for i in range(1, len(body) - 1):
            if body[i].text in _ASSERTIONS or _is_declared(body, i):
                skipped = _closes(body, i if body[i].text == "[" else i + 1)
            if i > skipped:
                found += [Mutant(file, text, *change) for change in _changes(text, body, i)]
    return found
