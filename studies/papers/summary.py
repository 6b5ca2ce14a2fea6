"""The first page of the report: three numbers, the sources of the data, the claims."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from studies.papers.claims import Verdict
from studies.papers.digest import Paper
from studies.papers.experiment import Provenance
from studies.papers.tables import markdown
from studies.papers.verdict import Tally, tally

HEAD = """\
# Reproduction of five papers

This report repeats five texts about Passive-Aggressive learning with aggro: every printed number
for which data are available, every figure and every claim. `make papers` repeats all experiments
and writes this page.
"""
YARDSTICK = """\
**Inside**: our mean lies in the printed interval (without one: within 1.0 point, and within a
quarter of the number), and two standard errors of it are no wider than that. **Clearly better,
clearly worse**: it lies outside, by more than two standard errors of the difference (those of both
sides where the paper states them). **Inconclusive**: the spread is too wide for either. Where a
95 % interval is printed (minibatches), runs like those of the paper have one as wide, so about half
of the numbers that agree are inconclusive too. **Other data**: learned from rows that are not the
paper's; shown, but no evidence. **Not public**: not learned.
"""
CLAIMS = """\
A claim is divided into comparisons. Each is for it, against it or open, by a two-sided paired
t-test at 5 % after Holm's correction over all tests of its paper. A claim **holds** if nine of ten
are for it and none against. It is **inconclusive** if fewer than a quarter are for it and fewer
than a quarter against. It **does not hold** if more are against it than for it. Otherwise it
**holds in part**. Thresholds that no text gives are ours ("asked"). Folds and reorderings of one
set are not independent. For folds and subsamples the variance is corrected (Nadeau and Bengio);
reorderings describe only their set. A small p-value therefore says that a difference on *these*
sets is not due to the order or the split. It says nothing about other sets: for that, count sets,
not runs.
"""


def summary(papers: list[Paper]) -> str:
    """Return the first page."""
    counts = {paper.name: tally(paper.judged) for paper in papers}
    every = tally(judged for paper in papers for judged in paper.judged)
    lines = [HEAD, "## Numbers", "", _three(every), ""]
    lines += [*_table(papers, counts, every), "", YARDSTICK]
    lines += ["## Fitted and plain readings", "", _fitted_text(), "", *_fitted(papers), ""]
    lines += ["## Claims", "", *_claims(papers), "", CLAIMS]
    minutes = ", ".join(f"{paper.name} {paper.minutes:.0f}" for paper in papers)
    total = sum(paper.minutes for paper in papers)
    return "\n".join([*lines, f"CPU minutes: {minutes}; together {total:.0f}.", ""])


def _three(count: Tally) -> str:
    return (
        f"Of {count.judged} printed numbers, ours are **inside for {count.inside}, clearly better "
        f"for {count.better} and clearly worse for {count.worse}**. {count.untold} are "
        f"inconclusive, and {count.other} were learned from other data. (Regardless of spread and "
        f"data, {count.near} lie in the printed interval, or within 1.0 point where there is none.)"
    )


def _table(papers: list[Paper], counts: dict[str, Tally], every: Tally) -> list[str]:
    head = ["paper", "judged", "inside", "better", "worse", "inconclusive", "other data"]
    head += ["not public", "the paper's own data", "other data are", "chosen by fit"]
    rows = []
    for paper in papers:
        about: Provenance = paper.module.PROVENANCE
        title = f"[{paper.module.TITLE}](#{paper.name})"
        rows.append([title, *_row(counts[paper.name]), about.own, about.other, about.fitted])
    rows.append(["**all**", *_row(every), "", "", ""])
    return markdown(head, rows, texts=3)


def _row(count: Tally) -> list[str]:
    numbers = [count.judged, count.inside, count.better, count.worse, count.untold, count.other]
    return [str(number) for number in (*numbers, count.missing)]


def _fitted_text() -> str:
    return (
        "Where a text leaves its protocol open, the numbers above use the reading that fits them. "
        "The table compares it with the plain reading: inside / clearly better / clearly worse / "
        "inconclusive. `make papers` repeats the trials that a table shows; the others are only "
        "described."
    )


def _fitted(papers: list[Paper]) -> list[str]:
    rows = [
        [paper.name, paper.module.PROVENANCE.plain]
        + [_four(tally(judged)) for judged in (paper.judged, paper.judged_plainly)]
        for paper in papers
        if paper.module.PROVENANCE.plain
    ]
    return markdown(["paper", "the plain reading", "as fitted", "plain"], rows, numbers=False)


def _four(count: Tally) -> str:
    return f"{count.inside} / {count.better} / {count.worse} / {count.untold}"


def _claims(papers: list[Paper]) -> list[str]:
    verdicts = get_args(Verdict)
    rows, main = [], []
    for paper in papers:
        count = Counter(tested.verdict for tested in paper.tested)
        rows.append([f"[{paper.name}](#{paper.name})", *(str(count[v]) for v in verdicts)])
        for tested in paper.tested:
            if tested.claim.says.startswith(paper.module.MAIN):
                claim = tested.claim
                main.append([claim.says, claim.found, tested.counts, f"**{tested.verdict}**"])
    head = ["claim", "what we found", "for / against / open", "verdict"]
    return [*markdown(["paper", *verdicts], rows), "", *markdown(head, main, numbers=False)]
