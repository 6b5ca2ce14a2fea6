"""Texts in partitions, as the tables that models of texts learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.io.batch import joined_rows
from aggro.merging.blocks import Block
from aggro.text.table import Table, table_of, table_of_rows


def table_of_texts(X: Any, columns: Any) -> Table:
    """Return the texts of a partition; ``columns`` says what is in each column."""
    return table_of(listed(X), columns or None)


def listed(X: Any) -> Any:
    """Return texts that come one by one as a list; columns and frames stay."""
    return X if hasattr(X, "shape") else list(X)


def read_texts(path: str, options: dict[str, Any]) -> Block:
    """Return all texts of a file."""
    import aggro

    columns, text = options.pop("columns"), options.pop("text", None)
    if not columns and not isinstance(text, str):
        raise ValueError("Which column holds texts? Name it: fit(pattern, label=..., text=...).")
    kinds = columns or {text: "text"}
    batches = list(aggro.io.read(path, columns=kinds, **options).without_scipy().raw())
    if not batches:
        return Block(Table([], count=0), np.empty(0))
    raw = joined_rows([batch.X for batch in batches])
    y = np.concatenate([batch.y for batch in batches])
    votes = [batch.weights for batch in batches if batch.weights is not None]
    return Block(table_of_rows(raw), y, np.concatenate(votes) if votes else None)
