# SPDX-License-Identifier: GPL-2.0
"""What sift_watch notes while several qdiscs sample flows at once."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from selftests.host.library import library as build

QDISCS = 4


def test_each_sample_of_each_qdisc_is_noted() -> None:
    library = build(Path(__file__).with_name("sift_watch.c"))
    most = library.most()
    places = (ctypes.c_uint32 * (most + 1))()
    library.note_in(places)
    share = most // QDISCS
    with ThreadPoolExecutor(QDISCS) as pool:
        # ctypes lets other threads run meanwhile.
        list(pool.map(lambda ports: library.sample(ports, share), range(1, QDISCS + 1)))
    assert [list(places).count(ports) for ports in range(1, QDISCS + 1)] == QDISCS * [share]
    library.sample(9, 3)
    assert 9 not in places
