"""Class sums of long streams in single precision use compensated summation."""

import pickle

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_learner, train

import aggro
from aggro.learner import Learner
from aggro.selection.learners import select
from aggro.settings import Settings


def far_from_zero(n, d=6, classes=2, seed=0, offset=1000.0):
    """Return rows around 1000: their sums are as large as those of a million rows around 100."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centres = rng.standard_normal((classes, d)) * 1.5
    return (offset + centres[y] + rng.standard_normal((n, d))).astype(np.float32), y


AXES = [{}, {"queue": 2}, {"batch_size": 8}, {"forgetting": 1e-5}, {"average": True}]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_single_precision_class_sums_are_accurate(classes, axes):
    X, y = far_from_zero(100_000, classes=classes)
    task = "binary" if classes == 2 else "multiclass"
    settings = Settings(task=task, class_mean=1.0, C=1e-6, **axes)
    outputs = 1 if classes == 2 else classes
    sums = {}
    for dtype in (np.float32, np.float64):
        learner = train(make_learner(settings, X.shape[1], outputs, dtype), X.astype(dtype), y)
        state = learner.state()
        table = state["weights"].reshape(X.shape[1], -1)
        count = outputs + learner.model.keeps_total
        sums[dtype] = table[:, learner.outputs :][:, :count].astype(np.float64)
        norms = state["class_sum_norm"]
        assert_close(norms, (sums[dtype][:, : len(norms)] ** 2).sum(axis=0), rtol=1e-4)
    assert_close(sums[np.float32], sums[np.float64], rtol=2e-7)


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_accuracy_on_a_long_stream_is_that_of_double_precision(gamma):
    X, y = far_from_zero(300_000, d=5, offset=300.0)
    rough, exact = (
        aggro.PassiveAggressiveClassifier(class_mean=gamma, C=1e-3).partial_fit(X.astype(t), y)
        for t in (np.float32, np.float64)
    )
    Z, labels = X[-5000:], y[-5000:]
    assert exact.score(Z.astype(np.float64), labels) > 0.9
    assert rough.score(Z, labels) > exact.score(Z.astype(np.float64), labels) - 0.01


SETTINGS = Settings(task="binary", class_mean=0.5, C=0.01)


def test_states_without_compensation_terms_load():
    X, y = far_from_zero(500)
    learner = train(make_learner(SETTINGS, X.shape[1], 1, np.float32), X, y)
    state = learner.state()
    assert np.any(state.pop("class_sum_rest"))
    again = make_learner(SETTINGS, X.shape[1], 1, np.float32)
    train(again, X, y)
    again.load_state(state)
    assert not np.any(again.state()["class_sum_rest"])
    assert np.array_equal(again.coef(), learner.coef())


def test_compensation_terms_are_copied_with_the_model(tmp_path):
    """Pickles, files, selection and new features keep the full precision of the sums."""
    X, y = far_from_zero(2000)
    model = aggro.PassiveAggressiveClassifier(class_mean=0.5).partial_fit(X, y)
    rest = model._learner.state()["class_sum_rest"]
    aggro.save(model, tmp_path / "model.aggro")
    for copy in (pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")):
        assert np.array_equal(copy._learner.state()["class_sum_rest"], rest)
    pair = Learner([SETTINGS, SETTINGS], X.shape[1], 2, np.float32)
    train(pair, X, y)
    one = select(pair, [1], [SETTINGS])
    assert np.array_equal(one.state()["class_sum_rest"], pair.state()["class_sum_rest"])
    grown = aggro.PassiveAggressiveClassifier(class_mean=0.5).partial_fit(X, y)
    grown.partial_fit(X[:1], np.array([2]))
    state = grown._learner.state()
    table = state["weights"].reshape(X.shape[1], -1)[:, 3:6].astype(np.float64)
    exact = table + state["class_sum_rest"].reshape(X.shape[1], -1)
    for label in (0, 1):
        total = X[y == label].sum(axis=0, dtype=np.float64)
        assert_close(exact[:, label], total, rtol=1e-12)


@pytest.mark.parametrize("class_mean", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("multiclass", ["support", "ovr"])
@pytest.mark.parametrize("average", [False, True, "auto"])
def test_class_means_and_averages_are_accurate_in_single_precision(average, multiclass, class_mean):
    """Weights are pulled to the class means at each step and averaged over all rounds."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    y = (X[:, :3] + rng.normal(size=(600, 3))).argmax(axis=1)
    axes = {"average": average, "multiclass": multiclass, "class_mean": class_mean}
    scores = []
    for dtype in (np.float32, np.float64):
        model = aggro.PassiveAggressiveClassifier(C=0.3, **axes)
        rows = X.astype(dtype)
        for part in np.array_split(np.arange(600), 20):
            model.partial_fit(rows[part], y[part], classes=range(3))
        scores.append(model.decision_function(rows))
        assert_close(rows @ model.coef_.T + model.intercept_, scores[-1], rtol=1e-4)
    assert_close(*scores, rtol=1e-3)


@pytest.mark.parametrize("multiclass", ["support", "ovr"])
@pytest.mark.parametrize(("class_mean", "forgetting"), [(0.01, 0.02), (0.03, 0.05), (0.1, 0.2)])
def test_mean_weights_are_accurate_while_class_means_forget(class_mean, forgetting, multiclass):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(600, 8)).astype(np.float32), rng.integers(0, 3, 600)
    axes = {"average": True, "multiclass": multiclass, "trigger": "always"}
    axes |= {"class_mean": class_mean, "forgetting": forgetting}
    model = aggro.PassiveAggressiveClassifier(C=0.3, **axes)
    for part in np.array_split(np.arange(600), 120):
        model.partial_fit(X[part], y[part], classes=range(3))
        scores = X @ model.coef_.T + model.intercept_
        assert_close(model.decision_function(X), scores, rtol=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad"])
@pytest.mark.parametrize("classes", [2, 3])
def test_shrinking_weight_scale_does_not_overflow_steps(classes, metric):
    """Hard steps along short rows are long, and are divided by a scale that pulls shrink."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2)) * 10.0 ** rng.uniform(-6, 0, size=(4000, 1))
    y = rng.integers(0, classes, 4000)  # random labels: every row causes a step
    axes = {"loss": "hard", "metric": metric, "class_mean": 0.1, "average": False}
    axes["fit_intercept"] = False
    rough, exact = (
        aggro.PassiveAggressiveClassifier(**axes).partial_fit(X.astype(t), y)
        for t in (np.float32, np.float64)
    )
    size = np.abs(exact.coef_).max()
    np.testing.assert_allclose(rough.coef_, exact.coef_, atol=0.01 * size)
