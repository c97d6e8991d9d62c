# SPDX-License-Identifier: GPL-2.0
"""OpenWrt's packages, made with a stand-in for its SDK (sdk/), and what runs on a router, built by
compilers for such.
"""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
PACKAGE, SDK = TOP / "openwrt/shortfirst", Path(__file__).parent / "sdk"
KINDS = sorted(path.name.removeprefix("sch_") for path in TOP.glob("sch_*"))
# By the compiler: bits, byte order and machine, as ELF has them
MACHINES = {
    "cc": (2, 1, 62),
    "mips-linux-gnu-gcc": (1, 2, 8),
    "arm-linux-gnueabihf-gcc": (1, 1, 40),
    "aarch64-linux-gnu-gcc": (2, 1, 183),
    "musl-gcc": (2, 1, 62),
}
# What OpenWrt's tc lets plugins call
EXPORTED = {
    *("show_stats", "print_tm", "parse_rtattr", "get_u32", "matches"),
    *("addattr_l", "addattr_nest", "addattr_nest_end"),
}
INSTALLED = {
    "kmod-sched-shortfirst": {
        "etc/modules.d/sched-shortfirst": 0o644,
        **{f"lib/modules/sch_{kind}.ko": 0o644 for kind in KINDS},
    },
    "shortfirst": {
        "usr/sbin/shortfirst": 0o755,
        "usr/sbin/shortfirst-nl": 0o755,
        "etc/config/shortfirst": 0o600,
        "etc/init.d/shortfirst": 0o755,
        "etc/hotplug.d/net/90-shortfirst": 0o644,
    },
    "sftop": {"usr/sbin/sftop": 0o755},
    "tc-mod-shortfirst": {f"usr/lib/tc/q_{kind}.so": 0o644 for kind in KINDS},
    "sqm-scripts-shortfirst": {
        f"usr/lib/sqm/{name}": 0o644
        for name in ("shortfirst.sh", "las.qos", "las.qos.help", "sqf.qos", "sqf.qos.help")
    },
}
DEPENDS = {
    "kmod-sched-shortfirst": "+kmod-sched-core",
    "shortfirst": "+kmod-sched-shortfirst +kmod-ifb +tc +ip",
    "sftop": "+kmod-sched-shortfirst +libnl-core +libncurses",
    "tc-mod-shortfirst": "+kmod-sched-shortfirst +tc-full",
    "sqm-scripts-shortfirst": "+shortfirst +sqm-scripts",
}


def said(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Sdk:
    def __init__(self, home: Path, compiler: str = "cc") -> None:
        self.home = home
        self.given = [f"TOPDIR={SDK}", f"DIR={home}", f"TARGET_CC={compiler}"]
        if compiler == "musl-gcc":  # has no headers of the kernel
            places = said("gcc", "-print-multiarch"), "."
            more = " ".join(f"-idirafter /usr/include/{place}" for place in places)
            self.given.append(f"TARGET_CPPFLAGS={more}")

    def make(self, *targets: str) -> str:
        command = ["make", "-s", "--no-print-directory", "-C", PACKAGE, *self.given, *targets]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return done.stdout

    def installed(self, package: str) -> dict[str, int]:
        top = self.home / package
        files = (path for path in top.rglob("*") if path.is_file())
        return {str(path.relative_to(top)): path.stat().st_mode & 0o777 for path in files}


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Sdk:
    made = Sdk(tmp_path_factory.mktemp("sdk"))
    made.given.append("CONFIG_PACKAGE_sftop=y")
    made.make("prepare")
    made.make("compile")
    return made


def test_fields(sdk: Sdk) -> None:
    fields: dict[str, dict[str, str]] = {}
    for line in sdk.make("fields").splitlines():
        package, name, value = re.fullmatch(r"(\S+) (\w+)=(.*)", line).groups()
        fields.setdefault(package, {})[name] = value
    general = fields.pop("-")
    assert re.fullmatch(r"\d+(\.\d+)+(_git\d{8})?", general["VERSION"])
    assert general["LICENSE"] == "GPL-2.0-only" and (TOP / general["LICENSE_FILES"]).exists()
    assert set(fields) == set(INSTALLED)
    for package, each in fields.items():
        assert all(each[name] for name in ("SECTION", "CATEGORY", "SUBMENU", "TITLE")), package
        assert each["description"] and each["DEPENDS"] == DEPENDS[package]
    assert fields["kmod-sched-shortfirst"]["AUTOLOAD"].split() == [f"sch_{k}" for k in KINDS]
    assert all(kind in fields["tc-mod-shortfirst"]["description"] for kind in KINDS)
    assert fields["shortfirst"]["conffiles"].split() == [
        "/etc/config/shortfirst",
        "/etc/shortfirst/",
    ]
    assert fields["sqm-scripts-shortfirst"]["PKGARCH"] == "all"


def test_installed(sdk: Sdk) -> None:
    for package, files in INSTALLED.items():
        sdk.make(f"install-{package}")
        assert sdk.installed(package) == files
    assert (sdk.home / "shortfirst/etc/shortfirst").is_dir()
    loaded = (sdk.home / "kmod-sched-shortfirst/etc/modules.d/sched-shortfirst").read_text()
    assert loaded.split() == [f"sch_{kind}" for kind in KINDS]


def test_list_of_qdiscs(sdk: Sdk) -> None:
    """What sqm-scripts checks and LuCI offers: added once, and taken away"""
    package, root = "sqm-scripts-shortfirst", sdk.home / "root"
    conf = root / "etc/sqm/sqm.conf"
    conf.parent.mkdir(parents=True)
    sdk.make(f"script-{package}-postinst", f"script-{package}-prerm")
    before = 'SQM_CHECK_QDISCS="fq_codel cake"\n'

    def run(script: str) -> str:
        given = {"IPKG_INSTROOT": str(root), "PATH": "/usr/bin:/bin"}
        subprocess.run([sdk.home / f"{package}.{script}"], env=given, check=True)
        return said("sh", "-c", '. "$0"; echo $SQM_CHECK_QDISCS', conf)

    conf.write_text(before)
    assert run("postinst") == run("postinst") == "fq_codel cake las sqf"
    assert run("prerm") == "fq_codel cake" and conf.read_text() == before
    conf.write_text(before + 'SQM_CHECK_QDISCS="las sqf"\n')
    assert run("prerm") == "las sqf"


@pytest.mark.parametrize("compiler", MACHINES)
def test_machine(tmp_path: Path, compiler: str) -> None:
    """Nothing is missing when tc loads a plugin, nor from libc."""
    sdk = Sdk(tmp_path, compiler)
    sdk.make("prepare")
    sdk.make("compile")
    made = next((tmp_path / "build").glob("shortfirst-*/tc-plugins"))
    programs = [made / "shortfirst-nl", *(made / f"own-print/q_{kind}.so" for kind in KINDS)]
    for program in programs:
        head = program.read_bytes()[:20]
        order = "little" if head[5] == 1 else "big"
        assert (head[4], head[5], int.from_bytes(head[18:20], order)) == MACHINES[compiler]
    if compiler == "musl-gcc":
        return  # whose functions have no version to be told by
    nm = compiler.removesuffix("gcc").removesuffix("cc") + "nm"
    for plugin in programs[1:]:
        undefined = said(nm, "-D", "--undefined-only", plugin)
        functions = set(re.findall(r"U (\w+)$", undefined, re.M))  # but for libc's
        assert {"addattr_l", "parse_rtattr"} <= functions <= EXPORTED
