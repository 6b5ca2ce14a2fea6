"""The unit of the grid of C="auto", which follows the size of rows and targets."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import aggro
from aggro import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    StreamClassifier,
    StreamRegressor,
)
from aggro.selection.search_space import FIRST_REMOVAL

rng = np.random.default_rng(5)
X = rng.normal(size=(1500, 4)) * [1.0, 30.0, 5.0, 1.0]
TARGETS = 262.0 + X @ [3.0, 0.1, -2.0, 1.0] + rng.normal(size=1500)
LABELS = (TARGETS > 262).astype(int)


def regressor(**params):
    return PassiveAggressiveRegressor(
        **{"C": "auto", "epsilon": 0.0, "random_state": 0, "average": False} | params
    )


def classifier(**params):
    return PassiveAggressiveClassifier(
        **{"C": "auto", "random_state": 0, "average": False} | params
    )


def names(row):
    return {f"f{j}": value for j, value in enumerate(row)}


def assert_same_state(one, two):
    """Assert that two model selections are in the same state, bit for bit."""
    assert one.candidates_ == two.candidates_
    assert one.n_mistakes_ == two.n_mistakes_ and one.t_ == two.t_
    selection, other = one._learner, two._learner
    assert (selection.drift.next_checkpoint, selection.leading) == (
        other.drift.next_checkpoint,
        other.leading,
    )
    for mine, yours in zip(selection.learners, other.learners, strict=True):
        states = mine.state(), yours.state()
        for name, array in states[0].items():
            assert array.tobytes() == states[1][name].tobytes(), name


def progressive_error(model, rows, targets, size=20):
    errors = []
    for start in range(0, len(targets), size):
        part = slice(start, start + size)
        if start:
            errors.append(np.abs(model.predict(rows[part]) - targets[part]).mean())
        model.partial_fit(rows[part], targets[part])
    return np.mean(errors)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("first", [0.0, 1e-6, 1e6, -1e12])
def test_an_outlying_first_target_hardly_affects_errors(first, metric):
    odd = TARGETS.copy()
    odd[0] = first
    usual = progressive_error(regressor(metric=metric), X, TARGETS)
    assert progressive_error(regressor(metric=metric), X, odd) < 1.5 * usual
    model = StreamRegressor("PAR-I", C="auto", metric=metric, epsilon=0.0)
    errors = []
    for row, target in zip(X.tolist(), odd.tolist(), strict=True):
        errors.append(abs(model.predict_one(names(row)) - target))
        model.learn_one(names(row), target)
    assert np.mean(errors[20:]) < 1.5 * usual


@pytest.mark.parametrize("factor", [0.0, 1e-8, 1e8])
def test_an_outlying_first_row_hardly_affects_errors(factor):
    odd = X.copy()
    odd[0] *= factor
    usual, model = classifier(fit_intercept=False), classifier(fit_intercept=False)
    for part in (slice(FIRST_REMOVAL - 1), slice(FIRST_REMOVAL - 1, None)):
        usual.partial_fit(X[part], LABELS[part])
        model.partial_fit(odd[part], LABELS[part])
        if part.stop:  # later on each grid follows its own best candidate
            grids = [
                np.log10([candidate["C"] for candidate in each.candidates_])
                for each in (model, usual)
            ]
            np.testing.assert_allclose(*grids, atol=0.5001)  # at most a step apart
    assert model.n_mistakes_ < 1.2 * usual.n_mistakes_


def test_rows_of_zeros_do_not_set_the_unit():
    model = regressor(fit_intercept=False).partial_fit(np.zeros((50, 4)), np.zeros(50))
    assert [candidate["C"] for candidate in model.candidates_] == pytest.approx(
        10.0 ** np.arange(-5, 1.5, 0.5)
    )
    few = slice(FIRST_REMOVAL - 51)
    model.partial_fit(X[few], TARGETS[few])
    known = regressor(fit_intercept=False).partial_fit(X[few], TARGETS[few])
    assert [candidate["C"] for candidate in model.candidates_] == pytest.approx(
        [candidate["C"] for candidate in known.candidates_]
    )


@pytest.mark.parametrize("zeros", ["rows", "targets"])
def test_the_first_1024_nonzero_rows_and_targets_set_the_unit(zeros):
    """Rows and targets are counted separately."""
    rows, targets = X.copy(), TARGETS.copy()
    (rows if zeros == "rows" else targets)[:200] = 0
    rows[1300:], targets[1300:] = 1e30, 1e30
    model = regressor(fit_intercept=False).partial_fit(rows, targets)
    squares, answers = (rows**2).sum(axis=1), np.abs(targets)
    sums = [np.log(each[each > 0][:1024]).sum() for each in (squares, answers)]
    for learner in model._learner.learners:
        assert learner.model.unit[:4] == pytest.approx([1024, sums[0], 1024, sums[1]])


@pytest.mark.parametrize("scale", [1e-60, 1e-5, 1.0, 1e5, 1e60])
def test_the_grid_scales_with_rows_and_targets(scale):
    """Each C is inversely proportional to squared rows and proportional to targets."""
    plain = regressor(fit_intercept=False).partial_fit(X, TARGETS)
    rows = regressor(fit_intercept=False).partial_fit(X * scale, TARGETS)
    assert [candidate["C"] * scale**2 for candidate in rows.candidates_] == pytest.approx(
        [candidate["C"] for candidate in plain.candidates_]
    )
    targets = regressor(fit_intercept=False).partial_fit(X, TARGETS * scale)
    assert [candidate["C"] / scale for candidate in targets.candidates_] == pytest.approx(
        [candidate["C"] for candidate in plain.candidates_]
    )
    assert rows.C_ * scale**2 == pytest.approx(targets.C_ / scale) == pytest.approx(plain.C_)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("size", [1, 7, 100, 1024])
def test_the_unit_is_chunk_invariant(size, batch_size):
    whole, pieces = (regressor(metric="auto", average="auto", batch_size=batch_size) for _ in "ab")
    whole.partial_fit(X, TARGETS)
    size = -(-size // batch_size) * batch_size
    for start in range(0, len(X), size):
        pieces.partial_fit(X[start : start + size], TARGETS[start : start + size])
        if start == 2 * size:
            pieces = pickle.loads(pickle.dumps(pieces))
    assert_same_state(whole, pieces)


@pytest.mark.parametrize("make", [sp.csr_matrix, np.ascontiguousarray])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_examples_of_weight_zero_are_ignored(batch_size, make):
    axes = {"metric": "auto", "average": "auto", "batch_size": batch_size}
    heavy = np.flatnonzero(rng.random(1500) < 0.6)
    rows = X * 1e9  # would change the unit if they counted
    rows[heavy] = X[heavy]
    weights = np.zeros(1500)
    weights[heavy] = 1.0
    whole, less = classifier(**axes), classifier(**axes)
    less.partial_fit(make(X[heavy]), LABELS[heavy])
    whole.partial_fit(make(rows), LABELS, sample_weight=weights)
    assert_same_state(whole, less)
    pieces = classifier(**axes).partial_fit(make(rows[:9]), LABELS[:9], [0, 1], np.zeros(9))
    assert pieces.candidates_ == [] and not pieces.coef_.any()
    ends = np.append(heavy[8::8], 1500)
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        part = slice(start, end)
        pieces.partial_fit(make(rows[part]), LABELS[part], sample_weight=weights[part])
    assert_same_state(pieces, less)


@pytest.mark.parametrize("scale", ["none", "online", "standard"])
def test_stored_zeros_do_not_change_the_grid(scale):
    rows = sp.csr_matrix(X * (rng.random(X.shape) < 0.5))
    stored = sp.csr_matrix(np.ones(X.shape))
    stored.data = rows.toarray().ravel()
    plain = classifier(scale=scale).partial_fit(rows, LABELS)
    odd = classifier(scale=scale).partial_fit(stored, LABELS)
    assert [candidate["C"] for candidate in odd.candidates_] == [
        candidate["C"] for candidate in plain.candidates_
    ]
    assert odd.n_mistakes_ == plain.n_mistakes_


@pytest.mark.parametrize("scale", ["none", "online"])
def test_zeros_in_the_first_dict_do_not_change_the_grid(scale):
    plain, odd = (
        StreamRegressor("PAR-I", C="auto", scale=scale, fit_intercept=False) for _ in "ab"
    )
    plain.learn_one({"a": 3.0}, 5.0)
    odd.learn_one({"a": 3.0, **{f"zero{j}": 0.0 for j in range(99)}}, 5.0)
    assert odd.candidates_ == plain.candidates_
    assert odd.predict_one({"a": 2.0}) == plain.predict_one({"a": 2.0}) != 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejected_rows_leave_the_unit_unchanged(bad):
    rows = X[:5].copy()
    rows[3, 1] = bad
    model = classifier().partial_fit(X[:1], LABELS[:1], [0, 1])
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="row 3"):
        model.partial_fit(rows * 1e5, LABELS[:5])
    assert_same_state(model, copy)
    fresh = classifier()
    with pytest.raises(ValueError, match="row 3"):
        fresh.partial_fit(rows, LABELS[:5])
    assert not hasattr(fresh, "_learner")


def test_a_first_example_that_is_rejected_or_without_weight_sets_no_grid():
    stream = StreamRegressor("PAR-I", C="auto", batch_size=2)
    stream.learn_one({"a": 1e9}, 5.0, 0.0)
    with pytest.raises(ValueError, match="y"):
        stream.learn_one({"a": 1e9}, float("nan"))
    assert stream.candidates_ == []


@pytest.mark.parametrize("params", [{}, {"scale": "online"}, {"scale": "standard"}], ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
def test_streams_select_as_estimators_do(metric, params):
    model = regressor(metric=metric, **params).partial_fit(X, TARGETS)
    stream = StreamRegressor("PAR-I", C="auto", metric=metric, epsilon=0.0, **params)
    for row, target in zip(X.tolist(), TARGETS.tolist(), strict=True):
        stream.learn_one(names(row), target)
    for mine, other in zip(stream.candidates_, model.candidates_, strict=True):
        assert mine["C"] == pytest.approx(other["C"], rel=1e-12)
        assert mine["recent_loss"] == pytest.approx(other["recent_loss"], rel=1e-6)
    labels = classifier(metric=metric, **params).partial_fit(X, LABELS, [0, 1])
    stream = StreamClassifier("SPA-I", C="auto", metric=metric, **params)
    for row, label in zip(X.tolist(), LABELS.tolist(), strict=True):
        stream.learn_one(names(row), label)
    assert [candidate["C"] for candidate in stream.candidates_] == pytest.approx(
        [candidate["C"] for candidate in labels.candidates_], rel=1e-12
    )


@pytest.mark.parametrize("learned", [1, 3, 4, 9])
def test_a_stream_stored_in_the_middle_of_a_batch_continues(learned, tmp_path):
    def learn(model, part):
        for row, target in zip(X[part].tolist(), TARGETS[part].tolist(), strict=True):
            model.learn_one(names(row), target)

    whole, stored = (StreamRegressor("PAR-I", C="auto", batch_size=4, epsilon=0.0) for _ in "ab")
    learn(whole, slice(0, 200))
    learn(stored, slice(0, learned))
    aggro.save(stored, tmp_path / "stream.aggro")
    for copy in (aggro.load(tmp_path / "stream.aggro"), pickle.loads(pickle.dumps(stored))):
        learn(copy, slice(learned, 200))
        assert copy.candidates_ == whole.candidates_ and copy.coef_ == whole.coef_


@pytest.mark.parametrize("batch_size", [1, 2, 4, 8])
@pytest.mark.parametrize("first", [1e-300, 1e300])
def test_a_unit_may_change_by_more_than_the_range_of_floats(batch_size, first):
    X, y = np.ones((16, 1)), np.array([first] * 2 + [1 / first] * 14)
    model = PassiveAggressiveRegressor(C="auto", epsilon=0.0, batch_size=batch_size)
    model.partial_fit(X[:2], y[:2])
    model.partial_fit(X[2:], y[2:])
    assert 0.0 < model.C_ < np.inf and np.isfinite(model.predict(X)).all()
    stream = aggro.StreamRegressor("PAR-I", C="auto", epsilon=0.0, batch_size=batch_size)
    for value in y:
        stream.learn_one({"x": 1.0}, value)
    assert 0.0 < stream.C_ < np.inf
