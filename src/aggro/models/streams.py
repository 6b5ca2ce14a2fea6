"""Stream learners in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggro
from aggro.models.errors import ModelFileError
from aggro.models.learners import check_places
from aggro.models.record import Record
from aggro.models.values import Arrays
from aggro.rules import Settings

STREAMS = ("StreamClassifier", "StreamRegressor")


def stream_record(model: Any) -> Record:
    """Return a stream learner as plain data."""
    description, arrays = model.state()
    names = description["names"]
    if names and all(type(name) is str for name in names):
        names = np.array(names, dtype=object)  # arrays hold a million names better than JSON does
    attributes = {"names": names, "classes": description["classes"], "state": arrays}
    return Record(description["model"], description["params"], attributes)


def stream_learner(record: Record) -> Any:
    """Return the stream learner that plain data describe."""
    params, fitted, state = record.params, record.attributes, record.attributes["state"]
    if not isinstance(state, dict) or fitted.keys() != {"names", "classes", "state"}:
        raise ModelFileError("its parts are not those of a stream learner")
    _check_sizes(params, state)
    names = fitted["names"]
    names = names.tolist() if isinstance(names, np.ndarray) else names
    description = {"params": params, "names": names, "classes": fitted["classes"]}
    return getattr(aggro, record.name).from_state(description, state)


def _check_sizes(params: dict[str, Any], state: Arrays) -> None:
    """Refuse numbers that would make the learner ask for more memory than the file has."""
    size = {name: array.size for name, array in state.items()}
    hashed = params.get("overflow") == "hash" and params.get("max_features")
    limits = {
        "max_features": (size["weights"], bool(hashed)),
        "queue": (size.get("ring_bias", 1), True),
        "reservoir_size": (size.get("pool_bias", 0), params.get("average") == "reservoir"),
    }
    for name, (most, counts) in limits.items():
        if counts and (params.get(name) or 1) > most:
            raise ModelFileError(f"{name}={params[name]!r} does not fit the arrays")
    queue, slots = params.get("queue", Settings.queue), params.get("reservoir_size", 16)
    check_places(queue if "ring_next" in state else 1, slots, state)
