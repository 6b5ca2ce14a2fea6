"""The state of linear and kernel learners in a model file, and its validation."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np

from aggro.kernel_learner import KernelLearner
from aggro.kernel_settings import KernelChoice
from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.schema import (
    TABLES,
    check_arrays,
    check_counters,
    check_last_updates,
    check_type,
    kernel_fields,
    linear_fields,
)
from aggro.persistence.values import Arrays, decode, encode
from aggro.selection.search_space import MOST_STEPS
from aggro.settings import LOSSES, Settings, Task, check_settings, selected_axes, shared_layout

LINEAR_FACTS = {"features": int, "outputs": int, "dtype": str, "memory": float}
KERNEL_FACTS = {"features": int, "outputs": int, "sparse": bool, "next_id": int, "gamma": float}
MOST_FEATURES = 2**48
MOST_OUTPUTS_WITHOUT_VECTORS = 2**16


def check_facts(facts: dict[str, Any], kinds: dict[str, type]) -> None:
    """Raise unless each fact is of its type."""
    for name, kind in kinds.items():
        if type(facts[name]) is not kind:
            raise ModelFileError(f"{name}={facts[name]!r} is not of type {kind.__name__}")


def arrays_under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names start with a prefix, without it."""
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


# -- linear learners --


def encode_learner(learner: Learner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the JSON description of a linear learner; add its arrays to ``arrays``."""
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
    """Return the settings as JSON."""
    values = dataclasses.asdict(settings)
    return {name: encode(value, name, arrays) for name, value in values.items()}


def decode_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> Learner:
    """Return the linear learner; raise if its parts are inconsistent."""
    settings = [decode_settings(each, arrays) for each in facts["settings"]]
    if any(map(selected_axes, settings)) or len({shared_layout(each) for each in settings}) != 1:
        raise ModelFileError("the settings are not those of one learner")
    check_facts(facts, LINEAR_FACTS)
    if facts["dtype"] not in ("float32", "float64"):
        raise ModelFileError(f"dtype={facts['dtype']!r} is neither float32 nor float64")
    state = arrays_under(f"{where}.", arrays)
    outputs = _outputs(facts, settings, state)
    _check_sizes(facts, settings, outputs, state)
    state = {name: array.ravel() for name, array in state.items()}
    learner = Learner(settings, facts["features"], outputs, facts["dtype"])
    learner.model.set_memory(facts["memory"])
    learner.load_state(state)
    return learner


def check_unit(state: Arrays) -> None:
    """Raise unless the unit of C is within the range of a grid."""
    unit = state.get("unit", np.zeros(1))
    if not np.isfinite(unit).all() or abs(unit[-1]) > MOST_STEPS:
        raise ModelFileError("the unit of C is out of range")


def decode_settings(given: dict[str, Any], arrays: Arrays) -> Settings:
    """Return the settings; raise unless all types and values are valid."""
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
    return 1 if "swapped_mistakes" in state else 2


def _check_sizes(
    facts: dict[str, Any], all_settings: list[Settings], classes: int, state: Arrays
) -> None:
    """Compare every array with a learner of one feature before allocating the model."""
    settings, outputs_of_all = all_settings[0], facts["outputs"] * len(all_settings)
    features, outputs = facts["features"], facts["outputs"]
    slots = settings.reservoir_size if settings.average == "reservoir" else 1
    if outputs < 1 or len(state["bias"]) != outputs_of_all or not 0 <= features < MOST_FEATURES:
        raise ModelFileError("the numbers of features and outputs do not fit the arrays")
    for count, name in ((settings.queue, "ring_bias"), (slots, "pool_bias")):
        if count > 1 and len(state[name]) != count * outputs_of_all:
            raise ModelFileError(f"{name} does not fit the settings")
    one = Learner(all_settings, 1, classes, facts["dtype"])
    check_arrays(state, linear_fields(one, features, lines=True))
    check_linear(settings.queue, settings.reservoir_size, state)


def check_linear(queue: int, reservoir_size: int, state: Arrays) -> None:
    """Raise unless the arrays of a linear model are consistent."""
    check_counters(state["counters"])
    check_last_updates(state)
    check_places(queue, reservoir_size, state)
    check_unit(state)


def check_places(queue: int, reservoir_size: int, state: Arrays) -> None:
    """Raise if a position that the core uses lies outside of its array."""
    limits = {"ring_next": queue - 1, "ring_fill": queue, "pool_fill": reservoir_size}
    for name, most in limits.items():
        values = state.get(name, np.zeros(0, np.int64))
        if ((values < 0) | (values > most)).any():
            raise ModelFileError(f"{name} is out of range")


# -- kernel learners --


def encode_kernel_learner(learner: KernelLearner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the JSON description of a kernel learner; add its arrays to ``arrays``."""
    if callable(learner.choice.kernel):
        raise ModelFileError(
            f"kernel={learner.choice.kernel!r} cannot be saved: a model file holds no code. Use a "
            "kernel by name."
        )
    arrays.update({f"{where}.{name}": array for name, array in learner.model.state().items()})
    choice = dataclasses.asdict(learner.choice)
    return {
        "settings": encode_settings(learner.settings, arrays),
        "choice": {name: encode(value, name, arrays) for name, value in choice.items()},
        **{name: kind(getattr(learner, name)) for name, kind in KERNEL_FACTS.items()},
        "one_class": learner.classes == 1 and learner.settings.task == "binary",
    }


def decode_kernel_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> KernelLearner:
    """Return the kernel learner; raise if its parts are inconsistent."""
    settings = decode_settings(facts["settings"], arrays)
    given = {name: decode(value, arrays) for name, value in facts["choice"].items()}
    for name, value in given.items():
        check_type(name, value)
    choice = KernelChoice(**given)
    choice.check(settings.batch_size)
    check_facts(facts, KERNEL_FACTS)
    state = arrays_under(f"{where}.", arrays)
    _check_kernel_sizes(facts, state)
    one = facts["one_class"] is True
    classes = facts["outputs"] if settings.task != "binary" else 1 if one else 2
    shape = (facts["features"], classes, facts["sparse"])
    learner = KernelLearner(settings, choice, facts["gamma"], *shape)
    fields = kernel_fields(learner.model.state(), facts["features"], facts["outputs"], state)
    check_arrays(state, fields)
    if len(np.unique(state["ids"])) != len(state["ids"]):
        raise ModelFileError("ids names a support vector twice")
    learner.load_state(state)
    learner.next_id = facts["next_id"]
    return learner


def _check_kernel_sizes(facts: dict[str, Any], state: Arrays) -> None:
    """Raise if the core would allocate more memory than the file has bytes."""
    features, outputs, slots = facts["features"], facts["outputs"], len(state["ids"])
    if not (0 <= features < MOST_FEATURES and 1 <= outputs <= MOST_OUTPUTS_WITHOUT_VECTORS + slots):
        raise ModelFileError("the numbers of features and outputs are out of range")
    if slots and state["coef"].size != slots * outputs:
        raise ModelFileError("the coefficients are not one for each support vector and output")
    indices = state.get("indices", np.empty(0, np.int64))
    if ((indices < 0) | (indices >= features)).any():
        raise ModelFileError("a support vector has an unknown feature")
