"""Helpers for tests of interrupts: rows, a long call, signals, stream states."""

import itertools
import linecache
import signal
import sys
from contextlib import contextmanager

import numpy as np

ROWS, FEATURES, CLASSES = 400, 60, 40
rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, FEATURES)) * (rng.random((ROWS, FEATURES)) < 0.5)
Y = rng.integers(0, CLASSES, ROWS)
WEIGHTS = rng.integers(0, 3, ROWS).astype(float)
FOREVER = np.tile(np.arange(ROWS), 3000)  # a call that takes much longer than the test


class Stop(Exception):
    """Raised by a signal handler."""


@contextmanager
def alarm(handler, first, then=0.0):
    """Send a signal after ``first`` seconds, and again ``then`` seconds after each handler."""

    def handle(*_):
        try:
            handler()
        finally:
            signal.setitimer(signal.ITIMER_REAL, then)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, first)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def stop(*_):
    raise Stop


def _line_of(frame):
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()


@contextmanager
def stopping_at_line(number, files=("aggro",)):
    """Raise Stop after ``number`` lines of the library, as a signal handler might.

    Lines of ``with`` and ``try`` are skipped: entering and leaving a block is traced as one of them
    outside the block, but no signal handler runs there.
    """
    left = itertools.count(number, -1)

    def trace(frame, event, _):
        if not any(name in frame.f_code.co_filename for name in files):
            return None
        seam = _line_of(frame).startswith(("with ", "try:"))
        if event == "line" and not seam and next(left) == 0:
            raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def known_by(stream):
    names, classes, known, arrays = stream._pieces()
    values = {name: array.tobytes() for name, array in arrays.items()}
    learners = known.learner.learners if hasattr(known, "learner") else [known]
    states = [
        (each.all_settings, [array.tobytes() for array in each.state().values()])
        for each in learners
    ]
    selection = ()
    if hasattr(known, "learner"):
        best = known.learner
        selection = (best.drift, best.left, best.counted, best.margin_unit, known.width)
    return names, classes, values, states, selection, stream.examples
