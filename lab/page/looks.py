# SPDX-License-Identifier: GPL-2.0
"""How a qdisc looks in every picture: a colour and a mark of its own.

Ours are solid, lines and marks, others dashed and hollow, and SRPT, which is told the sizes, is
dotted black. What is an experiment's own, or no qdisc, takes a colour that no qdisc has. Whoever
saves a picture has it checked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from lab.run.kinds import KINDS


@dataclass(frozen=True)
class Look:
    colour: str
    mark: str
    line: str = "-"
    width: float = 1.4

    @property
    def style(self) -> dict[str, Any]:
        """As matplotlib's keywords."""
        return {
            "color": self.colour,
            "marker": self.mark,
            "markerfacecolor": self.colour if self.line == "-" else "white",
            "linestyle": self.line,
            "linewidth": self.width,
        }


# Those of ours are in each kind's lab.toml; Okabe and Ito's and Tol's colours, distinct to
# colour-blind eyes
LOOKS = {
    "pfifo": Look("#9AA0A6", "x", "--", 1),
    "fq_codel": Look("#CC79A7", "P", "--", 1),
    "cake": Look("#E69F00", "*", "--", 1),
    "cake-rate": Look("#C0B000", "p", "--", 1),
    "cake-hosts": Look("#A86F00", "d", "--", 1),
    "cake-triple": Look("#7A5C00", "8", "--", 1),
    "fq": Look("#44546A", "<", "--", 1),
    "fq_pie": Look("#3E7C59", "h", "--", 1),
    "sfq": Look("#7B4F9E", ">", "--", 1),
    "hhf": Look("#6F4E37", "v", "--", 1),
    "srpt": Look("black", ".", ":", 1),
    "floor": Look("black", "", "--", 1),
    # Policies of a pair of sched-tcp; srpt and las are as the qdiscs of these names
    "direct": Look("#B0B8C0", "x", ":", 1),
    "tcp": Look("#5B6770", "<", "--", 1),
    "fair": Look("#EE3377", "P"),
    "mu": Look("#BBCC33", "v"),
    "pair-las": Look("#FF8A50", "o"),
    "one-carrier": Look("#4C6FFF", "D", "-.", 1),
    "pfifo-tcp": Look("#78838C", "<", ":", 1),
    "pfifo-srpt": Look("#333333", "."),
    "pfifo-las": Look("#C75B00", "<"),
    "fq_codel-srpt": Look("#99257A", "P"),
    "las-srpt": Look("#7A1F00", "h"),
    "policy fq": Look("#999933", "<"),  # of sqf
}
# Other names of the same, and what the models are of
SAME = {"droptail": "pfifo", "fifo": "pfifo", "not shaped": "pfifo", "PS": "fq", "ps": "fq"}
for _kind in KINDS.values():
    for _name, _look in _kind.looks.items():
        LOOKS.setdefault(_name, Look(_look.colour, _look.mark))
        SAME = dict.fromkeys(_look.same, _name) | SAME
# That none of them has
FREE = [
    Look("#C2185B", "o"),
    Look("#1F4E9E", "^"),
    Look("#6B8E00", "s"),
    Look("#00838F", "D"),
    Look("#8D5524", "v"),
    Look("#5E35B1", "P"),
]


PART = ", "  # after a qdisc's name, and then which part of it, as "sift, high"
LINES = ("-", ":", "--")


def known_look(name: str) -> Look | None:
    return LOOKS.get(SAME.get(name, name))


def look(name: str, names: Iterable[str]) -> Look:
    """That of one of the names in a picture."""
    if mine := known_look(name):
        return mine
    every = list(dict.fromkeys(names))
    whole = name.split(PART)[0]
    if mine := known_look(whole):
        parts = [each for each in every if each.startswith(whole + PART)]
        return replace(mine, line=LINES[parts.index(name) % len(LINES)])
    others = [each for each in every if not known_look(each.split(PART)[0])]
    return FREE[others.index(name) % len(FREE)]


def check(figure: Any) -> None:
    """No qdisc has another's colour or mark, and nobody else has a qdisc's."""
    from matplotlib.colors import to_hex

    taken = {to_hex(each.colour) for each in LOOKS.values()} - {to_hex("black")}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            line = handle[0] if isinstance(handle, tuple) else handle
            colour, mark = to_hex(line.get_color()), line.get_marker()
            mine = known_look(label.removeprefix("model, ").split(PART)[0])
            fits = mine and colour == to_hex(mine.colour) and mark in (mine.mark, "", ".", "None")
            black = label.startswith(("model, ", "paper, ")) and colour == to_hex("black")
            if not (fits or black or not mine and colour not in taken):
                raise ValueError(f"{label} is drawn {colour} {mark}")
