"""C="auto" of the stream learners: every lane is the stream with that C, and the best predicts."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import aggro
from aggro import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    StreamClassifier,
    StreamRegressor,
)
from aggro.selection.search_space import FIRST_REMOVAL
from aggro.stream.probability import WAITING


def stream(load, seed=0):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    names = [f"f{j}" for j in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X[order].tolist()], y[order].tolist()


def teach(model, rows, answers):
    for x, y in zip(rows, answers, strict=True):
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_a_lane_is_the_stream_with_that_C(load, metric):
    rows, answers = stream(load)
    race = teach(StreamClassifier(C="auto", metric=metric), rows, answers)
    for lane in race.candidates_[::4]:
        alone = teach(StreamClassifier(C=lane["C"], metric=metric), rows, answers)
        assert abs(alone.n_mistakes_ - lane["mistakes"]) <= 1  # equal but for rounding at a tie
    leader = min(race.candidates_, key=lambda lane: (lane["recent_error"], lane["recent_loss"]))
    assert leader["chosen"] and leader["C"] == race.C_
    alone = teach(StreamClassifier(C=race.C_, metric=metric), rows, answers)
    for x in rows[:50]:
        assert race.predict_one(x) == alone.predict_one(x)
        np.testing.assert_allclose(
            np.ravel(list(_margins(race.score_one(x)))),
            np.ravel(list(_margins(alone.score_one(x)))),
            rtol=1e-8,
            atol=1e-10,
        )


def _margins(scores):
    return scores.values() if isinstance(scores, dict) else [scores]


def test_the_race_is_near_its_best_lane():
    rows, answers = stream(load_breast_cancer)
    race = teach(StreamClassifier(C="auto", metric="diagonal", scale="online"), rows, answers)
    best = min(lane["mistakes"] for lane in race.candidates_)
    assert race.n_mistakes_ <= best + 0.03 * len(rows)


def test_weights_and_counts_are_the_leaders():
    rows, answers = stream(load_breast_cancer)
    race = teach(StreamClassifier(C="auto", metric="diagonal"), rows, answers)
    alone = teach(StreamClassifier(C=race.C_, metric="diagonal"), rows, answers)
    assert race.coef_[1] == pytest.approx(alone.coef_[1], rel=1e-8)
    assert race.intercept_[1] == pytest.approx(alone.intercept_[1], rel=1e-8)
    assert race.n_updates_ == alone.n_updates_
    assert race.cumulative_loss_ == pytest.approx(alone.cumulative_loss_, rel=1e-8)


def test_regression_at_any_scale_of_the_target():
    rows, answers = stream(load_diabetes)
    for scale in (1e-6, 1.0, 1e6):
        targets = [scale * y for y in answers]
        model = StreamRegressor(C="auto", metric="diagonal", scale="online", epsilon=0.0)
        errors = []
        for x, y in zip(rows, targets, strict=True):
            errors.append(abs(y - model.predict_one(x)))
            model.learn_one(x, y)
        assert np.mean(errors[200:]) < 0.8 * np.mean(np.abs(targets - np.median(targets)))


def test_the_grid_follows_targets_that_grow():
    rng = np.random.default_rng(0)
    model = StreamRegressor(C="auto", fit_intercept=False, epsilon=0.0)
    for i in range(6000):
        x = rng.normal()
        model.learn_one({"x": x}, x * (1.0 if i < 100 else 1e9))
        if i == 50:
            largest = max(lane["C"] for lane in model.candidates_)
    assert max(lane["C"] for lane in model.candidates_) > largest
    twin = pickle.loads(pickle.dumps(model))
    assert [lane["C"] for lane in twin.candidates_] == [lane["C"] for lane in model.candidates_]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_on_alike(copied):
    rows, answers = stream(load_digits)
    model = teach(StreamClassifier(C="auto"), rows[:900], answers[:900])
    twin = copied(model)
    teach(model, rows[900:], answers[900:])
    teach(twin, rows[900:], answers[900:])
    assert model.candidates_ == twin.candidates_
    assert model.score_one(rows[0]) == twin.score_one(rows[0])


def test_files_keep_the_race(tmp_path):
    rows, answers = stream(load_breast_cancer)
    model = teach(StreamClassifier(C="auto"), rows[:300], answers[:300])
    aggro.save(model, tmp_path / "race.aggro")
    twin = aggro.load(tmp_path / "race.aggro")
    assert twin.candidates_ == model.candidates_
    teach(model, rows[300:], answers[300:])
    teach(twin, rows[300:], answers[300:])
    assert twin.score_one(rows[0]) == model.score_one(rows[0])


def test_a_bad_example_changes_nothing():
    model = StreamClassifier(C="auto")
    with pytest.raises((TypeError, ValueError)):
        model.learn_one({"a": float("nan")}, "x")
    model.learn_one({"a": 1.0}, "x")
    model.learn_one({"a": -1.0}, "y")
    before = model.candidates_
    with pytest.raises((TypeError, ValueError)):
        model.learn_one({"a": float("inf")}, "x")
    assert model.candidates_ == before


def test_what_cannot_race():
    for name in ("metric", "scale"):
        with pytest.raises(ValueError, match=f"{name}='auto'"):
            StreamClassifier(**{name: "auto"})
    with pytest.raises(AttributeError, match="auto"):
        _ = StreamClassifier(C=1.0).candidates_


@pytest.mark.parametrize("regression", [False, True])
def test_the_grid_moves_with_the_example_that_asks_for_it(regression):
    """Not with the one after: what is predicted or saved in between has the new grid."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3)) * 10.0 ** (np.arange(90)[:, None] / 15)
    y = X @ [1.0, -2.0, 0.5] if regression else (X[:, 0] > 0).astype(int)
    axes = {"C": "auto", "average": False}
    stream = (StreamRegressor if regression else StreamClassifier)(**axes)
    arrays = (PassiveAggressiveRegressor if regression else PassiveAggressiveClassifier)(**axes)
    grids = []
    for row, answer in zip(X, y.tolist(), strict=True):
        classes = {} if regression else {"classes": [0, 1]}
        stream.learn_one(dict(enumerate(row.tolist())), answer)
        arrays.partial_fit(row[None], [answer], **classes)
        grids.append([lane["C"] for lane in stream.candidates_])
        assert grids[-1] == pytest.approx([lane["C"] for lane in arrays.candidates_])
    assert len({grid[0] for grid in grids}) > 3


