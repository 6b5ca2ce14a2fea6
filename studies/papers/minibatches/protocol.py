"""Runs of the paper: C and σ are chosen on three subsamples; 25 trials use 75 % of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import datasets
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.settings import Settings
from studies.papers.experiment import Cell, Outcome
from studies.papers.ties import middle, tied

Array = NDArray[Any]

SETS = {  # the names in Table 1
    "breast": "breast-cancer-wisconsin",
    "diabetes": "pima",
    "heart": "heart-cleveland",
    "ionosphere": "ionosphere",
    "liver": "bupa",
    "sonar": "sonar",
    "twonorm": "twonorm",
}
LOSSES = {"BPAI": "hinge", "BPAII": "squared_hinge", "BPALS": "least_squares"}
BATCHES = (1, 2, 4, 6, 8, 20)
C_VALUES = [10.0**k for k in range(-5, 2)]
WIDTHS = [10.0**k for k in range(-4, 2)]
TRIALS, SUBSAMPLES, TRAINED = 25, 3, 0.75
CURVE_STEP = 120  # a multiple of every batch size
SMOOTH = (1, 8)  # batch sizes whose test error is followed along each run
EVALUATIONS, EVALUATION_STEP = 12, 24  # approximate number, and a divisor of their distance


@dataclass(frozen=True)
class Reading:
    """Reading of an ambiguous text: with or without a bias, with or without overlap."""

    intercept: bool = False
    sliding: bool = False


READINGS = {
    "plain": Reading(),
    "intercept": Reading(intercept=True),
    "sliding": Reading(sliding=True),
}


def cells(quick: bool) -> list[Cell]:
    """Return a cell for each set, algorithm, batch size and reading, and one for the times."""
    trials = 3 if quick else TRIALS
    sets = ["heart-cleveland", "sonar"] if quick else list(SETS.values())
    return [{"set": "pima", "method": "time"}] + [
        {"set": name, "method": method, "batch": batch, "reading": reading, "trials": trials}
        for name, method, batch, reading in product(sets, LOSSES, BATCHES, READINGS)
        if (name, reading) != ("twonorm", "sliding") and (batch > 1 or reading != "sliding")
    ]


def run(cell: Cell) -> Outcome:
    """Choose C and σ by the online error, then train and test in every trial."""
    if cell["method"] == "time":
        return {"times": _times(cell["set"])}
    reading = READINGS[cell["reading"]]
    chosen = choose(cell, reading)
    C, width = chosen.C, chosen.sigma
    parts = [split(cell["set"], trial) for trial in range(cell["trials"])]
    learned = [_learn(p, cell, reading, C, width) for p in parts]
    outcome = {
        "C": C,
        "sigma": width,
        "tied": chosen.tied,
        "size": len(parts[0][1]) + len(parts[0][3]),
        "dimensionality": parts[0][0].shape[1],
        "online": [100 * error for _, error in learned],
        "test": [_test_error(learner, p) for (learner, _), p in zip(learned, parts, strict=True)],
        "vote": [_vote_error(p, width, reading) for p in parts],
    }
    if cell["batch"] in SMOOTH and not reading.sliding:
        outcome["trajectory"] = [_trajectory(p, cell, reading, C, width) for p in parts]
    if cell["set"] == "twonorm":
        outcome["curve"] = [_curve(p, cell, reading, C, width) for p in parts]
    return outcome


@dataclass(frozen=True)
class Choice:
    """The chosen C and σ, and all settings with the same least error."""

    C: float
    sigma: float
    tied: list[tuple[float, float]]


def choose(cell: Cell, reading: Reading) -> Choice:
    """Return the C and σ with the least mean online error on the subsamples."""
    parts = [split(cell["set"], -1 - k) for k in range(SUBSAMPLES)]
    errors = [
        [np.mean([_learn(p, cell, reading, C, width)[1] for p in parts]) for width in WIDTHS]
        for C in C_VALUES
    ]
    places = tied(np.array(errors))
    row, column = middle(places)
    return Choice(C_VALUES[row], WIDTHS[column], [(C_VALUES[i], WIDTHS[j]) for i, j in places])


# -- the data -----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _rows(name: str) -> tuple[Array, Array]:
    """Return a set with every feature in [-1, 1] and labels 0 and 1."""
    found = datasets.load(name)
    X = found.X if isinstance(found.X, np.ndarray) else found.X.toarray()
    return _to_unit_range(X), (found.y == found.y.max()).astype(np.int64)


def _twonorm(seed: int) -> tuple[Array, Array]:
    """Return a fresh draw: two Gaussians in 20 dimensions, 7400 rows."""
    random = np.random.default_rng([20, 7400, seed + SUBSAMPLES])
    y = random.integers(0, 2, 7400)
    X = random.normal(size=(7400, 20)) + (2 * y[:, None] - 1) * 2 / np.sqrt(20)
    return _to_unit_range(X), y.astype(np.int64)


def _to_unit_range(X: Array) -> Array:
    low, high = X.min(0), X.max(0)
    return 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1


def split(name: str, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return the training and the test data, in random order."""
    X, y = _twonorm(seed) if name == "twonorm" else _rows(name)
    order = np.random.default_rng(seed + SUBSAMPLES).permutation(len(y))
    end = int(TRAINED * len(y))
    learn, test = order[:end], order[end:]
    return X[learn], y[learn], X[test], y[test]


