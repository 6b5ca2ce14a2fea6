"""Passive-aggressive learning with mini-batches and kernels."""

from studies.papers.experiment import Published, Results, Values
from studies.papers.minibatches.beside import beside
from studies.papers.minibatches.claims import claims
from studies.papers.minibatches.figures import figures
from studies.papers.minibatches.protocol import SETS, cells, run
from studies.papers.minibatches.texts import ABOUT, MAIN, PROVENANCE

__all__ = ["ABOUT", "DATA", "MAIN", "PROVENANCE", "SOURCE", "TITLE"]
__all__ += ["beside", "cells", "claims", "figures", "plain", "printed_error", "reproduced", "run"]

TITLE = "An empirical study about online learning with generalized passive-aggressive approaches"
SOURCE = "A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert."
DATA = tuple(name for name in SETS.values() if name != "twonorm")


def reproduced(results: Results, entry: Published, reading: str = "plain") -> Values | None:
    """Return the test errors of all trials for a field of Table 2, or a size of Table 1."""
    if entry.table == "Table 1":
        return results.where(set=SETS[entry.row], reading="plain").values(entry.column)[:1]
    method, batch = entry.column.split("-")
    method = "B" + method.removeprefix("B")  # the first column is printed PAI-1
    wanted = {"set": SETS[entry.row], "method": method, "batch": int(batch), "reading": reading}
    found = results.where(**wanted).values("test")
    return found[0] if len(found) else None


def plain(results: Results, entry: Published) -> Values | None:
    """Return the test errors with the bias that the formulas have."""
    return reproduced(results, entry, reading="intercept") if entry.better != "-" else None


def printed_error(entry: Published, values: Values | None) -> float:
    """Return the standard error of a printed mean, whose 95 % interval is printed."""
    return (entry.spread or 0.0) / 1.96
