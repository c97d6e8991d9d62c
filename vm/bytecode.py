# SPDX-License-Identifier: GPL-2.0
"""What Python makes of the tree's sources, for functional guests.

A guest keeps nothing, so each would compile all modules that its tests import, and pytest would
rewrite the assertions of all tests before the first one runs. The Python of the guest's root does
that here instead. The results are kept in build/KERNEL/bytecode, by the source.
"""

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .build import Built
from .root import VMError, need

# Reads {path: source}, and prints {path: [[path of the bytecode, bytecode in base64], ...]}.
# The loader of Python takes the bytecode whatever the time of the source is (PEP 552, unchecked).
# pytest has no such thing: it wants the time that selftests/run gives all sources.
_COMPILE = r"""
import ast, base64, json, marshal, sys
from importlib.util import MAGIC_NUMBER, cache_from_source
from _pytest.assertion import rewrite

def encoded(flags, size, code):
    header = MAGIC_NUMBER + b"".join(n.to_bytes(4, "little") for n in (flags, 0, size))
    return base64.b64encode(header + marshal.dumps(code)).decode()

made = {}
for path, text in json.load(sys.stdin).items():
    source, plain = text.encode(), cache_from_source(path)
    code = compile(source, path, "exec", dont_inherit=True)
    made[path] = [[plain, encoded(1, 0, code)]]
    tree = ast.parse(source, filename=path)
    rewrite.rewrite_asserts(tree, source, path, None)
    code = compile(tree, path, "exec", dont_inherit=True)
    cached = plain[: -len(f".{sys.implementation.cache_tag}.pyc")] + rewrite.PYC_TAIL
    made[path].append([cached, encoded(0, len(source), code)])
json.dump(made, sys.stdout)
"""


def bytecode(built: Built, sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Bytecode by its path in the guest, of sources by theirs (without the leading slash); none if
    programs of the guest's root cannot be run here."""
    if os.geteuid() != 0 or built.builder != built.root:
        return {}
    store = built.home / "bytecode"
    store.mkdir(parents=True, exist_ok=True)
    files = {path: store / _digest(built.root, path, text) for path, text in sources.items()}
    missing = [path for path, file in files.items() if not file.exists()]
    for path, made in _compiled(built.root, {path: sources[path] for path in missing}).items():
        files[path].write_text(json.dumps(made))
    for old in {*store.iterdir()} - {*files.values()}:
        old.unlink()
    return {
        name.lstrip("/"): base64.b64decode(data)
        for file in files.values()
        for name, data in json.loads(file.read_text())
    }


def _digest(root: Path, path: str, source: bytes) -> str:
    known = f"{root}\0{_COMPILE}\0{path}\0".encode()
    return hashlib.sha256(known + source).hexdigest()


def _compiled(root: Path, sources: Mapping[str, bytes]) -> dict[str, list[list[str]]]:
    if not sources:
        return {}
    texts = {f"/{path}": source.decode() for path, source in sources.items()}
    command = [need("chroot"), root, "/usr/bin/python3", "-B", "-c", _COMPILE]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True)
    if done.returncode != 0:
        raise VMError(f"cannot compile the tree's sources: {done.stderr[-2000:].strip()}")
    return {path.lstrip("/"): made for path, made in json.loads(done.stdout).items()}
