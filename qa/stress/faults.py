"""Faults between two calls, or during one, that must not change the result."""

import copy
import linecache
import signal
import sys
import threading
from pathlib import Path

import numpy as np

import aggro
from qa.stress import rejections
from qa.stress.model_state import differences
from qa.stress.runs import NOTHING, Difference, Run, by_deepcopy, by_file, by_pickle, copies_for

# -- readers ---------------------------------------------------------------------------------


def read_everything(run, rng):
    """Read all attributes."""
    if not run.adapter.counted(run.model):
        return
    run.adapter.scores(run.model), run.adapter.predictions(run.model), repr(run.model)
    names = ("coef_", "intercept_", "n_mistakes_", "candidates_", "C_", "support_vectors_")
    for name in names:
        getattr(run.model, name, None)


def readers(run, rng, step):
    """Predict in two threads while the model learns."""
    if not run.adapter.counted(run.model):
        run.perform(step)
        return
    done, errors = threading.Event(), []

    def read():
        try:
            while not done.is_set():
                run.adapter.predictions(run.model)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        run.perform(step)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    if errors:
        raise Difference(f"a reader raised {errors[0]!r}")


# -- interrupts ------------------------------------------------------------------------------

LIBRARY = str(Path(aggro.__file__).parent)  # other folders may have the same name


def _traced(event):
    """Return a trace function that calls ``event`` with the code of each line of the library."""

    def trace(frame, kind, argument):
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        if kind == "line" and not _is_seam(frame):
            event(frame.f_code)
        return trace

    return trace


def _is_seam(frame):
    """Return whether a line enters or leaves a block, where no signal handler runs."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.lstrip().startswith(("with ", "try:"))


def _draw_line(run, rng, step):
    """Return a function of the library that the step calls, and the number of its lines to skip.

    The functions are found by running the step on a copy. All are equally likely, however often
    they are called, since evaluation steps are rare.
    """
    other, lines = copy.copy(run), {}

    def count(code):
        lines[code] = lines.get(code, 0) + 1

    other.model = copy.deepcopy(run.model)
    sys.settrace(_traced(count))
    try:
        other.perform(step)
    finally:
        sys.settrace(None)
    codes = sorted(lines, key=lambda code: (code.co_filename, code.co_firstlineno))
    if not codes:
        return None, 0
    code = codes[rng.integers(len(codes))]
    return code, int(rng.integers(lines[code]))


def interrupt_at_line(run, rng, step):
    """Raise SIGINT at a line of Python code, determined by the seed."""
    target, left = _draw_line(run, rng, step)

    def count(code):
        nonlocal left
        if code is target:
            left -= 1
            if left == -1:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)

    trace = _traced(count)
    return _interrupted(run, step, lambda: sys.settrace(trace), lambda: sys.settrace(None))


def interrupt_by_clock(run, rng, step):
    """Raise SIGINT after some microseconds, mostly inside the core."""
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
        """Ignore a pending signal."""
        nonlocal armed
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    signal.signal(signal.SIGALRM, strike)
    return _interrupted(run, step, arm, disarm)


def _interrupted(run, step, arm, disarm):
    """Perform a step until it is interrupted; return whether it is incomplete."""
    adapter, start = run.adapter, run.at
    before, state = adapter.counted(run.model), None
    if step.action != "partial_fit":
        adapter.prepare(run.model, step.action == "warm fit")
        state, other = adapter.state(run.model), copy.copy(run)
        other.model = copy.deepcopy(run.model)
    try:
        try:
            arm()
            run.perform(step)
        finally:
            disarm()
    except KeyboardInterrupt:
        if state is not None:
            found = adapter.state(run.model)
            if not (changed := differences(state, found)):
                return True
            other.perform(step)  # the signal may have been served as fit returned
            if differences(adapter.state(other.model), found):
                raise Difference("\n  ".join(["an interrupted fit:", *changed[:5]])) from None
            run.at = step.stop  # a warm fit would continue the finished model
            return False
        learned = adapter.counted(run.model) - before
        rows = start + np.flatnonzero(adapter.data.present[start : step.stop])
        if not 0 <= learned <= len(rows):
            text = f"after an interrupt {learned} of {len(rows)} rows are counted"
            raise Difference(text) from None
        run.at = int(rows[learned - 1]) + 1 if learned else start
        return True
    return False


# -- the table -------------------------------------------------------------------------------


def _before_learning(fault):
    def inject(run, rng, step):
        fault(run, rng)
        run.perform(step)

    return inject


def _then_the_rest(interrupt, *, copied=False):
    """Interrupt a step, replace the model by a copy, and learn the rest."""

    def inject(run, rng, step):
        if interrupt(run, rng, step):
            if copied:
                copiers = copies_for(run.adapter.setting)
                copiers[rng.integers(len(copiers))](run, rng)
            run.perform(step)

    return inject


def nothing(run, rng):
    """Do nothing."""


BETWEEN = {
    NOTHING: nothing,
    "pickled": by_pickle,
    "deep copy": by_deepcopy,
    "saved and loaded": by_file,
    "a bad value": rejections.bad_value,
    "a bad target": rejections.bad_target,
    "a bad weight": rejections.bad_weight,
    "a bad width": rejections.bad_width,
    "a bad parameter": rejections.bad_parameter,
    "a parameter and a bad value": rejections.parameter_and_bad_value,
    "a bad fit": rejections.bad_fit,
    "another parameter for a copy": rejections.other_parameter,
    "read": read_everything,
    "a bad text": rejections.bad_text,
    "a bad label": rejections.bad_label,
}
DURING = {
    "readers": readers,
    "interrupted at a line": _then_the_rest(interrupt_at_line),
    "interrupted by the clock": _then_the_rest(interrupt_by_clock),
    "interrupted at a line, then copied": _then_the_rest(interrupt_at_line, copied=True),
    "interrupted by the clock, then copied": _then_the_rest(interrupt_by_clock, copied=True),
}
FAULTS = {**{name: _before_learning(f) for name, f in BETWEEN.items()}, **DURING}
FOR_ESTIMATORS = (
    "a bad parameter",
    "a parameter and a bad value",
    "another parameter for a copy",
    "a bad fit",
)
FOR_TEXTS = (
    *(NOTHING, "pickled", "deep copy", "saved and loaded", "read", "a bad weight"),
    *("a bad text", "a bad label"),
    *(name for name in DURING if name != "readers"),  # not for text estimators
)


def faults_for(setting):
    """Return the faults for a learner."""
    names = [name for name in FAULTS if name not in ("a bad text", "a bad label")]
    names = [name for name in names if not (setting.is_stream and name in FOR_ESTIMATORS)]
    if setting.is_stream and setting.batch_size > 1:  # pending rows of a batch are not counted
        names = [name for name in names if "interrupted" not in name]
    if callable(setting.params.get("kernel")):  # files contain no code
        names.remove("saved and loaded")
    return names


def run_plan(adapter, plan, *, with_faults=True, params=None):
    """Return the model trained by a plan, with or without faults."""
    run = Run(adapter, params)
    for step in plan:
        fault = FAULTS[step.fault if with_faults else NOTHING]
        fault(run, np.random.default_rng(step.seed), step)
    return run.model
