# SPDX-License-Identifier: GPL-2.0
"""Options, what is shown of them, and the statistics."""

import struct
from collections.abc import Callable

import pytest
from las.lib import Gate, attribute, flow, refused, request, run

DEFAULTS = {
    "limit": 10000,
    "memory_limit": 32 << 20,
    "flows": 8192,
    "idle_ms": 60000,
    "fair": 256 << 10,
    "forgive": 32000,
    "log": 0.5,
    "split_gso": True,
    "buffer_ms": 1000,
}
PLAIN = {"fair": 0, "forgive": 0, "buffer_ms": 0}

# option, attribute, how tc writes it, values out of range
RANGES = [
    ("limit", 1, "{}", [0, 1000001, 0xFFFFFFFF]),
    ("memory_limit", 2, "{}b", [0, 4095, 0x80000000, 0xFFFFFFFF]),
    ("flows", 3, "{}", [0, 1, 4, 7, 9, 100, 2097152, 0x80000000]),
    ("idle", 4, "{}ms", [0, 86400001, 0xFFFFFFFF]),
    ("fair", 5, "{}b", [1, 16383, 0x80000000, 0xFFFFFFFF]),
    ("forgive", 6, "{}bps", [0x80000000, 0xFFFFFFFF]),
    ("log", 7, "{}e-3", [0, 249, 4001, 0xFFFFFFFF]),
    ("split_gso", 8, "", [2, 0xFFFFFFFF]),
    ("buffer", 9, "{}ms", [1, 9, 60001, 0xFFFFFFFF]),
]
GOOD = {1: 2, 2: 8192, 4: 7, 5: 16384, 6: 1, 7: 250, 8: 0, 9: 10}
LAS, NESTED = (0x10001, 0x100000), 2 | 0x8000


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


def test_defaults(gate: Callable[..., Gate]) -> None:
    d0 = gate()
    assert d0.show()["options"] == DEFAULTS | PLAIN
    run("tc qdisc replace dev d0 parent 1:1 handle 20: las")
    assert d0.show()["options"] == DEFAULTS


PRINTED = {
    "limit 1 memory_limit 4096b flows 8 idle 1ms": {
        "limit": 1,
        "memory_limit": 4096,
        "flows": 8,
        "idle_ms": 1,
    },
    "limit 1000000": {"limit": 1000000},
    "memory_limit 4097b": {"memory_limit": 4097},
    "memory_limit 5Mb": {"memory_limit": 5 << 20},
    "memory_limit 64kb": {"memory_limit": 65536},
    "memory_limit 2147483647b": {"memory_limit": 2147483647},
    "flows 1024": {"flows": 1024},
    "idle 1001ms": {"idle_ms": 1001},
    "idle 86400s": {"idle_ms": 86400000},
    "fair 16384b": {"fair": 16384},
    "fair 2147483647b forgive 1mbit": {"fair": 2147483647, "forgive": 125000},
    "forgive 1bps": {"forgive": 1},
    "forgive 2147483647bps": {"forgive": 2147483647},
    "log 0.25 no_split_gso": {"log": 0.25, "split_gso": False},
    "log 3.999": {"log": 3.999},
    "log 4 split_gso": {"log": 4},
    "buffer 10ms": {"buffer_ms": 10},
    "buffer 60s": {"buffer_ms": 60000},
}


def test_print_back(gate: Callable[..., Gate]) -> None:
    """What is shown can be typed again and gives the same."""
    d0 = gate()
    for options, wanted in PRINTED.items():
        d0.renew(options)
        assert d0.show()["options"] == DEFAULTS | PLAIN | wanted
        text = run("tc qdisc show dev d0 parent 1:1").split("parent 1:1", 1)[1]
        d0.renew(text)
        assert d0.show()["options"] == DEFAULTS | PLAIN | wanted


