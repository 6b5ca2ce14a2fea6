"""Passive-aggressive learning with mini-batches and kernels."""

from papers.experiment import Published, Results, Values
from papers.minibatches.claims import claims
from papers.minibatches.figures import figures
from papers.minibatches.protocol import SETS, cells, run
from papers.minibatches.texts import ABOUT, NOTES

__all__ = ["ABOUT", "DATA", "NOTES", "SOURCE", "TITLE"]
__all__ += ["cells", "claims", "figures", "reproduced", "run"]

TITLE = "An empirical study about online learning with generalized passive-aggressive approaches"
SOURCE = "A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert."
DATA = tuple(name for name in SETS.values() if name != "twonorm")


def reproduced(results: Results, entry: Published) -> Values | None:
    """Return the test errors of all trials for a field of Table 2."""
    method, batch = entry.column.split("-")
    method = "B" + method.removeprefix("B")  # the first column is printed PAI-1
    wanted = {"set": SETS[entry.row], "method": method, "batch": int(batch), "reading": "plain"}
    found = results.where(**wanted).values("test")
    return found[0] if len(found) else None
