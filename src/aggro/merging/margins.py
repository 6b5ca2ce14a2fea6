"""Recorded margins and reference rows of several models as those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.recorder import Recorder
from aggro.reference_row import RECENT, ReferenceRow

MARGINS = ("scores", "centres", "labels", "weights")
SUMS = ("counts", "masses", "changes", "seen", "recorded")


def join_calibrators(own: Sequence[Calibrator], start: Calibrator | None) -> Calibrator:
    """Return the records of models of the same classes as one: counts add, recent margins stay."""
    sums = {
        name: sum(getattr(each, name) for each in own)
        - (len(own) - 1) * (0 if start is None else getattr(start, name))
        for name in SUMS
    }
    counts = [len(each.weights) for each in own]
    if start is not None:  # all models have the margins of the start: once is enough
        fresh = [min(each.recorded - start.recorded, len(each.weights)) for each in own]
        counts[1:] = fresh[1:]
    ages = np.concatenate([np.arange(count)[::-1] for count in counts])
    order = np.argsort(-ages, kind="stable")[-own[0].most :]
    margins: dict[str, Any] = {}
    for name in MARGINS:
        arrays = [getattr(each, name) for each in own]
        recent = [array[len(array) - n :] for array, n in zip(arrays, counts, strict=True)]
        margins[name] = np.concatenate(recent)[order]
    return replace(own[-1], **margins, **sums, parameters=None, fitted_at=-1)


def join_references(rows: Sequence[ReferenceRow], before: int = 0) -> ReferenceRow:
    """Return the reference row of all rows: the mean of equally many samples of each model.

    ``before``: the number of rows of their common start.
    """
    each = max(RECENT // len(rows), 1)
    samples = tuple(sample for one in rows for sample in one.samples[-each:])
    met = before + sum(one.met - before for one in rows)
    if not samples:
        return replace(rows[0], met=met)
    return replace(rows[0], met=met, samples=samples)._renewed()


def join_recorders(own: Sequence[Recorder], start: Recorder | None) -> Recorder:
    """Return the records of several models as one."""
    calibrators, rows = [each.calibrator for each in own], [each.reference for each in own]
    calibrator = join_calibrators(calibrators, None if start is None else start.calibrator)
    known = 0 if start is None or start.reference is None else start.reference.met
    reference = join_references([row for row in rows if row is not None], known)
    return Recorder(calibrator, reference)
