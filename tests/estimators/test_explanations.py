"""``explain``: the contributions of columns to a prediction, of linear and other models."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.inspection import permutation_importance

import aggro
from aggro import AutoClassifier, AutoRegressor, PassiveAggressiveClassifier

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (3000, 4)) * [1, 1000, 1, 1]
PRODUCT = X[:, 0] * X[:, 1] > 0  # of the first two columns
KINDS = ["linear", "fourier", "bins", "both", "auto"]


def labels(classes):
    score = X[:, 0] + X[:, 1] / 1000
    return np.array(["no", "yes", "maybe"])[np.digitize(score, [0.0, 0.7][: classes - 1])]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
def test_contributions_to_linear_scores_are_values_times_weights(store, classes):
    model = PassiveAggressiveClassifier(scale="standard").fit(X, labels(classes))
    reasons = model.explain(store(X)[:1])
    assert set(reasons) == set(model.classes_)
    coef, scores = model.coef_, model.decision_function(X[:1])
    if classes == 2:
        coef, scores = np.vstack([-coef, coef]), np.array([[-scores[0], scores[0]]])
    for k, label in enumerate(model.classes_):
        found = dict(reasons[label].words)
        expected = {f"x{j}": coef[k, j] * X[0, j] for j in range(4)}
        assert found == pytest.approx(expected)
        assert reasons[label].total == pytest.approx(scores[0, k])


@pytest.mark.parametrize("features", KINDS)
def test_contributions_are_differences_from_the_mean_over_other_values(features):
    model = AutoClassifier(features=features, random_state=0).fit(X, PRODUCT)
    if model.best_params_.get("features", features) == "linear":
        return
    clear = np.abs(X[:, :2] / [1, 1000]).min(axis=1) > 0.5
    for row in X[clear][:5]:
        why = model.explain(row)[True]
        assert why.total == pytest.approx(model.decision_function(row[None])[0])
        assert {name for name, _ in why.words[:2]} == {"x0", "x1"}
        changed = np.repeat(row[None], len(X), axis=0)
        changed[:, 1] = X[:, 1]
        expected = why.total - model.decision_function(changed).mean()
        assert dict(why.words)["x1"] == pytest.approx(expected, abs=0.25 * abs(why.total))


@pytest.mark.parametrize("features", KINDS)
def test_permutation_importance_finds_the_columns(features):
    model = AutoRegressor(features=features, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1] / 1000)
    found = permutation_importance(model, X, X[:, 1], n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 1


def test_names_are_those_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["width", "price", "age", "size"])
    model = AutoClassifier(features="bins", random_state=0).fit(frame, PRODUCT)
    for row in (frame.iloc[3], frame.iloc[3:4]):
        assert {name for name, _ in model.explain(row)[True].words[:2]} == {"width", "price"}


@pytest.mark.parametrize("features", ["linear", "both"])
def test_columns_of_a_category_are_one(features):
    pandas = pytest.importorskip("pandas")
    city = RNG.choice(["Bern", "Oslo", "Rome"], len(X))
    dummies = {f"city={each}": (city == each).astype(float) for each in ("Bern", "Oslo", "Rome")}
    frame = pandas.DataFrame({"width": X[:, 0], **dummies})
    model = AutoClassifier(features=features, random_state=0)
    model.fit(frame, X[:, 0] + (city == "Oslo") + (city == "Rome") * 2 > 1)
    for row in range(5):
        names = [name for name, _ in model.explain(frame.iloc[row])[True].words]
        assert set(names) == {"width", f"city={city[row]}"} and len(names) == 2


def test_regressors_have_an_explanation_for_each_target():
    model = AutoRegressor(random_state=0).fit(X, X[:, 2])
    assert list(model.explain(X[0])) == [None]
    model = aggro.PassiveAggressiveRegressor(scale="standard").fit(X, X[:, [2, 3]])
    reasons = model.explain(X[0])
    assert [reasons[k].words[0][0] for k in (0, 1)] == ["x2", "x3"]


def test_regressors_print_the_score_without_a_class():
    found = AutoRegressor(random_state=0).fit(X, PRODUCT * 1.0).explain(X[0])[None]
    assert str(found).startswith(f"score: {found.total:+.3g}\n")


def test_columns_that_count_as_zero_contribute_nothing():
    rows = np.column_stack([X, np.arange(len(X))])
    with pytest.warns(UserWarning, match="only rises"):
        model = AutoClassifier(random_state=0, features="auto").partial_fit(rows, PRODUCT)
    assert "x4" not in dict(model.explain(rows[5])[True].words)


def test_one_row_is_explained():
    model = AutoClassifier(random_state=0).fit(X, PRODUCT)
    with pytest.raises(ValueError, match=r"x has shape \(2, 4\); give one row"):
        model.explain(X[:2])
    with pytest.raises(ValueError, match=r"x has shape \(2, 4\); give one row"):
        model.explain(X[:2].tolist())
    assert model.explain(X[:1].tolist()) == model.explain(X[0].tolist()) == model.explain(X[0])
    with pytest.raises(ValueError, match="features"):
        model.explain(X[0, :3])


@pytest.mark.parametrize("features", ["linear", "bins"])
@pytest.mark.parametrize("row", [None, "text", {}, 3.0, [[["text"]]], [0.0, np.nan, 0.0, 0.0]])
def test_invalid_rows_raise(features, row):
    model = AutoClassifier(features=features, random_state=0).fit(X[:200], PRODUCT[:200])
    with pytest.raises(ValueError, match=r"give one row|NaN"):
        model.explain(row)


def test_row_in_a_list_of_one_row_is_explained():
    model = PassiveAggressiveClassifier().fit(X, PRODUCT)
    assert model.explain(X[:1].tolist()) == model.explain(X[0])
