"""Stream learners in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggro
from aggro.models.errors import ModelFileError
from aggro.models.learners import check_places
from aggro.models.record import Record
from aggro.models.values import Arrays
from aggro.stream_settings import keywords_of

NOT_SETTINGS = ("algorithm", "max_features", "overflow", "seed")
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
    _check_sizes(record.name, params, state)
    names = fitted["names"]
    names = names.tolist() if isinstance(names, np.ndarray) else names
    description = {"params": params, "names": names, "classes": fitted["classes"]}
    return getattr(aggro, record.name).from_state(description, state)


def _check_sizes(name: str, params: dict[str, Any], state: Arrays) -> None:
    """Refuse numbers that would make the learner ask for more memory than the file has."""
    own = {key: value for key, value in params.items() if key not in NOT_SETTINGS}
    keywords = keywords_of(params["algorithm"], name == "StreamRegressor", own)
    queue, slots = keywords.get("queue", 1), keywords.get("reservoir_size", 16)
    size = {key: array.size for key, array in state.items()}
    limits = {"queue": (queue, size.get("ring_bias", 1))}
    if params["overflow"] == "hash":
        limits["max_features"] = (params["max_features"] or 1, size["weights"])
    if keywords.get("average") == "reservoir":
        limits["reservoir_size"] = (slots, size["pool_bias"])
    for key, (asked, most) in limits.items():
        if asked > most:
            raise ModelFileError(f"{key}={asked!r} does not fit the arrays")
    check_places(queue, slots, state)
