# SPDX-License-Identifier: GPL-2.0
"""The command line, python3 -m vm COMMAND, from the top of the tree."""

import argparse
import sys

from . import deb, initramfs
from .build import KERNELS, chroot, prepare, versions
from .guest import FAILED, Guest
from .machine import MODES
from .processors import CROSS, ROOTLESS, TARGETS, make_build_root
from .root import SUITES, VMError, make_root


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    about = {
        "root": "make the distribution root of a kernel, or that of cross compilers",
        "build": "build and install the tree in it",
        "chroot": "run a command in the root, in a copy of the tree",
        "run": "run a job in a guest",
        "deb": "build the Debian packages",
        "shell": "a shell in a functional guest (Ctrl-A X ends it)",
    }
    for name, text in about.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == "deb":
            continue
        choices = {
            "root": [*SUITES, CROSS],
            "build": KERNELS,
            "chroot": [*dict.fromkeys([*KERNELS, *TARGETS])],
        }.get(name, [kernel for kernel in KERNELS if kernel not in ROOTLESS])
        command.add_argument("--kernel", choices=choices, default="6.1")
        if name == "chroot":
            command.add_argument("words", nargs=argparse.REMAINDER, metavar="command ...")
        if name == "run":
            command.add_argument("--mode", choices=MODES, default="functional")
            command.add_argument("--seed", type=int, default=1)
            command.add_argument(
                "--name", default="run", help="results go to build/KERNEL/runs/NAME"
            )
            command.add_argument("--timeout", type=float, default=3600, help="seconds in all")
            command.add_argument("--silence", type=float, help="seconds without output")
            command.add_argument("--module", action="append", help="kernel module to load first")
            command.add_argument("--arg", action="append", default=[], help="argument for the job")
            command.add_argument(
                "job", help="script: a file here, or an absolute path in the guest"
            )
    return parser.parse_args()


def _main() -> int:
    options = _arguments()
    if options.command == "root":
        print(make_build_root() if options.kernel == CROSS else make_root(options.kernel))
        return 0
    if options.command == "deb":
        print(deb.make_packages())
        return 0
    if options.command == "chroot":
        return chroot(options.kernel, options.words)
    built = prepare(options.kernel)
    if options.command == "build":
        for name, version in versions(built).items():
            print(f"{name} {version}")
        return 0
    if options.command == "shell":
        wanted = initramfs.DEFAULT_MODULES
        return Guest(built, mode="functional", name="shell", modules=wanted).interact()
    guest = Guest(
        built,
        mode=options.mode,
        name=options.name,
        job=options.job,
        args=options.arg,
        seed=options.seed,
        modules=options.module,
        timeout=options.timeout,
        silence=options.silence,
    )
    result = guest.run(lambda line: print(line, flush=True))
    print(f"vm: {result.seconds:.1f} s, console in {result.console_path}", file=sys.stderr)
    if result.error:
        print(f"vm: {result.error}", file=sys.stderr)
    return result.status


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except VMError as error:
        print(f"vm: {error}", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)
