"""Passive-aggressive learning in a Mahalanobis metric (PAM), and AROW beside it."""

from aggro.datasets.table import files_of
from papers.experiment import Published, Results, Values
from papers.mahalanobis.claims import claims
from papers.mahalanobis.data import SETS
from papers.mahalanobis.figures import figures
from papers.mahalanobis.measures import present, runs_of
from papers.mahalanobis.protocol import SCALED, cells, run
from papers.mahalanobis.texts import ABOUT, MAIN, NOTES, PROVENANCE, TITLES
from papers.tables import markdown

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
    """Return the F1 on features as they come, where ours are scaled."""
    return reproduced(results, entry, raw=True)


def printed_error(entry: Published, values: Values | None) -> float:
    """Return the standard error of a printed mean: ± is taken as the deviation of its ten runs."""
    return (entry.spread or 0.0) / RUNS**0.5


def other_data(entry: Published) -> bool:
    """Tell whether a row cannot be learned from the paper's data."""
    return entry.row.startswith("MNIST")


def beside(results: Results) -> str:
    """Return the sizes of our sets; of the paper's, only the 1051 rows of WebKB are printed."""
    rows = []
    for name in present(results, TITLES):
        source = files_of(name)[0]
        seen = [outcome["seen"][-1] for _, outcome in results.where(set=name).pairs]
        printed = "1051" if TITLES[name] == "WebKB" else "–"
        learned = str(min(seen)) if min(seen) == max(seen) else f"{min(seen)} to {max(seen)}"
        rows.append([TITLES[name], printed, str(source.rows), learned, str(source.features)])
    head = ["set", "printed rows", "our rows", "learned in a run", "our features"]
    return "\n".join(["### Sizes of the sets", "", *markdown(head, rows)])
