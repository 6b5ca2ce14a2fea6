"""The complete state of a model, decomposed as by pickle, for bitwise comparison."""

import numpy as np

ROUNDED = (
    "distance",
    "counted[1]",
)  # sums whose rounding depends on how rows are split into calls


def model_state(model):
    """Return every number and text of a model by its path."""
    parts = {}
    _take_apart(model, type(model).__name__, parts)
    return parts


def _take_apart(value, path, parts):
    if isinstance(value, np.ndarray) and value.dtype != object:
        parts[path] = (value.dtype.str, value.shape, value.tobytes())
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        parts[path] = repr(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _take_apart(inner, f"{path}.{key}", parts)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for i, inner in enumerate(value):
            _take_apart(inner, f"{path}[{i}]", parts)
    elif isinstance(value, type) or callable(value):
        parts[path] = value.__qualname__
    else:
        _, arguments, *state = value.__reduce_ex__(4)
        _take_apart([arguments, *state], path, parts)


def differences(one, two):
    """Return the differences of two states, one line each."""
    return [
        f"{path}: {_shown(one.get(path))} became {_shown(two.get(path))}{_gap(one, two, path)}"
        for path in sorted(one.keys() | two.keys())
        if one.get(path) != two.get(path) and not _only_rounded(one, two, path)
    ]


def _only_rounded(one, two, path):
    if path.rsplit(".", 1)[-1] not in ROUNDED or not {path} <= one.keys() & two.keys():
        return False
    return bool(np.isclose(float(one[path]), float(two[path]), rtol=1e-9))


def _shown(part):
    if part is None:
        return "nothing"
    return f"{part[0]}{list(part[1])}" if isinstance(part, tuple) else part


def _gap(one, two, path):
    """Describe the difference of two arrays of one shape."""
    a, b = one.get(path), two.get(path)
    if not (isinstance(a, tuple) and isinstance(b, tuple) and a[:2] == b[:2]):
        return ""
    a, b = (np.frombuffer(part[2], part[0]) for part in (a, b))
    if a.dtype.kind not in "fiu":
        return ""
    places = np.flatnonzero(
        ~((a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b)
    )
    if not len(places):
        return " (in the sign of zeros)"
    i = places[0]
    return f" ({len(places)} of {len(a)} entries, the first {a[i]!r} and {b[i]!r})"
