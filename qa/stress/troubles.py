"""What may happen to a model between two calls, or during one, and must leave no trace."""

import linecache
import signal
import sys
import threading
from pathlib import Path

import numpy as np

import aggro
from qa.stress import refusals
from qa.stress.runs import Difference, by_deepcopy, by_file, by_pickle

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
        run.learn(stop)
        return
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

LIBRARY = str(Path(aggro.__file__).parent)  # a clone may have its name, too


def interrupt_at_line(run, rng, stop):
    """SIGINT at a line of the library's Python: the same one whenever the case is repeated."""
    left = int(rng.integers(1, 150))

    def trace(frame, event, argument):
        nonlocal left
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        left -= event == "line" and not _is_seam(frame)
        if left == 0:
            left = -1
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    _interrupted(run, stop, lambda: sys.settrace(trace), lambda: sys.settrace(None))


def _is_seam(frame):
    """Whether a line opens or leaves a ``with`` or ``try``: no signal is ever served just there."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.lstrip().startswith(("with ", "try:"))


def interrupt_by_clock(run, rng, stop):
    """SIGINT after some microseconds: most often inside the core."""
    delay = float(10 ** rng.uniform(-5, -2.5))
    armed = False

    def strike(*_):
        nonlocal armed
        if armed:
            armed = False
            signal.raise_signal(signal.SIGINT)

    def arm():
        nonlocal armed
        armed = True
        signal.setitimer(signal.ITIMER_REAL, delay)

    def disarm():
        """A signal that is already on its way may come later: it finds nothing to strike."""
        nonlocal armed
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    signal.signal(signal.SIGALRM, strike)
    _interrupted(run, stop, arm, disarm)


def _interrupted(run, stop, arm, disarm):
    """Learn until interrupted, then go on with the rows that are not counted."""
    before = run.face.counted(run.model)
    try:
        try:
            arm()
            run.face.learn(run.model, run.at, stop)
        finally:
            disarm()
    except KeyboardInterrupt:
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
    "a bad value": refusals.bad_value,
    "a bad answer": refusals.bad_answer,
    "a bad weight": refusals.bad_weight,
    "a bad width": refusals.bad_width,
    "a bad parameter": refusals.bad_parameter,
    "a parameter and a bad value": refusals.parameter_and_bad_value,
    "a bad fit": refusals.bad_fit,
    "another parameter for a copy": refusals.other_parameter,
    "looked at": look,
}
DURING = {
    "readers": readers,
    "interrupted at a line": interrupt_at_line,
    "interrupted by the clock": interrupt_by_clock,
}
TROUBLES = {**{name: _before_learning(f) for name, f in BETWEEN.items()}, **DURING}
FOR_ESTIMATORS = (
    "a bad parameter",
    "a parameter and a bad value",
    "another parameter for a copy",
    "a bad fit",
)


def troubles_for(setting):
    """The troubles that a learner can meet."""
    names = [name for name in TROUBLES if not (setting.is_stream and name in FOR_ESTIMATORS)]
    if setting.is_stream and setting.batch_size > 1:  # who waits is not counted
        names = [name for name in names if "interrupted" not in name]
    if callable(setting.params.get("kernel")):  # a file holds no code
        names.remove("saved and loaded")
    return names
