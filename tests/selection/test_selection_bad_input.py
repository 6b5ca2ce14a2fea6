"""Bad input during model selection raises the errors of a single model and changes nothing."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from test_bad_input import NUMBERS, ROWS, X, put, y
from test_bad_parameters import CHOICES
from test_bad_parameters import NUMBERS as PARAMETERS
from test_bad_targets import LABELS, TARGETS, VALUES, WEIGHTS

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

ALL_AUTO = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}
SELECTIONS = [{"C": "auto"}, ALL_AUTO, {"metric": "auto"}, {"C": "auto", "batch_size": 4}]
KINDS = {PassiveAggressiveClassifier: y, PassiveAggressiveRegressor: NUMBERS}


def snapshot_of(model):
    """Return the state of an estimator with model selection, byte for byte."""
    attributes = {k: v for k, v in vars(model).items() if k != "_fitted"}
    if len(attributes) == len(vars(model)):
        return sorted(attributes)
    selection = model._fitted.learner
    learners = [
        (each.all_settings, {k: v.tobytes() for k, v in each.state().items()})
        for each in selection.learners
    ]
    facts = {k: v for k, v in vars(selection).items() if k != "learners"}
    fitted = {k: v for k, v in vars(model._fitted).items() if k != "learner"}
    return learners, selection.mistakes, repr(facts), repr(fitted), repr(sorted(attributes.items()))


def error_of(learn, *given, **named):
    with pytest.raises((ValueError, TypeError)) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learn(*given, **named)
    return type(caught.value), str(caught.value)


def assert_same_errors(kind, axes, given, *, target=None, weights=None):
    """Assert that a model selection and a single model raise the same error, fitted or not."""
    target = KINDS[kind] if target is None else target
    axes = {**axes, "random_state": 0}  # fit meets the rows in another order
    batch = {name: axes[name] for name in ("batch_size", "random_state") if name in axes}
    for learned in (0, 3, 40):
        selecting, alone = kind(**axes), kind(**batch)
        if learned:
            selecting.partial_fit(X[:learned], KINDS[kind][:learned])
            alone.partial_fit(X[:learned], KINDS[kind][:learned])
        before = snapshot_of(selecting)
        for name in ("partial_fit", "fit"):
            errors = [
                error_of(getattr(model, name), given, target, sample_weight=weights)
                for model in (selecting, alone)
            ]
            assert errors[0] == errors[1]
            assert snapshot_of(selecting) == before
        if learned and given is not X and not isinstance(given, list):
            assert error_of(selecting.predict, given) == error_of(alone.predict, given)


@pytest.mark.parametrize("axes", SELECTIONS, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_bad_rows_raise_the_same_error(name, axes):
    rows = ROWS[name][0]
    for kind, targets in KINDS.items():
        if "features" in name:
            selecting, alone = (kind(**a).partial_fit(X, targets) for a in (axes, {}))
            assert error_of(selecting.partial_fit, rows, targets) == error_of(
                alone.partial_fit, rows, targets
            )
        else:
            assert_same_errors(kind, axes, rows, target=targets[: np.shape(rows)[0]])


@pytest.mark.parametrize("name", [*TARGETS, *LABELS])
def test_bad_labels_raise_the_same_error(name):
    target = {**TARGETS, **LABELS}[name][0]
    if target is not None:
        assert_same_errors(PassiveAggressiveClassifier, ALL_AUTO, X, target=target)


@pytest.mark.parametrize("name", ["too short", "too long", *VALUES])
def test_bad_targets_raise_the_same_error(name):
    target = {**TARGETS, **VALUES}[name][0]
    assert_same_errors(PassiveAggressiveRegressor, ALL_AUTO, X, target=target)


@pytest.mark.parametrize("name", WEIGHTS)
def test_bad_weights_raise_the_same_error(name):
    for kind in KINDS:
        assert_same_errors(kind, ALL_AUTO, X, weights=WEIGHTS[name][0])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_zero_alone_leave_a_selection_without_candidates(kind):
    classes = {} if kind is PassiveAggressiveRegressor else {"classes": np.unique(y)}
    for axes in SELECTIONS:
        assert error_of(kind(**axes).fit, X, KINDS[kind], sample_weight=0.0) == error_of(
            kind().fit, X, KINDS[kind], sample_weight=0.0
        )
        selecting, alone = (
            kind(**a).partial_fit(X, KINDS[kind], sample_weight=0.0, **classes) for a in (axes, {})
        )
        assert np.array_equal(selecting.predict(X), alone.predict(X))
        assert np.array_equal(selecting.coef_, alone.coef_) and selecting.t_ == alone.t_ == 1
        assert (selecting.n_mistakes_, selecting.n_updates_, selecting.cumulative_loss_) == (
            0,
            0,
            0.0,
        )
        assert error_of(selecting.predict, put(np.nan)) == error_of(alone.predict, put(np.nan))
        bad = put(np.nan)
        assert error_of(selecting.partial_fit, bad, KINDS[kind]) == error_of(
            alone.partial_fit, bad, KINDS[kind]
        )
        with pytest.raises(ValueError, match="before the first example"):
            _ = selecting.C_
        copy = pickle.loads(pickle.dumps(selecting))
        for one in (selecting, copy):
            one.partial_fit(X, KINDS[kind])
        assert snapshot_of(selecting) == snapshot_of(copy)


@pytest.mark.parametrize("name", [*PARAMETERS, *CHOICES])
def test_bad_parameters_raise_the_same_error(name):
    values = PARAMETERS.get(name, []) + (CHOICES[name][0] if name in CHOICES else [])
    for value in values:
        fresh = PassiveAggressiveClassifier(**{**ALL_AUTO, name: value})
        alone = PassiveAggressiveClassifier(**{name: value})
        for learn in ("fit", "partial_fit"):
            assert error_of(getattr(fresh, learn), X, y) == error_of(getattr(alone, learn), X, y)
        assert snapshot_of(fresh) == sorted(fresh.get_params())
        model = PassiveAggressiveClassifier(**ALL_AUTO).partial_fit(X, y)
        learner = pickle.dumps(model._learner)
        error_of(model.set_params(**{name: value}).partial_fit, X, y)
        assert pickle.dumps(model._learner) == learner


def test_a_bad_row_after_many_checkpoints_changes_nothing():
    rows = np.tile(X, (30, 1))
    rows[1111, 2] = np.inf
    for kind, targets in KINDS.items():
        selecting = kind(**ALL_AUTO).partial_fit(X, targets)
        before = snapshot_of(selecting)
        with pytest.raises(ValueError, match="row 1111: feature 2 is inf"):
            selecting.partial_fit(rows, np.tile(targets, 30))
        assert snapshot_of(selecting) == before


@pytest.mark.parametrize("name", ["partial_fit", "fit"])
@pytest.mark.parametrize("place", [0, 700, 1500])
def test_an_overflow_in_the_middle_of_a_long_call_changes_nothing(place, name):
    """Neither later rows nor removed candidates touch the feature that overflows."""
    rows = 2000
    columns = np.arange(rows) % 2999 + 1
    columns[[place, place + 1]] = 0
    given = csr_matrix((np.ones(rows, np.float32), columns, np.arange(rows + 1)), (rows, 3000))
    target = np.ones(rows)
    target[[place, place + 1]] = 3.3e38, 3.5e38  # 3.4e38 is the largest in single precision
    axes = {"loss": "hard", "metric": "auto", "fit_intercept": False, "shuffle": False}
    selecting = PassiveAggressiveRegressor(**axes)
    selecting.partial_fit(given[:0:-40][:20], target[:20] * 0 + 1)
    before = snapshot_of(selecting)
    with pytest.raises(ValueError, match="makes the model overflow"):
        getattr(selecting, name)(given, target)
    assert snapshot_of(selecting) == before
