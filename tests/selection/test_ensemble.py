"""Ensemble predictions of all candidates for the first examples of binary selections."""

import copy
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_problem, same_state, stored

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier, _core
from aggro.learner import Learner, rows_of
from aggro.reference import EnsemblePrediction
from aggro.selection import ensemble as ensemble
from aggro.selection.learners import clear_record
from aggro.settings import Settings, memory_of

GRID = (0.01, 0.3, 10.0)


def noisy_rows(seed=0, n=300, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 3.0 ** rng.integers(-2, 3, d)
    return X, (X @ rng.standard_normal(d) + 2 * rng.standard_normal(n) > 0).astype(np.int64)


def selecting_classifier(**more):
    """Return a selection without scaling, so that ``predict`` makes the counted mistakes."""
    return PassiveAggressiveClassifier(C="auto", metric="auto", **more)


def grid_learner(metric, average, batch_size, dtype, features):
    """Return a learner of three values of C, as in a model selection."""
    settings = Settings("binary", metric=metric, average=average, batch_size=batch_size)
    learner = Learner([replace(settings, C=C) for C in GRID], features, 2, dtype)
    learner.model.set_memory(memory_of(settings))
    return learner


def member_margins(learner, X):
    """Return the margins of each model: of the mean and the last weights if average="auto"."""
    if learner.settings.average != "auto":
        return learner.model.score(rows_of(X)).astype(np.float64)
    state, models = learner.state(), learner.models
    table, trail = (
        state[name].reshape(learner.features, -1)[:, :models].astype(np.float64)
        for name in ("weights", "average_shift")
    )
    scale_sum, rounds = state["mixture"].reshape(models, 6)[:, 3], state["late_weight"][0]
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
    last = X @ table + state["bias"]
    mean = (X @ (scale_sum * table + trail) + state["bias_sum"]) / rounds if rounds else last
    return np.stack([mean, last], axis=2).reshape(len(X), -1)


# -- reference implementation ----------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("average", [False, True, "auto"])
@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ensemble_weights_and_mistakes_equal_the_reference(
    dtype, storage, average, batch_size, threads
):
    X, y = make_problem("binary", 1, np.random.default_rng(3), n=96)
    X, weights = stored(X, storage, dtype), np.arange(96) % 7 / 2.0
    metrics = ("euclidean", "diagonal", "adagrad", "newton")
    learners = [grid_learner(metric, average, batch_size, dtype, X.shape[1]) for metric in metrics]
    models = [each.model for each in learners]
    members = (2 if average == "auto" else 1) * 3 * len(metrics)
    copied, mistakes = EnsemblePrediction(members, learners[0].model.memory), 0
    ensemble.weight(learners, predict=True)
    present = np.flatnonzero(weights)
    batch = {"labels": y, "weights": weights, "batch_size": batch_size, "threads": threads}
    for number, start in enumerate(range(0, len(present), batch_size)):
        rows = present[start : start + batch_size]
        margins = np.hstack([member_margins(each, X[rows]) for each in learners])
        parts = np.concatenate([model.ensemble_weights for model in models])
        assert_close(parts, copied.coefficients() if number % 2 == 0 else parts, rtol=2e-3)
        mistakes += int(((margins @ parts > 0) != (y[rows] > 0)).sum())
        for margin, label, weight in zip(margins, y[rows], weights[rows], strict=True):
            copied.update(margin, 1.0 if label else -1.0, weight)
        _core.learn_together(models, rows_of(X), order=rows, **batch)
        if number % 2:  # the coefficients are constant in between
            ensemble.weight(learners, predict=True)
        assert {model.chosen_record[0] for model in models} == {mistakes}
    state = [model.state() for model in models]
    close = 1e-9 if dtype == np.float64 else 1e-3
    sizes, losses = (
        np.concatenate([s[name] for s in state]) for name in ("margin_size", "margin_loss")
    )
    np.testing.assert_allclose(sizes, copied.sizes, rtol=close)
    np.testing.assert_allclose(losses, copied.losses.ravel(), rtol=close, atol=close)


def test_the_reference_has_full_memory_by_default():
    forgets, remembers = EnsemblePrediction(1, memory=0.5), EnsemblePrediction(1)
    for each in (forgets, remembers):
        for _ in range(3):
            each.update(np.array([2.0]), 1.0)
    assert (forgets.weight, remembers.weight) == (1.75, 3.0)
    assert (forgets.sizes[0], remembers.sizes[0]) == (3.5, 6.0)


def test_ensemble_coefficients_are_finite_and_relative_to_the_size_of_margins():
    for size in (1e-300, 1e-30, 1.0, 1e30, 1e200):
        learners = [grid_learner("euclidean", "auto", 1, np.float64, 2) for _ in range(2)]
        ensemble.weight(learners, predict=True)
        for learner, scale in zip(learners, (1.0, size), strict=True):
            state = learner.state()
            state["margin_size"][:] = scale
            state["margin_loss"][:] = 3.0
            state["record"][0] = state["recent_weight"][:] = 1.0
            learner.load_state(state)
        ensemble.weight(learners, predict=True)
        parts = np.concatenate([each.model.ensemble_weights for each in learners])
        assert np.isfinite(parts).all() and (parts > 0).all()
        if 1e-90 < size < 1e90:  # all models have equal influence
            assert_close(
                parts * np.repeat([1.0, size], 6),
                np.full(12, EnsemblePrediction(1).coefficients()[0] / 12),
            )


# -- estimators ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_mistakes_are_those_of_predict_with_and_after_the_ensemble(seed):
    X, y = noisy_rows(seed, n=1100)
    model, made = selecting_classifier(), int(y[0] != 0)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for i in range(1, 1100):
        made += int(model.predict(X[i : i + 1])[0] != y[i])
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert model.n_mistakes_ == made
        assert ensemble.predicts(model._learner.learners) == (i + 1 < 1024)


def test_coef_is_that_of_the_ensemble():
    X, y = noisy_rows()
    model = AutoClassifier().partial_fit(X, y)
    shown = X @ model.coef_.T + model.intercept_
    assert_close(model.decision_function(X), shown.ravel())
    best = model._learner.best_learner()
    assert not np.allclose(best.scores(rows_of(X)).ravel(), shown.ravel())


def test_the_ensemble_makes_fewer_errors_than_the_best_candidate_on_few_examples():
    together, alone = 0, 0
    for seed in range(30):
        X, y = noisy_rows(seed, n=200)
        together += AutoClassifier().partial_fit(X, y).n_mistakes_
        best = AutoClassifier().partial_fit(X[:1], y[:1], classes=[0, 1])
        ensemble.weight(best._learner.learners, predict=False)
        alone += best.partial_fit(X[1:], y[1:]).n_mistakes_
    assert together < 0.99 * alone


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("probability", [False, True])
def test_ensembles_do_not_depend_on_calls_copies_files_or_threads(
    batch_size, probability, tmp_path
):
    X, y = noisy_rows(n=1200)
    keywords = {
        "scale": "auto",
        "random_state": 0,
        "batch_size": batch_size,
        "probability": probability,
    }
    whole = selecting_classifier(**keywords).partial_fit(X, y)
    for cuts in ([0, 15, 300, 1200], [0, 500, 505, 1020, 1030, 1200]):
        model = selecting_classifier(**keywords, n_jobs=2)
        for number, (start, end) in enumerate(itertools.pairwise(cuts)):
            model.partial_fit(X[start:end], y[start:end], classes=[0, 1])
            if number == 0:
                model = pickle.loads(pickle.dumps(model))
            elif number == 1:
                aggro.save(model, tmp_path / "m")
                model = aggro.load(tmp_path / "m")
        assert model.n_mistakes_ == whole.n_mistakes_
        pairs = zip(model._learner.learners, whole._learner.learners, strict=True)
        assert all(same_state(one, two) for one, two in pairs)
        if probability:
            assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_copy_of_an_ensemble_predicts_as_the_original(tmp_path):
    X, y = noisy_rows(n=200)
    model = AutoClassifier().partial_fit(X, y)
    aggro.save(model, tmp_path / "m")
    for copied in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        aggro.load(tmp_path / "m"),
    ):
        assert ensemble.predicts(copied._learner.learners)
        assert np.array_equal(copied.decision_function(X), model.decision_function(X))


