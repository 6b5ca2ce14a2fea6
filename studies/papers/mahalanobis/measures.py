"""The chosen setting of each algorithm, and its results in the runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from studies.papers.experiment import Results, Values
from studies.papers.ties import best


def present(results: Results, names: Iterable[str]) -> tuple[str, ...]:
    """Return the sets that were run; a quick run skips some."""
    return tuple(name for name in names if len(results.where(set=name)))


def runs_of(
    results: Results, name: str, algorithm: str, measure: str = "error", raw: bool = False
) -> Values:
    """Return a measure of the chosen setting, one value per run."""
    found = _of(results, name, algorithm, tuning=False, raw=raw)
    return found.values(measure)[:, chosen(results, name, algorithm, raw)]


def chosen(results: Results, name: str, algorithm: str, raw: bool = False) -> int:
    """Return the setting with the least mean error on the tuning streams."""
    errors = _of(results, name, algorithm, tuning=True, raw=raw).values("error").mean(0)
    return best(errors)[0]


def curves(results: Results, name: str, algorithm: str) -> Values:
    """Return the examples seen, then the cumulative error of each run there.

    Longer runs are cut to the length of the shortest.
    """
    found = _of(results, name, algorithm, tuning=False)
    which = chosen(results, name, algorithm)
    end = min(outcome["seen"][-1] for _, outcome in found.pairs)
    seen = [count for count in found.pairs[0][1]["seen"] if count <= end]
    lines = [np.interp(seen, o["seen"], o["curve"][which]) for _, o in found.pairs]
    return np.array([seen, *lines])


def _of(results: Results, name: str, algorithm: str, tuning: bool, raw: bool = False) -> Results:
    wanted: dict[str, Any] = {"set": name, "algorithm": algorithm, "raw": raw}
    pairs = results.where(**wanted).pairs
    return Results(pair for pair in pairs if (pair[0]["seed"] < 0) == tuning)
