"""Values and objects of models as JSON and arrays, the only contents of a model file.

Plain values are numbers, texts, bytes, None, lists, tuples, dicts and arrays. An object becomes a
dict of its parts, which the ``Codec`` of its class names; nothing else can be in a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.persistence.container import NAMES, ModelFileError

Array = NDArray[Any]
Arrays = dict[str, Array]
MOST_LETTERS = 2**28  # characters of an array of texts padded to the longest: a gigabyte


class State(dict[str, Array]):
    """Arrays by name, stored under the name of the object that they belong to."""


class Codec(NamedTuple):
    """The parts of the objects of one class.

    Parameters
    ----------
    types : dict
        The types of each part.
    parts : callable
        Returns the parts of an object by name.
    build : callable
        Returns the object, given its parts as keyword arguments, which have these types. It raises
        if they are inconsistent.
    """

    types: Mapping[str, tuple[type, ...]]
    parts: Callable[[Any], dict[str, Any]]
    build: Callable[..., Any]


CODECS: dict[str, Codec] = {}  # by the name of a class of aggro


def encode(value: Any, where: str, arrays: Arrays) -> Any:
    """Return the value for a JSON header; add arrays to ``arrays`` under their position.

    >>> encode((1, float("inf"), "a"), "x", {})
    {'tuple': [1, {'float': 'inf'}, 'a']}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    kind = type(value).__name__
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if type(value) in (list, tuple):
        return {kind: [encode(v, f"{where}.{i}", arrays) for i, v in enumerate(value)]}
    if type(value) is dict:
        pairs = enumerate(value.items())
        return {
            "dict": [[_key(k, where), encode(v, f"{where}.{i}", arrays)] for i, (k, v) in pairs]
        }
    if type(value) is np.ndarray:
        return _encode_array(value, where, arrays)
    if type(value) is State:
        arrays |= {f"{where}.{name}": array for name, array in value.items()}
        return {"state": where}
    if kind in CODECS and type(value).__module__.startswith("aggro."):
        parts = CODECS[kind].parts(value).items()
        # A state has the name of its object.
        places = {name: where if name == "state" else f"{where}.{name}" for name, _ in parts}
        return {kind: {name: encode(part, places[name], arrays) for name, part in parts}}
    raise ModelFileError(
        f"{where}={value!r} cannot be saved: a model file holds numbers, texts, None, lists, dicts "
        f"and arrays, but no {kind}."
        + (" Give an integer as random_state." if where == "random_state" else "")
    )


def decode(value: Any, arrays: Arrays) -> Any:
    """Return the value encoded by ``encode``."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ModelFileError("unexpected list")
        return value
    ((kind, inner),) = value.items()
    if kind in CODECS:
        return _decode_object(kind, inner, arrays)
    if kind not in DECODERS:
        raise ModelFileError(f"an unknown kind of value: {kind!r}")
    return DECODERS[kind](inner, arrays)


def _decode_object(kind: str, inner: Any, arrays: Arrays) -> Any:
    codec = CODECS[kind]
    parts = {name: decode(part, arrays) for name, part in inner.items()}
    if parts.keys() != codec.types.keys():
        raise ModelFileError(f"{kind} has the parts {sorted(parts)}, not {sorted(codec.types)}")
    for name, types in codec.types.items():
        if type(parts[name]) not in types:
            raise ModelFileError(f"{name}={parts[name]!r} of {kind} is not of the right type")
    return codec.build(**parts)


def _key(key: Any, where: str) -> Any:
    plain = encode(key, where, {})
    if isinstance(plain, dict):
        raise ModelFileError(f"{where} has the key {key!r}, which cannot be saved.")
    return plain


def _scalar(item: Any, where: str) -> Any:
    """Return an item of an object array: a text, a number (possibly NaN), or None."""
    return encode(item, where, {}) if isinstance(item, float) else _key(item, where)


def _encode_array(value: Array, where: str, arrays: Arrays) -> Any:
    kind = value.dtype.kind
    if kind == "O" and value.ndim == 1:
        items = value.tolist()
        if items and all(type(item) is str for item in items):
            return {"objects": _store_strings(items, where, arrays)}
        return {"mixed": [_scalar(item, where) for item in items]}
    if kind == "U" and value.ndim == 1 and value.nbytes <= 4 * MOST_LETTERS:
        return {
            "strings": [value.dtype.itemsize // 4, _store_strings(value.tolist(), where, arrays)]
        }
    native = value.dtype.newbyteorder("<")
    if native not in NAMES or value.ndim > 2:
        raise ModelFileError(
            f"{where} is an array of type {value.dtype} in {value.ndim} dimensions, which cannot "
            "be saved."
        )
    arrays[where] = value.astype(native, order="C", copy=False)
    return {"array": where}


def _store_strings(items: list[str], where: str, arrays: Arrays) -> str:
    """Store texts as bytes and ends; a JSON list would make the header too large."""
    encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    arrays[f"{where}.bytes"] = np.frombuffer(b"".join(encoded), np.uint8)
    arrays[f"{where}.ends"] = np.cumsum([len(item) for item in encoded], dtype=np.int64)
    return where


def _load_strings(where: str, arrays: Arrays) -> list[str]:
    data, ends = arrays[f"{where}.bytes"].tobytes(), arrays[f"{where}.ends"]
    last = int(ends[-1]) if len(ends) else 0
    if ends.ndim != 1 or (np.diff(ends, prepend=0) < 0).any() or last != len(data):
        raise ModelFileError(f"the texts of {where} have wrong ends")
    starts = [0, *ends[:-1].tolist()]
    return [
        data[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=False)
    ]


def _decode_float(text: str, _: Arrays) -> float:
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[text]


def _decode_dict(pairs: Any, arrays: Arrays) -> dict[Any, Any]:
    return {key: decode(value, arrays) for key, value in pairs}


def _decode_strings(inner: Any, arrays: Arrays) -> Array:
    width, where = inner
    strings = _load_strings(where, arrays)
    fits = type(width) is int and max(map(len, strings), default=0) <= width
    if not fits or width * len(strings) > MOST_LETTERS:
        raise ModelFileError(f"the texts of {where} have a wrong width")
    return np.array(strings, dtype=f"<U{width}")


def _decode_objects(where: str, arrays: Arrays) -> Array:
    return np.array(_load_strings(where, arrays), dtype=object)


def _decode_state(where: str, arrays: Arrays) -> State:
    """Return the arrays directly under a name: deeper ones belong to other parts."""
    own = ((name.rpartition("."), array) for name, array in arrays.items())
    return State((name, array) for (prefix, _, name), array in own if prefix == where)


DECODERS: dict[str, Any] = {
    "float": _decode_float,
    "bytes": lambda text, _: bytes.fromhex(text),
    "list": lambda items, arrays: [decode(item, arrays) for item in items],
    "tuple": lambda items, arrays: tuple(decode(item, arrays) for item in items),
    "dict": _decode_dict,
    "array": lambda where, arrays: arrays[where],
    "strings": _decode_strings,
    "objects": _decode_objects,
    "mixed": lambda items, arrays: np.array([decode(i, arrays) for i in items], dtype=object),
    "state": _decode_state,
}
