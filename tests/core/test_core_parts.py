"""Parts of the core compared with short Python versions: checksum, hashes, tables, moments."""

import copy

import numpy as np
import pytest
from closeness import assert_close
from hypothesis import given, settings
from hypothesis import strategies as st

from aggro import _core
from aggro.estimators.kernel import KernelPassiveAggressiveRegressor
from aggro.estimators.passes import permutation
from aggro.learner import rows_of
from aggro.stream.learners import StreamClassifier, StreamRegressor

WORD = 2**64 - 1


def bytes_of(data):
    return np.frombuffer(data, np.uint8)


# -- checksum --------------------------------------------------------------------------------


def expected_checksum(data):
    """Mix words into eight accumulators, then the accumulators into the length."""

    def mixed(state, word):
        state ^= word
        return ((state << 29 | state >> 35) & WORD) * 0x9E3779B97F4A7C15 & WORD

    whole = len(data) // 64 * 64
    padded = data[:whole] + data[whole:].ljust(64, b"\0")
    sums = [0] * 8
    for start in range(0, len(padded), 64):
        words = np.frombuffer(padded[start : start + 64], "<u8").tolist()
        sums = [mixed(one, word) for one, word in zip(sums, words, strict=True)]
    total = len(data)
    for one in sums:
        total = mixed(total, one)
    return total


@pytest.mark.parametrize("size", [0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 1000])
def test_checksum_equals_the_python_version(size):
    data = np.random.default_rng(size).bytes(size)
    assert _core.checksum(bytes_of(data)) == expected_checksum(data)


