# SPDX-License-Identifier: GPL-2.0
"""The lists of queues against lists that are searched."""

import ctypes
import random
from pathlib import Path

import pytest

from selftests.host.library import library as build

U32 = ctypes.c_uint32
LISTS = 4096


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = build(
        Path(__file__).with_name("sqf_lists.c"), ["bitops.h", "mm.h", "slab.h", "types.h"]
    )
    found.make.argtypes, found.make.restype = [U32], ctypes.c_void_p
    for function in (found.destroy, found.least, found.most):
        function.argtypes = [ctypes.c_void_p]
    for function in (found.add, found.take_out):
        function.argtypes = [ctypes.c_void_p, U32, U32]
    found.from_ = getattr(found, "from")
    found.from_.argtypes = [ctypes.c_void_p, U32]
    found.members.argtypes = [ctypes.c_void_p, U32, ctypes.POINTER(U32), U32]
    return found


@pytest.mark.parametrize("queues", [1, 2, 50, 2000])
@pytest.mark.parametrize("used", [1, 3, 70, LISTS])
def test_lists(library: ctypes.CDLL, queues: int, used: int) -> None:
    rng = random.Random(queues * used)
    lists = library.make(queues)
    numbers = rng.sample(range(LISTS), used)
    if used == 3:
        numbers = [0, 63, LISTS - 1]
    known: dict[int, list[int]] = {}
    place: dict[int, int] = {}
    number = numbers[0]
    room = (U32 * queues)()
    for step in range(3000):
        queue = rng.randrange(queues)
        if queue in place:
            number = place.pop(queue)
            library.take_out(lists, number, queue)
            known[number].remove(queue)
            if not known[number]:
                del known[number]
        if rng.random() < (0.8 if step % 1000 < 700 else 0.3):
            number = place[queue] = rng.choice(numbers)
            library.add(lists, number, queue)
            known.setdefault(number, []).append(queue)
        assert library.least(lists) == min(known, default=LISTS)
        assert library.most(lists) == max(known, default=LISTS)
        at = rng.choice([0, LISTS - 1, rng.choice(numbers), rng.randrange(LISTS)])
        expected = min(known, key=lambda number, at=at: (number - at) % LISTS, default=LISTS)
        assert library.from_(lists, at) == expected
        if number in known:
            count = library.members(lists, number, room, queues)
            assert room[:count] == known[number]
    library.destroy(lists)
