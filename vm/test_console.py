# SPDX-License-Identifier: GPL-2.0
"""The console checker: what is trouble, what is not, and when a run has ended well."""

import pytest

from vm.console import Console

MARK = "shortfirst-vm: exit 0 taint 1 0123abcd"

TROUBLE = """\
[    1.714929] Kernel panic - not syncing: Fatal exception in interrupt
[   12.000001] WARNING: CPU: 0 PID: 311 at net/sched/sch_las.c:42 las_drop+0x10/0x20 [sch_las]
[   12.000001] WARNING: net/sched/sch_las.c:42 at las_drop+0x10/0x20, CPU#0: tc/311
[   12.000001] WARNING: possible circular locking dependency detected
[   12.000001] WARNING: possible recursive locking detected
[   12.000001] WARNING: inconsistent lock state
[   12.000001] WARNING: suspicious RCU usage
[   12.000001][  T311] WARNING: bad unlock balance detected!
[   12.000001] ------------[ cut here ]------------
[   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000008
[   12.000001] BUG: KASAN: slab-use-after-free in las_dequeue+0x2f/0x90 [sch_las]
[   12.000001] BUG: sleeping function called from invalid context at mm/slab.h:274
[   12.000001] BUG: scheduling while atomic: tc/311/0x00000002
[   12.000001] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!
[   12.000001] kernel BUG at net/core/skbuff.c:112!
[   12.000001] list_del corruption. prev->next should be ffff, but was dead\
 [   12.000002] kernel BUG at lib/list_debug.c:59!
[   12.000001] UBSAN: array-index-out-of-bounds in net/sched/sch_las.c:77:3
[   12.000001] Oops: 0000 [#1] PREEMPT SMP NOPTI
[   12.000001] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]
[   12.000001] general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP
[   12.000001] divide error: 0000 [#1] PREEMPT SMP NOPTI
[   12.000001] invalid opcode: 0000 [#2] SMP
[   12.000001] Internal error: Oops: 0000000096000004 [#1] SMP
[   12.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [tc:311]
[   12.000001] watchdog: Watchdog detected hard LOCKUP on cpu 1
[   12.000001] NMI watchdog: Watchdog detected hard LOCKUP on cpu 1
[  182.000001] INFO: task tc:311 blocked for more than 60 seconds.
[   12.000001] INFO: trying to register non-static key.
[   12.000001] rcu: INFO: rcu_preempt self-detected stall on CPU
[   12.000001] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[   12.000001] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }
[   12.000001] Out of memory: Killed process 312 (python3) total-vm:700000kB
[   12.000001] unregister_netdevice: waiting for veth0 to become free. Usage count = 3
[   12.000001] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
[   12.000001] WARNING: lock held when returning to user space!
[   12.000001] WARNING: held lock freed!
[   12.000001] BUG kmalloc-64 (Tainted: G           O       ): Right Redzone overwritten
[   12.000001] BUG: KASAN: vmalloc-out-of-bounds in sf_table_get+0x2f/0x90 [sch_las]
[   12.000001] BUG: using __this_cpu_add() in preemptible [00000000] code: tc/311
[   12.000001] BUG: MAX_LOCKDEP_CHAINS too low!
[   12.000001] ODEBUG: Out of memory. ODEBUG disabled
[   12.000001] kmemleak: Kernel memory leak detector disabled
half a line of the job's[   12.000001] WARNING: CPU: 1 PID: 9 at kernel/softirq.c:1 x+0x1/0x2
""".splitlines()

INNOCENT = """\
WARNING: a test that says so itself
E   BUG: KASAN: what a pytest failure may quote
Kernel panic - not syncing: nor does this come from the kernel
[    1.0] WARNING: CPU: 0 PID: 1 at not/a/time:1 stamp
[   12.000001] sch_las: loading out-of-tree module taints kernel.
[   12.000001] warning: loading out-of-tree module taints kernel.
[   12.000001] warning: module verification failed: signature and/or required key missing
[   12.000001] panic: loading out-of-tree module taints kernel.
[   12.000001] Oops_test: module loaded
[   12.000001] mtrr: your CPUs had inconsistent fixed MTRR settings
[   12.000001] debug: BUG_ON is compiled in
[   12.000001] rcu: INFO: rcu_preempt is fine
[   12.000001] kmemleak: Kernel memory leak detector initialized (mem pool available: 39000)
[   12.000001] FAULT_INJECTION: forcing a failure.
[   12.000001] htb: netem qdisc 2: is non-work-conserving?
[   12.000001] sch_las: INFO: no tasks blocked
[   12.000001] netlink: 'tc': attribute type 3 has an invalid length.
[   12.000001] tc[311]: segfault at 8 ip 00007f error 4 in libc.so.6
test_panic.py::test_WARNING PASSED
""".splitlines()


