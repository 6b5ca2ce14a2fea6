"""Model selection counts the errors of each candidate by the weights of the examples."""

import dataclasses

import numpy as np
import pytest
from closeness import assert_close
from linear_support import reference_of, train, trained
from sklearn.metrics import balanced_accuracy_score

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier, StreamClassifier, TextClassifier
from aggro.learner import Learner
from aggro.reference.predictor import discount_of
from aggro.settings import CRITERIA, Settings, memory_of


def rare(n=6000, d=8, share=0.04, seed=0):
    """Return noisy rows of two classes; the second one is rare."""
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(n, d)), rng.normal(size=d)
    score = X @ truth / np.linalg.norm(truth) + 0.7 * rng.normal(size=n)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


X, Y = rare()
TRAIN, TEST = slice(0, 4000), slice(4000, None)
HEAVY = np.where(Y == 1, 24.0, 1.0)


def quality(predicted):
    return balanced_accuracy_score(Y[TEST], predicted)


def quality_of_arrays(model, **options):
    return quality(model.partial_fit(X[TRAIN], Y[TRAIN], **options).predict(X[TEST]))


def quality_of_stream(C):
    model = StreamClassifier("PA-I", C=C)
    rows = [{str(j): float(v) for j, v in enumerate(row)} for row in X]
    for row, label, weight in zip(rows[TRAIN], Y[TRAIN], HEAVY[TRAIN], strict=True):
        model.learn_one(row, int(label), w=weight)
    return quality([model.predict_one(row) for row in rows[TEST]])


def quality_of_texts(C):
    """Return the quality of a text classifier whose words are the signs of the features."""
    texts = [" ".join(f"w{j}{'p' if v > 0 else 'm'}" for j, v in enumerate(row)) for row in X]
    model = TextClassifier(C=C, metric="newton", idf=False, ngram_range=(1, 1))
    model.partial_fit(texts[TRAIN], Y[TRAIN], sample_weight=HEAVY[TRAIN])
    return quality(model.predict(texts[TEST]))


def test_weights_of_classes_and_examples_decide_which_candidate_wins():
    fixed = quality_of_arrays(PassiveAggressiveClassifier(C=0.01, class_weight="balanced"))
    for model, options in (
        (PassiveAggressiveClassifier(C="auto", class_weight="balanced"), {}),
        (AutoClassifier(class_weight={0: 1.0, 1: 24.0}), {}),
        (AutoClassifier(), {"sample_weight": HEAVY[TRAIN]}),
    ):
        assert quality_of_arrays(model, **options) > fixed - 0.03


@pytest.mark.parametrize(("learned", "C"), [(quality_of_stream, 0.01), (quality_of_texts, 1.0)])
def test_weights_decide_in_streams_and_texts_too(learned, C):
    assert learned("auto") > learned(C) - 0.03


def test_light_outliers_do_not_choose_a_regressor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    truth, outlier = X @ rng.normal(size=6), rng.random(4000) < 0.3
    y = np.where(outlier, 300 * np.sign(X[:, 0]), truth + 0.1 * rng.normal(size=4000))
    weights = np.where(outlier, 1e-3, 1.0)
    model = aggro.AutoRegressor().partial_fit(X, y, sample_weight=weights)
    plain = aggro.PassiveAggressiveRegressor(C=0.01, epsilon=0.0)
    plain.partial_fit(X, y, sample_weight=weights)
    far = [np.abs(each.predict(X) - truth).mean() for each in (model, plain)]
    assert far[0] < 2 * far[1]


# -- records of candidates --------------------------------------------------------------------


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("multiclass", ["ovr", "support"])
@pytest.mark.parametrize("average", [False, "auto"])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_records_are_weighted_sums_of_errors(
    task, multiclass, average, batch_size, threads, criterion
):
    """The expected sums come from the predictions of models learned alone."""
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(120, 4)), rng.integers(0, 4, 120) / 2.0
    scores = X @ rng.normal(size=(4, 3)) + rng.normal(size=(120, 3))
    y = {"binary": (scores[:, 0] > 0).astype(np.int64), "multiclass": scores.argmax(1)}
    y = y.get(task, scores[:, :1])
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    setting = Settings(
        task, loss, multiclass=multiclass, average=average, batch_size=batch_size,
        criterion=criterion,
    )  # fmt: skip
    candidates = [dataclasses.replace(setting, C=C) for C in (0.1, 1.0)]
    outputs = {"binary": 2, "multiclass": 3, "regression": 1}[task]
    learner = Learner(candidates, 4, outputs)
    alone = [Learner(candidate, 4, outputs) for candidate in candidates]
    memory = memory_of(setting)
    for each in (learner, *alone):
        each.model.set_memory(memory)
    part = "values" if task == "regression" else "labels"
    learn = {part: y, "weights": weights, "threads": threads}
    present, sums = np.flatnonzero(weights), np.zeros((3, 2))
    recent, weight, squares = 0.0, 0.0, 0.0
    for start in range(0, len(present), batch_size):
        rows, errors = present[start : start + batch_size], []
        for place, each in enumerate(alone):
            found = each.scores(aggro.learner.rows_of(X[rows]))
            if task == "regression":
                off = (np.abs(found - y[rows]) ** (1 + CRITERIA.index(criterion))).sum(axis=1)
                sums[1, place] += off.sum()
            else:
                off = aggro.labels.chosen(found, outputs) != y[rows]
                sums[0, place] += off.sum()
            errors.append(off)
            each.learn(aggro.learner.rows_of(X), order=rows, **learn)
        for w, *off in zip(weights[rows], *errors, strict=True):
            kept = discount_of(memory, recent, task == "regression")
            sums[2] = kept * sums[2] + w * np.array(off)
            recent, weight, squares = kept * recent + 1, kept * weight + w, kept * squares + w * w
    learner.learn(aggro.learner.rows_of(X), **learn)
    mistakes, recent_mistakes, recent_loss, recent = np.array(learner.model.records).T
    unit = squares / weight
    np.testing.assert_array_equal(mistakes, sums[0])
    assert_close(recent, np.full(2, weight / unit))
    if average is False:  # else the records are those of mean or last weights
        assert_close(recent_loss if task == "regression" else recent_mistakes, sums[2] / unit)
    if task == "regression":
        assert_close(np.array(learner.model.distances), sums[1])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("case", ["binary", "support", "ovr", "regression"])
