"""A rejected batch changes nothing; an accepted one leaves finite numbers."""

import itertools

import numpy as np
import pytest
from linear_support import CASES, make_learner, same_state, stored, train

import aggro
from aggro.settings import Settings, are_compatible

RULES = ("hinge", "squared_hinge", "hard", "least_squares", "perceptron", "arow", "cw", "cw_stdev",
         "scw1", "scw2")  # fmt: skip
NUMBER_RULES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard", "least_squares",
                "arow")  # fmt: skip
AXES = [
    {},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"class_mean": 0.3},
    {"class_mean": 0.3, "forgetting": 0.2},
    {"class_mean": 0.3, "queue": 2},
    {"average": True},
    {"average": "reservoir", "reservoir_size": 2},
    {"metric": "diagonal", "average": True, "class_mean": 0.3},
    {"scale": "online"},
    {"scale": "standard"},
    {"batch_size": 3},
    {"batch_size": 3, "metric": "diagonal", "class_mean": 0.3},
]


def every_rule():
    for case in ("binary", "support", "ovr", "multilabel", "regressions"):
        task, outputs, multiclass = CASES[case]
        for loss, axes in itertools.product(RULES if task != "regression" else NUMBER_RULES, AXES):
            settings = Settings(task=task, loss=loss, multiclass=multiclass, **axes)
            if are_compatible(settings):
                name = "-".join(f"{k}={v}" for k, v in axes.items())
                yield pytest.param(settings, outputs, id=f"{case}-{loss}-{name or 'plain'}")


def extreme(rng, shape, most):
    """Return numbers of all sizes, some zero, and occasionally NaN or infinity."""
    values = rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-most, most, shape)
    values[rng.random(shape) < 0.3] = 0
    if rng.random() < 0.3:
        values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf])
    return values


def problem(rng, settings, outputs, features, dtype):
    """Return rows, most of moderate size, with targets and weights."""
    rows = rng.integers(1, 5)
    most = (300 if dtype == np.float64 else 37) * rng.choice([0.01, 0.3, 0.6, 1])
    with np.errstate(over="ignore"):
        X = extreme(rng, (rows, features), most).astype(dtype)
    X[:-1] = rng.standard_normal((rows - 1, features))
    if settings.task in ("binary", "multiclass"):
        y = rng.integers(0, max(outputs, 2), rows)
    elif settings.task == "multilabel":
        y = rng.choice([-1.0, 1.0], (rows, outputs))
    else:
        y = rng.choice([-1, 1], (rows, outputs)) * 10.0 ** rng.uniform(-most, most, (rows, outputs))
    weights = 10.0 ** rng.uniform(-1, 1, rows) ** rng.choice([1, 200])
    return X, y, weights if rng.random() < 0.5 else None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("settings", "outputs"), list(every_rule()))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rejected_batch_changes_nothing(settings, outputs, dtype):
    rng = np.random.default_rng(11)
    rejected = 0
    for features, storage in ((4, "dense"), (4, "csr32"), (60, "dense"), (60, "csr64")):
        learner = make_learner(settings, features, outputs, dtype)
        for _ in range(12):
            X, y, weights = problem(rng, settings, outputs, features, dtype)
            before = learner.state()
            try:
                train(learner, stored(X, storage, dtype), y, weights)
            except ValueError:
                rejected += 1
                after = learner.state()
                assert all(before[n].tobytes() == after[n].tobytes() for n in before)
            state = learner.state()
            assert all(np.isfinite(array).all() for array in state.values())
            assert np.isfinite(learner.intercept()).all()
    assert rejected > 0


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("features", [3, 500])
def test_rejected_second_row_changes_nothing(features, storage):
    """The first row, which succeeded, is rolled back."""
    X = np.zeros((2, features))
    X[0, :2], X[1, :3] = (1.0, 2.0), (1e70, 3e74, 1e-70)
    for loss, metric in itertools.product(("cw", "cw_stdev"), ("diagonal", "full")):
        model = aggro.ConfidenceWeightedClassifier(loss=loss, metric=metric)
        model.partial_fit(np.eye(2, features), [0, 1])
        before = model._learner.state()
        try:
            model.partial_fit(stored(X, storage), [0, 1])
        except ValueError:
            after = model._learner.state()
            assert all(before[name].tobytes() == after[name].tobytes() for name in before)
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "params", [{}, {"queue": 2}, {"batch_size": 2}, {"average": True}], ids=str
)
def test_class_means_of_huge_rows(params, dtype):
    """The intercept of a class mean is its squared norm, which may overflow."""
    size = 1e200 if dtype == np.float64 else 1e25
    X = np.array([[1.0, 0, 0], [size, 0, 0], [0, 0, 1]], dtype=dtype)
    model = aggro.PassiveAggressiveClassifier(class_mean=0.5, **params)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="overflow"):
            learn(X, [0, 1, 0])
        assert not hasattr(model, "coef_")
    model.partial_fit(np.eye(3, dtype=dtype), [0, 1, 0])
    before = model._learner.state()
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(X, [0, 1, 0])
    after = model._learner.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_huge_rows_do_not_spoil_the_variances():
    """The precision of a row of 1e200 overflows; features with value zero do not change."""
    for metric in ("diagonal", "full"):
        model = aggro.PassiveAggressiveClassifier(metric=metric)
        model.partial_fit([[1e200, 0.0, 3e199], [0.0, 1.0, 0.0]], [0, 1])
        assert all(np.isfinite(array).all() for array in model._learner.state().values())
        assert np.isfinite(model.partial_fit(np.eye(3), [1, 0, 1]).coef_).all()


def test_sparse_rows_of_a_large_table_are_restored():
    """This includes class sums that were folded or rescaled during the call."""
    rng = np.random.default_rng(5)
    settings = Settings(task="binary", class_mean=1.0, forgetting=0.3, average=True)
    learner = make_learner(settings, 5000, 1)
    rows = stored(rng.standard_normal((300, 5000)) * (rng.random((300, 5000)) < 0.002), "csr32")
    labels = rng.integers(0, 2, 300)
    train(learner, rows, labels)
    copy = train(make_learner(settings, 5000, 1), rows, labels)
    assert same_state(learner, copy)
    bad = rows.copy()
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        train(learner, bad, labels)
    assert same_state(learner, copy)
