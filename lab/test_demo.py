# SPDX-License-Identifier: GPL-2.0
"""The demo's command line."""

import argparse
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parent
sys.path[:0] = [str(LAB), str(LAB.parent / "selftests")]
import demo  # noqa: E402


def test_qdiscs() -> None:
    assert demo.parse_qdiscs("las,cake") == {n: demo.QDISCS[n] for n in ("las", "cake")}
    chosen = demo.parse_qdiscs("pfifo,las50=las limit 50")
    assert chosen["las50"] == "las limit 50"
    for text in ("", "nothing", "floor", "floor=pfifo", "a/b=las", "las,,cake"):
        with pytest.raises(argparse.ArgumentTypeError):
            demo.parse_qdiscs(text)
