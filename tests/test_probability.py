"""probability=True: honest probabilities, and a model that does not know of them."""

import copy
import pickle

import numpy as np
import pytest
from closeness import assert_close
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import aggro
from aggro import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SoftConfidenceWeightedClassifier,
)
from aggro.learn.calibration import LATE, RING, Calibrator
from aggro.learn.lessons import Lesson
from aggro.learn.typical import FEATURES, LONGEST, Typical
from aggro.models import ModelFileError

CLASSIFIERS = [
    PassiveAggressiveClassifier,
    AROWClassifier,
    ConfidenceWeightedClassifier,
    SoftConfidenceWeightedClassifier,
    Perceptron,
    KernelPassiveAggressiveClassifier,
]
ONE_PASS = {"max_iter": 1, "tol": None, "random_state": 0}
STEADY = {"C": 0.01, "average": True}
RECOMMENDED = {"C": "auto", "metric": "diagonal", "average": "auto"}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def softmax(margins):
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def log_loss(P, y):
    return -np.log(P[np.arange(len(y)), y]).mean()


def known_truth(rows=6000, classes=2, seed=0):
    """Return rows, labels drawn from a softmax of linear scores, and the true probabilities."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 8))
    truth = softmax(1.5 * X @ random.normal(size=(8, classes)))
    y = (truth.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1)
    return X, np.minimum(y, classes - 1), truth


def same_state(one, other):
    """Tell whether two learners are alike to the last bit."""
    if hasattr(one, "learners"):
        return all(map(same_state, one.learners, other.learners))
    return all(
        np.array_equal(a, b)
        for a, b in zip(one.state().values(), other.state().values(), strict=True)
    )


# -- honest -----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "params",
    [{**RECOMMENDED, **ONE_PASS}, {**STEADY, **ONE_PASS}, {**STEADY, "random_state": 0}],
    ids=["auto", "one pass", "passes"],
)
def test_close_to_the_truth_where_it_is_known(classes, params):
    X, y, truth = known_truth(rows=12000, classes=classes)
    model = PassiveAggressiveClassifier(probability=True, **params).fit(X[:4000], y[:4000])
    P = model.predict_proba(X[4000:])
    assert_close(P.sum(axis=1), 1.0)
    assert log_loss(P, y[4000:]) < log_loss(truth[4000:], y[4000:]) * 1.08
    for low in np.arange(0.0, 1.0, 0.2):  # what is said happens as often as it is said
        said = (P[:, 1] >= low) & (P[:, 1] < low + 0.2)
        happened = (y[4000:][said] == 1).mean()
        assert abs(P[said, 1].mean() - happened) < 0.05 + 1.5 / np.sqrt(said.sum())


@pytest.mark.parametrize(
    "model",
    [
        PassiveAggressiveClassifier(probability=True, loss="hard", random_state=0),
        PassiveAggressiveClassifier(probability=True, loss="hard", **ONE_PASS),
        PassiveAggressiveClassifier(probability=True, C="auto", average="auto", random_state=0),
        KernelPassiveAggressiveClassifier(probability=True, gamma=1.0, C=10, random_state=0),
    ],
    ids=["passes", "one pass", "race", "kernel"],
)
def test_noise_that_is_learned_by_heart_stays_noise(model):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1000, 1500)), random.integers(2, size=1000)
    model.fit(X, y)
    fresh = random.normal(size=(500, 1500))
    for rows in (X, fresh):
        assert log_loss(model.predict_proba(rows), random.integers(2, size=len(rows))) < 0.75
    if model.max_iter > 1:
        assert model.score(X, y) > 0.95  # it did learn them by heart
        assert np.abs(model.predict_proba(X)[:, 1] - 0.5).mean() < 0.2


def test_class_weights_do_not_bend_probabilities():
    random = np.random.default_rng(1)
    X = random.normal(size=(6000, 3))
    chance = 1 / (1 + np.exp(3.0 - X[:, 0]))
    y = (random.random(6000) < chance).astype(int)
    model = PassiveAggressiveClassifier(
        C=0.01, class_weight="balanced", probability=True, **ONE_PASS
    )
    model.fit(X[:4000], y[:4000])
    assert abs(model.predict_proba(X[4000:])[:, 1].mean() - chance[4000:].mean()) < 0.02


def test_rows_of_weight_zero_are_not_recorded():
    X, y, _ = known_truth(rows=400)
    weights = np.tile([1.0, 0.0], 200)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y, sample_weight=weights)
    assert len(model._calibrator.weights) == 199  # the first example met an empty model
    assert (model._calibrator.weights == 1).all()


# -- the model is the same ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("several", [False, True])
def test_every_classifier_learns_the_same_model(kind, several):
    X, y, _ = known_truth(rows=300, classes=3)
    params = {"random_state": 0} if several else ONE_PASS
    plain, asked = kind(**params).fit(X, y), kind(probability=True, **params).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), asked.decision_function(X))
    assert plain.n_mistakes_ == asked.n_mistakes_
    assert asked.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize(
    "params",
    [
        RECOMMENDED,
        {**RECOMMENDED, "batch_size": 10},
        {"C": "auto"},
        {"average": "reservoir"},
        {"batch_size": 7},
        {"queue": 3, "class_mean": 0.1},
        {"metric": "full"},
        {"multiclass": "ovr"},
    ],
    ids=str,
)
@pytest.mark.parametrize("calls", [1, 3, 60])
def test_pieces_do_not_change_what_is_learned(params, calls):
    X, y, _ = known_truth(rows=5500, classes=3)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    plain = PassiveAggressiveClassifier(random_state=0, **params)
    asked = PassiveAggressiveClassifier(random_state=0, probability=True, **params)
    for rows in np.array_split(np.arange(len(y)), calls):
        for model in (plain, asked):
            model.partial_fit(X[rows], y[rows], [0, 1, 2], sample_weight=weights[rows])
    assert same_state(plain._learner, asked._learner)
    assert len(asked._calibrator.weights) == 5500 - params.get("batch_size", 1) < RING + LATE


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_fit_learns_the_same_in_all_its_ways(warm_start, early_stopping):
    X, y, _ = known_truth(rows=600, classes=3)
    models = [
        PassiveAggressiveClassifier(
            C=0.1,
            probability=probability,
            random_state=np.random.RandomState(0),
            warm_start=warm_start,
            early_stopping=early_stopping,
        )
        for probability in (False, True)
    ]
    for _ in range(2):
        for model in models:
            model.fit(X, y)
        assert same_state(*(model._learner for model in models))


@pytest.mark.parametrize("batch", [1, 7, 100, 256])
@pytest.mark.parametrize("met", [0, 1, 500, 2500, 9000])
def test_pieces_cover_all_rows_in_whole_batches(batch, met):
    model = PassiveAggressiveClassifier(batch_size=batch, probability=True)
    model.partial_fit(np.eye(2), [0, 1])
    model._typical = Typical.of(np.ones(2), met)
    for count in (1, 15, 1024, 7003):
        cuts = model._record._pieces(count, 0, model._learner, follow=True)
        assert np.concatenate([np.arange(count)[cut] for cut in cuts]).tolist() == [*range(count)]
        assert all(cut.start % batch == 0 for cut in cuts)
        for unrecorded in (count // 2, count - 1):  # what comes before the first recorded is one
            early = [cut.stop for cut in cuts if cut.stop <= unrecorded]
            late = cuts[len(early) :]
            early = [slice(0, early[-1])] if early else []
            assert (
                model._record._pieces(count, unrecorded, model._learner, follow=True)
                == early + late
            )


def test_no_more_rows_are_watched_than_are_remembered(monkeypatch):
    """Watching costs time: of a long call only the last rows are, and what is cut with them."""
    watched, watch = [], Lesson.watch

    def counted(lesson, learner, typical, order, again):
        watched.append(len(order))
        return watch(lesson, learner, typical, order, again)

    monkeypatch.setattr(Lesson, "watch", counted)
    X, y, _ = known_truth(3 * RING)
    PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    assert RING <= sum(watched) < RING + LONGEST


def test_the_typical_row_of_many_columns_has_the_largest_of_the_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5000)) * (rng.random((60, 5000)) < 0.2)
    model = PassiveAggressiveClassifier(probability=True).fit(csr_matrix(X), np.arange(60) % 2)
    mean = X.mean(axis=0)
    largest = np.sort(np.argsort(-abs(mean))[:FEATURES])
    np.testing.assert_array_equal(model._typical.features, largest)
    assert_close(model._typical.mean, mean[largest])


# -- as scikit-learn has it ---------------------------------------------------------------------


def test_it_is_there_only_when_asked_for():
    X, y, _ = known_truth(rows=200)
    for kind in CLASSIFIERS:
        model = kind(random_state=0).fit(X, y)
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_log_proba")
        model.set_params(probability=True)
        with pytest.raises(NotFittedError, match="without probability=True"):
            model.predict_proba(X)
        model.partial_fit(X, y)
        assert_close(model.predict_log_proba(X), np.log(model.predict_proba(X)))
        with pytest.raises(ValueError, match="probability='yes'"):
            model.set_params(probability="yes").fit(X, y)


def reasons(estimator):
    order = "an online learner depends on the order of its rows"
    border = "predict follows the margins; close to the border another class may be more probable"
    kernel = isinstance(estimator, KernelPassiveAggressiveClassifier)  # far from the border here
    return ({} if kernel else {"check_classifiers_train": border}) | {
        "check_sample_weight_equivalence_on_dense_data": order,
        "check_sample_weight_equivalence_on_sparse_data": order,
    }


@parametrize_with_checks(
    [
        PassiveAggressiveClassifier(probability=True),
        PassiveAggressiveClassifier(probability=True, multiclass="ovr"),
        AROWClassifier(probability=True),
        KernelPassiveAggressiveClassifier(probability=True),
    ],
    expected_failed_checks=reasons,
)
def test_checks(estimator, check):
    check(estimator)


def test_dense_and_sparse_rows_float32_and_float64():
    X, y, _ = known_truth(rows=800, classes=3)
    X[np.abs(X) < 0.7] = 0
    model = PassiveAggressiveClassifier(C=0.05, probability=True, **ONE_PASS)
    P = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        clone(model).fit(csr_matrix(X), y).predict_proba(csr_matrix(X)), P, atol=1e-6
    )
    single = X.astype(np.float32)
    np.testing.assert_allclose(clone(model).fit(single, y).predict_proba(single), P, atol=1e-2)


def test_several_labels():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 8))
    truth = 1 / (1 + np.exp(-X @ random.normal(size=(8, 3)) - [0, 1, -2]))
    Y = (random.random(truth.shape) < truth).astype(int)
    model = PassiveAggressiveClassifier(probability=True, **STEADY, **ONE_PASS)
    P = model.fit(X[:3000], Y[:3000]).predict_proba(X[3000:])
    assert P.shape == (2000, 3)
    for said, true, y in zip(P.T, truth[3000:].T, Y[3000:].T, strict=True):
        both = [log_loss(np.stack([1 - p, p], axis=1), y) for p in (said, true)]
        assert both[0] < both[1] * 1.05


# -- classes, copies, bad rows --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, KernelPassiveAggressiveClassifier])
def test_classes_that_come_later(kind):
    X, y, _ = known_truth(rows=1200, classes=4)
    names = np.array(["d", "b", "a", "c"])[y]
    model = kind(C=0.1, probability=True)
    model.partial_fit(X[:50][y[:50] == 1], names[:50][y[:50] == 1])
    np.testing.assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    assert (model._calibrator.labels == 0).all()
    for classes in (["b", "d"], ["b", "c", "d"], ["a", "b", "c", "d"]):
        known = np.isin(names, classes)
        model.partial_fit(X[known], names[known])
        P = model.predict_proba(X)
        assert_close(P.sum(axis=1), 1.0)
        assert model.classes_.tolist() == classes
        right = (model.classes_[P.argmax(axis=1)] == names)[known].mean()
        assert right > 0.55
    assert model._calibrator.labels.max() == 3


def test_margins_follow_the_classes_as_the_model_does():
    X, y, _ = known_truth(rows=400)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y * 2)
    before = model._calibrator
    model.partial_fit(X[:1], [1])
    after = model._calibrator
    assert_close(after.scores[:-1, 2] - after.scores[:-1, 0], before.scores[:, 0])
    assert (after.scores[:-1, 1] == 0).all()
    np.testing.assert_array_equal(after.labels[:-1], before.labels * 2)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_pickles_and_files_say_the_same_and_go_on(kind, tmp_path):
    X, y, _ = known_truth(rows=300, classes=3)
    model = kind(probability=True, random_state=0).fit(X, y)
    aggro.save(model, tmp_path / "model")
    copies = [aggro.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    copies.append(copy.deepcopy(model))
    for other in copies:
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    model.partial_fit(X[:90], y[:90])
    for other in copies:
        other.partial_fit(X[:90], y[:90])
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "_calibrator")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.array([7], np.int32)},
        {"scores": np.zeros((1, 2), np.float32)},
        {"scores": np.full((1, 1), np.nan, np.float32)},
        {"weights": np.array([-1], np.float32)},
        {"parameters": np.zeros((1, 3))},
        {"seen": 0},
        {"classes": 3},
        {"multilabel": 1},
    ],
    ids=str,
)
def test_forged_margins_are_refused(change, tmp_path):
    X, y, _ = known_truth(rows=100)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    one = Calibrator.empty(2).plus(np.array([1]), np.ones(1), *map(np.atleast_2d, ([0.1], [0.2])))
    for name, value in change.items():
        setattr(one, name, value)
    model._calibrator = one
    aggro.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"met": -1},
        {"mean": np.array([np.nan, 1.0])},
        {"features": np.array([0, 8])},
        {"features": np.array([-1, 2])},
        {"samples": ((np.ones(1), np.array([99])),)},
        {"samples": ((np.ones(1, np.float32), np.array([1])),) * 200},
    ],
    ids=str,
)
def test_forged_typical_examples_are_refused(change, tmp_path):
    X, y, _ = known_truth(rows=100)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    plain = {"met": 100, "mean": np.ones(2), "features": np.array([0, 1]), "samples": ()}
    model._typical = Typical(**{**plain, **change})
    aggro.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "model")


@pytest.mark.parametrize("params", [{"C": 0.1}, RECOMMENDED], ids=["plain", "race"])
def test_a_bad_row_leaves_everything_as_it_was(params):
    X, y, _ = known_truth(rows=900)
    model = PassiveAggressiveClassifier(probability=True, random_state=0, **params)
    model.partial_fit(X[:500], y[:500])
    twin = copy.deepcopy(model)
    bad = X[500:].copy()
    bad[300, 2] = np.nan
    with pytest.raises(ValueError, match="row 300"):
        model.partial_fit(bad, y[500:])
    assert same_state(model._learner, twin._learner)
    assert model._typical is not twin._typical
    np.testing.assert_array_equal(model._typical.mean, twin._typical.mean)
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))
    with pytest.raises(ValueError, match="row 3"):
        model.partial_fit(bad[297:310], y[797:810])
    assert same_state(model._learner, twin._learner)
    with pytest.raises(ValueError, match="row 300"):
        model.fit(bad, y[500:])
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))
