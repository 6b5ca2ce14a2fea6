"""Columns of a Spark data frame, as the blocks that estimators learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aggro.learner import Array
from aggro.merging.blocks import Block, Failed
from aggro.text.table import table_of

DENSE = 1  # the type of a dense vector of pyspark.ml


@dataclass(frozen=True)
class Columns:
    """Which columns hold features or texts, targets and weights."""

    features: str | Sequence[str]
    label: str = "label"
    weight: str | None = None
    text: bool = False
    kinds: Mapping[str, str] | None = None  # of the columns of texts, if there are several

    @property
    def names(self) -> list[str]:
        """The columns that predictions need."""
        if self.kinds:
            return list(self.kinds)
        return [self.features] if isinstance(self.features, str) else list(self.features)

    def inputs(self, frame: Any) -> list[Any]:
        """Return these columns of a data frame in a form that Arrow knows."""
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql import functions as F

        vectors = {each.name for each in frame.schema if isinstance(each.dataType, VectorUDT)}
        return [F.unwrap_udt(name) if name in vectors else F.col(name) for name in self.names]

    def select(self, frame: Any) -> Any:
        """Return a data frame of features, targets and weights alone."""
        from pyspark.sql import functions as F

        chosen = [each.alias(f"x{i}") for i, each in enumerate(self.inputs(frame))]
        chosen.append(F.col(self.label).alias("y"))
        if self.weight:
            chosen.append(F.col(self.weight).cast("double").alias("w"))
        return frame.select(*chosen)

    def read(self, batches: Iterable[Any]) -> Block | Failed:
        """Return all batches of a partition as a block, or why they cannot be read."""
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return Block(np.empty((0, 0)), np.empty(0))
        table = pa.Table.from_batches(found)
        try:
            rows = self.rows([table[f"x{i}"] for i in range(len(self.names))])
            weights = table["w"].to_numpy() if self.weight else None
            return Block(rows, _targets(table["y"], self.label), weights)
        except (ValueError, TypeError) as error:
            return Failed(str(error))

    def rows(self, columns: Sequence[Any]) -> Any:
        """Return rows as an estimator takes them."""
        if self.text:
            named = dict(zip(self.names, columns, strict=True))
            return table_of(named if self.kinds else columns[0], self.kinds)
        for name, column in zip(self.names, columns, strict=True):
            if column.null_count:
                raise ValueError(f"column {name!r} contains null; fill it, or leave the row out.")
        if not isinstance(self.features, str):
            return np.column_stack([_numbers(column) for column in columns])
        column = columns[0]
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # older pyarrow
            column = pa.concat_arrays(column.chunks)
        return _vectors(column) if pa.types.is_struct(column.type) else _lists(column)


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _lists(column: Any) -> Array:
    """Return arrays of numbers, one for each row, as dense rows."""
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if (lengths != lengths[0]).any():
        raise ValueError("The arrays of features differ in length; give as many numbers in each.")
    values = _numbers(column.flatten())
    return np.ascontiguousarray(values.reshape(len(column), -1))


def _vectors(column: Any) -> Any:
    """Return vectors of pyspark.ml: dense rows if all are dense, else CSR."""
    dense = column.field("type").to_numpy(zero_copy_only=False) == DENSE
    values = column.field("values")
    if dense.all():
        return _lists(values)
    from scipy.sparse import csr_matrix

    lengths = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.append(0, lengths.cumsum())
    sparse = np.repeat(~dense, lengths)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)  # of dense rows
    places[sparse] = column.field("indices").flatten().to_numpy(zero_copy_only=False)
    sizes = column.field("size").fill_null(0).to_numpy(zero_copy_only=False)
    width = int(max(sizes.max(), lengths[dense].max(initial=0)))
    found = csr_matrix((_numbers(values.flatten()), places, ends), shape=(len(column), width))
    found.sort_indices()
    return found


def _targets(column: Any, name: str) -> Array:
    if column.null_count:
        raise ValueError(f"column {name!r} contains null; leave these rows out.")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy())
