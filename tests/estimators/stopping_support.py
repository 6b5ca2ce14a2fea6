"""A learner with given losses, for tests of stopping."""

from types import SimpleNamespace

import numpy as np

from aggro.estimators.passes import Passes
from aggro.training_batch import TrainingBatch

ROWS = 4  # of a pass


class Scripted:
    """A learner whose passes over four rows have the given losses."""

    def __init__(self, losses):
        self.losses, self.progress, self.examples = list(losses), SimpleNamespace(loss=0.0), 0
        self.passes = 0

    def learn(self, *_, **__):
        self.progress.loss += self.losses.pop(0)
        self.passes += 1
        self.examples += ROWS

    learn_rows = learn

    def freeze_means(self, frozen=True):
        self.frozen = frozen

    def checkpoint(self, _=None):
        passes = self.passes

        def restore():
            self.passes = passes

        return restore


def passes_made(model, learner, rule=None):
    """Return how many passes over four rows ``fit`` would make with this learner."""
    batch = TrainingBatch(np.zeros((ROWS, 2)), {"weights": None})
    return Passes.of(model).run(learner, batch, rule)
