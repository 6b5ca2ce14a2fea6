"""What ``aggro.merge`` promises of the numbers, for any learner."""

import copy

import numpy as np
import pytest
from closeness import assert_close
from hypothesis import given, settings
from hypothesis import strategies as st
from merging_support import learned, rows, same_state, settings_of, weights_of
from scipy.sparse import csr_matrix

from aggro import reference
from aggro.learner import Learner, rows_of
from aggro.merging.changes import Blend, add, apply, change_of, square
from aggro.merging.learners import like, merge_learners, merge_round, shard_of, wider
from aggro.settings import METRICS as metric_table
from aggro.settings import Settings

SEEDS = st.integers(0, 2**16)
METRICS = st.sampled_from(["euclidean", "diagonal", "newton", "full"])
CLASSES = st.sampled_from([2, 3])
MORE = st.sampled_from(
    [{}, {"class_mean": 0.3}, {"average": True}, {"scale": "online"}, {"scale": "standard"}]
)
KINDS = st.fixed_dictionaries({"metric": METRICS, "classes": CLASSES, "more": MORE})
QUICK = settings(max_examples=30, deadline=None)


def learners(seed, kind, count=3, dtype=np.float64, start=0):
    """Learners of parts of the same rows, from a common start if it learns any."""
    s = settings_of(kind["metric"], kind["classes"], **kind["more"])
    X, y = rows(seed, 20 * count + start, 6, kind["classes"])
    begin = learned(s, X[:start], y[:start], kind["classes"], dtype)
    parts = np.array_split(np.arange(start, len(y)), count)
    return begin, [learned(s, X[p], y[p], kind["classes"], dtype, begin) for p in parts], (X, y)


@QUICK
@given(SEEDS, KINDS, st.booleans())
def test_the_order_of_models_does_not_matter(seed, kind, started):
    begin, models, _ = learners(seed, kind, start=10 * started)
    start = begin if started else None
    one = merge_learners(models, start)
    other = merge_learners(models[::-1], start)
    same_state(one, other, exact=False)


@QUICK
@given(SEEDS, KINDS)
def test_one_model_merged_is_the_same_to_the_last_bit(seed, kind):
    _, models, _ = learners(seed, kind)
    same_state(merge_learners(models[:1]), models[0])


@QUICK
@given(SEEDS, st.sampled_from([{}, {"average": True}]), CLASSES)
def test_equal_models_agree_on_their_weights(seed, more, classes):
    _, models, (X, _) = learners(seed, {"metric": "euclidean", "classes": classes, "more": more})
    copies = [copy.deepcopy(models[0]) for _ in range(3)]
    merged = merge_learners(copies)
    assert_close(merged.coef(), models[0].coef(), rtol=1e-12)
    assert_close(merged.intercept(), models[0].intercept(), rtol=1e-12)
    assert merged.examples == 3 * models[0].examples
    assert merged.progress.mistakes == 3 * models[0].progress.mistakes
    start = copy.deepcopy(models[0])  # nothing was learned since: nothing changes
    unmoved = merge_learners(copies, start)
    assert_close(unmoved.scores(rows_of(X)), models[0].scores(rows_of(X)), rtol=1e-12)
    assert unmoved.examples == models[0].examples


@QUICK
@given(SEEDS, KINDS, st.booleans())
def test_changes_add_up_in_any_tree(seed, kind, started):
    begin, models, _ = learners(seed, kind, count=4, start=8 * started)
    a, b, c, d = (change_of(begin, each) for each in models)
    for prior in (Blend(), Blend(prior=1.0)):
        one = apply(begin, add(add(a, b), add(c, d)), prior)
        other = apply(begin, add(a, add(b, add(c, d))), prior)
        same_state(one, other, exact=False)


@QUICK
@given(SEEDS, CLASSES, st.sampled_from([np.float32, np.float64]), st.booleans())
def test_merged_class_means_are_those_of_all_rows(seed, classes, dtype, started):
    kind = {"metric": "euclidean", "classes": classes, "more": {"class_mean": 0.5}}
    begin, models, (X, y) = learners(seed, kind, dtype=dtype, start=9 * started)
    merged = merge_learners(models, begin if started else None)
    serial = learned(models[0].settings, X, y, classes, dtype)
    sums = slice(merged.outputs, merged.outputs * 2 + merged.model.keeps_total)
    mine, all_of_them = (
        each.state()["weights"].reshape(each.features, -1)[:, sums] for each in (merged, serial)
    )
    np.testing.assert_allclose(mine, all_of_them, rtol=1e-5, atol=1e-5)
    kept = ("class_sum_cross", "class_total") if merged.model.keeps_total else ()
    for name in ("class_weight_seen", "class_sum_norm", *kept):
        np.testing.assert_allclose(
            merged.state()[name], serial.state()[name], rtol=1e-5, atol=1e-4, err_msg=name
        )


