"""warm_start continues compatible models and rejects others; failures change nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from closeness import assert_close
from estimator_support import CLASSES, LABELS, ROWS, VALUES, knowledge
from sklearn.exceptions import ConvergenceWarning

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.passes import Passes

KINDS = [
    (PassiveAggressiveClassifier, CLASSES, {}),
    (PassiveAggressiveClassifier, LABELS, {"average": True}),
    (PassiveAggressiveClassifier, CLASSES, {"class_mean": 0.2, "average": "reservoir"}),
    (PassiveAggressiveClassifier, CLASSES, {"C": "auto"}),
    (PassiveAggressiveClassifier, CLASSES, {"metric": "full", "probability": True}),
    (PassiveAggressiveRegressor, VALUES, {"scale": "standard"}),
    (PassiveAggressiveRegressor, VALUES, {"C": "auto", "average": "auto"}),
    (aggro.AROWClassifier, CLASSES, {}),
    (aggro.AROWRegressor, np.column_stack([VALUES, -VALUES]), {}),
]


def warm(cls, y, axes, **more):
    model = cls(warm_start=True, max_iter=2, tol=None, random_state=0, **axes, **more)
    return model.fit(ROWS, y)


class Stop(BaseException):
    """Like Ctrl-C, not an Exception."""


@pytest.mark.parametrize(("cls", "y", "axes"), KINDS)
def test_failed_fit_changes_nothing(cls, y, axes, monkeypatch):
    """By an invalid row, a warning as error, or an interrupt in any pass."""
    model = warm(cls, y, axes)
    other = warm(cls, y, axes)
    before, params = knowledge(model), model.get_params()
    bad = ROWS.copy()
    bad[77, 1] = np.inf
    smaller_C = {"C": 0.001} if params.get("C", "auto") != "auto" else {}
    for change, rows, error in (
        (smaller_C, bad, ValueError),
        ({"early_stopping": True, **smaller_C}, bad, ValueError),
        ({"tol": 1e-9, "max_iter": 3, **smaller_C}, ROWS, ConvergenceWarning),
    ):
        model.set_params(**change)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            with pytest.raises(error):
                model.fit(rows, y)
        assert knowledge(model.set_params(**params)) == before
    for last in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(Passes, "_report", _stop_at(last))
            with pytest.raises(Stop):
                model.set_params(**smaller_C).fit(ROWS, y)
        assert knowledge(model.set_params(**params)) == before
    assert knowledge(model.fit(ROWS, y)) == knowledge(other.fit(ROWS, y))


def _stop_at(last):
    def report(self, epoch, *_):
        if epoch == last:
            raise Stop

    return report


@pytest.mark.parametrize(("cls", "y", "axes"), KINDS)
def test_a_failed_first_fit_leaves_nothing(cls, y, axes):
    model = cls(**axes, warm_start=True)
    bad = np.full_like(ROWS, np.nan)
    with pytest.raises(ValueError, match="row"):
        model.fit(bad, y)
    assert vars(model) == model.get_params()


def test_other_classes_are_rejected():
    model = warm(PassiveAggressiveClassifier, CLASSES, {})
    before = knowledge(model)
    for y, words in (
        (CLASSES + 1, r"classes 0, 1, 2, but y has the classes 1, 2, 3\. Give"),
        (np.array(["a", "b", "c"])[CLASSES], "'a', 'b', 'c'"),
        (CLASSES > 0, "False, True"),
        (LABELS, "2 labels per row"),
    ):
        with pytest.raises(ValueError, match=f"warm_start.*{words}"):
            model.fit(ROWS, y)
        assert knowledge(model) == before
    two = warm(PassiveAggressiveClassifier, CLASSES > 0, {})
    with pytest.raises(ValueError, match=r"warm_start.*'no', 'yes'"):
        two.fit(ROWS, np.where(CLASSES > 0, "yes", "no"))
    labels = warm(PassiveAggressiveClassifier, LABELS, {})
    with pytest.raises(ValueError, match=r"warm_start.*2 labels per row.*4 labels per row"):
        labels.fit(ROWS, np.column_stack([LABELS, LABELS]))


def test_another_number_of_targets_is_rejected():
    both = np.column_stack([VALUES, -VALUES])
    for first, second in ((VALUES, both), (both, VALUES)):
        model = warm(PassiveAggressiveRegressor, first, {})
        before = knowledge(model)
        with pytest.raises(ValueError, match=r"columns.*warm_start=False"):
            model.fit(ROWS, second)
        assert knowledge(model) == before
        assert model.set_params(warm_start=False).fit(ROWS, second).predict(ROWS).shape == (
            second.shape
        )


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_other_features_are_rejected(cls):
    table = pd.DataFrame(ROWS, columns=list("abcd"))
    model = cls(warm_start=True, random_state=0).fit(table, CLASSES)
    before = knowledge(model)
    for strange, words in ((table[["b", "a", "c", "d"]], "feature names"), (table[["a"]], "names")):
        with pytest.raises(ValueError, match=words):
            model.fit(strange, CLASSES)
        assert knowledge(model) == before
    model = cls(warm_start=True, random_state=0).fit(ROWS, CLASSES)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        model.fit(ROWS[:, :3], CLASSES)


def test_copies_continue_exactly():
    """Two warm fits equal the passes of one."""
    for axes in (
        {"average": False},
        {"queue": 3, "average": 50},
        {"metric": "diagonal", "average": "reservoir"},
    ):
        common = {"shuffle": False, "tol": None, "random_state": 0, **axes}
        twice = PassiveAggressiveClassifier(warm_start=True, max_iter=2, **common)
        twice.fit(ROWS, CLASSES).fit(ROWS, CLASSES)
        once = PassiveAggressiveClassifier(max_iter=4, **common).fit(ROWS, CLASSES)
        assert np.array_equal(twice.coef_, once.coef_)
        assert (twice.t_, twice.n_updates_) == (once.t_, once.n_updates_)


def test_initial_weights_of_a_warm_start():
    """They replace the learned weights; rejected ones change nothing."""
    model = warm(PassiveAggressiveClassifier, CLASSES, {"average": True})
    before = knowledge(model)
    with pytest.raises(ValueError, match="coef_init"):
        model.fit(ROWS, CLASSES, coef_init=np.zeros((2, 2)))
    assert knowledge(model) == before
    start = {"coef_init": np.ones((3, 4)), "intercept_init": np.zeros(3)}
    fresh = PassiveAggressiveClassifier(average=True, max_iter=2, tol=None, random_state=0)
    model.fit(ROWS, CLASSES, **start)
    fresh.fit(ROWS, CLASSES, **start)
    assert_close(model.coef_, fresh.coef_, rtol=1e-12)
