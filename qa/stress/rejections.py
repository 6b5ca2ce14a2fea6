"""Calls with invalid rows, targets, weights or parameters raise and change nothing."""

import copy
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from qa.stress.model_state import differences
from qa.stress.runs import NOTHING, Difference, Run, Step, copies_for


@contextmanager
def rejected(run, what):
    """Expect an error and an unchanged model."""
    before = run.adapter.state(run.model)
    try:
        yield
    except (ValueError, TypeError) as error:
        if "incompatible function arguments" in str(error):
            raise Difference(f"{what} was rejected by the binding: {error}") from error
    else:
        raise Difference(f"{what} was accepted")
    _unchanged(run, before, f"{what}, rejected,")


def bad_value(run, rng):
    """Put NaN or infinity into one of the next rows."""
    value, i = rng.choice([np.nan, np.inf, -np.inf]), _next_row(run, rng)
    with rejected(run, f"{value} in row {i}"):
        if run.adapter.setting.is_stream:
            run.model.learn_one({**run.adapter.rows[i], "f0": value}, run.adapter.y[i])
        else:
            _learn_spoiled(run, i, value)


def _learn_spoiled(run, i, value):
    adapter, stop = run.adapter, min(i + 2, len(run.adapter.data.X))
    part = adapter.rows[run.at : stop]
    rows = np.array(part.toarray() if sp.issparse(part) else part)
    rows[i - run.at, 0] = value
    call = {"X": sp.csr_matrix(rows) if sp.issparse(part) else rows}
    if adapter.data.weights is not None:
        call["sample_weight"] = np.maximum(adapter.data.weights[run.at : stop], 0.5)
    adapter.learn(run.model, run.at, stop, **call)


def _next_row(run, rng):
    return min(run.at + int(rng.integers(4)), len(run.adapter.data.X) - 1)


def bad_target(run, rng):
    """Give an unknown label, or NaN."""
    adapter, i = run.adapter, _next_row(run, rng)
    with rejected(run, "a bad target"):
        if adapter.setting.is_stream:
            run.model.learn_one(adapter.rows[i], float("nan"))
        elif adapter.data.classes is not None:
            wrong = np.array(["nobody"]) if adapter.data.y.dtype.kind in "UO" else np.array([99])
            _learn_one(run, i, y=wrong.astype(adapter.data.y.dtype))
        else:
            _learn_one(run, i, y=adapter.data.y[i : i + 1] * np.nan)


def _learn_one(run, i, **changes):
    """Learn one row of positive weight, since targets of weight zero are not checked."""
    run.adapter.learn(run.model, i, i + 1, **changes, sample_weight=np.ones(1))


def bad_text(run, rng):
    """Give a valid document, then one that is not a text."""
    i = _next_row(run, rng)
    value = [None, 1.5, b"\xff"][rng.integers(3)]
    y = [run.adapter.data.y[i]] * 2
    with rejected(run, f"the document {value!r}"):
        run.model.partial_fit([run.adapter.rows[i], value], y)


def bad_label(run, rng):
    """Give a valid label, then a missing one or a value that is not a number."""
    i = _next_row(run, rng)
    y = np.array([run.adapter.data.y[i], None], dtype=object)
    with rejected(run, "a missing target"):
        run.model.partial_fit([run.adapter.rows[i]] * 2, y)


def bad_weight(run, rng):
    weight, i = rng.choice([-1.0, np.nan, np.inf]), _next_row(run, rng)
    with rejected(run, f"the weight {weight}"):
        if run.adapter.setting.is_stream:
            run.model.learn_one(run.adapter.rows[i], run.adapter.y[i], weight)
        else:
            run.adapter.learn(run.model, i, i + 1, sample_weight=np.array([weight]))


def bad_width(run, rng):
    """Give another number of columns, or an invalid row."""
    i = _next_row(run, rng)
    with rejected(run, "a row of another width"):
        if run.adapter.setting.is_stream:
            run.model.learn_one([1.0, 2.0], run.adapter.y[i])
        else:
            width = run.adapter.data.X.shape[1] + 1 if hasattr(run.model, "_learner") else 0
            run.adapter.learn(run.model, i, i + 1, X=np.ones((1, width)))


