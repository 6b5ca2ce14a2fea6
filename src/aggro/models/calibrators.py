"""Recorded margins (``probability=True``) in a model file, and what they must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.calibration import Calibrator
from aggro.models.errors import ModelFileError
from aggro.models.values import Array, Arrays, decode, encode

TYPES = {"scores": np.float32, "centres": np.float32, "labels": np.int32, "weights": np.float32}
FACTS = {"classes": int, "multilabel": bool, "seen": int, "fitted_at": int}


def encode_calibrator(calibrator: Calibrator, where: str, arrays: Arrays) -> Any:
    """Return the margins as plain values; arrays go to ``arrays``."""
    return encode(dict(vars(calibrator)), where, arrays)


def decode_calibrator(given: Any, arrays: Arrays) -> Calibrator:
    """Return the margins, or raise if their parts do not fit together."""
    parts = decode(given, arrays)
    if not isinstance(parts, dict) or parts.keys() != Calibrator.__dataclass_fields__.keys():
        raise ModelFileError("the recorded margins have wrong parts")
    calibrator = Calibrator(**parts)
    check_calibrator(calibrator)
    return calibrator


def check_calibrator(found: Calibrator) -> None:
    """Raise unless all parts are of the right kind and fit together."""
    if any(type(getattr(found, name)) is not kind for name, kind in FACTS.items()):
        raise ModelFileError("the recorded margins have wrong counts")
    if found.classes < 1 or not (_shapes_fit(found) and _values_fit(found)):
        raise ModelFileError("the recorded margins do not fit together")


def _shapes_fit(found: Calibrator) -> bool:
    rows = len(found.weights)
    empty = Calibrator.empty(found.classes, found.multilabel)
    fits = all(
        getattr(found, name).dtype == kind
        and getattr(found, name).shape == (rows, *getattr(empty, name).shape[1:])
        for name, kind in TYPES.items()
    )
    return fits and (found.parameters is None or _is_map(found.parameters, found))


def _is_map(parameters: Array, found: Calibrator) -> bool:
    """Tell whether there is a row of parameters for each question that the model answers."""
    questions, answers = (found.classes, 2) if found.multilabel else (1, found.classes)
    right = parameters.shape == (questions, 5 * answers + 2) and parameters.dtype == np.float64
    return right and bool((parameters[:, -1] > 0).all())


def _values_fit(found: Calibrator) -> bool:
    highest = 2 if found.multilabel else found.classes
    numbers = [found.scores, found.centres, found.weights]
    numbers += [] if found.parameters is None else [found.parameters]
    return (
        all(bool(np.isfinite(part).all()) for part in numbers)
        and bool((found.weights > 0).all())
        and bool(((found.labels >= 0) & (found.labels < highest)).all())
        and found.seen >= len(found.weights)
    )
