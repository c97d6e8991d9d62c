# SPDX-License-Identifier: GPL-2.0
"""One table that judges a policy: each case's ratio to the better of fq_codel and cake.

lab/scoreboard.toml lists the experiments and the metrics. Three columns for each qdisc: its worst
metric over the better peer's, over the stored figures of docs/results/ (of the same kind), and its
worst seed over the median of the seeds. The data are in build/scoreboard/. --record adds a table:
how far flows were behind ideal fair queueing.
"""

import argparse
import csv
import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace

from lab.commands.experiment import check, parse_qdiscs
from lab.commands.figures import Part as Runs
from lab.commands.figures import once, text_of
from lab.measure.reading import DataError
from lab.measure.rows import Rows, from_csv, means
from lab.measure.score import MOST, SPREAD, Board, Part, Ratio, Score, load, scores
from lab.measure.tables import LAG, format_rows
from lab.run.experiment import EXPERIMENTS, read
from lab.run.guests import LAB, RESULTS, run_all
from lab.run.keys import Settings
from lab.run.qdiscs import LISTS
from vm import NATIVE, prepare

WHERE = LAB.parent / "build/scoreboard"
COLUMNS = (
    ("the better peer's", MOST),
    ("the stored figure", MOST),
    ("the median, in one seed", SPREAD),
)
D1, ORACLE = "d1-long", "srpt"  # whose excess is shown beside that of cake


def runs_of(
    part: Part, qdiscs: dict[str, str], seeds: list[int] | None, record: bool = False
) -> Runs:
    """The runs of the peers and of these qdiscs."""
    experiment = read(EXPERIMENTS / f"{part.experiment}.toml")
    more = {ORACLE: ORACLE} if part.experiment == D1 else {}
    every = part.peers | more | {name: part.words(words) for name, words in qdiscs.items()}
    runs = experiment.only(every, part.cases, seeds or part.seeds)
    # Two parts may have the same cases and qdiscs, with other options
    runs = replace(runs, name=re.sub(r"[^\w.-]+", "-", part.label))
    if record:
        runs = replace(runs, cases={k: recorded(case) for k, case in runs.cases.items()})
    return Runs(runs, {job.name: job for job in runs.jobs})


def recorded(case: Settings) -> Settings:
    return case | {"watch": case.get("watch", {}) | {"record": True}}


def stored_of(part: Part, qdiscs: dict[str, str]) -> dict[str, Rows]:
    """By qdisc: what docs/results/ has of the kind that it is, under the same options."""
    experiment = read(EXPERIMENTS / f"{part.experiment}.toml")
    path = RESULTS / f"{part.experiment}.csv"
    rows = from_csv(path.read_text()) if path.exists() else {}
    found = {}
    for name, words in qdiscs.items():
        same = [q for q, w in experiment.qdiscs.items() if w == part.words(words.split()[0])]
        found[name] = {key: values for key, values in rows.items() if key[1] in same}
    return found


def cell(ratio: Ratio | None, most: float) -> str:
    """With a mark beyond `most`."""
    if ratio is None:
        return "-"
    return f"{ratio.worse:.2f}{'*' if ratio.worse > most else ''}"


def table(found: Sequence[Score], qdiscs: Sequence[str]) -> str:
    heads = [f"{qdisc} / {what}" for qdisc in qdiscs for what in ("peers", "stored", "seed")]
    lines = [["", *heads]]
    rows: dict[str, dict[str, Score]] = {}
    for one in found:
        rows.setdefault(f"{one.part.label}, {one.case}", {})[one.qdisc] = one
    for name, of in rows.items():
        line = [name]
        for qdisc in qdiscs:
            limits = zip(limits_of(of[qdisc]), COLUMNS, strict=True)
            line += [cell(ratio, most) for ratio, (_, most) in limits]
        lines.append(line)
    return format_rows(lines)


def limits_of(score: Score) -> tuple[Ratio | None, ...]:
    return score.peers, score.stored, score.seeds


def summary(found: Sequence[Score], qdisc: str) -> str:
    """How many cases fall short of the peers, and where; what is worse than it was; wide seeds."""
    mine = [one for one in found if one.qdisc == qdisc]
    lines = []
    for i, (what, most) in enumerate(COLUMNS):
        ratios = [(one, limits_of(one)[i]) for one in mine]
        beyond = [(one, ratio) for one, ratio in ratios if ratio and ratio.worse > most]
        lines.append(f"{qdisc}: {len(beyond)} of {len(mine)} cases over {most:g} times {what}")
        for one, ratio in sorted(beyond, key=lambda pair: -pair[1].worse):
            lines.append(f"    {ratio.worse:6.2f}  {one.part.label}, {one.case}: {ratio}")
    return "\n".join(lines)


