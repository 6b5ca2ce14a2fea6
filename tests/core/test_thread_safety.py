"""Several threads share one object: no update is lost, and readers see consistent states."""

import sys
import threading
import time

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_learner

import aggro
from aggro import _core
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.learner import rows_of
from aggro.selection.common import make_learner as make_selection
from aggro.settings import Settings

SECONDS = 0.15
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 12))
Y = rng.integers(0, 3, 60)


def run_together(*jobs, seconds=SECONDS):
    """Call each job repeatedly in a separate thread; return the number of calls of each."""
    end, failures, counts = time.monotonic() + seconds, [], [0] * len(jobs)
    start = threading.Barrier(len(jobs))

    def work(i):
        start.wait()
        try:
            while time.monotonic() < end and not failures:
                jobs[i]()
                counts[i] += 1
        except BaseException as error:  # raised by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(jobs))]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # switch threads as often as possible
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]
    return counts


SETTINGS = {
    "plain": {},
    "full": {"metric": "full"},
    "averaged, means, scaled": {"average": True, "class_mean": 0.1, "scale": "standard"},
    "reservoir": {"average": "reservoir"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_linear_model_is_consistent_while_it_learns(name):
    settings = Settings(task="multiclass", **SETTINGS[name])
    learner = make_learner(settings, 12, 3)
    model, rows = learner.model, rows_of(X)
    learn = lambda: model.learn(rows, Y, threads=2)  # noqa: E731

    def read():
        state = model.state()
        assert state["counters"][0] % 60 == 0  # complete calls
        assert np.isfinite(model.score(rows, 2)).all()

    def query():
        assert model.examples % 60 == 0 and model.averaged >= 0 and model.features == 12
        assert len(model.group_counts) == 1 and len(model.records) == 1 and model.chosen == 0
        assert len(model.chosen_record) == 2 and model.memory == 1 and model.columns >= 3
        assert np.isfinite(model.bias()).all() and np.isfinite(model.weights()).all()
        model.weights_view()

    def reset():
        model.set_groups(learner._groups())
        model.freeze_means(False)
        model.set_memory(1.0)
        model.average_from(0)
        model.load_state(model.state() if model.examples == 0 else start)

    start = model.state()
    counts = run_together(learn, learn, read, query)
    assert model.examples == 60 * (counts[0] + counts[1])
    run_together(learn, read, query, reset)


def test_models_locked_in_different_orders_do_not_deadlock():
    """Threads pass the same models to ``learn_together`` in different orders."""
    learners = [make_learner(Settings(task="multiclass"), 12, 3) for _ in range(4)]
    models, rows = [learner.model for learner in learners], rows_of(X)
    orders = (models, models[::-1], [models[2], models[0]], [models[1], models[3]])
    jobs = [lambda some=some: _core.learn_together(some, rows, Y, threads=2) for some in orders]
    counts = run_together(*jobs, lambda: [model.score(rows) for model in models])
    calls = [counts[0] + counts[1] + counts[2 + i % 2] for i in range(4)]
    assert [model.examples for model in models] == [60 * count for count in calls]


def test_rollback_keeps_the_updates_of_other_threads():
    """A failed call is rolled back before other calls start."""
    learner = make_learner(Settings(task="multiclass"), 12, 3)
    bad = X.copy()
    bad[50, 3] = np.nan

    def rejected():
        with pytest.raises(ValueError, match="row 50"):
            learner.learn(rows_of(bad), labels=Y)

    counts = run_together(rejected, rejected, lambda: learner.learn(rows_of(X), labels=Y))
    assert learner.examples == 60 * counts[2]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("strategy", ["simple", "nearest", "projection", "oldest"])
def test_kernel_model_is_consistent_while_it_learns(strategy, sparse):
    choice = KernelChoice("rbf", 0.1, 3, 0.0, 20, strategy)
    learner = KernelLearner(Settings(task="multiclass"), choice, 0.1, 600, 3, sparse)
    wide = np.hstack([X, np.zeros((60, 588))])
    model, batch = learner.model, {"labels": Y, "weights": None}

    def read():
        ids, coef = model.expansion()
        assert len(ids) == len(coef) == len(set(ids)) <= 20
        state = model.state()
        assert len(state["ids"]) == len(state["self"]) and state["counters"][0] % 60 == 0
        assert np.isfinite(learner.score_rows(wide)).all() and model.size <= 20
        assert model.examples % 60 == 0 and len(model.history) == 3
        assert len(model.support()) >= 2

    counts = run_together(*2 * [lambda: learner.learn_rows(wide, batch)], read, read)
    assert model.examples == 60 * (counts[0] + counts[1]) == learner.next_id


def test_kernel_values_for_another_number_of_vectors_are_rejected():
    """Kernel values must match the number of support vectors; each accepted call adds one."""
    for _ in range(5):
        choice = KernelChoice("precomputed", None, 3, 0.0, None, "simple")
        settings = Settings(task="binary", loss="hard", fit_intercept=False)
        learner = KernelLearner(settings, choice, 1.0, 1, 2)
        model, accepted, number = learner.model, [], iter(range(10**9))

        def call(model=model, accepted=accepted, number=number):
            i = next(number)
            size = model.size
            values, one = np.zeros((1, size)), np.ones((1, 1))
            try:
                model.learn_values(values, one, np.array([1]), None, None, np.array([i]))
            except ValueError as error:
                assert "kernel values are needed" in str(error)
            else:
                accepted.append(size)

        run_together(call, call, call, call, seconds=0.1)
        assert sorted(accepted) == list(range(model.size))


@pytest.mark.parametrize("wrong", [(3, 3), (2, 3), (3, 2), (2, 1), (0, 0)])
def test_kernel_values_of_another_shape_are_rejected(wrong):
    choice = KernelChoice("precomputed", None, 3, 0.0, None, "simple")
    learner = KernelLearner(Settings(task="binary", loss="hard"), choice, 1.0, 2, 2)
    model, labels, ids = learner.model, np.array([0, 1]), np.arange(2)
    with pytest.raises(ValueError, match="kernel values are needed"):
        model.learn_values(np.zeros((2, 0)), np.ones(wrong), labels, None, None, ids)
    if wrong != (0, 0):
        with pytest.raises(ValueError, match="kernel values are needed"):
            model.learn_values(np.zeros(wrong), np.eye(2), labels, None, None, ids)
    assert model.size == 0 and model.examples == 0
    model.learn_values(np.zeros((2, 0)), np.eye(2), labels, None, None, ids)
    assert model.size == 2


def test_leaving_the_lock_of_a_stream_releases_it():
    """Other threads continue at once, also after an exception inside the block."""
    model = aggro.StreamRegressor()
    lock = model._lock
    for error in (None, ValueError):
        try:
            with lock:
                model.learn_one({"a": 1.0}, 1.0)  # the lock is reentrant
                if error:
                    raise error
        except ValueError:
            pass
        other = threading.Thread(target=model.learn_one, args=({"a": 1.0}, 2.0), daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive()
    assert model.examples == 4


def test_callable_kernel_is_thread_safe():
    def kernel(A, B):
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    model = aggro.KernelPassiveAggressiveClassifier(kernel=kernel, budget=15)
    model.partial_fit(X, Y, classes=[0, 1, 2])
    learn = lambda: model._learner.learn_rows(X, {"labels": Y, "weights": None})  # noqa: E731
    counts = run_together(
        learn, learn, lambda: model.predict(X), lambda: model.decision_function(X[:3])
    )
    assert model.t_ == 1 + 60 * (1 + counts[0] + counts[1])
    assert model.n_support_ == 15 == len(model.support_vectors_)
    scores = kernel(X, model.support_vectors_) @ model.dual_coef_.T + model.intercept_
    assert_close(model.decision_function(X), scores)


@pytest.mark.parametrize(
    "open_", [{"C": "auto"}, {"C": "auto", "metric": "auto", "average": "auto"}]
)
def test_model_selection_is_consistent_while_it_learns(open_):
    """Candidates are dropped and grids move while other threads predict."""
    settings = Settings(task="multiclass", **open_)
    selection = make_selection(settings, 12, 3)
    selection.learn(rows_of(X), labels=Y)

    def read():
        assert np.isfinite(selection.scores(rows_of(X))).all()
        assert (
            selection.C > 0
            and sum(candidate["chosen"] for candidate in selection.candidates()) == 1
        )
        assert selection.progress.mistakes >= 0 and selection.coef().shape == (3, 12)
        assert len(selection.best_learner().coef()) == 3

    learn = lambda: selection.learn(rows_of(X), labels=Y, threads=2)  # noqa: E731
    counts = run_together(learn, learn, read, read, seconds=2 * SECONDS)
    assert {learner.examples for learner in selection.learners} == {
        60 * (1 + counts[0] + counts[1])
    }


def example(i):
    x = {f"w{j}": float(v) for j, v in zip(range(i % 5, 12), X[i % 60], strict=False)}
    return x, "abc"[(i // 2) % 3]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"probability": True},
        {"C": "auto"},
        {"batch_size": 3, "max_features": 12},
        {"average": True, "scale": "online", "probability": True},
    ],
    ids=str,
)
def test_stream_is_consistent_while_it_learns(params):
    stream = aggro.StreamClassifier("PA-I", **params)
    number = iter(range(10**9))

    def learn():
        stream.learn_one(*example(next(number)))

    def predict():
        x = example(7)[0]
        assert stream.predict_one(x) in (None, *"abc")
        probabilities = stream.predict_proba_one(x)
        assert not probabilities or abs(sum(probabilities.values()) - 1) < 1e-9

    def read():
        names, _, model, _ = stream._pieces()
        assert model.examples <= stream.examples and len(names) <= 12
        assert stream.coef_ is not None and stream.intercept_ is not None
        assert stream.n_mistakes_ >= 0 and (not stream.examples or stream.C_ > 0)

    counts = run_together(learn, learn, predict, read)
    learned = counts[0] + counts[1]
    assert learned - 2 <= stream.examples <= learned


def test_rejected_table_keeps_the_updates_of_other_threads():
    pd = pytest.importorskip("pandas")
    good = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    bad = pd.DataFrame({"a": [1.0, np.inf], "b": [0.0, 1.0]})
    stream = aggro.StreamClassifier("PA-I")

    def rejected():
        with pytest.raises(ValueError, match="row 1"):
            stream.learn_many(bad, ["x", "y"])

    counts = run_together(
        rejected,
        lambda: stream.learn_many(good, ["x", "y"]),
        lambda: stream.learn_one({"a": 1.0}, "y"),
    )
    assert stream.examples == 2 * counts[1] + counts[2]
