# SPDX-License-Identifier: GPL-2.0
"""How a qdisc looks in every picture: a colour and a mark of its own.

Ours are solid lines, others dashed, and SRPT, which is told the sizes, is dotted black. What is an
experiment's own, or no qdisc, takes the colours that nobody in its picture has.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lab.run.kinds import KINDS
from lab.run.qdiscs import ORACLE, PEERS


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
            "linestyle": self.line,
            "linewidth": self.width,
        }


# Those of ours are in each kind's lab.toml; Okabe and Ito's and Tol's colours, distinct to
# colour-blind eyes
LOOKS = {
    "pfifo": Look("#9AA0A6", "x", "--", 1),
    "fq_codel": Look("#CC79A7", "+", "--", 1),
    "cake": Look("#E69F00", "1", "--", 1),
    "cake-rate": Look("#C0B000", "2", "--", 1),
    "cake-hosts": Look("#A86F00", "2", "--", 1),
    "cake-triple": Look("#7A5C00", "3", "--", 1),
    "fq": Look("#44546A", "3", "--", 1),
    "fq_pie": Look("#3E7C59", "4", "--", 1),
    "sfq": Look("#7B4F9E", "4", "--", 1),
    "hhf": Look("#6F4E37", "|", "--", 1),
    "srpt": Look("black", ".", ":", 1),
    "floor": Look("black", "", "--", 1),
    # Policies of a pair of sched-tcp; srpt and las are as the qdiscs of these names
    "direct": Look("#B0B8C0", "x", ":", 1),
    "tcp": Look("#5B6770", "3", "--", 1),
    "fair": Look("#EE3377", "P"),
    "mu": Look("#BBCC33", "v"),
    "pair-las": Look("#FF8A50", "o"),
    "pfifo-tcp": Look("#78838C", "3", ":", 1),
    "pfifo-srpt": Look("#333333", "."),
    "pfifo-las": Look("#C75B00", "<"),
    "fq_codel-srpt": Look("#99257A", "+"),
    "las-srpt": Look("#7A1F00", "h"),
}
# Other names of the same, and what the models are of
SAME = {"droptail": "pfifo", "fifo": "pfifo", "PS": "fq", "ps": "fq"}
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


def look(name: str, names: Iterable[str]) -> Look:
    """That of one of the names in a picture."""
    known = LOOKS.get(SAME.get(name, name))
    if known:
        return known
    others = [each for each in dict.fromkeys(names) if SAME.get(each, each) not in LOOKS]
    return FREE[others.index(name) % len(FREE)]


def pale(name: str) -> bool:
    """Whether bars of it stand back behind those of ours."""
    return name in (*PEERS, *ORACLE)
