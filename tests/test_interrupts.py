"""Signals at any moment: every learner stands at one example, and a handler may predict."""

import copy
import itertools
import signal
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from linear_support import make_learner, same_state, stored

import aggro
from aggro import _core
from aggro.learn.grids import SETTLED
from aggro.learn.kernel import KernelLearner
from aggro.learn.kernel_choice import KernelChoice
from aggro.learn.learner import rows_of
from aggro.rules import Settings
from stress.anatomy import anatomy, differences

ROWS, FEATURES, CLASSES = 400, 60, 40
rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, FEATURES)) * (rng.random((ROWS, FEATURES)) < 0.5)
Y = rng.integers(0, CLASSES, ROWS)
WEIGHTS = rng.integers(0, 3, ROWS).astype(float)
FOREVER = np.tile(np.arange(ROWS), 3000)  # one call that takes far longer than the test
MOMENTS = (0.01, 0.03, 0.09, 0.15)


class Stop(Exception):
    """What a handler raises."""


@contextmanager
def alarm(handler, first, then=0.0):
    """Send a signal after some seconds, perhaps again each time it was handled."""

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


# -- learners of rows: how each is made, taught rows in an order, and compared ---------------


class Linear:
    """One or several linear models that learn in one call."""

    def __init__(self, *kinds, threads=1, storage="dense", batch_size=1):
        self.kinds, self.threads, self.batch_size = kinds, threads, batch_size
        self.rows = stored(X, storage)

    def make(self):
        common = {"task": "multiclass", "batch_size": self.batch_size}
        return [make_learner(Settings(**common, **kind), FEATURES, CLASSES) for kind in self.kinds]

    def teach(self, learners, order):
        models = [learner.model for learner in learners]
        lesson = (rows_of(self.rows), Y, None, WEIGHTS, order, self.batch_size, True, self.threads)
        _core.learn_together(models, *lesson)

    def examples(self, learners):
        counts = {learner.examples for learner in learners}
        assert len(counts) == 1  # all of them at the same one
        return counts.pop()

    def look(self, learners):
        return np.hstack([learner.scores(rows_of(self.rows)) for learner in learners])

    def same(self, some, others):
        return all(map(same_state, some, others))


class Kernel:
    """A kernel model of the core."""

    def __init__(self, batch_size=1, strategy="nearest", storage="dense"):
        self.batch_size, self.strategy = batch_size, strategy
        self.rows = stored(X, storage)

    def make(self):
        settings = Settings(task="multiclass", batch_size=self.batch_size)
        choice = KernelChoice("rbf", 0.1, 3, 0.0, 50, self.strategy)
        return KernelLearner(settings, choice, 0.1, FEATURES, CLASSES, False)

    def teach(self, learner, order):
        learner.learn_rows(self.rows, {"labels": Y, "weights": WEIGHTS}, order)

    def examples(self, learner):
        return learner.examples

    def look(self, learner):
        return learner.score_rows(self.rows)

    def same(self, one, other):
        return same_state(one.model, other.model) and one.next_id == other.next_id


LEARNERS = {
    "plain": Linear({}),
    "sparse, scaled, averaged": Linear({"scale": "online", "average": True}, storage="csr32"),
    "full": Linear({"metric": "full", "multiclass": "ovr"}),
    "class means": Linear({"class_mean": 0.1, "scale": "standard"}),
    "mini-batch": Linear({"scale": "online"}, batch_size=7),
    "threads": Linear({"multiclass": "ovr", "scale": "standard"}, threads=3),
    "several": Linear({}, {"C": 0.1}, {"metric": "diagonal"}, {"scale": "standard"}),
    "several, threads": Linear({}, {"C": 0.1}, {"metric": "diagonal"}, {"queue": 2}, threads=2),
    "several, mini-batch": Linear({"scale": "online"}, {"metric": "diagonal"}, batch_size=7),
    "kernel": Kernel(),
    "kernel, projection, mini-batch": Kernel(4, "projection", "csr32"),
}


