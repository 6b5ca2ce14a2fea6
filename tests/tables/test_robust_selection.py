"""After 1000 rows a selection is not worse than the constant answer, nor than plain settings."""

import numpy as np
import pytest

import aggro

ROWS, FIRST = 3000, 1000
FAR = 1.2  # times the error of the plain estimator


def in_order(rng, X, y):
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def in_bursts(rng, X, y):
    groups = [np.flatnonzero(y == label) for label in np.unique(y)]
    runs = [group[i : i + 50] for group in groups for i in range(0, len(group), 50)]
    order = np.concatenate([runs[i] for i in rng.permutation(len(runs))])
    return X[order], y[order]


def with_column(column):
    return lambda rng, X, y: (np.column_stack([column(rng, len(X)), X]), y)


def late_counter(rng, rows):
    counts = np.arange(rows, dtype=float)
    counts[:100] = rng.permutation(100)
    return counts


def with_outliers(share, size, axes):
    def change(rng, X, y):
        return np.where(rng.random([X.shape[a] if a in axes else 1 for a in (0, 1)]) < share,
                        size * X, X), y  # fmt: skip

    return change


def flipped(rng, X, y):
    noisy = rng.random(len(y)) < 0.35
    return X, np.where(noisy, rng.permutation(y), y)


def halfway(rng, X, y):
    return X, np.where(np.arange(len(y)) < ROWS // 2, y, y.max() - y)


def scaled(rng, X, y):
    return X * 10.0 ** rng.integers(-6, 7, X.shape[1]) + 10.0 ** rng.integers(-3, 4, X.shape[1]), y


CONDITIONS = {
    "none": lambda rng, X, y: (X, y),
    "counter": with_column(lambda rng, rows: np.arange(rows)),
    "late counter": with_column(late_counter),
    "noisy counter": with_column(lambda rng, rows: np.arange(rows) + 5 * rng.standard_normal(rows)),
    "outlying values": with_outliers(0.005, 1e5, (0, 1)),
    "outlying rows": with_outliers(0.01, 1e4, (0,)),
    "noise alone": lambda rng, X, y: (X, rng.permutation(y)),
    "scales": scaled,
    "skewed": lambda rng, X, y: (np.exp(3 * X), y),
}
OF_CLASSES = CONDITIONS | {
    "sorted labels": in_order,
    "bursts": in_bursts,
    "noisy labels": flipped,
    "rare labels": lambda rng, X, y: (X, (rng.random(len(y)) < 0.03).astype(int)),
    "drift": halfway,
}
# Outlying values spoil the scale of a column; ranks, in the maps of features="auto", do not.
FEATURES = [("auto", name) for name in OF_CLASSES] + [
    ("linear", name) for name in OF_CLASSES if name != "outlying values"
]
pytestmark = pytest.mark.filterwarnings("ignore:X only rises")


def beyond_chance(own, other):
    """Return whether errors are larger than others of the same rows, beyond chance."""
    excess = own - other
    return excess.mean() > 2.6 * excess.std() / np.sqrt(len(excess)) + 1e-12


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("features", "condition"), FEATURES)
def test_classes(features, condition, classes):
    rng = np.random.default_rng(0)
    X, centres = rng.standard_normal((ROWS, 6)), rng.standard_normal((classes, 6))
    y = (X @ centres.T + rng.standard_normal((ROWS, classes))).argmax(axis=1)
    X, y = OF_CLASSES[condition](rng, X, y)
    found = []
    for model in (
        aggro.AutoClassifier(features=features, random_state=0),
        aggro.PassiveAggressiveClassifier(random_state=0),
    ):
        model.partial_fit(X[:FIRST], y[:FIRST], classes=np.arange(classes))
        before = model.n_mistakes_
        model.partial_fit(X[FIRST:], y[FIRST:])
        found.append(model.n_mistakes_ - before)
    count = ROWS - FIRST
    own, plain = (np.arange(count) < mistakes for mistakes in found)
    constant = y[FIRST:] != np.bincount(y[FIRST:]).argmax()
    # which rows are wrong is not known: as if the errors of both were independent
    chance = 2.6 * np.sqrt(count * (own.var() + constant.var())) + 1
    assert own.sum() <= constant.sum() + chance
    assert own.sum() <= FAR * plain.sum() + 2.6 * np.sqrt(count * plain.var()) + 1


@pytest.mark.parametrize("features", ["auto", "linear"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_numbers(features, condition):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((ROWS, 6))
    X, y = CONDITIONS[condition](rng, X, X @ rng.standard_normal(6) + rng.standard_normal(ROWS))
    found = []
    for model in (
        aggro.AutoRegressor(features=features, random_state=0),
        aggro.PassiveAggressiveRegressor(random_state=0),
    ):
        model.partial_fit(X[:FIRST], y[:FIRST])
        errors = []
        for start in range(FIRST, ROWS, 100):
            rows = slice(start, start + 100)
            errors.append(np.abs(model.predict(X[rows]) - y[rows]))
            model.partial_fit(X[rows], y[rows])
        found.append(np.concatenate(errors))
    own, plain = found
    constant = np.abs(y[FIRST:] - np.median(y[FIRST:]))
    assert not beyond_chance(own, constant), (own.mean(), constant.mean())
    assert not beyond_chance(own, FAR * plain), (own.mean(), plain.mean())
