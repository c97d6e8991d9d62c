# SPDX-License-Identifier: GPL-2.0
"""The series for the kernel: what each patch has"""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

from selftests.lib.options import of
from selftests.tdc import cases

from .flatten import TOP, FlattenError, Section
from .onefile import KIND, UPPER, interface, one_file
from .series import Patch

_HERE = Path(__file__).parent / "linux"
SCHED = f"net/sched/sch_{KIND}.c"
UAPI = "include/uapi/linux/pkt_sched.h"
SPEC = "Documentation/netlink/specs/tc.yaml"
TDC = "tools/testing/selftests/tc-testing"
TESTS = "tools/testing/selftests/net/forwarding"
BOOK = "Documentation/networking"
# Of sch_las.c, that many, none longer if it can be helped: reviewers take no more at once, and with
# the others there are fifteen
PARTS = 11
MOST = 650
# What a section brings, for the titles; others by their names
_BRINGS = {
    "": "its principle",
    "compat": "",
    "flow_key": "flow keys",
    "flow_tags": "",
    "flow_table": "flow table",
    "gso": "GSO splitting",
    "link_rate": "link rate",
    "options": "options",
    "shaper": "shaper",
    "sched": "queue core",
    "filter": "filters",
    "bands": "shares",
    "classes": "classes",
    "flow_heap": "heap",
    "lists": "lists",
    "hosts": "hosts",
    "policy_state": "the policy's state",
    "policy_class": "classes of flows",
    "policy_decay": "decay of attained service",
    "policy_drop": "drops",
    "policy_next": "dequeueing",
    "policy_dump": "",
    "policy": "enqueueing",
    "las_log": "LAS-log",
    "sch_las": "the qdisc",
}


def _behind(text: str, pattern: str, what: str) -> str:
    """With `what` behind the last that matches"""
    found = list(re.finditer(pattern, text, re.M | re.S))
    if not found:
        raise FlattenError(f"this kernel's source has no {pattern!r}")
    at = found[-1].end()
    return text[:at] + what + text[at:]


def _before(text: str, pattern: str, what: str) -> str:
    found = list(re.finditer(pattern, text, re.M))
    if not found:
        raise FlattenError(f"this kernel's source has no {pattern!r}")
    at = found[-1].start()
    return text[:at] + what + text[at:]


def parts(sections: list[Section]) -> list[tuple[str, str]]:
    """sch_las.c in pieces, each with what it brings: at the border of a section if there is one
    near, else between two definitions."""
    pieces = [(s.name, item, not i) for s in sections for i, item in enumerate(s.items)]
    sizes = [item.count("\n") + 1 for _, item, _ in pieces]
    count = len(pieces)
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    mean = ends[-1] / PARTS
    best: list[list[tuple[float, int]]] = [[(0.0, -1)] + [(float("inf"), -1)] * count]
    for _ in range(PARTS):
        row = [(float("inf"), -1)] * (count + 1)
        for end in range(1, count + 1):
            split = 0 if end == count or pieces[end][2] else 0.08
            for begin in range(end - 1, -1, -1):
                size = ends[end] - ends[begin]
                if size > 2 * mean:
                    break
                cost = best[-1][begin][0] + (size / mean - 1) ** 2 + split + 9 * (size > MOST)
                if cost < row[end][0]:
                    row[end] = (cost, begin)
        best.append(row)
    cuts, at = [count], count
    for row in reversed(best[1:]):
        at = row[at][1]
        cuts.append(at)
    cuts.reverse()
    made: list[tuple[list[str], str]] = []
    for begin, end in zip(cuts, cuts[1:], strict=False):
        names = list(dict.fromkeys(name for name, _, _ in pieces[begin:end]))
        made.append((names, "\n".join(item for _, item, _ in pieces[begin:end])))
    return [
        (_title(names, [each for each, _ in made], i), text) for i, (names, text) in enumerate(made)
    ]