def test_weighted_choice_of_mean_or_last_weights_equals_the_reference(case, criterion):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 5))
    scores = X @ rng.normal(size=(5, 3)) * np.where(np.arange(900) < 600, 1, -1)[:, None]
    weights = np.where(rng.random(900) < 0.1, 20.0, rng.integers(0, 3, 900))
    task = "multiclass" if case in ("support", "ovr") else case
    outputs = 3 if task == "multiclass" else 1
    settings = {"task": task, "average": "auto", "C": 0.1, "criterion": criterion}
    settings["loss"] = "epsilon_insensitive" if task == "regression" else "hinge"
    settings["multiclass"] = case if task == "multiclass" else "support"
    y = {
        "binary": (scores[:, 0] > 0).astype(np.int64),
        "regression": scores[:, :1] + 2 * rng.normal(size=(900, 1)),
    }
    y = y.get(task, scores.argmax(axis=1))
    chosen = Settings(**settings)
    core = trained(X[:1], y[:1], outputs, weights=np.zeros(1), **settings)
    reference = reference_of(chosen, 5, outputs)
    targets = 2 * y - 1 if task == "binary" else y.ravel() if task == "regression" else y
    switches = []
    for start in range(0, 900, 30):
        some = slice(start, start + 30)
        train(core, X[some], y[some], weights[some])
        reference.learn_stream(X[some], targets[some], weights[some])
        assert core.model.by_mean == [reference.selection.mean_predicts]
        switches.append(reference.selection.mean_predicts)
    assert len(set(switches)) == 2


# -- invariants -------------------------------------------------------------------------------


def history(weights, scale=1.0):
    model = PassiveAggressiveClassifier(metric="auto", C=0.1 / scale, loss="squared_hinge")
    made = []
    for start in range(0, 1200, 300):
        some = slice(start, start + 300)
        model.partial_fit(X[some], Y[some], classes=[0, 1], sample_weight=weights[some] * scale)
        made.append((model.n_mistakes_, *model.predict(X[TEST][:50])))
    return made, [
        {k: v for k, v in candidate.items() if k != "C"} for candidate in model.candidates_
    ]


@pytest.mark.parametrize("scale", [2.0**-60, 4.0, 2.0**80])
def test_the_scale_of_weights_does_not_affect_the_choice(scale):
    """Only the products of C and weights matter, bit for bit."""
    (made, candidates), (others, other_lanes) = history(HEAVY), history(HEAVY, scale)
    assert made == others
    for one, other in zip(candidates, other_lanes, strict=True):
        for name in ("metric", "mistakes", "recent_error", "chosen"):
            assert one[name] == other[name]


def test_examples_of_weight_zero_are_ignored():
    weights = np.where(np.arange(len(Y)) % 3 == 1, 0.0, HEAVY)
    there = weights[TRAIN] > 0
    whole = AutoClassifier(random_state=0)
    whole.partial_fit(X[TRAIN], Y[TRAIN], classes=[0, 1], sample_weight=weights[TRAIN])
    part = AutoClassifier(random_state=0)
    rest = weights[TRAIN][there]
    part.partial_fit(X[TRAIN][there], Y[TRAIN][there], classes=[0, 1], sample_weight=rest)
    assert whole.candidates_ == part.candidates_


@pytest.mark.parametrize("weight", [1e-300, 1e-120, 1e120, 1e300])
def test_extreme_weights_leave_finite_records(weight):
    weights = np.where(np.arange(200) % 2, weight, 1.0)
    model = PassiveAggressiveClassifier(C="auto", average="auto")
    model.partial_fit(X[:200], Y[:200], classes=[0, 1], sample_weight=weights)
    found = [
        candidate[name]
        for candidate in model.candidates_
        for name in ("recent_error", "recent_loss")
    ]
    assert np.isfinite(found).all()
