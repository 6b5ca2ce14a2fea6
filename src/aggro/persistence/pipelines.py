"""Pipelines of scikit-learn in model files: supported steps as plain values, never as code.

A step is described by its class, its parameters and its fitted attributes. Only classes in
``STEPS`` are allowed. A model of aggro inside a pipeline is a complete model file in an array of
bytes, so all its checks apply.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from aggro.extras import optional
from aggro.persistence import container, store
from aggro.persistence.container import ModelFileError
from aggro.persistence.record import Record, bytes_of, parse_record

_MODULES = {
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.impute": ("SimpleImputer", "MissingIndicator"),
    "sklearn.preprocessing": (
        "StandardScaler",
        "MinMaxScaler",
        "MaxAbsScaler",
        "RobustScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "FunctionTransformer",  # without a function, for "passthrough"
    ),
    "sklearn.feature_extraction": ("DictVectorizer",),
    "sklearn.feature_extraction.text": (
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfVectorizer",
        "TfidfTransformer",
    ),
}
STEPS = {name: module for module, names in _MODULES.items() for name in names}
DROPPED = ("_stop_words_id",)  # a memory address
VERSION = "sklearn"  # the attribute of a record that contains scikit-learn's version


def pipeline_record(model: Any) -> Record:
    """Return a pipeline as plain data."""
    version = optional("sklearn", "Saving a pipeline").__version__
    return Record("Pipeline", {}, {"root": _encode(model), VERSION: version})


def pipeline_of(record: Record) -> Any:
    """Return the pipeline described by plain data."""
    sklearn = optional("sklearn", "Loading a pipeline")
    found = record.attributes[VERSION]
    if str(found).split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"The pipeline was saved with scikit-learn {found}, and this is {sklearn.__version__}. "
            "Its steps may not work; install the version that saved it, or fit it again.",
            stacklevel=4,
        )
    return _decode(record.attributes["root"])


# -- values --


def _encode(value: Any) -> Any:
    """Return a value with its steps, types and slices replaced by plain values."""
    if isinstance(value, dict):
        return _encode_dict(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_encode(each) for each in value)
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"type": np.dtype(value).str}
    if type(value).__module__.startswith("aggro."):
        content = bytes_of(store.record_of(value))
        return {"model": np.frombuffer(content, np.uint8)}
    if hasattr(value, "get_params"):
        return _encode_step(value)
    return value  # other values are rejected when the file is written


def _encode_dict(value: dict[Any, Any]) -> dict[str, Any]:
    """Return a dict as lists; a vocabulary as arrays, since it may have a million entries."""
    keys, values = list(value), list(value.values())
    if keys and all(type(k) is str for k in keys) and all(type(v) is int for v in values):
        return {"vocabulary": [np.array(keys, dtype=object), np.array(values, np.int64)]}
    return {"dict": [[key, _encode(each)] for key, each in value.items()]}


def _encode_step(step: Any) -> dict[str, Any]:
    kind = type(step)
    if kind.__module__.partition(".")[0] != "sklearn" or kind.__name__ not in STEPS:
        raise ModelFileError(
            f"A pipeline with {kind.__qualname__} cannot be saved. The supported steps are models "
            f"of aggro and {', '.join(STEPS)}."
        )
    params = step.get_params(deep=False)
    fitted = {name: v for name, v in vars(step).items() if name not in (*params, *DROPPED)}
    for name in fitted:
        _check_attribute(kind, name)
    return {"step": [kind.__name__, _encode_dict(params), _encode_dict(fitted)]}


def _decode(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_decode(each) for each in value)
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    return DECODERS[kind](inner)


def _decode_step(inner: Any) -> Any:
    name, params, fitted = inner
    if name not in STEPS:
        raise ModelFileError(f"a step of an unknown class: {name!r}")
    step = getattr(import_module(STEPS[name]), name)(**_decode(params))
    for attribute, value in _decode(fitted).items():
        _check_attribute(type(step), attribute)
        setattr(step, attribute, value)
    return step


def _check_attribute(kind: type, name: str) -> None:
    """Raise if an attribute would hide one of the class, such as a method."""
    if name.startswith("__") or hasattr(kind, name):
        raise ModelFileError(f"{name} is no fitted attribute of {kind.__name__}")


def _decode_model(content: Any) -> Any:
    text, arrays = container.parse(content.tobytes(), "a step of the pipeline")
    return store.model_of(parse_record(text, arrays))


def _decode_type(text: str) -> Any:
    return np.dtype(text).type


def _decode_vocabulary(inner: Any) -> dict[str, int]:
    keys, values = inner
    return dict(zip(keys.tolist(), values.tolist(), strict=True))


def _decode_dict(pairs: Any) -> dict[Any, Any]:
    return {key: _decode(each) for key, each in pairs}


def _decode_slice(limits: Any) -> slice:
    return slice(*limits)


DECODERS: dict[str, Any] = {
    "dict": _decode_dict,
    "vocabulary": _decode_vocabulary,
    "slice": _decode_slice,
    "dtype": np.dtype,
    "type": _decode_type,
    "model": _decode_model,
    "step": _decode_step,
}
