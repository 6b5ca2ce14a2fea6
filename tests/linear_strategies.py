"""Hypothesis strategies: variants of the linear learner, with data."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from linear_support import (
    AXES,
    CASES,
    CLASS_LOSSES,
    NUMBER_LOSSES,
    make_learner,
    make_problem,
    train,
)

from aggro.settings import Settings, are_compatible


class Variant:
    """Settings, with data that they can learn."""

    def __init__(self, settings, outputs, seed, n, d):
        self.settings, self.outputs, self.seed = settings, outputs, seed
        self.rng = np.random.default_rng(seed)
        self.X, self.y = make_problem(settings.task, outputs, self.rng, n, d)

    def __repr__(self):
        return f"Variant({self.settings}, outputs={self.outputs}, seed={self.seed})"

    def learner(self, dtype=np.float64, **changes):
        settings = replace(self.settings, **changes)
        return make_learner(settings, self.X.shape[1], self.outputs, dtype, seed=3)

    def trained(self, X=None, y=None, weights=None, dtype=np.float64, **changes):
        X, y = self.X if X is None else X, self.y if y is None else y
        return train(self.learner(dtype, **changes), X, y, weights)


NAMES = ("fit_intercept", "metric", "class_mean", "trigger", "queue", "batch_size", "average")
DRAWN = {"C": (0.05, 0.5, 3.0), **{name: AXES[name] for name in NAMES}}


@st.composite
def variants(draw, cases=tuple(CASES), losses=range(4), n=30, d=6, **fixed):
    """Draw a value for each axis, except those given in ``fixed``."""
    task, outputs, multiclass = CASES[draw(st.sampled_from(list(cases)))]
    names = NUMBER_LOSSES if task == "regression" else CLASS_LOSSES
    choice = {name: draw(st.sampled_from(values)) for name, values in DRAWN.items()} | fixed
    if task == "regression":
        choice["class_mean"] = 0.0
    loss = names[draw(st.sampled_from(list(losses)))]
    if loss == "least_squares" and multiclass == "support" and task == "multiclass":
        loss = "hinge"
    if loss == "hard" and choice["metric"] == "newton":
        choice["metric"] = "diagonal"
    settings = Settings(task=task, multiclass=multiclass, loss=loss, epsilon=0.1, **choice)
    assert are_compatible(settings)
    return Variant(settings, outputs, draw(st.integers(0, 10**6)), n, d)


def close(a, b, tolerance=1e-9):
    """Assert that two learners predict with the same weights."""
    scale = 1 + np.abs(b.coef()).max() + np.abs(b.intercept()).max()
    np.testing.assert_allclose(a.coef(), b.coef(), rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(a.intercept(), b.intercept(), rtol=0, atol=tolerance * scale)
