"""Bad input in a race: the same errors, rows and messages as for one model; nothing is changed."""

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

OPEN = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}
RACES = [{"C": "auto"}, OPEN, {"metric": "auto"}, {"C": "auto", "batch_size": 4}]
KINDS = {PassiveAggressiveClassifier: y, PassiveAggressiveRegressor: NUMBERS}


def print_of(model):
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


def said(learn, *given, **named):
    with pytest.raises((ValueError, TypeError)) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learn(*given, **named)
    return type(caught.value), str(caught.value)


def refused_alike(kind, axes, given, *, target=None, weights=None):
    """A race and one model refuse the same in the same words, learned from or not."""
    target = KINDS[kind] if target is None else target
    axes = {**axes, "random_state": 0}  # fit meets the rows in another order
    batch = {name: axes[name] for name in ("batch_size", "random_state") if name in axes}
    for learned in (0, 3, 40):
        race, alone = kind(**axes), kind(**batch)
        if learned:
            race.partial_fit(X[:learned], KINDS[kind][:learned])
            alone.partial_fit(X[:learned], KINDS[kind][:learned])
        before = print_of(race)
        for name in ("partial_fit", "fit"):
            words = [
                said(getattr(model, name), given, target, sample_weight=weights)
                for model in (race, alone)
            ]
            assert words[0] == words[1]
            assert print_of(race) == before
        if learned and given is not X and not isinstance(given, list):
            assert said(race.predict, given) == said(alone.predict, given)


@pytest.mark.parametrize("axes", RACES, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, axes):
    rows = ROWS[name][0]
    for kind, targets in KINDS.items():
        if "features" in name:
            race, alone = (kind(**a).partial_fit(X, targets) for a in (axes, {}))
            assert said(race.partial_fit, rows, targets) == said(alone.partial_fit, rows, targets)
        else:
            refused_alike(kind, axes, rows, target=targets[: np.shape(rows)[0]])


@pytest.mark.parametrize("name", [*TARGETS, *LABELS])
def test_labels(name):
    target = {**TARGETS, **LABELS}[name][0]
    if target is not None:
        refused_alike(PassiveAggressiveClassifier, OPEN, X, target=target)


@pytest.mark.parametrize("name", ["too short", "too long", *VALUES])
def test_values(name):
    target = {**TARGETS, **VALUES}[name][0]
    refused_alike(PassiveAggressiveRegressor, OPEN, X, target=target)


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name):
    for kind in KINDS:
        refused_alike(kind, OPEN, X, weights=WEIGHTS[name][0])


@pytest.mark.parametrize("kind", KINDS)
def test_no_weight_at_all(kind):
    begun = {} if kind is PassiveAggressiveRegressor else {"classes": np.unique(y)}
    for axes in RACES:
        assert said(kind(**axes).fit, X, KINDS[kind], sample_weight=0.0) == said(
            kind().fit, X, KINDS[kind], sample_weight=0.0
        )
        race, alone = (
            kind(**a).partial_fit(X, KINDS[kind], sample_weight=0.0, **begun) for a in (axes, {})
        )
        assert np.array_equal(race.predict(X), alone.predict(X))
        assert np.array_equal(race.coef_, alone.coef_) and race.t_ == alone.t_ == 1
        assert (race.n_mistakes_, race.n_updates_, race.cumulative_loss_) == (0, 0, 0.0)
        assert said(race.predict, put(np.nan)) == said(alone.predict, put(np.nan))
        bad = put(np.nan)
        assert said(race.partial_fit, bad, KINDS[kind]) == said(alone.partial_fit, bad, KINDS[kind])
        with pytest.raises(ValueError, match="before the first example"):
            _ = race.C_
        twin = pickle.loads(pickle.dumps(race))
        for one in (race, twin):
            one.partial_fit(X, KINDS[kind])
        assert print_of(race) == print_of(twin)


@pytest.mark.parametrize("name", [*PARAMETERS, *CHOICES])
def test_parameters(name):
    values = PARAMETERS.get(name, []) + (CHOICES[name][0] if name in CHOICES else [])
    for value in values:
        fresh = PassiveAggressiveClassifier(**{**OPEN, name: value})
        alone = PassiveAggressiveClassifier(**{name: value})
        for learn in ("fit", "partial_fit"):
            assert said(getattr(fresh, learn), X, y) == said(getattr(alone, learn), X, y)
        assert print_of(fresh) == sorted(fresh.get_params())
        model = PassiveAggressiveClassifier(**OPEN).partial_fit(X, y)
        learner = pickle.dumps(model._learner)
        said(model.set_params(**{name: value}).partial_fit, X, y)
        assert pickle.dumps(model._learner) == learner


def test_a_bad_row_after_many_checkpoints():
    rows = np.tile(X, (30, 1))
    rows[1111, 2] = np.inf
    for kind, targets in KINDS.items():
        race = kind(**OPEN).partial_fit(X, targets)
        before = print_of(race)
        with pytest.raises(ValueError, match="row 1111: feature 2 is inf"):
            race.partial_fit(rows, np.tile(targets, 30))
        assert print_of(race) == before


@pytest.mark.parametrize("name", ["partial_fit", "fit"])
@pytest.mark.parametrize("place", [0, 700, 1500])
def test_a_weight_that_overflows_in_the_middle_of_a_long_call(place, name):
    """Later rows, and the models that a halving leaves, have nothing to do with its feature."""
    rows = 2000
    columns = np.arange(rows) % 2999 + 1
    columns[[place, place + 1]] = 0
    given = csr_matrix((np.ones(rows, np.float32), columns, np.arange(rows + 1)), (rows, 3000))
    target = np.ones(rows)
    target[[place, place + 1]] = 3.3e38, 3.5e38  # 3.4e38 is the largest in single precision
    axes = {"loss": "hard", "metric": "auto", "fit_intercept": False, "shuffle": False}
    race = PassiveAggressiveRegressor(**axes)
    race.partial_fit(given[:0:-40][:20], target[:20] * 0 + 1)
    before = print_of(race)
    with pytest.raises(ValueError, match="makes the model overflow"):
        getattr(race, name)(given, target)
    assert print_of(race) == before
