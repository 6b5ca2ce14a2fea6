"""The learners: those of the paper, and PA against the best wrong class (MPA)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from aggro.settings import Settings

SLACKS = {"": "hard", "-I": "hinge", "-II": "squared_hinge"}
READINGS = {"PA": "predicted", "MPA": "top", "SPA": "support"}  # which classes are constrained
ONLINE = ("Perc", *(name + kind for name in READINGS for kind in SLACKS))
PRINTED = ("Perc", "PA", "PA-I", "PA-II", "SPA", "SPA-I", "SPA-II")  # learners of the paper
BATCH = ("LR", "M-SVM")

C_VALUES = tuple(float(f"1e{k}") for k in range(-5, 2))
BATCH_PRICES = {"LR": (0.01, 0.1, 1.0, 10.0), "M-SVM": (0.001, 0.003, 0.01, 0.03)}
BATCH_LIMITS: dict[str, dict[str, Any]] = {  # the default tolerances of both
    "LR": {"tol": 1e-4, "max_iter": 1000},
    "M-SVM": {"tol": 0.1, "max_iter": 10_000},
}


def settings(name: str, C: float = 1.0) -> Settings:
    """Return the settings of a learner, without an intercept as in the paper."""
    common: dict[str, Any] = {"task": "multiclass", "fit_intercept": False, "C": C}
    if name == "Perc":
        return Settings(loss="perceptron", multiclass="top", **common)
    family, dash, kind = name.partition("-")
    return Settings(loss=SLACKS[dash + kind], multiclass=READINGS[family], **common)


def C_values(name: str) -> tuple[float, ...]:
    """Return the values of C to choose from; hard rules have none."""
    return C_VALUES if name.endswith("I") else (1.0,)


def fitted(name: str, C: float, X: Any, y: Any) -> Any:
    """Return a batch learner; raise an error if it did not converge."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return _batch(name, C).fit(X, y)


def _batch(name: str, C: float) -> Any:
    """Return multinomial logistic regression or Crammer and Singer's multiclass SVM."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    common = {"C": C, "fit_intercept": False, **BATCH_LIMITS[name]}
    if name == "LR":
        return LogisticRegression(**common)
    return LinearSVC(multi_class="crammer_singer", random_state=0, **common)


def errors(scores: Any, y: Any) -> Any:
    """Return the error in percent; scores are rows x (models x) classes."""
    wrong = np.argmax(scores, axis=-1) != (y if scores.ndim == 2 else y[:, None])
    return 100 * wrong.mean(axis=0)