def console(*lines: str) -> Console:
    result = Console("0123abcd")
    for line in lines:
        result.feed(line)
    return result


@pytest.mark.parametrize("line", TROUBLE)
def test_trouble_overrides_the_status(line: str) -> None:
    for order in ((line, MARK), (MARK, line)):
        _, error = console("ok 1", *order).verdict()
        assert line.split("] ", 1)[1][:20] in error


@pytest.mark.parametrize("line", INNOCENT)
def test_innocent_lines(line: str) -> None:
    assert console(line, MARK).verdict() == (0, "")


def test_trouble_before_the_restart_without_mark() -> None:
    status, error = console("ok 1", TROUBLE[0]).verdict()
    assert status is None and "Kernel panic" in error


def test_what_the_kernel_said_of_it_is_told() -> None:
    """The first trouble and what follows, as long as a report is, without what others print."""
    before, program = "[   11.000001] sch_las: loaded", "RIP: 0010:quoted+0x1/0x2"
    report = [TROUBLE[9], *(f"[   12.0000{n:02}] RIP: 0010:las_{n}+0x1/0x2" for n in range(50))]
    _, error = console(before, report[0], program, *report[1:]).verdict()
    assert error == "kernel trouble: " + "\n".join(report[:40])


def race(one: str, other: str) -> list[str]:
    report = f"""\
==================================================================
BUG: KCSAN: data-race in {one.split("+")[0]} / {other.split("+")[0]}

write (marked) to 0xffff888004d64190 of 4 bytes by interrupt on cpu 1:
 {one}
 __dev_queue_xmit+0x4ad/0xf20

read to 0xffff888004d64190 of 4 bytes by task 311 on cpu 3:
 {other}
 tc_dump_tclass_qdisc+0x1cc/0x2d0

value changed: 0x00000003 -> 0x00000004

Reported by Kernel Concurrency Sanitizer on:
CPU: 3 UID: 0 PID: 311 Comm: tc Tainted: G           O        7.2.13-kcsan #1 PREEMPTLAZY
Tainted: [O]=OOT_MODULE
=================================================================="""
    return [f"[   12.000001] {line}" for line in report.splitlines() if line]


OURS = race("las_enqueue+0x74/0x240 [sch_las]", "sf_class_known+0x5c/0xa0 [sch_las]")
CORE = race("dev_queue_xmit+0x74/0x240", "tc_fill_qdisc+0x5c/0xa0")


def test_races() -> None:
    """Of a race of ours all is told, also if it has one side only, or comes after another."""
    mixed = race("kfree_skb+0x1/0x2", "las_dump+0x5c/0xa0 [sch_las]")
    for report in (OURS, mixed):
        _, error = console(*CORE, *report[:9], "a test: ok", *report[9:], MARK).verdict()
        assert error == "kernel trouble: " + "\n".join(report[1:])
    _, error = console(*OURS, *OURS, *mixed, *CORE, MARK).verdict()
    assert error.count("BUG: KCSAN") == 2


def test_races_of_others() -> None:
    """Of the kernel's own, or of what races so that one is found"""
    wanted = race(*["race_test_count+0x74/0x240 [race_test]"] * 2)
    seen = console(*CORE, *wanted, *CORE, MARK)
    assert seen.verdict() == (0, "")
    assert sorted(seen.races.values()) == [1, 2]
    assert seen.races["data-race in dev_queue_xmit / tc_fill_qdisc"] == 2


