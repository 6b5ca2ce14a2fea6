"""Helpers for tests of model files: catalogue models, and comparison."""

import dataclasses

import numpy as np
import pytest

from aggro.variants import catalogue

ROWS = {row.name: row for row in catalogue()}


def make(name, **params):
    """Return a model of the catalogue."""
    try:
        return ROWS[name].make(**params)
    except AttributeError as error:
        pytest.skip(str(error))


def problem(name, kind="strings", n=60, seed=0):
    """Return rows and targets for a variant; classes appear one after the other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    if ROWS[name].estimator.endswith("Regressor"):
        return X, X[:, 0] * 2 - X[:, 1] + 0.1 * rng.standard_normal(n)
    y = X[:, :3].argmax(axis=1)
    labels = {
        "strings": np.array(["ant", "bee", "wasp"])[y],
        "ints": y * 7 - 3,
        "floats": y - 1.0,
        "bools": y > 0,
        "objects": np.array(["ant", "bee", "wasp"], dtype=object)[y],
        "two": np.where(y > 0, "x", "yy"),
    }
    return X, labels[kind]


def plain(value):
    """Return a value that can be compared with ==."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if type(value).__module__.startswith("aggro."):
        if dataclasses.is_dataclass(value):
            state = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        else:
            state = value.__getstate__() if hasattr(value, "__setstate__") else vars(value)
        return type(value).__name__, plain(state)
    return value


def same(one, two):
    """Return whether two models have equal states."""
    return type(one) is type(two) and plain(vars(one)) == plain(vars(two))
