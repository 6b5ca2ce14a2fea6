"""Recorded margins of several models as those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.classes import Classes
from aggro.reference_row import RECENT, ReferenceRow

MARGINS = ("scores", "centres", "labels", "weights")


def merge_calibrators(
    fitted: Sequence[dict[str, Any]], begin: dict[str, Any] | None, classes: Classes
) -> Calibrator:
    """Return what all models have recorded: counts add up, the most recent margins of all stay."""
    own = [_grown(each, classes) for each in fitted]
    start = None if begin is None or "_calibrator" not in begin else _grown(begin, classes)
    return join_calibrators(own, start)


def join_calibrators(own: Sequence[Calibrator], start: Calibrator | None) -> Calibrator:
    """Return the records of models of the same classes as one."""
    sums = {
        name: sum(getattr(each, name) for each in own)
        - (len(own) - 1) * (0 if start is None else getattr(start, name))
        for name in ("counts", "masses", "changes", "seen", "recorded")
    }
    ages = [np.arange(len(each.weights))[::-1] for each in own]
    if start is not None:  # margins from before they parted are in all of them: once is enough
        fresh = [min(each.recorded - start.recorded, len(each.weights)) for each in own]
        ages = [
            age if i == 0 else age[len(age) - count :]
            for i, (age, count) in enumerate(zip(ages, fresh, strict=True))
        ]
    rows = [slice(len(each.weights) - len(age), None) for each, age in zip(own, ages, strict=True)]
    order = np.argsort(-np.concatenate(ages), kind="stable")[-own[0].most :]
    margins: dict[str, Any] = {
        name: np.concatenate(
            [getattr(each, name)[part] for each, part in zip(own, rows, strict=True)]
        )[order]
        for name in MARGINS
    }
    return replace(own[-1], **margins, **sums, parameters=None, fitted_at=-1)


def _grown(fitted: dict[str, Any], classes: Classes) -> Calibrator:
    found: Calibrator = fitted["_calibrator"]
    own, settings = Classes(fitted["classes_"]), fitted["_learner"].settings
    if found.multilabel or len(own) == len(classes):
        return found
    more = replace(settings, task=classes.task)
    return found.grown(settings, more, own.among(classes), len(classes))


def merge_typical(typicals: Sequence[ReferenceRow], before: int = 0) -> ReferenceRow:
    """Return the typical example of all rows: the mean of as many samples of each model.

    ``before``: how many rows all of them have met together, until they parted.
    """
    each = max(RECENT // len(typicals), 1)
    samples = tuple(sample for one in typicals for sample in one.samples[-each:])
    met = before + sum(one.met - before for one in typicals)
    if not samples:
        return replace(typicals[0], met=met)
    return replace(typicals[0], met=met, samples=samples)._renewed()
