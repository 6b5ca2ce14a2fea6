"""Equality with scikit-learn: weights of the same rules, and the interface."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.linear_model as theirs
from estimator_support import sklearn_pa
from linear_support import make_problem, stored

import aggro

rng = np.random.default_rng(11)
N, D = 200, 9
KINDS = {"pa1": ("hinge", "epsilon_insensitive"),
         "pa2": ("squared_hinge", "squared_epsilon_insensitive")}  # fmt: skip
PAIRS = [(theirs.SGDClassifier, aggro.PassiveAggressiveClassifier),
         (theirs.SGDRegressor, aggro.PassiveAggressiveRegressor)]  # fmt: skip


def both(task, kind, C, average, passes, **more):
    """Return scikit-learn's estimator and ours with the same rule."""
    common = {
        "fit_intercept": False, "shuffle": False, "tol": None, "max_iter": passes,
        "average": average,
    }  # fmt: skip
    if task == "regression":
        ours = aggro.PassiveAggressiveRegressor(C=C, loss=KINDS[kind][1], epsilon=0.1, **common)
        return sklearn_pa("Regressor", kind, C, epsilon=0.1, **common), ours
    ours = aggro.PassiveAggressiveClassifier(C=C, loss=KINDS[kind][0], multiclass="ovr", **common)
    return sklearn_pa("Classifier", kind, C, **common), ours


@pytest.mark.parametrize("average", [False, True, 50])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("kind", ["pa1", "pa2"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_same_weights(task, kind, passes, average):
    """PA-I and PA-II without intercept, one-vs-rest, dense and CSR."""
    X, y = make_problem(task, 1 if task != "multiclass" else 4, rng, N, D)
    X = X[np.any(X != 0, axis=1)]
    y = y.ravel()[: len(X)]
    for C in (0.02, 1.0):
        for storage in ("dense", "csr32"):
            one, two = both(task, kind, C, average, passes)
            rows = stored(X, storage)
            one.fit(rows, y)
            two.fit(rows, y)
            scale = 1e-12 * (1 + np.abs(one.coef_).max())
            np.testing.assert_allclose(two.coef_, one.coef_, rtol=0, atol=scale)
            assert two.t_ == one.t_
            assert two.n_iter_ == one.n_iter_
            np.testing.assert_allclose(two.predict(rows), one.predict(rows), rtol=0, atol=1e-11)


def test_same_weights_in_a_stream():
    X, y = make_problem("binary", 1, rng, N, D)
    one, two = both("binary", "pa1", 0.1, False, 1)
    for start in range(0, N, 17):
        some = slice(start, start + 17)
        one.partial_fit(X[some], y[some], classes=[0, 1])
        two.partial_fit(X[some], y[some], classes=[0, 1])
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=0, atol=1e-12)


def old(name):
    """Return scikit-learn's class of this name, or skip if it was removed."""
    if not hasattr(theirs, name):
        pytest.skip(f"this scikit-learn has no {name} any more")
    return getattr(theirs, name)


FITTED = ("coef_", "intercept_", "classes_", "n_iter_", "t_", "n_features_in_")
NAMES = ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_with_the_same_default_but_three(name):
    ours = inspect.signature(getattr(aggro, name)).parameters
    known = inspect.signature(old(name)).parameters.values()
    other = {each.name for each in known if ours[each.name].default != each.default}
    early = {"early_stopping"} if name == "PassiveAggressiveClassifier" else set()
    assert other == {"average", "random_state"} | early  # explained in docs/migrating.md


@pytest.mark.parametrize("name", NAMES)
def test_every_method_and_its_arguments(name):
    there, ours = old(name), getattr(aggro, name)
    gone = {"loss_functions"}  # a table of scikit-learn's loss objects
    for method in set(dir(there)) - gone:
        if method.startswith("_") or not callable(getattr(there, method)):
            continue
        wanted = inspect.signature(getattr(there, method)).parameters
        given = list(inspect.signature(getattr(ours, method)).parameters)
        assert given[: len(wanted)] == list(wanted), method  # additional parameters are last


@pytest.mark.parametrize("name", NAMES)
def test_an_old_script_runs_unchanged(name):
    """The same script runs with both classes: methods, attributes and their shapes."""
    X = rng.standard_normal((90, 5))
    shown = []
    for cls in (old(name), getattr(aggro, name)):
        for y in [X[:, 0] > 0] + [X.argmax(axis=1)] * name.endswith("Classifier"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                model = cls(C=0.5, max_iter=1000, tol=1e-3, random_state=3, average=False)
                model.set_params(early_stopping=False, n_iter_no_change=3)
                model.fit(X, y, coef_init=None, intercept_init=None)
                model.partial_fit(X[:10], y[:10])
                model.sparsify()
                sparse = model.coef_.size
                model.densify()
                named = [name for name in FITTED if hasattr(model, name)]
            scores = model.decision_function(X).shape if hasattr(cls, "decision_function") else ()
            shape = np.squeeze(model.coef_).shape  # shape after densify differs between versions
            shown.append((named, sparse, shape, model.intercept_.shape, scores,
                          model.predict(X).shape, np.isfinite(model.score(X, y))))  # fmt: skip
    half = len(shown) // 2
    assert shown[:half] == shown[half:]
