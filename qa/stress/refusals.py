"""Rows, answers, weights and parameters that are refused, and must leave the model as it was."""

import copy
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from qa.stress.anatomy import differences
from qa.stress.runs import COPIES, Difference, Run, by_file


@contextmanager
def refused(run, what):
    """Expect an error, and a model that is exactly as it was."""
    before = run.face.anatomy(run.model)
    try:
        yield
    except (ValueError, TypeError) as error:
        if "incompatible function arguments" in str(error):
            raise Difference(f"{what} was refused by the binding: {error}") from error
    else:
        raise Difference(f"{what} was accepted")
    changed = differences(before, run.face.anatomy(run.model))
    if changed:
        raise Difference("\n  ".join([f"{what} was refused, but changed the model:", *changed[:5]]))


def bad_value(run, rng):
    """NaN or infinity in one of the next rows, or in a row that does not count."""
    value, i = rng.choice([np.nan, np.inf, -np.inf]), _next_row(run, rng)
    with refused(run, f"{value} in row {i}"):
        if run.face.setting.is_stream:
            run.model.learn_one({**run.face.rows[i], "f0": value}, run.face.y[i])
        else:
            _learn_spoiled(run, i, value)


def _learn_spoiled(run, i, value):
    face, stop = run.face, min(i + 2, len(run.face.data.X))
    part = face.rows[run.at : stop]
    rows = np.array(part.toarray() if sp.issparse(part) else part)
    rows[i - run.at, 0] = value
    call = {"X": sp.csr_matrix(rows) if sp.issparse(part) else rows}
    if face.data.weights is not None:
        call["sample_weight"] = np.maximum(face.data.weights[run.at : stop], 0.5)
    face.learn(run.model, run.at, stop, **call)


def _next_row(run, rng):
    return min(run.at + int(rng.integers(4)), len(run.face.data.X) - 1)


def bad_answer(run, rng):
    """An answer that is none."""
    face, i = run.face, _next_row(run, rng)
    with refused(run, "an answer that is none"):
        if face.setting.is_stream:
            run.model.learn_one(face.rows[i], float("nan"))
        elif face.data.classes is not None:
            wrong = np.array(["nobody"]) if face.data.y.dtype.kind in "UO" else np.array([99])
            _learn_one(run, i, y=wrong.astype(face.data.y.dtype))
        else:
            _learn_one(run, i, y=face.data.y[i : i + 1] * np.nan)


def _learn_one(run, i, **changes):
    """One row that counts: of others, any answer is accepted."""
    run.face.learn(run.model, i, i + 1, **changes, sample_weight=np.ones(1))


def bad_weight(run, rng):
    weight, i = rng.choice([-1.0, np.nan, np.inf]), _next_row(run, rng)
    with refused(run, f"the weight {weight}"):
        if run.face.setting.is_stream:
            run.model.learn_one(run.face.rows[i], run.face.y[i], weight)
        else:
            run.face.learn(run.model, i, i + 1, sample_weight=np.array([weight]))


def bad_width(run, rng):
    """Another number of columns than before, or something that is no row."""
    i = _next_row(run, rng)
    with refused(run, "a row of another width"):
        if run.face.setting.is_stream:
            run.model.learn_one([1.0, 2.0], run.face.y[i])
        else:
            width = run.face.data.X.shape[1] + 1 if hasattr(run.model, "_learner") else 0
            run.face.learn(run.model, i, i + 1, X=np.ones((1, width)))


# What cannot be, and what could be but comes with a row that cannot.
IMPOSSIBLE = {
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
    "forgetting": 1.5,
    "average": "yes",
    "kernel": "none",
    "gamma": -1.0,
    "budget": -3,
}
POSSIBLE = {
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
    "batch_size": 2,
    "eta": 0.6,
    "budget": 7,
    "kernel": "linear",
}


@contextmanager
def changed_parameter(run, rng, values):
    """Set a parameter of the model, and set it back."""
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
    before = run.face.anatomy(run.model)
    with changed_parameter(run, rng, IMPOSSIBLE) as told, refused(run, told):
        run.face.learn(run.model, i, i + 1)
    _unchanged(run, before, f"{told} set back")


def parameter_and_bad_value(run, rng):
    before = run.face.anatomy(run.model)
    with changed_parameter(run, rng, POSSIBLE) as told:
        bad_value(run, rng)
    _unchanged(run, before, f"{told} with a refused row, set back,")


def _unchanged(run, before, what):
    changed = differences(before, run.face.anatomy(run.model))
    if changed:
        raise Difference("\n  ".join([f"{what} changed the model:", *changed[:5]]))


def other_parameter(run, rng):
    """A copy goes on with another parameter: refused, or a model like any other."""
    other = Run(run.face)
    other.model, other.at = copy.deepcopy(run.model), run.at
    names = [name for name in POSSIBLE if name in run.model.get_params()]
    name = names[rng.integers(len(names))]
    other.model.set_params(**{name: POSSIBLE[name]})
    before, stop = run.face.anatomy(other.model), min(run.at + 3, len(run.face.data.X))
    try:
        other.learn(stop)
    except ValueError:
        _unchanged(other, before, f"{name}={POSSIBLE[name]!r}, refused,")
        return
    if not hasattr(other.model, "_learner"):  # no row had a weight
        return
    scores = run.face.scores(other.model)
    for duplicate in COPIES:
        if duplicate is by_file and callable(run.face.setting.params.get("kernel")):
            continue
        duplicate(other, rng)
        if not np.array_equal(scores, run.face.scores(other.model), equal_nan=True):
            told = f"{name}={POSSIBLE[name]!r} in the midst: {duplicate.__name__}"
            raise Difference(f"{told} gives another model")


def bad_fit(run, rng):
    """A whole ``fit`` that is refused, beginning anew or going on."""
    face, warm = run.face, bool(rng.integers(2)) and "warm_start" in run.model.get_params()
    keep = run.model.get_params()
    rows = np.array(face.data.X, dtype=face.data.dtype)
    rows[rng.integers(len(rows)), -1] = np.nan
    before = run.face.anatomy(run.model)
    run.model.set_params(max_iter=2, tol=None, **({"warm_start": True} if warm else {}))
    with refused(run, f"fit with NaN, {warm=}"):
        run.model.fit(rows, face.data.y)
    run.model.set_params(**{name: keep[name] for name in ("max_iter", "tol")})
    if warm:
        run.model.set_params(warm_start=keep["warm_start"])
    _unchanged(run, before, "a refused fit")
