"""``features=``: feature maps selected while learning."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance

import aggro
from aggro import AutoClassifier, AutoRegressor, PassiveAggressiveClassifier
from aggro.learner import rows_of
from aggro.persistence import ModelFileError
from aggro.selection.common import (
    candidate_scores,
    keep_promising,
    keep_smaller_C,
    make_learner,
)

KINDS = ("fourier", "bins", "both")
EVERY = (*KINDS, "auto")


def problem(rows=1500, seed=0, columns=3):
    """Return rows of columns at several scales, and three classes with curved boundaries."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (rows, columns))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.1, 0.1])
    return X * 10.0 ** np.arange(columns), y


def numbers(rows=1500, seed=0):
    X, _ = problem(rows, seed)
    return X, np.sin(3 * X[:, 0]) * np.sign(X[:, 1])


def learned(features="auto", rows=1200, **options):
    X, y = problem()
    model = AutoClassifier(features=features, random_state=0, **options)
    return model.partial_fit(X[:rows], y[:rows], classes=[0, 1, 2])


def scores(model):
    return model.decision_function(problem(200, seed=1)[0])


# -- accuracy ----------------------------------------------------------------------------------


def test_curved_boundaries_are_learned_where_linear_models_fail():
    linear, auto = learned("linear").n_mistakes_, learned().n_mistakes_
    assert auto < 0.5 * linear
    for kind in KINDS:
        assert learned(kind).n_mistakes_ < 0.6 * linear, kind


def test_linear_problems_stay_linear():
    X = np.random.default_rng(0).normal(size=(4000, 5))
    y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] > 0
    model = AutoClassifier(features="auto", random_state=0).partial_fit(X, y)
    assert model.best_params_["features"] == "linear"
    assert model.coef_.shape == (1, 5)


def test_fit_makes_passes_and_generalises():
    (X, y), (X_test, y_test) = problem(4000), problem(1000, seed=1)
    model = AutoClassifier(features="auto", random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.9 and model.n_iter_ > 1
    X, y = numbers(4000)
    regressor = AutoRegressor(features="auto", random_state=0).fit(X, y)
    X_test, y_test = numbers(1000, seed=1)
    assert regressor.score(X_test, y_test) > 0.9


def test_fit_keeps_mapped_features_that_need_several_passes():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (4000, 4))
    y = 20 * X @ [3.0, -2.0, 1.0, 2.0] + np.sin(4 * X[:, 0])  # almost linear
    errors = []
    for features in ("linear", "auto"):
        model = AutoRegressor(features=features, random_state=0).fit(X[:3000], y[:3000])
        errors.append(np.abs(model.predict(X[3000:]) - y[3000:]).mean())
    assert model.best_params_["features"] == "both" and errors[1] < 0.6 * errors[0]


def test_passes_keep_ever_fewer_candidates():
    X, y = problem(4000)
    selection = make_learner(AutoClassifier()._settings("binary"), X.shape[1], 2, rows=len(y))
    keep_smaller_C(selection)
    selection.learn(rows_of(X), labels=y)
    selection.freeze_means()
    assert sorted(each.representation for each in selection.learners) == [0, 1]
    qualities = dict.fromkeys(candidate_scores(selection, rows_of(X)), 0.0)
    assert len(qualities) == 4  # the best C of each kind, and the next smaller one
    linear = next(i for i, each in enumerate(selection.learners) if each.representation == 0)
    best = max(place for place in qualities if place[0] == linear)
    costs = [selection.learners[linear].all_settings[best[1] - k].C for k in (1, 0)]
    assert keep_promising(selection, {**qualities, best: 1.0}) == (0, 1)
    assert [each.C for each in selection.learners[0].all_settings] == costs
    assert [each.representation for each in selection.learners] == [0, 1]  # maps learn slowly
    assert keep_promising(selection, {(0, 0): 0.5, (0, 1): 0.1, (1, 0): 0.6, (1, 1): 0.7}) == (0, 0)
    assert [(each.representation, each.models) for each in selection.learners] == [(1, 1)]


def test_plain_estimators_take_feature_maps():
    X, y = problem()
    plain = PassiveAggressiveClassifier(C=0.1, random_state=0).partial_fit(X, y)
    mapped = PassiveAggressiveClassifier(C=0.1, features="both", random_state=0).partial_fit(X, y)
    assert mapped.n_mistakes_ < 0.7 * plain.n_mistakes_
    assert mapped.best_params_ == {} and mapped.C_ == 0.1
    auto = PassiveAggressiveClassifier(C="auto", features="auto", random_state=0).partial_fit(X, y)
    assert auto.best_params_["features"] in KINDS


# -- invariants --------------------------------------------------------------------------------