def _title(names: list[str], all_names: list[list[str]], place: int) -> str:
    """What these sections bring; of one in several pieces, which this is"""
    brings = []
    for name in names:
        word = _BRINGS.get(name, name)
        where = [i for i, each in enumerate(all_names) if name in each]
        if word and len(where) > 1:
            word += f" ({where.index(place) + 1} of {len(where)})"
        brings.append(word)
    return ", ".join(filter(None, brings))


def _spec(tc: str) -> str:
    """tc.yaml with what it lacks of this kind: docs/ynl-tc.yaml has it of all"""
    ours = (TOP / "docs/ynl-tc.yaml").read_text()
    parsed = yaml.safe_load(ours)

    def items(part: str) -> dict[str, str]:
        body = re.search(rf"^{part}:\n(.*?)(?=^\S|\Z)", ours, re.M | re.S)
        assert body
        found = re.split(r"^  -\n", body[1].rstrip("\n") + "\n", flags=re.M)[1:]
        return {re.search(r"name: (\S+)", each)[1]: f"  -\n{each}" for each in found}  # type: ignore[index]

    def needed(name: str) -> bool:
        return name.startswith((f"{KIND}-", f"tc-{KIND}-", "sf-", "class-"))

    def own(text: str) -> str:
        text = text.replace("sf-", f"{KIND}-").replace("TC_SF_", f"TC_{UPPER}_")
        text = text.replace("TCA_SF_", f"TCA_{UPPER}_")
        return re.sub(r"; (?:las and sqf|las, sqf)\b", "", text)

    definitions = "".join(own(t) for n, t in items("definitions").items() if needed(n))
    sets = "".join(own(t) for n, t in items("attribute-sets").items() if needed(n))
    tc = _before(tc, r"^\n?attribute-sets:", definitions)
    tc = _before(tc, r"^\n?sub-messages:", sets)
    messages = {each["name"]: each["formats"] for each in parsed["sub-messages"]}
    like = {"class-options-msg": "options-msg", "class-stats-app-msg": "tca-stats-app-msg"}

    def formats(name: str, body: str) -> str:
        (form,) = (each for each in messages[name] if each["value"] == KIND)
        text = "      -\n" + "".join(f"        {k}: {v}\n" for k, v in form.items())
        text = text.replace("sf-", f"{KIND}-")
        values = re.split(r"(?=^      -\n)", body, flags=re.M)
        at = next(
            (
                i
                for i, each in enumerate(values)
                if (v := re.search(r"value: (\S+)", each)) and v[1] > KIND
            ),
            len(values),
        )
        return "".join([*values[:at], text, *values[at:]])

    for name in ("options-msg", "tca-stats-app-msg"):
        pattern = re.compile(rf"^  -\n    name: {name}\n    formats:\n((?:      .*\n)*)", re.M)
        found = pattern.search(tc)
        if not found:
            raise FlattenError(f"this kernel's tc.yaml has no {name}")
        old = found[1]
        tc = tc[: found.start(1)] + formats(name, old) + tc[found.end(1) :]
        class_name = next(key for key, value in like.items() if value == name)
        block = f"  -\n    name: {class_name}\n    formats:\n{formats(class_name, old)}"
        end = re.compile(r"^\n?operations:", re.M).search(tc)
        assert end
        tc = tc[: end.start()] + block + tc[end.start() :]
    operation = r"(?<=      name: gettclass\n)(      doc: [^\n]*\n)      attribute-set: attrs\n"
    tc, changed = re.subn(operation, r"\1      attribute-set: class-attrs\n", tc)
    if changed != 1:
        raise FlattenError("this kernel's tc.yaml has another gettclass")
    return tc


def _maintainers(text: str) -> str:
    entry = (
        f"{UPPER} QDISC\nM:\tshortfirst contributors <shortfirst@example.org>\n"
        "L:\tnetdev@vger.kernel.org\nS:\tMaintained\n"
        f"F:\t{BOOK}/sch_{KIND}.rst\nF:\t{SCHED}\n"
        f"F:\t{TESTS}/sch_{KIND}.sh\nF:\t{TDC}/tc-tests/qdiscs/{KIND}.json\n\n"
    )
    begin = text.index("Maintainers List")
    for found in re.finditer(r"^([A-Z0-9][^\n]*)\n(?=[A-Z]:\t)", text[begin:], re.M):
        if found[1] > f"{UPPER} QDISC" and found[1].startswith("LA"):
            at = begin + found.start()
            return text[:at] + entry + text[at:]
    raise FlattenError("this kernel's MAINTAINERS has no place for it")


