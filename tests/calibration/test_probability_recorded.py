"""Recorded margins: selection of rows, late classes, copies, files."""

import copy
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from closeness import assert_close
from estimator_support import CLASSIFIERS
from probability_support import RECOMMENDED, known_truth, same_state
from scipy.sparse import csr_matrix
from sklearn.base import clone

import aggro
from aggro import (
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
)
from aggro.calibration.calibrator import RING, Calibrator
from aggro.calibration.recorder import Recorder
from aggro.persistence import ModelFileError
from aggro.reference_row import FEATURES, LONGEST, ReferenceRow
from aggro.training_batch import TrainingBatch

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- recorded rows -------------------------------------------------------------------------------


def reference_of(model):
    """Return the reference row of a classifier."""
    return model._fitted.record.reference


def test_rows_of_weight_zero_are_not_recorded():
    X, y, _ = known_truth(rows=400)
    weights = np.tile([1.0, 0.0], 200)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y, sample_weight=weights)
    assert (
        len(model._fitted.record.calibrator.weights) == 199
    )  # the first example is scored by an empty model
    assert (model._fitted.record.calibrator.weights == 1).all()


@pytest.mark.parametrize("batch", [1, 7, 100, 256])
@pytest.mark.parametrize("met", [0, 1, 500, 2500, 9000])
def test_pieces_cover_all_rows_in_complete_batches(batch, met):
    model = PassiveAggressiveClassifier(batch_size=batch, probability=True)
    model.partial_fit(np.eye(2), [0, 1])
    record = replace(model._fitted.record, reference=ReferenceRow.of(np.ones(2), met))
    for count in (1, 15, 1024, 7003):
        cuts = record._pieces(count, 0, model._learner, follow=True)
        assert np.concatenate([np.arange(count)[cut] for cut in cuts]).tolist() == [*range(count)]
        assert all(cut.start % batch == 0 for cut in cuts)
        for unrecorded in (
            count // 2,
            count - 1,
        ):  # these rows are one piece
            early = [cut.stop for cut in cuts if cut.stop <= unrecorded]
            late = cuts[len(early) :]
            early = [slice(0, early[-1])] if early else []
            assert record._pieces(count, unrecorded, model._learner, follow=True) == early + late


def test_margins_of_a_long_call_are_recorded_for_its_last_rows_only(monkeypatch):
    """Recording costs time, and older margins would be dropped."""
    recorded, record = [], TrainingBatch.record_margins

    def counted(batch, learner, reference, order, again):
        recorded.append(len(order))
        return record(batch, learner, reference, order, again)

    monkeypatch.setattr(TrainingBatch, "record_margins", counted)
    X, y, _ = known_truth(3 * RING)
    PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    assert RING <= sum(recorded) < RING + LONGEST


@pytest.mark.parametrize(
    "model",
    [
        PassiveAggressiveClassifier(probability=True),
        PassiveAggressiveClassifier(batch_size=4, probability=True),
        PassiveAggressiveClassifier(C="auto", probability=True),
        KernelPassiveAggressiveClassifier(gamma=0.5, budget=9, probability=True),
    ],
)
def test_margins_that_a_long_call_skips_do_not_change_probabilities(model):
    X, y, _ = known_truth(rows=RING + 1200)
    once = clone(model).partial_fit(X, y)
    stops = [0, 400, 404, 1000, 4000, len(X)]
    for start, stop in pairwise(stops):
        model.partial_fit(X[start:stop], y[start:stop])
    np.testing.assert_array_equal(once.predict_proba(X[:50]), model.predict_proba(X[:50]))


def test_the_reference_row_of_many_columns_has_the_largest_of_the_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5000)) * (rng.random((60, 5000)) < 0.2)
    model = PassiveAggressiveClassifier(probability=True).fit(csr_matrix(X), np.arange(60) % 2)
    mean = X.mean(axis=0)
    largest = np.sort(np.argsort(-abs(mean))[:FEATURES])
    np.testing.assert_array_equal(reference_of(model).features, largest)
    assert_close(reference_of(model).mean, mean[largest])


