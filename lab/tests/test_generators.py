# SPDX-License-Identifier: GPL-2.0
"""cbr and bulk, in virtual time."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lab.measure import reading as analysis
from lab.tests import virtual

LAB = Path(__file__).resolve().parents[1]
# The experiments' network; a packet of bulk's takes its bottleneck 1 ms
NETWORK = 'RATE=12112kbit QDISC="pfifo limit 100"\n. ./net.sh\nnet_up\n'
BULK = "./bulk --snd snd --rcv rcv --addr 10.0.1.1"
SEGMENT = 1448 * 8  # bits of payload


@pytest.fixture(scope="session")
def cbr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("generators") / "cbr"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", built, LAB / "guest/cbr.c"]
    subprocess.run(command, check=True)
    return built


def test_cbr_measures_its_window() -> None:
    # 0.5 s of 1.5 s at 10 ms; silence, then 0.2 s of other packets at 4 ms
    flows = "call:1:1.5*160/10000 two:0.5:0.2*1000/4000,0.4*0,0.2*40/4000"
    text = virtual.run(f"tc qdisc add dev lo root netem rate 8mbit\n./cbr {flows}\n", "cbr")
    steady, rest = analysis.split_steady("x", text)
    assert rest == "" and list(steady) == ["call", "two"]
    # A byte takes the link 1 us, and there are 42 of headers. Of two's last packets each fifth is
    # sent when one of call's is, and waits for it.
    assert re.findall(r"least_us (\d+)", text) == ["202", "82"]
    assert steady["call"].delay.tolist() == [0] * 50
    assert steady["two"].delay.tolist() == [0.202, 0, 0, 0, 0] * 10


def test_cbr_counts_losses() -> None:
    # For half a second nothing gets through
    script = """
    (sleep 1.005; tc qdisc add dev lo root pfifo limit 0; sleep 0.5; tc qdisc del dev lo root) &
    ./cbr call:0:2*160/10000
    """
    call = analysis.split_steady("x", virtual.run(script, "cbr"))[0]["call"]
    assert call.delay.size == 200 and call.loss == 0.25
    assert np.flatnonzero(np.isnan(call.delay)).tolist() == [*range(101, 151)]


@pytest.mark.parametrize(
    "flow", ["", "x", "x:1", "x:0:1*160", "x:0:1*8/10", "x:0:1*9999/10", "x:0:1*0", "x:2:1*160/10"]
)
def test_cbr_refuses(cbr: Path, flow: str) -> None:
    done = subprocess.run([cbr, flow], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("cbr: ") and not done.stdout


def bulk(options: str) -> tuple[np.ndarray, np.ndarray, list[dict]]:
    """Segments received and sent[interval of half a second, flow], and the qdiscs on the way."""
    shown = "sleep 1\nfor at in snd rtr; do tc -n $at -s -j qdisc; done\n"
    text = virtual.run(f"{NETWORK}{BULK} --interval 0.5 {options}\n{shown}", "bulk", "net.sh")
    rates, sent, rest = analysis.split_bulk("x", text)
    assert rates.shape == sent.shape
    qdiscs = [each for line in rest.splitlines() for each in json.loads(line)]
    return rates / (2 * SEGMENT), sent / (2 * SEGMENT), qdiscs


def test_bulk() -> None:
    received, sent, qdiscs = bulk("--flows 3 --duration 1.5")
    assert received.shape == (3, 3) and received.min() > 100
    # All that the bottleneck carries, whose first segment has 3 ms to go there
    assert np.abs(received.sum(axis=1) - [497, 500, 500]).max() <= 1
    # Whatever was sent again counts again. What opens and ends flows is no segment's size.
    left, drops = ({q["kind"]: q[key] for q in qdiscs} for key in ("bytes", "drops"))
    assert drops["pfifo"] > 0 and sent.sum() == left["netem"] // 1514
    assert (sent.cumsum(axis=0) > received.cumsum(axis=0)).all()


def test_bulk_staggered() -> None:
    received, sent, _ = bulk("--flows 2 --duration 1 --stagger 0.5")
    assert np.abs(received.sum(axis=1) - [497, 500]).max() <= 1
    assert received[0, 1] == sent[0, 1] == 0 < received[1].min()
