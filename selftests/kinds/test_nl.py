# SPDX-License-Identifier: GPL-2.0
"""shortfirst-nl, which does without tc what tc does with our plugins: both are asked the same.

And so is tc with the plugins that print by themselves.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from selftests.lib.command import run
from selftests.lib.gate import Gate, flow
from selftests.lib.options import APART, KINDS, TOP, Option, of
from selftests.lib.refusals import BARE, USED, Spare

pytestmark = pytest.mark.one_kernel

MADE = TOP / "selftests/nl"  # not where the command would find it
OURS = str(MADE / "shortfirst-nl")
OWN_PRINT = "tc with plugins that print"
PROGRAMS = ("tc", OURS, OWN_PRINT)


@dataclass(frozen=True)
class Told:
    status: int
    stdout: str
    stderr: str


def ask(program: str, words: str) -> Told:
    environment = os.environ | ({"TC_LIB_DIR": str(MADE)} if program == OWN_PRINT else {})
    command = [program.split()[0], *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return Told(done.returncode, done.stdout, done.stderr)


def all_say(words: str) -> Told:
    """What has to be the same to the byte"""
    first, *others = (ask(program, words) for program in PROGRAMS)
    for program, told in zip(PROGRAMS[1:], others, strict=True):
        assert told == first, f"{program} {words}"
    return first


def succeeds(program: str, words: str) -> None:
    assert ask(program, words) == Told(0, "", ""), f"{program} {words}"


def shown(where: str) -> dict[str, Any]:
    """Of a qdisc, after all ways to print it were compared"""
    assert all_say(f"-s qdisc show {where}").stdout.startswith(
        all_say(f"qdisc show {where}").stdout
    )
    told = [json.loads(ask(p, f"-s -j qdisc show {where}").stdout)[0] for p in PROGRAMS]
    for other in told[1:]:
        assert other == told[0] and list(other) == list(told[0])
    return told[0]


def test_set_by_tc(spare: Spare, kind: str, option: Option) -> None:
    table, where = of(kind), f"dev {USED} root"
    given = table.given(option.name, option.good[0])
    run(f"tc qdisc replace {where} handle 30: {kind} {table.text(given)}")
    assert shown(where)["options"] == table.json(table.after({}, given))


def test_set_by_us(spare: Spare, kind: str, option: Option) -> None:
    """What tc shows then is what it shows if it has set it itself: test_config.py"""
    table, where = of(kind), f"dev {USED} root"
    for value in option.values:
        if given := table.given(option.name, value):
            words = f"{where} handle 30: {kind} {table.text(given)}"
            succeeds(OURS, f"qdisc replace {words}")
            told = json.loads(run(f"tc -s -j qdisc show dev {USED}"))[0]
            assert told["options"] == table.json(table.after({}, given)), given
            assert table.line(given) in ask(OURS, f"qdisc show {where}").stdout
            run(f"tc qdisc replace {where} handle 10: {kind}")


def test_change(spare: Spare, kind: str) -> None:
    table, where = of(kind), f"dev {USED} root"
    for values in (table.others, {"limit": 2}, {}):
        before = shown(where)["options"]
        succeeds(OURS, f"qdisc change {where} {kind} {table.text(values)}")
        assert shown(where)["options"] == before | table.json(values)
    assert shown(where)["options"]["limit"] == 2


def test_statistics(gate: Callable[..., Gate], kind: str) -> None:
    """With packets that wait, have left and were dropped, up to a backlog that is told in units"""
    d0 = gate("limit 60")
    for ident in range(12):
        d0.send(flow(ident % 4).frame(1000, ident))
    d0.order()
    backlog = 0
    for length in (1008, 1024, 1039, 1040):  # which is 1008b, then up to 16 off from some Kb
        d0.send(flow(1).frame(length, 0))
        backlog += length
        assert shown("dev d0 parent 1:1")["backlog"] == backlog
    for ident in range(80):
        d0.send(flow(ident % 4).frame(1000, ident))
    told = shown("dev d0 parent 1:1")
    assert told["drops"] and told["bytes"] and told["qlen"] == 60


def test_add_and_del(spare: Spare, kind: str) -> None:
    succeeds(OURS, f"qdisc add dev {BARE} root handle abc: {kind} limit 9")
    told = shown(f"dev {BARE} root")
    assert (told["handle"], told["options"]["limit"]) == ("abc:", 9)
    assert shown(f"dev {BARE}") == told == shown(f"dev {BARE} handle abc:")
    for elsewhere in (f"dev {BARE} handle abd:", f"dev {BARE} parent 1:1"):
        assert all_say(f"qdisc show {elsewhere}") == Told(0, "", "")
    ours = [line for line in ask("tc", "qdisc show").stdout.splitlines() if f" {kind} " in line]
    assert ask(OURS, "qdisc show").stdout.splitlines() == ours
    assert len(ours) == 2
    several = json.loads(ask(OWN_PRINT, "-json qdisc show").stdout)
    assert several == json.loads(ask("tc", "-j qdisc show").stdout)
    succeeds(OURS, f"qdisc del dev {BARE} root")
    assert all_say(f"qdisc show dev {BARE}") == Told(0, "", "")
    succeeds("tc", f"qdisc add dev {BARE} root handle 1: prio")
    succeeds(OURS, f"qdisc add dev {BARE} parent 1:2 {kind} limit 7")
    assert shown(f"dev {BARE} parent 1:2")["options"]["limit"] == 7
    succeeds(OURS, f"qdisc del dev {BARE} parent 1:2 {kind}")
    succeeds(OURS, f"qdisc del dev {BARE} root")


def test_refused(spare: Spare, kind: str, option: Option) -> None:
    """By the kernel and by the plugin, in the same words and with the same status"""
    table = of(kind)
    bad = [] if option.names or option.words else option.bad[-1:]
    words = [option.text(value) for value in bad]
    words += [f"{option.name} {wrong}" for wrong in option.wrong[:1]]
    words += [f"limit 5 {option.name}"] * option.valued
    before = spare.state()
    for each in words:
        told = all_say(f"qdisc change dev {USED} root {kind} {each}")
        assert told.status == (2 if "Error:" in told.stderr else 1) and told.stderr, each
        assert spare.state() == before, each
    if option.fixed:
        given = table.text({option.name: option.good[0]})
        told = all_say(f"qdisc change dev {USED} root {kind} {given}")
        assert table.refusal_of_change(option) in told.stderr


def test_refused_in_general(spare: Spare, kind: str) -> None:
    before = spare.state()
    for words in (
        f"add dev {USED} root handle 10: {kind}",  # there is one
        f"change dev {BARE} root {kind} limit 5",
        f"del dev {BARE} root",
        f"replace dev {USED} parent 7:1 {kind}",
        f"replace dev nosuch root {kind}",
        f"add dev {BARE} root {kind} speed 9",
        f"add dev {BARE} root {kind} help",
        *(f"add dev {BARE} root {kind} {' '.join(pair)}" for pair in APART),
    ):
        told = all_say(f"qdisc {words}")
        assert told.status and told.stderr and not told.stdout, words
    assert spare.state() == before


@pytest.mark.parametrize("kind", KINDS[:1])
@pytest.mark.parametrize(
    ("words", "sentence"),
    {
        "": "Usage: ",
        "class show": "Usage: ",
        "qdisc": "Usage: ",
        "-x qdisc show": "Usage: ",
        "qdisc list": "Usage: ",
        f"qdisc show dev {BARE} las": "Usage: ",
        "qdisc add root las": "dev DEV is missing\n",
        f"qdisc add dev {BARE} las": "root or parent X:Y is missing\n",
        f"qdisc add dev {BARE} root": "KIND is missing\n",
        f"qdisc add dev {BARE} root fq_codel": '"fq_codel" is no kind that shortfirst-nl knows\n',
        f"qdisc del dev {BARE} root las limit 5": "Usage: ",
        "qdisc show dev": "dev: something is missing after it\n",
        **{
            f"qdisc show handle {bad}": f'handle: "{bad}" is not that of a qdisc, such as 1:\n'
            for bad in ("1", "1:2", ":", "x:", "12345:", "-1:", "1:x")
        },
        **{
            f"qdisc show parent {bad}": f'parent: "{bad}" is not the number of a class, such as 1:2'
            for bad in ("1", "1:12345", ":1", "1:2:", "1:-1")
        },
    }.items(),
)
def test_words(spare: Spare, words: str, sentence: str, kind: str) -> None:
    before = spare.state()
    told = ask(OURS, words)
    assert told.stderr.startswith(sentence) and not told.stdout
    assert told.status == 1 and spare.state() == before
    if "Usage: " in told.stderr:
        assert told.stderr.endswith(f"KIND: {' | '.join(KINDS)}\n")