# -- classes, copies, invalid rows ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, KernelPassiveAggressiveClassifier])
def test_late_classes_have_probabilities(kind):
    X, y, _ = known_truth(rows=1200, classes=4)
    names = np.array(["d", "b", "a", "c"])[y]
    model = kind(C=0.1, probability=True)
    model.partial_fit(X[:50][y[:50] == 1], names[:50][y[:50] == 1])
    np.testing.assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    assert (model._fitted.record.calibrator.labels == 0).all()
    for classes in (["b", "d"], ["b", "c", "d"], ["a", "b", "c", "d"]):
        known = np.isin(names, classes)
        model.partial_fit(X[known], names[known])
        P = model.predict_proba(X)
        assert_close(P.sum(axis=1), 1.0)
        assert model.classes_.tolist() == classes
        right = (model.classes_[P.argmax(axis=1)] == names)[known].mean()
        assert right > 0.55
    assert model._fitted.record.calibrator.labels.max() == 3


def test_margins_follow_the_classes_as_the_model_does():
    X, y, _ = known_truth(rows=400)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y * 2)
    before = model._fitted.record.calibrator
    model.partial_fit(X[:1], [1])
    after = model._fitted.record.calibrator
    assert_close(after.scores[:-1, 2] - after.scores[:-1, 0], before.scores[:, 0])
    assert (after.scores[:-1, 1] == 0).all()
    np.testing.assert_array_equal(after.labels[:-1], before.labels * 2)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_pickles_and_files_predict_identically_and_continue(kind, tmp_path):
    X, y, _ = known_truth(rows=300, classes=3)
    model = kind(probability=True, random_state=0).fit(X, y)
    aggro.save(model, tmp_path / "model")
    copies = [aggro.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    copies.append(copy.deepcopy(model))
    for other in copies:
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    model.partial_fit(X[:90], y[:90])
    for other in copies:
        other.partial_fit(X[:90], y[:90])
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert not clone(model).__sklearn_is_fitted__()


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([7], np.int32)},
        {"scores": np.zeros((1, 2), np.float32)},
        {"scores": np.full((1, 1), np.nan, np.float32)},
        {"weights": np.array([-1], np.float32)},
        {"seen": 0},
        {"classes": 3},
        {"multilabel": 1},
    ],
    ids=str,
)
def test_forged_margins_are_rejected(change, tmp_path):
    X, y, _ = known_truth(rows=100)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    one = Calibrator.empty(2).update(np.array([[[0.1], [0.2]]]), np.array([1]))
    for name, value in change.items():
        setattr(one, name, value)
    model._fitted = model._fitted.changed(record=Recorder(one, model._fitted.record.reference))
    aggro.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"met": -1},
        {"mean": np.array([np.nan, 1.0])},
        {"features": np.array([0, 8])},
        {"features": np.array([-1, 2])},
        {"samples": ((np.ones(1), np.array([99])),)},
        {"samples": ((np.ones(1, np.float32), np.array([1])),) * 200},
    ],
    ids=str,
)
def test_forged_reference_rows_are_rejected(change, tmp_path):
    X, y, _ = known_truth(rows=100)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    plain = {"met": 100, "mean": np.ones(2), "features": np.array([0, 1]), "samples": ()}
    record = replace(model._fitted.record, reference=ReferenceRow(**{**plain, **change}))
    model._fitted = model._fitted.changed(record=record)
    aggro.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "model")


@pytest.mark.parametrize("params", [{"C": 0.1}, RECOMMENDED], ids=["plain", "selection"])
def test_invalid_row_changes_nothing(params):
    X, y, _ = known_truth(rows=900)
    model = PassiveAggressiveClassifier(probability=True, random_state=0, **params)
    model.partial_fit(X[:500], y[:500])
    copied = copy.deepcopy(model)
    bad = X[500:].copy()
    bad[300, 2] = np.nan
    with pytest.raises(ValueError, match="row 300"):
        model.partial_fit(bad, y[500:])
    assert same_state(model._learner, copied._learner)
    assert reference_of(model) is not reference_of(copied)
    np.testing.assert_array_equal(reference_of(model).mean, reference_of(copied).mean)
    np.testing.assert_array_equal(model.predict_proba(X), copied.predict_proba(X))
    with pytest.raises(ValueError, match="row 3"):
        model.partial_fit(bad[297:310], y[797:810])
    assert same_state(model._learner, copied._learner)
    with pytest.raises(ValueError, match="row 300"):
        model.fit(bad, y[500:])
    np.testing.assert_array_equal(model.predict_proba(X), copied.predict_proba(X))
