"""Validate X: two dimensions, floats, the columns that the model was fitted with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.learner import Array

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix."""
    return hasattr(X, "indptr") or hasattr(X, "tocsr")


def read_matrix(X: Any, name: str, *, sparse: bool = True) -> Any:
    """Return X in the format of the core, C-ordered floats or CSR, copied only if necessary.

    Parameters
    ----------
    X : array, data frame or sparse matrix
        Rows.
    name : str
        The estimator, for error messages.
    sparse : bool, default=True
        Whether sparse matrices are allowed.
    """
    X = _sparse_rows(X, name) if is_sparse(X) and sparse else _dense_rows(X, name)
    for axis, word in enumerate(("sample", "feature")):
        if X.shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {word}(s) (shape={X.shape}) while a minimum of 1 is required "
                f"by {name}."
            )
    return X


def read_columns(
    name: str,
    X: Any,
    width: int | None = None,
    known: Array | None = None,
    *,
    sparse: bool = True,
) -> tuple[Any, Array | None]:
    """Return ``read_matrix(X)`` and the names of its columns.

    Parameters
    ----------
    name : str
        The estimator, for error messages.
    X : array, data frame or sparse matrix
        Rows.
    width, known : int and array, optional
        Number and names of the columns of the first call, which X must have.
    sparse : bool, default=True
        Whether sparse matrices are allowed.
    """
    names = feature_names(X)
    if width is not None:
        _check_feature_names(name, names, known)
    X = read_matrix(X, name, sparse=sparse)
    if width is None:
        return X, names
    if X.shape[1] != width:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {width} features as input; give "
            "rows with the columns of the first call."
        )
    return X, known


def check_finite(X: Any) -> None:
    """Raise unless all values of X are finite."""
    values = X.data if hasattr(X, "indptr") else X
    if np.isfinite(values).all():
        return
    found = "NaN" if np.isnan(values).any() else f"infinity or a value too large for {values.dtype}"
    raise ValueError(f"Input X contains {found}; give finite numbers, or leave such rows out.")


def _sparse_rows(X: Any, name: str) -> Any:
    if len(X.shape) != 2:
        raise ValueError(f"Expected a 2D sparse matrix for {name}, got shape {X.shape}.")
    X = X if hasattr(X, "indptr") and getattr(X, "format", "csr") == "csr" else X.tocsr()
    _check_real(X.dtype)
    return X if X.dtype in FLOATS else X.astype(np.float64)


def _dense_rows(X: Any, name: str) -> Array:
    if is_sparse(X):
        raise TypeError(
            f"Sparse data was passed to {name}, but dense data is required; use X.toarray()."
        )
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    _check_real(array.dtype)
    if array.dtype not in FLOATS:
        array = array.astype(np.float64)
    if array.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {'1D' if array.ndim else 'scalar'} array instead: {array!r}. "
            "Reshape your data with array.reshape(-1, 1) if it has a single feature, or with "
            "array.reshape(1, -1) if it is a single sample."
        )
    if array.ndim > 2:
        raise ValueError(
            f"Found array with dim {array.ndim}, while dim <= 2 is required by {name}."
        )
    return np.ascontiguousarray(array)


def _check_real(dtype: Any) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is of type {dtype}; give real numbers.")


# -- names of features --------------------------------------------------------------------------


def _check_feature_names(name: str, names: Array | None, known: Array | None) -> None:
    if known is None and names is not None:
        warnings.warn(
            f"X has feature names, but {name} was fitted without feature names", stacklevel=5
        )
    elif known is not None and names is None:
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names",
            stacklevel=5,
        )
    elif known is not None and names is not None and names.tolist() != known.tolist():
        raise ValueError(_difference(names.tolist(), known.tolist()))


def feature_names(X: Any) -> Array | None:
    """Return the names of the columns of a data frame, if they are strings."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    types = sorted({type(each).__qualname__ for each in names})
    if types == ["str"]:
        return np.array(names, dtype=object)
    if "str" in types:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. If you want feature names to "
            "be stored and validated, you must convert them all to strings, by using "
            "X.columns = X.columns.astype(str) for example."
        )
    return None


def _difference(names: Sequence[str], known: Sequence[str]) -> str:
    """Describe how the names of the columns differ from those of the fitted model."""
    new = sorted(set(names) - set(known))
    missing = sorted(set(known) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    for title, some in (
        ("Feature names unseen at fit time", new),
        ("Feature names seen at fit time, yet now missing", missing),
    ):
        if some:
            more = ["- ..."] if len(some) > 5 else []
            message += "\n".join([f"{title}:", *(f"- {each}" for each in some[:5]), *more, ""])
    if not new and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