def taught(kind, examples):
    """A learner that was taught exactly so many examples of those that count."""
    counted = np.cumsum(WEIGHTS[FOREVER] > 0)
    learner = kind.make()
    kind.teach(learner, FOREVER[: np.searchsorted(counted, examples) + 1 if examples else 0])
    assert kind.examples(learner) == examples
    return learner


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupt_leaves_a_learner_at_one_example(name):
    kind = LEARNERS[name]
    for moment in MOMENTS[::2]:
        learner = kind.make()
        with pytest.raises(Stop), alarm(stop, moment):
            kind.teach(learner, FOREVER)
        twin = taught(kind, kind.examples(learner))
        assert kind.same(learner, twin)
        more = np.arange(50)
        kind.teach(learner, more)  # and it goes on from there
        kind.teach(twin, more)
        np.testing.assert_array_equal(kind.look(learner), kind.look(twin))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_handler_may_predict_and_copy(name):
    """It finds the model at one example, and learning goes on."""
    kind, seen = LEARNERS[name], []
    learner = kind.make()

    def handler(*_):
        seen.append((kind.examples(learner), kind.look(learner)))
        went_on = len(seen) >= 3 and seen[-1][0] > seen[0][0]  # a busy machine takes its time
        if went_on or len(seen) == 300:
            raise Stop

    with pytest.raises(Stop), alarm(handler, 0.02, 0.02):
        kind.teach(learner, FOREVER)
    assert kind.examples(learner) >= seen[-1][0] > seen[0][0] > 0
    for examples, scores in (seen[0], seen[-1]):
        np.testing.assert_array_equal(scores, kind.look(taught(kind, examples)))


@pytest.mark.parametrize("name", ["plain", "several, threads", "kernel"])
def test_a_handler_that_learns_is_refused(name):
    kind = LEARNERS[name]
    learner = kind.make()
    refused = pytest.raises(RuntimeError, match="a signal handler may predict")
    with refused, alarm(lambda *_: kind.teach(learner, np.arange(3)), 0.02):
        kind.teach(learner, FOREVER)
    assert kind.same(learner, taught(kind, kind.examples(learner)))


def test_a_kernel_function_learns_all_rows_or_none():
    """Also where a handler predicts with it in the meantime."""

    def kernel(A, B):
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    choice = KernelChoice(kernel, 0.1, 3, 0.0, 30, "nearest")
    learner = KernelLearner(Settings(task="multiclass"), choice, 0.1, FEATURES, CLASSES)
    lesson = {"labels": Y, "weights": None}
    learner.learn_rows(X, lesson, np.arange(30))
    before, scores, seen = learner.model.state(), learner.score_rows(X), []

    def handler(*_):
        seen.append(learner.score_rows(X[:5]))
        if len(seen) == 5:
            raise Stop

    with pytest.raises(Stop), alarm(handler, 0.02, 0.02):
        learner.learn_rows(X, lesson, FOREVER)
    after = learner.model.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    np.testing.assert_array_equal(learner.score_rows(X), scores)
    assert learner.next_id == ROWS and np.isfinite(seen).all()


def test_numbers_of_examples_are_not_given_twice():
    """What is learned after an interrupt is not taken for the examples learned before it."""
    kind = Kernel()
    learner = kind.make()
    with pytest.raises(Stop), alarm(stop, 0.03):
        kind.teach(learner, FOREVER)
    known = set(learner.model.ids())
    kind.teach(learner, np.arange(60))
    fresh = set(learner.model.ids()) - known
    assert fresh and min(fresh) >= ROWS


# -- streams: Python code runs amid learning, so a signal may come at any of its lines -------


def examples_of_a_stream(count):
    words = np.random.default_rng(1)
    for i in range(count):
        x = {
            f"w{j}": float(v) for j, v in zip(words.integers(0, 9, 4), words.random(4), strict=True)
        }
        yield x, "abc"[i % 2 if i < 20 else i % 3]


@contextmanager
def stopping_at_line(number, files=("aggro",)):
    """Raise Stop when so many lines of the library have run, as a handler might."""
    left = itertools.count(number, -1)

    def trace(frame, event, _):
        if not any(name in frame.f_code.co_filename for name in files):
            return None
        if event == "line" and next(left) == 0:
            raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


