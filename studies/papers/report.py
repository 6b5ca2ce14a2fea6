"""Write REPORT.md, its images, results.json and the advice page from the finished cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from studies.papers import digest, tables, which
from studies.papers.claims import TestedClaim
from studies.papers.digest import Number, Paper
from studies.papers.experiment import Figure, Results
from studies.papers.store import Store
from studies.papers.summary import summary

T = TypeVar("T")
LEGEND = """\
In each field the printed number comes first, ours below: the mean and, after ±, the standard
deviation of our runs. ✓ inside, ▲ clearly better, ▼ clearly worse, ? inconclusive, ○ other data.
Numbers in *italics* (sizes, times and counts) are shown but not judged. –: the data are not public.
In figures, curves and points are means over the runs that the caption names. Bands and bars are
their 95 % intervals unless stated otherwise.
"""


@dataclass
class Chapter:
    """One experiment with its finished cells, verdicts and claims."""

    module: ModuleType
    results: Results
    cells: int
    paper: Paper
    figures: list[Figure] = field(default_factory=list)
    section: str = ""

    @property
    def name(self) -> str:
        """Return the folder name of the experiment."""
        return self.paper.name

    @property
    def complete(self) -> bool:
        """Return whether all cells are finished."""
        return len(self.results) == self.cells


def finished(experiments: list[tuple[ModuleType, Store]], quick: bool) -> tuple[int, int]:
    """Return the number of finished cells and the number of all cells."""
    counts = [(len(s.results(m.cells(quick))), len(m.cells(quick))) for m, s in experiments]
    return sum(done for done, _ in counts), sum(every for _, every in counts)


def write(
    experiments: list[tuple[ModuleType, Store]],
    quick: bool,
    folder: Path,
    advice: Path | None = None,
) -> Path:
    """Write the report and its images into a folder; return the path of the report.

    ``advice`` is the path of the page on choosing an algorithm, which needs all papers.
    """
    chapters = [_read(module, store, quick) for module, store in experiments]
    papers = [chapter.paper for chapter in chapters if not chapter.section]
    facts = which.facts({c.name: c.results for c in chapters}) if advice else {}
    folder.mkdir(parents=True, exist_ok=True)
    parts = [summary(papers)]
    parts += [_page(chapter) for chapter in chapters if not chapter.section]
    parts += ["# Tables and figures", "", LEGEND]
    parts += [_appendix(chapter, folder) for chapter in chapters]
    path = folder / "REPORT.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    digest.write(papers, facts, folder / "results.json")
    if advice:
        advice.write_text(which.page(facts), encoding="utf-8")
    return path


def _read(module: ModuleType, store: Store, quick: bool) -> Chapter:
    cells = module.cells(quick)
    minutes = sum(store.seconds(cell) or 0.0 for cell in cells) / 60
    paper = Paper(module, round(minutes, 1))
    chapter = Chapter(module, store.results(cells), len(cells), paper)
    if hasattr(module, "section"):
        chapter.section = _attempt(chapter, lambda: module.section(chapter.results), "")
        return chapter
    plain = getattr(module, "plain", lambda results, entry: None)
    for entry in digest.published(module):
        values, plainly = (
            _attempt(chapter, lambda f=f, e=entry: f(chapter.results, e), None)
            for f in (module.reproduced, plain)
        )
        paper.numbers.append(digest.rounded(Number(entry, values, plainly)))
    paper.claims = _attempt(chapter, lambda: module.claims(chapter.results), [])
    chapter.figures = _attempt(chapter, lambda: module.figures(chapter.results), [])
    return chapter


def _attempt(chapter: Chapter, make: Callable[[], T], otherwise: T) -> T:
    """Return ``make()``, or ``otherwise`` if it fails because cells are unfinished.

    Warnings of NumPy, such as the mean of an empty slice, count as failures.
    """
    if not len(chapter.results):
        return otherwise
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return make()
    except Exception:
        if chapter.complete:
            raise
        return otherwise


# -- the page of a paper --------------------------------------------------------------------------


def _page(chapter: Chapter) -> str:
    module: Any = chapter.module
    lines = [f'<a id="{chapter.name}"></a>', "", f"# {module.TITLE}", "", module.SOURCE, ""]
    if not chapter.complete:
        done = len(chapter.results)
        lines += [f"**Not complete: {done} of {chapter.cells} cells are finished.**", ""]
    lines += [module.ABOUT.strip(), "", *_claims(chapter.paper.tested)]
    lines += [f"[Tables and figures](#{chapter.name}-tables)", ""]
    return "\n".join(lines)


def _claims(tested: list[TestedClaim]) -> list[str]:
    rows = [
        [s.claim.says, s.claim.where, s.claim.found, s.counts, f"**{s.verdict}**"] for s in tested
    ]
    head = ["the text says", "where", "we found", "for / against / open", "verdict"]
    return [*tables.markdown(head, rows, numbers=False), ""] if rows else []


# -- tables and figures -------------------------------------------------------------------------


def _appendix(chapter: Chapter, folder: Path) -> str:
    if chapter.section:
        return chapter.section
    module: Any = chapter.module
    judged = chapter.paper.judged
    lines = [f'<a id="{chapter.name}-tables"></a>', "", f"## {module.TITLE}", ""]
    lines += tables.all_of(judged)
    lines += tables.notes(judged, getattr(module, "NOTES", {}))
    if hasattr(module, "beside"):
        lines += [_attempt(chapter, lambda: module.beside(chapter.results).strip(), ""), ""]
    return "\n".join([*lines, *_figures(chapter, folder)])


def _figures(chapter: Chapter, folder: Path) -> list[str]:
    lines = []
    for figure in chapter.figures:
        name = f"images/{chapter.name}-{figure.name}.png"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if _attempt(chapter, lambda f=figure, p=path: f.draw(p) or True, False):
            alone = figure.title.partition(":")[0]
            lines += [f"### {figure.title}", "", figure.text, "", f"![{alone}]({name})", ""]
    return lines
