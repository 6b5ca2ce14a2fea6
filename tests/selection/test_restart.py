"""A stream that changes: the race begins anew beside its leader, wherever calls are cut."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import Learner, rows_of
from aggro.merging.shards import shard_of
from aggro.persistence.container import ModelFileError
from aggro.persistence.selections import decode_selection, encode_selection
from aggro.selection.search_space import CLASSIFICATION_PAIRS, INTERVAL
from aggro.selection.selection import ModelSelection

OPEN = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}
CHANGE = 4 * INTERVAL + 100  # noticed at the next look
NOTICED = 5 * INTERVAL


def stream(task="binary", rows=8 * INTERVAL, change=CHANGE, seed=0):
    """Rows of which half mean the opposite from some row on."""
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(rows, 6)), rng.normal(size=6)
    later = truth * [1, 1, 1, -1, -1, -1]
    scores = np.where(np.arange(rows) < change, X @ truth, X @ later)
    if task == "regression":
        return X, scores + 0.1 * rng.normal(size=rows)
    wrong = rng.random(rows) < 0.05
    return X, ((scores > 0) ^ wrong).astype(int)


def estimator(task="binary", **params):
    kind = PassiveAggressiveRegressor if task == "regression" else PassiveAggressiveClassifier
    return kind(**OPEN, random_state=0, **params)


def error_of(model):
    race = model._learner
    return race.distance if race.settings.task == "regression" else race.mistakes


def same(one, two):
    races = one._learner, two._learner
    assert races[0].drift == races[1].drift and races[0].left == races[1].left
    assert one.candidates_ == two.candidates_
    for mine, other in zip(races[0].learners, races[1].learners, strict=True):
        assert mine.all_settings == other.all_settings
        states = mine.state(), other.state()
        for name, array in states[0].items():
            assert array.tobytes() == states[1][name].tobytes(), name


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
def test_selection_restarts_after_drift_and_makes_fewer_errors(task, store, monkeypatch):
    X, y = stream(task)
    model = estimator(task).partial_fit(store(X), y)
    assert model._learner.drift.start == NOTICED
    monkeypatch.setattr(ModelSelection, "_restart_if_due", lambda *_: None)
    still = estimator(task).partial_fit(store(X), y)
    assert still._learner.drift.start == 0
    assert error_of(model) < 0.97 * error_of(still)


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_a_steady_stream_goes_on(task, seed):
    X, y = stream(task, rows=20 * INTERVAL, change=20 * INTERVAL, seed=seed)
    assert estimator(task).partial_fit(X, y)._learner.drift.start == 0


def test_the_best_candidate_remains_after_a_restart_with_an_empty_record():
    X, y = stream()
    model = estimator().partial_fit(X[:NOTICED], y[:NOTICED])
    race = model._learner
    assert race.drift.drifted and race.drift.start == 0
    leader, mistakes = race.best_learner(), race.mistakes
    assert race.left
    new = X[NOTICED : NOTICED + 1]
    model.partial_fit(new, model.predict(new))  # which the leader gets right
    assert not race.drift.drifted and race.drift.start == NOTICED
    assert (
        len(race.learners) == 1 + len(CLASSIFICATION_PAIRS) and not race.left
    )  # all places are raced again
    assert race.leading == 0 and race.mistakes in (mistakes, mistakes + 1)
    assert race.learners[0].settings.metric == leader.settings.metric
    assert {each.examples for each in race.learners} == {NOTICED + 1}
    assert {each.model.records[0][3] for each in race.learners} == {1.0}


def test_new_candidates_after_a_restart_equal_models_trained_alone():
    X, y = stream()
    until = NOTICED + 200
    race = estimator().partial_fit(X[:until], y[:until])._learner
    still = [each for each in race.learners[1:] if each.settings.metric != "euclidean"]
    assert len(still) == 6  # whose grid does not follow the size of the rows
    for learner in still:
        alone = Learner(learner.all_settings, X.shape[1], 2)
        rows = np.arange(NOTICED, until, dtype=np.int64)
        alone.learn(rows_of(X), labels=y.astype(np.int64), order=rows)
        for lane in range(learner.models):
            scores = [each.scores(rows_of(X), lane) for each in (alone, learner)]
            np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("cuts", [[NOTICED], [NOTICED - 1, NOTICED + 1], range(300, 8000, 777)])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_drift_is_chunk_invariant(cuts, batch_size, tmp_path):
    X, y = stream()
    cuts = [cut - cut % batch_size for cut in cuts]
    whole = estimator(batch_size=batch_size).partial_fit(X, y)
    assert whole._learner.drift.start == NOTICED
    parts = estimator(batch_size=batch_size)
    for number, part in enumerate(np.split(np.arange(len(y)), cuts)):
        parts.partial_fit(X[part], y[part], classes=[0, 1])
        if number % 2:
            parts = pickle.loads(pickle.dumps(parts))
        else:
            aggro.save(parts, tmp_path / "model")
            parts = aggro.load(tmp_path / "model")
    same(whole, parts)


def test_rows_of_weight_zero_do_not_restart_selection():
    X, y = stream()
    weights = np.ones(len(y))
    weights[NOTICED : NOTICED + 10] = 0.0
    counted = weights > 0
    some = estimator().partial_fit(X, y, sample_weight=weights)
    same(some, estimator().partial_fit(X[counted], y[counted]))
    cut = estimator().partial_fit(X[:NOTICED], y[:NOTICED])
    ignored = slice(NOTICED, NOTICED + 10)
    cut.partial_fit(X[ignored], y[ignored], sample_weight=np.zeros(10))
    assert cut._learner.drift.drifted and cut._learner.drift.start == 0


def test_a_rejected_row_undoes_a_restart():
    X, y = stream()
    model = estimator().partial_fit(X[:CHANGE], y[:CHANGE])
    kept = pickle.loads(pickle.dumps(model))
    bad = X[CHANGE:].copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[CHANGE:])
    huge = X[CHANGE:].copy()
    huge[-1] = 1e308
    with pytest.raises(ValueError, match=r"large|overflow"):
        model.partial_fit(huge, y[CHANGE:])
    same(model, kept)
    model.partial_fit(X[CHANGE:], y[CHANGE:])
    assert model._learner.drift.start == NOTICED


def test_a_paused_selection_keeps_its_candidates():
    X, y = stream()
    race = estimator().partial_fit(X[:NOTICED], y[:NOTICED])._learner
    shard = shard_of(race, 2)
    shard.learn(rows_of(X[NOTICED:]), labels=y[NOTICED:].astype(np.int64))
    assert shard.drift.drifted and len(shard.learners) == len(race.learners)


def test_invalid_drift_statistics_in_a_model_file_are_rejected():
    race = estimator().partial_fit(*stream(rows=700))._learner
    arrays = {}
    facts = encode_selection(race, "race", arrays)
    drift = facts["drift"]
    for bad in (
        {"start": 701},
        {"next_checkpoint": 0.5},
        {"next_checkpoint": 0},
        {"mean": -1.0},
        {"origin": [0.0]},
        {"block": [0.0, 0.0, 0.0, float("nan")]},
        {"alarm": [1.0]},
        {"unknown": 1},
    ):
        with pytest.raises(ModelFileError, match=r"drift|evaluation"):
            decode_selection(facts | {"drift": drift | bad}, "race", arrays)
