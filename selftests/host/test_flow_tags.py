# SPDX-License-Identifier: GPL-2.0
"""Tags of flow records: all that are equal are found, and never an unused one among them."""

import ctypes
import random
from pathlib import Path

import pytest

from selftests.host.library import library as build


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = build(Path(__file__).with_name("flow_tags.c"))
    found.tag_of.argtypes, found.tag_of.restype = [ctypes.c_uint32], ctypes.c_uint8
    found.match.argtypes = [ctypes.c_uint64, ctypes.c_uint8]
    found.match.restype = ctypes.c_uint64
    return found


def ways(word: int) -> list[int]:
    assert word & ~0x8080808080808080 == 0
    return [way for way in range(8) if word >> way * 8 & 0x80]


def test_match(library: ctypes.CDLL) -> None:
    rng = random.Random(1)
    for _ in range(50000):
        # few values, so that many are equal and many differ in one bit
        base = rng.randrange(256)
        tags = [
            0 if rng.random() < 0.4 else library.tag_of(base ^ rng.choice([0, 0, 1, 2, 128]))
            for _ in range(8)
        ]
        word = int.from_bytes(bytes(tags), "little")
        tag = library.tag_of(base)
        found = ways(library.match(word, tag))
        equal = [way for way in range(8) if tags[way] == tag]
        assert set(equal) <= set(found)
        assert all(tags[way] for way in found), f"{word:016x} has {tag:02x} where it is unused"
        assert found[:1] == equal[:1]
        unused = ways(library.match(word, 0))
        assert unused[:1] == [way for way in range(8) if not tags[way]][:1]
