"""The state of a kernel learner in a model file, and what it must satisfy to be believed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from aggro.kernel_learner import KernelLearner
from aggro.kernel_settings import KernelChoice
from aggro.persistence.errors import ModelFileError
from aggro.persistence.learners import MOST_FEATURES, decode_settings, encode_settings
from aggro.persistence.parameters import check_type
from aggro.persistence.schema import check_arrays, kernel_fields
from aggro.persistence.values import Arrays, decode, encode

FACTS = {"features": int, "outputs": int, "sparse": bool, "next_id": int, "gamma": float}
MOST_OUTPUTS_OF_NOTHING = 2**16


def encode_kernel_learner(learner: KernelLearner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the facts about a learner; its arrays go to ``arrays``."""
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
        **{name: kind(getattr(learner, name)) for name, kind in FACTS.items()},
        "one_class": learner.classes == 1 and learner.settings.task == "binary",
    }


def decode_kernel_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> KernelLearner:
    """Return the learner, or raise if its parts do not fit together."""
    settings = decode_settings(facts["settings"], arrays)
    given = {name: decode(value, arrays) for name, value in facts["choice"].items()}
    for name, value in given.items():
        check_type(name, value)
    choice = KernelChoice(**given)
    choice.check(settings.batch_size)
    for name, kind in FACTS.items():
        if type(facts[name]) is not kind:
            raise ModelFileError(f"{name}={facts[name]!r} is not of the right type")
    prefix = f"{where}."
    state = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
    _check_sizes(facts, state)
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


def _check_sizes(facts: dict[str, Any], state: Arrays) -> None:
    """Refuse numbers that would make the core ask for more memory than the file has."""
    features, outputs, slots = facts["features"], facts["outputs"], len(state["ids"])
    if not (0 <= features < MOST_FEATURES and 1 <= outputs <= MOST_OUTPUTS_OF_NOTHING + slots):
        raise ModelFileError("the numbers of features and outputs make no sense")
    if slots and state["coef"].size != slots * outputs:
        raise ModelFileError("the coefficients are not one for each support vector and output")
    indices = state.get("indices", np.empty(0, np.int64))
    if ((indices < 0) | (indices >= features)).any():
        raise ModelFileError("a support vector has a feature that is not there")
