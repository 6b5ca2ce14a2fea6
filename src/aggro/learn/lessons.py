"""What comes with the rows of a lesson, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.learn.learner import Array


def as_numbers(values: Any, name: str) -> Array:
    """Return values as doubles; raise with their name if they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from None


def read_weights(sample_weight: Any, count: int, each: str = "row") -> Array | None:
    """Return one weight for each row (or text); one number counts for all, None means none."""
    if sample_weight is None:
        return None
    weights = as_numbers(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({count},): one for each {each}."
        )
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(
            f"sample_weight contains NaN or infinity (row {row}: {weights[row]}); give finite "
            "weights."
        )
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight contains a negative weight (row {row}: {weights[row]}); weights "
            "multiply C and must be zero or more."
        )
    return weights
