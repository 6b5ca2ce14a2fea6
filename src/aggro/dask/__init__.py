"""The estimators on a Dask cluster: partitions are learned in parallel, and models merged.

``from aggro.dask import PassiveAggressiveClassifier``, and give dask arrays, data frames, bags of
dicts, lists of delayed or file patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import distributed  # noqa: F401 -- to report which extra is missing
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        "aggro.dask needs Dask: pip install 'aggro[dask]'", name=error.name
    ) from error

from aggro.dask.estimators import on_dask
from aggro.dask.inputs import hashed
from aggro.merging.training import ESTIMATORS

__all__ = ["hashed", *ESTIMATORS]
globals().update({name: on_dask(name) for name in ESTIMATORS})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
