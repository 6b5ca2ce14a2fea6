"""Invalid targets and weights are rejected with their names; the model is unchanged."""

import numpy as np
import pytest
from linear_support import fingerprint, make_problem

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(43)
X, y = make_problem("multiclass", 3, rng, 40, 5)
NUMBERS = X @ np.arange(5.0)


TARGETS = {
    "too short": (y[:-1], "40 rows.*39"),
    "too long": (np.append(y, 0), "40 rows.*41"),
    "none": (None, "y"),
    "two dimensions": (np.stack([y, y, y], axis=1), "y|target|multi"),
}
LABELS = {
    "continuous": (NUMBERS, "continuous|label type"),
    "nan": (np.where(y == 1, np.nan, y), "NaN"),
}
VALUES = {
    "nan": (np.where(y == 1, np.nan, NUMBERS), "NaN"),
    "inf": (np.where(y == 1, np.inf, NUMBERS), "infinity"),
    "text": (y.astype(str).astype(object) + "x", "y must hold numbers: could not convert"),
    "row": (np.where(np.arange(40) == 7, np.nan, NUMBERS), "row 7: nan"),
    "complex": (NUMBERS + 1j, "[Cc]omplex"),
}


@pytest.mark.parametrize("name", [*TARGETS, *LABELS])
def test_invalid_labels_are_rejected(name):
    target, words = {**TARGETS, **LABELS}[name]
    model = PassiveAggressiveClassifier().partial_fit(X, y)
    before = fingerprint(model)
    for learn in (model.partial_fit, model.fit, PassiveAggressiveClassifier().fit):
        with pytest.raises(ValueError, match=words):
            learn(X, target)
    assert fingerprint(model) == before


@pytest.mark.parametrize("name", [*TARGETS, *VALUES])
def test_invalid_values_are_rejected(name):
    if name == "two dimensions":
        return
    target, words = {**TARGETS, **VALUES}[name]
    model = PassiveAggressiveRegressor().partial_fit(X, NUMBERS)
    before = fingerprint(model)
    for learn in (model.partial_fit, model.fit, PassiveAggressiveRegressor().fit):
        with pytest.raises(ValueError, match=words):
            learn(X, target)
    assert fingerprint(model) == before


WEIGHTS = {
    "nan": (np.where(y == 1, np.nan, 1.0), "NaN"),
    "inf": (np.where(y == 1, np.inf, 1.0), "infinity"),
    "negative": (np.where(np.arange(40) == 7, -2.0, 1.0), "row 7: -2.0"),
    "text": (np.array(["a"] * 40), "must hold numbers"),
    "missing": ([None] * 40, "NaN"),
    "too short": (np.ones(39), r"\(39,\).*\(40,\)"),
    "two dimensions": (np.ones((40, 2)), r"\(40, 2\).*\(40,\)"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_invalid_sample_weights_are_rejected(name):
    weights, words = WEIGHTS[name]
    for model, target in (
        (PassiveAggressiveClassifier(), y),
        (PassiveAggressiveRegressor(), NUMBERS),
    ):
        before = fingerprint(model.partial_fit(X, target))
        for learn in (model.partial_fit, model.fit):
            with pytest.raises(ValueError, match=f"sample_weight.*{words}"):
                learn(X, target, sample_weight=weights)
        assert fingerprint(model) == before


def test_fit_needs_two_classes():
    model = PassiveAggressiveClassifier()
    with pytest.raises(ValueError, match=r"1 class.*partial_fit"):
        model.fit(X, np.full(40, "ham"))
    model.partial_fit(X, np.full(40, "ham"))
    assert set(model.predict(X)) == {"ham"}


def test_invalid_class_weights_are_rejected():
    for weight, words in (
        ("even", "'even'.*'balanced'"),
        ({0: 1.0, 9: 2.0}, "9"),
        ({0: -1.0}, r"class_weight\[0\]=-1.0.*at least 0"),
        ({0: np.nan}, r"class_weight\[0\]=nan.*at least 0"),
        ({0: np.inf}, "finite"),
        ([1, 2, 3], r"\[1, 2, 3\].*dict"),
    ):
        with pytest.raises(ValueError, match=words):
            PassiveAggressiveClassifier(class_weight=weight).fit(X, y)
    model = PassiveAggressiveClassifier().partial_fit(X, y, classes=[0, 1, 2])
    before = fingerprint(model)
    model.set_params(class_weight={9: 1.0})
    with pytest.raises(ValueError, match="9"):
        model.partial_fit(X, y)
    assert fingerprint(model) == before
