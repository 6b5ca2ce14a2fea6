"""Ctrl-C in the middle of a race: everything stands at one example, and goes on from there."""

import pickle
import signal
import threading

import numpy as np
import pytest

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import rows_of
from aggro.persistence import ModelFileError
from aggro.persistence.selections import decode_selection, encode_selection
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

OPEN = {"C": "auto", "metric": "auto", "average": "auto"}

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
    """Interrupts after so many seconds; nothing is left behind."""

    def ring(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def states(race):
    return [{k: v.tobytes() for k, v in each.state().items()} for each in race.learners]


@pytest.mark.parametrize("threads", [1, 2])
def test_all_learners_stand_at_one_example(alarm, threads):
    X, y = problem()
    settings = Settings(task="binary", **OPEN)
    stopped = 0
    for seconds in (0.0005, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08):
        race, twin = (ModelSelection(settings, X.shape[1], 2) for _ in "ab")
        try:
            alarm(seconds)
            while True:
                start = race.examples % len(y)
                order = np.arange(start, len(y), dtype=np.int64)
                race.learn(rows_of(X), labels=y, order=order, threads=threads)
        except KeyboardInterrupt:
            stopped += 1
        learned = race.examples
        assert {each.examples for each in race.learners} <= {learned}
        for model in (race, twin):
            missing = len(y) + 3000 - model.examples if learned < len(y) + 3000 else 0
            order = (model.examples + np.arange(missing, dtype=np.int64)) % len(y)
            model.learn(rows_of(X), labels=y, order=order)
        if learned < len(y) + 3000:
            assert states(race) == states(twin)
            assert (
                race.mistakes == twin.mistakes
                and race.drift.next_checkpoint == twin.drift.next_checkpoint
            )
    assert stopped == 7


def test_an_estimator_goes_on_after_an_interrupt(alarm):
    X, y = problem()
    for kind in (PassiveAggressiveClassifier, PassiveAggressiveRegressor):
        model = kind(**OPEN).partial_fit(X[:10], y[:10])
        with pytest.raises(KeyboardInterrupt):
            alarm(0.01)
            while True:
                model.partial_fit(X, y)
        assert len({each.examples for each in model._learner.learners}) == 1
        twin = pickle.loads(pickle.dumps(model))
        for one in (model, twin):
            one.partial_fit(X[:2000], y[:2000])
        assert states(model._learner) == states(twin._learner)
        assert model._learner.fixed is None


def test_a_frozen_selection_continues_after_loading():
    """What a guarded fit does: it keeps a copy, and goes on with it when it fails."""
    import copy

    X, y = problem(3000, 5)
    race = ModelSelection(Settings(task="binary", class_mean=0.1, **OPEN), 5, 2)
    race.learn(rows_of(X), labels=y)
    kept, twin = copy.deepcopy(race), copy.deepcopy(race)
    race.freeze_means()  # only what leads goes on to learn rows again
    assert race.fixed == (0, twin.best[1]) and len(race.learners) == 1
    assert len(race.left) == len(twin.left) + len(twin.learners) - 1
    race.learn(rows_of(X), labels=y)
    assert race.fixed == (0, twin.best[1]) and kept.fixed is None
    for one in (kept, twin):
        one.learn(rows_of(X), labels=y)
    assert states(kept) == states(twin)
    mistakes = race.mistakes
    race.freeze_means(False)
    assert race.fixed is None and race.mistakes == mistakes


def test_a_frozen_selection_is_stored_with_its_record(tmp_path):
    from aggro.persistence.record import Record, read_record, write_record

    X, y = problem(2000, 5)
    race = ModelSelection(Settings(task="binary", **OPEN), 5, 2)
    race.learn(rows_of(X), labels=y)
    race.freeze_means()
    lanes = race.candidates()
    race.learn(rows_of(X), labels=y)
    write_record(Record("PassiveAggressiveClassifier", {}, {"_learner": race}), tmp_path / "m")
    twin = read_record(tmp_path / "m").attributes["_learner"]
    for one in (race, twin):
        one.freeze_means(False)
        assert one.candidates() == lanes
        one.learn(rows_of(X), labels=y)
    assert states(race) == states(twin) and race.mistakes == twin.mistakes


def test_a_file_whose_final_candidate_is_missing_is_rejected():
    """The first place behind the last one is refused, as are all that are farther away."""
    X, y = problem(200, 5)
    race = ModelSelection(Settings(task="binary", **OPEN), 5, 2)
    race.learn(rows_of(X), labels=y)
    race.freeze_means()
    arrays = {}
    facts = encode_selection(race, "learner", arrays)
    last = len(race.learners) - 1
    lanes = race.learners[last].models
    decoded = decode_selection({**facts, "fixed": [last, lanes - 1]}, "learner", arrays)
    assert decoded.fixed == (last, lanes - 1)
    for fixed in ([last, lanes], [last + 1, 0], [-1, 0], [0, -1]):
        with pytest.raises(ModelFileError, match="the final candidate is not one"):
            decode_selection({**facts, "fixed": fixed}, "learner", arrays)
