# SPDX-License-Identifier: GPL-2.0
"""Write initramfs archives: the same input gives the same bytes."""

import fnmatch
import hashlib
import lzma
import os
import re
import shlex
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from .build import CHECKOUT, INSIDE, Built, sources
from .bytecode import bytecode
from .machine import FUNCTIONAL
from .processors import ROOTLESS
from .root import GUEST_PACKAGES, VMError, locked, need, packages

# What virtual guests load if it exists as a module (fq_codel, say, is built into some kernels).
DEFAULT_MODULES = (
    "veth dummy ifb sch_htb sch_netem sch_fq_codel sch_cake sch_fq sch_sfq sch_hhf sch_prio sch_tbf"
    " tcp_bbr"
).split()

_NOT_NEEDED = {"debconf", "dpkg", "init-system-helpers", "libc6-dev", "perl-base"}
_PROGRAMS = (
    "usr/bin/busybox usr/bin/dash usr/bin/flock usr/bin/ip usr/bin/ss usr/sbin/ethtool"
    " usr/sbin/sysctl usr/sbin/tc"
).split()  # the virtual guests'
_NOT_MADE = (".cmd", ".mod", ".mod.c", ".o", ".order", ".symvers")  # by-products of make
_PRUNED = """
    boot dev/* proc/* sys/* etc/apt var/cache var/lib var/log usr/games usr/include usr/src
    usr/lib/*/*.a usr/lib/*/*.o usr/lib/*/gconv usr/lib/modules/* usr/lib/python3*/test
    usr/lib/python3*/ensurepip usr/lib/python3*/lib2to3 usr/lib/python3*/pydoc_data usr/lib/udev
    usr/share/doc usr/share/info usr/share/locale usr/share/man usr/share/perl* usr/share/zoneinfo
""".split()
# What kernels of an architecture have of ours: native.patch
_PATCHED_IN = {"um": {"run2c_isn"}}
_GUEST = "lab/guest"  # what is for the guests of experiments
_KERNEL_PARTS = (
    r"kernel/(?:(?:net|crypto|lib|arch/.*/crypto|drivers/net/netdevsim)/.*|drivers/net/[^/]*)"
)


@dataclass(frozen=True)
class Node:
    mode: int
    data: bytes | Path = b""  # content, or the file to read it from; a link's target
    mtime: int = 0

    def read(self) -> bytes:
        return self.data.read_bytes() if isinstance(self.data, Path) else self.data


Tree = dict[str, Node]  # by path, without the leading slash


def file(data: bytes | Path, mode: int = 0o644) -> Node:
    return Node(stat.S_IFREG | mode, data)


def link(target: str) -> Node:
    return Node(stat.S_IFLNK | 0o777, os.fsencode(target))


def node_of(path: Path, mtime: bool = False) -> Node:
    info = path.lstat()
    when = int(info.st_mtime) if mtime else 0
    if stat.S_ISLNK(info.st_mode):
        return Node(info.st_mode, os.fsencode(os.readlink(path)), when)
    return Node(info.st_mode, path if stat.S_ISREG(info.st_mode) else b"", when)


def scan(top: Path, skip: Callable[[str], bool], mtime: bool = False) -> Tree:
    """Directories, files and links under `top`, by their path relative to it."""
    tree: Tree = {}
    for where, dirs, names in os.walk(top):
        prefix = os.path.relpath(where, top) + "/" if where != str(top) else ""
        for name in dirs + names:
            path = Path(where, name)
            kind = stat.S_IFMT(path.lstat().st_mode)
            if kind in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK) and not skip(prefix + name):
                tree[prefix + name] = node_of(path, mtime)
        dirs[:] = [name for name in dirs if prefix + name in tree]
    return tree


def write(tree: Tree, out: BinaryIO) -> None:
    """Append a newc archive: sorted, owned by root, numbered in order. The kernel takes several."""
    full = dict(tree)
    for path in tree:
        for parent in list(Path(path).parents)[:-1]:
            full.setdefault(str(parent), Node(stat.S_IFDIR | 0o755))
    for number, path in enumerate([*sorted(full), "TRAILER!!!"], 1):
        node = full.get(path, Node(0))
        data, name = node.read(), os.fsencode(path) + b"\0"
        fields = (number, node.mode, 0, 0, 1, node.mtime, len(data), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out.write(header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4))


