"""Candidates of metric="auto" and scale="auto": their learners, removal and copies."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor, StreamRegressor
from aggro.selection import ensemble as ensemble
from aggro.selection.search_space import CLASSIFICATION_PAIRS, FIRST_REMOVAL

ALL_AUTO = {"C": "auto", "metric": "auto", "scale": "auto"}


def shuffled_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def badly_scaled_rows(n=9216, d=5, seed=0):
    """Return columns of very different sizes and means, so that some candidates are removed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0).astype(int)
    return (X + 3) * 10.0 ** np.linspace(-3, 3, d), y


def axes_of(model):
    return sorted({(candidate["metric"], candidate["scale"]) for candidate in model.candidates_})


def assert_same_state(one, two):
    """Assert that two model selections are in the same state, bit for bit."""
    assert one.candidates_ == two.candidates_
    for mine, other in zip(one._learner.learners, two._learner.learners, strict=True):
        assert mine.all_settings == other.all_settings
        states = mine.state(), other.state()
        for name, array in states[0].items():
            assert array.tobytes() == states[1][name].tobytes(), name


def test_candidates_report_metric_and_scale():
    X, y = (part[: FIRST_REMOVAL - 1] for part in shuffled_cancer())
    assert axes_of(PassiveAggressiveClassifier(**ALL_AUTO).partial_fit(X, y)) == sorted(
        CLASSIFICATION_PAIRS
    )
    metric = PassiveAggressiveClassifier(metric="auto", C=0.1).partial_fit(X, y)
    every = [(metric, "none") for metric in ("adagrad", "diagonal", "euclidean", "newton")]
    assert axes_of(metric) == every
    assert [candidate["C"] for candidate in metric.candidates_] == 4 * [0.1] and metric.C_ == 0.1
    numbers = PassiveAggressiveRegressor(metric="auto", C=0.1).partial_fit(X, y)
    assert ("newton", "none") not in axes_of(numbers)  # squared losses have the unit of the numbers
    for hard in ({"loss": "hard"}, {"C": np.inf}):  # Newton's metric needs a finite C
        assert ("newton", "none") not in axes_of(
            PassiveAggressiveClassifier(metric="auto", **hard).partial_fit(X, y)
        )
    scale = PassiveAggressiveClassifier(scale="auto", metric="full").partial_fit(X, y)
    assert axes_of(scale) == [("full", scale) for scale in ("none", "online", "standard")]


@pytest.mark.parametrize("average", [False, True, "auto"])
@pytest.mark.parametrize("metric", ["auto", "diagonal"])
def test_the_best_candidate_is_the_same_model_learned_alone(metric, average):
    X, y = shuffled_cancer()
    model = PassiveAggressiveClassifier(**{**ALL_AUTO, "metric": metric, "average": average})
    model.partial_fit(X, y)
    (best,) = (candidate for candidate in model.candidates_ if candidate["chosen"])
    chosen = {name: best[name] for name in ("C", "metric", "scale")} | {"average": average}
    alone = PassiveAggressiveClassifier(**chosen).partial_fit(X, y)
    ensemble.weight(model._learner.learners, predict=False)  # as it is after more examples
    assert_close(model.coef_, alone.coef_, rtol=1e-8)
    assert_close(model.intercept_, alone.intercept_, rtol=1e-8)
    assert_array_equal(model.predict(X), alone.predict(X))
    assert best["C"] == model.C_
    assert best["mistakes"] == alone.n_mistakes_


def test_the_best_candidate_of_a_regressor_is_the_same_model_learned_alone():
    X, y = load_diabetes(return_X_y=True)
    model = PassiveAggressiveRegressor(**ALL_AUTO, relative_epsilon=True).partial_fit(X, y)
    (best,) = (candidate for candidate in model.candidates_ if candidate["chosen"])
    chosen = {name: best[name] for name in ("C", "metric", "scale")}
    alone = PassiveAggressiveRegressor(**chosen, relative_epsilon=True).partial_fit(X, y)
    assert_close(model.predict(X), alone.predict(X), rtol=1e-8)
    assert best["recent_loss"] == min(candidate["recent_loss"] for candidate in model.candidates_)


@pytest.mark.parametrize("metric", ["auto", "euclidean", "diagonal"])
@pytest.mark.parametrize("filled", [True, False])
def test_sparse_rows_are_centred_if_an_eighth_of_the_first_row_is_not_zero(metric, filled):
    """Stored zeros do not count."""
    X, y = (part[: FIRST_REMOVAL - 1] for part in shuffled_cancer())
    X = np.hstack([X[:, :4], np.zeros((len(X), 28))])
    X[1:, 5:] = 1.0
    X[0, 3] = float(filled)
    stored = sp.csr_matrix(np.where(X == 0, 7.0, X))
    stored.data[stored.data == 7.0] = 0.0
    model = PassiveAggressiveClassifier(C="auto", metric=metric, scale="auto")
    model.partial_fit(stored, y)
    assert {scale for _, scale in axes_of(model)} == {"none", "online", *["standard"] * filled}
    dense = PassiveAggressiveClassifier(C="auto", metric=metric, scale="auto").partial_fit(X, y)
    if filled:  # the same candidates, except for rounding
        assert dense.n_mistakes_ == model.n_mistakes_


