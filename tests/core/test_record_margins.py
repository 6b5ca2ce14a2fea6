"""Recorded margins: the scores of each row before it is learned."""

import numpy as np
import pytest
from closeness import assert_close

from aggro import _core
from aggro.learner import Learner, rows_of
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

ROWS, FEATURES = 60, 5
C_VALUES = (0.01, 0.1, 1.0)


def problem():
    random = np.random.default_rng(3)
    X = random.normal(size=(ROWS, FEATURES))
    y = random.integers(0, 3, size=ROWS)
    return X, y, random.permutation(ROWS)[: ROWS - 10], random.normal(size=(1, FEATURES))


def learners(dtype, batch):
    settings = [Settings(task="multiclass", C=C, batch_size=batch) for C in C_VALUES]
    return [Learner(each, FEATURES, 3, dtype) for each in settings]


def by_hand(learner, X, y, order, reference, batch):
    """Score each batch and the reference row, then learn the batch."""
    scores = np.empty((len(order), 2, learner.outputs))
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        scores[start : start + batch, 0] = learner.scores(rows_of(X[rows]))
        scores[start : start + batch, 1] = learner.scores(rows_of(reference))
        learner.learn(rows_of(X), labels=y, order=rows)
    return scores


def together(models, X, y, order, **watch):
    rows = {"rows": rows_of(X), "labels": y, "order": order}
    _core.learn_together([learner.model for learner in models], **rows, **watch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("recorded", range(len(C_VALUES)))
def test_margins_of_one_of_several_models_are_recorded(recorded, threads, batch, dtype):
    X, y, order, reference = problem()
    several, plain = learners(dtype, batch), learners(dtype, batch)
    margins = np.full((len(order), 2, 3), np.nan)
    watch = {"reference": rows_of(reference), "margins": margins, "recorded": recorded}
    together(several, X, y, order, batch_size=batch, threads=threads, **watch)
    together(plain, X, y, order, batch_size=batch)
    for one, other in zip(several, plain, strict=True):
        for name, array in one.state().items():
            assert array.tobytes() == other.state()[name].tobytes(), name
    expected = by_hand(learners(dtype, batch)[recorded], X, y, order, reference, batch)
    assert_close(margins, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def test_margins_are_recorded_in_every_block():
    """A full metric learns in blocks of few rows."""
    random = np.random.default_rng(4)
    X, y = random.normal(size=(40, 1500)), random.integers(0, 2, size=40)
    settings = Settings(task="binary", metric="full")
    learner, other = Learner(settings, 1500, 2), Learner(settings, 1500, 2)
    margins = np.full((40, 2, 1), np.nan)
    learner.learn(rows_of(X), labels=y, reference=rows_of(X[:1]), margins=margins)
    expected = by_hand(other, X, y, np.arange(40), X[:1], 1)
    np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-12)


def test_invalid_recording_arguments_are_rejected_before_learning():
    X, y, order, reference = problem()
    several = learners(np.float64, 1)
    buffer = np.empty((len(order), 2, 3))
    weights = np.ones(ROWS)
    weights[order[5]] = 0
    wrong = [
        {"margins": buffer},
        {"reference": rows_of(reference)},
        {"reference": rows_of(reference), "margins": buffer[1:]},
        {"reference": rows_of(reference[:, 1:].copy()), "margins": buffer},
        {"reference": rows_of(X), "margins": buffer},
        {"reference": rows_of(reference), "margins": buffer, "weights": weights},
        {"reference": rows_of(reference), "margins": buffer, "recorded": 3},
    ]
    for watch in wrong:
        with pytest.raises((ValueError, IndexError), match=r"margins|recorded"):
            together(several, X, y, order, **watch)
    X[order[-1], 2] = np.nan
    with pytest.raises(ValueError, match=f"row {order[-1]}"):
        together(several, X, y, order, reference=rows_of(reference), margins=buffer)
    assert all(learner.examples == 0 and not learner.coef().any() for learner in several)


def test_model_selection_records_the_margins_of_the_best_candidate():
    """The best candidate is chosen at checkpoints, independently of chunks."""
    X, y, order, reference = problem()
    y = np.where(y == 2, 0, y)
    settings = Settings(task="binary", C="auto", metric="auto")
    whole, parts, plain = (ModelSelection(settings, FEATURES, 2) for _ in range(3))
    margins = np.full((2, len(order), 2, 1), np.nan)
    watch = {"labels": y, "reference": rows_of(reference)}
    whole.learn(rows_of(X), order=order, margins=margins[0], **watch)
    for start, end in ((0, 1), (1, 18), (18, 19), (19, len(order))):
        parts.learn(rows_of(X), order=order[start:end], margins=margins[1, start:end], **watch)
    plain.learn(rows_of(X), order=order, labels=y)
    assert whole.mistakes == parts.mistakes == plain.mistakes
    assert whole.candidates() == parts.candidates() == plain.candidates()
    np.testing.assert_array_equal(margins[0], margins[1])
    wrong = (margins[0, :, 0, 0] > 0) != (y[order] > 0)
    assert wrong.sum() == whole.mistakes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calls_do_not_change_a_full_metric(dtype):
    """Reading the matrix between calls applies its pending changes early."""
    X, y, _, _ = problem()
    settings = Settings(task="multiclass", metric="full")
    whole, parts = (Learner(settings, FEATURES, 3, dtype) for _ in range(2))
    whole.learn(rows_of(X), labels=y)
    for row in range(ROWS):
        parts.learn(rows_of(X), labels=y, order=np.array([row]))
    for name, array in whole.state().items():
        assert array.tobytes() == parts.state()[name].tobytes(), name
