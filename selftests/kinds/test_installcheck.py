# SPDX-License-Identifier: GPL-2.0
"""selftests/installcheck, which people run on the machine itself: it says what it lacks, and
whatever happens it leaves that machine as it was.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from selftests.lib.command import do, run, unload
from selftests.lib.options import KINDS, TOP

SCRIPT = TOP / "selftests/installcheck"
SHOWN = ("ip -d addr", "tc qdisc", "nft list ruleset")  # `ip -d addr` shows what `ip -d link` does
# Of which the kernel has another number each time
RESTLESS = re.compile(
    r"(fs\.(dentry-state|file-nr|inode-nr|inode-state)"
    r"|kernel\.(ns_last_pid|random\.(uuid|entropy_avail))) = .*"
)
# What it may have to load, those last that others need
USED = (
    "nft_flow_offload nf_flow_table_inet nf_flow_table_ipv4 nf_flow_table nft_masq nft_chain_nat"
    " nf_nat nf_conntrack nf_defrag_ipv4 nf_defrag_ipv6 tcp_diag inet_diag cls_u32 cls_matchall"
    " act_mirred sch_ingress sch_drr sch_tbf sch_htb ifb veth"
).split()

pytestmark = pytest.mark.programs


def loaded() -> list[str]:
    """The last loaded first"""
    return [line.split()[0] for line in Path("/proc/modules").read_text().splitlines()]


def namespaces() -> set[str]:
    """Those of the network that processes are in"""
    found = set()
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(path))
        except OSError:  # it has ended
            pass
    return found


State = dict[str, Any]
settled: list[State] = []  # the state before a test, if the last test has left it as it was


def state() -> State:
    """All that has to be as before"""
    found: State = {command: run(command).splitlines() for command in SHOWN}
    lines = do("sysctl -a").stdout.splitlines()  # it fails, since some can only be written
    found["sysctl -a"] = [line for line in lines if not RESTLESS.fullmatch(line)]
    found["lsmod"] = sorted(loaded())
    found["mounts"] = Path("/proc/self/mounts").read_text().splitlines()
    found["/run"] = sorted(str(path) for path in Path("/run").rglob("*"))
    found["namespaces"] = namespaces()
    return found


def settle() -> State:
    """Unload what can be unloaded. The state of the machine then"""
    run("nft list ruleset")
    for name in {f"sch_{kind}" for kind in KINDS} & {*loaded()}:
        unload(name)
    for name in USED:
        if name in loaded():
            do(f"rmmod {name}")
    return state()


@pytest.fixture
def before() -> Iterator[State]:
    """The state of a machine where nothing is loaded that can be unloaded. It has to be the same
    after the test."""
    found = settled.pop() if settled else settle()
    yield found
    assert state() == found
    settled.append(found)


def begin(*words: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [SCRIPT, *words],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def lines_to(process: "subprocess.Popen[str]", start: str) -> list[str]:
    """What it says up to a line that begins so"""
    assert process.stdout
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith(start):
            return said
    raise AssertionError("".join(said))


def check(*words: str, status: int = 0, **environment: str) -> str:
    process = begin(*words, **environment)
    said, _ = process.communicate()
    assert process.returncode == status, said
    return said


@pytest.mark.one_kernel
def test_passes(before: State) -> None:
    said = check("--kind=las")
    assert re.search(r"^# loads sch_las from /\S+/sch_las\.ko and unloads it", said, re.MULTILINE)
    assert said.index("# loads sch_las") < said.index("1..5\n") < said.index("# options las")
    assert re.findall(r"^ok .*", said, re.MULTILINE) == [
        *(f"ok {n} {test} las" for n, test in enumerate(("options", "tcp", "nat", "churn"), 1)),
        "ok 5 modules are unloaded",
    ]
    assert re.search(r"^# ok \d+ unload the module$", said, re.MULTILINE)
    assert "default_qdisc # SKIP" in said


@pytest.mark.one_kernel
def test_all_kinds(before: State) -> None:
    said = check("options")
    assert re.findall(r"^ok \d+ options (\w+)$", said, re.MULTILINE) == KINDS
    said = check("nat", "--kind=sift")
    assert "ok 1 nat sift # SKIP it does not tell hosts apart\n" in said


def test_loaded_before(before: State) -> None:
    """What somebody uses stays, and what does is not disturbed."""
    run("ip link add used type dummy")
    try:
        run("tc qdisc add dev used root las")
        now = state()
        said = check("--kind=las", "churn")
        assert "loads sch_las" not in said
        assert said.count("unload the module # SKIP it was loaded before") == 1
        assert state() == now
    finally:
        run("ip link del used")
        run("rmmod sch_las")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("SIGINT of a terminal", marks=pytest.mark.each_kernel),
        *("SIGTERM", "SIGHUP", "SIGPIPE"),
    ],
)
def test_interrupted(before: State, how: str) -> None:
    # By line 14 of `nat` all is there that it makes; by line 1 of `tcp` a qdisc and a server
    test, number = ("nat", 14) if how == "SIGINT of a terminal" else ("tcp", 1)
    process = begin("--kind=las", test, "churn")
    said = lines_to(process, f"# ok {number} ")
    assert set(loaded()) - set(before["lsmod"])
    assert namespaces() != before["namespaces"]
    sent = signal.Signals[how.split()[0]]
    if how == "SIGPIPE":
        assert process.stdout
        process.stdout.close()
    elif how == "SIGINT of a terminal":
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    rest = "" if how == "SIGPIPE" else process.communicate()[0]
    assert process.wait() == -sent, rest
    assert "ok 1" not in "".join([*said, rest]).replace("# ok", "")
    assert how == "SIGPIPE" or "Bail out! interrupted\n" in rest


def test_killed(before: State) -> None:
    """Only modules stay, of which none is in use."""
    process = begin("--kind=las", "churn")
    lines_to(process, "# ok 4 ")
    process.kill()
    process.wait()
    end = time.monotonic() + 20  # of itself it would take longer
    while namespaces() != before["namespaces"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    left = [name for name in loaded() if name not in before["lsmod"]]
    assert "sch_las" in left
    assert state() | {"lsmod": 0, "sysctl -a": 0} == before | {"lsmod": 0, "sysctl -a": 0}
    for name in left:
        unload(name)


def lacks(reason: str, said: str) -> None:
    last = said.splitlines()[-1]
    assert last.startswith(f"1..0 # SKIP {reason}"), said
    assert f"# lacks: {last.removeprefix('1..0 # SKIP ')}\n" in said


@contextmanager
def without(path: str | Path) -> Iterator[None]:
    """Under another name meanwhile"""
    path = Path(path)
    hidden = path.with_name(f"{path.name}.hidden")
    path.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(path)


def test_lacks_a_program(before: State) -> None:
    for program in (
        "ip tc sysctl python3 modprobe rmmod modinfo setsid unshare ethtool nft"
    ).split():
        with ExitStack() as stack:
            while found := shutil.which(program):
                stack.enter_context(without(found))
            said = check(status=4)
        lacks(f"there is no {program}: install ", said)


def test_needs_for_a_test_what_it_uses(before: State) -> None:
    with ExitStack() as stack:
        for program in ("ethtool", "nft"):
            stack.enter_context(without(shutil.which(program) or program))
        assert "ok 1 options las\n" in check("--kind=las", "options")


def stub(folder: Path, program: str, script: str) -> str:
    """A PATH where a program is found before the one that `real` in this script runs"""
    path = folder / program
    path.write_text(
        f'#!/bin/bash\nreal() {{ PATH=${{PATH#*:}} command {program} "$@"; }}\n{script}\n'
    )
    path.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_lacks_modules(before: State, tmp_path: Path) -> None:
    modules = "veth ifb sch_htb sch_las".split()
    text = f'case $2 in {"|".join(modules)}) echo "$2 not found"; exit 1 ;; esac\nreal "$@"'
    said = check("--kind=las", status=4, PATH=stub(tmp_path, "modprobe", text))
    reasons = [
        f"kernel {os.uname().release} has no module {module}: {module} not found"
        for module in modules
    ]
    assert sorted(re.findall("^# lacks: (.*)", said, re.MULTILINE)) == sorted(reasons)
    lacks(f"kernel {os.uname().release} has no module ", said)


def test_module_that_is_not_to_be_loaded(before: State) -> None:
    """By whom the machine belongs to"""
    told = Path("/etc/modprobe.d/installcheck.conf")
    told.parent.mkdir(exist_ok=True)
    told.write_text("install ifb /bin/false\n")
    try:
        said = check("--kind=las", status=4)
    finally:
        told.unlink()
    lacks("module ifb is not to be loaded here: install /bin/false", said)


def test_lacks_all_modules(before: State) -> None:
    with without(f"/lib/modules/{os.uname().release}"):
        said = check(status=4)
    lacks(f"kernel {os.uname().release} has no module", said)
    assert all(f"has no module sch_{kind}: " in said for kind in KINDS)


def test_lacks_a_plugin(before: State) -> None:
    lacks("tc has no plugin for las: ", check(status=4, TC_LIB_DIR="/nowhere"))


def test_lacks_a_new_python(before: State, tmp_path: Path) -> None:
    text = "real -c 'import sys; sys.version_info = (3, 9)\n'\"$2\""
    said = check(status=4, PATH=stub(tmp_path, "python3", text))
    lacks("python3 is older than 3.10", said)


def test_lacks_namespaces(before: State) -> None:
    """None more are allowed"""
    most = Path("/proc/sys/user/max_net_namespaces")
    value = most.read_text()
    try:
        most.write_text("0")
        lacks("no namespaces: unshare", check(status=4))
    finally:
        most.write_text(value)


def test_not_root(before: State) -> None:
    command = ["setpriv", "--reuid=65534", "--clear-groups", str(SCRIPT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 4
    lacks("not root", done.stdout)


@pytest.mark.parametrize(
    ("mounts", "reason"),
    [
        ("mount -n -t tmpfs tmpfs /proc/sys/net/ipv6", "there is no IPv6"),
        (
            "echo 1 >/tmp/one && mount -n --bind /tmp/one /proc/sys/kernel/modules_disabled",
            "this kernel loads no modules any more",
        ),
        (
            "mount -n -t tmpfs tmpfs /sys/module && mkdir /sys/module/sch_las"
            " && echo OTHER >/sys/module/sch_las/srcversion",
            "the sch_las that is loaded is not the one that is installed",
        ),
    ],
    ids=["IPv6", "modules", "current"],
)
def test_lacks_in_the_kernel(before: State, mounts: str, reason: str) -> None:
    """Which is made up by mounts that others do not see"""
    script = f'{mounts} || exit; exec "$0" --kind=las'
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script, SCRIPT], stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 4, done.stdout
    lacks(reason, done.stdout)


def test_usage() -> None:
    assert check("nosuch", status=1).startswith("usage: ")


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        ("Key was rejected by service", 4, "1..0 # SKIP this kernel does not take sch_las"),
        ("Exec format error", 1, "Bail out! cannot load sch_las: "),
    ],
    ids=["key", "format"],
)
def test_cannot_load(before: State, tmp_path: Path, said: str, status: int, told: str) -> None:
    """What has been loaded before is unloaded."""
    refuse = f'[ "$*" != sch_las ] || {{ echo "modprobe: ERROR: {said}" >&2; exit 1; }}'
    path = stub(tmp_path, "modprobe", f'{refuse}\nreal "$@"')
    found = check("--kind=sqf", "--kind=las", status=status, PATH=path)
    assert "# loads sch_sqf from " in found
    assert found.splitlines()[-1].startswith(told)


def test_fails(before: State, tmp_path: Path) -> None:
    """A tc that once does something else than it is told"""
    text = '[[ $* != *"-batch -" ]] || exec < <(sed "s/limit 77$/limit 78/")\nreal "$@"'
    path = stub(tmp_path, "tc", text)
    said = check("--kind=las", "--kind=sqf", "options", status=1, PATH=path)
    assert re.findall(r"^(?:# )?not ok .*", said, re.MULTILINE) == [
        *("# not ok 2 limit 77", "not ok 1 options las"),
        *("# not ok 2 limit 77", "not ok 2 options sqf"),
    ]
    assert "ok 3 modules are unloaded" in said


@pytest.mark.clock
def test_hangs(before: State, tmp_path: Path) -> None:
    path = stub(tmp_path, "tc", '[[ $* != *" -j "* ]] || sleep 1000\nreal "$@"')
    said = check("--kind=las", "options", status=1, PATH=path, LIMIT="5")
    assert "14 a change keeps the rest\n# not done after 5 s\nnot ok 1 options las\n" in said


def test_in_use(before: State, tmp_path: Path) -> None:
    """What cannot be unloaded is told."""
    path = stub(tmp_path, "rmmod", "sleep 7; exit 1")  # it tries for 30 s
    said = check("--kind=las", "options", status=1, PATH=path)
    assert "# sch_las is still in use, so it stays loaded\n" in said
    assert said.endswith("\nnot ok 2 modules are unloaded\n")
    for name in [name for name in loaded() if name not in before["lsmod"]]:
        run(f"rmmod {name}")