def _foreign(root: Path) -> set[str]:
    """The files of the packages that guests do not get."""
    installed, keep, queue = packages(root), set(_NOT_NEEDED), list(GUEST_PACKAGES)
    provided = {}
    for name, fields in installed.items():
        for other in fields.get("Provides", "").split(","):
            provided[other.split("(")[0].strip()] = name
    while queue:
        name = queue.pop()
        name = name if name in installed else provided.get(name, name)
        if name in installed and name not in keep:
            keep.add(name)
            needs = ",".join(installed[name].get(key, "") for key in ("Depends", "Pre-Depends"))
            queue += [re.split(r"[ (:]", need.strip())[0] for need in re.split("[,|]", needs)]
    keep -= _NOT_NEEDED
    lists: dict[bool, set[str]] = {False: set(), True: set()}
    for path in (root / "var/lib/dpkg/info").glob("*.list"):
        owned = path.read_text().replace("\n/", "\n").split("\n")
        merged = (f"usr/{n}" if re.match("(bin|sbin|lib|lib64)/", n) else n for n in owned)
        lists[path.name.removesuffix(".list").split(":")[0] in keep].update(merged)
    return lists[False] - lists[True]


def _base(built: Built) -> Path:
    """The archive of the root as functional guests see it; kept beside the root."""
    root = built.root
    recipe = Path(__file__).read_text()
    path = root.parent / f"base-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.cpio"
    with locked(root.parent / "base.lock"):
        if not path.exists():
            pruned = re.compile("|".join(map(fnmatch.translate, _PRUNED)))
            foreign = _foreign(root)
            tree = scan(root, lambda n: n in foreign or bool(pruned.match(n)), mtime=True)
            _add_applets(tree, built.builder)
            for name, node in tree.items():
                if name.endswith(".pyc"):
                    tree[name] = replace(node, data=_unchecked(node.read()))
            partial = path.with_suffix(".tmp")
            with open(partial, "wb") as out:
                write(tree, out)
            for old in root.parent.glob("base-*.cpio"):
                old.unlink()
            partial.rename(path)
    return path


def _unchecked(bytecode: bytes) -> bytes:
    """The same for Python to take whatever the time of the source is (PEP 552). A kernel without
    CONFIG_INITRAMFS_PRESERVE_MTIME gives all files the time of its start, so that each program in
    Python would compile all modules that it imports."""
    return bytecode[:4] + (1).to_bytes(4, "little") + bytes(8) + bytecode[16:]


def module_dependencies(modules: Path) -> dict[str, list[str]]:
    """modules.dep: each module's file and the files it needs, the last of them first to load."""
    lines = (modules / "modules.dep").read_text().splitlines()
    return {name: needs.split() for name, needs in (line.split(":", 1) for line in lines)}


def closure(dependencies: dict[str, list[str]], module: str) -> list[str]:
    return [*reversed(dependencies[module]), module]


def module_name(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".ko", 1)[0].replace("-", "_")


def _modules_dir(built: Built) -> Path:
    """Where modules.dep is: installing the tree's modules has written a new one."""
    installed = built.upper / "usr/lib/modules" / built.version
    return installed if (installed / "modules.dep").exists() else built.modules


def _kernel_parts(built: Built) -> Tree:
    """What functional guests get of the kernel's own modules."""
    there = f"usr/lib/modules/{built.version}"
    dependencies = module_dependencies(_modules_dir(built))
    wanted: set[str] = set()
    for module in dependencies:
        if re.fullmatch(_KERNEL_PARTS, module):
            wanted.update(closure(dependencies, module))
    wanted.update(index.name for index in built.modules.glob("modules.*"))
    return {f"{there}/{name}": node_of(built.modules / name) for name in wanted}


def load_list(built: Built, modules: list[str] | None) -> list[str]:
    """Files below /lib/modules/VERSION to load, in order, each after what it needs: those named, or
    if none are the default ones that exist and all our own."""
    dependencies = module_dependencies(_modules_dir(built))
    by_name = {module_name(path): path for path in dependencies}
    patched_in = _PATCHED_IN.get(built.arch, set())
    builtin = (built.modules / "modules.builtin").read_text()
    have = {module_name(path) for path in builtin.split()}
    order: dict[str, None] = {}
    for name in DEFAULT_MODULES if modules is None else modules:
        path = by_name.get(name.replace("-", "_"))
        if path and name not in patched_in:
            order.update(dict.fromkeys(closure(dependencies, path)))
        elif modules is not None and name.replace("-", "_") not in have | patched_in:
            raise VMError(f"kernel {built.version} has no module {name}")
    for path in sorted(dependencies) if modules is None else ():
        if path.startswith("updates/") and module_name(path).startswith("sch_"):
            order.update(dict.fromkeys(closure(dependencies, path)))
    return list(order)


