# SPDX-License-Identifier: GPL-2.0
"""Guests that have the series' module and tc in place of the tree's"""

from collections.abc import Mapping
from pathlib import Path

from vm import Built, Guest, Result

from .onefile import KIND
from .sources import HOME


def place_of(built: Built) -> str:
    """Where a guest has the tree's module"""
    (place,) = (built.upper / "usr/lib/modules").rglob(f"sch_{KIND}.ko")
    return f"/{place.relative_to(built.upper)}"


def run(
    built: Built, name: str, job: str, module: Path, program: Path, files: Mapping[str, Path]
) -> tuple[Result, list[str]]:
    """How this script went there, once the module is loaded, and the lines that it said"""
    path = HOME / f"{name}.job"
    path.write_text(f"set -e\nmodprobe sch_{KIND}\n{job}")
    there = {place_of(built): module, "/usr/sbin/tc": program, **files}
    said: list[str] = []
    guest = Guest(
        built, mode="functional", name=f"upstream-{name}", job=str(path), files=there, silence=300
    )
    return guest.run(said.append), said