def test_recorded_margins_are_those_of_the_ensemble():
    X, y = noisy_rows(n=120)
    learner = selecting_classifier().partial_fit(X[:60], y[:60])._learner
    reference_row, margins = rows_of(np.full((1, 6), 0.5)), np.zeros((1, 2, 1))
    for i in range(60, 120):
        said = [learner.scores(rows)[0] for rows in (rows_of(X[i : i + 1]), reference_row)]
        learner.learn(
            rows_of(X[i : i + 1]), labels=y[i : i + 1], reference=reference_row, margins=margins
        )
        assert_close(margins[0], np.array(said))


@pytest.mark.parametrize("late", ["a", "c"])
def test_a_second_class_that_appears_later_gives_the_same_ensemble(late):
    X, y = noisy_rows(n=260)
    y = np.where(np.arange(260) < 9, 0, y)
    names = np.array(["b", late])[y]
    known = selecting_classifier().partial_fit(X, names, classes=sorted({"b", late}))
    model = selecting_classifier()
    for i in range(260):
        model.partial_fit(X[i : i + 1], names[i : i + 1])
    assert model.n_mistakes_ == known.n_mistakes_
    assert_close(model.decision_function(X), known.decision_function(X))


def test_a_rejected_row_leaves_the_ensemble_unchanged():
    X, y = noisy_rows(n=200)
    model, same = (AutoClassifier(random_state=0).partial_fit(X[:100], y[:100]) for _ in range(2))
    bad = X[100:].copy()
    bad[70] = np.inf
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="infinite"):
        model.partial_fit(bad, y[100:])
    assert np.array_equal(model.decision_function(X), before)
    for each in (model, same):
        each.partial_fit(X[100:], y[100:])
    assert model.n_mistakes_ == same.n_mistakes_
    pairs = zip(model._learner.learners, same._learner.learners, strict=True)
    assert all(same_state(one, two) for one, two in pairs)


