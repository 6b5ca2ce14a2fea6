"""Invalid parameters are rejected before learning; the error lists the valid choices."""

import numpy as np
import pytest
from linear_support import fingerprint, make_problem

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(41)
X, y = make_problem("multiclass", 3, rng, 30, 4)

NUMBERS = {
    "C": [0, -1.0, np.nan, "1", None, True, [1.0], 1j, 10**400],
    "class_mean": [-0.1, np.nan, np.inf, "x", None],
    "queue": [0, -1, 1.5, "2", None],
    "batch_size": [0, 257, 2.5, None],
    "reservoir_size": [0, 1.5],
    "average": [-1, 1.5, None],
}
CHOICES = {
    "loss": (["log", None, 3], ["hinge", "squared_hinge", "hard", "least_squares"]),
    "multiclass": (["one", None], ["support", "top", "predicted", "ovr"]),
    "metric": (["cosine", None], ["euclidean", "diagonal", "adagrad", "newton", "full"]),
    "trigger": (["never", None], ["loss", "always"]),
    "average": (["mean"], ["reservoir"]),
}
SCHEDULE = {
    "max_iter": [0, 1.5, "5"],
    "tol": ["x", np.nan, 10**400],
    "n_iter_no_change": [0, None],
    "validation_fraction": [0.0, 1.0, -0.5],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_invalid_numbers_are_rejected(name):
    for value in NUMBERS[name]:
        fresh = PassiveAggressiveClassifier(**{name: value})
        for learn in (fresh.fit, fresh.partial_fit):
            with pytest.raises(ValueError, match=f"{name}=.*not valid"):
                learn(X, y)
            assert fingerprint(fresh) == sorted(fresh.get_params())
        model = PassiveAggressiveClassifier(C=0.7).partial_fit(X, y)
        before = fingerprint(model)
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: value}).partial_fit(X, y)
        assert fingerprint(model) == before


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_listed(name):
    bad, valid = CHOICES[name]
    for value in bad:
        model = PassiveAggressiveClassifier(**{name: value})
        with pytest.raises(ValueError, match=f"{name}=") as caught:
            model.fit(X, y)
        assert repr(value) in str(caught.value)
        assert all(repr(choice) in str(caught.value) for choice in valid)
        assert not hasattr(model, "coef_")


def test_near_names_are_offered():
    with pytest.raises(ValueError, match="Did you mean 'diagonal'"):
        PassiveAggressiveClassifier(metric="diagnal").fit(X, y)


@pytest.mark.parametrize("name", SCHEDULE)
def test_invalid_pass_parameters_are_rejected(name):
    for value in SCHEDULE[name]:
        for model in (PassiveAggressiveClassifier(), PassiveAggressiveRegressor()):
            with pytest.raises(ValueError, match=name):
                model.set_params(**{name: value}).fit(X, y)
            assert fingerprint(model) == sorted(model.get_params())


def test_invalid_regressor_parameters_are_rejected():
    for axes, words in (
        ({"C": -1}, "C=-1"),
        ({"epsilon": -0.5}, "epsilon=-0.5"),
        ({"epsilon": np.nan}, "epsilon=nan"),
        ({"loss": "hinge"}, "'epsilon_insensitive'"),
        ({"metric": "x"}, "'euclidean'"),
    ):
        with pytest.raises(ValueError, match=words):
            PassiveAggressiveRegressor(**axes).fit(X, X[:, 0])


def test_infinite_C_is_allowed():
    hard = PassiveAggressiveClassifier(loss="hard").partial_fit(X, y)
    for loss in ("hinge", "squared_hinge"):
        model = PassiveAggressiveClassifier(C=np.inf, loss=loss).partial_fit(X, y)
        assert np.array_equal(model.coef_, hard.coef_)
    squares = PassiveAggressiveClassifier(C=np.inf, loss="least_squares", multiclass="ovr")
    assert np.isfinite(squares.partial_fit(X[:3], y[:3]).coef_).all()


def test_incompatible_parameters_are_explained():
    with pytest.raises(ValueError, match=r"[Ll]east squares.*shared slack.*'ovr'"):
        PassiveAggressiveClassifier(loss="least_squares").fit(X, y)
    PassiveAggressiveClassifier(loss="least_squares", max_iter=1, tol=None).fit(X, y > 0)


@pytest.mark.parametrize(
    "change",
    [{"metric": "diagonal"}, {"queue": 3}, {"average": True}, {"fit_intercept": False},
     {"multiclass": "ovr"}, {"class_mean": 0.3}, {"metric": "full"}, {"average": "reservoir"}],
)  # fmt: skip
def test_shape_cannot_change_between_calls(change):
    """The message names the parameter; fit starts from scratch."""
    (name,) = change
    for labels in (y, (y > 0).astype(int)):
        if name == "multiclass" and labels is not y:
            continue
        model = PassiveAggressiveClassifier().partial_fit(X, labels)
        before = fingerprint(model)
        with pytest.raises(ValueError, match=f"{name} cannot change"):
            model.set_params(**change).partial_fit(X, labels)
        with pytest.raises(ValueError, match=f"{name} cannot change"):
            model.partial_fit(X[:1], [7])  # together with a new class
        assert fingerprint(model) == before
        model.set_params(max_iter=1, tol=None).fit(X, labels)
        assert model.t_ == 31


def test_full_metric_of_too_many_features_is_rejected():
    model = PassiveAggressiveClassifier(metric="full")
    with pytest.raises(MemoryError, match=r"GiB.*diagonal"):
        model.partial_fit(np.ones((2, 3_000_000), dtype=np.float32), [0, 1])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("value", ["x", None, 3, ["squared"]])
def test_invalid_criterion_is_rejected(value):
    with pytest.raises(ValueError, match=r"criterion=.*choose one of 'absolute', 'squared'"):
        PassiveAggressiveRegressor(criterion=value).fit(X, X[:, 0])