@QUICK
@given(SEEDS, st.sampled_from(["euclidean", "diagonal"]), CLASSES, st.booleans())
def test_weights_are_those_of_the_plain_rule(seed, metric, classes, started):
    kind = {"metric": metric, "classes": classes, "more": {}}
    begin, models, _ = learners(seed, kind, start=7 * started)
    merged = weights_of(merge_learners(models, begin if started else None))
    start = weights_of(begin if started else like(models[0]))
    ends = [weights_of(each) for each in models]
    for name, counted in (("weights", "update_counts"), ("bias", "bias_update_counts")):
        values = [each[name] for each in ends]
        if metric == "euclidean":
            counts = [each[counted] - start[counted] for each in ends]
            expected = reference.by_update_counts(start[name], values, counts)
        else:
            counted = counted.replace("update_counts", "precision")
            precision = [each[counted] for each in ends]
            expected = reference.by_information(start[name], values, start[counted], precision)
            if started:
                gained = [each - start[counted] for each in precision]
                expected = reference.by_update_counts(start[name], values, gained)
        np.testing.assert_allclose(merged[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


@QUICK
@given(SEEDS, st.sampled_from(["euclidean", "diagonal", "adagrad", "newton"]), CLASSES)
def test_a_round_of_shards_is_that_of_the_plain_rule(seed, metric, classes):
    begin, models, _ = learners(seed, {"metric": metric, "classes": classes, "more": {}}, start=7)
    changes = [change_of(begin, each) for each in models]
    merged, start, *ends = map(weights_of, (merge_round(begin, (add(*changes),)), begin, *models))
    for name, counted in (("weights", "update_counts"), ("bias", "bias_update_counts")):
        if metric != "euclidean":
            counted = counted.replace("update_counts", "precision")
        gained = [each[counted] - start[counted] for each in ends]
        values = [each[name] for each in ends]
        how = metric_table[metric]
        expected = reference.by_update_counts(
            start[name], values, gained, how.damping, how.relaxation
        )
        if how.prior:
            known = start[counted] / len(ends)
            precision = [known + each for each in gained]
            expected = reference.by_information(start[name], values, known, precision)
        np.testing.assert_allclose(merged[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("metric", "C", "expected"),
    [
        ("euclidean", 0.01, 0.04),  # √16 times C
        ("euclidean", 0.1, 0.2),  # up to 2 / ‖x‖²
        ("euclidean", 3.0, 3.0),  # never below C
        ("diagonal", 3.0, 12.0),
        ("newton", 3.0, 3.0),
    ],
)
def test_shards_learn_with_a_scaled_C(metric, C, expected):
    learner = Learner(settings_of(metric, C=C), 3, 2)
    assert_close(shard_of(learner, 16, square=10.0).settings.C, expected)
    assert learner.settings.C == C


@QUICK
@given(SEEDS, KINDS, st.sampled_from([np.float32, np.float64]), st.booleans())
def test_a_round_of_one_shard_is_that_shard(seed, kind, dtype, counted):
    """In every array of the state: a new one fails here if its rule is wrong."""
    more = {"average": "auto", **kind["more"]} if counted else {"trigger": "always", **kind["more"]}
    begin, (model,), _ = learners(seed, {**kind, "more": more}, 1, dtype, start=7)
    merged = merge_round(begin, (change_of(begin, model),))
    state, expected = merged.state(), model.state()
    assert state.keys() == expected.keys()
    rtol, atol = (1e-6, 1e-8) if dtype == np.float64 else (1e-3, 1e-3)
    for name, array in expected.items():
        if name not in ("class_sum_cross", "class_total") or begin.model.keeps_total:
            np.testing.assert_allclose(state[name], array, rtol, atol, err_msg=name)


def test_a_round_of_one_shard_of_a_regression_is_that_shard():
    """Units of epsilon are those of all targets."""
    s = Settings("regression", loss="epsilon_insensitive", relative_epsilon=True, mergeable=True)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), 50.0 + random.normal(size=(60, 1))
    begin = Learner(s, 4, 1)
    begin.learn(rows_of(X[:10]), values=y[:10])
    model = copy.deepcopy(begin)
    model.learn(rows_of(X[10:]), values=y[10:])
    same_state(merge_round(begin, (change_of(begin, model),)), model, exact=False)


def information(learner):
    """Return the weights with the intercept, and the inverse of a full metric."""
    state = learner.state()
    table = state["weights"].reshape(learner.features, -1)[:, :1]
    return np.append(table[:, 0], state["bias"]), np.linalg.inv(square(state["full_0"]))


@QUICK
@given(SEEDS)
def test_a_full_metric_merges_in_information_form(seed):
    _, models, _ = learners(seed, {"metric": "full", "classes": 2, "more": {}})
    merged, _ = information(merge_learners(models))
    start, known = information(like(models[0]))
    ends, precision = zip(*map(information, models), strict=True)
    expected = reference.by_matrix(start, list(ends), known, list(precision))
    np.testing.assert_allclose(merged, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scaling", [0.5, 1.0, 3.0, "auto"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_was_known_at_first_counts_once_in_a_full_metric(fit_intercept, scaling):
    """Of a merged metric, too: its inverse is that of the beginning and what each has added."""
    more = {"fit_intercept": fit_intercept, "intercept_scaling": scaling}
    _, models, _ = learners(3, {"metric": "full", "classes": 2, "more": more})

    def known(learner):
        """The inverse of the metric now, and at the beginning."""
        state, begin = learner.state(), np.ones(6 + fit_intercept)
        if fit_intercept:
            begin[-1] /= state["bias_prior"][0] if scaling == "auto" else scaling**2
        return np.linalg.inv(square(state["full_0"])), np.diag(begin)

    now, begin = known(merge_learners(models))
    assert_close(now - begin, sum(np.subtract(*known(each)) for each in models))


@QUICK
@given(SEEDS, st.booleans())
def test_scales_are_those_of_all_rows(seed, started):
    kind = {"metric": "euclidean", "classes": 2, "more": {"scale": "standard"}}
    begin, models, (X, _) = learners(seed, kind, start=11 * started)
    state = merge_learners(models, begin if started else None).state()
    count, mean, spread = reference.moments_of([X])
    assert_close(state["scale_rows"], count)
    np.testing.assert_allclose(state["scale_mean"], mean, atol=1e-12)
    assert_close(state["scale_spread"], spread, rtol=1e-9)


@QUICK
@given(SEEDS, st.sampled_from([1.0, 3.0]))
def test_a_weight_counts_like_more_updates(seed, weight):
    _, models, _ = learners(seed, {"metric": "euclidean", "classes": 2, "more": {}}, count=2)
    merged = weights_of(merge_learners(models, weights=[weight, 1.0]))
    start, ends = weights_of(like(models[0])), [weights_of(each) for each in models]
    counts = [ends[0]["update_counts"] * weight, ends[1]["update_counts"]]
    expected = reference.by_update_counts(
        start["weights"], [each["weights"] for each in ends], counts
    )
    np.testing.assert_allclose(merged["weights"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"queue": 3}, "queue=1"),
        ({"average": "reservoir"}, "average=True"),
        ({"class_mean": 0.1, "forgetting": 0.01}, "forgetting=0"),
        ({}, "mergeable=True"),
    ],
)
def test_what_cannot_be_merged_says_so(more, words):
    s = Settings("binary", **more)
    X, y = rows(0, 10, 3, 2)
    models = [learned(s, X, y), learned(s, X, y)]
    with pytest.raises(ValueError, match=words):
        merge_learners(models)
    wide = [wider(each, [np.arange(3)], [5]) for each in models]  # they have met other features
    assert_close(wide[0].coef()[:, :3], models[0].coef())
    with pytest.raises(ValueError, match=words):
        merge_learners(wide)


def test_update_counts_are_those_of_each_weight():
    s = settings_of(C=10.0, fit_intercept=True)
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    for given_rows in (X, csr_matrix(X)):
        learner = learned(s, X[:0], np.zeros(0, np.int64))
        learner.learn(rows_of(given_rows), labels=np.array([1, 0, 1]))
        found = weights_of(learner)
        assert found["update_counts"][:, 0].tolist() == [1.0, 1.0, 2.0]
        assert found["bias_update_counts"].tolist() == [3.0]


def test_update_counts_do_not_depend_on_threads():
    X, y = rows(3, 60, 5, 80)
    s = settings_of(classes=80, multiclass="ovr")
    states = []
    for threads in (1, 2):
        learner = learned(s, X[:0], y[:0], 80)
        learner.learn(rows_of(X), labels=y, threads=threads)
        states.append(learner.state()["update_counts"])
    np.testing.assert_array_equal(*states)
    assert states[0].sum() > 0


@pytest.mark.parametrize("more", [{}, {"batch_size": 4}, {"class_mean": 0.5}])
def test_a_rejected_row_is_not_counted(more):
    X, y = rows(4, 30, 5, 2)
    learner = learned(settings_of(**more), X, y)
    before, bad = learner.state(), X.copy()
    bad[20, 2] = np.nan
    with pytest.raises(ValueError, match="row 20"):
        learner.learn(rows_of(bad), labels=y)
    for name, array in learner.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    assert before["update_counts"].sum() > 0


def test_counting_updates_changes_nothing_else():
    X, y = rows(5, 80, 6, 3)
    plain = learned(Settings("multiclass"), X, y, 3)
    counting = learned(settings_of(classes=3), X, y, 3)
    known = counting.state()
    assert known.keys() - plain.state().keys() == {"update_counts", "bias_update_counts"}
    for name, array in plain.state().items():
        np.testing.assert_array_equal(array, known[name], err_msg=name)
