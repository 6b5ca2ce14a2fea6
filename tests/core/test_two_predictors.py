"""``average="auto"`` predicts with the averaged or the last weights, whichever are better."""

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
    reference_of,
    same_state,
    stored,
    train,
    trained,
    values_of,
)

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor, StreamClassifier
from aggro.estimators.passes import permutation
from aggro.learner import Learner, rows_of
from aggro.reference import ReferenceLearner
from aggro.reference.predictor import LateAverage, PredictorSelection
from aggro.selection.learners import select
from aggro.settings import Settings, memory_of

SCALES = values_of("scale")


def changing(rng, n=1500, d=6):
    """Return rows whose concept is reversed after two thirds, which the average follows late."""
    X = rng.standard_normal((n, d))
    sign = np.where(np.arange(n) < 2 * n // 3, 1.0, -1.0)
    return X, (sign * (X @ rng.standard_normal(d)) > 0).astype(np.int64)


def noisy(rng, n=600, d=6):
    """Return rows with a tenth of the labels wrong, which disturb the last weights."""
    X = rng.standard_normal((n, d))
    wrong = rng.random(n) < 0.1
    return X, ((X @ rng.standard_normal(d) > 0) ^ wrong).astype(np.int64)


def settings(case="binary", **more):
    task, outputs, multiclass = CASES[case]
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    return Settings(task=task, loss=loss, multiclass=multiclass, average="auto", **more), outputs


# -- the rule ------------------------------------------------------------------------------------


def test_rounds_are_weighted_by_the_cube_of_their_number():
    rows, average = np.arange(1.0, 6.0).reshape(5, 1, 1), LateAverage(1, np.zeros((1, 1)))
    for row in rows:
        average.update(row, 1)
    weights = np.arange(1.0, 6.0) ** 3
    mean = np.average(np.arange(1.0, 6.0), weights=weights)
    assert average.weights(rows[-1])[0, 0] == pytest.approx(mean)
    average.update(rows[0], 1, new=False)  # known rows weigh as much as the last new one
    assert average.rounds == weights.sum() + 125


def test_last_weights_predict_only_if_better_beyond_chance():
    selection = PredictorSelection(memory=1.0)
    for _ in range(selection.FEW):
        assert not selection.mean_predicts  # too few examples
        selection.update(np.zeros(2), np.zeros(2))
    assert selection.mean_predicts
    for _ in range(3):
        selection.update(np.array([1.0, 0.0]), np.zeros(2))
    assert not selection.mean_predicts  # 3 against 0 is more than the root of 3
    for _ in range(3):
        selection.update(np.array([0.0, 1.0]), np.zeros(2))
    assert selection.mean_predicts
    selection.update(np.zeros(2), np.array([2.0, 1.0]))  # regression has no mistakes
    assert not selection.mean_predicts


@pytest.mark.parametrize("forgetting", [0.0, 0.05, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_average_predicts_from_the_eleventh_example_on(forgetting, batch_size):
    """This holds in the core, the reference and models side by side if errors are equal."""
    chosen, _ = settings(forgetting=forgetting, batch_size=batch_size)
    learners = [Learner(chosen, 1, 2), Learner([chosen, dataclasses.replace(chosen, C=2.0)], 1, 2)]
    reference = reference_of(chosen, 1, 1)
    rows, y = np.ones((batch_size, 1)), np.ones(batch_size, dtype=np.int64)
    for seen in range(batch_size, 21, batch_size):
        reference.learn_batch(rows, y)
        expected = seen >= 10
        assert reference.selection.mean_predicts == expected
        for learner in learners:
            train(learner, rows, y)
            assert learner.model.by_mean == [expected] * learner.models


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("forgetting", [0.0, 0.3])
@pytest.mark.parametrize("stream", [changing, noisy])
def test_core_and_reference_make_the_same_choice(case, stream, forgetting):
    chosen, outputs = settings(case, forgetting=forgetting)
    X, labels = stream(np.random.default_rng(5))
    y = labels
    if chosen.task != "binary":
        y = make_problem(chosen.task, outputs, np.random.default_rng(1), n=len(X), d=X.shape[1])[1]
        y = np.where(labels[:, None] if y.ndim == 2 else labels, y, np.roll(y, 1, axis=0))
    core, reference = (
        trained(X, y, outputs, **vars(chosen)),
        reference_of(chosen, X.shape[1], outputs),
    )
    targets = 2 * y - 1 if chosen.task == "binary" else y
    reference.learn_stream(X, targets[:, 0] if case == "regression" else targets)
    assert core.model.by_mean == [reference.selection.mean_predicts]
    np.testing.assert_allclose(core.coef(), reference.W, atol=1e-9)
    np.testing.assert_allclose(core.scores(rows_of(X)), reference.scores(X), atol=1e-8)


def test_last_weights_win_with_drift_and_the_average_with_noise():
    answers = {}
    for stream in (changing, noisy):
        X, y = stream(np.random.default_rng(0))
        model = PassiveAggressiveClassifier().partial_fit(X, y)
        answers[stream.__name__] = model._learner.model.by_mean[0]
        reference = PassiveAggressiveClassifier(average=False).partial_fit(X, y)
        same = np.allclose(model.coef_, reference.coef_, rtol=1e-9)
        assert same != answers[stream.__name__]  # coef_ holds the weights that predict
        shown = X @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(X), shown, atol=1e-12)
    assert answers == {"changing": False, "noisy": True}


def test_mistakes_are_those_of_predict():
    X, y = changing(np.random.default_rng(3))
    model, counted = PassiveAggressiveClassifier(), 0
    for i in range(len(X)):
        if i > 1:
            counted += int(model.predict(X[i : i + 1])[0] != y[i])
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        if i == 1:
            counted = model.n_mistakes_
    assert model.n_mistakes_ == counted


def test_regressions_are_selected_by_absolute_error():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((800, 5))
    y = X @ np.arange(5.0)
    still = PassiveAggressiveRegressor(epsilon=0.0, loss="hard").partial_fit(X, y)
    assert still._learner.model.by_mean == [False]  # without noise the last weights are exact
    noise = PassiveAggressiveRegressor(epsilon=0.0).partial_fit(X, y + rng.standard_normal(800))
    assert noise._learner.model.by_mean == [True]


# -- last weights
# -----------------------------------------------------------------------------------


def last_weights(learner):
    """Return the exact last weights: the stored ones times a power of two."""
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
def test_averaging_does_not_change_the_last_weights(v, features, scale, storage, dtype):
    """They are bitwise equal for rows of any width."""
    X = stored(v.X[:, :features], storage, dtype)
    learners = []
    for average in ("auto", False):
        settings = dataclasses.replace(v.settings, average=average, scale=scale)
        learners.append(make_learner(settings, features, v.outputs, dtype))
        train(learners[-1], X, v.y)
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


# -- invariance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["binary", "support", "ovr", "regressions"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunks_storages_copies_and_threads_change_nothing(case, dtype):
    chosen, outputs = settings(case)
    X, y = make_problem(chosen.task, outputs, np.random.default_rng(4), n=150)
    whole = trained(X, y, outputs, dtype=dtype, **vars(chosen))
    parts = Learner(chosen, X.shape[1], whole.classes, dtype)
    for start in range(0, 150, 37):
        train(parts, stored(X[start : start + 37], dtype=dtype), y[start : start + 37])
        parts = pickle.loads(pickle.dumps(parts)) if start else copy.deepcopy(parts)
    assert same_state(whole, parts)
    sparse = trained(X, y, outputs, storage="csr32", dtype=dtype, **vars(chosen))
    close = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(sparse.coef(), whole.coef(), atol=close)


def test_choice_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 40))
    y = (X @ rng.standard_normal((40, 128))).argmax(axis=1)
    models = [
        PassiveAggressiveClassifier(multiclass="ovr", n_jobs=jobs, random_state=0).partial_fit(X, y)
        for jobs in (1, 4)
    ]
    assert same_state(*(model._learner for model in models))


