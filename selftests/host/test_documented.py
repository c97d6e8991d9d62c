# SPDX-License-Identifier: GPL-2.0
"""What man pages say of options and statistics, by the options' tables."""

import re
import shlex

import pytest

from selftests.lib.options import KINDS, LINKS, TOP, Option, of

OPTIONS = [pytest.param(kind, o, id=f"{kind}-{o.name}") for kind in KINDS for o in of(kind).options]
EACH = pytest.mark.parametrize("kind", KINDS)


def page(kind: str) -> str:
    return (TOP / f"tc-plugins/man/tc-{kind}.8").read_text()


def plain(text: str) -> str:
    """Without what is bold, and where lines end"""
    fonts = r"^\.(?:BR|RB|RI|IR) (.*)$"
    text = re.sub(fonts, lambda m: "".join(shlex.split(m[1])), text, flags=re.MULTILINE)
    text = re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.MULTILINE)
    return " ".join(text.replace("\\", "").split())


def section(kind: str, usage: str) -> str:
    """Of PARAMETERS, that of what is typed like this"""
    for heading, text in re.findall(r"^\.SS (.*)\n((?:(?!\.S[SH]).*\n)*)", page(kind), re.M):
        if usage in plain(heading).split(", "):
            return plain(heading) + " " + plain(text)
    raise AssertionError(f"tc-{kind}.8 has no section of {usage}")


def says(text: str, word: str) -> bool:
    """By itself, not as a part of another word or number"""
    return bool(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\w)", text, re.IGNORECASE))


@pytest.mark.parametrize(("kind", "option"), OPTIONS)
def test_option(kind: str, option: Option) -> None:
    """Its default, and how far it goes"""
    text = section(kind, option.usage)
    defaults = [typed.split()[-1] for typed in option.spellings(option.default)]
    sentences = [each for each in re.split(r"(?<=[.])\s", text + " ") if "efault" in each]
    assert any(says(each, way) for each in sentences for way in defaults), defaults
    if option.names:
        assert all(says(text, name) for name in option.names)
    elif not option.words:
        for end in {option.least, option.most} - {0, (1 << 32) - 1}:
            ways = [typed.split()[-1] for typed in option.spellings(end)]
            assert any(says(text, way) for way in ways), end


@EACH
def test_statistics(kind: str) -> None:
    """Each is explained, by its name or as one of both bands'."""
    table, text = of(kind), page(kind)
    told = set(re.findall(r"^\.TP\n\.BR? (.*)$", text, re.M))
    told = {name for line in told for name in re.split(r"[ ,]+", line.replace('"', ""))}
    for name in (*table.statistics, *table.flow_statistics):
        band = re.sub(r"^(high|low)_", "", name)
        assert {name, band} & told or re.search(rf"^\.BR? {name}\b", text, re.M), name


@EACH
def test_words(kind: str) -> None:
    """Those that stand for values of several options"""
    for word in of(kind).words.keys() - LINKS:
        assert section(kind, word)


@EACH
def test_links(kind: str) -> None:
    """The table of their names, overhead, mpu and framing"""
    text = section(kind, "Names of links")
    table = of(kind)
    for word, values in LINKS.items():
        told = [
            str(table[name].in_json(values[name])) if name in values else "-"
            for name in ("overhead", "mpu", "framing")
        ]
        assert f" {' '.join([word, *told])} " in text, word


def test_the_same_of_all() -> None:
    """What all kinds have to shape with is told in the same words."""
    found = {re.search(r"^\.SS rate .*?(?=^\.SH)", page(kind), re.M | re.S)[0] for kind in KINDS}
    assert len(found) == 1
