"""Several variants as lanes of one learner: one walk over a row serves all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aggro.cli.model import LinearModel
from aggro.cli.watch import Watch
from aggro.learn.learner import Array, Learner, Progress
from aggro.settings import Settings, selected_axes, shared_layout


def bundles(models: Sequence[LinearModel]) -> list[list[LinearModel]]:
    """Group the models that can learn side by side.

    Settings are of several classes here, so a group fits together however many there will be.
    """
    groups: dict[Any, list[LinearModel]] = {}
    for number, model in enumerate(models):
        s = model.settings
        draws = s.average == "reservoir"  # random numbers, which should not depend on company
        key = number if selected_axes(s) or draws else shared_layout(s)
        groups.setdefault(key, []).append(model)
    return list(groups.values())


class SideBySide(LinearModel):
    """Models that meet and learn everything together."""

    def __init__(self, models: Sequence[LinearModel]) -> None:
        first = models[0]
        super().__init__(first.record, first.settings, first.dtype, first.title)
        self.members = [Member(model, self, which) for which, model in enumerate(models)]

    def meet(self, X: Any, y: Array, counted: Array) -> dict[str, Any]:
        """Make room for new features and classes, in all members."""
        lesson = super().meet(X, y, counted)
        for member in self.members:
            member.known = self.known
        return lesson

    def _first(self, features: int, outputs: int) -> Learner:
        return Learner(self._settings_for(outputs), features, outputs, self.dtype)

    def _settings_for(self, classes: int) -> list[Settings]:
        return [member._settings_for(classes) for member in self.members]


class Member(LinearModel):
    """One of the models that learn side by side; alone it can predict."""

    def __init__(self, model: LinearModel, home: SideBySide, which: int) -> None:
        super().__init__(model.record, model.settings, model.dtype, model.title)
        self.home, self.which = home, which

    @property
    def progress(self) -> Progress:
        """Mistakes, updates and loss so far."""
        learner = self.home.learner
        return learner.progress_of(self.which) if isinstance(learner, Learner) else Progress()

    @property
    def suffered(self) -> float:
        """Mistakes, or the sum of absolute errors, of what predicted, each before it learned."""
        learner = self.home.learner
        if not isinstance(learner, Learner):
            return 0.0
        model = learner.model
        return model.distances[self.which] if self.regression else model.records[self.which][0]

    @property
    def features(self) -> int:
        """Number of features met so far."""
        return self.home.features

    def scores(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        learner = self.home.learner
        assert isinstance(learner, Learner)
        return learner.scores(self._rows(X), self.which)


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