def excess(rows: Rows, qdiscs: Sequence[str]) -> str:
    """D1's excess: of cake's and of srpt's"""
    (of_qdiscs,) = means(rows).values()
    of = {name: values["excess"] for name, values in of_qdiscs.items() if "excess" in values}
    lines = [["D1", "excess", "/ cake", "/ srpt"]]
    for name in (*qdiscs, "cake", ORACLE):
        if name in of:
            parts = [of[name] / of.get(other, math.nan) for other in ("cake", ORACLE)]
            lines.append([name, *(f"{value:.3f}" for value in (of[name], *parts))])
    return format_rows(lines)


def lag(found: Sequence[tuple[Part, Rows]]) -> str:
    """For each part and qdisc the worst flow of each size, over all cases and seeds"""
    lines = [["behind fair queueing", *(head for head, _, _ in LAG)]]
    for part, rows in found:
        for qdisc in dict.fromkeys(qdisc for _, qdisc, _ in rows):
            runs = [values for (_, name, _), values in rows.items() if name == qdisc]
            worst = [max(run.get(metric, math.nan) for run in runs) for _, metric, _ in LAG]
            if not any(map(math.isnan, worst)):
                lines.append([f"{part.label}, {qdisc}", *(f"{value:.0f}" for value in worst)])
    return format_rows(lines)


def write(found: Sequence[Score]) -> None:
    with (WHERE / "scores.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["part", "case", "qdisc", "against", "metric", "value", "other", "worse"])
        for one in found:
            for name, ratio in zip(("peers", "stored", "seeds"), limits_of(one), strict=True):
                if ratio:
                    what = (one.part.label, one.case, one.qdisc, name, ratio.metric)
                    numbers = (f"{x:.6g}" for x in (ratio.value, ratio.other, ratio.worse))
                    writer.writerow([*what, *numbers])


def chosen(board: Board, only: str | None) -> list[Part]:
    names = list(dict.fromkeys(part.experiment for part in board.parts))
    wanted = only.split(",") if only else names
    if unknown := sorted(set(wanted) - set(names)):
        raise DataError(f"{unknown[0]} is not on the scoreboard; there are {', '.join(names)}")
    return [part for part in board.parts if part.experiment in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=NATIVE)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--qdiscs", metavar="A,NAME=KIND OPTION...,...", default="las,sqf")
    parser.add_argument("--only", metavar="A,B,...", help="some of the experiments")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED") or None)
    parser.add_argument("--record", action="store_true", help="compare with ideal fair queueing")
    options = parser.parse_args()
    board = load()
    qdiscs = parse_qdiscs(options.qdiscs, LISTS["ours"])
    parts = chosen(board, options.only)
    seeds = [options.seed] if options.seed else None
    every = [runs_of(part, qdiscs, seeds, options.record) for part in parts]
    built = prepare(options.kernel)
    for each in every:
        check(each.experiment, built)
    jobs = sorted((job for _, mine in once(every) for job in mine), key=lambda job: -job.weight)
    print(f"{len(jobs)} runs of {len(every)} experiments", flush=True)
    run_all(built, jobs, max(options.jobs, 1), "scoreboard")
    WHERE.mkdir(parents=True, exist_ok=True)
    found: list[Score] = []
    measured: list[tuple[Part, Rows]] = []
    text = ""
    for part, each in zip(parts, every, strict=True):
        rows = each.rows({name: text_of(job) for name, job in each.jobs.items()})
        measured.append((part, rows))
        found += scores(part, rows, list(qdiscs), stored_of(part, qdiscs), board.enough)
        if part.experiment == D1:
            text = "\n" + excess(rows, list(qdiscs))
    write(found)
    text += "\n" + lag(measured) if options.record else ""
    summaries = "\n".join(summary(found, qdisc) for qdisc in qdiscs)
    text = f"{table(found, list(qdiscs))}{text}\n{summaries}\n"
    (WHERE / "table.txt").write_text(text)
    print(f"\n{text}\n* over {MOST:g}, or {SPREAD:g} for a seed\ndata: {WHERE}")
    return 0
