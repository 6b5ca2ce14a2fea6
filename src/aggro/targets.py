"""From y to what the core learns from: class labels, indicator values, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, column_or_1d

from aggro.learner import Array
from aggro.rules import near


def check_length(y: Any, count: int) -> None:
    """Raise unless y has one entry for each row of X."""
    if len(y) != count:
        raise ValueError(
            f"X has {count} rows but y has {len(y)} (inconsistent numbers of samples); "
            "give one target for each row."
        )


def read_classes(y: Any, count: int) -> tuple[Array, bool]:
    """Return y as labels, or as an indicator matrix of doubles; and whether it is the latter."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub":
        check_length(y, count)  # whole numbers are always classes
        return y, False
    if hasattr(y, "toarray"):
        y = y.toarray()
    if np.asarray(y).dtype.kind == "f":
        assert_all_finite(np.asarray(y), input_name="y")
    if type_of_target(y, input_name="y").startswith("multilabel"):
        values = np.ascontiguousarray(np.asarray(y, dtype=np.float64))
        check_length(values, count)
        return values, True
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    check_length(y, count)
    return y, False


def read_values(y: Any, count: int) -> Array:
    """Return y as a matrix of finite doubles, one column per output."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold real numbers.")
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d or 2d array, got an array of shape {values.shape}.")
    check_length(values, count)
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity; every target must be finite.")
    return np.ascontiguousarray(values.reshape(count, -1))


def classes_of(y: Array) -> tuple[Array, Array]:
    """Return the sorted classes and the index of each label among them."""
    if y.dtype.kind in "iu" and len(y) > 0:
        low, high = int(y.min()), int(y.max())
        if high - low <= 2 * len(y):  # a table of all numbers in between beats sorting
            present = np.bincount(y - low) > 0
            place = np.cumsum(present) - 1
            return (np.flatnonzero(present) + low).astype(y.dtype), place[y - low]
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y).astype(np.int64, copy=False)


def known_labels(y: Any, classes: Array, count: int) -> Array | None:
    """Return the index of each label, if y is ``count`` numbers and all are classes; else None.

    What is a class already needs no other check, and most batches of a stream hold nothing else.
    """
    numbers = type(y) is np.ndarray and y.dtype.kind in "iubf" and classes.dtype.kind in "iubf"
    if not numbers or y.shape != (count,):
        return None
    index, known = _places(y, classes)
    return index if np.count_nonzero(known) == count else None


def _places(y: Array, classes: Array) -> tuple[Array, Array]:
    """Return where each label would stand among the sorted classes, and whether it does."""
    index = classes.searchsorted(y)
    return index.astype(np.int64, copy=False), classes.take(index, mode="clip") == y


def encode(y: Array, classes: Array) -> Array:
    """Return the index of each label among the sorted classes; raise on an unknown one."""
    try:
        index, known = _places(y, classes)
    except TypeError:
        known = np.array([False])
    if not np.all(known):
        strange = (y[~known] if np.shape(known) == np.shape(y) else y).tolist()[0]
        shown = ", ".join(repr(c) for c in classes[:10].tolist())
        more = ", ..." if len(classes) > 10 else ""
        raise ValueError(
            f"y contains the label {strange!r}, which is not one of the classes given at first: "
            f"{shown}{more}.{near(str(strange), map(str, classes.tolist()))} Leave classes out at "
            "the first partial_fit to let new ones appear."
        )
    return index


def class_weights(class_weight: Any, classes: Array, counts: Array) -> Array | None:
    """Return the weight of each class; 'balanced' from the numbers of examples seen so far."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} is not valid; give 'balanced', a dict from class "
                "to weight, or None."
            )
        seen = counts > 0
        weights = np.ones(len(classes))
        weights[seen] = counts.sum() / (seen.sum() * counts[seen])
        return weights
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r} is not valid; give 'balanced', a dict from class to "
            "weight, or None."
        )
    weights = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    strange = [c for c in class_weight if c not in classes.tolist()]
    if strange:
        raise ValueError(f"class_weight names {strange[0]!r}, which is not a class of y.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("class_weight must hold finite weights of zero or more.")
    return weights
