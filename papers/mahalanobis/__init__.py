"""Passive-aggressive learning in a Mahalanobis metric."""

from papers.experiment import Published, Results, Values
from papers.mahalanobis.claims import claims
from papers.mahalanobis.data import SETS
from papers.mahalanobis.figures import figures
from papers.mahalanobis.measures import runs_of
from papers.mahalanobis.protocol import cells, run
from papers.mahalanobis.texts import ABOUT, NOTES

__all__ = ["ABOUT", "DATA", "NOTES", "SOURCE", "TITLE"]
__all__ += ["cells", "claims", "figures", "reproduced", "run"]

TITLE = "Distribution-Aware Online Classifiers"
SOURCE = "T. T. Nguyen, K. Chang, S. C. Hui, IJCAI (2011)."
DATA = SETS
NAMES = {"WEBKB": "webkb-course"}  # where the name of the set is not the printed one


def reproduced(results: Results, entry: Published) -> Values | None:
    """Return the F1 of one class in all runs for a field of Table 1."""
    name, label = entry.row[:-1], entry.row[-1]
    name = NAMES.get(name, name.lower())
    if len(results.where(set=name)) == 0:
        return None
    measure = "positive" if label == "+" else "negative"
    return runs_of(results, name, entry.column, measure)
