# SPDX-License-Identifier: GPL-2.0
"""What a virtual guest gets: only that can change what it measures."""

from pathlib import Path

import pytest

from vm import initramfs
from vm.build import Built
from vm.root import VMError

VERSION = "7.2-native"


def put(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    result = Built("native", VERSION, tmp_path / "root", tmp_path / "home", tmp_path / "layer")
    put(result.modules / "modules.builtin", "kernel/net/sched/sch_htb.ko\n")
    modules = result.upper / "usr/lib/modules" / VERSION
    names = ["sch_las", "sch_sqf", "run2c_isn"]
    put(modules / "modules.dep", "".join(f"updates/{name}.ko:\n" for name in names))
    for name in names:
        put(modules / f"updates/{name}.ko", name)
    for kind in ("las", "sqf"):
        put(result.upper / f"usr/lib/x86_64-linux-gnu/tc/q_{kind}.so", kind)
    for name in ("scenario.sh", "net.sh", "flowgen", "bulk", "modules/sch_srpt.ko", "flowgen.c"):
        put(result.upper / initramfs.INSIDE / "lab/guest" / name, name)
    for program in initramfs._PROGRAMS:
        put(result.root / program)
    monkeypatch.setattr(initramfs, "_add_applets", lambda *_: None)
    monkeypatch.setattr(initramfs, "sources", lambda: [])
    return result


def tree(built: Built, modules: list[str] | None, needs: list[str] | None) -> set[str]:
    made = initramfs._virtual(built, initramfs.load_list(built, modules), needs)
    return {name.rsplit("/", 1)[-1] for name in made | initramfs._lab(built, needs)}


def test_only_what_the_run_needs(built: Built) -> None:
    have = tree(built, ["sch_htb", "sch_las"], ["scenario.sh", "net.sh", "flowgen"])
    assert {"sch_las.ko", "q_las.so", "scenario.sh", "net.sh", "flowgen"} <= have
    assert not {"sch_sqf.ko", "q_sqf.so", "bulk", "sch_srpt.ko"} & have
    assert {"sch_sqf.ko", "q_sqf.so", "bulk", "sch_srpt.ko"} <= tree(built, None, None)


def test_program_of_the_root(built: Built) -> None:
    """It is there if it is asked for."""
    put(built.root / "usr/sbin/nft")
    assert "nft" in tree(built, [], ["net.sh", "/usr/sbin/nft"])
    assert "nft" not in tree(built, [], ["net.sh"])


def test_what_is_not_there(built: Built) -> None:
    with pytest.raises(VMError, match="has no module sch_none"):
        initramfs.load_list(built, ["sch_none"])
    with pytest.raises(VMError, match="there is no .*/cbr for the guest"):
        initramfs._lab(built, ["cbr"])


def test_what_the_native_kernel_has_is_not_loaded(built: Built) -> None:
    assert initramfs.load_list(built, ["run2c_isn", "sch_las"]) == ["updates/sch_las.ko"]
