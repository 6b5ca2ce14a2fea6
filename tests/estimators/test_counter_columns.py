"""Monotonic columns do not degrade models that scale features."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier
from aggro.selection.selection import ModelSelection

pytestmark = pytest.mark.filterwarnings("ignore:X only rises")


def customers(n, seed, start=1.0):
    """Return rows with a counter in the first column, and labels of which 70 % are equal."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([start + np.arange(n), rng.integers(1800, size=n),
                         rng.standard_normal((n, 4))])  # fmt: skip
    y = X[:, 2] - X[:, 3] + rng.standard_normal(n) * 2 > 1.3
    return X, np.where(y, "yes", "no")


def learned(X, y, step=500, kind=AutoClassifier, **params):
    model = kind(random_state=0, **params)
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        model.partial_fit(X[part], y[part], classes=["no", "yes"])
    return model


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_stream_with_a_counter_column_is_not_worse_than_a_constant(kind, seed):
    as_rows = sp.csr_matrix if kind == "sparse" else np.asarray
    X, y = customers(6000, seed)
    test, truth = customers(1500, seed + 100)
    model = learned(as_rows(X), y)
    assert model.score(as_rows(test), truth) > np.mean(truth == "no") - 0.02
    assert not model.coef_[:, 0].any()


def test_counter_columns_are_chunk_invariant():
    X, y = customers(400, 0)
    whole = learned(X, y, step=400)
    for step in (1, 7, 63, 64, 65):
        parts = learned(X, y, step=step)
        assert_array_equal(parts.coef_, whole.coef_)
        assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_rows_of_weight_zero_are_ignored():
    X, y = customers(300, 0)
    more = np.insert(X, 10, -1.0, axis=0)
    labels, weights = np.insert(y, 10, "no"), np.insert(np.ones(300), 10, 0.0)
    one = AutoClassifier(random_state=0).partial_fit(X, y)
    two = AutoClassifier(random_state=0).partial_fit(more, labels, sample_weight=weights)
    assert_array_equal(one.coef_, two.coef_)


def test_a_warning_names_the_column():
    X, y = customers(100, 0)
    with pytest.warns(UserWarning, match="only rises or only falls in column 0"):
        AutoClassifier().partial_fit(X, y)


@pytest.mark.parametrize("given", [{"C": 0.1}, {"C": "auto", "scale": "none"}])
def test_other_models_keep_all_columns(given):
    X, y = customers(100, 0)
    model = learned(X, y, kind=PassiveAggressiveClassifier, **given)
    assert model.coef_[:, 0].any()


def test_shuffled_rows_and_lone_columns_are_features():
    X, y = customers(300, 0)
    order = np.random.default_rng(0).permutation(300)
    assert learned(X[order], y[order]).coef_[:, 0].any()
    alone = X[:, :1]
    assert learned(alone, np.where(alone[:, 0] > 150, "yes", "no")).coef_.any()


def test_files_copies_and_exports_ignore_counters_too(tmp_path):
    X, y = customers(500, 0)
    model = learned(X, y)
    aggro.save(model, tmp_path / "m.aggro")
    loaded = aggro.load(tmp_path / "m.aggro")
    test, _ = customers(50, 1, start=1e6)
    expected = model.decision_function(test)
    assert_array_equal(loaded.decision_function(test), expected)
    plain = aggro.to_sklearn(model)
    np.testing.assert_allclose(plain.decision_function(test), expected, atol=1e-9)
    model.keep_best()
    np.testing.assert_allclose(model.decision_function(test), test @ model.coef_[0]
                               + model.intercept_[0], atol=1e-9)  # fmt: skip
    model.fit(X, y)
    assert model._fitted.counters is None


def test_interrupted_call_counts_no_row_twice():
    """While counter columns are detected, all rows of a call are learned or none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    model = AutoClassifier(random_state=0).partial_fit(X[:10], y[:10])
    learn = ModelSelection.learn

    def interrupted(self, rows, **batch):
        learn(self, rows, **{**batch, "order": np.arange(5)})
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelSelection, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[10:], y[10:])
    assert model._fitted.counters["rows"] == model.t_ - 1 == 10
    model.partial_fit(X[10:], y[10:])
    expected = AutoClassifier(random_state=0).partial_fit(X, y)
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
