"""Calibrators and reference rows in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.persistence.container import ModelFileError
from aggro.persistence.values import Arrays, decode, encode
from aggro.reference_row import RECENT, ReferenceRow

TYPES = {"scores": np.float32, "centres": np.float32, "labels": np.int32, "weights": np.float32}
TALLIES = {"counts": np.int64, "masses": np.float64, "changes": np.int64, "latest": np.int32}
FACTS = {"classes": int, "multilabel": bool, "seen": int, "recorded": int}
PARTS = (*TYPES, *TALLIES, *FACTS)


def encode_calibrator(calibrator: Calibrator, where: str, arrays: Arrays) -> Any:
    """Return the margins as plain values; add arrays to ``arrays``."""
    return encode({name: getattr(calibrator, name) for name in PARTS}, where, arrays)


def decode_calibrator(given: Any, arrays: Arrays) -> Calibrator:
    """Return the margins, or raise if their parts are inconsistent."""
    parts = decode(given, arrays)
    if not isinstance(parts, dict) or parts.keys() != set(PARTS):
        raise ModelFileError("the recorded margins have wrong parts")
    calibrator = Calibrator(**{name: parts[name] for name in PARTS})
    check_calibrator(calibrator)
    return calibrator


def encode_typical(typical: ReferenceRow, where: str, arrays: Arrays) -> Any:
    """Return the reference row as plain values; add arrays to ``arrays``."""
    rows = ((typical.mean, typical.features), *typical.samples)
    data, indices = (np.concatenate(part) for part in zip(*rows, strict=True))
    ends = np.cumsum([len(values) for values, _ in rows])
    parts = {"met": typical.met, "data": data, "indices": indices, "ends": ends}
    return encode(parts, where, arrays)


def decode_typical(given: Any, arrays: Arrays) -> ReferenceRow:
    """Return the reference row, or raise if its parts are inconsistent."""
    parts = decode(given, arrays)
    met, data, indices, ends = (parts[name] for name in ("met", "data", "indices", "ends"))
    fits = type(met) is int and met >= 0 and 0 < len(ends) <= RECENT + 1
    fits &= data.dtype == np.float64 and indices.dtype == ends.dtype == np.int64
    fits &= data.ndim == ends.ndim == 1 and data.shape == indices.shape
    fits &= bool((np.diff(ends, prepend=0) >= 0).all()) and bool(ends[-1] == len(data))
    if not (fits and np.isfinite(data).all() and (indices >= 0).all()):
        raise ModelFileError("the reference row is inconsistent")
    data, indices = (np.split(part, ends[:-1]) for part in (data, indices))
    samples = tuple(zip(data[1:], indices[1:], strict=True))
    return ReferenceRow(met, data[0], indices[0], samples)


def check_calibrator(found: Calibrator) -> None:
    """Raise unless all parts have the right type and are consistent."""
    if any(type(getattr(found, name)) is not kind for name, kind in FACTS.items()):
        raise ModelFileError("the recorded margins have wrong counts")
    if found.classes < 1 or not (_shapes_fit(found) and _values_fit(found)):
        raise ModelFileError("the recorded margins are inconsistent")


def _shapes_fit(found: Calibrator) -> bool:
    rows = len(found.weights)
    empty = Calibrator.empty(found.classes, found.multilabel)
    fits = all(
        getattr(found, name).dtype == kind
        and getattr(found, name).shape == (rows, *getattr(empty, name).shape[1:])
        for name, kind in TYPES.items()
    )
    fits &= all(
        getattr(found, name).dtype == kind
        and getattr(found, name).shape == getattr(empty, name).shape
        for name, kind in TALLIES.items()
    )
    return fits


def _values_fit(found: Calibrator) -> bool:
    highest = 2 if found.multilabel else found.classes
    numbers = [found.scores, found.centres, found.weights, found.masses]
    return (
        all(bool(np.isfinite(part).all()) for part in numbers)
        and bool((found.weights > 0).all())
        and bool(((found.labels >= 0) & (found.labels < highest)).all())
        and all(bool((part >= 0).all()) for part in (found.counts, found.masses, found.changes))
        and bool(((found.latest >= -1) & (found.latest < highest)).all())
        and found.seen >= found.recorded >= len(found.weights)
    )
