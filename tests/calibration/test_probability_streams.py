"""Margins of streams are recorded before each step: chunks, predictions and absent rows have no
effect.
"""

import copy
import threading

import numpy as np
import pytest
from closeness import assert_close
from scipy.sparse import csr_matrix

from aggro import KernelPassiveAggressiveClassifier, PassiveAggressiveClassifier, StreamClassifier

LINEAR = [
    {},
    {"C": "auto", "metric": "diagonal"},
    {"class_mean": 0.1, "scale": "online"},
    {"average": True},
    {"average": "reservoir"},
    {"multiclass": "ovr", "metric": "diagonal"},
]
PARTS = ("scores", "centres", "labels", "weights", "counts", "masses", "changes", "latest")


def problem(rows=700, classes=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 5)) * (random.random((rows, 5)) < 0.7)
    y = (X @ random.normal(size=(5, classes)) + random.normal(size=(rows, classes))).argmax(axis=1)
    return X, y


def as_dict(x):
    return {f"f{j}": v for j, v in enumerate(x.tolist())}


def learned(model, X, y, size, weights=None, classes=None):
    for first in range(0, len(y), size):
        rows = slice(first, first + size)
        some = None if weights is None else weights[rows]
        model.partial_fit(X[rows], y[rows], classes=classes, sample_weight=some)
    return model


def assert_same_record(one, other, **tolerance):
    for name in PARTS:
        here, there = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(here, there, err_msg=name, **(tolerance or {"rtol": 0}))
    assert (one.seen, one.recorded) == (other.seen, other.recorded)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("params", LINEAR, ids=str)
def test_probabilities_are_chunk_invariant(params, classes):
    X, y = problem(classes=classes)
    models = [
        learned(
            PassiveAggressiveClassifier(probability=True, random_state=0, **params),
            *(X, y, size),
            classes=range(classes),
        )
        for size in (1, 37, 700)
    ]
    for other in models[1:]:
        assert_same_record(models[0]._fitted.record.calibrator, other._fitted.record.calibrator)
        np.testing.assert_array_equal(models[0].predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("params", [{}, {"average": True}, {"budget": 20}], ids=str)
def test_kernel_probabilities_are_chunk_invariant(params):
    X, y = problem(rows=150)
    models = [
        learned(
            KernelPassiveAggressiveClassifier(probability=True, gamma=0.5, **params),
            *(X, y, size),
            classes=[0, 1, 2],
        )
        for size in (1, 37, 150)
    ]
    for other in models[1:]:
        assert_same_record(
            models[0]._fitted.record.calibrator,
            other._fitted.record.calibrator,
            rtol=1e-6,
            atol=1e-7,
        )
        np.testing.assert_allclose(models[0].predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_margins_are_recorded_before_learning():
    X, y = problem(rows=300, classes=2)
    asked = PassiveAggressiveClassifier(C=0.5, probability=True).partial_fit(X, y, [0, 1])
    plain, margins, means, samples = PassiveAggressiveClassifier(C=0.5), [], [], []
    mean, points = np.zeros(5), {1 << k for k in range(9)}
    for i in range(300):
        if i:
            margins.append(plain.decision_function(X[i : i + 1])[0])
            means.append(plain.decision_function(mean[None])[0])
        plain.partial_fit(X[i : i + 1], y[i : i + 1], [0, 1])
        if i < 128 or i % 8 == 0:
            samples.append(X[i])
        if i + 1 in points:
            mean = np.mean(samples[-128:], axis=0)
    found = asked._fitted.record.calibrator
    np.testing.assert_allclose(found.scores[:, 0], margins, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.centres[:, 0], means, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(found.labels, y[1:])
    assert (found.seen, found.recorded) == (300, 299)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_streams_and_estimators_have_equal_probabilities(batch, sparse):
    X, y = problem(rows=1400 // batch * batch)
    stream = StreamClassifier("SPA-I", C=0.3, batch_size=batch, probability=True)
    arrays = PassiveAggressiveClassifier(C=0.3, average=False, batch_size=batch, probability=True)
    for x, label in zip(X, y.tolist(), strict=True):
        stream.learn_one(as_dict(x), label)
    learned(arrays, csr_matrix(X) if sparse else X, y, batch)
    stream._record.flush()
    assert_same_record(
        stream._record.calibrator, arrays._fitted.record.calibrator, rtol=1e-5, atol=1e-6
    )
    found = [list(stream.predict_proba_one(as_dict(x)).values()) for x in X[:50]]
    np.testing.assert_allclose(found, arrays.predict_proba(X[:50]), atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "params"),
    [(PassiveAggressiveClassifier, {}), (KernelPassiveAggressiveClassifier, {"gamma": 0.5})],
)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("whole", [False, True])
def test_rows_of_weight_zero_are_ignored(kind, params, batch, whole):
    X, y = problem(rows=240, classes=2)
    weights = np.tile([1.0, 0.0, 2.0], 80)
    wild, there = np.where(weights[:, None] > 0, X, 1e3 * X), weights > 0
    models = []
    for rows, labels, w in ((wild, y, weights), (X[there], y[there], weights[there])):
        model = kind(
            probability=True, shuffle=False, batch_size=batch, max_iter=1, tol=None, **params
        )
        if whole:
            models.append(model.fit(rows, labels, sample_weight=w))
        else:
            models.append(model.partial_fit(rows, labels, [0, 1], sample_weight=w))
    assert_same_record(models[0]._fitted.record.calibrator, models[1]._fitted.record.calibrator)
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


def test_requesting_probabilities_changes_nothing():
    X, y = problem(rows=500)
    silent, asked = (StreamClassifier("SPA-I", probability=True) for _ in range(2))
    for x, label in zip(X, y.tolist(), strict=True):
        silent.learn_one(as_dict(x), label)
        asked.learn_one(as_dict(x), label)
        if label == 1:
            asked.predict_proba_one(as_dict(x))
    assert silent.predict_proba_one({"f0": 1.0}) == asked.predict_proba_one({"f0": 1.0})


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"f0": float("nan")}, 1, 1.0),
        ({"f0": float("inf")}, "new", 1.0),
        ({"f0": None}, 1, 1.0),
        ({"f0": 1.0}, None, 1.0),
        ({"f0": 1.0}, float("nan"), 1.0),
        ({"f0": 1.0}, [1], 1.0),
        ({"f0": 1.0}, 1, -1.0),
        ({"f0": 1.0}, 1, float("nan")),
        ({"f0": 1.0}, 1, "much"),
        (["f0"], 1, 1.0),
    ],
    ids=str,
)
def test_a_rejected_example_leaves_no_margins(x, y, w):
    X, labels = problem(rows=40, classes=2)
    model = StreamClassifier("PA", probability=True)
    for row, label in zip(X, labels.tolist(), strict=True):
        model.learn_one(as_dict(row), label)
    copied = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError)):
        model.learn_one(x, y, w)
    assert model.classes_ == copied.classes_
    assert model._record.met == copied._record.met == 40
    for each in (model, copied):
        each.learn_one({"f0": 1.0}, "never", 0.0)  # weight zero
        each.learn_one({"f0": 1.0, "f1": 2.0}, 1)
        each._record.flush()
    assert_same_record(model._record.calibrator, copied._record.calibrator)
    assert model.predict_proba_one({"f1": 1.0}) == copied.predict_proba_one({"f1": 1.0})
    assert model.coef_ == copied.coef_


