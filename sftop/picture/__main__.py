# SPDX-License-Identifier: GPL-2.0
"""Make docs/sftop.svg: a guest records what its kernel tells, sftop is shown that in tmux, and what
is on its screen then is drawn.

    PYTHONPATH=. python3 -m sftop.picture
"""

import html
import io
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sftop.tests.host.programs import ENVIRONMENT, HERE, LIVE, build
from vm.build import CHECKOUT, prepare
from vm.guest import Guest
from vm.kernels import NATIVE

WIDTH, HEIGHT = 100, 30
LOOK = 0.1  # seconds; a minute of the guest is shown in six
COLOURS = {"31": "#ff6b6b", "32": "#7ee787", "33": "#f2cc60", "36": "#76d7ea"}
INK, PAPER = "#d0d7de", "#161b22"
CELL, LINE = 8.4, 18  # pixels, of 14 pixels of a monospaced font


def record(where: Path) -> None:
    """The files of replay.c"""
    job = str(Path(__file__).with_name("record.py"))
    result = Guest(prepare(NATIVE), mode="functional", name="picture", job=job, timeout=600).run()
    assert not result.error, result.error
    data = (CHECKOUT / "build" / NATIVE / "runs/picture/data").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(where)


def screen(where: Path) -> list[str]:
    """The lines, with their colours, as the last look is shown"""
    program = build(where / "sftop", LIVE, HERE / "replay.c", flags="-O2")
    looks = len(list(where.glob("*.link")))
    tmux = ["tmux", "-L", f"sftop-{where.name}", "-f", "/dev/null"]
    size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
    command = f"env SFTOP_REPLAY={where} {program} -d {LOOK} -n {looks} eth0; sleep 60"
    subprocess.run([*tmux, "new", "-d", *size, command], env=ENVIRONMENT, check=True)
    time.sleep(LOOK * (looks - 5))
    shown = subprocess.run(
        [*tmux, "capture-pane", "-p", "-e", "-N"], env=ENVIRONMENT, capture_output=True, text=True
    )
    subprocess.run([*tmux, "kill-server"], env=ENVIRONMENT, check=True)
    return shown.stdout.splitlines()


def spans(lines: list[str]) -> Iterator[tuple[int, int, str, set[str]]]:
    """Line, column, text, and the numbers of its attributes, which go on at a line's end"""
    on: set[str] = set()
    for y, line in enumerate(lines):
        x = 0
        for numbers, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
            for number in numbers.split(";"):
                if number in ("", "0") and (numbers or number == "0"):
                    on = set()
                elif number.startswith("3"):
                    on = {each for each in on if not each.startswith("3")} | {number}
                elif number:
                    on = on | {number}
            if text:
                yield y, x, text, on
            x += len(text)


def svg(lines: list[str]) -> str:
    width, height = WIDTH * CELL + 20, HEIGHT * LINE + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        'font-family="monospace" font-size="14" xml:space="preserve">',
        "<title>sftop: flows of a home's link, short ones above, long ones below</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>',
    ]
    for y, x, text, on in spans(lines):
        ink = next((COLOURS[number] for number in on if number in COLOURS), INK)
        left, top, wide = 10 + x * CELL, 10 + y * LINE, len(text) * CELL
        if "7" in on:
            out.append(
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{LINE}" fill="{ink}"/>'
            )
            ink = PAPER
        if text.strip():
            bold = ' font-weight="bold"' if "1" in on else ""
            out.append(
                f'<text x="{left:.1f}" y="{top + 14}" textLength="{wide:.1f}" fill="{ink}"{bold}>'
                f"{html.escape(text)}</text>"
            )
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        record(where)
        (CHECKOUT / "docs/sftop.svg").write_text(svg(screen(where)))


if __name__ == "__main__":
    main()