def test_races_of_others_below_ours() -> None:
    """What our modules call races with itself: they may ask for the time, or for a capability."""
    clock = race("ktime_get+0xc0/0x270", "timekeeping_update_from_shadow.constprop.0+0x1f8/0x3d0")
    reads = "kthread_is_per_cpu+0x1a/0x80"
    asked = [race(reads, f"ns_capable{how}+0x67/0x90") for how in ("", "_noaudit")]
    filtered = [
        race(f"{one}+0x297/0x2f0", f"{other}+0x91/0x260")
        for one, other in (
            ("__fl_delete", "fl_classify"),
            ("mall_classify", "mall_destroy"),
            ("u32_classify", "u32_clear_hnode"),
        )
    ]
    for report in (clock, *asked, *filtered):
        report.insert(4, "[   12.000001]  sift_dump_class+0xa1e/0xdf0 [sch_sift]")
        assert console(*report, MARK).verdict() == (0, "")
    for kernels in ("ktime_get+0xc0/0x270", "__fl_delete+0x464/0x6a0"):
        ours = race(kernels, "sf_shaper_waits_now+0x2c/0x120 [sch_sift]")
        assert console(*ours, MARK).verdict()[1]


@pytest.mark.parametrize("interrupt", ["handle_softirqs+0xb3/0x1a0", "sysvec_timer+0x1/0x2"])
def test_races_in_interrupts(interrupt: str) -> None:
    """What is interrupted has not called it; what is called within it has."""
    ours, within = (
        f"[   12.000001]  {name}" for name in ("las_dump+0x5c/0xa0 [sch_las]", interrupt)
    )
    report = race("ifb_ri_tasklet+0x3bb/0x5a0", "ifb_xmit+0x1eb/0x2a0")
    after = 4  # the interrupt's first function
    assert console(*report[:after], within, ours, *report[after:], MARK).verdict() == (0, "")
    assert console(*report[:after], ours, within, *report[after:], MARK).verdict()[1]


def test_trouble_within_the_report_of_a_race() -> None:
    lines = [*CORE[:7], "[   12.000001] Oops: 0000 [#1] PREEMPT SMP NOPTI", *CORE[7:], MARK]
    assert "Oops" in console(*lines).verdict()[1]


def test_a_race_without_an_end() -> None:
    """What comes after it says what it was."""
    assert TROUBLE[21] in console(*OURS[:7], TROUBLE[21], MARK).verdict()[1]


def test_status_of_the_job() -> None:
    lines = (
        "ok 1",
        MARK.replace("exit 0", "exit 3"),
        "[    3.814292] hrtimer: interrupt took 12345678 ns",
        "[    3.824292] sched: DL replenish lagged too much",
        "[    3.914292] reboot: Restarting system",
        "",
    )
    assert console(*lines).verdict() == (3, "")


def test_mark_after_an_unfinished_line() -> None:
    assert console("no newline at the end" + MARK).verdict() == (0, "")


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("ok 1", "ok 2"),
        (MARK, "ok 1"),
        (MARK, "[   12.000001] sch_las: still talking"),
        (MARK.replace("0123abcd", "deadbeef"),),
        (MARK + " and more",),
        ("shortfirst-vm: exit 0",),
        ("shortfirst-vm: exit taint 0 0123abcd",),
        ("[    3.914292] reboot: Restarting system",),
    ],
)
def test_no_pass_without_the_mark_at_the_end(lines: tuple[str, ...]) -> None:
    status, error = console(*lines).verdict()
    assert status is None and "end mark" in error


def test_a_later_mark_counts() -> None:
    assert console(MARK, "more", MARK.replace("exit 0", "exit 7")).verdict() == (7, "")


@pytest.mark.parametrize("bit", [5, 7, 9, 14])
def test_taint_nobody_saw(bit: int) -> None:
    _, error = console(MARK.replace("taint 1", f"taint {1 << bit | 1 << 12}")).verdict()
    assert "tainted" in error


def test_taint_of_an_unsigned_module_from_outside() -> None:
    assert console(MARK.replace("taint 1", f"taint {1 << 12 | 1 << 13}")).verdict() == (0, "")


def test_up() -> None:
    assert not console("[    5.124794] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI").up
    assert console("[    4.7] amd_pstate: [    4.8]shortfirst-vm: up").up
