"""Measure the cost of model selection on few rows; write a sentence of docs/studies/tuning.md.

Run it with ``python -m studies.accuracy.excess``.

The excess is the error of model selection, with and without the ensemble, minus that of the best
candidate in hindsight: the one with the fewest mistakes over all orders if none is removed.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np

from aggro.learner import rows_of
from aggro.selection.learners import move_grid
from aggro.selection.search_space import DEFAULT_SEARCH_SPACE, SearchSpace
from aggro.selection.selection import ModelSelection
from studies.accuracy import ours
from studies.accuracy.data import Problem, fresh, listed, problem
from studies.accuracy.pages import fill
from studies.accuracy.report import LARGE, PAGE

WITHOUT_ENSEMBLE = SearchSpace(ensemble=False)


class KeepAll(ModelSelection):
    """A selection without removal of candidates; grids follow their units."""

    def evaluate_if_due(self) -> None:
        """Move the grids."""
        if self.examples >= self.drift.next_checkpoint:
            self.go_on_with([move_grid(each, tested=False) for each in self.learners])


def run(
    p: Problem,
    order: int,
    space: SearchSpace = WITHOUT_ENSEMBLE,
    kind: type[ModelSelection] = ModelSelection,
) -> ModelSelection:
    """Return a selection that has learned an order."""
    settings = ours.settings(p, "auto", **ours.SPELLINGS[ours.RECOMMENDED])
    selection = kind(settings, p.X.shape[1], p.classes, p.X.dtype, space=space)
    selection.learn(rows_of(p.X), order=p.orders[order], undo=False, **ours.targets_of(p))
    return selection


def excess(name: str) -> tuple[float, float] | None:
    """Return the excess error with and without the ensemble, in points, for small sets."""
    p = problem(name)
    if p.is_regression or p.rows >= LARGE:
        return None
    orders = range(len(p.orders))
    spaces = (DEFAULT_SEARCH_SPACE, WITHOUT_ENSEMBLE)
    errors = [np.mean([run(p, o, space).mistakes for o in orders]) for space in spaces]
    candidates = [[row["mistakes"] for row in run(p, o, kind=KeepAll).candidates()] for o in orders]
    best = np.mean(candidates, axis=0).min()
    joint, led = (100 * float(error - best) / p.rows for error in errors)
    return joint, led


def main() -> None:
    """Measure all sets, and write."""
    texts = []
    with ProcessPoolExecutor(2) as pool:
        unused = "that were not used for design decisions"
        for names, where in ((listed(), "of the study"), (fresh(), unused)):
            found = [each for each in pool.map(excess, names) if each is not None]
            joint, led = np.mean(found, axis=0)
            texts.append(
                f"**{joint:+.2f} percentage points** on the {len(found)} sets {where} "
                f"({led:+.2f} if the best candidate predicts from the beginning)"
            )
    fill(PAGE, {"excess": " and ".join(texts) + "."})


if __name__ == "__main__":
    main()
