# SPDX-License-Identifier: GPL-2.0
"""cbr and bulk, over loopback in a namespace of their own."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from lab.measure import reading as analysis

LAB = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("generators")
    for name in ("cbr", "bulk"):
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", where / name]
        subprocess.run([*command, LAB / f"guest/{name}.c"], check=True)
    return where


def over_loopback(program: Path, *args: str, script: str = 'exec "$@"') -> str:
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-euc"]
    command += [f"ip link set lo up; {script}", "sh", str(program), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cbr_measures_its_window(programs: Path) -> None:
    # 0.5 s of 1.5 s at 10 ms; silence, then 0.2 s of other packets at 4 ms. All of them fit into
    # the receiver's buffer, which is no larger than usual here, should the machine be busy.
    flows = ["call:1:1.5*160/10000", "two:0.5:0.2*1000/4000,0.4*0,0.2*40/4000"]
    steady, rest = analysis.split_steady("x", over_loopback(programs / "cbr", *flows))
    assert rest == ""
    assert {n: (s.delay.size, s.loss) for n, s in steady.items()} == {
        "call": (50, 0),
        "two": (50, 0),
    }
    assert all(s.delay.min() >= 0 for s in steady.values())


def test_cbr_counts_losses(programs: Path) -> None:
    # From the first second on nothing gets through
    script = '(sleep 1; tc qdisc add dev lo root pfifo limit 0) & exec "$@"'
    text = over_loopback(programs / "cbr", "call:0:2*160/10000", script=script)
    call = analysis.split_steady("x", text)[0]["call"]
    assert call.delay.size == 200 and 0.1 < call.loss < 0.55
    lost = np.isnan(call.delay)
    assert not lost[0] and lost[-50:].all()


@pytest.mark.parametrize(
    "flow", ["", "x", "x:1", "x:0:1*160", "x:0:1*8/10", "x:0:1*9999/10", "x:0:1*0", "x:2:1*160/10"]
)
def test_cbr_refuses(programs: Path, flow: str) -> None:
    done = subprocess.run([programs / "cbr", flow], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("cbr: ") and not done.stdout


def test_bulk(programs: Path) -> None:
    options = ["--flows", "3", "--duration", "1.5", "--interval", "0.5"]
    text = over_loopback(programs / "bulk", *options)
    rates, sent, rest = analysis.split_bulk("x", text)
    assert rates.shape == sent.shape == (3, 3) and (rates > 1e6).all()
    assert rest == "" and sent.sum() >= rates.sum()


def test_bulk_staggered(programs: Path) -> None:
    options = ["--flows", "2", "--duration", "1", "--interval", "0.5", "--stagger", "0.5"]
    rates, *_ = analysis.split_bulk("x", over_loopback(programs / "bulk", *options))
    assert rates[0, 1] == 0 < min(rates[0, 0], rates[1, 1])