@pytest.mark.parametrize("features", EVERY)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_partial_fit_is_chunk_invariant(features, size):
    X, y = problem(700 if size == 1 else 1500)
    model = AutoClassifier(features=features, random_state=0)
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    whole = AutoClassifier(features=features, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert_array_equal(scores(model), scores(whole))
    assert model.n_mistakes_ == whole.n_mistakes_


def test_sparse_and_dense_rows_give_the_same_model():
    X, y = problem()
    sparse = AutoClassifier(features="auto", random_state=0).partial_fit(sp.csr_matrix(X), y)
    dense = AutoClassifier(features="auto", random_state=0).partial_fit(X, y)
    assert sparse.best_params_["features"] == dense.best_params_["features"]
    assert_allclose(scores(sparse), scores(dense), rtol=1e-6)


def test_float32_gives_nearly_the_same_predictions():
    X, y = problem()
    single = AutoClassifier(features="both", random_state=0).partial_fit(X.astype(np.float32), y)
    double = AutoClassifier(features="both", random_state=0).partial_fit(X, y)
    assert (single.predict(X) == double.predict(X)).mean() > 0.97


def test_rows_of_weight_zero_are_absent():
    X, y = problem()
    weights = np.tile([1.0, 0.0, 2.0], 500)
    model = AutoClassifier(features="auto", random_state=0)
    model.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weights)
    there = weights > 0
    other = AutoClassifier(features="auto", random_state=0)
    other.partial_fit(X[there], y[there], classes=[0, 1, 2], sample_weight=weights[there])
    assert_array_equal(scores(model), scores(other))


@pytest.mark.parametrize("features", EVERY)
def test_model_before_its_first_example_predicts_and_is_saved(features, tmp_path):
    X, y = problem(600)
    for model in (
        AutoClassifier(features=features),
        PassiveAggressiveClassifier(features=features),
    ):
        model.set_params(random_state=0)
        model.partial_fit(X[:2], y[:2], classes=[0, 1, 2], sample_weight=[0.0, 0.0])
        assert_array_equal(scores(model), np.zeros((200, 3)))
        other = reloaded(model, tmp_path)
        for each in (model, other):
            each.partial_fit(X, y)
        assert_array_equal(scores(model), scores(other))


def test_predictions_change_nothing_and_do_not_depend_on_the_number_of_rows():
    model = learned("both")
    X, before = problem(20_000, seed=2)[0], scores(model)
    whole = model.decision_function(X)
    assert_array_equal(whole[15_000:], model.decision_function(X[15_000:]))
    assert_array_equal(scores(model), before)


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_do_not_change_the_model(threads):
    assert_array_equal(scores(learned(n_jobs=threads)), scores(learned()))


def test_random_state_draws_the_features():
    X, y = problem()
    one, two, three = (
        AutoClassifier(features="both", random_state=seed).partial_fit(X, y) for seed in (0, 0, 1)
    )
    assert_array_equal(scores(one), scores(two))
    assert not np.array_equal(scores(one), scores(three))


# -- state -------------------------------------------------------------------------------------


def reloaded(model, tmp_path):
    aggro.save(model, tmp_path / "model.aggro")
    return aggro.load(tmp_path / "model.aggro")


