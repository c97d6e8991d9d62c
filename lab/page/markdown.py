# SPDX-License-Identifier: GPL-2.0
"""Tables and numbers as they stand on a page."""

from collections.abc import Iterator


def markdown(rows: list[list[str]]) -> Iterator[str]:
    """A table."""
    yield "| " + " | ".join(rows[0]) + " |"
    yield "|---" * len(rows[0]) + "|"
    for row in rows[1:]:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def part(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or not value else f"{value:.1g}"


def digits(value: float) -> str:
    """Four digits, or all of a larger number before the point."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
