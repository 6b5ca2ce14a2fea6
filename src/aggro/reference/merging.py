"""Rules for merging models that were trained separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def by_update_counts(
    start: Array,
    ends: Sequence[Array],
    counts: Sequence[Array],
    damping: float = 0.0,
    relaxation: float = 0.0,
) -> Array:
    """Return start + Σ n_s (w_s − start) / Σ n_s for each weight; start if all n_s are 0.

    n_s is the number of updates of the weight in model s, or the precision that it gained. If m of
    S models have updated the weight, the change is multiplied by (m / S)^damping (1 + relaxation (1
    - 1/m)).

    >>> import numpy as np
    >>> from aggro.reference import by_update_counts
    >>> start, ends = np.zeros(2), [np.array([1.0, 0.0]), np.array([3.0, 2.0])]
    >>> by_update_counts(start, ends, [np.array([1, 0]), np.array([3, 1])])
    array([2.5, 2. ])
    """
    merged = np.array(start, dtype=np.float64)
    for place in np.ndindex(merged.shape):
        total = sum(float(n[place]) for n in counts)
        if total > 0:
            pairs = zip(ends, counts, strict=True)
            total_change = sum(float(n[place]) * float(w[place] - start[place]) for w, n in pairs)
            met = sum(float(n[place]) > 0 for n in counts)
            length = (met / len(counts)) ** damping * (1 + relaxation * (1 - 1 / met))
            merged[place] += length * total_change / total
    return merged


def by_information(
    start: Array, ends: Sequence[Array], before: Array, after: Sequence[Array]
) -> Array:
    """Return start + Σ Q_s (w_s − start) / (Q_0 + Σ (Q_s − Q_0)): independent samples of one truth.

    Q_0 is the precision of each weight at the start, Q_s that of model s at its end.

    >>> import numpy as np
    >>> from aggro.reference import by_information
    >>> ends, after = [np.array([1.0]), np.array([3.0])], [np.array([2.0]), np.array([2.0])]
    >>> by_information(np.zeros(1), ends, np.ones(1), after).round(2)
    array([2.67])
    """
    gained = sum(q - before for q in after)
    total_change = sum(q * (w - start) for w, q in zip(ends, after, strict=True))
    return np.asarray(start + total_change / (before + gained))


def by_matrix(start: Array, ends: Sequence[Array], before: Array, after: Sequence[Array]) -> Array:
    """Return the same for a full metric, whose precisions are matrices over all weights.

    >>> import numpy as np
    >>> from aggro.reference import by_matrix
    >>> ends, after = [np.array([1.0]), np.array([3.0])], [2 * np.eye(1), 2 * np.eye(1)]
    >>> by_matrix(np.zeros(1), ends, np.eye(1), after).round(2)
    array([2.67])
    """
    gained = sum(q - before for q in after)
    total_change = sum(q @ (w - start) for w, q in zip(ends, after, strict=True))
    return np.asarray(start + np.linalg.solve(before + gained, total_change))


def moments_of(samples: Sequence[Array]) -> tuple[int, Array, Array]:
    """Return the number of rows, their means and squared distances: of all samples together.

    >>> import numpy as np
    >>> from aggro.reference import moments_of
    >>> moments_of([np.array([[1.0], [2.0]]), np.array([[3.0]])])
    (3, array([2.]), array([2.]))
    """
    rows = np.concatenate(samples)
    return len(rows), rows.mean(axis=0), ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
