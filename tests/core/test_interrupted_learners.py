"""Signals during learning: models are consistent, and a handler may predict."""

import numpy as np
import pytest
from interrupt_support import CLASSES, FEATURES, FOREVER, ROWS, WEIGHTS, Stop, X, Y, alarm, stop
from linear_support import make_learner, same_state, stored

from aggro import _core
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.learner import rows_of
from aggro.settings import Settings

MOMENTS = (0.01, 0.03, 0.09, 0.15)


# -- learners of rows: how each is made, trained rows in an order, and compared ---------------


class Linear:
    """One or several linear models that learn in one call."""

    def __init__(self, *kinds, threads=1, storage="dense", batch_size=1):
        self.kinds, self.threads, self.batch_size = kinds, threads, batch_size
        self.rows = stored(X, storage)

    def make(self):
        common = {"task": "multiclass", "batch_size": self.batch_size}
        return [make_learner(Settings(**common, **kind), FEATURES, CLASSES) for kind in self.kinds]

    def train(self, learners, order):
        models = [learner.model for learner in learners]
        batch = (rows_of(self.rows), Y, None, WEIGHTS, order, self.batch_size, True, self.threads)
        _core.learn_together(models, *batch)

    def examples(self, learners):
        counts = {learner.examples for learner in learners}
        assert len(counts) == 1  # all at the same example
        return counts.pop()

    def results(self, learners):
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

    def train(self, learner, order):
        learner.learn_rows(self.rows, {"labels": Y, "weights": WEIGHTS}, order)

    def examples(self, learner):
        return learner.examples

    def results(self, learner):
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


def trained(kind, examples):
    """Return a learner trained on this number of weighted examples."""
    counted = np.cumsum(WEIGHTS[FOREVER] > 0)
    learner = kind.make()
    kind.train(learner, FOREVER[: np.searchsorted(counted, examples) + 1 if examples else 0])
    assert kind.examples(learner) == examples
    return learner


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupt_leaves_a_learner_at_one_example(name):
    kind = LEARNERS[name]
    for moment in MOMENTS[::2]:
        learner = kind.make()
        with pytest.raises(Stop), alarm(stop, moment):
            kind.train(learner, FOREVER)
        expected = trained(kind, kind.examples(learner))
        assert kind.same(learner, expected)
        more = np.arange(50)
        kind.train(learner, more)  # and it continues from there
        kind.train(expected, more)
        np.testing.assert_array_equal(kind.results(learner), kind.results(expected))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_handler_may_predict_and_copy(name):
    """The handler finds a consistent model, and learning continues."""
    kind, seen = LEARNERS[name], []
    learner = kind.make()

    def handler(*_):
        seen.append((kind.examples(learner), kind.results(learner)))
        went_on = len(seen) >= 3 and seen[-1][0] > seen[0][0]  # slow machines may have few samples
        if went_on or len(seen) == 300:
            raise Stop

    with pytest.raises(Stop), alarm(handler, 0.02, 0.02):
        kind.train(learner, FOREVER)
    assert kind.examples(learner) >= seen[-1][0] > seen[0][0] > 0
    for examples, scores in (seen[0], seen[-1]):
        np.testing.assert_array_equal(scores, kind.results(trained(kind, examples)))


@pytest.mark.parametrize("name", ["plain", "several, threads", "kernel"])
def test_handler_that_learns_raises(name):
    kind = LEARNERS[name]
    learner = kind.make()
    rejected = pytest.raises(RuntimeError, match="a signal handler may predict")
    with rejected, alarm(lambda *_: kind.train(learner, np.arange(3)), 0.02):
        kind.train(learner, FOREVER)
    assert kind.same(learner, trained(kind, kind.examples(learner)))


def test_example_ids_are_unique_after_an_interrupt():
    """Examples learned after an interrupt have new ids."""
    kind = Kernel()
    learner = kind.make()
    with pytest.raises(Stop), alarm(stop, 0.03):
        kind.train(learner, FOREVER)
    known = set(learner.model.ids())
    kind.train(learner, np.arange(60))
    fresh = set(learner.model.ids()) - known
    assert fresh and min(fresh) >= ROWS
