# SPDX-License-Identifier: GPL-2.0
"""The demo's command line."""

import argparse

import pytest

from lab.commands import demo


def test_qdiscs() -> None:
    assert demo.parse_qdiscs("las,cake") == {n: demo.QDISCS[n] for n in ("las", "cake")}
    chosen = demo.parse_qdiscs("pfifo,las50=las limit 50")
    assert chosen["las50"] == "las limit 50"
    for text in ("", "nothing", "floor", "floor=pfifo", "a/b=las", "las,,cake"):
        with pytest.raises(argparse.ArgumentTypeError):
            demo.parse_qdiscs(text)
