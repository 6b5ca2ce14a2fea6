"""The compiled core agrees with the NumPy reference over combinations of all axes."""

import itertools

import numpy as np
import pytest
from linear_support import (
    AXES,
    CASES,
    PLAIN,
    STORAGES,
    allowed,
    cover,
    make_learner,
    make_problem,
    reference_of,
    settings_of,
    stored,
    train,
    train_reference,
    trained,
)

from aggro.learner import rows_of
from aggro.settings import METRICS, Settings

COVER = cover()


def compare(row, seed):
    settings, outputs = settings_of(row)
    rng = np.random.default_rng(seed)
    dtype, storage = np.dtype(row["dtype"]), row["storage"]
    X, y = make_problem(settings.task, outputs, rng)
    if settings.intercept_scaling == "auto":
        X[:2] = 0  # no row with a norm yet
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in both precisions
    weights = rng.integers(0, 3, len(X)) * 0.7 if row["weighted"] else np.ones(len(X))
    reference = reference_of(settings, X.shape[1], outputs)
    mistakes = train_reference(reference, X, y, weights)
    used = weights if row["weighted"] else None
    learner = trained(X, y, outputs, used, storage, dtype, **vars(settings))
    if settings.average == "reservoir" and dtype == np.float32:
        return  # rounding may change which classifiers are drawn
    if settings.loss == "hard" and dtype == np.float32:
        return  # a loss of rounding size may cause a full step
    if settings.average == "auto":
        chose_alike = learner.model.by_mean == [reference.selection.mean_predicts]
        assert chose_alike or dtype == np.float32
        if not chose_alike:
            return  # rounding may change which weights predict

    double = dtype == np.float64
    close = 1e-9 if double else 5e-3
    scale = 1 + np.abs(reference.W).max() + np.abs(reference.b).max()
    np.testing.assert_allclose(learner.coef(), reference.W, rtol=0, atol=close * scale)
    np.testing.assert_allclose(learner.intercept(), reference.b, rtol=0, atol=close * scale)
    scores = learner.scores(rows_of(stored(X, storage, dtype)))
    reach = 1 + np.abs(X).sum(axis=1).max()
    np.testing.assert_allclose(scores, reference.scores(X), rtol=0, atol=close * scale * reach)
    progress = learner.progress
    slack = 1e-9 if double else 2e-2
    assert progress.loss == pytest.approx(reference.cumulative_loss, rel=slack)
    assert learner.examples == np.count_nonzero(weights)
    if double:
        assert progress.updates == reference.n_updates
        assert progress.mistakes == mistakes


def test_covering_array_is_complete():
    """The rows contain every allowed triple of values, and thus every pair."""
    for names in itertools.combinations(AXES, 2):
        shown = {tuple(row[name] for name in names) for row in COVER}
        for values in itertools.product(*(AXES[name] for name in names)):
            if allowed(dict(zip(names, values, strict=True))):
                assert values in shown


@pytest.mark.parametrize("seed", range(len(COVER)))
def test_combinations_of_axes_agree(seed):
    compare(COVER[seed], seed)


RULES = [pair for pair in itertools.product(CASES, range(4))
         if allowed(dict(zip(("case", "loss"), pair, strict=True)))]  # fmt: skip


@pytest.mark.parametrize(("case", "loss"), RULES)
@pytest.mark.parametrize("batch_size", [1, 5])
def test_plain_rules_agree(case, loss, batch_size):
    """PA, PA-I, PA-II, PALS and their batches, in every storage and precision."""
    flags = itertools.product((True, False), (True, False), STORAGES, ("float64", "float32"))
    for fit_intercept, weighted, storage, dtype in flags:
        choice = {"fit_intercept": fit_intercept, "weighted": weighted}
        row = {"case": case, "loss": loss, "batch_size": batch_size, **PLAIN, **choice}
        compare({**row, "storage": storage, "dtype": dtype}, seed=17)


@pytest.mark.parametrize("case", ["binary", "support", "ovr"])
@pytest.mark.parametrize(
    "axes", [{}, {"average": True}, {"metric": "diagonal"}, {"queue": 3}], ids=str
)
@pytest.mark.parametrize("gamma", [0.01, 2.0])
def test_long_streams_with_class_means_agree(case, axes, gamma):
    """The weights are stored relative to the class sums; the scale must not underflow."""
    task, outputs, multiclass = CASES[case]
    settings = Settings(task=task, multiclass=multiclass, C=0.4, class_mean=gamma, **axes)
    X, y = make_problem(task, outputs, np.random.default_rng(3), 2500, 6)
    reference = reference_of(settings, 6, outputs)
    train_reference(reference, X, y, np.ones(len(X)))
    learner = trained(X, y, outputs, **vars(settings))
    np.testing.assert_allclose(learner.coef(), reference.W, rtol=0, atol=1e-8)
    np.testing.assert_allclose(learner.intercept(), reference.b, rtol=0, atol=1e-8)
    rough = trained(X.astype(np.float32), y, outputs, dtype=np.float32, **vars(settings))
    np.testing.assert_allclose(rough.coef(), reference.W, rtol=0, atol=5e-2)


@pytest.mark.parametrize("case", ["binary", "support", "top", "ovr"])
@pytest.mark.parametrize("average", [False, True, "auto"])
@pytest.mark.parametrize(
    "axes",
    [
        *({"metric": metric, "batch_size": 3} for metric in METRICS),
        *({"metric": metric} for metric in METRICS),
        {"trigger": "always"},
        {"trigger": "always", "batch_size": 3},
    ],
    ids=str,
)
def test_passes_with_frozen_class_means_agree(case, average, axes):
    """Every code path renormalises the weights after their scale has shrunk."""
    task, outputs, multiclass = CASES[case]
    more = {"C": 0.4, "class_mean": 2.0, "average": average, **axes}
    settings = Settings(task=task, multiclass=multiclass, **more)
    X, y = make_problem(task, outputs, np.random.default_rng(3), 60, 4)
    reference, learner = reference_of(settings, 4, outputs), make_learner(settings, 4, outputs)
    rough = make_learner(settings, 4, outputs, np.float32)
    for _ in range(8):
        train_reference(reference, X, y, np.ones(len(X)))
        reference.freeze_means()
        for each, rows in ((learner, X), (rough, X.astype(np.float32))):
            train(each, rows, y)
            each.freeze_means()
    np.testing.assert_allclose(learner.coef(), reference.W, rtol=0, atol=1e-8)
    np.testing.assert_allclose(learner.intercept(), reference.b, rtol=0, atol=1e-8)
    np.testing.assert_allclose(rough.coef(), reference.W, rtol=0, atol=5e-2)