def test_errors_before_drift_do_not_count_in_the_ensemble():
    X, y = noisy_rows()
    old, new = (grid_learner("newton", "auto", 1, np.float64, 6) for _ in range(2))
    ensemble.weight([old], predict=True)
    _core.learn_together([old.model], rows_of(X), labels=y)
    cleared = clear_record(old)
    ensemble.weight([cleared, new], predict=True)
    assert np.array_equal(cleared.model.ensemble_weights, new.model.ensemble_weights)


# -- end of the ensemble ---------------------------------------------------------------------


def test_there_is_no_ensemble_for_several_classes_one_metric_or_regression():
    X, y = noisy_rows(n=100)
    three = AutoClassifier().partial_fit(X, y + (X[:, 0] > 1))
    assert not ensemble.predicts(three._learner.learners)
    for model in (PassiveAggressiveClassifier(C="auto"), selecting_classifier().set_params(C=1.0)):
        assert not ensemble.predicts(model.partial_fit(X, y)._learner.learners)
    numbers = aggro.AutoRegressor().partial_fit(X, X[:, 0])
    assert not ensemble.predicts(numbers._learner.learners)


def test_a_third_class_ends_the_ensemble():
    X, y = noisy_rows(n=300)
    y = np.where((np.arange(300) > 150) & (X[:, 0] > 2), 2, y)
    model = selecting_classifier().partial_fit(X[:150], y[:150])
    assert ensemble.predicts(model._learner.learners)
    model.partial_fit(X[150:], y[150:])
    assert not ensemble.predicts(model._learner.learners)


def test_keep_best_ends_the_ensemble():
    X, y = noisy_rows()
    model = AutoClassifier(features="linear").partial_fit(X, y)
    best = model._learner.best_learner().scores(rows_of(X)).ravel()
    assert not np.array_equal(model.decision_function(X), best)
    assert np.array_equal(model.keep_best().decision_function(X), best)


