# SPDX-License-Identifier: GPL-2.0
"""A series of patches, as git makes them: the same of the same tree, whoever makes it and when"""

import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .flatten import FlattenError

# Who sends it puts another name there, and signs it off: git am --signoff, commit --reset-author.
AUTHOR = "shortfirst contributors <shortfirst@example.org>"
DATE = "2026-01-01T00:00:00Z"
_GIT = ["git", "-c", "safe.directory=*", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"]


@dataclass(frozen=True)
class Patch:
    title: str
    text: str
    files: Mapping[str, str]  # what is in them after it


def _git(where: Path, *words: str) -> str:
    name, mail = re.fullmatch(r"(.*) <(.*)>", AUTHOR).groups()  # type: ignore[union-attr]
    who = {}
    for role in ("AUTHOR", "COMMITTER"):
        who |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": DATE}
    base = {"PATH": "/usr/bin:/bin", "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
    done = subprocess.run(
        [*_GIT, *words], cwd=where, env=base | who, capture_output=True, text=True
    )
    if done.returncode:
        raise FlattenError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def _filled(part: str) -> str:
    if part.startswith((" ", "\t")):
        return part
    hang = "  " if part.startswith("- ") else ""
    return textwrap.fill(" ".join(part.split()), 72, subsequent_indent=hang, break_on_hyphens=False)


def wrapped(text: str) -> str:
    """Paragraphs as a message has them; what begins with a blank is a table."""
    parts = [part.strip("\n") for part in text.strip("\n").split("\n\n")]
    return "\n\n".join(_filled(part) for part in parts)


def write(
    where: Path, source: Path, patches: Sequence[Patch], prefix: str, title: str, cover: str
) -> list[Path]:
    """Of a source's files; the folder has nothing else then."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    tree = where / "tree"
    tree.mkdir()
    _git(tree, "init", "-q", "-b", "main")
    for name in sorted({name for patch in patches for name in patch.files}):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).exists():
            shutil.copyfile(source / name, tree / name)
    _git(tree, "add", "-A")
    _git(tree, "commit", "-q", "--allow-empty", "-m", "base")
    for patch in patches:
        for name, text in patch.files.items():
            (tree / name).write_text(text)
            if text.startswith("#!"):
                (tree / name).chmod(0o755)
        _git(tree, "add", "-A")
        _git(tree, "commit", "-q", "-m", f"{patch.title}\n\n{wrapped(patch.text)}")
    _git(
        tree,
        "format-patch",
        "-q",
        "-N",
        "--cover-letter",
        "--no-signature",
        "--zero-commit",
        f"--subject-prefix={prefix}",
        "--numbered",
        "-o",
        "..",
        "HEAD~" + str(len(patches)),
    )
    letter = where / "0000-cover-letter.patch"
    text = letter.read_text().replace("*** SUBJECT HERE ***", title)
    letter.write_text(text.replace("*** BLURB HERE ***", wrapped(cover)))
    shutil.rmtree(tree)
    return sorted(where.glob("*.patch"))
