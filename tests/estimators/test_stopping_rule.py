"""The end of fit: the rule on given losses, scikit-learn's passes, and warnings."""

import warnings

import numpy as np
import pytest
from estimator_support import CLASSES, KERNELS, ROWS, sklearn_pa, targets_for
from sklearn.exceptions import ConvergenceWarning
from stopping_support import Scripted, passes_made

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.passes import Patience, StopByHeldOutRows

ESTIMATORS = [PassiveAggressiveClassifier, PassiveAggressiveRegressor, *KERNELS]
# Losses of passes over 4 rows, tol, n_iter_no_change, and the last pass of fit.
SCRIPTS = {
    "no pass improves by tol": ([8, 7, 6, 5, 4], 0.5, 2, 3),
    "exactly tol is an improvement": ([8, 6, 4, 2, 1.5, 1.5], 0.5, 2, 6),
    "just below tol is none": ([8, 6.01, 6, 5.9], 0.5, 3, 4),
    "measured from the best, not from the last": ([8, 4, 9, 3, 3.5], 0.5, 3, 5),
    "an improvement restarts the count": ([8, 8, 4, 4, 2, 2, 2], 0.25, 2, 7),
    "one pass of patience": ([8, 7.9], 0.5, 1, 2),
    "equal losses with tol 0 improve": ([8, 8, 8, 9, 9], 0.0, 2, 5),
    "a negative tol allows a step back": ([8, 9, 10, 12.1, 12.1], -0.5, 2, 5),
}


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_fit_ends_after_n_passes_without_improvement(cls, name):
    losses, tol, patience, last = SCRIPTS[name]
    model = cls(tol=tol, n_iter_no_change=patience, max_iter=50)
    assert passes_made(model, Scripted([*losses, *[99] * 50])) == last


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_rows_of_weight_zero_do_not_change_when_fit_ends(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.normal(size=60)
    y = y if cls.__name__.endswith("Regressor") else (y > 0).astype(int)
    weights = np.repeat([0.0, 1.0], [30, 30])
    for tol in (0.1, 0.03, 0.01):
        params = {"tol": tol, "n_iter_no_change": 1, "shuffle": False, "max_iter": 200}
        absent = cls(**params).fit(X, y, sample_weight=weights)
        present = cls(**params).fit(X[30:], y[30:])
        assert absent.n_iter_ == present.n_iter_


def test_held_out_quality_ends_fit():
    """Quality counts, not loss; tol is not multiplied by the number of rows."""
    qualities = [0.5, 0.625, 0.75, 0.874, 0.86, 0.874]
    model = PassiveAggressiveClassifier(tol=0.125, n_iter_no_change=3, max_iter=50)
    rule = StopByHeldOutRows(np.array([1]), lambda _: {0: qualities.pop(0)}, 0.125, 3)
    assert passes_made(model, Scripted([1] * 50), rule) == 6


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_without_tol_all_passes_are_made(cls):
    learner = Scripted([1] * 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert passes_made(cls(tol=None, max_iter=7), learner) == 7
    if cls not in KERNELS:
        assert learner.frozen is False  # later rows are new


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_last_allowed_pass_may_end_by_the_rule(cls):
    """There is no warning if the rule ends fit at max_iter; otherwise it points to the caller."""
    model = cls(tol=0.5, n_iter_no_change=2, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert passes_made(model, Scripted([8] * 3)) == 3
    with pytest.warns(ConvergenceWarning, match=r"\(2\).*max_iter.*tol=None") as found:
        cls(max_iter=2).fit(ROWS, targets_for(cls))
    assert found[0].filename == __file__


def test_nan_is_no_improvement():
    for quality in (np.nan, -np.inf):
        patience = Patience(0.1, 3)
        assert [patience.ends_with(quality) for _ in range(3)] == [False, False, True]
    patience = Patience(0.5, 2)
    assert [patience.ends_with(q) for q in (1.0, np.nan, 1.5, np.nan, 1.9)] == [False] * 4 + [True]


@pytest.mark.parametrize("tol", [1e-3, 1e-1, None])
def test_number_of_passes_equals_scikit_learn(tol):
    common = {
        "tol": tol, "max_iter": 40, "shuffle": False, "fit_intercept": False, "n_iter_no_change": 3
    }  # fmt: skip
    theirs = sklearn_pa("Classifier", "pa1", 0.01, **common)
    ours = PassiveAggressiveClassifier(C=0.01, **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert ours.fit(ROWS, CLASSES > 0).n_iter_ == theirs.fit(ROWS, CLASSES > 0).n_iter_