def test_one_pass_of_fit_equals_partial_fit():
    X, y = noisy_rows()
    model = AutoClassifier(max_iter=1, tol=None, shuffle=False, random_state=0).fit(X, y)
    stream = AutoClassifier(random_state=0).partial_fit(X, y)
    assert ensemble.predicts(model._learner.learners)
    assert np.array_equal(model.decision_function(X), stream.decision_function(X))
    later = noisy_rows(1)
    assert model.partial_fit(*later).n_mistakes_ == stream.partial_fit(*later).n_mistakes_


def test_later_passes_end_the_ensemble():
    X, y = noisy_rows()
    model = AutoClassifier(max_iter=3, tol=None, random_state=0).fit(X, y)
    assert not ensemble.predicts(model._learner.learners)
    assert_close(model.decision_function(X), (X @ model.coef_.T + model.intercept_).ravel())


def test_states_without_ensemble_weights_predict_with_the_best_candidate():
    X, y = noisy_rows(n=400)
    model = AutoClassifier().partial_fit(X[:300], y[:300])
    learners = model._learner.learners
    for learner in learners:
        old = {
            n: a
            for n, a in learner.state().items()
            if n not in ("ensemble_weight", "margin_size", "margin_loss")
        }
        learner.load_state(old)
    assert not ensemble.predicts(learners)
    model.partial_fit(X[300:], y[300:])
    assert not ensemble.predicts(model._learner.learners)


def test_auto_classifier_equals_the_spelled_out_parameters():
    X, y = noisy_rows()
    named = AutoClassifier(random_state=0).partial_fit(X, y)
    spelled = {"scale": "auto", "features": "auto", "loss": "squared_hinge", "random_state": 0}
    spelled = selecting_classifier(**spelled).partial_fit(X, y)
    assert named.candidates_ == spelled.candidates_
    assert np.array_equal(named.decision_function(X), spelled.decision_function(X))


def test_ensemble_scores_of_huge_rows_are_infinite_without_a_warning():
    learners = [grid_learner("euclidean", "auto", 1, np.float64, 2) for _ in range(2)]
    ensemble.weight(learners, predict=True)
    parts = [np.full(3, 1.5e308)] * 2
    assert np.isinf(ensemble.Ensemble(learners)._sum(parts)).all()


def test_ensemble_scores_keep_their_unit_when_another_member_is_best():
    """Calibration pools the margins of consecutive rows."""
    rng = np.random.default_rng(4)
    jumps = []
    for _ in range(4):
        X = rng.standard_normal((150, 12)) * 10.0 ** rng.integers(-3, 4, 12)
        X[:, 6:] = X[:, 6:] > 0
        y = (X[:, 6] + X[:, 7] + rng.standard_normal(150) > 1).astype(int)
        model, sizes = AutoClassifier(), []
        for i in range(120):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
            sizes.append(np.abs(model.decision_function(X[120:])).mean())
        jumps.append(np.abs(np.diff(np.log(sizes[30:]))).max())
    assert np.exp(max(jumps)) < 4


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_margins_recorded_of_an_ensemble_calibrate_its_successor(size):
    """After its last example, keep_best(), several passes of fit, or a third class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 6))
    y = (X @ rng.normal(size=(6, 3)) + rng.normal(size=(2100, 3))).argmax(axis=1)
    X, train, test = X * size, slice(0, 500), slice(1500, None)

    def loss(model, labels):
        shares = model.predict_proba(X[test])[np.arange(600), labels[test]]
        return -np.log(shares).mean()

    two = (y == 1).astype(int)
    model = AutoClassifier(probability=True, random_state=0).partial_fit(X[train], two[train])
    together = loss(model, two)
    alone = copy.deepcopy(model).keep_best()
    fitted = AutoClassifier(probability=True, random_state=0, max_iter=1, tol=None)
    later = copy.deepcopy(model).partial_fit(X[500:1040], two[500:1040])
    for other in (alone, fitted.fit(X[train], two[train]), later):
        assert loss(other, two) < 1.1 * together
    first = np.r_[np.flatnonzero(y[:500] < 2), np.flatnonzero(y[:500] == 2)[:20]]
    grown = AutoClassifier(probability=True, random_state=0)
    grown.partial_fit(X[first[:-20]], y[first[:-20]])
    grown.partial_fit(X[first[-20:]], y[first[-20:]])
    assert loss(grown, y) < np.log(3)
