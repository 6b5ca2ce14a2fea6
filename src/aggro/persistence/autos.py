"""A race of learners (``C="auto"``) in a model file."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.learners import (
    decode_learner,
    decode_settings,
    encode_learner,
    encode_settings,
)
from aggro.persistence.values import Arrays
from aggro.selection.drift import DriftDetector
from aggro.selection.grids import PIECE
from aggro.selection.selection import ModelSelection

FACTS = {
    "features": int,
    "classes": int,
    "dtype": str,
    "seed": int,
    "mistakes": float,
    "distance": float,
}
MOST_LEARNERS = 16


def encode_auto_learner(race: ModelSelection, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the facts about a race; the arrays of its learners go to ``arrays``."""
    return {
        "settings": encode_settings(race.settings, arrays),
        "features": race.features,
        "classes": race.classes,
        "dtype": race.dtype.name,
        "seed": int(race.seed),
        "mistakes": float(race.mistakes),
        "distance": float(race.distance),
        "counted": [float(each) for each in race.counted],
        "leading": race.leading,
        "margin_unit": float(race.margin_unit),
        "drift": dataclasses.asdict(race.drift),
        "fixed": None if race.fixed is None else list(race.fixed),
        "left": race.left,
        "learners": [
            encode_learner(learner, f"{where}.{number}", arrays)
            for number, learner in enumerate(race.learners)
        ],
    }


def decode_auto_learner(
    facts: dict[str, Any], where: str, arrays: Arrays, kind: type[ModelSelection] = ModelSelection
) -> ModelSelection:
    """Return the race, of the kind that is wanted, or raise if its parts do not fit together."""
    settings = decode_settings(facts["settings"], arrays)
    for name, wanted in FACTS.items():
        if type(facts[name]) is not wanted:
            raise ModelFileError(f"{name}={facts[name]!r} is not of the right type")
    if facts["dtype"] not in ("float32", "float64") or len(facts["learners"]) > MOST_LEARNERS:
        raise ModelFileError("it holds no race that makes sense")
    shape = (facts["features"], facts["classes"], np.dtype(facts["dtype"]), facts["seed"])
    race = kind(settings, *shape)
    race.learners = [
        decode_learner(each, f"{where}.{number}", arrays)
        for number, each in enumerate(facts["learners"])
    ]
    if facts["fixed"] is not None:
        race.fixed = _place(facts["fixed"], race)
        for number, learner in enumerate(race.learners):
            _put_back_records(learner, f"{where}-judged.{number}.", arrays)
    _resume(race, facts)
    race.left = decode_left(facts["left"])
    race.margin_unit = facts["margin_unit"]
    if type(race.margin_unit) is not float or not 0.0 < race.margin_unit < math.inf:
        raise ModelFileError("the unit of margins must be a positive number")
    for learner in race.learners:
        same = (learner.features, learner.outputs, learner.dtype, learner.settings.task)
        if same != (race.features, race.outputs, race.dtype, settings.task):
            raise ModelFileError("the learners of the race are not of one shape")
    return race


def _place(fixed: Any, race: ModelSelection) -> tuple[int, int]:
    number, lane = (int(each) for each in fixed)
    if not (0 <= number < len(race.learners) and 0 <= lane < race.learners[number].models):
        raise ModelFileError("the chosen learner is not there")
    return number, lane


def _resume(race: ModelSelection, facts: dict[str, Any]) -> None:
    """Restore the results of the last checkpoint."""
    leading = facts["leading"]
    if type(leading) is not int:
        raise ModelFileError("the leading learner is not told by its number")
    if not 0 <= leading < max(len(race.learners), 1):
        raise ModelFileError("the leading learner is not there")
    race.leading, race.drift = leading, _decode_drift(race, facts["drift"])
    race.counted = decode_counted(facts["counted"])


def decode_counted(told: Any) -> tuple[float, float]:
    """Return the mistakes and the distance of earlier best candidates."""
    if [type(each) for each in told] != [float, float] or not all(map(math.isfinite, told)):
        raise ModelFileError("what the race has counted is not told in two numbers")
    return told[0], told[1]


def _decode_drift(race: ModelSelection, given: Any) -> DriftDetector:
    """Return the drift detector, or raise if its statistics are out of range."""
    detector = _detector_of(given)
    lists = (*detector.origin, *detector.block, *detector.alarm)
    numbers = (detector.rows, detector.mean, detector.last, detector.dispersion, detector.tolerance)
    if not all(0.0 <= each < math.inf for each in (*lists, *numbers)):
        raise ModelFileError("the statistics of drift detection must be finite and at least zero")
    if not 0 <= detector.start <= race.examples:
        raise ModelFileError("drift detection starts after the last example")
    if not detector.start < detector.next_checkpoint <= race.examples + PIECE:
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


def decode_left(rows: Any) -> list[dict[str, Any]]:
    """Return the report of the removed candidates."""
    known = {"C": float, "error": float, "left_after": int, "behind": float}
    for row in rows:
        if any(type(row[name]) is not kind for name, kind in known.items()):
            raise ModelFileError("what is told of those that left the race makes no sense")
    return list(rows)


def _put_back_records(learner: Learner, where: str, arrays: Arrays) -> None:
    """Restore the records at the end of the first pass."""
    state = learner.state()
    for name, now in state.items():
        found = arrays.get(where + name, now)
        if found.shape != now.shape or found.dtype != now.dtype:
            raise ModelFileError(f"{name} does not fit its learner")
        state[name] = found
    learner.load_state(state)
