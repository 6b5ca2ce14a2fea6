"""The estimators on Spark, in the style of ``pyspark.ml``: partitions are learned side by side.

``from aggro.spark import AutoClassifier``, then ``AutoClassifier(featuresCol=...).fit(df)``. Only
DataFrames are used, no RDDs, as Spark Connect requires.
"""

from __future__ import annotations

try:
    import pyarrow  # noqa: F401 -- to say which extra is missing
    import pyspark  # noqa: F401 -- as above
except ModuleNotFoundError as error:
    if error.name not in ("pyarrow", "pyspark"):
        raise
    raise ModuleNotFoundError(
        "aggro.spark needs Spark: pip install 'aggro[spark]'", name=error.name
    ) from error

from aggro.spark.estimators import (
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
from aggro.spark.model import AggroModel

__all__ = [
    "AROWClassifier",
    "AROWRegressor",
    "AggroModel",
    "AutoClassifier",
    "AutoRegressor",
    "ConfidenceWeightedClassifier",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "SoftConfidenceWeightedClassifier",
    "TextClassifier",
    "TextRegressor",
]