def test_change_keeps_what_is_left_out(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 50 memory_limit 1Mb flows 64 idle 5s fair 1Mb forgive 8bit")
    expected = {"limit": 50, "memory_limit": 1 << 20, "flows": 64, "idle_ms": 5000}
    expected |= {"fair": 1 << 20, "forgive": 1, "log": 0.5, "split_gso": True, "buffer_ms": 0}
    for options, new in [
        ("", {}),
        ("limit 60", {"limit": 60}),
        ("idle 6s", {"idle_ms": 6000}),
        ("memory_limit 2Mb", {"memory_limit": 2 << 20}),
        ("flows 64", {}),
        ("fair 2Mb", {"fair": 2 << 20}),
        ("forgive 16bit", {"forgive": 2}),
        ("buffer 2s", {"buffer_ms": 2000}),
        ("plain", PLAIN),
        ("log 2", {"log": 2}),
        ("no_split_gso", {"split_gso": False}),
        ("split_gso", {"split_gso": True}),
    ]:
        d0.change(options)
        expected |= new
        assert d0.show()["options"] == expected


@pytest.mark.parametrize("name, kind, form, bad", RANGES)
def test_bad_value(
    gate: Callable[..., Gate], name: str, kind: int, form: str, bad: list[int]
) -> None:
    """Refused by the kernel in words, and all stays as it was."""
    d0 = gate("limit 5 flows 64")
    for ident in range(3):
        d0.send(flow(0).frame(100, ident))
    before = d0.show()
    others = [attribute(each, u32(value)) for each, value in GOOD.items() if each != kind]
    good = b"".join(others)
    for value in bad:
        attr = attribute(kind, u32(value))
        for options in (attr, good + attr, attr + good):
            error, message = request(*LAS, attribute(NESTED, options))
            assert error == 22, (value, error, message)
            assert f"las: {name} must be " in message
        for how in ("change dev d0 parent 1:1 handle 10:", "replace dev d0 parent 1:1 handle 20:"):
            if form:
                said = refused(f"tc qdisc {how} las {name} {form.format(value)}")
                assert f"las: {name} must be " in said
    assert d0.show() == before
    assert d0.order() == [0, 1, 2]


def test_flows_cannot_change(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 5 flows 64")
    before = d0.show()
    assert "flows" in refused("tc qdisc change dev d0 parent 1:1 handle 10: las limit 2 flows 128")
    assert d0.show() == before


MALFORMED = {
    "two bytes": attribute(NESTED, attribute(1, b"\1\0")),
    "three bytes": attribute(NESTED, attribute(2, b"\0\0\1")),
    "no bytes": attribute(NESTED, attribute(4, b"")),
    "unknown": attribute(NESTED, attribute(10, u32(5))),
    "not nested": attribute(2, attribute(1, u32(5))),
    "bytes left over": attribute(NESTED, attribute(1, u32(5)) + b"\1\1"),
    "too long": attribute(NESTED, struct.pack("=HHI", 12, 1, 5)),
}


def test_malformed_request(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 9")
    before = d0.show()
    for case, options in MALFORMED.items():
        assert request(*LAS, options)[0] == 22, case
    assert d0.show() == before
    run("tc qdisc del dev d0 parent 1:1")
    create_exclusive = 0x600
    for case, options in MALFORMED.items():
        assert request(0x10001, 0x200000, options, create_exclusive)[0] == 22, case
    assert "las" not in run("tc qdisc show dev d0")


def test_tc_refuses(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 5")
    before = d0.show()
    for words in ("limit", "limit x", "nosuch 5", "idle 5parsec", "limit -1"):
        said = refused(f"tc qdisc change dev d0 parent 1:1 handle 10: las {words}")
        assert words.split()[0] in said
    assert d0.show() == before


def test_statistics(gate: Callable[..., Gate]) -> None:
    d0 = gate("limit 10 memory_limit 1Mb flows 8 idle 86400s")
    for number in range(8):
        d0.send(flow(number).frame(100 + number, number))
    truesize = d0.state()["last_truesize"]
    d0.send(flow(8).frame(100, 8))  # no record: overflow
    d0.send(flow(0).frame(100, 9))
    d0.send(flow(1).frame(100, 10))  # pushes out the one in overflow
    shown = d0.show()
    bytes_in = sum(range(100, 108)) + 200
    expected = {
        "drop_limit": 1,
        "drop_memory": 0,
        "flows_seen": 8,
        "evictions": 0,
        "overflow": 1,
        "flows_queued": 8,
        "records": 8,
        "memory": 10 * truesize,
        "memory_peak": 10 * truesize,
        "drops": 1,
        "qlen": 10,
        "backlog": bytes_in,
        "packets": 0,
    }
    assert {key: shown[key] for key in expected} == expected
    text = run("tc -s qdisc show dev d0 parent 1:1")
    for key in list(expected)[:7]:
        assert f"{key} {expected[key]}" in text
    d0.release()
    shown = d0.show()
    assert (shown["packets"], shown["bytes"], shown["qlen"]) == (10, bytes_in, 0)
    assert (shown["memory"], shown["memory_peak"]) == (0, 10 * truesize)
    assert (shown["flows_queued"], shown["records"]) == (0, 8)
    d0.send(flow(9).frame(100, 11))
    assert d0.show()["evictions"] == 1
    d0.change("memory_limit 4096b")
    while d0.send(flow(9).frame(100, 12)):
        pass
    assert d0.show()["drop_memory"] == 1
