"""Types, shapes and ranges of the arrays in model files, and types of the parameters.

A checksum detects accidents, not forgeries. The core trusts its arrays, so each is compared with
its ``Field`` first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from aggro.checks import near
from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.values import Array
from aggro.selection.search_space import MOST_STEPS
from aggro.settings import AXES, Settings

TABLES = ("column", "slot", "feature")  # kinds of arrays with one line per feature
LARGEST = 2**62  # of a counter: the sum of two does not overflow


class Field(NamedTuple):
    """The type and the shape of an array, and the range of its values, which excludes NaN.

    None stands for any length.
    """

    dtype: Any
    shape: tuple[int | None, ...]
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True


COUNT = (0, LARGEST)
POSITIVE = (0.0, math.inf)
ANY = (-math.inf, math.inf)
# Arrays of linear learners that may be negative; others are counts, sums and lengths.
SIGNED = (
    *("weights", "average_shift", "ring", "pool", "pool_mean", "mixture", "unit", "counters"),
    *("bias", "bias_sum", "ring_bias", "pool_bias", "pool_mean_bias", "ensemble_weight"),
    *("class_sum_rest", "class_sum_cross", "scale_mean", "target_mean"),
)
MAPS = (  # arrays of a feature map
    *("grown", "rows", "mean", "square", "missing", "sample"),
    *("rank_start", "rank_values", "rank_up_to"),
)
WORDS: dict[str, Field] = {  # arrays of a vectoriser, by the beginning of their names
    "columns_": Field(np.int32, (None,), *COUNT),
    "documents_": Field(np.float64, (2,), *POSITIVE),
    "with_": Field(np.float64, (None,), *POSITIVE),
    "names": Field(np.uint8, (None,)),
    "name_ends": Field(np.int64, (None,), *COUNT),
    "name_counts": Field(np.int64, (None,), *COUNT),
}


def check_arrays(found: Mapping[str, Array], fields: Mapping[str, Field]) -> None:
    """Raise ModelFileError unless the arrays are exactly those of the fields.

    Parameters
    ----------
    found : dict
        The arrays by name.
    fields : dict
        Their types, shapes and ranges.
    """
    if unknown := found.keys() - fields.keys():
        raise ModelFileError(f"an unknown array: {min(unknown)}")
    for name, field in fields.items():
        if name in found:
            check_array(name, found[name], field)
        elif field.shape != (0,):
            raise ModelFileError(f"the array {name} is missing")


def check_array(name: str, array: Any, field: Field) -> None:
    """Raise ModelFileError unless an array has the type, shape and range of its field."""
    if not isinstance(array, np.ndarray):
        raise ModelFileError(f"{name} is not an array")
    sides = len(field.shape) == array.ndim and all(
        wanted is None or side == wanted
        for side, wanted in zip(array.shape, field.shape, strict=True)
    )
    if not sides or array.dtype != field.dtype:
        wanted = " x ".join("any" if side is None else str(side) for side in field.shape)
        raise ModelFileError(
            f"{name} has the shape {array.shape} and the type {array.dtype}, not {wanted} values "
            f"of {np.dtype(field.dtype)}"
        )
    if array.size == 0 or array.dtype == np.uint8:
        return
    lowest, highest = array.min(), array.max()  # NaN if the array contains one
    if field.finite and not (np.isfinite(lowest) and np.isfinite(highest)):
        raise ModelFileError(f"{name} holds a value that is not finite")
    if not (field.low <= lowest and highest <= field.high):
        raise ModelFileError(f"{name} holds values out of range")


def linear_fields(pattern: Learner, features: int) -> dict[str, Field]:
    """Return the fields of a linear learner, whose tables have a line per feature.

    ``pattern`` is a learner with the same settings and one feature.
    """
    kinds, fields = pattern.model.layout(), {}
    side = features + pattern.settings.fit_intercept
    for name, line in pattern.state().items():
        shape: tuple[int, ...] = line.shape
        if kinds[name] in TABLES:
            shape = (features, len(line))
        elif kinds[name] == "matrix":
            shape = (side * (side + 1) // 2,)
        limits = COUNT if line.dtype == np.int64 else POSITIVE
        if name in SIGNED or kinds[name] == "matrix":
            limits = ANY
        elif name == "pool_key":
            limits = (-math.inf, 0.0)
        fields[name] = Field(line.dtype, shape, *limits)
    return fields


def check_linear(settings: Settings, state: Mapping[str, Array]) -> None:
    """Raise unless counts and positions of a linear learner are in their ranges."""
    examples, averaged, frozen, _ = state["counters"].tolist()  # the last one has random bits
    if not (0 <= examples <= LARGEST and 0 <= averaged <= LARGEST and frozen in (0, 1)):
        raise ModelFileError("counters are out of range")
    if (state["last_update"] > examples).any():
        raise ModelFileError("last_update is after the last example")
    most = {"ring_next": settings.queue - 1, "ring_fill": settings.queue}
    for name, largest in {**most, "pool_fill": settings.reservoir_size}.items():
        if name in state and ((state[name] < 0) | (state[name] > largest)).any():
            raise ModelFileError(f"{name} is out of range")
    unit = state.get("unit", np.zeros(1))
    if not np.isfinite(unit).all() or abs(unit[-1]) > MOST_STEPS:
        raise ModelFileError("the unit of C is out of range")


def kernel_fields(
    fresh: Mapping[str, Array], features: int, outputs: int, state: Mapping[str, Array]
) -> dict[str, Field]:
    """Return the fields of a kernel learner; ``fresh`` is the state of a new one.

    The core checks the length of the arrays of the budget strategy.
    """
    slots, kept = len(state["ids"]), Field(np.float64, (None,))
    fields = {
        "coef": Field(np.float64, (slots * outputs,)),
        "self": Field(np.float64, (slots,)),
        "ids": Field(np.int64, (slots,), *COUNT),
        "born": Field(np.int64, (slots,), *COUNT),
        "nearest": Field(np.int64, (None,), -1, slots),
        "distance": kept,
        "table": kept,
        "root": kept,
        "counters": Field(np.int64, (5,), *COUNT),
        "loss": Field(np.float64, (1,), *POSITIVE),
        "ties": Field(np.int64, (1,), *COUNT),
        "norms": Field(np.float64, (slots,), *POSITIVE),
    }
    if "average_shift" in fresh:
        fields["average_shift"] = Field(np.float64, (slots * outputs,))
    if "data" in fresh:
        fields["data"] = Field(np.float64, (None,))
        fields["indices"] = Field(np.int64, (None,), 0, features - 1)
        fields["indptr"] = Field(np.int64, (slots + 1,), *COUNT)
    else:
        fields["support"] = Field(np.float64, (slots, features))
    return fields


def check_words(state: Mapping[str, Array], numbers: int) -> None:
    """Raise unless the arrays of a text encoder have the right types; the core checks more."""
    for name, array in state.items():
        source, _, part = name.partition("_")
        if source == "number" and part in MAPS:
            continue  # the core checks them
        if source == "number":
            field = Field(np.float64, (numbers,), *POSITIVE)
        else:
            kind = part if part in WORDS else part.rstrip("0123456789")
            if kind not in WORDS:
                raise ModelFileError(f"an unknown array: {name}")
            field = WORDS[kind]
        check_array(name, array, field)


# -- parameters ----------------------------------------------------------------------------------

NUMBER = (int, float)
PARAMETERS: dict[str, tuple[type, ...]] = {
    **{name: axis.kind.types for name, axis in AXES.items()},
    "C": (*AXES["C"].kind.types, NoneType),  # None: default of the algorithm
    "task": (str,),
    "max_iter": (int,),
    "tol": (*NUMBER, NoneType),
    "early_stopping": (bool, str),
    "validation_fraction": NUMBER,
    "n_iter_no_change": (int,),
    "shuffle": (bool,),
    "verbose": (bool, int),
    "n_jobs": (int, NoneType),
    "random_state": (int, NoneType),
    "warm_start": (bool,),
    "class_weight": (dict, str, NoneType),
    "kernel": (str,),
    "gamma": (*NUMBER, str, NoneType),
    "degree": NUMBER,
    "coef0": NUMBER,
    "budget": (int, NoneType),
    "budget_strategy": (str,),
    "algorithm": (str, NoneType),
    "max_features": (int, NoneType),
    "overflow": (str,),
    "probability": (bool,),
    "ngram_range": (tuple, list, str),
    "idf": (bool, str),
    "analyzer": (str,),
    "lowercase": (bool,),
    "stop_words": (list, str, NoneType),
    "token_pattern": (str,),
    "strip_accents": (str, NoneType),
    "n_features": (int,),
    "sublinear_tf": (bool,),
    "binary": (bool,),
    "min_df": NUMBER,
    "max_df": NUMBER,
    "columns": (dict, NoneType),
    "keep_names": (bool, int),
}


def check_type(name: str, value: Any) -> None:
    """Raise unless the parameter is known and its value has a valid type.

    >>> check_type("C", 0.5)
    """
    if name not in PARAMETERS:
        raise ModelFileError(f"an unknown parameter: {name!r}.{near(name, PARAMETERS)}")
    if type(value) not in PARAMETERS[name]:
        raise ModelFileError(f"{name}={value!r} cannot be in a model file.")
