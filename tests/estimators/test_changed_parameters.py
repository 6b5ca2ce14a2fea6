"""Parameters changed between calls take effect, or raise with a reason."""

import pickle

import numpy as np
import pytest
from estimator_support import CLASSIFIERS, KERNELS, REGRESSORS, ROWS, knowledge, targets_for

import aggro

# Effect of changing a parameter from its default before partial_fit.
TAKES_EFFECT = {
    "C": [0.01, np.float32(0.02)],
    "loss": ["squared_hinge", "hard", "squared_epsilon_insensitive", "cw_stdev", "scw2"],
    "epsilon": [2.0],
    "r": [7.0],
    "eta": [0.6],
    "multiclass": ["top"],
    "batch_size": [7],
    "class_weight": ["balanced", {0: 0.2}],
}
IS_FOR_FIT = {
    "max_iter": [3],
    "tol": [None, 0.5],
    "validation_fraction": [0.4],
    "n_iter_no_change": [2],
    "shuffle": [False],
    "verbose": [1],
    "n_jobs": [2, -1],
    "random_state": [5],
    "warm_start": [True],
    "probability": [True],
    "reservoir_size": [5],  # no reservoir is kept
    "trigger": ["always"],  # no pull to class means
    "fit_intercept": [np.True_],
    "memory": ["1MiB"],  # no selection
}
IS_REJECTED = {
    "C": ["auto"],
    "intercept_scaling": [0.5],
    "fit_intercept": [False],
    "average": [True, 5],
    "metric": ["full", "euclidean", "auto"],
    "queue": [3],
    "scale": ["online", "standard", "auto"],
    "features": ["fourier", "auto"],
    "forgetting": [0.01],
    "relative_epsilon": [True],
    "criterion": ["squared"],
    "mergeable": [True],
    "class_mean": [0.3],
    "multiclass": ["ovr", "top"],
    "early_stopping": [True],
    "kernel": ["linear", "poly", "precomputed"],
    "gamma": [0.5, "auto", np.array([1.0, 2.0])],
    "degree": [2],
    "coef0": [1.0],
    "budget": [9],
    "budget_strategy": ["nearest"],
}


def changes(cls, table):
    """Return pairs of a parameter and a value other than its default."""
    defaults = cls().get_params()
    for name in table.keys() & defaults.keys():
        for value in table[name]:
            if _possible(cls, name, value, defaults[name], table):
                yield name, value


def _possible(cls, name, value, default, table):
    if name == "loss":
        return value in cls._kind().losses and value != default
    if name == "multiclass":
        to_or_from_one_vs_rest = "ovr" in (value, default)
        return value != default and to_or_from_one_vs_rest == (table is IS_REJECTED)
    if name == "class_weight":
        return cls is not aggro.ConfidenceWeightedClassifier  # it has no C to multiply
    if name == "metric" and value in ("euclidean", "auto"):
        return cls in (aggro.PassiveAggressiveClassifier, aggro.PassiveAggressiveRegressor) and (
            value != default
        )
    if name == "average" and cls in KERNELS:
        return isinstance(value, (bool, np.bool_))
    if name == "C" and isinstance(value, str):
        return cls not in KERNELS
    return not (isinstance(default, type(value)) and value == default)


def begun(cls):
    y, C = targets_for(cls), {"C": 0.1} if "C" in cls().get_params() else {}
    return cls(random_state=1, **C).partial_fit(ROWS[:60], y[:60])


def gone_on(model):
    y = targets_for(type(model))
    return model.partial_fit(ROWS[60:], y[60:])


def weights_of(model):
    return model.dual_coef_ if type(model) in KERNELS else model.coef_


WORDS = "cannot change from|should be False with partial_fit|needs the rows themselves"
ALL = [*CLASSIFIERS, *REGRESSORS]


def test_every_parameter_is_covered():
    known = TAKES_EFFECT.keys() | IS_FOR_FIT.keys() | IS_REJECTED.keys()
    for cls in ALL:
        for name in cls().get_params():
            assert name in known, f"{cls.__name__}: {name}"


@pytest.mark.parametrize("cls", ALL)
def test_changed_parameters_take_effect(cls, tmp_path):
    unchanged = gone_on(begun(cls))
    for name, value in changes(cls, TAKES_EFFECT):
        model = gone_on(begun(cls).set_params(**{name: value}))
        moved = weights_of(model).shape != weights_of(unchanged).shape or not np.allclose(
            weights_of(model), weights_of(unchanged)
        )
        assert moved, (name, value)
        still_whole(model, tmp_path)


