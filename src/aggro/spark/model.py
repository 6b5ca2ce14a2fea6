"""A fitted model as a transformer of Spark."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.base import Model
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from aggro.persistence.container import parse
from aggro.persistence.record import bytes_of, parse_record
from aggro.persistence.store import model_of, record_of
from aggro.spark.columns import Columns

STORED = "columns string, model binary"
KINDS = {"U": "string", "f": "double", "b": "boolean"}  # of classes; whole numbers are long


class AggroModel(Model):
    """A fitted model: ``transform`` adds predictions to a data frame.

    Attributes
    ----------
    local : estimator
        The plain estimator, which needs no Spark.
    history : list of dict
        Rows, seconds and progressive error of each round; empty for a model that was loaded.
    """

    def __init__(
        self, local: Any, columns: dict[str, Any], history: list[dict[str, Any]] | None = None
    ) -> None:
        super().__init__()
        self.local, self.columns, self.history = local, columns, history or []

    def _transform(self, dataset: Any) -> Any:
        reading = columns_of(self.columns, self.local)
        inputs, local = reading.inputs(dataset), self.local
        named = {self.columns["predictionCol"]: _asked(local, "predict", reading)(*inputs)}
        if probability := self.columns["probabilityCol"]:
            found = _asked(local, "predict_proba", reading)(*inputs)
            named[probability] = array_to_vector(found)
        return dataset.withColumns(named)

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``explain`` of the plain estimator, of one text or one row."""
        return self.local.explain(*args, **kwargs)

    # -- files ---------------------------------------------------------------------------------

    def write(self) -> ModelWriter:
        """Return a writer: ``model.write().overwrite().save(path)``."""
        return ModelWriter(self)

    def save(self, path: str) -> None:
        """Write the model to a path of any file system that Spark knows."""
        self.write().save(path)

    @classmethod
    def load(cls, path: str) -> AggroModel:
        """Read a model that ``save`` has written."""
        row = SparkSession.builder.getOrCreate().read.schema(STORED).parquet(path).collect()[0]
        return cls(from_bytes(bytes(row.model)), json.loads(row.columns))


class ModelWriter:
    """Writes a model as a Parquet file of one row."""

    def __init__(self, model: AggroModel) -> None:
        self.model, self.mode = model, "error"

    def overwrite(self) -> ModelWriter:
        """Replace what is at the path."""
        self.mode = "overwrite"
        return self

    def save(self, path: str) -> None:
        """Write the model."""
        row = (json.dumps(self.model.columns), bytearray(to_bytes(self.model.local)))
        frame = SparkSession.builder.getOrCreate().createDataFrame([row], STORED)
        frame.coalesce(1).write.mode(self.mode).parquet(path)


def columns_of(params: dict[str, Any], local: Any) -> Columns:
    """Return which columns an estimator reads."""
    text, kinds = "textCol" in params, getattr(local, "columns", None)
    features = params["textCol"] if text else params["featuresCol"]
    return Columns(features, params["labelCol"], params["weightCol"], text, kinds or None)


def to_bytes(model: Any) -> bytes:
    """Return the content of the model's file."""
    return bytes_of(record_of(model))


def from_bytes(content: bytes) -> Any:
    """Return the model of a file's content."""
    return model_of(parse_record(*parse(content, "the model")))


def _asked(local: Any, method: str, reading: Columns) -> Any:
    """Return a function of columns that asks a model row by row."""
    kind = "array<double>" if method == "predict_proba" else _kind_of(local)

    def answers(*columns: pa.Array) -> pa.Array:
        if not len(columns[0]):
            return pa.array([], pa.null()).cast(ARROW[kind])
        found = np.asarray(getattr(local, method)(reading.rows(columns)))
        return pa.array(found.tolist(), ARROW[kind])

    function: Any = arrow_udf  # its overloads know no plain function of several columns
    return function(answers, kind)


ARROW = {
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "long": pa.int64(),
    "array<double>": pa.list_(pa.float64()),
}


def _kind_of(local: Any) -> str:
    """Return the type of predictions: that of the classes, or double."""
    classes = getattr(local, "classes_", None)
    if classes is None:
        return "double"
    if classes.dtype.kind == "O":
        return "string"
    return KINDS.get(classes.dtype.kind, "long")
