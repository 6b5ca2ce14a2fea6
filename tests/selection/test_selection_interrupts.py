"""Ctrl-C during model selection: all candidates stop at the same example and can continue."""

import copy
import itertools
import pickle
import signal
import threading

import numpy as np
import pytest
from interrupt_support import Stop, stopping_at_line

from aggro import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    TextClassifier,
)
from aggro.learner import rows_of
from aggro.persistence import ModelFileError
from aggro.persistence.values import decode, encode
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

ALL_AUTO = {"C": "auto", "metric": "auto", "average": "auto"}

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="no timers",
)


def problem(n=20000, d=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(np.int64)


@pytest.fixture
def alarm():
    """Return a function that raises KeyboardInterrupt after a number of seconds."""

    def ring(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def states(selection):
    return [{k: v.tobytes() for k, v in each.state().items()} for each in selection.learners]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_all_candidates_at_the_same_example(alarm, threads):
    X, y = problem()
    settings = Settings(task="binary", **ALL_AUTO)
    stopped = 0
    for seconds in (0.0005, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08):
        selection, copied = (ModelSelection(settings, X.shape[1], 2) for _ in "ab")
        try:
            alarm(seconds)
            while True:
                start = selection.examples % len(y)
                order = np.arange(start, len(y), dtype=np.int64)
                selection.learn(rows_of(X), labels=y, order=order, threads=threads)
        except KeyboardInterrupt:
            stopped += 1
        learned = selection.examples
        assert {each.examples for each in selection.learners} <= {learned}
        for model in (selection, copied):
            missing = len(y) + 3000 - model.examples if learned < len(y) + 3000 else 0
            order = (model.examples + np.arange(missing, dtype=np.int64)) % len(y)
            model.learn(rows_of(X), labels=y, order=order)
        if learned < len(y) + 3000:
            assert states(selection) == states(copied)
            assert (
                selection.mistakes == copied.mistakes
                and selection.drift.next_checkpoint == copied.drift.next_checkpoint
            )
    assert stopped == 7


def test_an_estimator_continues_after_an_interrupt(alarm):
    X, y = problem()
    for kind in (PassiveAggressiveClassifier, PassiveAggressiveRegressor):
        model = kind(**ALL_AUTO).partial_fit(X[:10], y[:10])
        with pytest.raises(KeyboardInterrupt):
            alarm(0.01)
            while True:
                model.partial_fit(X, y)
        assert len({each.examples for each in model._learner.learners}) == 1
        copied = pickle.loads(pickle.dumps(model))
        for one in (model, copied):
            one.partial_fit(X[:2000], y[:2000])
        assert states(model._learner) == states(copied._learner)
        assert model._learner.fixed is None


def test_a_frozen_selection_continues_after_loading():
    """A copy taken before freezing stays unfrozen, as fit needs for its rollback."""
    import copy

    X, y = problem(3000, 5)
    selection = ModelSelection(Settings(task="binary", class_mean=0.1, **ALL_AUTO), 5, 2)
    selection.learn(rows_of(X), labels=y)
    kept, copied = copy.deepcopy(selection), copy.deepcopy(selection)
    selection.freeze_means()  # from here on only the best candidate learns
    assert selection.fixed == (0, copied.best[1]) and len(selection.learners) == 1
    assert len(selection.left) == len(copied.left) + len(copied.learners) - 1
    selection.learn(rows_of(X), labels=y)
    assert selection.fixed == (0, copied.best[1]) and kept.fixed is None
    for one in (kept, copied):
        one.learn(rows_of(X), labels=y)
    assert states(kept) == states(copied)
    mistakes = selection.mistakes
    selection.freeze_means(False)
    assert selection.fixed is None and selection.mistakes == mistakes


def test_a_frozen_selection_is_stored_with_its_record(tmp_path):
    from aggro.persistence.record import Record, read_record, write_record

    X, y = problem(2000, 5)
    selection = ModelSelection(Settings(task="binary", **ALL_AUTO), 5, 2)
    selection.learn(rows_of(X), labels=y)
    selection.freeze_means()
    candidates = selection.candidates()
    selection.learn(rows_of(X), labels=y)
    write_record(Record("PassiveAggressiveClassifier", {}, {"_learner": selection}), tmp_path / "m")
    copied = read_record(tmp_path / "m").attributes["_learner"]
    for one in (selection, copied):
        one.freeze_means(False)
        assert one.candidates() == candidates
        one.learn(rows_of(X), labels=y)
    assert states(selection) == states(copied) and selection.mistakes == copied.mistakes


def test_a_file_whose_final_candidate_is_missing_is_rejected():
    X, y = problem(200, 5)
    selection = ModelSelection(Settings(task="binary", **ALL_AUTO), 5, 2)
    selection.learn(rows_of(X), labels=y)
    selection.freeze_means()
    arrays = {}
    facts = encode(selection, "learner", arrays)["ModelSelection"]
    last = len(selection.learners) - 1
    candidates = selection.learners[last].models

    def with_final(*place):
        return decode({"ModelSelection": {**facts, "fixed": {"tuple": [*place]}}}, arrays)

    decoded = with_final(last, candidates - 1)
    assert decoded.fixed == (last, candidates - 1)
    for fixed in ([last, candidates], [last + 1, 0], [-1, 0], [0, -1]):
        with pytest.raises(ModelFileError, match="the final candidate is not one"):
            with_final(*fixed)


def mapped_estimator():
    X = np.random.default_rng(0).normal(size=(24, 3))
    model = PassiveAggressiveClassifier(features="both", metric="diagonal")
    return model, X, (np.abs(X[:, 0]) > 0.7).astype(int)


def text_estimator():
    y = np.random.default_rng(0).integers(2, size=24)
    X = np.array([f"{('ham', 'spam')[label]} word{i % 7}" for i, label in enumerate(y)])
    given = {"C": 1.0, "metric": "diagonal", "average": False, "probability": True}
    return TextClassifier(n_features=64, **given), X, y


@pytest.mark.parametrize("make", [mapped_estimator, text_estimator])
def test_representations_and_candidates_learn_the_same_rows_whenever_interrupted(make):
    model, X, y = make()
    model.partial_fit(X[:20], y[:20], classes=[0, 1])
    whole = copy.deepcopy(model).partial_fit(X[20:], y[20:])
    read = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    for number in itertools.count():
        other = copy.deepcopy(model)
        try:
            with stopping_at_line(number, ("selection/selection", "aggro/transaction")):
                other.partial_fit(X[20:22], y[20:22])
            break
        except Stop:
            learned = other.t_ - 1
            assert 20 <= learned <= 22
            other.partial_fit(X[learned:], y[learned:])
            np.testing.assert_array_equal(getattr(other, read)(X), getattr(whole, read)(X))
    assert number > 50
