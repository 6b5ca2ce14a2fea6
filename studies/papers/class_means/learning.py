"""Runs of the paper: one pass in ten orders, pulls γ, twenty passes, and the batch learner."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from studies.papers.class_means.data import REAL, SCALINGS, Problem, problem
from studies.papers.class_means.undivided import Setting, Undivided
from studies.papers.experiment import Cell, Outcome, Values, read_published
from studies.papers.ties import best

LOSSES = {"": "hard", "-1": "hinge", "-2": "squared_hinge"}
ORDERS, EPOCHS, QUEUE = 10, 20, 5
C_VALUES = tuple(float(f"{10.0**k:.3g}") for k in np.arange(-4, 2.1, 0.25))
PULLS = tuple(float(f"{10.0**k:.3g}") for k in np.arange(-2, 0.6, 0.25))
EXACT_PULLS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # smaller values suit the minimiser
DRAWN_PULLS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CHOICE_SEED, CHOICE_ORDERS, CHOICE_ROWS, NEAR = 99, 2, 10_000, 0.03
PREPARATION_SEED = 98
BATCH_PRICES = (0.01, 0.1, 1.0, 10.0)
BATCH_LIMITS: dict[str, Any] = {"tol": 1e-4, "max_iter": 1000}


def run(cell: Cell) -> Outcome:
    """Run one cell."""
    data = problem(cell["set"])
    if cell["part"] == "orders":
        return orders(data, cell["set"], cell["repetition"])
    if cell["part"] == "pull":
        return pull(data, cell["repetition"])
    if cell["part"] == "preparation":
        return preparation(cell["set"], cell["orders"])
    if cell["part"] == "epochs":
        return epochs(data, cell["set"], cell["order"])
    return batch(data)


# -- C and γ, chosen by the printed number of updates --------------------------------------------


@functools.cache
def choice(name: str) -> dict[str, dict[str, float]]:
    """Return C and γ of every variant, chosen on separate orders.

    "PA" and "PAm" are fitted to the printed number of updates; "plain PA" and "exact PAm" are
    chosen by their progressive mistakes.
    """
    data, printed = problem(name), printed_updates(name)
    chosen: dict[str, dict[str, float]] = {}
    for suffix, loss in LOSSES.items():
        C_values = C_VALUES if suffix else (1.0,)
        for family, pulls in (("PA", (0.0,)), ("PAm", PULLS)):  # PA has no pull
            variant = f"{family}{suffix}"
            chosen[variant] = _as_printed(data, loss, C_values, pulls, printed.get(variant))
        chosen[f"plain PA{suffix}"] = _fewest_mistakes(data, loss, C_values[::2], (0.0,))
        chosen[f"exact PAm{suffix}"] = _fewest_mistakes(data, loss, C_values[::2], EXACT_PULLS)
    return chosen


def printed_updates(name: str) -> dict[str, float]:
    """Return Table III for a set; empty for the stand-ins, whose sizes differ."""
    published = read_published(Path(__file__).with_name("published.tsv"))
    rows = [e for e in published if e.table == "Table III" and e.row == name and name in REAL]
    return {entry.column: entry.value for entry in rows}


def _as_printed(
    data: Problem,
    loss: str,
    C_values: Sequence[float],
    pulls: Sequence[float],
    target: float | None,
) -> dict[str, float]:
    """Return the setting with the fewest mistakes among those close to the printed updates."""
    settings = [Setting(loss, C, gamma) for C in C_values for gamma in pulls]
    updates, mistakes = np.zeros(len(settings)), np.zeros(len(settings))
    for order in _choice_orders(data, None if target else CHOICE_ROWS):
        learners = Undivided(settings, data.X.shape[1]).learn(data.X[order], data.y[order])
        updates += learners.updates / CHOICE_ORDERS
        mistakes += learners.mistakes / CHOICE_ORDERS
    off = np.abs(updates / target - 1) if target else np.zeros(len(settings))
    near = np.where(off <= max(NEAR, off.min()), mistakes, np.inf)
    row, column = best(near.reshape(len(C_values), len(pulls)))
    return {"C": C_values[row], "class_mean": pulls[column]}


def _fewest_mistakes(
    data: Problem, loss: str, C_values: Sequence[float], pulls: Sequence[float]
) -> dict[str, float]:
    """Return C and γ with the fewest progressive mistakes."""
    mistakes = np.zeros((len(C_values), len(pulls)))
    axes = {"loss": loss, "C": C_values, "class_mean": pulls, "fit_intercept": False}
    for order in _choice_orders(data, CHOICE_ROWS):
        for found in aggro.sweep(data.X[order], data.y[order], **axes).rows:
            place = C_values.index(found.params["C"]), pulls.index(found.params["class_mean"])
            mistakes[place] += found.error
    row, column = best(mistakes)
    return {"C": C_values[row], "class_mean": pulls[column]}


def _choice_orders(data: Problem, rows: int | None) -> list[Values]:
    return [data.order(CHOICE_SEED, k)[:rows] for k in range(CHOICE_ORDERS)]


# -- Tables II to VI ----------------------------------------------------------------------------


def models(name: str) -> dict[str, Any]:
    """Return a new estimator for each variant of aggro, by name."""
    chosen = choice(name)
    made = {}
    for suffix, loss in LOSSES.items():
        plain = {"loss": loss, "fit_intercept": False, "average": False}
        exact = {**plain, **chosen[f"exact PAm{suffix}"]}
        made[f"PA{suffix}"] = {**plain, **chosen[f"PA{suffix}"]}
        made[f"plain PA{suffix}"] = {**plain, **chosen[f"plain PA{suffix}"]}
        made[f"exact PAm{suffix}"] = exact
        made[f"PAmW{suffix}"] = {**exact, "queue": QUEUE}
    return {key: aggro.PassiveAggressiveClassifier(**params) for key, params in made.items()}


def undivided(name: str, features: int) -> tuple[list[str], Undivided]:
    """Return the three forms of the undivided rule, with their names."""
    chosen = choice(name)
    settings = {
        f"PAm{suffix}": Setting(
            loss, chosen[f"PAm{suffix}"]["C"], chosen[f"PAm{suffix}"]["class_mean"]
        )
        for suffix, loss in LOSSES.items()
    }
    return list(settings), Undivided(list(settings.values()), features)


def orders(data: Problem, name: str, repetition: int) -> Outcome:
    """Learn ten orders once with every variant."""
    runs: dict[str, dict[str, list[float]]] = {}

    def note(variant: str, **numbers: float) -> None:
        for key, number in numbers.items():
            runs.setdefault(variant, {}).setdefault(key, []).append(float(number))

    for k in range(ORDERS):
        order = data.order(repetition, k)
        X, y = data.X[order], data.y[order]
        for variant, model in models(name).items():
            begin = time.process_time()
            model.partial_fit(X, y, classes=[-1, 1])
            seconds = time.process_time() - begin
            error = data.error(model.coef_)[0]
            counts = {"updates": model.n_updates_, "mistakes": model.n_mistakes_}
            note(variant, error=error, seconds=seconds, **counts)
        names, learners = undivided(name, X.shape[1])
        errors = data.error(learners.learn(X, y).weights)
        for i, variant in enumerate(names):
            counts = {"updates": learners.updates[i], "mistakes": learners.mistakes[i]}
            note(variant, error=errors[i], **counts)
    return {"choice": choice(name), "runs": runs}


# -- the update rule ---------------------------------------------------------------------------


def pull(data: Problem, repetition: int) -> Outcome:
    """Return updates and errors of the hard rule for each γ, divided and not, over ten orders."""
    found: dict[str, dict[str, list[list[float]]]] = {
        rule: {"updates": [], "error": []} for rule in ("exact", "undivided")
    }
    for k in range(ORDERS):
        order = data.order(repetition, k)
        X, y = data.X[order], data.y[order]
        exact = [
            aggro.PassiveAggressiveClassifier(
                loss="hard", fit_intercept=False, class_mean=g, average=False
            )
            for g in DRAWN_PULLS
        ]
        weights = np.vstack([model.partial_fit(X, y, classes=[-1, 1]).coef_ for model in exact])
        found["exact"]["updates"].append([model.n_updates_ for model in exact])
        found["exact"]["error"].append(data.error(weights).tolist())
        settings = [Setting("hard", 1.0, g) for g in DRAWN_PULLS]
        learners = Undivided(settings, X.shape[1]).learn(X, y)
        found["undivided"]["updates"].append(learners.updates.tolist())
        found["undivided"]["error"].append(data.error(learners.weights).tolist())
    return found


# -- the preparation -----------------------------------------------------------------------------


def preparation(name: str, orders: int) -> Outcome:
    """Return updates and test errors of the hard PA for each preparation of the features."""
    found: Outcome = {}
    for scaling, bias in product(SCALINGS, (False, True)):
        data = problem(name, scaling, bias)
        updates, weights = [], []
        for k in range(orders):
            order = data.order(PREPARATION_SEED, k)
            model = aggro.PassiveAggressiveClassifier(
                loss="hard", fit_intercept=False, average=False
            )
            model.partial_fit(data.X[order], data.y[order], classes=[-1, 1])
            updates.append(model.n_updates_)
            weights.append(model.coef_[0])
        errors = data.error(np.array(weights))
        found[f"{scaling}, {'bias' if bias else 'no bias'}"] = {
            "updates": _moments(updates),
            "error": _moments(errors),
        }
    return found


def _moments(values: Any) -> dict[str, float]:
    """Return the mean, and half the width of its 95 % interval."""
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return {"mean": float(np.mean(values)), "half": float(half)}


# -- Figures 1 to 3 -----------------------------------------------------------------------------


def epochs(data: Problem, name: str, seed: int) -> Outcome:
    """Make twenty passes over one order; class means are frozen after the first pass."""
    order = data.order(seed, 2)
    X, y = data.X[order], data.y[order]
    found = {}
    for variant, model in models(name).items():
        if variant.startswith(("PAmW", "plain")):
            continue
        weights, updates = [], [0]
        for passes in range(1, EPOCHS + 1):
            model.set_params(max_iter=passes, tol=None, shuffle=False).fit(X, y)
            weights.append(model.coef_[0].copy())
            updates.append(model.n_updates_)
        found[variant] = _trajectory(data, np.array(weights), np.diff(updates))
    names, learners = undivided(name, X.shape[1])
    steps, counts = [], [learners.updates.copy()]
    for passes in range(EPOCHS):
        learners.learn(X, y, frozen=passes > 0)
        steps.append(learners.weights.copy())
        counts.append(learners.updates.copy())
    for i, variant in enumerate(names):
        found[variant] = _trajectory(data, np.array(steps)[:, i], np.diff(np.array(counts)[:, i]))
    return found


def _trajectory(data: Problem, weights: Values, updates: Values) -> dict[str, list[float]]:
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    similarity = np.sum(unit[1:] * unit[:-1], axis=1)
    return {
        "similarity": similarity.tolist(),
        "error": data.error(weights).tolist(),
        "updates": updates.tolist(),
    }


def batch(data: Problem) -> Outcome:
    """Return the test error of a batch SVM with the best C of four, and the sizes of the set."""
    hold = len(data.y) // 5
    order = data.order(0)
    held, rest = order[:hold], order[hold:]
    scores = [_machine(data, C, rest).score(data.X[held], data.y[held]) for C in BATCH_PRICES]
    chosen = BATCH_PRICES[best(-np.array(scores))[0]]
    machine = _machine(data, chosen, order)
    rows, columns = data.X.shape
    sizes = {"training rows": rows, "test rows": len(data.y_test), "features": columns - 1}
    return {
        "C": chosen,
        "error": float(data.error(machine.coef_)[0]),
        "iterations": int(np.max(machine.n_iter_)),
        "sizes": sizes,
    }


def _machine(data: Problem, C: float, rows: Values) -> Any:
    """Return a linear SVM; raise an error if it did not converge."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        machine = LinearSVC(C=C, dual=False, fit_intercept=False, **BATCH_LIMITS)
        return machine.fit(data.X[rows], data.y[rows])
