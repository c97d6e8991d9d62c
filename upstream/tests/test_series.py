# SPDX-License-Identifier: GPL-2.0
"""The series for the kernel and for iproute2: that they apply, and how large they are"""

import re
import subprocess
from pathlib import Path

import pytest

from selftests.lib.options import of
from upstream import check, flatten, kernel, onefile, series, sources

pytestmark = pytest.mark.skipif(not sources.known(), reason="needs make upstream once")


@pytest.fixture(scope="module")
def patches() -> list[series.Patch]:
    return kernel.patches(sources.linux(), sources.clang_format())


def test_reviewers_take_it(patches: list[series.Patch]) -> None:
    """Netdev wants fifteen at most."""
    assert len(patches) == 15
    sizes = [
        patch.files[kernel.SCHED].count("\n") for patch in patches if kernel.SCHED in patch.files
    ]
    assert max(b - a for a, b in zip([0, *sizes], sizes, strict=False)) <= kernel.MOST
    assert all(len(f"[PATCH net-next 00/15] {patch.title}") <= 100 for patch in patches)


def test_all_options(patches: list[series.Patch]) -> None:
    """The table in the one file has each option's attribute, by the test's own table."""
    source = patches[-4].files[kernel.SCHED]
    table = re.search(
        r"^static const struct las_option las_rows\[\] = \{(.*?)^\};", source, re.M | re.S
    )
    assert table
    rows = re.findall(r"\.attr = TCA_LAS_(\w+)", table[1])
    assert sorted(rows) == sorted(option.name.upper() for option in of("las").options)


def test_checkpatch(patches: list[series.Patch], tmp_path: Path) -> None:
    linux = sources.linux()
    series.write(tmp_path / "linux", linux, patches, "PATCH net-next", "title", "cover")
    assert check.complaints(linux, sorted((tmp_path / "linux").glob("*.patch"))[1:]) == ""


def test_again(patches: list[series.Patch], tmp_path: Path) -> None:
    """Whoever makes it, and when, it is the same."""
    texts = []
    for name in ("a", "b"):
        made = series.write(tmp_path / name, sources.linux(), patches, "PATCH", "title", "cover")
        texts.append([path.read_bytes() for path in made])
    assert texts[0] == texts[1]


def test_other_kinds_are_found() -> None:
    with pytest.raises(flatten.FlattenError, match="speaks of sqf"):
        onefile._checked("/* as in sqf */", "it")


def test_unions_of_one() -> None:
    text = "struct a {\n\tunion {\n\t\tstruct {\n\t\t\tu32 b;\n\t\t};\n\t};\n\tu32 c;\n};\n"
    assert flatten.without_unions_of_one(text) == "struct a {\n\tu32 b;\n\tu32 c;\n};\n"


def test_two_names_of_one() -> None:
    with pytest.raises(flatten.FlattenError, match="sf_a"):
        flatten.renamed("int sf_a, las_a;", [("sf_", "las_")], {})


def test_no_shell_check_complains(tmp_path: Path) -> None:
    """The selftest is bash as it should be; variables of lib.sh are not known here."""
    path = Path(kernel.__file__).parent / "linux/sch_las.sh"
    assert subprocess.run(["bash", "-n", path]).returncode == 0
