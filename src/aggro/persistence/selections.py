"""Model selections in model files."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from aggro.persistence.container import ModelFileError
from aggro.persistence.learners import (
    decode_learner,
    decode_settings,
    encode_learner,
    encode_settings,
)
from aggro.persistence.values import Arrays
from aggro.selection.drift import DriftDetector
from aggro.selection.feature_maps import SIZES, FeatureMaps, kinds_of
from aggro.selection.search_space import INTERVAL
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

FACTS = {"features": int, "classes": int, "dtype": str, "seed": int, "leading": int}
MOST_LEARNERS = 128


def encode_selection(selection: ModelSelection, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the JSON description of a selection; add its arrays to ``arrays``."""
    return {
        "settings": encode_settings(selection.settings, arrays),
        "features": selection.features,
        "classes": selection.classes,
        "dtype": selection.dtype.name,
        "seed": int(selection.seed),
        "counted": [float(each) for each in selection.counted],
        "leading": selection.leading,
        "margin_unit": float(selection.margin_unit),
        "drift": dataclasses.asdict(selection.drift),
        "fixed": None if selection.fixed is None else list(selection.fixed),
        "left": selection.left,
        "feature_maps": _encode_maps(selection, where, arrays),
        "learners": [
            encode_learner(learner, f"{where}.{number}", arrays)
            for number, learner in enumerate(selection.learners)
        ],
    }


def decode_selection(
    facts: dict[str, Any], where: str, arrays: Arrays, **given: Any
) -> ModelSelection:
    """Return the selection, or raise if its parts are inconsistent.

    ``given`` are the representations and the search space, unless they are the default.
    """
    settings = decode_settings(facts["settings"], arrays)
    for name, wanted in FACTS.items():
        if type(facts[name]) is not wanted:
            raise ModelFileError(f"{name}={facts[name]!r} is not of the right type")
    if facts["dtype"] not in ("float32", "float64") or len(facts["learners"]) > MOST_LEARNERS:
        raise ModelFileError("its model selection has no valid type or too many learners")
    shape = (facts["features"], facts["classes"], np.dtype(facts["dtype"]), facts["seed"])
    maps = facts["feature_maps"]
    if maps is not None:
        given["representations"] = _decode_maps(maps, settings, facts["features"], where, arrays)
    selection = ModelSelection(settings, *shape, **given)
    selection.learners = [
        decode_learner(each, f"{where}.{number}", arrays)
        for number, each in enumerate(facts["learners"])
    ]
    if maps is not None:
        _check_representations(selection, maps["representations"])
    if facts["fixed"] is not None:
        selection.fixed = _fixed(facts["fixed"], selection)
    if not 0 <= facts["leading"] < max(len(selection.learners), 1):
        raise ModelFileError("the best learner is not one of the learners")
    selection.leading, selection.drift = facts["leading"], _decode_drift(selection, facts["drift"])
    selection.counted = _decode_counted(facts["counted"])
    selection.left = _decode_removed(facts["left"])
    selection.margin_unit = facts["margin_unit"]
    if type(selection.margin_unit) is not float or not 0.0 < selection.margin_unit < math.inf:
        raise ModelFileError("the unit of margins must be a positive number")
    for learner in selection.learners:
        same = (learner.outputs, learner.dtype, learner.settings.task)
        if same != (selection.outputs, selection.dtype, settings.task):
            raise ModelFileError("the learners of the selection have different shapes")
        if not given and learner.features != selection.features:
            raise ModelFileError("the learners of the selection have different numbers of features")
    return selection


def _encode_maps(selection: ModelSelection, where: str, arrays: Arrays) -> dict[str, Any] | None:
    """Return the JSON description of feature maps, or None if candidates use the columns."""
    maps = selection.representations
    if not isinstance(maps, FeatureMaps):
        return None
    arrays.update({f"{where}.maps.{name}": array for name, array in maps.core.state().items()})
    return {
        "kinds": list(maps.kinds),
        "seed": maps.seed,
        "dtype": maps.dtype.name,
        "representations": [each.representation for each in selection.learners],
    }


