# SPDX-License-Identifier: GPL-2.0
"""What packets take on the wire, by cake's published arithmetic, worked anew.

A keyword is an overhead, a least length and a framing. Overheads of several add up.
"""

from dataclasses import dataclass

LINK = 14  # bytes of an Ethernet header, which are counted if nothing else is said


def plain(length: int) -> int:
    return length


def atm(length: int) -> int:
    """Cells of 53 bytes, each of which carries 48"""
    return -(-length // 48) * 53


def ptm(length: int) -> int:
    """One byte more for 64 or a part of them"""
    return length + -(-length // 64)


FRAMINGS = {"noatm": plain, "atm": atm, "ptm": ptm}


@dataclass(frozen=True)
class Keyword:
    overhead: int
    framing: str = ""  # one of FRAMINGS, or as it was
    mpu: int = 0


KEYWORDS = {
    "conservative": Keyword(48, "atm"),
    "ipoa-vcmux": Keyword(8, "atm"),
    "ipoa-llcsnap": Keyword(16, "atm"),
    "bridged-vcmux": Keyword(24, "atm"),
    "bridged-llcsnap": Keyword(32, "atm"),
    "pppoa-vcmux": Keyword(10, "atm"),
    "pppoa-llc": Keyword(14, "atm"),
    "pppoe-vcmux": Keyword(32, "atm"),
    "pppoe-llcsnap": Keyword(40, "atm"),
    "pppoe-ptm": Keyword(30, "ptm"),
    "bridged-ptm": Keyword(22, "ptm"),
    "ethernet": Keyword(38, mpu=84),
    "ether-vlan": Keyword(4),
    "docsis": Keyword(18, "noatm", 64),
}


def wire(words: str, size: int) -> int:
    """What an IP packet of this many bytes takes on Ethernet with these words."""
    overhead, framing, mpu, counts_ip = 0, plain, 0, False
    rest = iter(words.split())
    for word in rest:
        if word in FRAMINGS:
            framing = FRAMINGS[word]
        elif word == "overhead":
            overhead, counts_ip = int(next(rest)), True
        elif word == "mpu":
            mpu = int(next(rest))
        else:
            keyword = KEYWORDS[word]
            overhead, counts_ip = overhead + keyword.overhead, True
            framing = FRAMINGS.get(keyword.framing, framing)
            mpu = keyword.mpu or mpu
    length = size + overhead if counts_ip else size + LINK
    return framing(max(length, mpu, 0))