# Invalid values, and valid values that come with an invalid row.
INVALID = {
    "C": -1.0,
    "r": 0.0,
    "epsilon": -1.0,
    "loss": "hing",
    "multiclass": "all",
    "metric": "round",
    "queue": 0,
    "batch_size": 1000,
    "class_mean": -0.1,
    "scale": "huge",
    "features": "curved",
    "forgetting": 1.5,
    "average": "yes",
    "kernel": "none",
    "gamma": -1.0,
    "budget": -3,
    "n_jobs": "many",
    "class_weight": "heavy",
}
VALID = {
    "C": 1e-6,
    "r": 1e6,
    "epsilon": 3.0,
    "class_mean": 0.7,
    "gamma": 17.0,
    "queue": 2,
    "average": True,
    "fit_intercept": False,
    "metric": "diagonal",
    "scale": "online",
    "features": "bins",
    "batch_size": 2,
    "eta": 0.6,
    "budget": 7,
    "kernel": "linear",
}


@contextmanager
def changed_parameter(run, rng, values):
    """Set a parameter of the model, and restore it."""
    model = run.model
    own = [name for name in values if name in model.get_params()]
    name = own[rng.integers(len(own))]
    before = model.get_params()[name]
    model.set_params(**{name: values[name]})
    try:
        yield f"{name}={values[name]!r}"
    finally:
        model.set_params(**{name: before})


def bad_parameter(run, rng):
    i = _next_row(run, rng)
    before = run.adapter.state(run.model)
    with changed_parameter(run, rng, INVALID) as change, rejected(run, change):
        run.adapter.learn(run.model, i, i + 1)
    _unchanged(run, before, f"{change} set back")


def parameter_and_bad_value(run, rng):
    before = run.adapter.state(run.model)
    with changed_parameter(run, rng, VALID) as change:
        bad_value(run, rng)
    _unchanged(run, before, f"{change} with a rejected row, set back,")


def _unchanged(run, before, what):
    changed = differences(before, run.adapter.state(run.model))
    if changed:
        raise Difference("\n  ".join([f"{what} changed the model:", *changed[:5]]))


def other_parameter(run, rng):
    """Continue a copy with another parameter: it raises, or gives a consistent model."""
    other = Run(run.adapter)
    other.model, other.at = copy.deepcopy(run.model), run.at
    names = [name for name in VALID if name in run.model.get_params()]
    name = names[rng.integers(len(names))]
    other.model.set_params(**{name: VALID[name]})
    before, stop = run.adapter.state(other.model), min(run.at + 3, len(run.adapter.data.X))
    change = f"{name}={VALID[name]!r}"
    try:
        other.perform(Step(stop, NOTHING, 0))
    except ValueError:
        _unchanged(other, before, f"{change}, rejected,")
        return
    if not hasattr(other.model, "_learner"):  # no row of positive weight
        return
    scores = run.adapter.scores(other.model)
    for copier in copies_for(run.adapter.setting):
        copier(other, rng)
        if not np.array_equal(scores, run.adapter.scores(other.model), equal_nan=True):
            raise Difference(f"{change} in mid-stream: {copier.__name__} gives another model")


def bad_fit(run, rng):
    """Call ``fit`` with invalid input, from scratch or continuing the model."""
    adapter, warm = run.adapter, bool(rng.integers(2)) and run.adapter.setting.has("warm_start")
    keep = run.model.get_params()
    rows = np.array(adapter.data.X, dtype=adapter.data.dtype)
    rows[rng.integers(len(rows)), -1] = np.nan
    before = run.adapter.state(run.model)
    run.model.set_params(max_iter=2, tol=None, **({"warm_start": True} if warm else {}))
    with rejected(run, f"fit with NaN, {warm=}"):
        run.model.fit(rows, adapter.data.y)
    run.model.set_params(**{name: keep[name] for name in ("max_iter", "tol")})
    if warm:
        run.model.set_params(warm_start=keep["warm_start"])
    _unchanged(run, before, "a rejected fit")
