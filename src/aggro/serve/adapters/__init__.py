"""Adapters between the server and each kind of model: dict streams, arrays, texts.

An adapter reads the features of a request, predicts, learns and explains. Everything else in the
server is the same for every model. A new kind of model is a class here and a row of ``ADAPTERS``.
"""

from __future__ import annotations

from typing import Any

from aggro.persistence.record import CLASSIFIERS, KERNELS, REGRESSORS
from aggro.serve.adapters.arrays import ArrayAdapter
from aggro.serve.adapters.base import Adapter, Decomposition, Output
from aggro.serve.adapters.streams import StreamAdapter
from aggro.serve.adapters.texts import TextAdapter

__all__ = [
    "ADAPTERS",
    "Adapter",
    "ArrayAdapter",
    "Decomposition",
    "Output",
    "StreamAdapter",
    "TextAdapter",
    "adapter_for",
]

ADAPTERS: dict[str, type[Adapter]] = {
    **dict.fromkeys(("StreamClassifier", "StreamRegressor"), StreamAdapter),
    **dict.fromkeys((*CLASSIFIERS, *REGRESSORS, *KERNELS), ArrayAdapter),
    **dict.fromkeys(("TextClassifier", "TextRegressor"), TextAdapter),
}


def adapter_for(model: Any) -> Adapter:
    """Return the adapter for a model."""
    name = type(model).__name__
    if name not in ADAPTERS:
        raise ValueError(f"A {name} cannot be served; expected one of {', '.join(ADAPTERS)}.")
    return ADAPTERS[name](model)
