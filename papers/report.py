"""Writes REPORT.md and its images from the finished cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from papers import tables
from papers.experiment import Claim, Figure, Results, read_published
from papers.store import Store
from papers.verdict import Judged, judge

T = TypeVar("T")
INTRODUCTION = """\
# The papers, reproduced

Five texts about Passive-Aggressive learning: every printed number that can be had, every figure and
every claim, done again with aggro. `make papers` repeats all of it and writes this page.

A number **agrees** (✓) when our mean lies in the printed interval; where none is printed, when the
printed value lies within two standard deviations of our runs. Otherwise it is **better** (▲) or
**worse** (▼). Numbers in *italics* are shown, not judged: times and counts, which depend on
machine and settings. *n/a*: the data are not public. In each field the printed number stands first,
ours below.
"""


@dataclass
class Chapter:
    """One experiment with its finished cells and what follows from them."""

    module: ModuleType
    results: Results
    cells: int
    seconds: float
    judged: list[Judged] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    section: str = ""

    @property
    def name(self) -> str:
        """The folder of the experiment."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def complete(self) -> bool:
        """Tell whether all cells are finished."""
        return len(self.results) == self.cells


def write(experiments: list[tuple[ModuleType, Store]], quick: bool, folder: Path) -> Path:
    """Write the report and its images into a folder; return the path of the report."""
    chapters = [_read(module, store, quick) for module, store in experiments]
    parts = [INTRODUCTION, _summary(chapters)]
    parts += [_chapter(chapter, folder) for chapter in chapters]
    path = folder / "REPORT.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _read(module: ModuleType, store: Store, quick: bool) -> Chapter:
    cells = module.cells(quick)
    seconds = sum(store.seconds(cell) or 0.0 for cell in cells)
    chapter = Chapter(module, store.results(cells), len(cells), seconds)
    if hasattr(module, "section"):
        chapter.section = _attempt(chapter, lambda: module.section(chapter.results), "")
        return chapter
    published = read_published(Path(str(module.__file__)).with_name("published.tsv"))
    for entry in published:
        values = _attempt(chapter, lambda e=entry: module.reproduced(chapter.results, e), None)
        chapter.judged.append(judge(entry, values))
    chapter.claims = _attempt(chapter, lambda: module.claims(chapter.results), [])
    chapter.figures = _attempt(chapter, lambda: module.figures(chapter.results), [])
    return chapter


def _attempt(chapter: Chapter, make: Callable[[], T], otherwise: T) -> T:
    """Return what can be made; only unfinished cells excuse what cannot."""
    try:
        return make()
    except Exception:
        if chapter.complete:
            raise
        return otherwise


# -- the summary --------------------------------------------------------------------------------


def _summary(chapters: list[Chapter]) -> str:
    papers = [chapter for chapter in chapters if not hasattr(chapter.module, "section")]
    head = ["paper", "judged", "agree", "better", "worse", "agree or better", "not comparable"]
    rows = [_counts(f"[{c.module.TITLE}](#{c.name})", c.judged) for c in papers]
    rows.append(_counts("**all**", [j for c in papers for j in c.judged]))
    lines = ["## Summary", "", *tables.markdown(head, rows), "", *_claims_at_a_glance(papers), ""]
    spent = ", ".join(f"{c.name} {c.seconds / 60:.1f}" for c in chapters)
    total = sum(c.seconds for c in chapters) / 60
    lines += [f"CPU minutes: {spent}; together {total:.1f}.", ""]
    return "\n".join(lines)


def _counts(title: str, judged: list[Judged]) -> list[str]:
    count = Counter(j.mark for j in judged)
    good, bad = count["agrees"] + count["better"], count["worse"]
    share = f"{good / (good + bad):.1%}" if good + bad else "–"
    numbers = [good + bad, count["agrees"], count["better"], bad]
    return [title, *map(str, numbers), share, str(count["not comparable"])]


def _claims_at_a_glance(papers: list[Chapter]) -> list[str]:
    count = Counter(claim.verdict for paper in papers for claim in paper.claims)
    tally = "; ".join(f"{verdict}: {number}" for verdict, number in count.most_common())
    rows = [[c.says, f"[{p.name}](#{p.name})", c.verdict] for p in papers for c in p.claims]
    table = tables.markdown(["claim", "paper", "verdict"], rows, numbers=False)
    return [f"Claims — {tally or 'none'}.", "", *table]


# -- the chapters -------------------------------------------------------------------------------


def _chapter(chapter: Chapter, folder: Path) -> str:
    if chapter.section:
        return chapter.section
    module: Any = chapter.module
    lines = [f'<a id="{chapter.name}"></a>', "", f"## {module.TITLE}", "", module.SOURCE, ""]
    if not chapter.complete:
        done = len(chapter.results)
        lines += [f"**Not complete: {done} of {chapter.cells} cells are finished.**", ""]
    if hasattr(module, "ABOUT"):
        lines += [module.ABOUT.strip(), ""]
    lines += tables.all_of(chapter.judged)
    lines += tables.notes(chapter.judged, getattr(module, "NOTES", {}))
    if hasattr(module, "beside"):
        lines += [_attempt(chapter, lambda: module.beside(chapter.results).strip(), ""), ""]
    lines += _figures(chapter, folder)
    lines += _claims(chapter.claims)
    return "\n".join(lines)


def _figures(chapter: Chapter, folder: Path) -> list[str]:
    lines = []
    for figure in chapter.figures:
        name = f"images/{chapter.name}-{figure.name}.png"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if _attempt(chapter, lambda f=figure, p=path: f.draw(p) or True, False):
            lines += [f"### {figure.title}", "", figure.text, "", f"![{figure.title}]({name})", ""]
    return lines


def _claims(claims: list[Claim]) -> list[str]:
    lines = ["### What the text says", ""] if claims else []
    for claim in claims:
        lines += [f"- {claim.says} ({claim.where}) — **{claim.verdict}.** {claim.found}"]
    return [*lines, ""]