@pytest.mark.parametrize("cls", ALL)
def test_parameters_of_fit_do_not_affect_partial_fit(cls, tmp_path):
    unchanged = gone_on(begun(cls))
    for name, value in changes(cls, IS_FOR_FIT):
        model = gone_on(begun(cls).set_params(**{name: value}))
        assert np.array_equal(weights_of(model), weights_of(unchanged)), (name, value)
        still_whole(model, tmp_path)


@pytest.mark.parametrize("cls", ALL)
def test_rejected_change_is_explained_and_changes_nothing(cls, tmp_path):
    unchanged = gone_on(begun(cls))
    for name, value in changes(cls, IS_REJECTED):
        model = begun(cls)
        before, default = knowledge(model), model.get_params()[name]
        with pytest.raises(ValueError, match=f"(?=.*{name}).*({WORDS})"):
            gone_on(model.set_params(**{name: value}))
        model.set_params(**{name: default})
        assert knowledge(model) == before, (name, value)
        assert knowledge(gone_on(model)) == knowledge(unchanged), (name, value)
        still_whole(model, tmp_path)


def still_whole(model, folder):
    """Assert that copies and files predict and learn identically."""
    answers = model.predict(ROWS)
    scores = model.predict(ROWS) if type(model) in REGRESSORS else model.decision_function(ROWS)
    if type(model) not in KERNELS:
        assert np.allclose(scores, ROWS @ model.coef_.T + model.intercept_)
    aggro.save(model, folder / "model")
    for again in (pickle.loads(pickle.dumps(model)), aggro.load(folder / "model")):
        assert np.array_equal(again.predict(ROWS), answers)
        assert np.array_equal(weights_of(gone_on(again)), weights_of(gone_on(_copy(model))))


def _copy(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("start", ["reservoir", 5])
def test_average_and_its_size_stay(start):
    model = aggro.PassiveAggressiveClassifier(average=start).partial_fit(ROWS, targets_for(None))
    for change in ({"average": False}, {"average": 6}, {"reservoir_size": 3}):
        if start == 5 and "reservoir_size" in change:
            continue
        (name,) = change
        with pytest.raises(ValueError, match=f"{name} cannot change from"):
            gone_on(_copy(model).set_params(**change))


@pytest.mark.parametrize("name", ["class_mean", "queue", "fit_intercept", "metric", "average"])
def test_selection_rejects_the_same_changes(name, tmp_path):
    model = aggro.PassiveAggressiveClassifier(C="auto").partial_fit(ROWS, targets_for(None))
    before, default = knowledge(model), model.get_params()[name]
    value = {"class_mean": 0.3, "queue": 3, "fit_intercept": False, "metric": "full"}.get(
        name, True
    )
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        gone_on(model.set_params(**{name: value}))
    model.set_params(**{name: default})
    assert knowledge(model) == before
    aggro.save(model, tmp_path / "selection")
    assert knowledge(aggro.load(tmp_path / "selection")) == before


@pytest.mark.parametrize("cls", KERNELS)
def test_kernel_parameters_are_fixed(cls):
    """Changed parameters without effect change neither predictions nor attributes."""
    model = begun(cls)
    answers, intercept = model.predict(ROWS), model.intercept_
    model.set_params(kernel="linear", fit_intercept=False, gamma=9.0)
    assert np.array_equal(model.predict(ROWS), answers)
    assert np.array_equal(model.intercept_, intercept)
    assert not hasattr(model, "coef_")
    linear = cls(kernel="linear").partial_fit(ROWS, targets_for(cls)).set_params(kernel="rbf")
    shown = ROWS @ linear.coef_.T + linear.intercept_
    wanted = linear.predict(ROWS) if cls in REGRESSORS else linear.decision_function(ROWS)
    assert np.allclose(shown.squeeze(), wanted)


def test_C_in_use_is_reported():
    model = begun(aggro.PassiveAggressiveClassifier).set_params(C=0.25)
    assert model.C_ == 0.1  # until the next call that learns
    assert gone_on(model).C_ == 0.25
    assert not hasattr(begun(aggro.Perceptron), "C_")


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_shape_cannot_change_together_with_a_new_class(cls):
    model = begun(cls)
    before = knowledge(model)
    for change in ({"fit_intercept": False}, {"average": True}):
        with pytest.raises(ValueError, match="cannot change"):
            model.set_params(**change).partial_fit(ROWS[:2], [7, 8])
        model.set_params(fit_intercept=True, average=cls().average)
        assert knowledge(model) == before
