"""The estimators on a Dask cluster: partitions are learned side by side, and models merged.

``from aggro.dask import PassiveAggressiveClassifier``, and give dask arrays, data frames, bags of
dicts, lists of delayed or file patterns.
"""

from __future__ import annotations

try:
    import distributed  # noqa: F401 -- to say which extra is missing
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        "aggro.dask needs Dask: pip install 'aggro[dask]'", name=error.name
    ) from error

from aggro.dask.estimators import (
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    AutoRegressor,
    ConfidenceWeightedClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    SoftConfidenceWeightedClassifier,
    TextClassifier,
    TextRegressor,
)
from aggro.dask.inputs import hashed

__all__ = [
    "AROWClassifier",
    "AROWRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "ConfidenceWeightedClassifier",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "SoftConfidenceWeightedClassifier",
    "TextClassifier",
    "TextRegressor",
    "hashed",
]
