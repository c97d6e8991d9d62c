# SPDX-License-Identifier: GPL-2.0
"""What mutants are made of, and what is said of those that no test kills."""

import tomllib

import pytest

from selftests.mutants.__main__ import REASONS, sources
from selftests.mutants.operators import mutants
from vm.build import CHECKOUT

BODY = """/* a < b */
#define LESS(a, b)	\\
	((a) < (b))
static const struct x y = { 1, 0 };

static int f(int a)
{
	int b[2 + 1];

	%s
	return a;
}
"""


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("a = a < b;", {f"a = a {other} b;" for other in ("<=", ">", ">=", "==", "!=")}),
        ("a->b += c - -d;", {"a->b -= c - -d;", "a->b += c + -d;", "a->b += c - +d;"}),
        ("a = b && c;", {"a = b || c;"}),
        ("a = 1;", {"a = 0;", "a = 2;"}),
        ("a = 0x10U << 0;", {"a = 17U << 0;", "a = 0x10U >> 0;", "a = 0x10U << 1;"}),
        ("if (a) break;", {"if (!(a)) break;", "if (a) continue;"}),
        ("if (!a) b++;", {"if (!(!a)) b++;", "if (a) b++;", "if (!a) b--;"}),
        ("g(a, true);", {";", "g(a, false);"}),
        (
            "a = min(b, max_t(u32, c, d));",
            {"a = max(b, max_t(u32, c, d));"} | {"a = min(b, min_t(u32, c, d));"},
        ),
        ("sch_tree_lock(a);", set()),
        ('printf("<");', {";"}),
    ],
)
def test_operators(statement: str, wanted: set[str]) -> None:
    found = mutants("f.c", BODY % statement)
    assert {mutant.becomes for mutant in found} == wanted
    assert len(found) == len(wanted)
    for mutant in found:
        assert mutant.was == statement
        assert mutant.source == (BODY % statement).replace(statement, mutant.becomes)


def test_lines_are_kept() -> None:
    """So that nothing else of the object code becomes another"""
    text = BODY % "g(a,\n\t  b);"
    (mutant,) = mutants("f.c", text)
    assert mutant.source.count("\n") == text.count("\n")
    assert (mutant.was, mutant.becomes, mutant.line) == ("g(a, b);", ";", 10)


def test_reasons() -> None:
    """Each is that of a mutant, is given once, and is a sentence."""
    made = {
        (mutant.file, mutant.was, mutant.becomes)
        for file in sources()
        for mutant in mutants(file, (CHECKOUT / file).read_text())
    }
    told = tomllib.loads(REASONS.read_text())
    assert set(told) <= {"equivalent", "unseen"}
    given = [each for reasons in told.values() for each in reasons]
    named = [(each["file"], each["was"], each["becomes"]) for each in given]
    assert len(named) == len(set(named))
    assert set(named) <= made
    assert all(each["why"][0].isupper() and each["why"].endswith(".") for each in given)