@pytest.mark.parametrize("features", EVERY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_and_files_continue_identically(features, dtype, tmp_path):
    X, y = problem()
    X = X.astype(dtype)
    model = AutoClassifier(features=features, random_state=0).partial_fit(X[:900], y[:900])
    others = [reloaded(model, tmp_path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[900:], y[900:])
    for other in others:
        other.partial_fit(X[900:], y[900:])
        assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("features", EVERY)
def test_keep_best_keeps_predictions_and_the_feature_map(features, tmp_path):
    X, y = problem()
    model = learned(features)
    before, kind = scores(model), features if features != "auto" else model.best_params_["features"]
    model.keep_best()
    assert_array_equal(scores(model), before)
    assert model.best_params_ == {} and model.candidates_ == []
    assert model.features == kind
    other = reloaded(model, tmp_path)
    for each in (model, other):
        each.partial_fit(X[1200:], y[1200:])
    assert_array_equal(scores(model), scores(other))
    assert not np.array_equal(scores(model), before)


def test_a_damaged_feature_map_in_a_file_is_rejected():
    from aggro.persistence.values import decode, encode

    arrays = {}
    facts = encode(learned("both")._learner, "x", arrays)["ModelSelection"]
    maps = facts["representations"]["FeatureMaps"]
    assert decode({"ModelSelection": facts}, dict(arrays)).examples == 1200
    for name, value in (
        ("kinds", {"list": ["bins"]}),
        ("kinds", {"list": ["other"]}),
        ("seed", -1),
        ("growth", 0),
        ("growth", 99),
        ("dtype", "int8"),
    ):
        wrong = {**facts, "representations": {"FeatureMaps": {**maps, name: value}}}
        with pytest.raises((ModelFileError, ValueError)):
            decode({"ModelSelection": wrong}, dict(arrays))
    with pytest.raises(ModelFileError, match="unknown representation"):
        decode({"ModelSelection": {**facts, "numbers": {"list": [1]}}}, dict(arrays))
    name = "x.representations.mean"
    assert len(arrays[name]) == 3
    with pytest.raises((ModelFileError, ValueError)):
        decode({"ModelSelection": facts}, {**arrays, name: np.full(3, np.nan)})


def test_a_failed_call_changes_nothing():
    X, y = problem()
    model = learned()
    before = scores(model)
    rows = X[1200:].copy()
    rows[-1, 0] = np.inf
    for wrong in (rows, X[1200:, :2]):
        with pytest.raises(ValueError, match=r"infin|features"):
            model.partial_fit(wrong, y[1200:])
    assert_array_equal(scores(model), before)
    model.partial_fit(X[1200:], y[1200:])
    assert_array_equal(scores(model), scores(learned(rows=1500)))


@pytest.mark.parametrize("features", EVERY)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_missing_values_are_rejected(features, convert):
    X, y = problem()
    model = learned(features)
    before, X[1203, 1] = scores(model), np.nan
    for call in (model.predict, lambda rows: model.partial_fit(rows, y[1200:])):
        with pytest.raises(ValueError, match=r"NaN"):
            call(convert(X[1200:]))
    assert_array_equal(scores(model), before)


def test_predictions_while_another_candidate_becomes_the_best():
    """An evaluation step in another thread may come between encoding a row and scoring it."""
    model, X = learned(), problem(50, seed=1)[0]
    selection = model._learner
    encode, expected = selection.representations.encode, scores(model)[:50]
    leading = selection.learners[selection.leading].representation
    others = [i for i, each in enumerate(selection.learners) if each.representation != leading]
    for other in others:
        before = selection.leading

        def encode_and_evaluate(*args, other=other, **options):
            found = encode(*args, **options)
            selection.leading = other
            return found

        selection.representations.encode = encode_and_evaluate
        assert_array_equal(model.decision_function(X), expected)
        selection.leading = before
        selection.representations.encode = encode
    assert others


def test_new_classes_may_appear():
    X, y = problem()
    model = AutoClassifier(features="both", random_state=0)
    first = y < 2
    model.partial_fit(X[first], y[first]).partial_fit(X, y)
    assert list(model.classes_) == [0, 1, 2]
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("features", ["both", "auto"])
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_probabilities_are_calibrated(features, learn):
    X, y = problem(3000)
    model = AutoClassifier(
        features=features, probability=True, max_iter=4, tol=None, random_state=0
    )
    P = getattr(model, learn)(X[:2500], y[:2500]).predict_proba(X[2500:])
    assert_allclose(P.sum(axis=1), 1.0)
    assert (P.argmax(axis=1) == y[2500:]).mean() > 0.85
    assert -np.log(P[np.arange(500), y[2500:]]).mean() < 0.4


@pytest.mark.parametrize("size", [1, 90])
def test_probabilities_are_chunk_invariant(size):
    X, y = problem(300)
    model = AutoClassifier(features="both", probability=True, random_state=0)
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])
    whole = AutoClassifier(features="both", probability=True, random_state=0)
    whole.partial_fit(X, y, classes=[0, 1, 2])
    assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_estimators_are_cloned_and_fitted_again():
    X, y = problem()
    model = clone(AutoClassifier(features="bins", random_state=0))
    assert_array_equal(scores(model.fit(X, y)), scores(clone(model).fit(X, y)))


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"mergeable": True}])
def test_wide_rows_and_mergeable_models_are_linear(options):
    X, y = problem(columns=3 if options else 301)
    X = X / np.abs(X).max(axis=0)
    model = AutoClassifier(features="auto", random_state=0, **options).partial_fit(X, y)
    assert {row.get("features", "linear") for row in model.candidates_} == {"linear"}
    assert model.coef_.shape == (3, X.shape[1])


def test_weights_of_mapped_features_are_not_those_of_columns():
    model = learned("both")
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=r"features='linear'"):
            getattr(model, name)


def test_permutation_importance_finds_the_columns_that_matter():
    X, y = problem(2000)
    model = AutoClassifier(features="auto", random_state=0).partial_fit(X, y)
    found = permutation_importance(model, X[:500], y[:500], n_repeats=2, random_state=0)
    assert found.importances_mean[:2].min() > 10 * abs(found.importances_mean[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "curved"}, "features='curved' is not valid"),
        ({"features": "both", "scale": "standard"}, "use scale='none'"),
        ({"features": "bins", "mergeable": True}, "use features='linear'"),
        ({"features": "bins", "metric": "full"}, "features='fourier'"),
    ],
)
def test_errors_of_invalid_combinations_say_what_to_do(options, message):
    with pytest.raises(ValueError, match=message):
        PassiveAggressiveClassifier(**options).partial_fit(*problem(10))


