"""Stream learners in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggro
from aggro.grids import KNOWN_UNIT
from aggro.models.calibrators import check_calibrator
from aggro.models.errors import ModelFileError
from aggro.models.learners import check_places, check_unit
from aggro.models.record import Record
from aggro.models.values import Arrays
from aggro.stream_settings import keywords_of

NOT_SETTINGS = ("algorithm", "max_features", "overflow", "seed", "probability")
STREAMS = ("StreamClassifier", "StreamRegressor")


def stream_record(model: Any) -> Record:
    """Return a stream learner as plain data."""
    description, arrays = model.state()
    names = description["names"]
    if names and all(type(name) is str for name in names):
        names = np.array(names, dtype=object)  # arrays hold a million names better than JSON does
    attributes = {"names": names, "classes": description["classes"], "state": arrays}
    if "record" in description:
        attributes["record"] = description["record"]
    return Record(description["model"], description["params"], attributes)


def stream_learner(record: Record) -> Any:
    """Return the stream learner that plain data describe."""
    params, fitted, state = record.params, record.attributes, record.attributes["state"]
    expected = {"names", "classes", "state"} | ({"record"} if params.get("probability") else set())
    if not isinstance(state, dict) or fitted.keys() != expected:
        raise ModelFileError("its parts are not those of a stream learner")
    _check_sizes(record.name, params, state)
    names = fitted["names"]
    names = names.tolist() if isinstance(names, np.ndarray) else names
    description = {**fitted, "params": params, "names": names}
    model = getattr(aggro, record.name).from_state(description, state)
    if params.get("probability"):
        check_calibrator(model._record.calibrator)
    return model


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
    if "prices" in state:
        state.setdefault("unit", np.array(KNOWN_UNIT))  # not in the oldest files
    check_unit(state)