def _needed(data: bytes) -> list[str]:
    """The sonames an ELF file asks for (64-bit little-endian), its interpreter's file included."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]
    dynamic: list[tuple[int, int]] = []
    result = []
    for kind, _, start, _, _, length, _, _ in segments:
        if kind == 2:  # PT_DYNAMIC
            dynamic = list(struct.iter_unpack("<qQ", data[start : start + length]))
        elif kind == 3:  # PT_INTERP
            result.append(os.path.basename(data[start : start + length].rstrip(b"\0").decode()))
    strings = next((value for tag, value in dynamic if tag == 5), 0)  # DT_STRTAB, an address
    for kind, _, start, address, _, length, _, _ in segments:
        if kind == 1 and address <= strings < address + length:  # PT_LOAD
            strings += start - address
            break
    for tag, value in dynamic:
        if tag == 1:  # DT_NEEDED
            begin = strings + value
            result.append(data[begin : data.index(b"\0", begin)].decode())
    return result


def _add_libraries(tree: Tree, root: Path) -> None:
    places = [*sorted((root / "usr/lib").glob("*-linux-gnu")), root / "usr/lib", root / "usr/lib64"]
    queue = list(tree)
    while queue:
        node = tree[queue.pop()]
        if not stat.S_ISREG(node.mode):
            continue
        for name in _needed(node.read()):
            source = next((place / name for place in places if (place / name).exists()), None)
            if not source:
                raise VMError(f"library {name} is not in the root")
            # The interpreter must be where programs look for it; there the linker finds the rest.
            target = f"usr/lib64/{name}" if name.startswith("ld-") else f"usr/lib/{name}"
            if target not in tree:
                tree[target] = file(_inside(root, source), 0o755)
                queue.append(target)


def _inside(root: Path, path: Path) -> Path:
    """Follow a link as it would be followed with `root` as the root directory."""
    while path.is_symlink():
        target = os.readlink(path)
        path = root / target.lstrip("/") if target.startswith("/") else path.parent / target
    return path


def _add_applets(tree: Tree, root: Path) -> None:
    """Busybox under the names of all commands that are not there otherwise; the root's can be run
    here, and has the same as the guest's."""
    listed = subprocess.run([root / "usr/bin/busybox", "--list"], capture_output=True, text=True)
    have = {name.rsplit("/", 1)[-1] for name in tree if name.startswith(("usr/bin/", "usr/sbin/"))}
    for applet in set(listed.stdout.split()) - have:
        tree[f"usr/bin/{applet}"] = link("busybox")


def _virtual(built: Built, loaded: list[str], needs: list[str] | None) -> Tree:
    """Only what an experiment uses: a small archive boots faster and there is less to differ."""
    root, upper = built.root, built.upper
    tree: Tree = {path: link(f"usr/{path}") for path in ("bin", "sbin", "lib", "lib64")}
    more = [name.lstrip("/") for name in needs or [] if name.startswith("/")]
    for name in [*_PROGRAMS, *more]:
        top = upper if (upper / name).exists() else root
        tree[name] = file(_inside(top, top / name), 0o755)
    tree["usr/bin/sh"] = link("dash")
    _add_applets(tree, built.builder)
    for top in (root, upper):
        for pattern in ("usr/lib/tc", "usr/lib/*/tc", "usr/share/iproute2", "etc/iproute2"):
            for where in top.glob(pattern):
                prefix = where.relative_to(top)
                for name, node in scan(where, lambda n: n.endswith(".so")).items():
                    tree[f"{prefix}/{name}"] = node
    # Of tc's plugins only ours: the stock ones want libraries of their own.
    kinds = {module_name(module).removeprefix("sch_") for module in loaded}
    for path in upper.glob("usr/lib*/**/tc/q_*.so"):
        if path.stem.removeprefix("q_") in kinds:
            tree[str(path.relative_to(upper))] = node_of(path)
    for module in loaded:
        tree[f"usr/lib/modules/{built.version}/{unpacked_name(module)}"] = _unpacked(built, module)
    return tree


