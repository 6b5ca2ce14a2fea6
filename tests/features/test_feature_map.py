"""The feature map equals its reference for any storage and chunks."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import AutoClassifier, FeatureMap, _core, reference
from aggro.learner import rows_of

SIZES = [(16, 0), (0, 10), (16, 10)]


def table(rows=600, columns=4, missing=0.05, seed=0):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(rows, columns)), 1) * 10.0 ** (np.arange(columns) - 1)
    X[random.random(X.shape) < missing] = np.nan
    return X


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def progressive(X, **options):
    return dense(FeatureMap(random_state=3, **options).partial_fit_transform(X))


# -- equal to the reference --------------------------------------------------------------------


def from_core(core, X):
    (arrays,) = core.map(rows_of(np.ascontiguousarray(X)), [0], learn=True)
    if len(arrays) == 1:
        return arrays[0]
    return sp.csr_matrix(arrays[:3], shape=(len(X), arrays[3])).toarray()


def from_reference(features, X):
    mapped = []
    for row in X:
        features.learn(row)
        mapped.append(features.map(row))
    return np.array(mapped)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_core_equals_reference(sizes, columns):
    X, expected = table(columns=columns), reference.FeatureMap(*sizes, seed=7)
    expected.grow(columns)
    found = from_core(_core.FeatureMap([sizes], 7), X)
    assert_allclose(found, from_reference(expected, X), atol=1e-6)


@pytest.mark.parametrize("sizes", SIZES)
def test_late_columns_equal_reference_and_move_no_feature(sizes):
    X, core, expected = table(), _core.FeatureMap([sizes], 7), reference.FeatureMap(*sizes, seed=7)
    before = core.copy()
    for columns, part in ((2, X[:300]), (3, X[300:400]), (4, X[400:])):
        expected.grow(columns)
        found = from_core(core, part[:, :columns])
        assert_allclose(found, from_reference(expected, part[:, :columns]), atol=1e-6)
    width = from_core(before, X[:300, :2]).shape[1]
    late = np.hstack([X[300:310, :2], np.zeros((10, 2))])
    grown = before.copy()
    grown.map(rows_of(late[:0]), [0], learn=True)
    fourier = sizes[0]  # new columns change the Fourier features; zeros only shift them
    assert_allclose(
        from_core(before, late[:, :2])[:, fourier:],
        from_core(grown, late)[:, fourier:width],
        atol=1e-12,
    )


# -- invariance --------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("pieces", [1, 7, 600])
def test_map_is_chunk_invariant(sizes, pieces):
    X, options = table(), {"fourier": sizes[0], "bins": sizes[1]}
    features = FeatureMap(random_state=3, **options)
    parts = [dense(features.partial_fit_transform(part)) for part in np.array_split(X, pieces)]
    assert_array_equal(np.vstack(parts), progressive(X, **options))
    whole = FeatureMap(random_state=3, **options).fit(X)
    assert_array_equal(dense(features.transform(X)), dense(whole.transform(X)))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_rows_give_the_features_of_dense_rows(sizes, make):
    X, options = table(), {"fourier": sizes[0], "bins": sizes[1]}
    X[X < 0.5] = 0.0
    assert_array_equal(progressive(make(X), **options), progressive(X, **options))


def test_repeated_entries_of_a_sparse_row_are_summed():
    X = sp.csr_matrix(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert_array_equal(progressive(X, bins=4), progressive(X.toarray(), bins=4))


@pytest.mark.parametrize("sizes", SIZES)
def test_float32_gives_nearly_the_same_features_of_its_kind(sizes):
    X, options = table().astype(np.float32), {"fourier": sizes[0], "bins": sizes[1]}
    found = progressive(X, **options)
    assert found.dtype == np.float32
    assert_allclose(found, progressive(X.astype(np.float64), **options), atol=1e-6)


def test_features_depend_only_on_the_seed():
    X = table()
    first, again, other = (
        FeatureMap(random_state=seed).fit_transform(X).toarray() for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_rows_of_weight_zero_are_ignored_and_orders_respected():
    X, order = table(), np.random.default_rng(1).permutation(600)[:300]
    weights = np.ones(600)
    weights[order[::3]] = 0.0
    one, other = (_core.FeatureMap([(8, 4)], 0) for _ in range(2))
    one.map(rows_of(X), [], learn=True, order=order, weights=weights)
    other.map(rows_of(X[order[weights[order] > 0]]), [], learn=True)
    for name, array in one.state().items():
        assert_array_equal(array, other.state()[name], err_msg=name)


def test_layouts_of_one_map_share_statistics():
    X, shared = table(), _core.FeatureMap([(8, 0), (0, 4)], 5)
    mapped = shared.map(rows_of(X), [1, 0], learn=True)
    for sizes, arrays in zip([(0, 4), (8, 0)], mapped, strict=True):
        (alone,) = _core.FeatureMap([sizes], 5).map(rows_of(X), [0], learn=True)
        assert_array_equal(arrays[0], alone[0])


# -- properties of features --------------------------------------------------------------------


def test_inner_products_of_fourier_features_are_those_of_a_gaussian_kernel():
    X = np.random.default_rng(0).uniform(-1.7, 1.7, (2000, 3))  # ranks are proportional to values
    F = FeatureMap(fourier=8192, bins=0, random_state=0).fit(X).transform(X[:20])[:, :8192]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    squares = ((Z[:20, None] - Z[None, :20]) ** 2).sum(axis=2)
    assert_allclose(F @ F.T, np.exp(-1.6 / 4 * squares), atol=0.08)


def test_every_row_has_one_cell_of_each_grid():
    B = FeatureMap(fourier=0, bins=32, random_state=0).fit_transform(table(missing=0.3))
    cells = B[:, 4:].toarray().reshape(600, 32, 64)
    assert_array_equal((cells != 0).sum(axis=2), 1)
    assert_allclose((cells**2).sum(axis=(1, 2)), 1.0)


def test_missing_value_has_a_separate_cell_and_is_zero_elsewhere():
    X = np.random.default_rng(0).normal(size=(500, 1))
    features = FeatureMap(fourier=0, bins=64, random_state=0).fit(X)
    missing, present = (features.transform(rows) for rows in ([[np.nan]], X))
    assert missing[0, 0] == 0.0
    assert (present[:, 1:] @ missing[:, 1:].T).toarray().mean() < 0.05


@pytest.mark.parametrize("X", [np.full((3, 2), 5.0), np.full((3, 2), np.nan), np.zeros((1, 2))])
def test_constant_or_missing_columns_are_zero(X):
    mapped = progressive(X, fourier=4, bins=2)
    assert np.isfinite(mapped).all() and (mapped[:, 4:6] == 0.0).all()


# -- state -------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeat", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_continue_identically_and_independently(repeat):
    X = table()
    features = FeatureMap(random_state=3).partial_fit(X[:100])
    other = repeat(features)
    expected = features.transform(X).toarray()
    mapped = other.partial_fit_transform(X[100:]).toarray()
    assert_array_equal(features.transform(X).toarray(), expected)
    assert_array_equal(mapped, features.partial_fit_transform(X[100:]).toarray())


def test_state_is_restored_and_bounded():
    X, core = table(5000), _core.FeatureMap([(8, 4)], 1)
    core.map(rows_of(X[:1000]), [], learn=True)
    size = sum(array.nbytes for array in core.state().values())
    core.map(rows_of(X), [], learn=True)
    state, other = core.state(), _core.FeatureMap([(8, 4)], 1)
    assert sum(array.nbytes for array in state.values()) <= 2 * size
    other.load_state(state)
    for one, two in zip(*(each.map(rows_of(X), [0])[0] for each in (core, other)), strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grown", np.array([9])),
        ("rows", np.array([-1])),
        ("mean", np.full(4, np.nan)),
        ("missing", np.full(4, 1e9)),
        ("sample", np.zeros(3)),
        ("rank_start", np.arange(5) - 1),
        ("rank_up_to", np.zeros(3, np.int32)),
        ("square", np.full(4, -1.0)),
    ],
)
def test_inconsistent_state_changes_nothing(name, value):
    X, core = table(missing=0.0), _core.FeatureMap([(8, 4)], 1)
    core.map(rows_of(X), [], learn=True)
    before = core.state()
    with pytest.raises(ValueError, match=f"{name}|do not fit"):
        core.load_state({**before, name: value})
    assert_array_equal(core.state()["mean"], before["mean"])


def test_repeated_entries_of_sparse_rows_add_up():
    X = table(missing=0.0)
    columns, width = np.tile(np.arange(X.shape[1]), (len(X), 2)), X.shape[1]
    starts = np.arange(0, 2 * X.size + 1, 2 * width)
    twice = sp.csr_matrix((np.hstack([2 * X, -X]).ravel(), columns.ravel(), starts), X.shape)
    dense, sparse = (FeatureMap(random_state=0).fit(rows).transform(X) for rows in (X, twice))
    assert_allclose(sparse.toarray(), dense.toarray(), atol=1e-6)


# -- failed calls ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.inf, "row 7: feature 2 is infinite"), (1e200, "row 7: feature 2 is too large")],
)
@pytest.mark.parametrize("make", [np.array, sp.csr_matrix])
def test_a_failed_call_changes_nothing(make, value, message):
    X = table(missing=0.0)
    features = FeatureMap(random_state=3).partial_fit(X[:100])
    expected = features.transform(X).toarray()
    kept, X[7, 2] = X[7, 2], value
    for learn in (features.partial_fit, features.partial_fit_transform):
        with pytest.raises(ValueError, match=message):
            learn(make(X))
    X[7, 2] = kept
    with pytest.raises(ValueError, match="has 3 features, but FeatureMap is expecting 4"):
        features.transform(X[:, :3])
    assert_array_equal(features.transform(X).toarray(), expected)


@pytest.mark.parametrize("options", [{"fourier": -1}, {"bins": 1.5}, {"random_state": "x"}])
def test_invalid_parameters_are_rejected(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        FeatureMap(**options).fit(table())


def test_transform_needs_a_fit():
    with pytest.raises(AttributeError, match="not fitted yet"):
        FeatureMap().transform(table())


# -- usage -------------------------------------------------------------------------------------


def test_names_of_features_follow_their_positions():
    names = FeatureMap(fourier=3, bins=2).fit(table()).get_feature_names_out(list("abcd"))
    assert list(names[:9]) == ["fourier0", "fourier1", "fourier2", "fourier3", *"abcd", "bin0_0"]
    assert len(names) == 4 + 4 + 2 * 64


def test_curved_boundaries_are_learned_in_one_pass():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (4000, 2)) * [1.0, 1000.0]
    y = X[:, 0] * X[:, 1] > 0
    features, errors = FeatureMap(random_state=0), []
    for rows in (X, features.partial_fit_transform(X)):
        model = AutoClassifier(features="linear", random_state=0).partial_fit(rows, y)
        errors.append(model.n_mistakes_ / len(y))
    assert errors[0] > 0.4 and errors[1] < 0.08


@parametrize_with_checks([FeatureMap(fourier=8, bins=0), FeatureMap(fourier=8, bins=4)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
