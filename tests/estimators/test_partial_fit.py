"""partial_fit: late classes, batches of any storage, zero weights, labels of any type."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from linear_support import fingerprint, make_problem, stored

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(29)
X, y = make_problem("multiclass", 5, rng, 150, 6)
STAGES = [(0,), (0, 3), (0, 2, 3), (0, 1, 2, 3, 4)]  # classes appear between known ones

VARIANTS = [
    {"multiclass": multiclass, "metric": metric, "class_mean": mean, "average": average}
    for multiclass, metric, mean, average in itertools.product(
        ("support", "top", "predicted", "ovr"),
        ("euclidean", "diagonal", "adagrad", "newton", "full"),
        (0.0, 0.2),
        (False, True, "reservoir"),
    )
]


def staged(stages):
    """Return batches of rows of the classes known at each stage."""
    parts = np.array_split(np.arange(len(y)), len(stages))
    for part, known in zip(parts, stages, strict=True):
        rows = part[np.isin(y[part], known)]
        rows = np.concatenate([rows, [np.flatnonzero(y == c)[0] for c in known]])
        yield X[rows], y[rows]


@pytest.mark.parametrize("axes", VARIANTS, ids=lambda axes: "-".join(map(str, axes.values())))
def test_classes_enter_at_any_time(axes):
    model = PassiveAggressiveClassifier(C=0.5, **axes)
    seen = 0
    for (rows, labels), known in zip(staged(STAGES), STAGES, strict=True):
        model.partial_fit(rows, labels)
        seen += len(labels)
        assert model.classes_.tolist() == list(known)
        assert model.coef_.shape == (1 if len(known) == 2 else len(known), 6)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert set(model.predict(X)) <= set(known)
        assert model.t_ == seen + 1
        assert 0 <= model.n_mistakes_ <= seen
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("axes", VARIANTS, ids=lambda axes: "-".join(map(str, axes.values())))
def test_new_classes_keep_the_scores_of_known_ones(axes):
    """Scores of the old classes are the same just before and just after; new ones score 0."""
    stages = [(1, 3, 4), (0, 1, 2, 3, 4)]
    (first, labels), _ = staged(stages)
    model = PassiveAggressiveClassifier(C=0.5, **axes).partial_fit(first, labels)
    before = model.decision_function(X)
    model._fitted = model._with_classes(model._fitted, np.arange(5))
    after = model.decision_function(X)
    np.testing.assert_allclose(after[:, [1, 3, 4]], before, atol=1e-12)
    np.testing.assert_allclose(after[:, [0, 2]], 0, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 0.2])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
@pytest.mark.parametrize("average", [False, True])
def test_two_classes_become_three(metric, mean, average):
    """The margin between the old two is the same before and after."""
    model = PassiveAggressiveClassifier(C=0.5, metric=metric, class_mean=mean, average=average)
    some = np.isin(y, (1, 3))
    model.partial_fit(X[some], y[some])
    before = model.decision_function(X)
    model._fitted = model._with_classes(model._fitted, np.array([2]))
    after = model.decision_function(X)
    np.testing.assert_allclose(after[:, 2] - after[:, 0], before, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
def test_late_classes_are_exact_where_they_were_passive(metric):
    """Equal to a model with all classes given if the late class was never a support class."""
    known, late = [0, 2, 4], 3
    some = np.isin(y, known)
    axes = {"C": 0.5, "metric": metric, "multiclass": "ovr", "average": False}
    a = PassiveAggressiveClassifier(**axes).partial_fit(X[some], y[some], classes=known)
    b = PassiveAggressiveClassifier(**axes).partial_fit(X[some], y[some])
    for model in (a, b):
        np.testing.assert_allclose(model.coef_, a.coef_, atol=1e-12)
    b.partial_fit(X[y == late], y[y == late])
    c = PassiveAggressiveClassifier(**axes)
    c.partial_fit(X[some], y[some], classes=known)  # each class is a separate problem
    assert b.classes_.tolist() == [0, 2, 3, 4]
    binary = PassiveAggressiveClassifier(C=0.5, metric=metric, average=False)
    binary.partial_fit(X[some], y[some] == 4, classes=[False, True])
    binary.partial_fit(X[y == late], np.zeros(sum(y == late), dtype=bool))
    np.testing.assert_allclose(b.coef_[3], binary.coef_[0], atol=1e-12)


def test_all_classes_in_the_first_batch_equal_given_classes():
    one = PassiveAggressiveClassifier().partial_fit(X, y)
    two = PassiveAggressiveClassifier().partial_fit(X, y, classes=np.arange(5))
    assert np.array_equal(one.coef_, two.coef_)


def test_given_classes_exclude_others():
    model = PassiveAggressiveClassifier().partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2])
    before = fingerprint(model)
    with pytest.raises(ValueError, match=r"label 3.*0, 1, 2"):
        model.partial_fit(X[y == 3], y[y == 3])
    with pytest.raises(ValueError, match="classes="):
        model.partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2, 3])
    assert fingerprint(model) == before
    text = PassiveAggressiveClassifier().partial_fit(
        X[:2], ["ham", "spam"], classes=["ham", "spam"]
    )
    with pytest.raises(ValueError, match="Did you mean 'spam'"):
        text.partial_fit(X[:1], ["span"])


def test_batch_of_weight_zero_is_ignored():
    for axes in ({}, {"class_mean": 0.3}, {"average": True}, {"batch_size": 4}):
        model = PassiveAggressiveClassifier(**axes).partial_fit(X, y)
        before = fingerprint(model)
        model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
        assert fingerprint(model) == before


def test_weight_zero_does_not_count_in_balanced_weights():
    a, b = (PassiveAggressiveClassifier(class_weight="balanced", C=0.05) for _ in range(2))
    present = rng.random(len(y)) < 0.5
    a.partial_fit(X, y, classes=range(5), sample_weight=present.astype(float))
    b.partial_fit(X[present], y[present], classes=range(5))
    assert_close(a.coef_, b.coef_, rtol=1e-12)


def test_batches_of_different_storage_may_follow_each_other():
    """Storage, index width and precision may change; the model keeps its precision."""
    forms = [
        X, stored(X, "csr32"), stored(X, "csr64"), np.asfortranarray(X), X.astype(np.float32),
        stored(X, "csr32", np.float32), sp.csc_matrix(X), sp.coo_matrix(X), X.tolist(),
        np.repeat(X, 2, axis=1)[:, ::2], X.astype(">f8"), (X * 8).astype(np.int16),
    ]  # fmt: skip
    for start in (np.float64, np.float32):
        model = PassiveAggressiveClassifier().partial_fit(X.astype(start), y)
        for rows in forms:
            model.partial_fit(rows, y)
            assert model.coef_.dtype == start
            assert model.predict(rows).shape == (150,)
        assert model.t_ == 150 * (len(forms) + 1) + 1
    plain = PassiveAggressiveClassifier().partial_fit(X, y)
    for rows in forms[1:4]:
        again = PassiveAggressiveClassifier().partial_fit(rows, y)
        np.testing.assert_allclose(again.coef_, plain.coef_, atol=1e-12)


@pytest.mark.parametrize(
    "names",
    [np.array(list("abcde")), np.array(["a", "bb", "ccc", "d", "e"], dtype=object),
     np.array([-2.0, 0.0, 1.0, 7.0, 9.0]), np.array([3, 200, 5, 100, 1], dtype=np.uint8)],
)  # fmt: skip
def test_labels_may_have_any_type(names):
    model = PassiveAggressiveClassifier(random_state=0).fit(X, names[y])
    plain = PassiveAggressiveClassifier(random_state=0).fit(X, np.argsort(np.argsort(names))[y])
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.predict(X), np.sort(names)[plain.predict(X)])
    assert model.classes_.dtype.kind == names.dtype.kind


def test_labels_may_be_booleans():
    model = PassiveAggressiveClassifier(random_state=0).fit(X, y > 2)
    assert model.predict(X).dtype == bool
    assert model.coef_.shape == (1, 6)


def test_several_labels_per_row_are_supported():
    Y = np.column_stack([y == 0, y > 2, X[:, 0] > 0]).astype(int)
    model = PassiveAggressiveClassifier(max_iter=1, tol=None, shuffle=False).fit(X, Y)
    assert model.predict(X).shape == model.decision_function(X).shape == (150, 3)
    for k in range(3):
        one = PassiveAggressiveClassifier(max_iter=1, tol=None, shuffle=False).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-12)
        assert np.array_equal(model.predict(X)[:, k], one.predict(X))
    streamed = PassiveAggressiveClassifier().partial_fit(X, Y)
    np.testing.assert_allclose(streamed.coef_, model.coef_, atol=1e-12)
    sparse = PassiveAggressiveClassifier().partial_fit(X, sp.csr_matrix(Y))
    assert np.array_equal(sparse.coef_, streamed.coef_)
    with pytest.raises(ValueError, match="keep its kind"):
        streamed.partial_fit(X, y)


def test_several_targets_are_supported():
    Y = X @ rng.standard_normal((6, 3))
    model = PassiveAggressiveRegressor().partial_fit(X, Y)
    assert model.predict(X).shape == (150, 3)
    assert model.coef_.shape == (3, 6)
    for k in range(3):
        one = PassiveAggressiveRegressor().partial_fit(X, Y[:, k])
        assert one.coef_.shape == (6,)
        np.testing.assert_allclose(model.coef_[k], one.coef_, atol=1e-12)
    with pytest.raises(ValueError, match=r"1 columns.*3"):
        model.partial_fit(X, Y[:, 0])


def test_ties_go_to_the_first():
    """A score of exactly zero predicts the first class, or no label."""
    nothing = np.zeros((2, 6))
    flat = {"fit_intercept": False}
    two = PassiveAggressiveClassifier(**flat).partial_fit(X, np.where(y > 2, "yes", "no"))
    assert two.predict(nothing).tolist() == ["no", "no"]
    several = PassiveAggressiveClassifier(**flat).partial_fit(X, y)
    assert several.predict(nothing).tolist() == [0, 0]
    labels = PassiveAggressiveClassifier(**flat).partial_fit(X, np.column_stack([y > 2, y < 2]))
    assert labels.predict(nothing).tolist() == [[0, 0], [0, 0]]
    one = PassiveAggressiveClassifier().partial_fit(X, np.full(len(y), "only"))
    assert set(one.predict(X)) == {"only"}


def test_kinds_of_targets_cannot_change():
    labels = np.column_stack([y > 2, y < 2]).astype(int)
    for first, later, words in (
        (y, labels, "indicator matrix of 2 columns.*begun with one label per row"),
        (labels, y, "one label per row.*begun with an indicator matrix of 2 columns"),
        (labels, labels[:, [0, 1, 1]], "of 3 columns.*of 2 columns"),
    ):
        model = PassiveAggressiveClassifier().partial_fit(X, first)
        before = fingerprint(model)
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, later)
        assert fingerprint(model) == before
