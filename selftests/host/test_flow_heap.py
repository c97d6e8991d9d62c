# SPDX-License-Identifier: GPL-2.0
"""The heap of queues against a list that is searched."""

import ctypes
import random
from pathlib import Path

import pytest

from selftests.host.library import library as build

U32, U64 = ctypes.c_uint32, ctypes.c_uint64


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = build(Path(__file__).with_name("flow_heap.c"))
    found.make.argtypes, found.make.restype = [U32], ctypes.c_void_p
    found.destroy.argtypes = [ctypes.c_void_p]
    found.root.argtypes, found.root.restype = [ctypes.c_void_p], ctypes.c_int32
    for function in (found.add, found.move_to, found.lower_to):
        function.argtypes = [ctypes.c_void_p, U32, U64, U32]
    found.take_out.argtypes = [ctypes.c_void_p, U32]
    return found


@pytest.mark.parametrize("queues", [1, 2, 5, 6, 40, 2000])
@pytest.mark.parametrize("ranks", [1, 8, 2**64])
def test_root_is_least(library: ctypes.CDLL, queues: int, ranks: int) -> None:
    rng = random.Random(queues)
    heap = library.make(queues)
    arrivals = 0  # unwrapped; the heap gets the last 32 bits
    first = 2**32 - 1000
    known: dict[int, tuple[int, int]] = {}
    for step in range(3000):
        filling = rng.random() < (0.8 if step < 2 * queues else 0.3)
        absent = rng.randrange(queues)
        if filling and absent not in known:
            known[absent] = rng.randrange(ranks), arrivals
            rank, arrival = known[absent]
            library.add(heap, absent, rank, (first + arrival) & 0xFFFFFFFF)
        elif known:
            queue = rng.choice(list(known))
            before, new = known[queue], (rng.randrange(ranks), arrivals)
            if rng.random() < 0.3:
                library.take_out(heap, queue)
                del known[queue]
            else:
                known[queue] = new
                lower = new > before and rng.random() < 0.5
                change = library.lower_to if lower else library.move_to
                change(heap, queue, new[0], (first + arrivals) & 0xFFFFFFFF)
        arrivals += 1
        expected = min(known, key=lambda queue: known[queue]) if known else -1
        assert library.root(heap) == expected, step
    library.destroy(heap)
