"""Stream learners in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggro
from aggro.learner import Learner
from aggro.persistence.calibrators import check_calibrator
from aggro.persistence.container import ModelFileError
from aggro.persistence.learners import check_linear
from aggro.persistence.record import Record
from aggro.persistence.schema import (
    COUNT,
    POSITIVE,
    Field,
    check_array,
    check_arrays,
    linear_fields,
)
from aggro.persistence.values import Arrays
from aggro.selection.search_space import INTERVAL
from aggro.stream.probability import PREFIX
from aggro.stream.settings import keywords_of

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
    _check_arrays(record.name, params, names, fitted["classes"], state)
    model = getattr(aggro, record.name).from_state(description, state)
    if params.get("probability"):
        check_calibrator(model._record.calibrator)
    return model


def _check_arrays(
    name: str, params: dict[str, Any], names: list[Any], classes: list[Any], state: Arrays
) -> None:
    """Raise unless all arrays are those of a stream of so many features and classes."""
    model, count = getattr(aggro, name)(**params), max(len(classes), 1)
    prices = state["prices"] if model._races else None
    if prices is not None:
        check_array("prices", prices, Field(np.float64, (None,), *POSITIVE))
    lanes = model._lanes(len(classes), () if prices is None else prices.tolist())
    fields = linear_fields(Learner(lanes, 1, count), max(len(names), model._slots), lines=False)
    waiting = len(state["waiting_ends"])
    fields |= {
        "waiting_values": Field(np.float64, (None,)),
        "waiting_slots": Field(np.int32, (None,), *COUNT),
        "waiting_ends": Field(np.int64, (waiting,), *COUNT),
        "waiting_labels": Field(np.int64, (waiting,), -1, count),
        "waiting_targets": Field(np.float64, (waiting,)),
        "waiting_weights": Field(np.float64, (waiting,), *POSITIVE),
        "recency": Field(np.int32, (None,), *COUNT),
    }
    if prices is not None:
        fields["prices"] = Field(np.float64, (len(lanes),), *POSITIVE)
        fields["next_look"] = Field(np.int64, (1,), -1)
    found = {key: array for key, array in state.items() if not key.startswith(PREFIX)}
    check_arrays(found, fields)
    settings = lanes[0]
    check_linear(settings.queue, settings.reservoir_size, state)


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
    if "prices" in state:
        _check_next_look(state)


def _check_next_look(state: Arrays) -> None:
    """Raise unless the next evaluation step is never due, due before any example, or due soon."""
    examples = int(state["counters"][0])
    look = state["next_look"]
    if look.shape != (1,) or look.dtype != np.int64 or not -1 <= look[0] <= examples + INTERVAL:
        raise ModelFileError("next_look is not the number of examples of the next evaluation step")