def unpacked_name(module: str) -> str:
    return re.sub(r"\.ko\.\w+$", ".ko", module)


def _unpacked(built: Built, module: str) -> Node:
    found = built.upper / "usr/lib/modules" / built.version / module
    return unpacked(found if found.exists() else built.modules / module)


def unpacked(module: Path) -> Node:
    """A module as busybox's insmod wants it."""
    data = module.read_bytes()
    kind = module.suffix
    if kind == ".xz":
        data = lzma.decompress(data)
    elif kind == ".zst":
        command = [need("zstd"), "-dc"]
        data = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    elif kind != ".ko":
        raise VMError(f"cannot unpack {module}")
    return file(data)


def _tests(built: Built, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Node]]:
    """The tree but for its pages, as it is now, and the programs and modules made for tests."""
    listed = {name for name in sources() if not name.startswith("docs/")}
    for name in listed:
        if wanted(name):
            yield f"{INSIDE}/{name}", node_of(CHECKOUT / name)
    for top in ("lab", "selftests"):
        for name, node in scan(built.upper / INSIDE / top, lambda name: False).items():
            path, made = f"{top}/{name}", not name.endswith(_NOT_MADE)
            if stat.S_ISREG(node.mode) and made and path not in listed and wanted(path):
                yield f"{INSIDE}/{path}", node


def _lab(built: Built, needs: list[str] | None) -> Tree:
    """Of what an experiment may use in its guest what this one needs."""
    wanted = re.compile(rf"{re.escape(_GUEST)}/[^.]*(\.sh|\.ko)?")
    tree = dict(_tests(built, lambda name: bool(wanted.fullmatch(name))))
    if needs is None:
        return tree
    names = [f"{INSIDE}/{_GUEST}/{name}" for name in needs if not name.startswith("/")]
    if missing := [name for name in names if name not in tree]:
        raise VMError(f"there is no {', '.join(missing)} for the guest")
    return {name: tree[name] for name in names}


def _rootless(built: Built) -> Tree:
    """Programs that need no other, the first process among them, and the modules that they load."""
    top = built.upper / INSIDE
    tree: Tree = {
        "init": file(top / "selftests/smoke", 0o755),
        "sf/shortfirst-nl": file(top / "tc-plugins/shortfirst-nl", 0o755),
    }
    for pattern in ("sch_*/sch_*.ko", "selftests/modules/*.ko"):
        tree |= {f"sf/{module.name}": node_of(module) for module in top.glob(pattern)}
    return tree


def make(
    out: BinaryIO,
    built: Built,
    mode: str,
    config: dict[str, str],
    args: list[str],
    modules: list[str] | None,
    needs: list[str] | None,
    files: Tree,
) -> None:
    """Write the whole initramfs of one guest."""
    small, rootless = mode != FUNCTIONAL, built.kernel in ROOTLESS
    loaded = load_list(built, modules) if small or modules else []
    if rootless:
        tree = _rootless(built)
    elif small:
        tree = _virtual(built, loaded, needs)
        tree.update(_lab(built, needs))
    else:
        base = _base(built)
        with open(base, "rb") as archive:
            while piece := archive.read(1 << 20):
                out.write(piece)
        tree = _kernel_parts(built)
        tree.update(scan(built.upper, lambda name: name == INSIDE))
        tree.update(_tests(built, lambda name: True))
        modules = {path: node.read() for path, node in tree.items() if path.endswith(".py")}
        tree |= {path: file(data) for path, data in bytecode(built, modules).items()}
    tree.update(files)
    if small:
        _add_libraries(tree, built.root)
    if not rootless:
        tree["init"] = file(Path(__file__).with_name("init"), 0o755)
    shell = [f"{name}={shlex.quote(value)}\n" for name, value in config.items()]
    loaded = [unpacked_name(module) for module in loaded] if small else loaded
    shell.append("modules=" + shlex.quote(" ".join(loaded)) + "\n")
    shell.append("set -- " + " ".join(map(shlex.quote, args)) + "\n")
    tree["sf/config"] = file("".join(shell).encode())
    write(tree, out)
