"""``learn_together`` trains several models in one call, independently and atomically."""

import numpy as np
import pytest
from linear_support import make_learner, same_state, stored

from aggro import _core
from aggro.learner import rows_of
from aggro.settings import Settings

# models whose steps change only the features of the row, or all features
NARROW = (
    {},
    {"C": 0.01, "average": True},
    {"metric": "diagonal"},
    {"scale": "online", "loss": "hard"},
)
BROAD = (
    {"metric": "full"},
    {"scale": "standard"},
    {"class_mean": 0.2, "average": 10},
    {"queue": 3},
    {"average": "reservoir"},
)


def learners_of(features, kinds, batch_size=1, dtype=np.float64):
    """Return learners of different kinds for the same four classes."""
    common = {"task": "multiclass", "batch_size": batch_size}
    return [make_learner(Settings(**common, **kind), features, 4, dtype) for kind in kinds]


def problem(rows=400, features=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) * (rng.random((rows, features)) < 0.3)
    return X, rng.integers(0, 4, rows), rng.integers(0, 3, rows).astype(float)


def train_all(learners, X, y, weights=None, **how):
    batch = learners[0].settings.batch_size
    models = [learner.model for learner in learners]
    _core.learn_together(models, rows_of(X), y, None, weights, batch_size=batch, **how)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("threads", [1, 2, 30])
def test_each_model_equals_a_model_learned_alone(threads, batch_size, dtype):
    X, y, weights = problem()
    X = stored(X, "csr32", dtype)
    order = np.random.default_rng(1).permutation(len(y))
    several, single = (learners_of(30, NARROW + BROAD, batch_size, dtype) for _ in range(2))
    for _ in range(2):
        train_all(several, X, y, weights, order=order, threads=threads)
        for learner in single:
            learner.learn(rows_of(X), labels=y, weights=weights, order=order)
    for one, other in zip(several, single, strict=True):
        assert same_state(one, other)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("features", [30, 3000])
@pytest.mark.parametrize("kinds", [NARROW, BROAD])
def test_rejected_row_restores_all_models(kinds, features, storage, threads):
    """For wide models, only the weights that sparse rows can change are saved."""
    kinds = [kind for kind in kinds if features < 1000 or kind.get("metric") != "full"]
    X, y, _ = problem(rows=25, features=features)
    learners = learners_of(features, kinds)
    train_all(learners, stored(X, storage), y)
    before = [learner.state() for learner in learners]
    X = np.flip(X)[:20].copy()
    X[18, 7] = np.nan
    with pytest.raises(ValueError, match="row 18: feature 7 is NaN"):
        train_all(learners, stored(X, storage), y[:20], threads=threads)
    for learner, kept in zip(learners, before, strict=True):
        now = learner.state()
        assert all(now[name].tobytes() == kept[name].tobytes() for name in kept)
    with pytest.raises(ValueError, match="row 18"):
        train_all(learners, stored(X, storage), y[:20], threads=threads, undo=False)
    assert [learner.examples for learner in learners] == [43] * len(learners)


@pytest.mark.parametrize("threads", [1, 4])
def test_error_names_the_first_of_several_bad_rows(threads):
    """The second learner overflows before the first one reaches the NaN."""
    X = np.ones((50, 2), dtype=np.float32)
    X[40, 1] = np.nan
    y = np.zeros((50, 1))
    y[20] = 1e300
    kinds = ({"loss": "epsilon_insensitive"}, {"loss": "hard", "epsilon": 0.0})
    learners = [make_learner(Settings(task="regression", **k), 2, 1, np.float32) for k in kinds]
    with pytest.raises(ValueError, match="row 20: its"):
        _core.learn_together(
            [each.model for each in learners], rows_of(X), None, y, threads=threads
        )
    assert [learner.examples for learner in learners] == [0, 0]


def test_input_invalid_for_one_model_is_learned_by_none():
    X, y, _ = problem(features=30)
    fits, narrow, few = learners_of(30, [{}]) + learners_of(29, [{}]) + learners_of(30, [{}])
    few = make_learner(Settings(task="multiclass"), 30, 3)
    for other, error, message in (
        (narrow, ValueError, "X has 30 features, but the model has 29"),
        (few, IndexError, "not one of the model's classes"),
        (fits, ValueError, "given twice"),
    ):
        with pytest.raises(error, match=message):
            train_all([fits, other], X, y)
    assert fits.examples == 0
    with pytest.raises(IndexError, match="order contains the index of a row"):
        train_all([fits], X, y, order=np.array([400]))
    with pytest.raises(TypeError):
        train_all([fits, *learners_of(30, [{}], dtype=np.float32)], X, y)


@pytest.mark.parametrize("features", [30, 3000])
def test_update_of_several_calls_can_be_rolled_back(features):
    X, y, _ = problem(rows=40, features=features)
    X[30, 3] = 1e-300  # so small that later steps may overflow
    X = stored(X, "csr32")
    learners = learners_of(features, NARROW)
    train_all(learners, X, y, order=np.arange(10))
    models, kept = [each.model for each in learners], [each.state() for each in learners]
    before = _core.begin_transaction(models, rows_of(X), y)
    for start in range(0, 40, 10):
        train_all(learners, X, y, order=np.arange(start, start + 10), undo=False)
    learners[0].configure(Settings(task="multiclass", C=5.0))
    before.restore()
    for learner, state in zip(learners, kept, strict=True):
        now = learner.state()
        assert all(now[name].tobytes() == state[name].tobytes() for name in state)
    fresh = learners_of(features, NARROW)
    train_all(fresh, X, y, order=np.arange(10))
    for one, other in zip(fresh, learners, strict=True):
        train_all([one], X, y)
        train_all([other], X, y)
        assert same_state(one, other)
    models[0].grow(features + 1)
    with pytest.raises(ValueError, match="has grown since"):
        before.restore()


def test_huge_batch_size_needs_no_memory():
    X, y, _ = problem(rows=6)
    huge, exact = learners_of(30, [{}], batch_size=2**60), learners_of(30, [{}], batch_size=6)
    train_all(huge, X, y)
    train_all(exact, X, y)
    assert same_state(huge[0], exact[0])


def test_invalid_state_changes_nothing():
    X, y, _ = problem()
    learner, other = learners_of(30, [{}, {}])
    train_all([learner], X, y)
    before = learner.state()
    other_state = other.state()
    for broken in (
        {**other_state, "counters": np.zeros(3, dtype=np.int64)},
        {name: array for name, array in other_state.items() if name != "counters"},
    ):
        with pytest.raises((ValueError, KeyError), match="counters"):
            learner.load_state(broken)
        now = learner.state()
        assert all(now[name].tobytes() == before[name].tobytes() for name in before)
