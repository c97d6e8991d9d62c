# SPDX-License-Identifier: GPL-2.0
"""The reader of common headers (include/shortfirst/flow_key.h) against the flow dissector."""

import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[1] / "modules/flow_key_test.ko"

pytestmark = pytest.mark.each_kernel


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_packets(seed: int) -> None:
    """The module does not stay: it fails with EAGAIN when all is well."""
    command = ["insmod", str(MODULE), "count=500000", f"seed={seed}"]
    done = subprocess.run(command, capture_output=True, text=True)
    said = subprocess.run(["dmesg"], capture_output=True, text=True).stdout.splitlines()
    print("\n".join(line for line in said if "flow_key_test" in line))
    assert "Resource temporarily unavailable" in done.stderr, done.stderr