@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_streams_and_estimators_move_their_grids_alike(noise):
    """They become narrower as time goes by, and not before enough was seen."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(6000, 3))
    y = (X @ [1.0, -2.0, 0.5] + noise * rng.normal(size=6000) > 0).astype(int)
    stream = StreamClassifier(C="auto", average=False)
    arrays = PassiveAggressiveClassifier(C="auto", average=False)
    grids = []
    for part in np.split(np.arange(6000), 60):
        teach(stream, [dict(enumerate(x)) for x in X[part].tolist()], y[part].tolist())
        arrays.partial_fit(X[part], y[part], classes=[0, 1])
        grids.append([lane["C"] for lane in stream.candidates_])
        assert grids[-1] == pytest.approx([lane["C"] for lane in arrays.candidates_])
        assert len(grids[-1]) > len(grids[0]) // 2 or 100 * len(grids) >= FIRST_REMOVAL
    assert len(grids[-1]) < len(grids[0])


def test_margins_of_a_stream_wait_until_there_are_many():
    rng = np.random.default_rng(5)
    stream = StreamClassifier(probability=True)
    waiting = []
    for x in rng.normal(size=(600, 2)):
        stream.learn_one(dict(enumerate(x.tolist())), int(x[0] > 0))
        waiting.append(len(stream._record.waiting.labels))
    assert max(waiting) == WAITING - 1
    assert np.sum(np.diff(waiting) < 0) == 2  # they are moved all at once
