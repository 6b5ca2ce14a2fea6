"""metric="auto" and scale="auto": learners of several shapes in one race."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor, StreamRegressor
from aggro.selection import ensemble as joint
from aggro.selection.search_space import CLASSIFICATION_PAIRS, FIRST_REMOVAL

OPEN = {"C": "auto", "metric": "auto", "scale": "auto"}


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def long_stream(n=9216, d=5, seed=0):
    """Columns of very different sizes, far from zero: some of the learners fall behind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0).astype(int)
    return (X + 3) * 10.0 ** np.linspace(-3, 3, d), y


def places(model):
    return sorted({(lane["metric"], lane["scale"]) for lane in model.candidates_})


def same(one, two):
    """Two races stand exactly alike."""
    assert one.candidates_ == two.candidates_
    for mine, other in zip(one._learner.learners, two._learner.learners, strict=True):
        assert mine.all_settings == other.all_settings
        states = mine.state(), other.state()
        for name, array in states[0].items():
            assert array.tobytes() == states[1][name].tobytes(), name


def test_candidates_report_metric_and_scale():
    X, y = (part[: FIRST_REMOVAL - 1] for part in cancer())
    assert places(PassiveAggressiveClassifier(**OPEN).partial_fit(X, y)) == sorted(
        CLASSIFICATION_PAIRS
    )
    metric = PassiveAggressiveClassifier(metric="auto", C=0.1).partial_fit(X, y)
    every = [(metric, "none") for metric in ("adagrad", "diagonal", "euclidean", "newton")]
    assert places(metric) == every
    assert [lane["C"] for lane in metric.candidates_] == 4 * [0.1] and metric.C_ == 0.1
    numbers = PassiveAggressiveRegressor(metric="auto", C=0.1).partial_fit(X, y)
    assert ("newton", "none") not in places(numbers)  # squared losses have the unit of the numbers
    for hard in ({"loss": "hard"}, {"C": np.inf}):  # which Newton's metric cannot price
        assert ("newton", "none") not in places(
            PassiveAggressiveClassifier(metric="auto", **hard).partial_fit(X, y)
        )
    scale = PassiveAggressiveClassifier(scale="auto", metric="full").partial_fit(X, y)
    assert places(scale) == [("full", scale) for scale in ("none", "online", "standard")]


@pytest.mark.parametrize("average", [False, True, "auto"])
@pytest.mark.parametrize("metric", ["auto", "diagonal"])
def test_the_best_candidate_is_the_same_model_learned_alone(metric, average):
    X, y = cancer()
    race = PassiveAggressiveClassifier(**{**OPEN, "metric": metric, "average": average})
    race.partial_fit(X, y)
    (leader,) = (lane for lane in race.candidates_ if lane["chosen"])
    chosen = {name: leader[name] for name in ("C", "metric", "scale")} | {"average": average}
    alone = PassiveAggressiveClassifier(**chosen).partial_fit(X, y)
    joint.weight(race._learner.learners, predict=False)  # as it is after more examples
    assert_close(race.coef_, alone.coef_, rtol=1e-8)
    assert_close(race.intercept_, alone.intercept_, rtol=1e-8)
    assert_array_equal(race.predict(X), alone.predict(X))
    assert leader["C"] == race.C_
    assert leader["mistakes"] == alone.n_mistakes_


def test_the_best_candidate_of_a_regression_too():
    X, y = load_diabetes(return_X_y=True)
    race = PassiveAggressiveRegressor(**OPEN, relative_epsilon=True).partial_fit(X, y)
    (leader,) = (lane for lane in race.candidates_ if lane["chosen"])
    chosen = {name: leader[name] for name in ("C", "metric", "scale")}
    alone = PassiveAggressiveRegressor(**chosen, relative_epsilon=True).partial_fit(X, y)
    assert_close(race.predict(X), alone.predict(X), rtol=1e-8)
    assert leader["recent_loss"] == min(lane["recent_loss"] for lane in race.candidates_)


@pytest.mark.parametrize("metric", ["auto", "euclidean", "diagonal"])
@pytest.mark.parametrize("filled", [True, False])
def test_sparse_rows_are_centred_if_every_eighth_feature_is_there(metric, filled):
    """The first row tells; zeros that are stored are none."""
    X, y = (part[: FIRST_REMOVAL - 1] for part in cancer())
    X = np.hstack([X[:, :4], np.zeros((len(X), 28))])
    X[1:, 5:] = 1.0
    X[0, 3] = float(filled)
    stored = sp.csr_matrix(np.where(X == 0, 7.0, X))
    stored.data[stored.data == 7.0] = 0.0
    race = PassiveAggressiveClassifier(C="auto", metric=metric, scale="auto")
    race.partial_fit(stored, y)
    assert {scale for _, scale in places(race)} == {"none", "online", *["standard"] * filled}
    dense = PassiveAggressiveClassifier(C="auto", metric=metric, scale="auto").partial_fit(X, y)
    if filled:  # the same race, but for rounding
        assert dense.n_mistakes_ == race.n_mistakes_