def test_later_passes_do_not_affect_the_choice():
    X, y = noisy(np.random.default_rng(1))
    one = PassiveAggressiveClassifier(max_iter=1, tol=None, random_state=0).fit(X, y)
    many = PassiveAggressiveClassifier(max_iter=5, tol=None, random_state=0).fit(X, y)
    for name in ("model_mistakes", "recent_mistakes", "recent_loss", "record"):
        assert np.array_equal(one._learner.state()[name], many._learner.state()[name])
    assert one.n_mistakes_ == many.n_mistakes_
    reference = ReferenceLearner("binary", X.shape[1], average="auto", intercept_scaling="auto")
    random = np.random.RandomState(0)  # draws the seed of each pass
    for _ in range(5):
        rows = permutation(len(X), random.randint(2**31 - 1))
        reference.learn_stream(X[rows], 2 * y[rows] - 1)
        reference.freeze_means()
    np.testing.assert_allclose(many.coef_, reference.W, atol=1e-9)


def test_candidates_equal_models_learned_alone():
    chosen, _ = settings()
    X, y = noisy(np.random.default_rng(7))
    C_values = (0.01, 0.3, 10.0)
    candidates = [dataclasses.replace(chosen, C=C) for C in C_values]
    together = train(Learner(candidates, X.shape[1], 2), X, y)
    for place, candidate in enumerate(candidates):
        alone = train(Learner(candidate, X.shape[1], 2), X, y)
        np.testing.assert_allclose(together.coef(place), alone.coef(), atol=1e-12)
        assert together.model.by_mean[place] == alone.model.by_mean[0]
        assert together.model.records[place] == pytest.approx(alone.model.records[0])
        taken = select(together, [place], [candidate])
        np.testing.assert_allclose(train(taken, X, y).coef(), train(alone, X, y).coef(), atol=1e-12)