STREAMS = {
    "a new class": (lambda: aggro.StreamClassifier("PA-I", average=True), 20),
    "the first example of a race": (lambda: aggro.StreamClassifier("PA-I", C="auto"), 0),
    "a race that looks at its grid": (
        lambda: aggro.StreamClassifier("PA-I", C="auto"),
        SETTLED - 1,
    ),
}


def known_by(stream):
    names, classes, arrays = stream._dump()
    values = {name: array.tobytes() for name, array in arrays.items()}
    return names, classes, values, stream._prices, stream.examples


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_whole_wherever_it_is_interrupted(name):
    """Interrupted at any line of Python that runs amid learning, it goes on as if it were not."""
    make, count = STREAMS[name]
    *past, (x, y) = examples_of_a_stream(count + 1)
    begun, lines = make(), 0
    for example in past:
        begun.learn_one(*example)
    for line in itertools.count(0, 7):
        stream, twin = copy.deepcopy(begun), copy.deepcopy(begun)
        try:
            with stopping_at_line(line):
                stream.learn_one(x, y)
        except Stop:
            lines += 1
        else:
            break
        if stream.examples == count:
            stream.learn_one(x, y)
        twin.learn_one(x, y)
        for example in examples_of_a_stream(9):
            stream.learn_one(*example)
            twin.learn_one(*example)
        assert known_by(stream) == known_by(twin), line
    assert lines > 3


@pytest.mark.parametrize("name", STREAMS)
def test_a_handler_may_predict_amid_a_stream(name):
    make, count = STREAMS[name]
    *past, (x, y) = examples_of_a_stream(count + 1)
    stream, seen = make(), []
    for example in past:
        stream.learn_one(*example)

    def trace(frame, event, _):
        if "aggro" not in frame.f_code.co_filename:
            return None
        seen.append((stream.examples, stream.predict_one(x), stream.score_one(x)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        stream.learn_one(x, y)
    finally:
        sys.settrace(before)
    twin = make()
    for example in [*past, (x, y)]:
        twin.learn_one(*example)
    assert len(seen) > 10 and known_by(stream) == known_by(twin)


CALLS = {
    "recorded": lambda: aggro.PassiveAggressiveClassifier(probability=True),
    "recorded, of a kernel": lambda: aggro.KernelPassiveAggressiveClassifier(probability=True),
    "classes are weighed": lambda: aggro.PassiveAggressiveClassifier(class_weight="balanced"),
    "a race": lambda: aggro.PassiveAggressiveClassifier(C="auto", probability=True),
    "a stream": lambda: aggro.StreamClassifier("PA-I", probability=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_made_or_not_wherever_it_is_interrupted(name):
    """What was learned, recorded and counted is that of all its rows, or of none."""
    begun, lines = CALLS[name](), 0
    learn, rows = "partial_fit", X[:80, :3]
    if name == "a stream":
        learn, rows = "learn_many", pytest.importorskip("pandas").DataFrame(rows)
    getattr(begun, learn)(rows[:60], Y[:60] % 2)
    twin = copy.deepcopy(begun)
    call = (rows[60:], Y[60:80] % 2)
    getattr(twin, learn)(*call)
    may_be = [anatomy(begun), anatomy(twin)]
    for line in itertools.count(0, 41 if name == "a stream" else 3):
        model = copy.deepcopy(begun)
        try:
            with stopping_at_line(line, ("aggro", "contextlib")):
                getattr(model, learn)(*call)
        except Stop:
            lines += 1
        else:
            break
        found = anatomy(model)
        assert [] in [differences(found, each) for each in may_be], line
    assert lines > 10


def test_interrupted_rows_of_a_table_are_all_forgotten():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(FEATURES)])
    stream, again = aggro.StreamClassifier("PA-I"), aggro.StreamClassifier("PA-I")
    for each in (stream, again):
        each.learn_many(frame[:50], Y[:50])
    with pytest.raises(Stop), alarm(stop, 0.02, 0.5):  # what a finaliser raises is lost
        while True:
            stream.learn_many(frame, Y)
    tables, rest = divmod(stream.examples - 50, ROWS)
    assert rest == 0
    for _ in range(tables):
        again.learn_many(frame, Y)
    assert known_by(stream) == known_by(again)
