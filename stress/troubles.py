"""What may happen to a model between two calls, or during one, and must leave no trace."""

import copy
import pickle
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import aggro
from stress.anatomy import anatomy, differences


class Difference(AssertionError):
    """Something is not as it must be."""


class Run:
    """A model on its way through the rows."""

    def __init__(self, face):
        self.face, self.model, self.at = face, face.setting.make(), 0

    def learn(self, stop):
        self.face.learn(self.model, self.at, stop)
        self.at = stop


# -- copies ----------------------------------------------------------------------------------


def by_pickle(run, rng):
    run.model = pickle.loads(pickle.dumps(run.model))


def by_deepcopy(run, rng):
    old, run.model = run.model, copy.deepcopy(run.model)
    if run.at:  # what the old one learns is no business of the new one
        run.face.learn(old, 0, min(run.at, 3))


def by_file(run, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.aggro"
        aggro.save(run.model, path)
        run.model = aggro.load(path)


# -- refusals --------------------------------------------------------------------------------


@contextmanager
def refused(run, what):
    """Expect an error, and a model that is exactly as it was."""
    before = anatomy(run.model)
    try:
        yield
    except (ValueError, TypeError):
        pass
    else:
        raise Difference(f"{what} was accepted")
    changed = differences(before, anatomy(run.model))
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
            face.learn(run.model, i, i + 1, y=wrong.astype(face.data.y.dtype))
        else:
            face.learn(run.model, i, i + 1, y=face.data.y[i : i + 1] * np.nan)


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
            width = run.face.data.X.shape[1] + 1 if run.at else 0
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
    before = anatomy(run.model)
    with changed_parameter(run, rng, IMPOSSIBLE) as told:
        with refused(run, told):
            run.face.learn(run.model, i, i + 1)
    _unchanged(run, before, f"{told} set back")


def parameter_and_bad_value(run, rng):
    before = anatomy(run.model)
    with changed_parameter(run, rng, POSSIBLE) as told:
        bad_value(run, rng)
    _unchanged(run, before, f"{told} with a refused row, set back,")


def _unchanged(run, before, what):
    changed = differences(before, anatomy(run.model))
    if changed:
        raise Difference("\n  ".join([f"{what} changed the model:", *changed[:5]]))


def bad_fit(run, rng):
    """A whole ``fit`` that is refused, beginning anew or going on."""
    face, warm = run.face, bool(rng.integers(2)) and "warm_start" in run.model.get_params()
    keep = run.model.get_params()
    rows = np.array(face.data.X, dtype=face.data.dtype)
    rows[rng.integers(len(rows)), -1] = np.nan
    before = anatomy(run.model)
    run.model.set_params(max_iter=2, tol=None, **({"warm_start": True} if warm else {}))
    with refused(run, f"fit with NaN, {warm=}"):
        run.model.fit(rows, face.data.y)
    run.model.set_params(**{name: keep[name] for name in ("max_iter", "tol")})
    if warm:
        run.model.set_params(warm_start=keep["warm_start"])
    _unchanged(run, before, "a refused fit")


# -- readers ---------------------------------------------------------------------------------


def look(run, rng):
    """Everything that can be read is read."""
    if not run.face.counted(run.model):
        return
    run.face.scores(run.model), run.face.answers(run.model), repr(run.model)
    names = ("coef_", "intercept_", "n_mistakes_", "lanes_", "C_", "support_vectors_")
    for name in names:
        getattr(run.model, name, None)


def readers(run, rng, stop):
    """Two threads predict while the model learns."""
    if not run.face.counted(run.model):
        return run.learn(stop)
    done, errors = threading.Event(), []

    def read():
        try:
            while not done.is_set():
                run.face.answers(run.model)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        run.learn(stop)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    if errors:
        raise Difference(f"a reader met {errors[0]!r}")


# -- interrupts ------------------------------------------------------------------------------


def interrupt_at_line(run, rng, stop):
    """SIGINT at a line of the library's Python: the same one whenever the case is repeated."""
    left = int(rng.integers(1, 150))

    def trace(frame, event, argument):
        nonlocal left
        if "/aggro/" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left == 0:
            left = -1
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    _interrupted(run, stop, lambda: sys.settrace(trace), lambda: sys.settrace(None))


def interrupt_by_clock(run, rng, stop):
    """SIGINT after some microseconds: most often inside the core."""
    delay = float(10 ** rng.uniform(-5, -2.5))

    def strike(*_):
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGALRM, strike)
    start, end = (
        (lambda: signal.setitimer(signal.ITIMER_REAL, delay)),
        (lambda: signal.setitimer(signal.ITIMER_REAL, 0)),
    )
    _interrupted(run, stop, start, end)


def _interrupted(run, stop, arm, disarm):
    """Learn until interrupted, then go on with the rows that are not counted."""
    before = run.face.counted(run.model)
    try:
        arm()
        run.face.learn(run.model, run.at, stop)
        disarm()
    except KeyboardInterrupt:
        disarm()
        learned = run.face.counted(run.model) - before
        rows = run.at + np.flatnonzero(run.face.data.present[run.at : stop])
        if not 0 <= learned <= len(rows):
            raise Difference(
                f"after an interrupt {learned} of {len(rows)} rows are counted"
            ) from None
        if learned:
            run.at = int(rows[learned - 1]) + 1
    else:
        run.at = stop
    run.learn(stop)


# -- the table -------------------------------------------------------------------------------


def _before_learning(trouble):
    def happen(run, rng, stop):
        trouble(run, rng)
        run.learn(stop)

    return happen


def nothing(run, rng):
    """Only a cut."""


BETWEEN = {
    "a cut": nothing,
    "pickled": by_pickle,
    "deep copy": by_deepcopy,
    "saved and loaded": by_file,
    "a bad value": bad_value,
    "a bad answer": bad_answer,
    "a bad weight": bad_weight,
    "a bad width": bad_width,
    "a bad parameter": bad_parameter,
    "a parameter and a bad value": parameter_and_bad_value,
    "a bad fit": bad_fit,
    "looked at": look,
}
DURING = {
    "readers": readers,
    "interrupted at a line": interrupt_at_line,
    "interrupted by the clock": interrupt_by_clock,
}
TROUBLES = {**{name: _before_learning(f) for name, f in BETWEEN.items()}, **DURING}
FOR_ESTIMATORS = ("a bad parameter", "a parameter and a bad value", "a bad fit")


def troubles_for(setting):
    """The troubles that a learner can meet."""
    names = [name for name in TROUBLES if not (setting.is_stream and name in FOR_ESTIMATORS)]
    if setting.is_stream and setting.batch_size > 1:  # who waits is not counted
        names = [name for name in names if "interrupted" not in name]
    if callable(setting.params.get("kernel")):  # a file holds no code
        names.remove("saved and loaded")
    return names
