"""Tables of pandas and polars as rows of dicts, and predictions as columns of the same kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def rows_of_frame(X: Any) -> Iterator[dict[Hashable, Any]]:
    """Yield the rows of a table as dicts of column names to values."""
    if _is_polars(X):
        yield from X.iter_rows(named=True)
    elif hasattr(X, "columns") and hasattr(X, "iloc"):
        names = list(X.columns)
        columns = [X.iloc[:, j].tolist() for j in range(len(names))]
        for i in range(len(X)):
            yield {name: column[i] for name, column in zip(names, columns, strict=True)}
    else:
        raise TypeError(f"X is a {type(X).__name__}; give a table of pandas or polars.")


def values_of(column: Any, name: str, count: int) -> list[Any]:
    """Return a column, an array or any sequence as a list of ``count`` values."""
    if hasattr(column, "to_list"):
        values = column.to_list()
    else:
        values = column.tolist() if hasattr(column, "tolist") else list(column)
    if len(values) != count:
        raise ValueError(f"X has {count} rows but {name} has {len(values)}; give one for each row.")
    return list(values)


def column_like(X: Any, values: Iterable[Any]) -> Any:
    """Return the values as a column beside X."""
    if _is_polars(X):
        import polars

        return polars.Series(list(values))
    import pandas

    return pandas.Series(list(values), index=X.index)


def table_like(X: Any, rows: list[dict[Any, float]]) -> Any:
    """Return the rows as a table beside X; polars wants text for the names of columns."""
    if _is_polars(X):
        import polars

        return polars.DataFrame([{str(name): value for name, value in row.items()} for row in rows])
    import pandas

    return pandas.DataFrame(rows, index=X.index)
