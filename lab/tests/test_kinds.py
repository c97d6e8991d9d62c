# SPDX-License-Identifier: GPL-2.0
"""What a kind's folder says of it to the lab."""

from pathlib import Path

import pytest

from lab.run.guests import LAB
from lab.run.kinds import KINDS, VARIANTS, is_sampling, kinds
from lab.run.qdiscs import OURS


def test_kinds_that_are_compared_are_there() -> None:
    assert set(OURS) <= set(KINDS)
    for kind in OURS:
        assert [one.page for one in KINDS[kind].bench.values()].count(kind) == 1
    assert len(VARIANTS) == sum(len(kind.bench) for kind in KINDS.values())
    assert not is_sampling("pfifo limit 100") and not is_sampling("las")


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_a_kind_of_its_own(kind: str, tmp_path: Path) -> None:
    text = (LAB.parent / f"sch_{kind}/lab.toml").read_text()
    for name in ("one", "two"):
        (tmp_path / f"sch_{name}").mkdir()
        (tmp_path / f"sch_{name}/lab.toml").write_text(text)
    found = kinds(tmp_path)
    assert list(found) == ["one", "two"] and not set(found["one"].bench) & set(found["two"].bench)
    for name, one in found.items():
        assert {each.words.split()[0] for each in one.bench.values()} == {name}
        assert name in one.looks and not one.samples
