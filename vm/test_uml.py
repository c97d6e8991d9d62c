# SPDX-License-Identifier: GPL-2.0
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from vm import uml


def test_each_guest_has_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    with ExitStack() as stack:
        assert stack.enter_context(uml.processor()) == 3
        assert stack.enter_context(uml.processor()) == 5
        assert stack.enter_context(uml.processor()) in (3, 5)  # there are no more
    with uml.processor() as number:
        assert number == 3


def test_an_error_of_the_guest_is_not_the_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTFIRST_CACHE", str(tmp_path))
    with pytest.raises(BlockingIOError), uml.processor():
        raise BlockingIOError
