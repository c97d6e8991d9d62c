# SPDX-License-Identifier: GPL-2.0
"""Cases for tdc, the kernel's own test driver for tc, of the options of a kind.

python3 -m selftests.tdc [KIND] prints them; with --to DIR each kind's are written to DIR/KIND.json.
"""

import argparse
import json
import re
import zlib
from pathlib import Path
from typing import Any

from selftests.lib.options import APART, KINDS, TOGETHER, Table, of

HERE = "dev $DUMMY handle 1: root"
Case = dict[str, Any]


class Cases:
    def __init__(self, table: Table) -> None:
        self.table, self.found = table, dict[str, Case]()

    def add(
        self, name: str, command: str, pattern: str, count: int = 1, code: int = 0, **more: Any
    ) -> None:
        kind = self.table.kind
        ident = zlib.crc32(f"{kind} {name}".encode()) & 0xFFFF
        while f"{ident:04x}" in self.found:
            ident = (ident + 1) & 0xFFFF
        setup = [f"$TC {step}" for step in more.get("before", [])]
        self.found[f"{ident:04x}"] = {
            "id": f"{ident:04x}",
            "name": name,
            "category": ["qdisc", kind],
            "plugins": {"requires": "nsPlugin"},
            "setup": ["$IP link add dev $DUMMY type dummy || /bin/true", *setup],
            "cmdUnderTest": f"$TC {command}",
            "expExitCode": str(code),
            "verifyCmd": f"$TC {more.get('verify', 'qdisc show dev $DUMMY')}",
            "matchPattern": pattern,
            "matchCount": str(count),
            "teardown": ["$IP link del dev $DUMMY type dummy"],
        }

    def shows(self, name: str, command: str, values: dict[str, int], **more: Any) -> None:
        line = re.escape(self.table.line(values)).replace(r"\ ", " ")
        where = more.pop("where", r"root refcnt [0-9]+")
        self.add(name, command, f"qdisc {self.table.kind} 1: {where} {line}", **more)


def cases(table: Table) -> list[Case]:
    kind, title, made = table.kind, table.kind.upper(), Cases(table)
    add = f"qdisc add {HERE} {kind}"
    made.shows(f"Create {title} with default setting", add, {})
    for option in table.options:
        for value in option.values[1:] if option.names or option.words else option.good:
            given = table.given(option.name, value)
            words = table.text(given)
            made.shows(f"Create {title} with {words} setting", f"{add} {words}", given)
        for value in [] if option.names or option.words else option.bad:
            words = option.text(value)
            name = f"Create {title} with invalid setting: {words}"
            made.add(name, f"{add} {words}", f"qdisc {kind}", 0, 2)
        if option.names:
            name = f"Create {title} with invalid setting: {option.name} middle"
            made.add(name, f"{add} {option.name} middle", f"qdisc {kind}", 0, 1)
        if option.fixed:
            words = option.text(option.good[0])
            name = f"Change {title} {option.name} setting, which cannot be"
            made.shows(name, f"qdisc change {HERE} {kind} {words}", {}, code=2, before=[add])
    for word, values in table.words.items():
        made.shows(f"Create {title} with {word} setting", f"{add} {word}", values)
    for words, values in TOGETHER.items():
        made.shows(f"Create {title} with {words} setting", f"{add} {words}", values)
    for pair in APART:
        words = " ".join(pair)
        name = f"Create {title} with invalid settings: {words}"
        made.add(name, f"{add} {words}", f"qdisc {kind}", 0, 1)
    for number, values in enumerate(table.extremes):
        words = table.text(values)
        made.shows(f"Create {title} with extreme settings {number}", f"{add} {words}", values)
    for rule in table.rules:
        for values in rule.bad:
            words = table.text(values)
            name = f"Create {title} with invalid settings: {words}"
            made.add(name, f"{add} {words}", f"qdisc {kind}", 0, 2)
    name = f"Create {title} with invalid setting: speed 9"
    made.add(name, f"{add} speed 9", f"qdisc {kind}", 0, 1)
    others = {"limit": 7, "buffer": 2000}
    change = f"qdisc change {HERE} {kind}"
    given = f"{change} {table.text(others)}"
    made.shows(f"Change {title} limit and buffer settings", given, others, before=[add])
    given = f"{add} {table.text(table.others)}"
    made.shows(f"Change nothing of {title}", change, table.others, before=[given])
    made.shows(
        f"Replace FQ_CODEL by {title}",
        f"qdisc replace {HERE} {kind}",
        {},
        before=["qdisc add dev $DUMMY handle 2: root fq_codel"],
    )
    made.shows(f"Create {title} twice", f"{add} limit 5", {}, code=2, before=[add])
    gone = f"qdisc del {HERE}"
    made.add(f"Delete {title}", gone, f"qdisc {kind}", 0, before=[add])
    made.add(f"Delete {title} twice", gone, f"qdisc {kind}", 0, 2, before=[add, gone])
    made.shows(
        f"Create {title} below a class of HTB",
        f"qdisc add dev $DUMMY parent 2:1 handle 1: {kind}",
        {},
        where="parent 2:1",
        before=[
            "qdisc add dev $DUMMY handle 2: root htb default 1",
            "class add dev $DUMMY parent 2: classid 2:1 htb rate 1mbit",
        ],
    )
    show = "-s class show dev $DUMMY"
    name = f"Show {title} class without flows"
    made.add(name, show, f"class {kind}", 0, before=[add], verify=show)
    name = f"Create a qdisc in a class of {title}, which cannot be"
    made.add(name, "qdisc add dev $DUMMY parent 1:2 handle 3: pfifo", "pfifo", 0, 2, before=[add])
    name = f"Create a filter of {title}"
    chosen = "filter add dev $DUMMY parent 1: protocol ip prio 1 u32 match ip dport 873 0xffff"
    verify = "filter show dev $DUMMY parent 1:"
    chosen = f"{chosen} classid 1:2"
    made.add(name, chosen, "flowid 1:2", before=[add], verify=verify)
    show = "-s -j qdisc show dev $DUMMY"
    options = json.dumps(table.json({"limit": 77}))[1:-1].replace(" ", "")
    name = f"Show {title} in JSON"
    made.add(name, show, options, before=[f"{add} limit 77"], verify=show)
    return list(made.found.values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("--to", type=Path, metavar="DIR")
    given = parser.parse_args()
    for kind in [given.kind] if given.kind else KINDS:
        text = json.dumps(cases(of(kind)), indent=4)
        if given.to:
            given.to.mkdir(parents=True, exist_ok=True)
            (given.to / f"{kind}.json").write_text(text + "\n")
        else:
            print(text)


if __name__ == "__main__":
    main()
