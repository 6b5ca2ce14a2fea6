"""The state of a linear learner in a model file, and what it must satisfy to be believed."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np

from aggro.learner import Learner
from aggro.persistence.errors import ModelFileError
from aggro.persistence.parameters import check_type
from aggro.persistence.schema import (
    TABLES,
    check_arrays,
    check_counters,
    check_last_updates,
    linear_fields,
)
from aggro.persistence.values import Arrays, decode, encode
from aggro.selection.grids import MOST_STEPS
from aggro.settings import LOSSES, Settings, Task, check_settings, selected_axes, shared_layout

FACTS = {"features": int, "outputs": int, "dtype": str, "memory": float}
MOST_FEATURES = 2**48


def encode_learner(learner: Learner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the facts about a learner; its arrays go to ``arrays``."""
    kinds = learner.model.layout()
    for name, array in learner.state().items():
        lines = array.reshape(learner.features, -1) if kinds[name] in TABLES else array
        arrays[f"{where}.{name}"] = lines
    return {
        "settings": [encode_settings(settings, arrays) for settings in learner.all_settings],
        "memory": learner.model.memory,
        "features": learner.features,
        "outputs": learner.outputs,
        "dtype": learner.dtype.name,
    }


def encode_settings(settings: Settings, arrays: Arrays) -> dict[str, Any]:
    """Return the settings by name."""
    values = dataclasses.asdict(settings)
    return {name: encode(value, name, arrays) for name, value in values.items()}


def decode_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> Learner:
    """Return the learner, or raise if its parts do not fit together."""
    settings = [decode_settings(each, arrays) for each in facts["settings"]]
    if any(map(selected_axes, settings)) or len({shared_layout(each) for each in settings}) != 1:
        raise ModelFileError("the settings cannot be those of one learner")
    for name, kind in FACTS.items():
        if type(facts[name]) is not kind:
            raise ModelFileError(f"{name}={facts[name]!r} is not of the right type")
    if facts["dtype"] not in ("float32", "float64"):
        raise ModelFileError(f"dtype={facts['dtype']!r} is neither float32 nor float64")
    prefix = f"{where}."
    state = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
    outputs = _outputs(facts, settings, state)
    _check_sizes(facts, settings, outputs, state)
    state = {name: array.ravel() for name, array in state.items()}
    learner = Learner(settings, facts["features"], outputs, facts["dtype"])
    learner.model.set_memory(facts["memory"])
    learner.load_state(state)
    return learner


def check_unit(state: Arrays) -> None:
    """Raise unless the unit of C is within what a grid can be laid out by."""
    unit = state.get("unit", np.zeros(1))
    if not np.isfinite(unit).all() or abs(unit[-1]) > MOST_STEPS:
        raise ModelFileError("the unit of C is out of range")


def decode_settings(given: dict[str, Any], arrays: Arrays) -> Settings:
    """Return the settings, every one of a type and value that it can have."""
    values = {name: decode(value, arrays) for name, value in given.items()}
    if values.keys() - Settings.__dataclass_fields__.keys() or values["task"] not in get_args(Task):
        raise ModelFileError("the settings are those of no known variant")
    for name, value in values.items():
        check_type(name, value)
    settings = Settings(**values)
    check_settings(settings, LOSSES)
    return settings


def _outputs(facts: dict[str, Any], settings: list[Settings], state: Arrays) -> int:
    """Return the number of classes; a binary model that knows one keeps a second record."""
    if settings[0].task != "binary":
        return int(facts["outputs"])
    return 1 if "turned_mistakes" in state else 2


def _check_sizes(
    facts: dict[str, Any], all_settings: list[Settings], classes: int, state: Arrays
) -> None:
    """Compare every array with a learner of one feature, before anything large is made."""
    settings, lanes = all_settings[0], facts["outputs"] * len(all_settings)
    features, outputs = facts["features"], facts["outputs"]
    slots = settings.reservoir_size if settings.average == "reservoir" else 1
    if outputs < 1 or len(state["bias"]) != lanes or not 0 <= features < MOST_FEATURES:
        raise ModelFileError("the numbers of features and outputs do not fit the arrays")
    for count, name in ((settings.queue, "ring_bias"), (slots, "pool_bias")):
        if count > 1 and len(state[name]) != count * lanes:
            raise ModelFileError(f"{name} does not fit the settings")
    one = Learner(all_settings, 1, classes, facts["dtype"])
    check_arrays(state, linear_fields(one, features, lines=True))
    check_linear(settings.queue, settings.reservoir_size, state)


def check_linear(queue: int, reservoir_size: int, state: Arrays) -> None:
    """Raise unless the numbers in the arrays of a linear model fit together."""
    check_counters(state["counters"])
    check_last_updates(state)
    check_places(queue, reservoir_size, state)
    check_unit(state)


def check_places(queue: int, reservoir_size: int, state: Arrays) -> None:
    """Raise if a number that the core uses as a place lies outside of what it points into."""
    limits = {"ring_next": queue - 1, "ring_fill": queue, "pool_fill": reservoir_size}
    for name, most in limits.items():
        values = state.get(name, np.zeros(0, np.int64))
        if ((values < 0) | (values > most)).any():
            raise ModelFileError(f"{name} is out of range")