@pytest.mark.parametrize("learned", [100, 3500, 5000])
@pytest.mark.parametrize("average", [False, "auto"])
def test_copies_and_loaded_models_continue_alike(learned, average, tmp_path):
    X, y = badly_scaled_rows()
    model = PassiveAggressiveClassifier(**ALL_AUTO, average=average, random_state=0)
    model.partial_fit(X[:learned], y[:learned])
    aggro.save(model, tmp_path / "race.aggro")
    copies = [pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "race.aggro")]
    for copy in copies:
        assert_same_state(model, copy)
    model.partial_fit(X[learned:], y[learned:])
    for copy in copies:
        assert_same_state(model, copy.partial_fit(X[learned:], y[learned:]))
        assert copy.n_mistakes_ == model.n_mistakes_
    assert len(model._learner.learners) < len(CLASSIFICATION_PAIRS) * (
        2 if average == "auto" else 1
    )


@pytest.mark.parametrize("size", [500, 1024, 3001])
def test_selection_is_chunk_invariant(size):
    X, y = badly_scaled_rows()
    whole, pieces = (PassiveAggressiveClassifier(**ALL_AUTO, random_state=0) for _ in range(2))
    whole.partial_fit(X, y)
    for start in range(0, len(y), size):
        pieces.partial_fit(X[start : start + size], y[start : start + size])
    assert_same_state(whole, pieces)
    assert whole.n_mistakes_ == pieces.n_mistakes_


@pytest.mark.parametrize("size", [3050, 700, 1])
def test_moves_of_the_grid_are_chunk_invariant(size, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = X[:, 0] * np.where(np.arange(9000) < 3000, 1.0, 1e6)  # far beyond the grid
    params = {"C": "auto", "epsilon": 0.0, "random_state": 0}
    whole, pieces = (PassiveAggressiveRegressor(**params) for _ in range(2))
    for model in (whole, pieces):
        model.partial_fit(X[:3050], y[:3050])
    aggro.save(pieces, tmp_path / "race.aggro")
    pieces = aggro.load(tmp_path / "race.aggro")
    first = max(candidate["C"] for candidate in whole.candidates_)
    whole.partial_fit(X[3050:], y[3050:])
    for start in range(3050, 9000, size):
        pieces.partial_fit(X[start : start + size], y[start : start + size])
    assert_same_state(whole, pieces)
    assert max(candidate["C"] for candidate in whole.candidates_) > 2 * first


@pytest.mark.parametrize("learned", [0, 100, 3500])
def test_a_pickled_stream_moves_its_grid_as_the_original(learned):
    rng = np.random.default_rng(0)
    model = StreamRegressor("PAR-I", C="auto", fit_intercept=False, epsilon=0.0)
    for i, x in enumerate(rng.normal(size=6000).tolist()):
        if i == learned:
            copy = pickle.loads(pickle.dumps(model))
        for one in (model, copy) if i >= learned else (model,):
            one.learn_one({"x": x}, x * (1.0 if i < 50 else 1e9))
    assert copy.candidates_ == model.candidates_
    assert max(candidate["C"] for candidate in model.candidates_) > 10.0


@pytest.mark.parametrize("learned", [0, 2000, 5000])
def test_a_rejected_row_leaves_the_selection_unchanged(learned):
    X, y = badly_scaled_rows()
    model = PassiveAggressiveClassifier(**ALL_AUTO, random_state=0)
    if learned:
        model.partial_fit(X[:learned], y[:learned])
    copy = pickle.loads(pickle.dumps(model))
    bad = X[learned:].copy()
    bad[8000 - learned, 3] = np.nan  # after some candidates were removed
    with pytest.raises(ValueError, match=f"row {8000 - learned}"):
        model.partial_fit(bad, y[learned:])
    if learned:
        assert_same_state(model, copy)
    else:
        assert not hasattr(model, "_learner")
    for one in (model, copy):
        one.partial_fit(X[learned:], y[learned:])
    assert_same_state(model, copy)
    assert model.n_mistakes_ == copy.n_mistakes_
    assert len(model._learner.learners) < len(CLASSIFICATION_PAIRS)


def test_the_selection_makes_few_more_mistakes_than_its_best_candidate():
    X, y = badly_scaled_rows()
    model = PassiveAggressiveClassifier(**ALL_AUTO).partial_fit(X, y)
    assert model.n_mistakes_ <= min(
        candidate["mistakes"] for candidate in model.candidates_
    ) + 0.01 * len(y)


def test_new_classes_keep_the_selection():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)) * [1, 10, 100, 1000]
    y = (X / [1, 10, 100, 1000] @ rng.normal(size=(4, 4))).argmax(axis=1)
    model = PassiveAggressiveClassifier(**ALL_AUTO)
    for start in range(0, 6000, 500):
        limit = 1 + start // 1000  # one more class every thousand rows
        model.partial_fit(X[start : start + 500], np.minimum(y[start : start + 500], limit))
    assert_array_equal(model.classes_, np.arange(4))
    assert model.score(X[5000:], y[5000:]) > 0.8


def test_initial_weights_are_rejected():
    X, y = shuffled_cancer()
    with pytest.raises(ValueError, match="cannot be given weights"):
        PassiveAggressiveClassifier(**ALL_AUTO).fit(X, y, coef_init=np.ones((1, X.shape[1])))
