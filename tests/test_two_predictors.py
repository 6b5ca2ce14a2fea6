"""``average="auto"``: the mean of the weights and the last ones are judged, the better predicts."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st
from linear_strategies import variants
from linear_support import (
    CASES,
    STORAGES,
    make_learner,
    make_problem,
    same_state,
    stored,
    teach,
    trained,
    twin_of,
    values_of,
)

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor, StreamClassifier
from aggro._core import permutation
from aggro.learner import Learner, rows_of
from aggro.reference import ReferenceLearner
from aggro.reference.predictor import LateAverage, PredictorSelection
from aggro.selection.learners import select
from aggro.settings import Settings, memory_of

SCALES = values_of("scale")


def changing(rng, n=1500, d=6):
    """Rows whose concept turns round after two thirds: the mean is then behind."""
    X = rng.standard_normal((n, d))
    sign = np.where(np.arange(n) < 2 * n // 3, 1.0, -1.0)
    return X, (sign * (X @ rng.standard_normal(d)) > 0).astype(np.int64)


def noisy(rng, n=600, d=6):
    """Rows with a tenth of the labels wrong: the last weights follow each of them."""
    X = rng.standard_normal((n, d))
    wrong = rng.random(n) < 0.1
    return X, ((X @ rng.standard_normal(d) > 0) ^ wrong).astype(np.int64)


def settings(case="binary", **more):
    task, outputs, multiclass = CASES[case]
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    return Settings(task=task, loss=loss, multiclass=multiclass, average="auto", **more), outputs


# -- the rule ---------------------------------------------------------------------------------


def test_late_rounds_weigh_the_cube_of_their_number():
    rows, average = np.arange(1.0, 6.0).reshape(5, 1, 1), LateAverage(1, np.zeros((1, 1)))
    for row in rows:
        average.update(row, 1)
    weights = np.arange(1.0, 6.0) ** 3
    mean = np.average(np.arange(1.0, 6.0), weights=weights)
    assert average.weights(rows[-1])[0, 0] == pytest.approx(mean)
    average.update(rows[0], 1, new=False)  # known rows count as much as the last new one
    assert average.rounds == weights.sum() + 125


def test_last_weights_predict_only_if_better_beyond_chance():
    selection = PredictorSelection(memory=1.0)
    for _ in range(selection.FEW):
        assert not selection.mean_predicts  # too early to tell
        selection.update(np.zeros(2), np.zeros(2))
    assert selection.mean_predicts
    for _ in range(3):
        selection.update(np.array([1.0, 0.0]), np.zeros(2))
    assert not selection.mean_predicts  # 3 against 0 is more than the root of 3
    for _ in range(3):
        selection.update(np.array([0.0, 1.0]), np.zeros(2))
    assert selection.mean_predicts
    selection.update(np.zeros(2), np.array([2.0, 1.0]))  # a regression has no mistakes
    assert not selection.mean_predicts


@pytest.mark.parametrize("forgetting", [0.0, 0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_the_mean_predicts_from_the_eleventh_example_on(forgetting, batch_size):
    """In the core, in the reference, and in models side by side, while both rivals are level."""
    chosen, _ = settings(forgetting=forgetting, batch_size=batch_size)
    learners = [Learner(chosen, 1, 2), Learner([chosen, dataclasses.replace(chosen, C=2.0)], 1, 2)]
    twin = twin_of(chosen, 1, 1)
    rows, y = np.ones((batch_size, 1)), np.ones(batch_size, dtype=np.int64)
    for seen in range(batch_size, 21, batch_size):
        twin.learn_batch(rows, y)
        expected = seen >= 10
        assert twin.selection.mean_predicts == expected
        for learner in learners:
            teach(learner, rows, y)
            assert learner.model.by_mean == [expected] * learner.models


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("forgetting", [0.0, 0.3])
@pytest.mark.parametrize("stream", [changing, noisy])
def test_core_and_twin_choose_alike(case, stream, forgetting):
    chosen, outputs = settings(case, forgetting=forgetting)
    X, labels = stream(np.random.default_rng(5))
    y = labels
    if chosen.task != "binary":
        y = make_problem(chosen.task, outputs, np.random.default_rng(1), n=len(X), d=X.shape[1])[1]
        y = np.where(labels[:, None] if y.ndim == 2 else labels, y, np.roll(y, 1, axis=0))
    core, twin = trained(X, y, outputs, **vars(chosen)), twin_of(chosen, X.shape[1], outputs)
    targets = 2 * y - 1 if chosen.task == "binary" else y
    twin.learn_stream(X, targets[:, 0] if case == "regression" else targets)
    assert core.model.by_mean == [twin.selection.mean_predicts]
    np.testing.assert_allclose(core.coef(), twin.W, atol=1e-9)
    np.testing.assert_allclose(core.scores(rows_of(X)), twin.scores(X), atol=1e-8)


def test_the_last_weights_predict_where_the_concept_changes_and_the_mean_where_it_is_noisy():
    answers = {}
    for stream in (changing, noisy):
        X, y = stream(np.random.default_rng(0))
        model = PassiveAggressiveClassifier().partial_fit(X, y)
        answers[stream.__name__] = model._learner.model.by_mean[0]
        twin = PassiveAggressiveClassifier(average=False).partial_fit(X, y)
        same = np.allclose(model.coef_, twin.coef_, rtol=1e-9)
        assert same != answers[stream.__name__]  # the weights shown are those that predict
        shown = X @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(X), shown, atol=1e-12)
    assert answers == {"changing": False, "noisy": True}


def test_mistakes_are_those_of_what_predicted():
    X, y = changing(np.random.default_rng(3))
    model, counted = PassiveAggressiveClassifier(), 0
    for i in range(len(X)):
        if i > 1:
            counted += int(model.predict(X[i : i + 1])[0] != y[i])
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        if i == 1:
            counted = model.n_mistakes_
    assert model.n_mistakes_ == counted


def test_regressions_are_judged_by_their_distance():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((800, 5))
    y = X @ np.arange(5.0)
    still = PassiveAggressiveRegressor(epsilon=0.0, loss="hard").partial_fit(X, y)
    assert still._learner.model.by_mean == [False]  # without noise the last weights are exact
    noise = PassiveAggressiveRegressor(epsilon=0.0).partial_fit(X, y + rng.standard_normal(800))
    assert noise._learner.model.by_mean == [True]


# -- the weights are those of a learner without a mean -----------------------------------------


def last_weights(learner):
    """The last weights as exact numbers: their scale is a power of two times what is stored."""
    mixture = learner.state()["mixture"].reshape(-1, 6)
    return (
        learner.model.weights_view() * mixture[:, 0],
        mixture[:, 1:3],
        learner.state()["bias"],
        learner.state()["bias_variance"],
    )


@given(
    variants(n=150, d=12),
    st.sampled_from([1, 2, 3, 5, 8, 12]),
    st.sampled_from(SCALES),
    st.sampled_from(STORAGES),
    st.sampled_from([np.float64, np.float32]),
)
def test_keeping_a_mean_does_not_change_the_weights(v, features, scale, storage, dtype):
    """Bit for bit, whatever the width of the rows."""
    X = stored(v.X[:, :features], storage, dtype)
    learners = []
    for average in ("auto", False):
        settings = dataclasses.replace(v.settings, average=average, scale=scale)
        learners.append(make_learner(settings, features, v.outputs, dtype))
        teach(learners[-1], X, v.y)
    for kept, plain in zip(*map(last_weights, learners), strict=True):
        assert np.array_equal(kept, plain)


@pytest.mark.parametrize("class_mean", [0.0, 0.3])
@pytest.mark.parametrize("case", ["binary", "support", "ovr"])
def test_coefficients_equal_those_without_a_mean_for_the_first_ten_examples(case, class_mean):
    chosen, outputs = settings(case, class_mean=class_mean)
    X, y = make_problem(chosen.task, outputs, np.random.default_rng(7), n=60, d=10)
    for rows in range(1, 10):
        kept, plain = (
            trained(X[:rows], y[:rows], outputs, **{**vars(chosen), "average": average})
            for average in ("auto", False)
        )
        assert kept.model.by_mean == [False]
        assert np.array_equal(kept.coef(), plain.coef())


# -- the same however it is learned -------------------------------------------------------------


@pytest.mark.parametrize("case", ["binary", "support", "ovr", "regressions"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunks_storages_copies_and_threads_change_nothing(case, dtype):
    chosen, outputs = settings(case)
    X, y = make_problem(chosen.task, outputs, np.random.default_rng(4), n=150)
    whole = trained(X, y, outputs, dtype=dtype, **vars(chosen))
    parts = Learner(chosen, X.shape[1], whole.classes, dtype)
    for start in range(0, 150, 37):
        teach(parts, stored(X[start : start + 37], dtype=dtype), y[start : start + 37])
        parts = pickle.loads(pickle.dumps(parts)) if start else copy.deepcopy(parts)
    assert same_state(whole, parts)
    sparse = trained(X, y, outputs, storage="csr32", dtype=dtype, **vars(chosen))
    close = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(sparse.coef(), whole.coef(), atol=close)


def test_threads_that_share_the_outputs_judge_as_one_does():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 40))
    y = (X @ rng.standard_normal((40, 128))).argmax(axis=1)
    models = [
        PassiveAggressiveClassifier(multiclass="ovr", n_jobs=jobs, random_state=0).partial_fit(X, y)
        for jobs in (1, 4)
    ]
    assert same_state(*(model._learner for model in models))


def test_passes_over_known_rows_are_not_judged():
    X, y = noisy(np.random.default_rng(1))
    one = PassiveAggressiveClassifier(max_iter=1, tol=None, random_state=0).fit(X, y)
    many = PassiveAggressiveClassifier(max_iter=5, tol=None, random_state=0).fit(X, y)
    for name in ("joint_mistakes", "recent_mistakes", "recent_loss", "record"):
        assert np.array_equal(one._learner.state()[name], many._learner.state()[name])
    assert one.n_mistakes_ == many.n_mistakes_
    twin = ReferenceLearner("binary", X.shape[1], average="auto", intercept_scaling="auto")
    random = np.random.RandomState(0)  # which draws the seed of each pass
    for _ in range(5):
        rows = permutation(len(X), random.randint(2**31 - 1))
        twin.learn_stream(X[rows], 2 * y[rows] - 1)
        twin.freeze_means()
    np.testing.assert_allclose(many.coef_, twin.W, atol=1e-9)


def test_lanes_equal_models_learned_alone():
    chosen, _ = settings()
    X, y = noisy(np.random.default_rng(7))
    prices = (0.01, 0.3, 10.0)
    lanes = [dataclasses.replace(chosen, C=C) for C in prices]
    together = teach(Learner(lanes, X.shape[1], 2), X, y)
    for place, lane in enumerate(lanes):
        alone = teach(Learner(lane, X.shape[1], 2), X, y)
        np.testing.assert_allclose(together.coef(place), alone.coef(), atol=1e-12)
        assert together.model.by_mean[place] == alone.model.by_mean[0]
        assert together.model.records[place] == pytest.approx(alone.model.records[0])
        taken = select(together, [place], [lane])
        np.testing.assert_allclose(teach(taken, X, y).coef(), teach(alone, X, y).coef(), atol=1e-12)


def test_classes_that_come_later_find_the_record_as_it_was():
    X, y = make_problem("multiclass", 4, np.random.default_rng(8), n=300)
    late = np.sort(y, kind="stable")
    growing = PassiveAggressiveClassifier().partial_fit(X, late)
    known = PassiveAggressiveClassifier().partial_fit(X, late, classes=range(4))
    assert growing._learner.model.by_mean == known._learner.model.by_mean
    assert growing.n_updates_ == known.n_updates_
    assert np.isfinite(growing.coef_).all()


@pytest.mark.parametrize("forgetting", [0.0, 0.3])
def test_a_stream_learner_is_the_estimator(forgetting):
    X, y = changing(np.random.default_rng(9), n=600)
    stream = StreamClassifier("PA-I", average="auto", forgetting=forgetting)
    for row, label in zip(X, y, strict=True):
        stream.learn_one({str(j): v for j, v in enumerate(row)}, int(label))
    model = PassiveAggressiveClassifier(forgetting=forgetting).partial_fit(X, y, classes=[0, 1])
    weights = stream.coef_[1]
    np.testing.assert_allclose(
        [weights[str(j)] for j in range(X.shape[1])], model.coef_[0], atol=1e-9
    )
    assert stream.n_mistakes_ == model.n_mistakes_


def test_files_hold_both(tmp_path):
    X, y = noisy(np.random.default_rng(11))
    model = PassiveAggressiveClassifier().partial_fit(X[:400], y[:400])
    aggro.save(model, tmp_path / "model")
    loaded = aggro.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[400:], y[400:])
    assert same_state(model._learner, loaded._learner)
    assert loaded._learner.model.memory == memory_of(loaded._learner.settings)


# -- where it is the default ---------------------------------------------------------------------


def test_published_names_predict_with_their_last_weights():
    for row in aggro.catalogue():
        assert getattr(row.make(), "average", False) is False
    assert PassiveAggressiveClassifier().average == PassiveAggressiveRegressor().average == "auto"


def test_weights_can_be_given_and_set():
    X, y = noisy(np.random.default_rng(12))
    coef = np.arange(6.0)[None]
    right = (X @ coef.T > 0).astype(int).ravel()  # with a margin of 1 nothing is left to learn
    wide = np.abs(X @ coef.T).ravel() > 1
    begun = PassiveAggressiveClassifier(fit_intercept=False).fit(X[wide], right[wide], coef)
    assert_close(begun.coef_, coef, rtol=1e-12)
    model = PassiveAggressiveClassifier().partial_fit(X, y)
    model.coef_ = coef
    np.testing.assert_array_equal(model.coef_, coef)
    assert model._learner.state()["late_weight"][0] == 0
    model.partial_fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_a_race_shows_which_weights_predict_in_each_lane():
    X, y = noisy(np.random.default_rng(13))
    model = PassiveAggressiveClassifier(C="auto").partial_fit(X, y)
    assert {lane["average"] for lane in model.candidates_} <= {True, False}
    leader = next(lane for lane in model.candidates_ if lane["chosen"])
    before = model.coef_
    model.keep_best()
    assert model.average == "auto" and leader["C"] == model.C
    np.testing.assert_array_equal(model.coef_, before)
