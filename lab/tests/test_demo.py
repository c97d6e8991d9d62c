# SPDX-License-Identifier: GPL-2.0
"""The demo: what it prints, and that it fails where flows have."""

import sys
from pathlib import Path

import pytest

from lab.commands import demo, experiment
from lab.measure.reading import DataError
from lab.run.guests import Job
from lab.tests import made_up
from vm import Result

RESPONSE = {"floor": 12.0, "pfifo": 36.0, "fq_codel": 24.0, "cake": 24.0, "las": 18.0}


@pytest.mark.parametrize("failed", ["", "las"])
def test_demo(
    failed: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run_all(_: object, jobs: list[Job], *__: object) -> None:
        for job in jobs:
            qdisc = job.name.split("-")[1]
            path = tmp_path / job.name
            delay = 0 if qdisc == failed else RESPONSE[qdisc]
            path.write_text(made_up.flows([(5, delay), (5, RESPONSE[qdisc])]) + made_up.stats())
            job.result = Result(0, "", path, path, 1)

    class Built:
        version = "6.1.0"

    monkeypatch.setattr(demo, "run_all", run_all)
    monkeypatch.setattr(demo, "prepare", lambda _: Built())
    monkeypatch.setattr(demo, "check", lambda *_: None)
    monkeypatch.setattr(demo, "by_size", lambda *_: None)
    monkeypatch.setattr(demo, "LAB", tmp_path / "lab")
    monkeypatch.setattr(experiment, "versions", lambda _: {"linux": "6.1"})
    monkeypatch.delenv("SEED", raising=False)
    monkeypatch.setattr(sys, "argv", ["demo", "--seed", "3"])
    if failed:
        with pytest.raises(DataError, match="flows failed: las 1; see "):
            demo.main()
        return
    assert demo.main() == 0
    said = capsys.readouterr().out
    what = "D1, 10 Mbit/s, RTT 6 ms, load 0.9, 150 s of arrivals, seed 3, kernel 6.1"
    assert f"{what}.0\n" in said and f"\n{what}: 2 flows\n\n" in said
    # 12 ms are a slowdown of 1, so cake's excess is 1, and that of las half of it
    rows = [line.split() for line in said.splitlines()]
    assert ["las", "1.500", "0.500", "0.500", "3", "0", "18.0"] in rows
    assert ["floor", "1.000", "-", "-", "3", "0", "12.0"] in rows
    assert f"picture: {tmp_path / 'build/demo/seed-3/demo.svg'}" in said
