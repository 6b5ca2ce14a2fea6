"""The chosen setting of each algorithm, and what it reaches in the runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.experiment import Results, Values


def present(results: Results, names: Iterable[str]) -> tuple[str, ...]:
    """Return those sets that were run: a quick run leaves some out."""
    return tuple(name for name in names if len(results.where(set=name)))


def runs_of(results: Results, name: str, algorithm: str, measure: str = "error") -> Values:
    """Return a measure of the chosen setting, one value per run."""
    found = _of(results, name, algorithm, tuning=False)
    return found.values(measure)[:, chosen(results, name, algorithm)]


def chosen(results: Results, name: str, algorithm: str) -> int:
    """Return which setting has the least mean error on the streams kept for this choice."""
    return int(_of(results, name, algorithm, tuning=True).values("error").mean(0).argmin())


def best_runs_of(results: Results, name: str, algorithm: str) -> Values:
    """Return the errors of the setting that proves best in the runs themselves."""
    errors = _of(results, name, algorithm, tuning=False).values("error")
    return errors[:, errors.mean(0).argmin()]


def curve(results: Results, name: str, algorithm: str, seed: int | None = None) -> Values:
    """Return examples seen and mean cumulative error, of one run or all."""
    found = _of(results, name, algorithm, tuning=False)
    found = found if seed is None else found.where(seed=seed)
    which = chosen(results, name, algorithm)
    seen = found.pairs[0][1]["seen"]
    curves = [np.interp(seen, o["seen"], o["curve"][which]) for _, o in found.pairs]
    return np.array([seen, np.mean(curves, axis=0)])


def _of(results: Results, name: str, algorithm: str, tuning: bool) -> Results:
    wanted: dict[str, Any] = {"set": name, "algorithm": algorithm}
    pairs = results.where(**wanted).pairs
    return Results(pair for pair in pairs if (pair[0]["seed"] < 0) == tuning)
