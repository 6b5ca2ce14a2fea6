"""The parameters in a model file, and their types."""

from __future__ import annotations

from types import NoneType
from typing import Any

from aggro.checks import near
from aggro.persistence.container import ModelFileError
from aggro.settings import AXES

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
