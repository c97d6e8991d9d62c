# SPDX-License-Identifier: GPL-2.0
"""Numbers as people read them."""

import ctypes

import pytest

from sftop.tests.host.programs import build


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    where = tmp_path_factory.mktemp("format") / "format.so"
    found = ctypes.CDLL(str(build(where, "format.c", flags="-shared -fPIC")))
    found.format_count.argtypes = [ctypes.c_char_p, ctypes.c_double]
    found.format_time.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    found.format_handle.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
    found.format_printable.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    return found


@pytest.mark.parametrize(
    ("number", "text"),
    {
        0: "0",
        0.4: "0",
        999: "999",
        999.4: "999",
        999.6: "1.0k",
        9949: "9.9k",
        9951: "10k",
        999499: "999k",
        999500: "1.0M",
        1 << 32: "4.3G",
        (1 << 64) - 1: "18E",
    }.items(),
)
def test_count(library: ctypes.CDLL, number: float, text: str) -> None:
    to = ctypes.create_string_buffer(16)
    library.format_count(to, number)
    assert to.value.decode() == text


@pytest.mark.parametrize(
    ("us", "text"),
    {
        0: "0us",
        999: "999us",
        1000: "1.0ms",
        9949: "9.9ms",
        9950: "10ms",
        999499: "999ms",
        999500: "1.0s",
        99949999: "99.9s",
        99950000: "100s",
        (1 << 32) - 1: "4295s",
    }.items(),
)
def test_time(library: ctypes.CDLL, us: int, text: str) -> None:
    to = ctypes.create_string_buffer(16)
    library.format_time(to, us)
    assert to.value.decode() == text


@pytest.mark.parametrize(
    ("handle", "text"),
    {0xFFFFFFFF: "root", 0x10000: "1:", 0xABCD0012: "abcd:12", 0: "0:"}.items(),
)
def test_handle(library: ctypes.CDLL, handle: int, text: str) -> None:
    to = ctypes.create_string_buffer(16)
    library.format_handle(to, handle)
    assert to.value.decode() == text


@pytest.mark.parametrize(
    ("raw", "text"),
    {
        b"eth0": "eth0",
        b"\x1b[31mx": "?[31mx",
        b"\xc2\x9b\x7f\n": "????",
        b"a" * 30: "a" * 15,
    }.items(),
)
def test_printable(library: ctypes.CDLL, raw: bytes, text: str) -> None:
    to = ctypes.create_string_buffer(b"\xff" * 16, 16)
    library.format_printable(to, raw, 16)
    assert to.value.decode() == text
