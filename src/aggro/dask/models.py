"""What the client does with a model: it makes it, sends it, and goes on with what was learned."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from aggro.calibration.recorder import Recorder
from aggro.dask.work import Outcome
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import wider
from aggro.merging.shards import merge_round
from aggro.merging.text_shards import knowing, merge_text_round, without_names
from aggro.selection.selection import ModelSelection
from aggro.text.base import TextEstimator
from aggro.text.learner import TextLearner


def with_learner(model: Any, learner: Any) -> Any:
    """Return a model as it would be with another learner."""
    other = copy.copy(model)
    other._learner = learner
    return other


def make(model: Any, seen: Outcome, classes: Any) -> None:
    """Make the learner by one row that has no weight: it was never there."""
    X, y = seen.head
    if isinstance(model, TextEstimator):
        _make_of_texts(model, seen, classes)
        return
    if is_regressor(model):
        model.partial_fit(X, y, sample_weight=[0.0])
        return
    several = np.asarray(y).ndim == 2
    known = None if several else (seen.classes if classes is None else classes)
    model.partial_fit(X, y, classes=known, sample_weight=[0.0])
    given = classes is not None or several
    fitted = model._fitted
    model._fitted = fitted.changed(classes=replace(fitted.classes, given=given))


def _make_of_texts(model: Any, seen: Outcome, classes: Any) -> None:
    if is_regressor(model):
        model.partial_fit([], [])
        return
    model.partial_fit([], [], classes=seen.classes if classes is None else classes)
    model._classes_given = classes is not None


def light(model: Any) -> Any:
    """Return a model to send: without what no worker needs."""
    learner = model._learner
    return with_learner(model, without_names(learner)) if is_text(learner) else model


def is_text(learner: Any) -> bool:
    """Tell whether a learner learns texts."""
    return isinstance(learner, TextLearner)


def races(learner: Any) -> bool:
    """Tell whether a learner has something to choose."""
    if is_text(learner):
        return len(learner.runners) > 1 or races(learner.leader.race)
    return isinstance(learner, ModelSelection)


def merger_of(learner: Any, outcome: Outcome) -> Callable[[bool], Any]:
    """Return what merges all that a round has learned, as one of two kinds."""
    if not is_text(learner):
        return partial(merge_round, learner, outcome.changes)
    known = knowing(learner, outcome.words, outcome.changes, outcome.records)
    return partial(merge_text_round, *known, repeated=learner.repeated + outcome.repeated)


def grow_model(model: Any, seen: Outcome) -> None:
    """Let features and classes enter that the model did not know."""
    if is_text(model._learner):
        known = model._classes.admit(seen.classes)
        model._become(model._learner_of(known), known)
        return
    if seen.width > model.n_features_in_:
        places = np.arange(model._learner.features)
        model._learner = wider(model._learner, places, seen.width)
    if not hasattr(model, "classes_") or seen.classes is None or model._multilabel:
        return
    model._fitted = model._with_classes(model._fitted, seen.classes)


def go_on_with(model: Any, learner: Any, outcome: Outcome) -> None:
    """Go on with what all units of a round have learned."""
    model._learner = learner
    if is_text(learner):
        return
    fitted = model._fitted
    if fitted.counts is not None:
        fitted = fitted.changed(counts=fitted.counts + outcome.counts)
    if outcome.records:
        start = fitted.record
        calibrator = join_calibrators(
            [each for each, _ in outcome.records], start and start.calibrator
        )
        before = 0 if start is None else start.typical.met
        typical = merge_typical([each for _, each in outcome.records], before)
        fitted = fitted.changed(record=Recorder(calibrator, typical))
    model._fitted = fitted