def test_late_classes_keep_the_choice():
    X, y = make_problem("multiclass", 4, np.random.default_rng(8), n=300)
    late = np.sort(y, kind="stable")
    growing = PassiveAggressiveClassifier().partial_fit(X, late)
    known = PassiveAggressiveClassifier().partial_fit(X, late, classes=range(4))
    assert growing._learner.model.by_mean == known._learner.model.by_mean
    assert growing.n_updates_ == known.n_updates_
    assert np.isfinite(growing.coef_).all()


@pytest.mark.parametrize("forgetting", [0.0, 0.3])
def test_stream_learner_equals_the_estimator(forgetting):
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


def test_saved_model_holds_both_weights(tmp_path):
    X, y = noisy(np.random.default_rng(11))
    model = PassiveAggressiveClassifier().partial_fit(X[:400], y[:400])
    aggro.save(model, tmp_path / "model")
    loaded = aggro.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[400:], y[400:])
    assert same_state(model._learner, loaded._learner)
    assert loaded._learner.model.memory == memory_of(loaded._learner.settings)


# -- defaults ------------------------------------------------------------------------------------


def test_published_names_predict_with_their_last_weights():
    for row in aggro.catalogue():
        assert getattr(row.make(), "average", False) is False
    assert PassiveAggressiveClassifier().average == PassiveAggressiveRegressor().average == "auto"


def test_weights_can_be_initialised_and_assigned():
    X, y = noisy(np.random.default_rng(12))
    coef = np.arange(6.0)[None]
    right = (X @ coef.T > 0).astype(int).ravel()  # a margin of 1 causes no step
    wide = np.abs(X @ coef.T).ravel() > 1
    begun = PassiveAggressiveClassifier(fit_intercept=False).fit(X[wide], right[wide], coef)
    assert_close(begun.coef_, coef, rtol=1e-12)
    model = PassiveAggressiveClassifier().partial_fit(X, y)
    model.coef_ = coef
    np.testing.assert_array_equal(model.coef_, coef)
    assert model._learner.state()["late_weight"][0] == 0
    model.partial_fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_candidates_report_which_weights_predict():
    X, y = noisy(np.random.default_rng(13))
    model = PassiveAggressiveClassifier(C="auto").partial_fit(X, y)
    assert {candidate["average"] for candidate in model.candidates_} <= {True, False}
    best = next(candidate for candidate in model.candidates_ if candidate["chosen"])
    before = model.coef_
    model.keep_best()
    assert model.average == "auto" and best["C"] == model.C
    np.testing.assert_array_equal(model.coef_, before)
