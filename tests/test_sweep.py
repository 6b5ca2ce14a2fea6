"""Settings swept side by side are the settings learned alone."""

import doctest

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import aggro
from aggro.bundle import same_shape, select
from aggro.learner import Learner, rows_of
from aggro.rules import Settings


def problem(classes=3, n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = (X @ rng.normal(size=(d, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "fixed",
    [
        {},
        {"multiclass": "ovr"},
        {"metric": "diagonal"},
        {"metric": "full"},
        {"average": True},
        {"class_mean": 0.2},
        {"queue": 3},
        {"batch_size": 4},
        {"average": "reservoir"},
    ],
    ids=str,
)
def test_a_lane_equals_the_setting_learned_alone(classes, storage, fixed):
    X, y = problem(classes)
    X = storage(X)
    result = aggro.sweep(X, y, C=[0.01, 0.1, 1.0], loss=["hinge", "squared_hinge"], **fixed)
    for row in result.rows:
        model = result.model(row)
        alone = aggro.PassiveAggressiveClassifier(random_state=0, **row.params)
        alone.partial_fit(X, y, classes=np.unique(y))
        if fixed.get("average") != "reservoir":  # which draws other random numbers side by side
            assert_allclose(model.coef_, alone.coef_, rtol=1e-12, atol=1e-14)
            assert_allclose(model.intercept_, alone.intercept_, rtol=1e-12, atol=1e-14)
        assert row.updates == [alone.n_updates_]
        assert_allclose(row.losses[0] * len(y), alone.cumulative_loss_)
        if "average" not in fixed:
            assert row.error == pytest.approx(alone.n_mistakes_ / len(y))


def test_a_model_taken_out_goes_on_learning_as_if_it_had_been_alone():
    X, y = problem()
    model = aggro.sweep(X[:200], y[:200], C=[0.03, 0.3], metric="diagonal", average=True).model(1)
    alone = aggro.PassiveAggressiveClassifier(C=0.3, metric="diagonal", average=True)
    alone.partial_fit(X[:200], y[:200], classes=[0, 1, 2])
    for one in (model, alone):
        one.partial_fit(X[200:], y[200:])
    assert_allclose(model.coef_, alone.coef_, rtol=1e-12)
    assert model.t_ == alone.t_


def test_settings_of_other_shapes_are_learned_too():
    X, y = problem()
    result = aggro.sweep(X, y, metric=["euclidean", "diagonal"], average=[False, True], C=0.1)
    assert len(result.rows) == 4
    assert len({same_shape(row.settings) for row in result.rows}) == 4
    assert all(0 < row.error < 0.7 for row in result.rows)


def test_orders_give_mean_and_spread():
    X, y = problem()
    result = aggro.sweep(X, y, C=[0.1], orders=5, seed=1)
    (row,) = result.rows
    assert len(row.errors) == 5 and row.spread > 0
    assert row.error == pytest.approx(np.mean(row.errors))
    again = aggro.sweep(X, y, C=[0.1], orders=5, seed=1)
    assert again.rows[0].errors == row.errors


def test_algorithms_of_the_catalogue():
    X, y = problem()
    result = aggro.sweep(X, y, algorithm=["PA-I", "SPA-II", "AROW", "PAm-1"], C=[0.1, 1.0])
    assert [row.name for row in result.rows if "AROW" in row.name] == ["algorithm=AROW"]
    assert type(result.model(result.rows[4])).__name__ == "AROWClassifier"
    table = str(result)
    assert table.count("\n") == len(result.rows) and "*" in table


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X @ np.arange(5.0) + 0.1 * rng.normal(size=400)
    result = aggro.sweep(X, y, C=[1e-4, 1.0], epsilon=0.05)
    assert result.best.params["C"] == 1.0
    assert result.model().score(X, y) > 0.9
    assert result.best.curve[-1][1] == pytest.approx(result.best.error)


def test_the_example_is_true():
    import aggro.sweeping

    failed, tried = doctest.testmod(aggro.sweeping)
    assert failed == 0 and tried > 0


def test_plot(tmp_path):
    X, y = problem()
    aggro.sweep(X, y, C=[0.1, 1.0], loss=["hinge", "hard"]).plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"c": [1.0]}, "no axis 'c'"),
        ({"C": [-1.0]}, "C=-1.0 is not valid"),
        ({"algorithm": ["KPA"]}, "kernel learner"),
        ({"algorithm": ["nonsense"]}, "no variant"),
    ],
)
def test_bad_axes(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        aggro.sweep(*problem(), **wrong)


def test_select_can_double_a_model():
    X, y = problem(2)
    settings = [Settings(task="binary", C=c, class_mean=0.1) for c in (0.1, 1.0)]
    learner = Learner(settings, X.shape[1], 2)
    learner.learn(rows_of(X), labels=y)
    twice = select(learner, [1, 1, 0], [settings[1], settings[1], settings[0]])
    for place, source in enumerate((1, 1, 0)):
        assert_allclose(twice.coef(place), learner.coef(source))
        assert twice.progress_of(place) == learner.progress_of(source)
