# SPDX-License-Identifier: GPL-2.0
"""Programs of a kind, whole, in user space: fuzz.c says how.

The headers are those of the native kernel (vm/kernels.py); what is linked of the kernel comes from
the source that this one was built from, and stays as it is. Compilers are this machine's.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from vm.kernels import NATIVE, OWN, make_kernel
from vm.root import OWN_ROOT, SOURCE_KEPT, VMError, locked, make_root

from .archive import unpack

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
BUILD = TREE / "build/fuzz"
KINDS = [
    path.name.removeprefix("sch_")
    for path in sorted(TREE.glob("sch_*"))
    if (path / f"{path.name}.c").exists()
]

# What a program says that has found something wrong
_WRONG = re.compile(r"^\S+:\d+: .*|.*(?:runtime error|ERROR: \w+).*", re.MULTILINE)

# Of the kernel's own code
_PARTS = (
    "lib/math/reciprocal_div lib/nlattr lib/random32 lib/rbtree net/core/flow_dissector"
    " net/core/gen_stats net/core/gso net/ipv6/exthdrs_core"
).split()
# Where user-mode Linux has its headers, in this order
_INCLUDE = (
    "arch/um/include arch/um/include/generated include arch/um/include/uapi"
    " arch/um/include/generated/uapi include/uapi include/generated/uapi arch/x86/um"
    " arch/x86/include arch/x86/include/generated arch/x86/include/uapi"
    " arch/x86/include/generated/uapi arch/um/include/shared arch/x86/um/shared"
    " arch/um/include/shared/skas"
).split()
_FIRST = ("linux/compiler-version.h", "linux/kconfig.h", "linux/compiler_types.h")
_FLAGS = (
    "-nostdinc -std=gnu11 -m64 -g -fms-extensions -fno-strict-aliasing -ffunction-sections"
    ' -fdata-sections -D__KERNEL__ -D__arch_um__ -DSUBARCH="x86" -DMODULE -DKBUILD_MODNAME="fuzz"'
    ' -DKBUILD_BASENAME="fuzz" -DKBUILD_MODFILE="fuzz" -DSF_TEST'
).split()
# What is ours is without warnings; headers of the kernel's are -isystem.
_WARN = "-Wall -Wextra -Werror -Wno-sign-compare -Wno-unused-parameter".split()
_WARN += "-Wno-missing-field-initializers -Wno-pointer-sign".split()
_CLANG_WARN = "-Wno-gnu -Wno-microsoft-anon-tag -Wno-address-of-packed-member".split()
_CLANG_WARN += "-Wno-initializer-overrides".split()
# As what is linked to a library has to be, of which only its own source's names are to be seen
_HIDDEN = ["-fPIC", "-fvisibility=hidden"]
# Of these only what is needed is linked, which sanitizers would not allow. Flow dissectors are
# initialised by a call; segments are made by kernel.c.
_PART = [
    "gcc",
    "-O2",
    "-w",
    *_HIDDEN,
    "-Dinit_module=flow_dissector_init",
    "-D__skb_gso_segment=unused_skb_gso_segment",
]
# In the kernel packets lie as they come, and shifts may push out bits.
_SANITIZE = "-fsanitize=address,undefined,shift-exponent -fno-sanitize=alignment,shift-base".split()
_SANITIZE += ["-fno-sanitize-recover=all"]


@dataclass(frozen=True)
class Variant:
    """How programs are built."""

    name: str
    compiler: str
    flags: list[str]
    ours: list[str]  # for the kind and what tests it
    link: list[str]


@functools.cache
def clang() -> str:
    """The newest that has its runtime, unless told"""
    if told := os.environ.get("CLANG"):
        return told
    found = [Path(name).name for where in os.get_exec_path() for name in glob(f"{where}/clang-*")]
    versions = {int(name[6:]) for name in found if name[6:].isdecimal()}
    for version in sorted(versions, reverse=True):
        command = [f"clang-{version}", "-print-resource-dir"]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        if glob(f"{said.stdout.strip()}/lib/*/libclang_rt.fuzzer*.a"):
            return f"clang-{version}"
    raise VMError("there is no clang with its runtime: run vm/host-setup as root")


def symbolizer() -> dict[str, str]:
    """What its reports name places by, as they want to be told"""
    path = shutil.which(clang().replace("clang", "llvm-symbolizer"))
    return {"ASAN_SYMBOLIZER_PATH": path} if path else {}


def fuzzer() -> Variant:
    """With libFuzzer"""
    # What is compared with what says little of inputs that are operations, and takes a third.
    flags = ["-O1", *_SANITIZE, "-fsanitize=fuzzer-no-link", "-fno-sanitize-coverage=trace-cmp"]
    return Variant("fuzz", clang(), flags, [], ["-fsanitize=fuzzer"])


def checked() -> Variant:
    """A program of its own, with gcc, that finds what sanitizers find"""
    return Variant("checked", "gcc", ["-O1", *_SANITIZE, "-DSOAK"], [], [])


def soak() -> Variant:
    return Variant("soak", "gcc", ["-O2", "-fwrapv", "-DSOAK"], [], [])


def counted() -> Variant:
    """One that counts how often each line of the kind is executed"""
    # Where it counts gcc does not see any longer that what is used has been set.
    ours = ["--coverage", "-Wno-maybe-uninitialized"]
    return Variant("counted", "gcc", ["-O1", "-fwrapv", "-DSOAK"], ours, ["--coverage"])


@dataclass(frozen=True)
class Kernel:
    headers: Path
    sources: Path


def kernel() -> Kernel:
    """What there is of the native kernel; what is missing is made."""
    root = make_root(OWN_ROOT)
    headers = make_kernel(NATIVE, [root]) / OWN[NATIVE].tree
    archive = root / SOURCE_KEPT
    digest = hashlib.sha256(f"{archive} {_PARTS}".encode()).hexdigest()[:12]
    sources = BUILD / f"kernel-{digest}"
    with locked(BUILD / "kernel.lock"):
        if not sources.is_dir():
            made = sources.with_suffix(".tmp")
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            names = [f"*/{part}.c" for part in _PARTS]
            command = ["tar", "-C", made, "--strip-components=1", "--wildcards", "-xJf", archive]
            subprocess.run([*command, *names], check=True)
            made.rename(sources)
    return Kernel(headers, sources)


def _features(headers: Path) -> list[str]:
    """What include/shortfirst/compat.mk finds in these headers"""
    makefile = "include $(compat)\n$(info $(sf-flags))\nall:;\n"
    told = subprocess.run(
        ["make", "-s", "-f", "-", f"srctree={headers}"]
        + [f"compat={TREE / 'include/shortfirst/compat.mk'}"],
        input=makefile,
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.split()


def _flags(found: Kernel) -> list[str]:
    include = [word for name in _INCLUDE for word in ("-isystem", str(found.headers / name))]
    first = [word for name in _FIRST for word in ("-include", f"{found.headers}/include/{name}")]
    return [*_FLAGS, *include, *first, *_features(found.headers)]


def _digest(command: list[str], depends: Path) -> str:
    """Of the command and of all that the file says that was read; none if there is no such file"""
    state = hashlib.sha256("\0".join(command).encode())
    if not depends.exists():
        return ""
    for name in depends.read_text().replace("\\\n", " ").split()[1:]:
        path = Path(name)
        if not path.exists():
            return ""
        # The kernel's own never change.
        if path.is_relative_to(TREE):
            state.update(path.read_bytes())
    return state.hexdigest()


def _compile(command: list[str], source: Path, made: Path) -> Path:
    depends, stamp = made.with_suffix(".d"), made.with_suffix(".stamp")
    command = [*command, "-MD", "-MF", str(depends), "-c", str(source), "-o", str(made)]
    if made.exists() and stamp.exists() and stamp.read_text() == _digest(command, depends):
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise VMError(f"{source} cannot be compiled:\n{done.stderr}")
    stamp.write_text(_digest(command, depends))
    return made


def _rest(
    variant: Variant, found: Kernel, flags: list[str], pool: ThreadPoolExecutor
) -> list[Future[Path]]:
    """What is linked to whatever is tested: the kernel's own, and what plays the rest of it"""
    command = [variant.compiler, *flags, *variant.flags, *_warn(variant), f"-I{HERE}"]
    host = [variant.compiler, *variant.flags, "-std=gnu11", "-ffunction-sections", *_WARN]
    parts = [found.sources / part for part in _PARTS]
    futures = [
        pool.submit(_compile, [*_PART, *flags], part.with_suffix(".c"), part.with_suffix(".o"))
        for part in parts
    ]
    for what, name in ((command, "kernel"), ([*host, f"-I{HERE}"], "host")):
        made = BUILD / variant.name / f"{name}.o"
        futures.append(pool.submit(_compile, what, HERE / f"{name}.c", made))
    return futures


