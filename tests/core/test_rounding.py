"""Losses below rounding error are zero: a row that was just learned causes no update."""

import itertools

import numpy as np
import pytest
from linear_support import (
    CASES,
    CLASS_LOSSES,
    NUMBER_LOSSES,
    make_learner,
    same_state,
    stored,
    train,
)

import aggro
from aggro.reference import ReferenceLearner
from aggro.settings import Settings, are_compatible

METRICS = ("euclidean", "diagonal", "adagrad", "full")  # metrics with hard margins
SECOND_ORDER = ("arow", "cw", "cw_stdev", "scw1", "scw2", "perceptron")


def rows_and_targets(task, outputs, rng, n=40, d=9):
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-2, 2, d)
    if task in ("binary", "multiclass"):
        return X, rng.integers(0, max(2, outputs), n)
    signs = np.where(rng.random((n, outputs)) < 0.5, 1.0, -1.0)
    return X, signs if task == "multilabel" else signs * 10 ** rng.uniform(-1, 1, (n, 1))


def hard_settings(case, **axes):
    task, outputs, multiclass = CASES[case]
    return Settings(task=task, loss="hard", multiclass=multiclass, epsilon=0.05, **axes), outputs


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case not in ("top", "predicted")]
)  # these satisfy only one constraint
def test_satisfied_row_is_not_learned_again(case, metric, dtype):
    """A hard step leaves a loss of rounding size; repeating the row changes nothing."""
    settings, outputs = hard_settings(case, metric=metric)
    rng = np.random.default_rng(7)
    X, y = rows_and_targets(settings.task, outputs, rng)
    X = X.astype(dtype)
    for storage in ("dense", "csr32"):
        learner = make_learner(settings, X.shape[1], outputs, dtype)
        for k in range(len(y)):
            row, target = stored(X[k : k + 1], storage, dtype), y[k : k + 1]
            train(learner, row, target)
            updates, coef = learner.progress.updates, np.array(learner.coef())
            loss, variance = learner.progress.loss, learner.state()["bias_variance"]
            train(learner, row, target)
            assert learner.progress.updates == updates
            assert learner.progress.loss == loss or metric == "full"
            assert np.array_equal(learner.coef(), coef)
            assert np.array_equal(learner.state()["bias_variance"], variance)


