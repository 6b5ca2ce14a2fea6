"""Streams that begin with one class: the model equals one that knew both."""

import copy
import itertools
import pickle
import re

import numpy as np
import pytest
from closeness import assert_close
from scipy.sparse import csr_matrix

import aggro
from aggro import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SoftConfidenceWeightedClassifier,
    StreamClassifier,
)
from aggro.cli.model import Model
from aggro.variants import find

ALONE = 23  # rows of the first class before the second
AXES = [
    {},
    {"fit_intercept": False},
    {"loss": "hard"},
    {"loss": "squared_hinge", "metric": "diagonal"},
    {"metric": "full"},
    {"class_mean": 0.2},
    {"class_mean": 0.2, "average": True, "scale": "online"},
    {"class_mean": 0.2, "queue": 3, "trigger": "always"},
    {"class_mean": 0.1, "forgetting": 0.01},
    {"metric": "diagonal", "forgetting": 0.01},
    {"queue": 3, "average": True},
    {"average": "reservoir", "reservoir_size": 4, "class_mean": 0.1},
    {"average": 10, "scale": "standard"},
    {"batch_size": 4, "class_mean": 0.1},
    {"batch_size": 3, "metric": "diagonal", "loss": "hard"},
    {"C": "auto"},
    {"C": "auto", "fit_intercept": False, "metric": "diagonal"},
    {"C": "auto", "class_mean": 0.1, "average": True},
    {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"},
    {"class_weight": "balanced"},
    {"probability": True},
    {"probability": True, "C": "auto", "batch_size": 5},
]
SECOND_ORDER = [
    (kind, {})
    for kind in (
        *(AROWClassifier, ConfidenceWeightedClassifier, SoftConfidenceWeightedClassifier),
        Perceptron,
    )
]
KERNELS = [
    {"gamma": 1.0},
    {"average": True, "probability": True, "gamma": 1.0},
    {"kernel": "linear", "fit_intercept": False},
    {"budget": 6, "budget_strategy": "projection", "average": True, "gamma": 1.0},
    {"budget": 6, "budget_strategy": "nearest", "gamma": 1.0},
    {"batch_size": 3, "gamma": 1.0},
    {"kernel": lambda a, b: a @ b.T, "probability": True},
]
LINEAR = [(PassiveAggressiveClassifier, axes) for axes in AXES]
KERNEL = [(KernelPassiveAggressiveClassifier, axes) for axes in KERNELS]


def stream(known, rows=120, seed=0):
    """Return sparse rows with many unique features, so that scores of zero are common."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 8)) * (random.random((rows, 8)) < 0.3)
    X[:6] = np.eye(8)[:6]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[:ALONE] = known
    y[ALONE] = 1 - known
    return X, y


def state_of(model):
    """Return every array of a fitted estimator."""
    learner, arrays = model._learner, {}
    parts = getattr(learner, "learners", [learner])
    for number, part in enumerate(parts):
        state = part.state() if hasattr(part, "state") else part.model.state()
        arrays |= {f"{number}.{name}": array for name, array in state.items()}
    if model.probability:
        found = model._fitted.record.calibrator
        arrays |= {name: getattr(found, name) for name in ("scores", "centres", "labels", "counts")}
    return arrays


def assert_same(one, other):
    here, there = state_of(one), state_of(other)
    assert here.keys() == there.keys()
    for name in here:
        np.testing.assert_array_equal(here[name], there[name], err_msg=name)
    assert one.n_mistakes_ == other.n_mistakes_
    assert one.cumulative_loss_ == other.cumulative_loss_
    assert one.t_ == other.t_


def named(value):
    """Return a name without the address that functions show."""
    return re.sub(r" at 0x\w+", "", str(value))


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize(("kind", "axes"), LINEAR + SECOND_ORDER + KERNEL, ids=named)
def test_second_class_gives_the_model_that_knew_both(kind, axes, known):
    X, y = stream(known)
    given, discovered = (kind(random_state=0, **axes) for _ in range(2))
    cuts = [0, 12, ALONE, ALONE + 30, len(y)]
    for first, last in itertools.pairwise(cuts):
        given.partial_fit(X[first:last], y[first:last], classes=[0, 1])
        discovered.partial_fit(X[first:last], y[first:last])
    assert_same(given, discovered)
    np.testing.assert_array_equal(given.decision_function(X), discovered.decision_function(X))


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("axes", [{}, {"class_mean": 0.1}, {"metric": "diagonal"}, {"C": "auto"}])
def test_single_precision_and_sparse_rows_are_supported(axes, known):
    X, y = stream(known)
    X = csr_matrix(X.astype(np.float32))
    given, discovered = (PassiveAggressiveClassifier(**axes, random_state=0) for _ in range(2))
    for rows in (slice(0, ALONE), slice(ALONE, None)):
        given.partial_fit(X[rows], y[rows], classes=[0, 1])
        discovered.partial_fit(X[rows], y[rows])
    assert_same(given, discovered)


NO_SELECTION = [axes for axes in AXES if "auto" not in axes.values() and "class_weight" not in axes]


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("axes", NO_SELECTION, ids=str)
def test_streams_learn_the_same(axes, known):
    X, y = stream(known)
    model = StreamClassifier("PA-I", random_state=0, **axes)
    given = PassiveAggressiveClassifier(random_state=0, **{"average": False, **axes})
    names = np.array(["no", "yes"])[y].tolist()
    for x, name in zip(X, names, strict=True):
        model.learn_one({f"f{j}": v for j, v in enumerate(x)}, name)
    model.flush()
    for first in range(0, len(y), step := axes.get("batch_size", 1)):
        rows = slice(first, first + step)
        given.partial_fit(X[rows], names[rows], classes=["no", "yes"])
    weights = [model.coef_["yes"][f"f{j}"] for j in range(8)]
    np.testing.assert_allclose(weights, given.coef_[0], rtol=1e-9, atol=1e-12)
    assert model.n_mistakes_ == given.n_mistakes_
    assert model.n_updates_ == given.n_updates_
    if "probability" in axes:
        answers = [model.predict_proba_one({f"f{j}": v for j, v in enumerate(x)}) for x in X]
        assert_close([a["yes"] for a in answers], given.predict_proba(X)[:, 1], 1e-4)


@pytest.mark.parametrize("known", [0, 1])
def test_stream_selection_keeps_the_counts_of_two_classes(known):
    X, y = stream(known)
    params = {"metric": "diagonal", "fit_intercept": False}  # no grid moves in so short a stream
    model = StreamClassifier("PA-I", C="auto", **params)
    for x, label in zip(X, y.tolist(), strict=True):
        x = {f"f{j}": v for j, v in enumerate(x) if v}
        before = model.predict_one(x), model.score_one(x)
        mistakes = model.n_mistakes_
        model.learn_one(x, label)
        if len(model.classes_) == 2 and isinstance(before[1], float):
            assert model.n_mistakes_ - mistakes == (before[0] != label)
    alone = StreamClassifier("PA-I", C=model.C_, **params)
    for x, label in zip(X, y.tolist(), strict=True):
        alone.learn_one({f"f{j}": v for j, v in enumerate(x) if v}, label)
    best = next(each for each in model.candidates_ if each["chosen"])
    assert best["mistakes"] == alone.n_mistakes_


def test_first_of_two_examples_is_kept():
    model = StreamClassifier()
    model.learn_one({"a": 1.0}, "x")
    model.learn_one({"b": 1.0}, "y")
    assert [model.predict_one({name: 1.0}) for name in "ab"] == ["x", "y"]


def test_ties_count_as_they_do_with_two_classes():
    """Rows with disjoint features: all scores are zero, which predicts the first class."""
    for known, mistakes in ((0, 0), (1, 5)):
        model = PassiveAggressiveClassifier(fit_intercept=False)
        model.partial_fit(np.eye(8)[:5], [known] * 5)
        assert model.n_mistakes_ == 5  # the next class may be the first
        model.partial_fit(np.eye(8)[5:6], [1 - known])
        assert model.n_mistakes_ == mistakes + (known == 0)


@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, KernelPassiveAggressiveClassifier])
def test_single_class_is_predicted_until_another_appears(kind):
    X, _ = stream(0)
    model = kind(probability=True).partial_fit(X, ["only"] * len(X))
    assert set(model.predict(-X)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert (model.decision_function(X[:6]) > 0).all()  # the rows were learned
    assert model.decision_function(X).shape == (len(X),)


@pytest.mark.parametrize("made", [ALONE // 2, ALONE])
@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize(("kind", "axes"), [*LINEAR, *KERNEL[:2]], ids=named)
def test_copies_and_files_of_one_class_continue(kind, axes, known, made, tmp_path):
    """Copies are made when the second class appears, or before."""
    X, y = stream(known)
    model = kind(random_state=0, **axes).partial_fit(X[:made], y[:made])
    aggro.save(model, tmp_path / "m")
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "m")]
    for each in (model, *copies):
        for start, end in itertools.pairwise(sorted({made, ALONE, len(y)})):
            each.partial_fit(X[start:end], y[start:end])
    for other in copies:
        assert_same(model, other)


@pytest.mark.parametrize("known", [0, 1])
def test_stream_of_one_class_continues_from_a_file(known, tmp_path):
    X, y = stream(known)
    model = StreamClassifier(
        C=1.0, class_mean=0.1, fit_intercept=False, batch_size=4, probability=True
    )
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        if i == ALONE - 2:  # in the middle of a batch
            aggro.save(model, tmp_path / "m")
            other = aggro.load(tmp_path / "m")
        for each in (model, other) if i >= ALONE - 2 else (model,):
            each.learn_one(dict(zip("abcdefgh", x, strict=True)), label)
    assert model.coef_ == other.coef_
    assert model.n_mistakes_ == other.n_mistakes_
    assert model.predict_proba_one({"a": 1.0}) == other.predict_proba_one({"a": 1.0})


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("params", [{"C": 0.5}, {"C": "auto"}, {"class_mean": 0.1}], ids=str)
def test_the_command_line_learns_the_same(params, known):
    X, y = stream(known)
    model = Model(find("PA-I").make(**params, random_state=0))
    given = PassiveAggressiveClassifier(random_state=0, **{"average": False, **params})
    for rows in (slice(0, ALONE), slice(ALONE, None)):
        order = np.arange(len(y[rows]))
        batch = model.begin_batch(X[rows], y[rows], None)
        model.estimator._learn_batch(batch, None, order)
        given.partial_fit(X[rows], y[rows], classes=[0, 1])
        if rows.stop:
            np.testing.assert_array_equal(model.probabilities(model.scores(X)), np.ones((120, 1)))
            assert (model.chosen(model.scores(X)) == 0).all()
    np.testing.assert_array_equal(model.scores(X), given._scores(X))
    assert model.loss == given.n_mistakes_


@pytest.mark.parametrize("known", ["a", "b", "c"])
@pytest.mark.parametrize("multiclass", ["support", "top", "ovr"])
@pytest.mark.parametrize(
    "axes", [{}, {"metric": "diagonal"}, {"metric": "full"}, {"class_mean": 0.2, "average": True}]
)
def test_adding_two_classes_keeps_the_margins_of_the_first(axes, multiclass, known):
    X, _ = stream(0)
    model = PassiveAggressiveClassifier(C=0.3, multiclass=multiclass, **axes)
    model.partial_fit(X[:ALONE], [known] * ALONE)
    margin, mistakes = model.decision_function(X), model.n_mistakes_
    grown = copy.deepcopy(model)
    grown._fitted = grown._with_classes(grown._fitted, np.array(["a", "b", "c"]))
    scores, place = grown.decision_function(X), "abc".index(known)
    others = np.delete(scores, place, axis=1)
    whole = 2.0 if multiclass == "ovr" else 1.0  # separate margins of outputs
    assert_close(scores[:, [place]] - others, whole * margin[:, None].repeat(2, 1))
    np.testing.assert_allclose(
        scores.sum(axis=1), -margin if multiclass == "ovr" else 0, atol=1e-12
    )
    assert grown.n_mistakes_ == mistakes - (known == "a")  # the first row was a tie
    if multiclass == "ovr" and "class_mean" not in axes:
        given = PassiveAggressiveClassifier(C=0.3, multiclass=multiclass, **axes)
        given.partial_fit(X[:ALONE], [known] * ALONE, classes=["a", "b", "c"])
        for each in (given, grown):
            each.partial_fit(X[ALONE:], np.array(["a", "b", "c"])[np.arange(97) % 3])
        assert_close(grown.coef_, given.coef_)