def _warn(variant: Variant) -> list[str]:
    return [*_WARN, *(_CLANG_WARN if "clang" in variant.compiler else [])]


def build(variant: Variant, kinds: list[str], tree: Path = TREE, where: Path = BUILD) -> list[Path]:
    """The program of each kind, from the sources in @tree, in a folder of the variant's name."""
    found, home = kernel(), where / variant.name
    (BUILD / variant.name).mkdir(parents=True, exist_ok=True)
    with locked(home.with_suffix(".lock")), ThreadPoolExecutor(os.cpu_count()) as pool:
        flags = _flags(found)
        common = [variant.compiler, *flags, *variant.flags, *_warn(variant), f"-I{HERE}"]
        rest = _rest(variant, found, flags, pool)
        whole = {
            kind: pool.submit(
                _compile,
                [*common, *variant.ours, f"-I{tree / 'include'}", f"-DKIND={kind}"]
                + [f'-DKIND_SOURCE="{tree}/sch_{kind}/sch_{kind}.c"'],
                HERE / "fuzz.c",
                home / f"fuzz_{kind}.o",
            )
            for kind in kinds
        }
        objects = [str(part.result()) for part in rest]
        return [
            _link(variant, ["-no-pie"], [str(whole[kind].result()), *objects], home / kind)
            for kind in kinds
        ]