def test_threads_share_a_stream():
    X, y = problem(rows=400, classes=4)
    model, failures = StreamClassifier("SPA-I", probability=True), []

    def work(number):
        try:
            for x, label in zip(X[number::4], y[number::4].tolist(), strict=True):
                model.learn_one(as_dict(x), label)
                found = model.predict_proba_one(as_dict(x))
                assert abs(sum(found.values()) - 1) < 1e-9
                if label == 0:
                    copy.copy(model), model.coef_
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    model._record.flush()
    found = model._record.calibrator
    assert (model._record.met, found.seen, found.recorded) == (400, 400, 399)
    np.testing.assert_array_equal(found.counts[0], np.bincount(y))


# -- edge cases ------------------------------------------------------------------------------


def log_loss(P, y):
    return -np.log(P[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "params", [{}, {"C": "auto", "metric": "diagonal", "average": "auto"}], ids=str
)
def test_sorted_rows_give_class_frequencies(params, classes):
    X, y = problem(rows=1200, classes=classes)
    order = np.argsort(y[:900], kind="stable")
    model = PassiveAggressiveClassifier(probability=True, random_state=0, **params)
    X, y, new = X[:900][order], y[:900][order], X[900:]
    learned(model, X, y, 50)
    shares = (np.bincount(y) + 1) / (900 + classes)
    assert_close(model.predict_proba(new), np.tile(shares, (300, 1)))
    once = {"max_iter": 1, "tol": None}
    fitted = PassiveAggressiveClassifier(probability=True, shuffle=False, **once, **params)
    P = fitted.fit(X, y).predict_proba(new)
    assert_close(P, np.tile(shares, (300, 1)))
    stream = StreamClassifier("SPA-I", C=params.get("C", 1.0), probability=True)
    for row, label in zip(X, y.tolist(), strict=True):
        stream.learn_one(dict(enumerate(row)), label)
    found = stream.predict_proba_one(dict(enumerate(new[0])))
    assert_close([found[label] for label in range(classes)], shares)


@pytest.mark.parametrize("seed", range(6))
def test_probabilities_of_noise_are_as_good_as_a_constant(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(1500, 6)), (random.random(1500) < 0.3).astype(int)
    model = PassiveAggressiveClassifier(probability=True).partial_fit(X[:1000], y[:1000], [0, 1])
    P = model.predict_proba(X[1000:])
    constant = np.tile([1 - y[:1000].mean(), y[:1000].mean()], (500, 1))
    assert log_loss(P, y[1000:]) < log_loss(constant, y[1000:]) + 0.02
    margins = model.decision_function(X[1000:])
    assert (np.diff(P[np.argsort(margins), 1]) >= 0).all()  # probabilities increase with margins


@pytest.mark.parametrize("size", [1e100, 6e144])
@pytest.mark.parametrize("axes", [{}, {"class_mean": 0.1}, {"class_mean": 0.1, "loss": "hard"}])
def test_huge_rows_have_finite_probabilities(axes, size):
    """Their margins, and those of the reference row, are infinite or NaN."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(13, 5)) * np.where(np.arange(13) == 1, size, 1.0)[:, None]
    labels = [1, 3, 0, 3, 2, 1, 1, 0, 0, 1, 3, 3, 3]
    stream = StreamClassifier("SPA-I", probability=True, **axes)
    for x, y in zip(rows, labels, strict=True):
        stream.learn_one(as_dict(x), y)
    found = stream.predict_proba_one(as_dict(rows[1]))
    assert sum(found.values()) == pytest.approx(1)
    model = PassiveAggressiveClassifier(probability=True, **axes)
    for x, y in zip(rows, labels, strict=True):
        model.partial_fit(x[None], [y])
    assert_close(model.predict_proba(rows).sum(axis=1), 1.0)
