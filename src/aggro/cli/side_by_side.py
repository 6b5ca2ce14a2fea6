"""Several variants as the models of one learner: one walk over a row serves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.cli.model import Model
from aggro.cli.watch import Watch
from aggro.estimators.targets import read_values
from aggro.learner import Array, Learner
from aggro.selection.common import grow_features
from aggro.selection.copies import select
from aggro.selection.makers import grown
from aggro.settings import Settings, Task, selected_axes, shared_layout
from aggro.training_batch import TrainingBatch


def bundles(models: Sequence[Model]) -> list[list[Model]]:
    """Group the models that can learn side by side.

    Settings are of several classes here, so a group fits together for any number of classes.
    """
    groups: dict[Any, list[Model]] = {}
    for number, model in enumerate(models):
        s = model.settings
        draws = s.average == "reservoir"  # random numbers, which must not depend on other models
        key = number if selected_axes(s) or draws else shared_layout(s)
        groups.setdefault(key, []).append(model)
    return list(groups.values())


class SideBySide:
    """Models that learn everything together; each gets its own learner at the end."""

    loss = 0.0  # members have their own

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        self.members = [Member(self, which) for which in range(len(models))]
        self.regression, self.dtype = models[0].regression, models[0].dtype
        self.step = models[0].settings.batch_size
        self.known = Classes(np.empty(0))
        self.learner: Learner | None = None

    def begin_batch(self, X: Any, y: Array, weights: Array | None) -> TrainingBatch:
        """Return a batch for ``learn``; the learner gets its features and classes."""
        if self.regression:
            parts = {"values": read_values(y, X.shape[0])}
            learner = self.learner or self._first("regression", X.shape[1], 1)
        else:
            present = None if weights is None else weights > 0
            learner = self._with_classes(X.shape[1], y if present is None else y[present])
            parts = {"labels": self.known.encode(y, present)}
        grow_features(learner, X.shape[1])
        if hasattr(X, "indptr"):
            X.resize((X.shape[0], learner.features))
        self.learner = learner
        return TrainingBatch(X, {**parts, "weights": weights})

    def learn(self, batch: TrainingBatch, weights: Array | None, order: Array) -> None:
        """Learn some rows of a batch."""
        batch.train(self.learner, order, undo=True)

    def _settings(self, task: Task) -> list[Settings]:
        return [model.estimator._checked_settings(task) for model in self.models]

    def _first(self, task: Task, features: int, outputs: int) -> Learner:
        return Learner(self._settings(task), features, outputs, self.dtype)

    def _with_classes(self, features: int, y: Array) -> Learner:
        """Return the learner with the classes of y."""
        if self.learner is None:
            self.known = Classes.of(y)
            return self._first(self.known.task, features, len(self.known))
        known, self.known = self.known, self.known.admit(y)
        if len(known) == len(self.known):
            return self.learner
        settings, position = self._settings(self.known.task), known.among(self.known)
        return grown(self.learner, settings, position, len(self.known))

    def finish(self) -> None:
        """Let each model go on with a learner of its own."""
        assert self.learner is not None
        for which, model in enumerate(self.models):
            alone = select(self.learner, [which], [self.learner.all_settings[which]])
            model.estimator._adopt(alone, self.known.labels, False)


class Member:
    """The counts of one of the models that learn side by side."""

    def __init__(self, home: SideBySide, which: int) -> None:
        self.home, self.which = home, which
        self.regression = home.models[which].regression

    @property
    def loss(self) -> float:
        """Mistakes, or the sum of absolute errors, each before its example was learned."""
        if self.home.learner is None:
            return 0.0
        model = self.home.learner.model
        return model.distances[self.which] if self.regression else model.records[self.which][0]

    @property
    def updates(self) -> int:
        """Examples that moved the model."""
        return self.home.learner.progress_of(self.which).updates if self.home.learner else 0


class JointWatch(Watch):
    """Cuts batches for all members, each of which keeps its own lines."""

    def __init__(self, model: SideBySide) -> None:
        super().__init__(model)
        self.watches = [Watch(member) for member in model.members]

    def report(self) -> None:
        """Add a line to the table of each member."""
        for watch in self.watches:
            watch.examples, watch.constant = self.examples, self.constant
            watch.report()
