"""The order in which models are merged follows from their content, not from how they were listed.

Floating-point sums and ties depend on the order of their terms. With one canonical order,
``merge([a, b])`` and ``merge([b, a])`` are the same model, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator


def in_canonical_order(
    models: Sequence[Any], weights: Sequence[float] | None, content: Callable[[Any], Any]
) -> tuple[list[Any], list[float]]:
    """Return models and weights: those with the most examples first, equal ones by their content.

    Each model has ``examples``; ``content`` returns everything that makes up one.
    """
    given = [1.0] * len(models) if weights is None else list(map(float, weights))
    pairs = sorted(
        zip(models, given, strict=True),
        key=lambda pair: (-pair[0].examples, digest(content(pair[0])), pair[1]),
    )
    return [model for model, _ in pairs], [weight for _, weight in pairs]


def that_learned(
    models: Sequence[Any], weights: Sequence[float], start: Any
) -> tuple[list[Any], list[float]]:
    """Return the models that have learned since the start, and their weights.

    A model that has learned nothing since is the neutral element: it has no vote and does not
    count as a model. If all are such, the first one stands for them.
    """
    before = 0 if start is None else start.examples
    count = sum(model.examples > before for model in models) or 1  # most examples come first
    return list(models[:count]), list(weights[:count])


def digest(value: Any) -> bytes:
    """Return a hash of plain values, arrays and objects made of them; equal content, equal hash.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(2)}) != digest({"a": np.ones(2)})
    True
    """
    found = hashlib.sha256()
    _feed(found.update, value)
    return found.digest()


def _feed(update: Callable[[bytes | memoryview], None], value: Any) -> None:
    """Hash a value: its type and size first, so that neighbours cannot be confused."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Calibrator):  # predicting caches the map that it fits
        value = replace(value, parameters=None, fitted_at=-1)
    if isinstance(value, np.ndarray) and value.dtype != object:
        update(f"{value.dtype.str}{value.shape}".encode())
        update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    elif isinstance(value, (list, tuple, np.ndarray)):
        update(f"{type(value).__name__}{len(value)}".encode())
        for each in value:
            _feed(update, each)
    elif isinstance(value, dict):
        update(f"dict{len(value)}".encode())
        for each in value.items():
            _feed(update, each)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        update(type(value).__name__.encode())
        state = value.__getstate__() if hasattr(value, "__setstate__") else vars(value)
        _feed(update, state)
    else:
        update(f"{type(value).__name__}{value!r}".encode("utf-8", "surrogatepass"))
