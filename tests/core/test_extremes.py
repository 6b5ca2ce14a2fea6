"""Rows whose norm underflows or overflows get the exact step or none; contradictory batches."""

import numpy as np
import pytest
from closeness import assert_close
from linear_support import fingerprint, stored, train, trained

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import rows_of

V = np.array([[3.0, -1.0, 0.0, 2.0]])
ONE = np.array([1])
METRICS = ("euclidean", "diagonal", "adagrad", "full")  # metrics with hard margins
BINARY = {"task": "binary", "fit_intercept": False}


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize(("size", "dtype"), [(1e200, np.float64), (1e30, np.float32)])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("intercept", [True, False])
def test_huge_rows_get_the_exact_step(size, dtype, metric, storage, intercept):
    """w = x / |x|^2, although |x|^2 overflows."""
    x = size * V
    learner = trained(
        x, ONE, task="binary", loss="hard", fit_intercept=intercept, metric=metric,
        storage=storage, dtype=dtype,
    )  # fmt: skip
    exact = V / (V @ V.T) / size
    assert_close(learner.coef().astype(float) * size, exact * size, rtol=1e-5)
    assert learner.scores(rows_of(stored(x, storage, dtype)))[0, 0] == pytest.approx(1, rel=1e-5)
    assert np.isfinite(learner.intercept()).all()


