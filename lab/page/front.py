# SPDX-License-Identifier: GPL-2.0
"""docs/results.md: which kind, on what, how much better, where not; and a line for each page."""

from collections.abc import Iterator

from lab.measure.rows import Rows, means
from lab.page.advice import CRITERIA, by_peers, in_words, overall
from lab.page.comparisons import outcome
from lab.page.costs import REFERENCE
from lab.page.effect import ALT, EFFECT
from lab.page.markdown import markdown, part
from lab.run.experiment import Experiment
from lab.run.qdiscs import OURS

WHICH, COSTS = "which", "costs"  # pages beside those of papers and comparisons
# What each is for; how much better it is, is generated
FOR = {
    "las": "the first choice, for any link that is full now and then",
    "sqf": "as fast, by what flows have waiting; better for pages beside a "
    "large live video, which it keeps less well, and on a slow link; a call beside who floods "
    "waits longer",
    "sift": "boxes that cannot afford a record for each flow: it samples",
    "run2c": "TCP of servers, by how far a connection has come; `plain` is the cheapest of these",
}
SHOWN = (
    *("web page ms", "ms <=8", "ms 21-100", "ms >100", "excess", "call p99 ms", "call loss %"),
    *("shorts ms", "tcp Mbit/s", "bulk Mbit/s"),
)
BESIDE = (REFERENCE, "cake")


def which(chosen: dict[str, Rows], where: str) -> Iterator[str]:
    yield "## Which kind\n"
    yield from (f"- `{kind}`: {text}." for kind, text in FOR.items())
    yield ""
    for some in by_peers(chosen):
        every = [means(rows) for rows in some.values()]
        table = [["", "cases", *OURS, *BESIDE]]
        for criterion in (each for each in CRITERIA if each.metric in SHOWN):
            found = overall(every, criterion)
            if found.told:
                cells = [part(found.of[q]) if q in found.of else "none" for q in table[0][2:]]
                title = criterion.title + ("" if criterion.part else f", {criterion.unit}")
                table.append([title, str(found.told), *cells])
        if len(table) > 1:
            yield (
                f"Of {', '.join(f'[{name}]({where}/{name}.md)' for name in some)}, the mean of all "
                f"cases, as a part of {REFERENCE}'s, or with a unit as it is:\n"
            )
            yield from markdown(table)
            yield ""
            yield from in_words(every)
            yield ""
    yield f"[All criteria, and each case]({where}/{WHICH}.md).\n"


def front(
    papers: list[tuple[str, str, str]],
    compared: list[tuple[Experiment, Rows]],
    chosen: dict[str, Rows],
    noticed: str,
    where: str,
) -> Iterator[str]:
    """The lines of the page: of each paper its name, title, and what came out; `noticed` is
    what the first picture says, or "" if it has not been drawn; the other pages are in `where`."""
    yield "# Results\n"
    if noticed:
        yield noticed + "\n"
        yield f"![{ALT}]({where}/{EFFECT}.svg)\n"
    yield (
        "Measured on the kernel's own network stack, Linux 7.2 as a user-mode kernel in virtual "
        f"time, on no real link. All of it is made from the CSVs in [{where}/]({where}), the same "
        "to the byte; `make figures` measures them anew. Of several seeds there are the mean "
        "and its 95 % confidence interval. [experiments.md](experiments.md) tells how to measure "
        "something of your own.\n"
    )
    yield from which(chosen, where)
    yield "## Comparisons\n"
    yield "What came out, as a part of fq_codel's where nothing else is said:\n"
    lines = [
        [f"[{each.name}]({where}/{each.name}.md)", each.title, outcome(rows)]
        for each, rows in compared
    ]
    yield from markdown([["page", "what", "what came out"], *lines])
    yield ""
    yield f"[What a packet costs, and how exactly a rate is kept]({where}/{COSTS}.md).\n"
    yield "## Papers\n"
    yield (
        "What the articles show, measured, beside what they say in numbers and what the models in "
        "`lab/models` give. Nothing is read off their pictures: where an article has no number in "
        "its text or tables, there is none here.\n"
    )
    lines = [[f"[{name}]({where}/{name}.md)", title, told] for name, title, told in papers]
    yield from markdown([["page", "what", "what came out"], *lines])