def library(source: Path) -> Path:
    """A source that includes some of our headers, as a shared library"""
    flags = ["-O2", *_HIDDEN, "-fsanitize=undefined", *_SANITIZE[1:]]
    variant = Variant("library", "gcc", flags, ["-fvisibility=default"], [])
    found, home = kernel(), BUILD / variant.name
    home.mkdir(parents=True, exist_ok=True)
    with locked(home.with_suffix(".lock")), ThreadPoolExecutor(os.cpu_count()) as pool:
        flags = _flags(found)
        rest = _rest(variant, found, flags, pool)
        command = [variant.compiler, *flags, *variant.flags, *_warn(variant), *variant.ours]
        command += [f"-I{HERE}", f"-I{TREE / 'include'}"]
        own = _compile(command, source, home / f"{source.stem}.o")
        objects = [str(own), *(str(part.result()) for part in rest)]
        return _link(variant, ["-shared"], objects, home / f"{source.stem}.so")


def corpus(kind: str) -> Path:
    """The archive in the tree that keeps the qdisc's inputs; a new qdisc has none"""
    return HERE / "corpus" / f"{kind}.tar"


def kept_folder(kind: str) -> Path:
    """Where kept() unpacks the inputs"""
    return BUILD / f"kept_{kind}"


def kept(kind: str) -> list[Path]:
    """The files of the inputs that the tree keeps, unpacked"""
    return unpack(corpus(kind), kept_folder(kind)) if corpus(kind).exists() else []


def reason(said: str) -> str:
    """Why a program has ended that has found something wrong"""
    found = _WRONG.search(said)
    return found[0] if found else "no reason given"


def copy_sources(to: Path) -> None:
    """Those of the kinds, for build() from another tree"""
    shutil.rmtree(to, ignore_errors=True)
    for path in (TREE / "include", *TREE.glob("sch_*")):
        shutil.copytree(path, to / path.name, ignore=shutil.ignore_patterns("tests"))


def _link(variant: Variant, how: list[str], objects: list[str], made: Path) -> Path:
    flags = [flag for flag in variant.flags if flag.startswith("-fsanitize")]
    command = [variant.compiler, *flags, *how, "-Wl,--gc-sections", *variant.link, *objects]
    subprocess.run([*command, "-o", str(made)], check=True)
    return made