def _sorted_in(text: str, line: str, pattern: str) -> str:
    """With the line among those that match, where it sorts"""
    lines = text.splitlines(keepends=True)
    at = [i for i, each in enumerate(lines) if re.match(pattern, each)]
    where = next((i for i in at if lines[i] > line), at[-1] + 1)
    return "".join([*lines[:where], line, *lines[where:]])


def _kconfig(text: str) -> str:
    return _before(text, r"^menuconfig NET_SCH_DEFAULT$", (_HERE / "Kconfig").read_text() + "\n")


def _makefile(text: str) -> str:
    line = f"obj-$(CONFIG_NET_SCH_{UPPER})\t+= sch_{KIND}.o\n"
    return _behind(text, r"^obj-\$\(CONFIG_NET_SCH_\w+\)[^\n]*\n", line)


def patches(linux: Path, program: Path) -> list[Patch]:
    """For the kernel whose source is there; `program` is clang-format."""

    def changed(name: str, change: Callable[[str], str]) -> dict[str, str]:
        try:
            return {name: change((linux / name).read_text())}
        except OSError as error:
            raise FlattenError(f"{linux} is no kernel's source: {error}") from None

    net = f"net/sched: {KIND}"
    told = tomllib.loads((_HERE / "messages.toml").read_text())
    uapi = changed(UAPI, lambda text: _before(text, r"^#endif", interface(linux, program) + "\n"))
    made = [
        Patch(f"{net}: add the netlink interface", told["interface"], uapi | changed(SPEC, _spec))
    ]
    pieces = parts(one_file(linux, program))
    text = ""
    for i, (title, piece) in enumerate(pieces):
        text += ("\n" if text else "") + piece
        last = i == len(pieces) - 1
        more: dict[str, str] = {}
        if last:
            more |= changed("net/sched/Kconfig", _kconfig)
            more |= changed("net/sched/Makefile", _makefile)
        body = told["built"] if last else told["part"]
        made.append(Patch(f"{net}: add {title}", body, {SCHED: text} | more))
    made.append(
        Patch(
            f"{net}: document it",
            told["document"],
            {f"{BOOK}/sch_{KIND}.rst": (_HERE / f"sch_{KIND}.rst").read_text()}
            | changed(
                f"{BOOK}/index.rst", lambda old: _sorted_in(old, f"   sch_{KIND}\n", r"   s\w+\n")
            )
            | changed("MAINTAINERS", _maintainers),
        )
    )
    option = f"CONFIG_NET_SCH_{UPPER}=m\n"
    made.append(
        Patch(
            f"selftests/tc-testing: add cases for {KIND}",
            told["tdc"],
            {f"{TDC}/tc-tests/qdiscs/{KIND}.json": json.dumps(cases(of(KIND)), indent=4) + "\n"}
            | changed(
                f"{TDC}/config", lambda old: _sorted_in(old, option, r"CONFIG_NET_SCH_\w+=m\n")
            ),
        )
    )
    made.append(
        Patch(
            f"selftests: net: forwarding: add a test for {KIND}",
            told["forwarding"],
            {f"{TESTS}/sch_{KIND}.sh": (_HERE / f"sch_{KIND}.sh").read_text()}
            | changed(
                f"{TESTS}/Makefile",
                lambda old: _sorted_in(
                    old,
                    f"\tsch_{KIND}.sh \\\n",
                    r"\tsch_(?!\w*_(?:core|tests|etsprio))\w+\.sh \\\n",
                ),
            )
            | changed(
                f"{TESTS}/config", lambda old: _sorted_in(old, option, r"CONFIG_NET_SCH_\w+=m\n")
            ),
        )
    )
    return made
