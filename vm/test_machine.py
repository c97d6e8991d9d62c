# SPDX-License-Identifier: GPL-2.0
import os
from contextlib import ExitStack

import pytest

from vm.machine import processor

ONE, OTHER = 70003, 70005  # no machine has so many


def test_each_guest_has_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {ONE, OTHER})
    with ExitStack() as stack:
        assert stack.enter_context(processor()) == ONE
        assert stack.enter_context(processor()) == OTHER
        assert stack.enter_context(processor()) in (ONE, OTHER)  # there are no more
    with processor() as number:
        assert number == ONE


def test_an_error_of_the_guest_is_not_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {ONE})
    with pytest.raises(OSError, match="the guest"), processor():
        raise OSError("the guest's")