@pytest.mark.parametrize("loss", ["cw", "cw_stdev"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reached_confidence_is_not_learned_again(loss, dtype):
    """With several features, a diagonal metric may not reach the margin in one step."""
    rng = np.random.default_rng(2)
    settings = Settings(task="binary", loss=loss, metric="diagonal", fit_intercept=False)
    X, y = rng.standard_normal((12, 1)).astype(dtype), rng.integers(0, 2, 12)
    learner = make_learner(settings, 1, 1, dtype)
    for k in range(len(y)):
        train(learner, X[k : k + 1], y[k : k + 1])
        updates, weights = learner.progress.updates, learner.state()["weights"]
        train(learner, X[k : k + 1], y[k : k + 1])
        assert learner.progress.updates == updates
        assert np.array_equal(learner.state()["weights"], weights)


def test_precision_of_cw_does_not_overflow():
    """Contradictions repeatedly square the precision of CW, up to a limit."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 5)), rng.integers(0, 2, 400)
    for dtype, metric in itertools.product((np.float64, np.float32), ("diagonal", "full")):
        for loss in ("cw", "cw_stdev"):
            model = aggro.ConfidenceWeightedClassifier(loss=loss, metric=metric)
            model.partial_fit(X.astype(dtype), y)
            assert np.isfinite(model.coef_).all()


def variants():
    for case, (task, outputs, multiclass) in CASES.items():
        losses = NUMBER_LOSSES if task == "regression" else (*CLASS_LOSSES, *SECOND_ORDER)
        for loss in losses:
            for metric in METRICS:
                axes = {"task": task, "multiclass": multiclass, "loss": loss, "metric": metric}
                settings = Settings(**axes, C=0.7, epsilon=0.05)
                if are_compatible(settings):
                    yield pytest.param(settings, outputs, id=f"{case}-{loss}-{metric}")


@pytest.mark.parametrize(("settings", "outputs"), list(variants()))
def test_repeated_rows_count_the_same_updates_dense_and_sparse(settings, outputs):
    """Models and update counts agree although products are summed in another order."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rows_and_targets(settings.task, outputs, rng, 8)  # few enough to satisfy all of them
        certain = settings.loss == "cw_stdev"  # contradictions make its results unstable
        take = rng.integers(0, len(y), 12 if certain else 60)
        X, y = np.repeat(X[take], 2, axis=0), np.repeat(y[take], 2, axis=0)
        dense = train(make_learner(settings, X.shape[1], outputs), X, y)
        sparse = train(make_learner(settings, X.shape[1], outputs), stored(X, "csr32"), y)
        if settings.loss in ("hard", "hinge", "epsilon_insensitive"):
            assert dense.progress.updates == sparse.progress.updates  # others converge slowly
        scale = np.abs(dense.coef()).max()
        np.testing.assert_allclose(sparse.coef(), dense.coef(), rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("loss", ["hard", "epsilon_insensitive"])
def test_repeated_rows_count_the_same_updates_in_a_stream(loss, metric):
    rng = np.random.default_rng(4)
    X, y = rows_and_targets("regression", 1, rng, 12)
    take = np.repeat(rng.integers(0, len(y), 60), 2)
    axes = {"loss": loss, "metric": metric, "C": 0.7, "epsilon": 0.05}
    stream = aggro.StreamRegressor(**axes)
    for k in take:
        stream.learn_one({f"f{j}": v for j, v in enumerate(X[k])}, float(y[k, 0]))
    arrays = aggro.PassiveAggressiveRegressor(**axes).partial_fit(X[take], y[take].ravel())
    assert stream.n_updates_ == arrays.n_updates_
    for x in X:
        predicted = stream.predict_one({f"f{j}": v for j, v in enumerate(x)})
        assert predicted == pytest.approx(arrays.predict(x[None])[0], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("settings", [{"loss": "hard"}, {"loss": "hard", "metric": "diagonal"}])
@pytest.mark.parametrize("case", ["binary", "support", "top", "ovr", "regression"])
def test_equal_rows_within_a_batch_make_one_step(case, settings):
    """The first of several equal rows makes the whole step, as in the reference."""
    hard, outputs = hard_settings(case, metric=settings.get("metric", "euclidean"), batch_size=4)
    rng = np.random.default_rng(1)
    X, y = rows_and_targets(hard.task, outputs, rng, 3, 9)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4, axis=0)
    learner = train(make_learner(hard, X.shape[1], outputs), X, y)
    groups = 1 if outputs == 1 or CASES[case][2] != "ovr" else outputs
    assert learner.progress.updates <= 3 * groups


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("case", ["binary", "support", "ovr", "regression", "regressions"])
def test_row_satisfied_by_another_of_its_batch_makes_no_step(case, order):
    """The longer rows contain the first one, so that its step satisfies all three."""
    settings, outputs = hard_settings(case, batch_size=3, fit_intercept=False)
    groups = outputs if case in ("ovr", "regressions") else 1
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, (_, y) = rng.standard_normal((3, 9)), rows_and_targets(settings.task, outputs, rng, 3)
        X[1:] -= np.outer(X[1:] @ X[0] / (X[0] @ X[0]), X[0])
        X[1:] += X[0]
        learner = make_learner(settings, X.shape[1], outputs)
        train(learner, X[list(order)], np.repeat(y[:1], 3, axis=0))
        assert learner.progress.updates == groups


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("case", ["binary", "support", "ovr", "regression"])
def test_satisfied_row_at_any_place_of_a_batch_makes_no_step(case, metric, place):
    """The other rows of the batch are learned as without it."""
    settings, outputs = hard_settings(case, metric=metric, batch_size=4, fit_intercept=False)
    for seed in range(10):
        X, y = rows_and_targets(settings.task, outputs, np.random.default_rng(seed), 4, 9)
        X[0, 5:] = X[1:, :5] = 0  # orthogonal to the others
        order = np.insert(np.arange(1, 4), place, 0)
        learner = make_learner(settings, 9, outputs)
        train(learner, X[:1], y[:1])
        alone = train(make_learner(settings, 9, outputs), X[1:], y[1:])
        before, coef = learner.progress.updates, np.array(learner.coef())
        train(learner, X[order], y[order])
        assert learner.progress.updates - before == alone.progress.updates
        np.testing.assert_array_equal(learner.coef()[..., :5], coef[..., :5])


@pytest.mark.parametrize("strategy", ["simple", "nearest", "projection", "oldest"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_kernel_budget_evicts_nothing_for_rounding_errors(strategy, kernel, batch_size):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 5))
    y = rng.integers(0, 2, 30)
    model = aggro.KernelPassiveAggressiveClassifier(
        loss="hard", kernel=kernel, gamma=0.3, degree=2, budget=8, budget_strategy=strategy,
        batch_size=batch_size,
    )  # fmt: skip
    sparse = aggro.KernelPassiveAggressiveClassifier(**model.get_params())
    for k in range(0, 30, batch_size):
        rows, labels = X[k : k + batch_size], y[k : k + batch_size]
        for each, given in ((model, rows), (sparse, stored(rows, "csr32"))):
            each.partial_fit(given, labels, classes=[0, 1])
            if strategy == "oldest" or batch_size > 1:
                continue  # an evicted vector changes the score
            updates = each.n_updates_
            each.partial_fit(given, labels)
            assert each.n_updates_ == updates
    assert model.n_updates_ == sparse.n_updates_


def test_small_loss_above_rounding_is_learned():
    """It is learned even if a small C makes the step tiny."""
    learner = make_learner(Settings(task="regression", loss="hard"), 1, 1)
    train(learner, np.ones((1, 1)), [[1.0]])
    train(learner, np.ones((1, 1)), [[1.0 + 1e-12]])
    assert learner.progress.updates == 2
    cheap = make_learner(Settings(task="binary", C=1e-18), 3, 1)
    batch = make_learner(Settings(task="binary", C=1e-18, batch_size=2), 3, 1)
    for each in (cheap, batch):
        train(each, np.eye(3), [0, 1, 1])
        assert each.progress.updates == 3
    assert same_state(cheap, train(make_learner(cheap.settings, 3, 1), np.eye(3), [0, 1, 1]))


def test_reference_ignores_losses_of_rounding_size():
    rng = np.random.default_rng(0)
    for metric in METRICS:
        reference = ReferenceLearner("binary", 6, loss="hard", metric=metric)
        for _ in range(30):
            x, y = rng.standard_normal(6), float(rng.choice([-1, 1]))
            reference.learn(x, y)
            updates = reference.n_updates
            reference.learn(x, y)
            assert reference.n_updates == updates