def _decode_maps(
    facts: dict[str, Any], settings: Settings, columns: int, where: str, arrays: Arrays
) -> FeatureMaps:
    """Return the feature maps, or raise if they are inconsistent with the settings."""
    kinds, seed, prefix = facts["kinds"], facts["seed"], f"{where}.maps."
    state = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
    known = kinds_of(settings, columns)
    mapped = [kind for kind in kinds if kind in SIZES]
    if not mapped or len({*kinds}) < len(kinds) or not {*kinds} <= {*known}:
        raise ModelFileError(f"the feature maps {kinds!r} are not those of its settings")
    if type(seed) is not int or not 0 <= seed < 2**63 or len(state["mean"]) != columns:
        raise ModelFileError("the seed or the columns of the feature maps are out of range")
    if facts["dtype"] not in ("float32", "float64"):
        raise ModelFileError(f"dtype={facts['dtype']!r} is neither float32 nor float64")
    maps = FeatureMaps(kinds, columns, np.dtype(facts["dtype"]), seed)
    maps.core.load_state(state)
    return maps


def _check_representations(selection: ModelSelection, numbers: list[Any]) -> None:
    """Set the representations of the learners, or raise if their columns differ."""
    maps = selection.representations
    assert isinstance(maps, FeatureMaps)
    for learner, number in zip(selection.learners, numbers, strict=True):
        if type(number) is not int or not 0 <= number < len(maps.kinds):
            raise ModelFileError("a learner has an unknown representation")
        if learner.features != maps.width(number):
            raise ModelFileError("a learner does not have the columns of its representation")
        learner.representation = number


def _fixed(fixed: Any, selection: ModelSelection) -> tuple[int, int]:
    number, candidate = (int(each) for each in fixed)
    learners = selection.learners
    if not (0 <= number < len(learners) and 0 <= candidate < learners[number].models):
        raise ModelFileError("the final candidate is not one of the candidates")
    return number, candidate


def _decode_counted(given: Any) -> tuple[float, float]:
    """Return the mistakes and absolute errors of earlier best candidates."""
    if [type(each) for each in given] != [float, float] or not all(map(math.isfinite, given)):
        raise ModelFileError("the error counts must be two finite numbers")
    return given[0], given[1]


def _decode_drift(selection: ModelSelection, given: Any) -> DriftDetector:
    """Return the drift detector, or raise if its statistics are out of range."""
    detector = _detector_of(given)
    lists = (*detector.origin, *detector.block, *detector.alarm)
    numbers = (detector.rows, detector.mean, detector.last, detector.dispersion, detector.tolerance)
    if not all(0.0 <= each < math.inf for each in (*lists, *numbers)):
        raise ModelFileError("the statistics of drift detection must be finite and at least zero")
    if not 0 <= detector.start <= selection.examples:
        raise ModelFileError("drift detection starts after the last example")
    if not detector.start < detector.next_checkpoint <= selection.examples + INTERVAL:
        raise ModelFileError("the next evaluation step is out of range")
    return detector


def _detector_of(given: Any) -> DriftDetector:
    """Return a drift detector with fields of the right types, or raise."""
    kinds = {name: type(value) for name, value in vars(DriftDetector()).items()}
    if not isinstance(given, dict) or given.keys() != kinds.keys():
        raise ModelFileError("the fields of drift detection are incomplete or unknown")
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in given.items()}
    if any(type(values[name]) is not kind for name, kind in kinds.items()):
        raise ModelFileError("a field of drift detection has the wrong type")
    for name, sizes in (("origin", (4,)), ("block", (4,)), ("alarm", (0, 2, 6))):
        if len(values[name]) not in sizes or {type(each) for each in values[name]} - {float}:
            raise ModelFileError(f"{name} of drift detection has the wrong numbers")
    return DriftDetector(**values)


def _decode_removed(rows: Any) -> list[dict[str, Any]]:
    """Return the report rows of removed candidates."""
    known = {"C": float, "error": float, "left_after": int, "behind": float}
    for row in rows:
        if any(type(row[name]) is not kind for name, kind in known.items()):
            raise ModelFileError("the report of removed candidates has wrong types")
    return [{n: tuple(v) if isinstance(v, list) else v for n, v in row.items()} for row in rows]