# -- learning -----------------------------------------------------------------------------------


def _make(cell: Cell, reading: Reading, C: float, width: float, features: int) -> KernelLearner:
    settings = Settings(
        task="binary",
        loss=LOSSES[cell["method"]],
        C=C,
        batch_size=cell["batch"],
        fit_intercept=reading.intercept,
    )
    gamma = 1 / (2 * width**2)
    return KernelLearner(settings, KernelChoice("rbf", gamma), gamma, features, 2)


def _learn(
    part: tuple[Array, ...], cell: Cell, reading: Reading, C: float, width: float
) -> tuple[KernelLearner, float]:
    """Learn one pass; return the learner and its progressive error.

    Each example is predicted before its batch is learned. With overlapping batches an example is
    predicted each time it is learned, although it is new only once.
    """
    X, y = part[:2]
    order = _windows(len(y), cell["batch"]) if reading.sliding else np.arange(len(y))
    learner = _make(cell, reading, C, width, X.shape[1])
    learner.learn_rows(X, {"labels": y}, order)
    return learner, learner.progress.mistakes / len(order)


def _windows(count: int, batch: int) -> Array:
    """Return the sliding windows of ``batch`` examples, concatenated."""
    return (np.arange(count - batch + 1)[:, None] + np.arange(batch)).ravel()


def _test_error(learner: KernelLearner, part: tuple[Array, ...]) -> float:
    X, y = part[2:]
    return float(100 * np.mean((learner.score_rows(X)[:, 0] > 0) != y))


def _vote_error(part: tuple[Array, ...], width: float, reading: Reading) -> float:
    """Return the test error of the kernel's vote: each training row votes for its label."""
    X, y, X_test, y_test = part
    apart = (X_test**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X_test @ X.T
    kernel = np.exp(-np.maximum(apart, 0.0) / (2 * width**2)) + reading.intercept
    return float(100 * np.mean((kernel @ (2 * y - 1) > 0) != y_test))


def _trajectory(
    part: tuple[Array, ...], cell: Cell, reading: Reading, C: float, width: float
) -> list[float]:
    """Return the test error in percent about a dozen times along one run."""
    X, y = part[:2]
    step = EVALUATION_STEP * max(1, len(y) // (EVALUATION_STEP * EVALUATIONS))
    learner, trajectory = _make(cell, reading, C, width, X.shape[1]), []
    for end in range(step, len(y) + 1, step):
        learner.learn_rows(X[end - step : end], {"labels": y[end - step : end]})
        trajectory.append(_test_error(learner, part))
    return trajectory


def _curve(
    part: tuple[Array, ...], cell: Cell, reading: Reading, C: float, width: float
) -> list[float]:
    """Return the online error in percent after every ``CURVE_STEP`` examples."""
    X, y = part[:2]
    learner, curve = _make(cell, reading, C, width, X.shape[1]), []
    for end in range(CURVE_STEP, len(y) + 1, CURVE_STEP):
        new = slice(end - CURVE_STEP, end)
        learner.learn_rows(X[new], {"labels": y[new]})
        curve.append(100 * learner.progress.mistakes / end)
    return curve


def _times(name: str) -> dict[str, dict[str, float]]:
    """Return the time of one pass as a multiple of that of BPAI with B = 1.

    Settings are timed in turns, so that load affects all of them; the best of seven counts.
    """
    part, plain = split(name, 0), READINGS["plain"]
    settings = [{"method": m, "batch": b} for m in LOSSES for b in BATCHES]
    turns = [[_time(part, setting, plain) for setting in settings] for _ in range(7)]
    best = dict(zip(product(LOSSES, BATCHES), np.min(turns, axis=0), strict=True))
    return {m: {str(b): float(best[m, b] / best["BPAI", 1]) for b in BATCHES} for m in LOSSES}


def _time(part: tuple[Array, ...], setting: Cell, reading: Reading) -> float:
    begin = process_time()
    for _ in range(5):
        _learn(part, setting, reading, C=0.1, width=1.0)
    return process_time() - begin
