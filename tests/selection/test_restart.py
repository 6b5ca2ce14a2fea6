"""Restarts of model selection after drift: the best candidate is kept, the others are new."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import Learner, rows_of
from aggro.merging.learners import shard_of
from aggro.persistence.container import ModelFileError
from aggro.persistence.values import decode, encode
from aggro.selection.search_space import CLASSIFICATION_PAIRS, INTERVAL
from aggro.selection.selection import ModelSelection

ALL_AUTO = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}
CHANGE = 4 * INTERVAL + 100  # detected at the next checkpoint
NOTICED = 5 * INTERVAL


def drifting_rows(task="binary", rows=8 * INTERVAL, change=CHANGE, seed=0):
    """Return rows and targets; half of the true weights change sign at row ``change``."""
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
    return kind(**ALL_AUTO, random_state=0, **params)


def error_of(model):
    selection = model._learner
    return selection.distance if selection.settings.task == "regression" else selection.mistakes


def assert_same_state(one, two):
    selections = one._learner, two._learner
    assert selections[0].drift == selections[1].drift and selections[0].left == selections[1].left
    assert one.candidates_ == two.candidates_
    for mine, other in zip(selections[0].learners, selections[1].learners, strict=True):
        assert mine.all_settings == other.all_settings
        states = mine.state(), other.state()
        for name, array in states[0].items():
            assert array.tobytes() == states[1][name].tobytes(), name


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
def test_selection_restarts_after_drift_and_makes_fewer_errors(task, store, monkeypatch):
    X, y = drifting_rows(task)
    model = estimator(task).partial_fit(store(X), y)
    assert model._learner.drift.start == NOTICED
    monkeypatch.setattr(ModelSelection, "_restart_if_due", lambda *_: None)
    still = estimator(task).partial_fit(store(X), y)
    assert still._learner.drift.start == 0
    assert error_of(model) < 0.97 * error_of(still)


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_selection_of_a_stationary_stream_never_restarts(task, seed):
    X, y = drifting_rows(task, rows=20 * INTERVAL, change=20 * INTERVAL, seed=seed)
    assert estimator(task).partial_fit(X, y)._learner.drift.start == 0


def test_the_best_candidate_remains_after_a_restart_with_an_empty_record():
    X, y = drifting_rows()
    model = estimator().partial_fit(X[:NOTICED], y[:NOTICED])
    selection = model._learner
    assert selection.drift.drifted and selection.drift.start == 0
    best, mistakes = selection.best_learner(), selection.mistakes
    assert selection.left
    new = X[NOTICED : NOTICED + 1]
    model.partial_fit(new, model.predict(new))  # the best candidate makes no mistake
    assert not selection.drift.drifted and selection.drift.start == NOTICED
    assert (
        len(selection.learners) == 1 + len(CLASSIFICATION_PAIRS) and not selection.left
    )  # all candidates are back
    assert selection.leading == 0 and selection.mistakes in (mistakes, mistakes + 1)
    assert selection.learners[0].settings.metric == best.settings.metric
    assert {each.examples for each in selection.learners} == {NOTICED + 1}
    assert {each.model.records[0][3] for each in selection.learners} == {1.0}


def test_new_candidates_after_a_restart_equal_models_trained_alone():
    X, y = drifting_rows()
    until = NOTICED + 200
    selection = estimator().partial_fit(X[:until], y[:until])._learner
    still = [each for each in selection.learners[1:] if each.settings.metric != "euclidean"]
    assert len(still) == 6  # their grids do not depend on the size of the rows
    for learner in still:
        alone = Learner(learner.all_settings, X.shape[1], 2)
        rows = np.arange(NOTICED, until, dtype=np.int64)
        alone.learn(rows_of(X), labels=y.astype(np.int64), order=rows)
        for place in range(learner.models):
            scores = [each.scores(rows_of(X), place) for each in (alone, learner)]
            np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("cuts", [[NOTICED], [NOTICED - 1, NOTICED + 1], range(300, 8000, 777)])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_drift_is_chunk_invariant(cuts, batch_size, tmp_path):
    X, y = drifting_rows()
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
    assert_same_state(whole, parts)


def test_rows_of_weight_zero_do_not_restart_selection():
    X, y = drifting_rows()
    weights = np.ones(len(y))
    weights[NOTICED : NOTICED + 10] = 0.0
    counted = weights > 0
    some = estimator().partial_fit(X, y, sample_weight=weights)
    assert_same_state(some, estimator().partial_fit(X[counted], y[counted]))
    cut = estimator().partial_fit(X[:NOTICED], y[:NOTICED])
    ignored = slice(NOTICED, NOTICED + 10)
    cut.partial_fit(X[ignored], y[ignored], sample_weight=np.zeros(10))
    assert cut._learner.drift.drifted and cut._learner.drift.start == 0


def test_a_rejected_row_undoes_a_restart():
    X, y = drifting_rows()
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
    assert_same_state(model, kept)
    model.partial_fit(X[CHANGE:], y[CHANGE:])
    assert model._learner.drift.start == NOTICED


def test_a_paused_selection_keeps_its_candidates():
    X, y = drifting_rows()
    selection = estimator().partial_fit(X[:NOTICED], y[:NOTICED])._learner
    shard = shard_of(selection, 2)
    shard.learn(rows_of(X[NOTICED:]), labels=y[NOTICED:].astype(np.int64))
    assert shard.drift.drifted and len(shard.learners) == len(selection.learners)


def test_invalid_drift_statistics_in_a_model_file_are_rejected():
    selection = estimator().partial_fit(*drifting_rows(rows=700))._learner
    arrays = {}
    facts = encode(selection, "selection", arrays)["ModelSelection"]
    drift = facts["drift"]["DriftDetector"]
    for bad in (
        {"start": 701},
        {"next_checkpoint": 0.5},
        {"next_checkpoint": 0},
        {"mean": -1.0},
        {"origin": {"tuple": [0.0]}},
        {"block": {"tuple": [0.0, 0.0, 0.0, {"float": "nan"}]}},
        {"alarm": {"tuple": [1.0]}},
        {"unknown": 1},
    ):
        changed = facts | {"drift": {"DriftDetector": drift | bad}}
        with pytest.raises(ModelFileError, match=r"[Dd]rift|evaluation"):
            decode({"ModelSelection": changed}, arrays)


def test_restart_among_feature_maps_records_margins_and_does_not_depend_on_calls():
    """After a restart, candidates of another representation predict within the same block."""
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 3))
    straight, bent = X @ [1, 1, -1] > 0, np.abs(X[:, 0]) > 0.7
    y = np.where(np.arange(len(X)) < 3000, straight, bent).astype(int)
    one, several = (AutoClassifier(probability=True, random_state=0) for _ in range(2))
    one.partial_fit(X, y)
    assert one._learner.drift.start > 3000
    for start in range(0, len(X), 700):
        several.partial_fit(X[start : start + 700], y[start : start + 700], classes=[0, 1])
    np.testing.assert_array_equal(one.predict_proba(X), several.predict_proba(X))
    assert one.candidates_ == several.candidates_
