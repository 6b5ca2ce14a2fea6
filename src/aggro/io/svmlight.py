"""Whole svmlight / libsvm files in memory."""

from __future__ import annotations

import os
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from aggro.io import labels as label_arrays
from aggro.io import lines
from aggro.io.batch import Report
from aggro.io.errors import ReadingError, naming
from aggro.io.matrix import SparseRows
from aggro.io.options import Options, as_dtype
from aggro.io.sources import PathLike, check_not_packed, open_bytes


def load_svmlight(
    path: PathLike | IO[bytes],
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    multilabel: bool = False,
    *,
    labels: Literal["auto", "number", "text"] = "number",
    query_id: bool = False,
) -> tuple[Any, ...]:
    r"""Read an svmlight file as (X, y), as `sklearn.datasets.load_svmlight_file` does, but faster.

    Repeated indices of a line are summed and unsorted ones sorted, which scikit-learn refuses; NaN
    and infinity are refused. Index arrays are int32 where they fit. With `query_id`, a third array
    holds the qid of each row, -1 where a line has none.

    >>> import io
    >>> from aggro.io import load_svmlight
    >>> X, y = load_svmlight(io.BytesIO(b"1 1:0.5 3:2\n-1 2:1 # a comment\n"))
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    options = Options(
        format="svmlight",
        labels=labels,
        multilabel=multilabel,
        dtype=as_dtype(dtype),
        n_features=n_features,
        zero_based=zero_based,
    )
    report = Report()
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        check_not_packed(name)
        with naming(name), open_bytes(name) as stream:
            parsed = lines.load(stream, name, options, report)
    else:
        name = str(getattr(path, "name", "stream"))
        parsed = lines.load(path, name, options, report)
    width = _width(parsed, n_features, name)
    arrays = (parsed["values"], parsed["indices"], parsed["indptr"])
    shape = (len(parsed["indptr"]) - 1, width)
    X = SparseRows(*arrays, shape, is_sorted=parsed["sorted"]).to_scipy()
    X.sort_indices()
    result = (X, label_arrays.as_array(parsed))
    return (*result, parsed["queries"]) if query_id else result


def _width(parsed: dict[str, Any], n_features: int | None, name: str) -> int:
    needed = max(int(parsed["largest"]) + 1, 1)
    if n_features is not None and n_features < needed:
        raise ReadingError(
            name,
            f"n_features={n_features}, but the file has {needed} features",
            "; raise {n_features}, or leave it out",
        )
    return n_features or needed
