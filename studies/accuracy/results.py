"""The cells of the study as numbers: one error per set, method and order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from studies.accuracy import cells
from studies.accuracy.ours import ONLY_C, RECOMMENDED

HINDSIGHT = ("fixed diagonal", "fixed diagonal mean")  # candidates of ONLY_C
PEERS = (
    *("sklearn PA", "sklearn PA best C", "sklearn SGD"),
    *("Vowpal Wabbit", "river PA", "river logistic"),
)
DRAW = 0.01  # smaller relative differences are draws


@dataclass
class Result:
    """One set: its properties, and the errors of each method over the orders."""

    name: str
    task: str
    rows: int
    features: int
    classes: int
    ordered: bool
    found: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def errors(self, method: str) -> np.ndarray:
        """Return the error of each order; of a grid, that of its best entry over all orders."""
        runs = self.found.get(method, [])
        if runs and "errors" in runs[0]:
            table = np.array([run["errors"] for run in runs])
            return table[:, table.mean(axis=0).argmin()]
        return np.array([run["error"] for run in runs])

    def hindsight(self) -> float:
        """Return the error of the best fixed C, averaged weights or not."""
        return min(float(self.errors(method).mean()) for method in HINDSIGHT)

    def of(self, method: str) -> float:
        """Return the mean error of a method."""
        if method == "sklearn PA best C":  # C=1 is a choice, too
            tried = self.errors(method)
            return min(float(tried.mean()), float(self.errors("sklearn PA")[: len(tried)].mean()))
        return self.hindsight() if method == "best C" else float(self.errors(method).mean())

    def ours(self, method: str = "C=1") -> float:
        """Return aggro's mean error on the same rows and orders as a method's."""
        runs = self.found.get(method, []) if method != "best C" else []
        rows = str(runs[0].get("rows", "")) if runs else ""
        mine = self.found[RECOMMENDED][: len(runs) or None]
        return float(np.mean([run.get(rows, run["error"]) for run in mine]))

    def ratio(self, method: str) -> float:
        """Return the error of a method over aggro's; above one, aggro is better."""
        return self.of(method) / max(self.ours(method), 1e-12)


def load(folder: str | Path, names: list[str]) -> list[Result]:
    """Return the sets that were run, by task and rows."""
    results = []
    for name in names:
        about = Path(folder) / name / "about.json"
        if about.exists():
            result = Result(name, **json.loads(about.read_text()))
            result.found = {method: cells.read(folder, name, method) for method in cells.METHODS}
            results.append(result)
    tasks = ["binary", "multiclass", "regression"]
    return sorted(results, key=lambda r: (tasks.index(r.task), -r.rows, r.name))


def tally(results: list[Result], method: str) -> tuple[int, int, int]:
    """Return the number of sets on which aggro is better than a method, level, and worse."""
    ratios = np.array([r.ratio(method) for r in results if method == "best C" or r.found[method]])
    better, worse = (ratios > 1 + DRAW).sum(), (ratios < 1 - DRAW).sum()
    return int(better), len(ratios) - int(better) - int(worse), int(worse)


def gaps(results: list[Result]) -> np.ndarray:
    """Return how much worse C="auto" is than the best fixed C on each set, in points."""
    return np.array([100 * (r.of(ONLY_C) - r.hindsight()) for r in results])
