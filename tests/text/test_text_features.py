"""``features=`` of text estimators: non-linear features of their numeric columns."""

import json
import pickle
import re

import numpy as np
import pytest

import aggro
from aggro import ModelFileError, TextClassifier, TextRegressor
from aggro.persistence import container

COLUMNS = {"note": "text", "a": "number", "b": "number", "city": "category"}
FAST = {"ngram_range": (1, 1), "idf": False, "metric": "adagrad", "average": True}
MAPPED = ["fourier", "bins", "both"]


def table(n=1500, seed=0):
    """Return rows whose class depends on a product of numbers, and that class."""
    rng = np.random.default_rng(seed)
    a, b, words = rng.uniform(-1, 1, n), 1e4 * rng.uniform(-1, 1, n), rng.integers(0, 9, (n, 3))
    cities = rng.choice(["Oslo", "Rome"], n).tolist()
    rows = [
        {"note": " ".join(f"word{k}" for k in own), "a": x, "b": y, "city": city}
        for own, x, y, city in zip(words.tolist(), a.tolist(), b.tolist(), cities, strict=True)
    ]
    return rows, np.where(a * b > 0, "yes", "no")


ROWS, Y = table()
TRAIN, TEST = slice(0, 1000), slice(1000, None)


def model(features, **options):
    return TextClassifier(columns=COLUMNS, features=features, **{**FAST, **options})


@pytest.mark.parametrize("features", MAPPED)
def test_boundaries_of_numbers_may_be_curved(features):
    curved = model(features).partial_fit(ROWS[TRAIN], Y[TRAIN]).predict(ROWS[TEST])
    straight = model("linear").partial_fit(ROWS[TRAIN], Y[TRAIN]).predict(ROWS[TEST])
    assert (curved == Y[TEST]).mean() > 0.8 > 0.65 > (straight == Y[TEST]).mean()


def test_regressors_have_them_too():
    values = np.array([row["a"] * row["b"] for row in ROWS])
    scores = [
        TextRegressor(columns=COLUMNS, features=features, **FAST)
        .fit(ROWS[TRAIN], values[TRAIN])
        .score(ROWS[TEST], values[TEST])
        for features in ("linear", "both")
    ]
    assert scores[1] > 0.6 > 0.1 > scores[0]


@pytest.mark.parametrize("features", MAPPED)
@pytest.mark.parametrize("size", [1, 70])
def test_models_do_not_depend_on_calls(features, size):
    whole, parts = model(features).partial_fit(ROWS[:300], Y[:300]), model(features)
    for start in range(0, 300, size):
        rows = slice(start, min(start + size, 300))
        parts.partial_fit(ROWS[rows], Y[rows], classes=["no", "yes"])
    found = parts.decision_function(ROWS[TEST])
    np.testing.assert_allclose(found, whole.decision_function(ROWS[TEST]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("features", MAPPED)
def test_files_and_pickles_continue(features, tmp_path):
    first = model(features, C="auto", idf="auto").partial_fit(ROWS[:500], Y[:500])
    first.save(tmp_path / "m.aggro")
    copies = [aggro.load(tmp_path / "m.aggro"), pickle.loads(pickle.dumps(first))]
    for each in (first, *copies):
        each.partial_fit(ROWS[500:900], Y[500:900]).keep_best()
    for each in copies:
        found = each.decision_function(ROWS[TEST])
        np.testing.assert_array_equal(found, first.decision_function(ROWS[TEST]))
    first.save(tmp_path / "best.aggro")
    found = aggro.load(tmp_path / "best.aggro").decision_function(ROWS[TEST])
    np.testing.assert_array_equal(found, first.decision_function(ROWS[TEST]))


def test_failed_calls_change_nothing():
    one = model("both").partial_fit(ROWS[:300], Y[:300])
    before = one.decision_function(ROWS[TEST])
    with pytest.raises(ValueError, match="must hold numbers"):
        one.partial_fit([*ROWS[300:320], {**ROWS[0], "a": "many"}], Y[300:321])
    np.testing.assert_array_equal(one.decision_function(ROWS[TEST]), before)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_numbers_have_a_place_of_their_own(missing):
    gone = np.random.default_rng(1).random(len(ROWS)) < 0.3
    rows = [{**row, "a": missing} if out else row for row, out in zip(ROWS, gone, strict=True)]
    y = np.where(gone, "yes", "no")
    assert (model("bins").partial_fit(rows[TRAIN], y[TRAIN]).predict(rows[TEST]) == y[TEST]).all()
    plain = model("linear").partial_fit(rows[TRAIN], y[TRAIN])
    zeros = [{**row, "a": 0.0} if out else row for row, out in zip(ROWS, gone, strict=True)]
    found = plain.decision_function(rows[TEST])
    np.testing.assert_array_equal(found, plain.decision_function(zeros[TEST]))


def test_explanations_name_numbers_and_categories():
    one = model("both").partial_fit(ROWS[TRAIN], Y[TRAIN])
    clear = next(row for row in ROWS if abs(row["a"]) > 0.6 and abs(row["b"]) > 6000)
    why = one.explain(clear)["yes"]
    assert {name for name, _ in why.words[:2]} == {"a", "b"}
    assert f"city={clear['city']}" in dict(why.words)
    assert why.total == pytest.approx(one.decision_function([clear])[0], abs=1e-5)


def test_invalid_features_are_rejected():
    with pytest.raises(ValueError, match="features='auto' is not valid"):
        model("auto").fit(ROWS, Y)
    with pytest.raises(ValueError, match="cannot be merged"):
        model("bins", mergeable=True).fit(ROWS, Y)


@pytest.mark.parametrize(
    ("name", "value"), [("features", "cubes"), ("seed", -1), ("numbers", 3), ("numbers", 0)]
)
def test_forged_features_are_rejected(name, value, tmp_path):
    model("both").partial_fit(ROWS[:100], Y[:100]).save(tmp_path / "m")
    text, arrays = container.read(tmp_path / "m")
    old = {"features": '"both"', "seed": r"\d+", "numbers": "2"}[name]
    forged, changes = re.subn(f'"{name}": {old}', f'"{name}": {json.dumps(value)}', text)
    assert changes
    container.write(tmp_path / "m", forged, arrays)
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "m")
