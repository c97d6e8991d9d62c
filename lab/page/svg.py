# SPDX-License-Identifier: GPL-2.0
"""A figure to draw in, and its SVG: text as text, and nothing that differs between machines.

matplotlib sets text by the measures of its own DejaVu Sans, which hardly any other font exceeds, so
that text fits whatever font a browser has. How it lays out differs between versions of matplotlib:
the SVG's first line tells which has drawn it.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from lab.page.looks import check

DIGITS = 2  # of coordinates, which are points: 1/72 inch
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shortfirst",
    "font.family": "DejaVu Sans",
    "path.simplify_threshold": 0.3,  # points: a line may be so far off what it stands for
}


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple:
    """A figure and its axes, so many of them. matplotlib takes its time, so only now."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(SETTINGS)
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width, height), layout="constrained")


def logarithmic(axis: Any, way: str, scale: str = "log") -> None:
    """An axis, "x" or "y", of what is drawn, with numbers that can be read, however short it is."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis, f"set_{way}scale")(scale)
    low, high = getattr(axis, f"get_{way}lim")()
    mine = getattr(axis, f"{way}axis")
    if scale == "log":
        few = high < low * (1e4 if way == "y" else 200)
        mine.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=30))
    mine.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    mine.set_minor_formatter(NullFormatter())


def save(figure: Any, base: Path, png: bool = True) -> None:
    """As `base`.svg and, unless told, `base`.png; the same data, the same bytes."""
    import matplotlib
    import matplotlib.pyplot as plt

    check(figure)
    path = Path(f"{base}.svg")
    figure.savefig(path, metadata={"Date": None})
    path.write_text(plain(path.read_text(), matplotlib.__version__))
    if png:
        figure.savefig(f"{base}.png", metadata={"Software": None}, dpi=130)
    plt.close(figure)


def plain(svg: str, version: str) -> str:
    """Without metadata, names that nothing refers to, digits that nobody sees, and fonts."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", svg)
    svg = re.sub(r"font: ((?:\w+ )*[\d.]+px) [^;\"]*", r"font: \1 sans-serif", svg)
    svg = re.sub(r'="[^"]*"', lambda found: re.sub(r"-?\d+\.\d+", rounded, found[0]), svg)
    # What is referred to is named after a hash, be it of the last digit; now by its place
    for i, name in enumerate(dict.fromkeys(re.findall(r'(?:url\(|href=")#(\w+)', svg))):
        svg = re.sub(rf'((?:url\(|href=")#|<\w+ id="){name}\b', rf"\1n{i}", svg)
    svg = re.sub(r' id="(?!n\d+")[^"]*"', "", svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    alone = r"<g>\n(<[^>]*/>|<text[^>]*>[^<]*</text>)\n</g>"
    while re.search(alone, svg):
        svg = re.sub(alone, r"\1", svg)
    # How something looks is said once
    styles = Counter(re.findall(r' style="([^"]*)"', svg))
    classes = {style: f"c{i}" for i, style in enumerate(s for s, n in styles.items() if n > 1)}
    for style, name in classes.items():
        svg = svg.replace(f' style="{style}"', f' class="{name}"')
    rules = "".join(f"\n.{name}{{{style}}}" for style, name in classes.items())
    return f"<!-- matplotlib {version} -->\n" + svg.replace("</style>", f"{rules}\n</style>", 1)


def drawn_by(path: Path) -> str | None:
    """Which version of matplotlib has drawn it."""
    found = re.match(r"<!-- matplotlib (\S+) -->", path.read_text())
    return found[1] if found else None


def rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.{DIGITS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
