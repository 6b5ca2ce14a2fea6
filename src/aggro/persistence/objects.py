"""The parts of learners, selections, text encoders and calibrators in a model file.

A checksum detects accidents, not forgeries, so each ``build`` validates what the core will trust.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.schema import (
    PARAMETERS,
    TABLES,
    check_arrays,
    check_linear,
    check_words,
    kernel_fields,
    linear_fields,
)
from aggro.persistence.values import CODECS, Codec, State
from aggro.reference_row import RECENT, ReferenceRow
from aggro.selection.drift import DriftDetector
from aggro.selection.feature_maps import LARGEST, SIZES, FeatureMaps, kinds_of
from aggro.selection.representation import Identity
from aggro.selection.search_space import (
    DEFAULT_SEARCH_SPACE,
    INTERVAL,
    MAPPED_SEARCH_SPACE,
    TEXT_SEARCH_SPACE,
)
from aggro.selection.selection import ModelSelection
from aggro.settings import FEATURES, LOSSES, Settings, check_settings, selected_axes, shared_layout
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner
from aggro.text.options import Options

FLOATS = ("float32", "float64")
MOST_FEATURES = 2**48
MOST_OUTPUTS_WITHOUT_VECTORS = 2**16
MOST_LEARNERS = 128
MOST_RANGES = 64
MOST_SOURCES = 2**16


def require(fits: bool, message: str) -> None:
    """Raise ModelFileError unless the parts of an object fit."""
    if not fits:
        raise ModelFileError(message)


def fields_of(names: Iterable[str]) -> Any:
    """Return a function that reads these attributes."""
    return lambda value: {name: getattr(value, name) for name in names}


def data_class(kind: Any) -> Codec:
    """Return the codec of a data class whose fields are parameters of estimators."""
    names = tuple(each.name for each in dataclasses.fields(kind))
    return Codec({name: PARAMETERS[name] for name in names}, fields_of(names), kind)


def _settings(**values: Any) -> Settings:
    settings = Settings(**values)
    check_settings(settings, LOSSES)
    return settings


# -- linear learners --


def _learner_parts(learner: Learner) -> dict[str, Any]:
    kinds, features = learner.model.layout(), learner.features
    return {
        "settings": list(learner.all_settings),
        "memory": learner.model.memory,
        "features": features,
        "outputs": learner.outputs,
        "dtype": learner.dtype.name,
        "state": State(
            (name, array.reshape(features, -1) if kinds[name] in TABLES else array)
            for name, array in learner.state().items()
        ),
    }


def _learner(
    settings: list[Settings], memory: float, features: int, outputs: int, dtype: str, state: State
) -> Learner:
    plain = all(type(each) is Settings and not selected_axes(each) for each in settings)
    one_layout = plain and len({shared_layout(each) for each in settings}) == 1
    require(one_layout, "the settings are not those of one learner")
    require(dtype in FLOATS, f"dtype={dtype!r} is neither float32 nor float64")
    classes = outputs
    if settings[0].task == "binary":  # a model that knows one class has a second record
        classes = 1 if "swapped_mistakes" in state else 2
    _check_sizes(settings, features, outputs, classes, dtype, state)
    learner = Learner(settings, features, classes, dtype)
    learner.model.set_memory(memory)
    learner.load_state({name: array.ravel() for name, array in state.items()})
    return learner


def _check_sizes(
    settings: list[Settings], features: int, outputs: int, classes: int, dtype: str, state: State
) -> None:
    """Compare every array with a learner of one feature before allocating the model."""
    first, all_outputs = settings[0], outputs * len(settings)
    slots = first.reservoir_size if first.average == "reservoir" else 1
    fits = outputs >= 1 and len(state["bias"]) == all_outputs and 0 <= features < MOST_FEATURES
    require(fits, "the numbers of features and outputs do not fit the arrays")
    for count, name in ((first.queue, "ring_bias"), (slots, "pool_bias")):
        fits = count <= 1 or len(state[name]) == count * all_outputs
        require(fits, f"{name} does not fit the settings")
    one = Learner(settings, 1, classes, dtype)
    check_arrays(state, linear_fields(one, features))
    check_linear(first, state)


# -- kernel learners --

KERNEL_FACTS = {"gamma": (float,), "features": (int,), "outputs": (int,), "sparse": (bool,)}


def _kernel_parts(learner: KernelLearner) -> dict[str, Any]:
    return {
        "settings": learner.settings,
        "choice": learner.choice,
        **fields_of(KERNEL_FACTS)(learner),
        "next_id": int(learner.next_id),
        "one_class": learner.classes == 1 and learner.settings.task == "binary",
        "state": State(learner.model.state()),
    }


def _kernel_learner(
    settings: Settings,
    choice: KernelChoice,
    next_id: int,
    one_class: bool,
    state: State,
    **shape: Any,
) -> KernelLearner:
    choice.check(settings.batch_size)
    features, outputs = shape["features"], shape.pop("outputs")
    _check_kernel_sizes(features, outputs, state)
    classes = outputs if settings.task != "binary" else 1 if one_class else 2
    learner = KernelLearner(settings, choice, outputs=classes, **shape)
    check_arrays(state, kernel_fields(learner.model.state(), features, outputs, state))
    ids = state["ids"]
    require(len(np.unique(ids)) == len(ids), "ids names a support vector twice")
    learner.load_state(state)
    learner.next_id = next_id
    return learner


def _check_kernel_sizes(features: int, outputs: int, state: State) -> None:
    """Raise if the core would allocate more memory than the file has bytes."""
    slots = len(state["ids"])
    fits = 0 <= features < MOST_FEATURES and 1 <= outputs <= MOST_OUTPUTS_WITHOUT_VECTORS + slots
    require(fits, "the numbers of features and outputs are out of range")
    fits = not slots or state["coef"].size == slots * outputs
    require(fits, "the coefficients are not one for each support vector and output")
    indices = state.get("indices", np.empty(0, np.int64))
    known = bool(((indices >= 0) & (indices < features)).all())
    require(known, "a support vector has an unknown feature")


# -- model selections --

SELECTED = {
    "settings": (Settings,),
    "features": (int,),
    "classes": (int,),
    "seed": (int,),
    "learners": (list,),
    "leading": (int,),
    "counted": (tuple,),
    "margin_unit": (float,),
    "drift": (DriftDetector,),
    "fixed": (tuple, NoneType),
    "left": (list,),
}
REMOVED = {"C": float, "error": float, "left_after": int, "behind": float}


def _selection_parts(selection: ModelSelection) -> dict[str, Any]:
    representations = selection.representations
    kept = type(representations).__name__ in CODECS  # the identity needs no description
    return {
        **fields_of(tuple(SELECTED))(selection),
        "dtype": selection.dtype.name,
        "representations": representations if kept else None,
        "numbers": [each.representation for each in selection.learners],
    }


def _selection(
    settings: Settings,
    features: int,
    classes: int,
    seed: int,
    dtype: str,
    representations: Any,
    numbers: list[int],
    **state: Any,
) -> ModelSelection:
    fits = dtype in FLOATS and len(state["learners"]) <= MOST_LEARNERS
    require(fits, "its model selection has no valid type or too many learners")
    shape = (features, classes, np.dtype(dtype), seed)
    space = DEFAULT_SEARCH_SPACE if representations is None else TEXT_SEARCH_SPACE
    if isinstance(representations, FeatureMaps):
        space = MAPPED_SEARCH_SPACE
        mapped = representations.core.columns
        fits = {*representations.kinds} <= {*kinds_of(settings, mapped)} and mapped <= features
        require(fits, "the feature maps are not those of its settings and columns")
        representations.columns, representations.appends = features, mapped < features
    selection = ModelSelection(settings, *shape, representations=representations, space=space)
    vars(selection).update(state)
    _check_learners(selection, numbers)
    _check_selection(selection)
    return selection


def _check_learners(selection: ModelSelection, numbers: list[int]) -> None:
    """Set the representations of the learners, or raise if their shapes differ from these."""
    for learner, number in zip(selection.learners, numbers, strict=True):
        require(type(learner) is Learner, "a learner of the selection is missing")
        same = (learner.outputs, learner.dtype, learner.settings.task)
        fits = same == (selection.outputs, selection.dtype, selection.settings.task)
        require(fits, "the learners of the selection have different shapes")
        known = range(len(selection.representations.descriptions))
        require(type(number) is int and number in known, "a learner has an unknown representation")
        learner.representation = number
        fits = _width_fits(selection, number, learner.features)
        require(fits, "a learner does not have the columns of its representation")


def _width_fits(selection: ModelSelection, number: int, features: int) -> bool:
    """Return whether a learner may have this number of features."""
    representations: Any = selection.representations
    if isinstance(representations, Identity):
        return features == selection.features
    if isinstance(representations, FeatureMaps):
        return features == representations.width(number)
    # A learner is widened in larger steps than its words.
    return bool(features >= representations.features(representations.choices[number][0]))


def _check_selection(selection: ModelSelection) -> None:
    """Raise unless the state of a selection fits its learners."""
    learners, fixed, drift = selection.learners, selection.fixed, selection.drift
    fits = 0 <= selection.leading < max(len(learners), 1)
    require(fits, "the best learner is not one of the learners")
    if fixed is not None:
        fits = len(fixed) == 2 and all(type(each) is int and each >= 0 for each in fixed)
        fits = fits and fixed[0] < len(learners) and fixed[1] < learners[fixed[0]].models
        require(fits, "the final candidate is not one of the candidates")
    fits = [type(each) for each in selection.counted] == [float, float]
    require(
        fits and all(map(math.isfinite, selection.counted)),
        "the error counts must be two finite numbers",
    )
    fits = 0.0 < selection.margin_unit < math.inf
    require(fits, "the unit of margins must be a positive number")
    for row in selection.left:
        fits = all(type(row[name]) is kind for name, kind in REMOVED.items())
        require(fits, "the report of removed candidates has wrong types")
    fits = 0 <= drift.start <= selection.examples
    require(fits, "drift detection starts after the last example")
    fits = drift.start < drift.next_checkpoint <= selection.examples + INTERVAL
    require(fits, "the next evaluation step is out of range")


def _drift(**parts: Any) -> DriftDetector:
    for name, sizes in (("origin", (4,)), ("block", (4,)), ("alarm", (0, 2, 6))):
        fits = len(parts[name]) in sizes and not {type(each) for each in parts[name]} - {float}
        require(fits, f"{name} of drift detection has the wrong numbers")
    lists = (*parts["origin"], *parts["block"], *parts["alarm"])
    numbers = (parts[name] for name in ("rows", "mean", "last", "dispersion", "tolerance"))
    fits = all(0.0 <= each < math.inf for each in (*lists, *numbers))
    require(fits, "the statistics of drift detection must be finite and at least zero")
    return DriftDetector(**parts)


# -- representations --


def _maps_parts(maps: FeatureMaps) -> dict[str, Any]:
    state = State(maps.core.state())
    return {
        "kinds": list(maps.kinds),
        "seed": maps.seed,
        "dtype": maps.dtype.name,
        "growth": maps.growth,
        "state": state,
    }


def _maps(kinds: list[str], seed: int, dtype: str, growth: int, state: State) -> FeatureMaps:
    mapped = [kind for kind in kinds if kind in SIZES]
    require(
        bool(mapped) and len({*kinds}) == len(kinds), f"{kinds!r} are not distinct feature maps"
    )
    require(0 <= seed < 2**63, "the seed of the feature maps is out of range")
    require(dtype in FLOATS, f"dtype={dtype!r} is neither float32 nor float64")
    require(1 <= growth <= LARGEST, f"growth={growth!r} of the feature maps is out of range")
    maps = FeatureMaps(kinds, len(state["mean"]), np.dtype(dtype), seed, growth)
    types = {name: array.dtype for name, array in maps.core.state().items()}
    fits = {name: array.dtype for name, array in state.items()} == types
    require(fits, "the arrays of the feature maps are not those of its columns")
    fits = all(np.isfinite(array).all() for array in state.values())
    require(fits, "the feature maps contain NaN or infinity")
    maps.core.load_state(state)
    return maps


def _encoder_parts(encoder: Encoder) -> dict[str, Any]:
    options = dataclasses.asdict(encoder.options)
    if not (options["stop_words"] is None or isinstance(options["stop_words"], str)):
        options["stop_words"] = sorted(options["stop_words"])
    return {
        "options": options,
        "ranges": encoder.ranges,
        "kinds": encoder.kinds,
        "texts": len(encoder.texts),
        "categories": encoder.categories is not None,
        "numbers": encoder.columns,
        "features": encoder.mapping,
        "seed": encoder.seed,
        "names": int(encoder.names),
        "references": list(encoder.references),
        "state": State(encoder.state()),
    }


def _encoder(
    options: dict[str, Any],
    ranges: list[tuple[int, int]],
    kinds: list[str],
    references: list[ReferenceRow],
    state: State,
    **shape: Any,
) -> Encoder:
    fits = 0 <= shape["texts"] + shape["numbers"] < MOST_SOURCES and 0 < len(ranges) <= MOST_RANGES
    require(fits, "it has an invalid number of columns or of ranges of n-grams")
    checked = Options(**options)
    for each in ranges:
        dataclasses.replace(checked, ngram_range=each)  # validates it
    require(bool(kinds) and {*kinds} <= {"tf", "idf"}, "it has unknown weightings of words")
    require(
        shape["features"] in FEATURES and 0 <= shape["seed"] < 2**63, "its features are unknown"
    )
    encoder = Encoder(checked, ranges, kinds, **shape)
    check_words(state, shape["numbers"])
    encoder.load_state(state)
    fits = encoder.state().keys() == state.keys() and len(references) in (0, len(encoder.choices))
    for (which, _), row in zip(encoder.choices, references, strict=False):
        fits = fits and type(row) is ReferenceRow and row.fits(encoder.features(which))
    require(fits, "its arrays or reference rows are not those of its columns")
    encoder.set_references(references)
    return encoder


def _text_learner(selection: ModelSelection, calibrator: Any, repeated: int) -> TextLearner:
    encoder: Any = selection.representations
    fits = type(encoder) is Encoder and selection.dtype == np.float32 and repeated >= 0
    if calibrator is not None:
        known = (calibrator.classes, calibrator.multilabel)
        several = selection.settings.task == "multilabel"
        fits = fits and known == (selection.classes, several) and len(encoder.references) > 0
        fits = fits and selection.settings.task != "regression"
    require(fits, "its parts are not those of one learner of texts")
    learner = TextLearner.__new__(TextLearner)
    parts = {"selection": selection, "calibrator": calibrator, "repeated": repeated}
    learner.__setstate__(parts)
    return learner


# -- calibration --

RECORDED = {"scores": np.float32, "centres": np.float32, "labels": np.int32, "weights": np.float32}
TALLIES = {"counts": np.int64, "masses": np.float64, "changes": np.int64, "latest": np.int32}
FACTS = {"classes": (int,), "multilabel": (bool,), "seen": (int,), "recorded": (int,)}
CALIBRATOR = {**dict.fromkeys((*RECORDED, *TALLIES), (np.ndarray,)), **FACTS}


def _calibrator(**parts: Any) -> Calibrator:
    found = Calibrator(**parts)
    fits = found.classes >= 1 and _shapes_fit(found) and _values_fit(found)
    require(fits, "the recorded margins are inconsistent")
    return found


def _shapes_fit(found: Calibrator) -> bool:
    empty, rows = Calibrator.empty(found.classes, found.multilabel), len(found.weights)
    fits = True
    for name, kind in (RECORDED | TALLIES).items():
        array, shape = getattr(found, name), getattr(empty, name).shape
        fits &= array.dtype == kind
        fits &= array.shape == ((rows, *shape[1:]) if name in RECORDED else shape)
    return fits


def _values_fit(found: Calibrator) -> bool:
    highest = 2 if found.multilabel else found.classes
    numbers = [found.scores, found.centres, found.weights, found.masses]
    return (
        all(bool(np.isfinite(part).all()) for part in numbers)
        and bool((found.weights > 0).all())
        and bool(((found.labels >= 0) & (found.labels < highest)).all())
        and all(bool((part >= 0).all()) for part in (found.counts, found.masses, found.changes))
        and bool(((found.latest >= -1) & (found.latest < highest)).all())
        and found.seen >= found.recorded >= len(found.weights)
    )


def _reference_parts(reference: ReferenceRow) -> dict[str, Any]:
    rows = ((reference.mean, reference.features), *reference.samples)
    data, indices = (np.concatenate(part) for part in zip(*rows, strict=True))
    ends = np.cumsum([len(values) for values, _ in rows])
    return {"met": reference.met, "data": data, "indices": indices, "ends": ends}


def _reference(met: int, data: Any, indices: Any, ends: Any) -> ReferenceRow:
    fits = met >= 0 and 0 < len(ends) <= RECENT + 1
    fits &= data.dtype == np.float64 and indices.dtype == ends.dtype == np.int64
    fits &= data.ndim == ends.ndim == 1 and data.shape == indices.shape
    fits &= bool((np.diff(ends, prepend=0) >= 0).all()) and bool(ends[-1] == len(data))
    fits = fits and bool(np.isfinite(data).all()) and bool((indices >= 0).all())
    require(fits, "the reference row is inconsistent")
    data, indices = (np.split(part, ends[:-1]) for part in (data, indices))
    samples = tuple(zip(data[1:], indices[1:], strict=True))
    return ReferenceRow(met, data[0], indices[0], samples)


# -- all kinds of objects --

CODECS |= {
    "Settings": data_class(Settings)._replace(build=_settings),
    "KernelChoice": data_class(KernelChoice),
    "Learner": Codec(
        {
            **{"settings": (list,), "memory": (float,), "features": (int,), "outputs": (int,)},
            **{"dtype": (str,), "state": (State,)},
        },
        _learner_parts,
        _learner,
    ),
    "KernelLearner": Codec(
        {
            **{"settings": (Settings,), "choice": (KernelChoice,), **KERNEL_FACTS},
            **{"next_id": (int,), "one_class": (bool,), "state": (State,)},
        },
        _kernel_parts,
        _kernel_learner,
    ),
    "ModelSelection": Codec(
        {
            **SELECTED,
            **{"dtype": (str,), "representations": (FeatureMaps, Encoder, NoneType)},
            **{"numbers": (list,)},
        },
        _selection_parts,
        _selection,
    ),
    "DriftDetector": Codec(
        {name: (type(value),) for name, value in vars(DriftDetector()).items()}, vars, _drift
    ),
    "FeatureMaps": Codec(
        {"kinds": (list,), "seed": (int,), "dtype": (str,), "growth": (int,), "state": (State,)},
        _maps_parts,
        _maps,
    ),
    "Encoder": Codec(
        {
            **{"options": (dict,), "ranges": (list,), "kinds": (list,), "texts": (int,)},
            **{"categories": (bool,), "numbers": (int,), "names": (int,)},
            **{"features": (str,), "seed": (int,)},
            **{"references": (list,), "state": (State,)},
        },
        _encoder_parts,
        _encoder,
    ),
    "TextLearner": Codec(
        {
            "selection": (ModelSelection,),
            "calibrator": (Calibrator, NoneType),
            "repeated": (int,),
        },
        fields_of(("selection", "calibrator", "repeated")),
        _text_learner,
    ),
    "Calibrator": Codec(CALIBRATOR, fields_of(tuple(CALIBRATOR)), _calibrator),
    "ReferenceRow": Codec(
        {"met": (int,), "data": (np.ndarray,), "indices": (np.ndarray,), "ends": (np.ndarray,)},
        _reference_parts,
        _reference,
    ),
}
