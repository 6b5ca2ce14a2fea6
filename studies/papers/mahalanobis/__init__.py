"""Passive-aggressive learning in a Mahalanobis metric (PAM), and AROW beside it."""

from pathlib import Path

from aggro.datasets.files import describe
from studies.papers.experiment import Published, Results, Values, read_published
from studies.papers.mahalanobis.claims import claims
from studies.papers.mahalanobis.data import SETS
from studies.papers.mahalanobis.figures import figures
from studies.papers.mahalanobis.measures import present, runs_of
from studies.papers.mahalanobis.protocol import SCALED, cells, run
from studies.papers.mahalanobis.texts import ABOUT, MAIN, NOTES, PROVENANCE, TITLES
from studies.papers.tables import markdown

__all__ = ["ABOUT", "DATA", "MAIN", "NOTES", "PROVENANCE", "SOURCE", "TITLE"]
__all__ += ["beside", "cells", "claims", "figures", "other_data", "plain", "printed_error"]
__all__ += ["reproduced", "run"]

TITLE = "Distribution-Aware Online Classifiers"
SOURCE = "T. T. Nguyen, K. Chang and S. C. Hui; IJCAI 2011."
DATA = SETS
NAMES = {"BUPA": "bupa", "CRX": "crx", "USPS": "usps", "MNIST": "mnist", "WEBKB": "webkb-course"}
SIDES = {"+": "positive", "-": "negative"}
RUNS = 10  # behind each printed number


def reproduced(results: Results, entry: Published, raw: bool = False) -> Values | None:
    """Return the F1 of all runs for a field of Table 1."""
    name = NAMES[entry.row[:-1]]
    if not len(results.where(set=name)):
        return None
    raw = raw and name in SCALED
    return runs_of(results, name, entry.column, SIDES[entry.row[-1]], raw)


def plain(results: Results, entry: Published) -> Values | None:
    """Return the F1 on unscaled features, where ours are scaled."""
    return reproduced(results, entry, raw=True)


def printed_error(entry: Published, values: Values | None) -> float:
    """Return the standard error of a printed mean; ± is read as the deviation of ten runs."""
    return (entry.spread or 0.0) / RUNS**0.5


def other_data(entry: Published) -> bool:
    """Return whether the paper's data for a row are not available."""
    return entry.row.startswith("MNIST")


def beside(results: Results) -> str:
    """Return the sizes of our sets; of the paper's, only the 1051 rows of WebKB are printed."""
    rows = []
    for name in present(results, TITLES):
        source = describe(name)
        seen = [outcome["seen"][-1] for _, outcome in results.where(set=name).pairs]
        printed = "1051" if TITLES[name] == "WebKB" else "–"
        learned = str(min(seen)) if min(seen) == max(seen) else f"{min(seen)} to {max(seen)}"
        rows.append([TITLES[name], printed, str(source.rows), learned, str(source.features)])
    head = ["set", "printed rows", "our rows", "learned in a run", "our features"]
    sizes = ["### Sizes of the sets", "", *markdown(head, rows)]
    return "\n".join([*sizes, "", "### CW, full and diagonal", "", *_both_cw(results)])


def _both_cw(results: Results) -> list[str]:
    """Return the F1 of both forms of CW beside the printed one, mean and standard deviation."""
    rows = []
    for entry in read_published(Path(__file__).with_name("published.tsv")):
        name = NAMES[entry.row[:-1]]
        if entry.column != "CW" or not len(results.where(set=name)):
            continue
        ours = [runs_of(results, name, a, SIDES[entry.row[-1]]) for a in ("CW", "CW-diag")]
        texts = [f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" for values in ours]
        rows.append([entry.row, f"{entry.value:.2f} ± {entry.spread:g}", *texts])
    return markdown(["F1 (%)", "printed", "full", "diagonal"], rows)