@pytest.mark.parametrize("learned", [100, 3500, 5000])
@pytest.mark.parametrize("average", [False, "auto"])
def test_copies_and_files_go_on_alike(learned, average, tmp_path):
    X, y = long_stream()
    race = PassiveAggressiveClassifier(**OPEN, average=average, random_state=0)
    race.partial_fit(X[:learned], y[:learned])
    aggro.save(race, tmp_path / "race.aggro")
    copies = [pickle.loads(pickle.dumps(race)), aggro.load(tmp_path / "race.aggro")]
    for copy in copies:
        same(race, copy)
    race.partial_fit(X[learned:], y[learned:])
    for copy in copies:
        same(race, copy.partial_fit(X[learned:], y[learned:]))
        assert copy.n_mistakes_ == race.n_mistakes_
    assert len(race._learner.learners) < len(CLASSIFICATION_PAIRS) * (2 if average == "auto" else 1)


@pytest.mark.parametrize("size", [500, 1024, 3001])
def test_selection_is_chunk_invariant(size):
    X, y = long_stream()
    whole, pieces = (PassiveAggressiveClassifier(**OPEN, random_state=0) for _ in range(2))
    whole.partial_fit(X, y)
    for start in range(0, len(y), size):
        pieces.partial_fit(X[start : start + size], y[start : start + size])
    same(whole, pieces)
    assert whole.n_mistakes_ == pieces.n_mistakes_


@pytest.mark.parametrize("size", [3050, 700, 1])
def test_the_grid_moves_at_the_same_examples_however_they_come(size, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = X[:, 0] * np.where(np.arange(9000) < 3000, 1.0, 1e6)  # far beyond the grid
    params = {"C": "auto", "epsilon": 0.0, "random_state": 0}
    whole, pieces = (PassiveAggressiveRegressor(**params) for _ in range(2))
    for model in (whole, pieces):
        model.partial_fit(X[:3050], y[:3050])
    aggro.save(pieces, tmp_path / "race.aggro")
    pieces = aggro.load(tmp_path / "race.aggro")
    first = max(lane["C"] for lane in whole.candidates_)
    whole.partial_fit(X[3050:], y[3050:])
    for start in range(3050, 9000, size):
        pieces.partial_fit(X[start : start + size], y[start : start + size])
    same(whole, pieces)
    assert max(lane["C"] for lane in whole.candidates_) > 2 * first


@pytest.mark.parametrize("learned", [0, 100, 3500])
def test_a_stream_that_was_stored_moves_its_grid_as_if_it_had_not_been(learned):
    rng = np.random.default_rng(0)
    model = StreamRegressor("PAR-I", C="auto", fit_intercept=False, epsilon=0.0)
    for i, x in enumerate(rng.normal(size=6000).tolist()):
        if i == learned:
            twin = pickle.loads(pickle.dumps(model))
        for one in (model, twin) if i >= learned else (model,):
            one.learn_one({"x": x}, x * (1.0 if i < 50 else 1e9))
    assert twin.candidates_ == model.candidates_
    assert max(lane["C"] for lane in model.candidates_) > 10.0


@pytest.mark.parametrize("learned", [0, 2000, 5000])
def test_a_rejected_row_leaves_the_selection_unchanged(learned):
    X, y = long_stream()
    race = PassiveAggressiveClassifier(**OPEN, random_state=0)
    if learned:
        race.partial_fit(X[:learned], y[:learned])
    twin = pickle.loads(pickle.dumps(race))
    bad = X[learned:].copy()
    bad[8000 - learned, 3] = np.nan  # others have left the race by then
    with pytest.raises(ValueError, match=f"row {8000 - learned}"):
        race.partial_fit(bad, y[learned:])
    if learned:
        same(race, twin)
    else:
        assert not hasattr(race, "_learner")
    for one in (race, twin):
        one.partial_fit(X[learned:], y[learned:])
    same(race, twin)
    assert race.n_mistakes_ == twin.n_mistakes_
    assert len(race._learner.learners) < len(CLASSIFICATION_PAIRS)


def test_the_selection_is_near_its_best_candidate():
    X, y = long_stream()
    race = PassiveAggressiveClassifier(**OPEN).partial_fit(X, y)
    assert race.n_mistakes_ <= min(lane["mistakes"] for lane in race.candidates_) + 0.01 * len(y)


def test_new_classes_keep_the_selection():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)) * [1, 10, 100, 1000]
    y = (X / [1, 10, 100, 1000] @ rng.normal(size=(4, 4))).argmax(axis=1)
    race = PassiveAggressiveClassifier(**OPEN)
    for start in range(0, 6000, 500):
        limit = 1 + start // 1000  # a class more every thousand rows
        race.partial_fit(X[start : start + 500], np.minimum(y[start : start + 500], limit))
    assert_array_equal(race.classes_, np.arange(4))
    assert race.score(X[5000:], y[5000:]) > 0.8


def test_no_weights_can_be_given():
    X, y = cancer()
    with pytest.raises(ValueError, match="cannot be given weights"):
        PassiveAggressiveClassifier(**OPEN).fit(X, y, coef_init=np.ones((1, X.shape[1])))