def test_every_bit_changes_the_checksum():
    data = bytearray(np.random.default_rng(0).bytes(131))
    whole = _core.checksum(bytes_of(bytes(data)))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        assert _core.checksum(bytes_of(bytes(data))) != whole
        data[bit // 8] ^= 1 << bit % 8
    for size in range(131):  # the length counts, so truncated zeros are detected too
        assert _core.checksum(bytes_of(bytes(size))) != _core.checksum(bytes_of(bytes(size + 1)))


# -- hash ------------------------------------------------------------------------------------


def murmur(data, seed):
    """Return the 32-bit MurmurHash3 for x86, as specified by its author."""

    def turned(value, by):
        return (value << by | value >> 32 - by) & 0xFFFFFFFF

    def scrambled(block):
        return turned(block * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    hashed, whole = seed, len(data) // 4 * 4
    for start in range(0, whole, 4):
        block = int.from_bytes(data[start : start + 4], "little")
        hashed = (turned(hashed ^ scrambled(block), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    hashed ^= scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return hashed ^ hashed >> 16


def test_hashes_equal_published_values():
    """Check the published test vectors of the algorithm."""
    assert murmur(b"", 1) == 0x514E28B7 and murmur(b"test", 0) == 0xBA6BD213
    assert _core.hash_name("test") == 0xBA6BD213
    assert _core.hash_name("Hello, world!") == 0xC0363E43
    assert _core.hash_name("The quick brown fox jumps over the lazy dog", 0x9747B28C) == 0x2FA826CD


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_hashes_of_names_equal_the_python_version(name, seed):
    data = name.encode()
    while data and data[0] <= 32:
        data = data[1:]
    while data and data[-1] <= 32:
        data = data[:-1]
    digits = all(48 <= byte <= 57 for byte in data)
    number = int(data or b"0") if digits else 0
    expected = (number + seed) % 2**64 if digits else murmur(data, seed)
    assert _core.hash_name(name, seed) == expected


def test_numeric_names_hash_to_their_number():
    cases = {"0": 0, "9": 9, "10": 10, " 7 ": 7, "\t42\n": 42, "007": 7, "": 0, "!": None}
    for name, number in cases.items():
        expected = murmur(name.encode(), 3) if number is None else number + 3
        assert _core.hash_name(name, 3) == expected, name
    for name in ("/", ":", "1a", "-1", "1.0"):
        assert _core.hash_name(name, 5) == murmur(name.encode(), 5), name


# -- vocabulary ------------ ------------------------------------------------------------------


class Bad:
    """A name whose hash collides with all others; some are equal."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Bad) and self.number == other.number


@pytest.mark.parametrize(
    "name", [str, int, Bad, lambda i: ("pair", i), lambda i: f"é{i}", lambda i: i * 2**32]
)
def test_bounded_vocabulary_finds_its_names(name):
    """Lookups stay correct while the table grows and reuses its slots."""
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False, max_features=37)
    weights = {}
    for step in range(400):
        i = step * 7 % 61 if step % 3 else step
        model.learn_one({name(i): 1.0}, float(i))
        weights.pop(i, None)
        weights[i] = float(i)
        if len(weights) > 37:
            del weights[next(iter(weights))]
    assert {key: model.predict_one({name(key): 1.0}) for key in weights} == weights
    assert model.n_features_in_ == 37
    for gone in range(61):
        if gone not in weights:
            assert model.predict_one({name(gone): 1.0}) == 0.0


def test_equal_names_share_one_entry():
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    model.learn_one({1: 2.0}, 6.0)
    assert model.predict_one({1.0: 2.0}) == 6.0 and model.predict_one({True: 2.0}) == 6.0
    assert model.predict_one({"1": 2.0}) == 0.0
    model.learn_one({"".join(["a", "b"]): 1.0}, 5.0)
    assert model.predict_one({"ab": 1.0}) == 5.0
    assert model.n_features_in_ == 2


def test_saved_state_keeps_the_eviction_order():
    """A copy evicts the same feature next."""
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False, max_features=4)
    for name in "abcdacb":
        model.learn_one({name: 1.0}, 1.0 + ord(name))
    copied = copy.deepcopy(model)
    for i, oldest in enumerate("dacb"):
        assert model.coef_.keys() == copied.coef_.keys()
        assert oldest in copied.coef_
        for each in (model, copied):
            each.learn_one({f"new{i}": 1.0}, 1.0)
        assert oldest not in copied.coef_ and oldest not in model.coef_


# -- moments ---------------------------------------------------------------------------------


def test_moments_equal_those_of_all_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) * [1.0, 100.0, 1e-3] + [5.0, -3.0, 0.0]
    model = StreamRegressor("PAR-I", scale="standard")
    for row in X:
        model.learn_one(dict(zip("abc", row.tolist(), strict=True)), 1.0)
    arrays = model._dump()[2]
    (rows,) = (value for name, value in arrays.items() if name.endswith("rows"))
    assert rows.tolist() == [50.0]
    coef, inside = model.coef_, arrays["weights"].reshape(3, -1)[:, 0]
    scaled = np.array([coef[name] for name in "abc"])
    assert_close(scaled * X.std(axis=0), inside, rtol=1e-9)
    shift = model.intercept_ + scaled @ X.mean(axis=0)
    assert_close(shift, arrays["bias"][0], rtol=1e-9)


def test_late_column_counts_as_zero_before():
    rng = np.random.default_rng(2)
    values = rng.normal(size=40) + 3.0
    late = StreamRegressor("PAR-I", scale="standard")
    early = StreamRegressor("PAR-I", scale="standard")
    for i, value in enumerate(values.tolist()):
        zero = {"late": 0.0} if i < 25 else {}
        late.learn_one({"a": value, **({"late": value} if i >= 25 else {})}, value)
        early.learn_one({"a": value, **({"late": value} if i >= 25 else zero)}, value)
    assert late.predict_one({"a": 1.0, "late": 2.0}) == pytest.approx(
        early.predict_one({"a": 1.0, "late": 2.0}), rel=1e-9
    )


def test_spread_is_undefined_before_the_first_row():
    for scale in ("online", "standard"):
        model = StreamClassifier("PA-I", scale=scale)
        assert model.predict_one({"a": 1.0}) is None
    assert rows_of(np.zeros((1, 2))).count == 1


# -- coefficients of support vectors ---------------------------------------------------------


def test_averaged_coefficients_equal_the_mean_of_all_rounds():
    """The core stores the mean as a correction of the last coefficients."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.column_stack([X[:, 0], np.sin(3 * X[:, 1])])
    common = {"kernel": "rbf", "gamma": 0.7, "C": 0.5, "epsilon": 0.05}
    last = KernelPassiveAggressiveRegressor(**common)
    mean = KernelPassiveAggressiveRegressor(average=True, **common)
    total = np.zeros((30, 2))
    for i in range(30):
        last.partial_fit(X[i : i + 1], y[i : i + 1])
        mean.partial_fit(X[i : i + 1], y[i : i + 1])
        total += last.predict(X)
        np.testing.assert_allclose(mean.predict(X), total / (i + 1), atol=1e-12)
    np.testing.assert_array_equal(last.support_vectors_, mean.support_vectors_)
    assert last.dual_coef_.shape == (2, last.n_support_)


def test_removal_moves_the_last_coefficients():
    """After many removals each support vector still has its coefficients."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    model = KernelPassiveAggressiveRegressor(
        gamma=0.5, C=0.3, epsilon=0.01, budget=5, budget_strategy="oldest"
    )
    for i in range(60):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert sorted(model.support_vectors_.tolist()) == sorted(X[-5:].tolist())
    kernel = np.exp(-0.5 * ((X[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2))
    scores = kernel @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(X), scores, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1), atol=1e-12)


# -- random order ----------------------------------------------------------------------------


def expected_permutation(count, seed):
    """Return the Fisher–Yates shuffle with random numbers of SplitMix64."""

    def bits():
        nonlocal seed
        seed = seed + 0x9E3779B97F4A7C15 & WORD
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
        return z ^ z >> 31

    order = list(range(count))
    for left in range(count, 1, -1):
        place = bits() * left >> 64
        order[left - 1], order[place] = order[place], order[left - 1]
    return order


@given(st.integers(0, 200), st.integers(0, WORD))
def test_permutation_depends_on_its_seed_only(count, seed):
    order = permutation(count, seed)
    assert order.dtype == np.int64 and order.tolist() == expected_permutation(count, seed)


def test_all_orders_are_equally_likely():
    orders, counts = np.unique(
        [permutation(4, seed) for seed in range(24000)], axis=0, return_counts=True
    )
    assert len(orders) == 24 and ((counts - 1000) ** 2 / 1000).sum() < 60  # 23 degrees of freedom
