"""One cell per erratum: the printed and the corrected rule on the same stream."""

from __future__ import annotations

import numpy as np

from studies.papers.errata import batches, classes, means, metric
from studies.papers.errata.streams import stream
from studies.papers.experiment import Cell, Outcome

MEASURES = {
    "E0.1": ("a9a", means.weights_for_examples),
    "E0.2": ("a9a", means.counters),
    "E0.3": ("a9a", means.clip),
    "E0.5": ("a9a", means.queue_loss),
    "E1.2": ("crx", metric.confidence),
    "E1.7": ("crx", metric.loss_bound),
    "E3.1": ("breast-cancer-wisconsin", batches.least_squares),
    "E3.2": ("breast-cancer-wisconsin", batches.squared_batch),
    "E3.3": ("breast-cancer-wisconsin", batches.least_squares_batch),
    "E4.1": ("usps", classes.sign),
    "E4.2": ("usps", classes.one_step_kept),
    "E4.3": ("usps", classes.linear_step),
    "E4.4": ("usps", classes.linear_support),
    "E4.5": ("usps", classes.squared_step),
    "E4.6": ("usps", classes.half_C),
    "E4.7": ("usps", classes.predicted),
}


ORDERS = 10


def cells(quick: bool = False) -> list[Cell]:
    """Return the cells: each erratum on its set, in several orders."""
    seeds = range(2 if quick else ORDERS)
    return [
        {"erratum": name, "set": data, "order": seed}
        for name, (data, _) in MEASURES.items()
        for seed in seeds
    ]


def run(cell: Cell) -> Outcome:
    """Measure one erratum, as printed and corrected."""
    X, y = stream(cell["set"], cell["order"])
    measure = MEASURES[cell["erratum"]][1]
    with np.errstate(over="ignore", invalid="ignore"):  # some printed rules diverge
        return {"printed": measure(X, y, True), "right": measure(X, y, False)}