def test_sweeps_reject_feature_maps():
    with pytest.raises(ValueError, match=r"transform X with aggro.FeatureMap"):
        aggro.sweep(*problem(50), features=["both"])


@pytest.mark.parametrize(("rows", "max_iter", "growth"), [(999, 5, 1), (1000, 5, 2), (1000, 1, 1)])
def test_fit_uses_more_features_of_many_rows_in_several_passes(rows, max_iter, growth, tmp_path):
    X, y = problem(1100)
    weights = (np.arange(1100) < rows).astype(float)
    model = AutoClassifier(features="both", random_state=0, max_iter=max_iter, tol=None)
    model.fit(X, y, sample_weight=weights)
    aggro.save(model, tmp_path / "m")
    for each in (model, aggro.load(tmp_path / "m"), copy.deepcopy(model)):
        maps = each._learner.representations
        assert maps.core.sizes == [(256 * growth, 128 * growth)]
        assert_array_equal(scores(each), scores(model))


# -- few rows ----------------------------------------------------------------------------------


def noisy_line(rows=600, seed=0, columns=8):
    """Return rows, labels of which a fifth is wrong, and the true labels of a linear boundary."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, columns))
    truth = X @ np.resize([1.0, -2.0, 0.5], columns) > 0
    return X, np.where(random.random(rows) < 0.8, truth, ~truth), truth


def test_few_noisy_rows_of_a_linear_problem_are_learned_by_linear_models():
    gaps, kinds = [], []
    for seed in range(4):
        X, y, _ = noisy_line(seed=seed)
        X_test, _, truth = noisy_line(2000, seed=seed + 100)
        linear = AutoClassifier(features="linear", random_state=seed).fit(X, y)
        auto = AutoClassifier(random_state=seed).fit(X, y)
        gaps.append(linear.score(X_test, truth) - auto.score(X_test, truth))
        kinds.append(auto.best_params_["features"])
    assert np.mean(gaps) < 0.005, gaps
    assert kinds == ["linear"] * 4


@pytest.mark.parametrize("seed", range(3))
def test_passes_over_mapped_features_of_few_rows_end_before_noise_is_fitted(seed):
    X, y, _ = noisy_line(seed=seed)
    X_test, _, truth = noisy_line(2000, seed=seed + 100)
    model = AutoClassifier(features="both", random_state=seed).fit(X, y)
    assert model.score(X_test, truth) > 0.85
    assert model.n_iter_ < 20


@pytest.mark.parametrize("rows", [150, 400, 1000])
def test_few_rows_of_a_curved_problem_are_learned_by_mapped_features(rows):
    X, y = numbers(rows)
    assert AutoRegressor(random_state=0).fit(X, y).best_params_["features"] == "both"
    model = AutoClassifier(random_state=0).fit(X[:, :2], y > 0)
    assert model.best_params_["features"] == "both"


@pytest.mark.parametrize("weighted", [False, True])
def test_every_pass_of_the_model_learns_all_of_few_rows(weighted):
    X, y, _ = noisy_line(300)
    weights = (np.arange(300) % 3 > 0).astype(float) if weighted else np.ones(300)
    model = AutoClassifier(random_state=0).fit(X, y, sample_weight=weights)
    assert model.t_ - 1 == model.n_iter_ * weights.sum()
    present = weights > 0
    assert model.candidates_ and model.score(X[present], y[present]) > 0.7


def test_few_rows_of_rare_classes_and_labels_are_learned():
    X, y = problem(300)
    y[:7] = [3, 4, 5, 6, 7, 8, 9]
    assert len(AutoClassifier(random_state=0).fit(X, y).classes_) == 10
    labels = AutoClassifier(random_state=0).fit(X, np.c_[y == 0, y == 2])
    assert labels.predict(X).shape == (300, 2)


def test_invalid_values_of_few_rows_are_named_by_their_row():
    X, y, _ = noisy_line(300)
    model = AutoClassifier(random_state=0).fit(X, y)
    before, wrong = model.decision_function(X), X.copy()
    wrong[117, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 117: feature 2 is NaN"):
        model.fit(wrong, y)
    assert_array_equal(model.decision_function(X), before)


def test_too_few_passes_for_few_rows_warn_once():
    X, y = problem(400)
    with pytest.warns(ConvergenceWarning) as found:
        AutoClassifier(max_iter=2, random_state=0).fit(X, y)
    assert len(found) == 1
