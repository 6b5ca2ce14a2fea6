"""The estimators on Spark, in the style of ``pyspark.ml``: partitions are learned in parallel.

``from aggro.spark import AutoClassifier``, then ``AutoClassifier(featuresCol=...).fit(df)``. Only
DataFrames are used, no RDDs, as Spark Connect requires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import pyarrow  # noqa: F401 -- to report which extra is missing
    import pyspark  # noqa: F401 -- as above
except ModuleNotFoundError as error:
    if error.name not in ("pyarrow", "pyspark"):
        raise
    raise ModuleNotFoundError(
        "aggro.spark needs Spark: pip install 'aggro[spark]'", name=error.name
    ) from error

from aggro.merging.training import ESTIMATORS
from aggro.spark.estimators import on_spark
from aggro.spark.model import AggroModel

__all__ = ["AggroModel", *ESTIMATORS]
globals().update({name: on_spark(name) for name in ESTIMATORS})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
