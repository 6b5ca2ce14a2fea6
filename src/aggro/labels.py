"""Validation of labels: numbers, booleans or text, of the same kind in all calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
KINDS = {"i": "numbers", "u": "numbers", "f": "numbers", "b": "True and False", "U": "text"}
TYPES = {bool: "True and False", int: "numbers", float: "numbers", str: "text"}
SEVERAL = "For several labels give an indicator matrix, or, to text estimators, a set for each row."
MISSING = ("NAType", "NaTType")  # of pandas, which may not be installed


def kind_of(labels: Array) -> str:
    """Return the kind of labels: numbers, True and False, or text (also as objects).

    >>> kind_of(np.array(["a", "b"], dtype=object)), kind_of(np.array([1.0]))
    ('text', 'numbers')
    """
    return KINDS.get(labels.dtype.kind, "text")


def plain_labels(y: Any, name: str = "y") -> Array:
    """Return labels as an array of numbers, booleans or text; reject missing and mixed ones.

    >>> plain_labels(np.array([2, 1], dtype=object))
    array([2, 1])
    """
    try:
        array = np.asarray(y)
    except ValueError:  # rows of different lengths
        raise ValueError(
            f"{name} has rows of different lengths; give one label for each row. {SEVERAL}"
        ) from None
    if array.dtype.kind == "f":  # model files have no half or long precision
        return array.astype(np.float64) if array.dtype.itemsize not in (4, 8) else array
    if array.dtype.kind in "iub" or (type(y) is np.ndarray and array.dtype.kind == "U"):
        return array
    if array.dtype.kind in "UT":  # NumPy converts a list of text and numbers to text
        items = y if isinstance(y, (list, tuple)) and array.ndim == 1 else array.ravel().tolist()
        _kind_of_items(items, name, 1)
        return array if array.dtype.kind == "U" else np.array(items).reshape(array.shape)
    if array.dtype.kind != "O":
        raise ValueError(
            f"{name} is of type {array.dtype}; give labels that are whole numbers, True and False, "
            "or text."
        )
    items = [item.item() if isinstance(item, np.generic) else item for item in array.ravel()]
    if _kind_of_items(items, name, max(array.size // max(len(array), 1), 1)) == "text":
        return array
    numbers = np.array(items).reshape(array.shape)
    if numbers.dtype.kind == "O":
        raise ValueError(f"{name} holds whole numbers that do not fit 64 bits; give smaller ones.")
    return numbers


def _kind_of_items(items: Sequence[Any], name: str, columns: int) -> str:
    """Return the kind of all labels; raise if one is missing, unsupported or of another kind."""
    kind = ""
    for place, item in enumerate(items):
        row = place // columns
        missing = item is None or type(item).__name__ in MISSING
        if missing or (isinstance(item, float) and item != item):
            raise ValueError(
                f"{name} contains a missing label, {item!r} (row {row}); NaN, None and NA are no "
                "classes: leave such rows out, or name the class."
            )
        found = next((kind for cls, kind in TYPES.items() if isinstance(item, cls)), "")
        if not found:
            raise ValueError(
                f"{name} contains {item!r} of type {type(item).__name__} (row {row}); give labels "
                f"that are whole numbers, True and False, or text. {SEVERAL}"
            )
        if kind and found != kind:
            raise ValueError(
                f"{name} mixes {kind} and {found}, such as {items[0]!r} and {item!r} (row {row}); "
                "give labels of one kind."
            )
        kind = found
    return kind


def label_sets(y: Any, name: str = "y") -> Array | None:
    """Return a sequence of sets of labels as an array of objects; None if y has no sets.

    >>> label_sets([{"a"}, set()]).tolist(), label_sets(["a", "b"])
    ([{'a'}, set()], None)
    """
    if y is None or getattr(y, "dtype", None) not in (None, object) or hasattr(y, "indptr"):
        return None
    items = list(y)
    if not any(isinstance(item, (set, frozenset)) for item in items[:1]):
        return None
    for row, item in enumerate(items):
        if not isinstance(item, (set, frozenset)):
            raise ValueError(
                f"{name} mixes sets of labels and single labels, such as {items[0]!r} and {item!r} "
                f"(row {row}); give a set for each row."
            )
    sets = np.empty(len(items), dtype=object)
    sets[:] = items
    return sets


def are_sets(labels: Array) -> bool:
    """Return whether labels that were read are sets."""
    return len(labels) > 0 and isinstance(labels[0], (set, frozenset))


def check_same_kind(labels: Array, classes: Array, name: str = "y") -> None:
    """Raise unless labels are of the kind of the classes."""
    kind, known = kind_of(labels), kind_of(classes)
    if kind != known:
        raise ValueError(
            f"{name} holds {kind}, such as {labels.tolist()[0]!r}, but the classes so far are "
            f"{known}: {shown(classes)}. Give labels of one kind in all calls."
        )


def shown(classes: Array) -> str:
    """Return the first classes, for a message."""
    more = ", ..." if len(classes) > 10 else ""
    return ", ".join(map(repr, classes[:10].tolist())) + more


def sorted_classes(classes: Any, name: str = "classes") -> Array:
    """Return the given classes, sorted and distinct."""
    labels = plain_labels(classes, name)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name}={classes!r} holds NaN or infinity, which is no class.")
    return np.unique(labels)


def united(classes: Array, new: Array) -> Array:
    """Return the sorted classes, old and new, in the type of the old ones if possible.

    >>> united(np.array(["b", "d"]), np.array(["c"], dtype=object))
    array(['b', 'c', 'd'], dtype='<U1')
    """
    check_same_kind(new, classes)
    if kind_of(classes) == "text":
        return np.union1d(classes, new.astype(str if classes.dtype.kind == "U" else object))
    if classes.dtype.kind in "iu" and new.dtype.kind == "f" and np.abs(new).max() < 2**63:
        new = new.astype(np.int64)  # 3.0 is class 3
    combined = np.union1d(classes, new)
    if combined.dtype.kind != "f" or "f" in (classes.dtype.kind, new.dtype.kind):
        return combined
    whole = sorted({*classes.tolist(), *new.tolist()})  # int64 and uint64 would become doubles
    if whole[0] < 0 and whole[-1] >= 2**63:
        raise ValueError(
            f"The labels {whole[0]} and {whole[-1]} do not fit one type of whole numbers; give "
            "labels below 2**63."
        )
    return np.array(whole, dtype=np.uint64 if whole[-1] >= 2**63 else np.int64)


def places(y: Array, classes: Array) -> tuple[Array, Array]:
    """Return the position of each label among the sorted classes, and whether it is one of them."""
    if y.dtype != classes.dtype:
        if (kind_of(y) == "text") != (kind_of(classes) == "text"):
            return np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=bool)
        if {y.dtype.kind, classes.dtype.kind} == {"i", "u"}:  # doubles would lose digits
            y, classes = y.astype(object), classes.astype(object)
    index = classes.searchsorted(y)
    known = np.asarray(classes.take(index, mode="clip") == y, dtype=bool)
    return index.astype(np.int64, copy=False), known


def joined(classes: Array, y: Array) -> Array:
    """Return the sorted union of the classes and the labels."""
    new = y[~places(y, classes)[1]]
    return united(classes, new) if len(new) else classes


def chosen(scores: Array, classes: int) -> Array:
    """Return the number of the predicted class of each row of scores; ties go to the first.

    >>> chosen(np.array([[0.2], [-1.0]]), 2), chosen(np.array([[0.2]]), 1)  # one class is known
    (array([1, 0]), array([0]))
    """
    index = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.minimum(index.astype(np.intp, copy=False), classes - 1)