@pytest.mark.parametrize("size", [1e160, 1e200, 1e300])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "hard"])
@pytest.mark.parametrize("multiclass", ["support", "top", "ovr"])
def test_huge_rows_of_several_classes_get_the_exact_step(size, loss, multiclass):
    """The step is that of a row of norm 1e100, scaled; C does not matter."""
    axes = {"task": "multiclass", "multiclass": multiclass, "fit_intercept": False, "loss": loss}
    learner = trained(size * V, ONE, 3, **axes)
    model = trained(1e100 * V, ONE, 3, **axes)
    scaled = np.array(model.coef()) * 1e100
    assert_close(np.array(learner.coef()) * size, scaled, rtol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_vanishing_rows_are_skipped(metric, storage, loss):
    learner = trained(V, ONE, **BINARY, loss=loss, metric=metric, storage=storage)
    before = np.array(learner.coef())
    train(learner, stored(1e-200 * V, storage), 1 - ONE)
    assert np.array_equal(learner.coef(), before)
    learner = trained(V, ONE, loss="hard", task="binary", metric=metric, storage=storage)
    train(learner, stored(1e-200 * V, storage), 1 - ONE)  # only the intercept moves
    assert learner.scores(rows_of(1e-200 * V))[0, 0] == pytest.approx(-1)


def test_row_of_zeros_moves_only_the_intercept():
    zero = np.zeros((1, 4))
    for loss in ("hard", "hinge", "squared_hinge"):
        none = trained(zero, ONE, **BINARY, loss=loss)
        assert not none.coef().any()
        assert none.progress.updates == 0
        assert none.progress.loss == 1
        bias = trained(zero, ONE, task="binary", loss=loss, C=10.0)
        assert bias.intercept()[0] == pytest.approx({"squared_hinge": 1 / 1.05}.get(loss, 1))


@pytest.mark.parametrize("batch_size", [1, 2])
@pytest.mark.parametrize("trigger", ["loss", "always"])
def test_hard_row_of_zeros_is_skipped(batch_size, trigger):
    """No weights satisfy its constraint, so neither the step nor the pull is made."""
    axes = {**BINARY, "loss": "hard", "class_mean": 0.3, "trigger": trigger}
    learner = trained(np.array([[1.0, 0], [0, 1]]), np.array([1, 0]), **axes, batch_size=batch_size)
    before = np.array(learner.coef())
    train(learner, np.zeros((2, 2)), np.array([0, 1]))
    np.testing.assert_allclose(learner.coef(), before, atol=1e-12)


def test_hard_row_of_zeros_does_not_trigger_a_satisfied_batch():
    """A row that no weights satisfy does not cause a step of a batch without loss."""
    axes = {**BINARY, "loss": "hard", "class_mean": 0.3, "batch_size": 2}
    X = np.array([[1.0, 0], [0, 1.0], [2.0, 0], [0, 0]])
    learner = trained(X, np.array([1, 0, 1, 0]), **axes)
    np.testing.assert_allclose(learner.coef(), [[1, -1]], atol=1e-12)


def test_huge_rows_in_a_batch_are_rejected():
    model = PassiveAggressiveClassifier(batch_size=2).partial_fit(np.eye(4), [0, 1, 0, 1])
    before = fingerprint(model)
    with pytest.raises(ValueError, match=r"overflows.*scale"):
        model.partial_fit(np.vstack([V, 1e200 * V]), [0, 1])
    assert fingerprint(model) == before


@pytest.mark.parametrize("features", [4, 4000])
def test_value_too_large_for_single_precision_changes_nothing(features):
    """The model is restored, whether there are more values than weights or fewer."""
    rows = np.zeros((3, features))
    rows[:, :4] = V
    for storage in ("dense", "csr32"):
        first = stored(rows, storage, np.float32)
        model = PassiveAggressiveClassifier().partial_fit(first, [0, 1, 0])
        before = fingerprint(model)
        wrong = rows.copy()
        wrong[2, 1] = 1e50
        with pytest.raises(ValueError, match=r"row 2.*float32"):
            model.partial_fit(stored(wrong, storage), [1, 0, 1])
        assert fingerprint(model) == before


@pytest.mark.parametrize("features", [5, 4000])
def test_bad_index_late_in_a_small_batch_changes_nothing(features):
    """The update of the earlier rows is rolled back."""
    rows = stored(np.eye(3, features), "csr32")
    model = PassiveAggressiveClassifier().partial_fit(rows, [0, 1, 0])
    before = fingerprint(model)
    rows.indices[-1] = features + 7
    with pytest.raises(ValueError, match="index"):
        model.partial_fit(rows, [1, 0, 1])
    assert fingerprint(model) == before


@pytest.mark.parametrize("features", [1, 4000])
def test_targets_that_overflow_change_nothing(features):
    rows = np.zeros((2, features))
    rows[:, 0] = 1.0, -1.0
    model = PassiveAggressiveRegressor(loss="hard", fit_intercept=False)
    model.partial_fit(rows[:1], [1.0])
    before = fingerprint(model)
    with pytest.raises(ValueError, match=r"row 1.*overflows"):
        model.partial_fit(stored(rows, "csr32"), [1.7e308, 1.7e308])
    assert fingerprint(model) == before


@pytest.mark.parametrize("batch_size", [1, 2])
def test_steps_too_long_for_single_precision_are_rejected_or_exact(batch_size):
    """Weights never become infinite."""
    rows = np.array([[1e-18, 0.0], [1.0, 1.0]], dtype=np.float32)
    model = PassiveAggressiveRegressor(loss="hard", fit_intercept=False, batch_size=batch_size)
    model.partial_fit(rows[1:], [1.0])
    try:
        model.partial_fit(rows, [1e10, 1.0])
    except ValueError as error:
        assert "overflow" in str(error)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("kind", ["binary", "support", "top", "regression"])
def test_contradictory_hard_batches_are_learned_row_by_row(kind):
    """No weights satisfy all constraints, so the rows are learned one after another."""
    X = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    y = np.array([1, 0, 1])
    if kind == "regression":
        batch, single = (
            PassiveAggressiveRegressor(loss="hard", batch_size=size, epsilon=0.0, average=False)
            for size in (3, 1)
        )
        targets = y.astype(float)
    else:
        batch, single = (
            PassiveAggressiveClassifier(
                loss="hard",
                batch_size=size,
                average=False,
                multiclass=kind if kind != "binary" else "support",
            )
            for size in (3, 1)
        )
        targets = y if kind == "binary" else np.array([1, 0, 2])
    if kind != "regression":
        classes = [0, 1] if kind == "binary" else [0, 1, 2]
        batch.partial_fit(X, targets, classes=classes)
        single.partial_fit(X, targets, classes=classes)
    else:
        batch.partial_fit(X, targets)
        single.partial_fit(X, targets)
    np.testing.assert_allclose(batch.coef_, single.coef_, atol=1e-9)
    np.testing.assert_allclose(batch.intercept_, single.intercept_, atol=1e-9)
