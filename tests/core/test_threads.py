"""Any number of threads gives a model that is bitwise equal to that of one thread."""

import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from linear_support import make_learner, same_state, stored, train

import aggro
from aggro.checks import threads_of
from aggro.learner import Learner, rows_of
from aggro.settings import Settings

THREADS = (2, 3, 7, 64)
C_VALUES = [float(C) for C in np.logspace(-3, 2, 130)]


def problem(task, outputs, rows=300, features=40, seed=0):
    """Return sparse rows, targets for a task, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) * (rng.random((rows, features)) < 0.3)
    S = X @ rng.standard_normal((features, outputs)) + 0.5 * rng.standard_normal((rows, outputs))
    if task in ("binary", "multiclass"):
        y = S.argmax(axis=1) if task == "multiclass" else (S[:, 0] > 0).astype(np.int64)
    else:
        y = np.where(S > 0, 1.0, -1.0) if task == "multilabel" else S
    return X, y, rng.integers(0, 3, rows).astype(float)


def learned(settings, X, y, weights, outputs, dtype, threads, memory=0.99):
    """Return a learner after two passes, the second in another order."""
    learner = make_learner(settings, X.shape[1], outputs, dtype)
    learner.model.set_memory(memory)
    order = np.random.default_rng(1).permutation(X.shape[0])
    by_label = y.ndim == 1
    batch = {"labels" if by_label else "values": y, "weights": weights, "threads": threads}
    learner.learn(rows_of(X), **batch)
    learner.learn(rows_of(X), order=order, **batch)
    return learner


SINGLE = {
    "ovr": ({"task": "multiclass", "multiclass": "ovr"}, 150),
    "ovr, averaged": ({"task": "multiclass", "multiclass": "ovr", "average": 20}, 150),
    "ovr, diagonal": ({"task": "multiclass", "multiclass": "ovr", "metric": "diagonal"}, 150),
    "ovr, full": ({"task": "multiclass", "multiclass": "ovr", "metric": "full"}, 130),
    "ovr, queue": ({"task": "multiclass", "multiclass": "ovr", "queue": 3}, 150),
    "ovr, cw": (
        {"task": "multiclass", "multiclass": "ovr", "loss": "cw", "metric": "diagonal"},
        37,
    ),
    "multilabel": ({"task": "multilabel"}, 133),
    "targets": ({"task": "regression", "loss": "epsilon_insensitive"}, 150),
    # these cannot be split and use one thread, whatever the parameter says
    "class means": ({"task": "multiclass", "multiclass": "ovr", "class_mean": 0.1}, 150),
    "reservoir": ({"task": "multiclass", "multiclass": "ovr", "average": "reservoir"}, 67),
    "batches": ({"task": "multiclass", "multiclass": "ovr", "batch_size": 4}, 150),
    "support": ({"task": "multiclass"}, 150),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("name", SINGLE)
def test_any_number_of_threads_gives_the_same_model(name, storage, dtype):
    settings, outputs = SINGLE[name]
    X, y, weights = problem(settings["task"], outputs)
    rows = stored(X, storage, dtype)
    alone = learned(Settings(**settings), rows, y, weights, outputs, dtype, 1)
    for threads in THREADS:
        several = learned(Settings(**settings), rows, y, weights, outputs, dtype, threads)
        assert same_state(alone, several)
        scores = [one.scores(rows_of(rows), threads=threads) for one in (alone, several)]
        np.testing.assert_array_equal(alone.scores(rows_of(rows)), scores[0])
        np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("task", "outputs", "more"),
    [
        ("binary", 1, {}),
        ("binary", 1, {"metric": "diagonal"}),
        ("multiclass", 5, {}),
        ("multiclass", 5, {"multiclass": "ovr"}),
        ("regression", 1, {"loss": "epsilon_insensitive"}),
    ],
)
def test_models_side_by_side_do_not_depend_on_threads(task, outputs, more, average):
    """The progressive error that selects the best one does not depend on threads either."""
    X, y, weights = problem(task, outputs)
    rows = stored(X, "csr32")
    settings = [Settings(task=task, average=average, C=C, **more) for C in C_VALUES]
    results = []
    for threads in (1, *THREADS):
        learner = Learner(settings, X.shape[1], 2 if task == "binary" else outputs)
        learner.model.set_memory(0.99)
        batch = {"labels" if y.ndim == 1 else "values": y, "weights": weights}
        learner.learn(rows_of(rows), threads=threads, **batch)
        results.append(learner)
    for other in results[1:]:
        assert same_state(results[0], other)
        assert results[0].model.chosen_record == other.model.chosen_record


def test_many_blocks_of_rows_do_not_depend_on_threads():
    """There are more rows than threads learn between two synchronisations."""
    X, y, _ = problem("multiclass", 80, rows=9000, features=60)
    alone = learned(Settings(task="multiclass", multiclass="ovr"), X, y, None, 80, float, 1)
    several = learned(Settings(task="multiclass", multiclass="ovr"), X, y, None, 80, float, 2)
    assert same_state(alone, several)


@pytest.mark.parametrize("threads", [1, *THREADS])
def test_error_names_the_first_bad_row_and_nothing_is_learned(threads):
    X, y, _ = problem("multilabel", 80)
    learner = make_learner(Settings(task="multilabel"), X.shape[1], 80)
    train(learner, X, y)
    before = learner.state()
    X[200, 3], X[100, 5] = np.inf, np.nan
    order = np.arange(len(X))[::-1].copy()
    with pytest.raises(ValueError, match=r"row 100: feature 5 is NaN"):
        learner.learn(rows_of(X), values=y, threads=threads)
    with pytest.raises(ValueError, match=r"row 200: feature 3 is infinite"):
        learner.learn(rows_of(X), values=y, order=order, threads=threads)
    with pytest.raises(ValueError, match="row 100"):
        learner.scores(rows_of(X), threads=threads)
    after = learner.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@pytest.mark.parametrize("threads", [1, *THREADS])
def test_error_names_the_first_row_that_overflows(threads):
    """Two outputs overflow; that of the last thread does so in an earlier row."""
    X, y, _ = problem("regression", 150)
    y[150, 0] = y[120, 149] = 1e300
    settings = Settings(task="regression", loss="hard", epsilon=0.0)
    learner = make_learner(settings, X.shape[1], 150, np.float32)
    with pytest.raises(ValueError, match="row 120: its score or step overflows"):
        learner.learn(rows_of(stored(X, "csr32", np.float32)), values=y, threads=threads)


def test_interrupted_model_is_consistent():
    """Every output has learned the same rows, and learning can continue."""
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 500, density=0.2, format="csr", random_state=0)
    y = rng.integers(0, 64, X.shape[0])
    settings = Settings(task="multiclass", multiclass="ovr")
    learner = make_learner(settings, X.shape[1], 64)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(1000):
            learner.learn(rows_of(X), labels=y, threads=2)
    timer.join()
    passes, rest = divmod(learner.examples, X.shape[0])
    again = make_learner(settings, X.shape[1], 64)
    for _ in range(passes):
        again.learn(rows_of(X), labels=y)
    again.learn(rows_of(X), labels=y, order=np.arange(rest))
    assert same_state(learner, again)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_estimators_and_sweeps_take_n_jobs(n_jobs):
    X, y, _ = problem("multiclass", 70)
    _, several, _ = problem("regression", 70)
    for make, target in (
        (lambda **p: aggro.PassiveAggressiveClassifier(multiclass="ovr", random_state=0, **p), y),
        (lambda **p: aggro.PassiveAggressiveClassifier(C="auto", random_state=0, **p), y),
        (lambda **p: aggro.AROWClassifier(random_state=0, **p), y),
        (lambda **p: aggro.PassiveAggressiveRegressor(random_state=0, **p), several),
    ):
        one, two = make(max_iter=3, tol=None), make(max_iter=3, tol=None, n_jobs=n_jobs)
        for model in (one, two):
            model.fit(X, target)
            model.partial_fit(X, target)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.predict(X), two.predict(X))
        assert one.n_mistakes_ == two.n_mistakes_
        assert one.cumulative_loss_ == two.cumulative_loss_
    sweeps = [aggro.sweep(X, y, C=C_VALUES, multiclass="ovr", n_jobs=n) for n in (None, n_jobs)]
    assert str(sweeps[0]) == str(sweeps[1])


def test_n_jobs_counts_as_in_scikit_learn():
    cores = threads_of(-1)
    assert threads_of(None) == 1
    assert threads_of(5) == 5
    assert threads_of(-1000) == 1
    assert threads_of(-2) == max(1, cores - 1)
    for bad in (0, 1.5, "all", True):
        with pytest.raises(ValueError, match="n_jobs="):
            aggro.PassiveAggressiveClassifier(n_jobs=bad).fit([[0.0], [1.0]], [0, 1])


def test_model_selection_does_not_depend_on_threads():
    X, y, _ = problem("multiclass", 3, rows=5000, features=10)
    settings = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}
    one, two = (
        aggro.PassiveAggressiveClassifier(**settings, n_jobs=n).partial_fit(X, y) for n in (None, 2)
    )
    assert one.candidates_ == two.candidates_ and one.n_mistakes_ == two.n_mistakes_
    np.testing.assert_array_equal(one.coef_, two.coef_)
    bad = X.copy()
    bad[4000, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        two.partial_fit(bad, y)
    assert one.candidates_ == two.candidates_
