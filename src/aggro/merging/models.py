"""``aggro.merge``: estimators, stream learners and model files put together in their own types."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggro.checks import check_number
from aggro.classes import Classes
from aggro.io.strings import MOST_NAMES
from aggro.learner import Array
from aggro.merging.learners import merge_learners
from aggro.merging.margins import merge_calibrators, merge_typical
from aggro.merging.order import in_canonical_order, that_learned
from aggro.merging.parts import wider
from aggro.merging.streams import merge_streams
from aggro.persistence.record import KERNELS, TEXTS, Record, read_record
from aggro.persistence.streams import STREAMS
from aggro.selection.common import AnyLearner, features_of
from aggro.settings import LOSSES, check_settings
from aggro.variants import LINEAR

Path_ = (str, os.PathLike)
SAME = ("_multilabel", "_flat", "_origin")  # of all models


def merge(
    models: Sequence[Any], weights: Sequence[float] | None = None, *, start: Any = None
) -> Any:
    """Return one model from several that were learned apart; the models stay as they are.

    What was counted adds up exactly: examples, mistakes, class means, scales, records, margins for
    probabilities. Classes and features that only some models know are all in the result. The change
    of each weight since the common start is the mean of the models' changes, each counting as much
    as it has news about that weight: how many steps moved it, or the precision that it gained.

    The order of the models does not matter: the result is the same, bit for bit. Among models of
    selections the candidate with the best recent record in all of them predicts. A model that has
    learned nothing (since the start) is neutral: the result is the merge of the others.

    A mean of changes goes as far as one model went, so where C is small, learn each of S models
    with ``S * C``.

    Parameters
    ----------
    models : list of estimators, stream learners or paths of model files
        All of one kind, with the same parameters. In the Euclidean metric they need
        ``mergeable=True``, which counts the steps.
    weights : list of numbers, optional
        How much the votes of each model count; 1 each by default.
    start : estimator, stream learner or path, optional
        What all models were when they parted: a copy, or the file that they were loaded from. By
        default they began from nothing.

    Examples
    --------
    >>> import aggro
    >>> north = aggro.StreamClassifier("PA-I", mergeable=True)
    >>> south = aggro.StreamClassifier("PA-I", mergeable=True)
    >>> north.learn_one({"snow": 1.0}, "cold")
    >>> north.learn_one({"sun": 1.0}, "hot")
    >>> south.learn_one({"palm": 1.0}, "hot")
    >>> both = aggro.merge([north, south])
    >>> both.predict_one({"palm": 1.0, "sun": 1.0}), both.examples
    ('hot', 3)
    """
    if isinstance(models, Path_) or not hasattr(models, "__len__") or len(models) == 0:
        raise ValueError(f"models={models!r} is not valid; give a list of models to merge.")
    if weights is not None:
        check_weights(weights, len(models))
    from aggro.persistence.store import load

    given = [load(each) if isinstance(each, Path_) else each for each in models]
    begin = load(start) if isinstance(start, Path_) else start
    name = type(given[0]).__name__
    for each in [*given[1:], *([] if begin is None else [begin])]:
        if type(each) is not type(given[0]):
            raise ValueError(
                f"A {type(each).__name__} cannot be merged with a {name}; give models of one kind."
            )
    if name in STREAMS:
        return merge_streams(given, begin, weights)
    from aggro.persistence.store import model_of, record_of

    records = [record_of(each) for each in given]
    merged = merge_records(records, None if begin is None else record_of(begin), weights)
    return model_of(merged)


def merge_files(
    paths: Sequence[str], start: str | None = None, weights: Sequence[float] | None = None
) -> Record:
    """Return model files as one record, without scikit-learn; for streams use ``merge``."""
    if weights is not None:
        check_weights(weights, len(paths))
    records = [read_record(path) for path in paths]
    for path, record in zip(paths, records, strict=True):
        if record.name != records[0].name:
            raise ValueError(
                f"{path} holds a {record.name}, but {paths[0]} a {records[0].name}; merge models "
                "of one kind."
            )
    if records[0].name in STREAMS:
        from aggro.persistence.store import record_of

        return record_of(merge([Path(path) for path in paths], weights, start=start))
    return merge_records(records, None if start is None else read_record(start), weights)


def check_weights(weights: Sequence[float], count: int) -> None:
    """Raise unless there is one positive number for each model."""
    if len(weights) != count:
        raise ValueError(f"There are {count} models but {len(weights)} weights; give one for each.")
    for weight in weights:
        check_number("weights", weight, above=0)
        if not np.isfinite(weight):
            raise ValueError("weights contains infinity; give finite numbers.")


# -- estimators as records -------------------------------------------------------------------


def merge_records(
    records: Sequence[Record], start: Record | None, weights: Sequence[float] | None
) -> Record:
    """Return the models of estimators as one."""
    first = records[0]
    if first.name in KERNELS:
        raise ValueError(
            f"A {first.name} cannot be merged: its models are sums over remembered examples, and "
            "all examples of all models together are more than the budget; merge linear models."
        )
    if first.name not in (*LINEAR, *TEXTS):
        raise ValueError(
            f"A {first.name} cannot be merged; give linear models, streams or models of texts."
        )
    records, weights = in_canonical_order(records, weights, vars)
    start = None if start is None or "_learner" not in start.attributes else start
    learned, weights = that_learned(records, weights, start)
    known = [each for each in (*records, start) if each and "_learner" in each.attributes]
    if first.name in TEXTS:
        from aggro.merging.texts import merge_texts

        return merge_texts(learned, start, weights, known)
    return _merge_linear(learned, start, weights, [each.attributes for each in known])


def _merge_linear(
    learned: Sequence[Record],
    start: Record | None,
    weights: Sequence[float],
    known: Sequence[dict[str, Any]],
) -> Record:
    """Return linear models as one; ``known`` are all fitted attributes, also of empty models."""
    for name in SAME:
        _check_same(name, [each.get(name) for each in known])
    first = learned[0]
    if not known:
        return copy.deepcopy(first)
    if any(features_of(each["_learner"]) != "linear" for each in known):
        raise ValueError(
            "Models of non-linear features cannot be merged, since each has a feature map of its "
            "own; learn them with features='linear'."
        )
    names = _feature_names(known)
    width = max(int(each["n_features_in_"]) for each in known) if names is None else len(names)
    classes = _all_classes(known)
    fit = _fitter(names, width, classes)
    fitted = [each.attributes for each in learned]
    learners = [fit(each) for each in fitted]
    begin = None if start is None else start.attributes
    learner = merge_learners(learners, None if begin is None else fit(begin), weights)
    if len(learned) == 1 and _same_shape(learner, first.attributes["_learner"]):
        return copy.deepcopy(first)
    merged = {**fitted[0], "_learner": learner, "n_features_in_": width}
    merged["n_iter_"] = max(int(each.get("n_iter_", 1)) for each in fitted)
    merged["_known_params"] = all(each.get("_known_params") is True for each in fitted)
    if names is not None:
        merged["feature_names_in_"] = names
    hashed = sorted({name for each in known for name in each.get("_names", ())})
    if hashed:
        merged["_names"] = hashed[:MOST_NAMES]
    if classes is not None:
        _merge_classes(merged, fitted, begin, classes)
    return Record(first.name, first.params, {k: v for k, v in merged.items() if v is not None})


def _same_shape(one: AnyLearner, other: AnyLearner) -> bool:
    return (one.features, one.classes) == (other.features, other.classes)


def _check_same(name: str, values: list[Any]) -> None:
    for value in values[1:]:
        if value != values[0]:
            what = name.strip("_").replace("origin", "way their data were read")
            raise ValueError(f"The models differ in the {what}; merge models of the same data.")


def _feature_names(fitted: Sequence[dict[str, Any]]) -> Array | None:
    """Return the names of all features: those of the first model, then what others add."""
    named = [each.get("feature_names_in_") for each in fitted]
    if all(names is None for names in named):
        return None
    if any(names is None for names in named):
        raise ValueError(
            "Some models know their features by name and others by place; learn all of them from "
            "data frames, or none."
        )
    known = dict.fromkeys(name for names in named if names is not None for name in names.tolist())
    return np.array(list(known), dtype=object)


def _all_classes(fitted: Sequence[dict[str, Any]]) -> Classes | None:
    if "classes_" not in fitted[0]:
        return None
    everybody = Classes(fitted[0]["classes_"])
    for each in fitted[1:]:
        everybody = everybody.admit(each["classes_"])
    return everybody


def _fitter(
    names: Array | None, width: int, classes: Classes | None
) -> Callable[[dict[str, Any]], AnyLearner]:
    """Return what brings a model to the features and classes of all of them."""

    def fit(fitted: dict[str, Any]) -> AnyLearner:
        learner = fitted["_learner"]
        places = np.arange(learner.features)
        if names is not None:
            found = {name: place for place, name in enumerate(names.tolist())}
            places = np.array([found[name] for name in fitted["feature_names_in_"].tolist()])
        wide: AnyLearner = wider(learner, places, width)
        if classes is None or len(fitted["classes_"]) == len(classes):
            return wide
        settings = replace(wide.settings, task=classes.task)
        check_settings(settings, LOSSES)
        position = Classes(fitted["classes_"]).among(classes)
        return wide.add_classes(settings, position, len(classes))

    return fit


def _merge_classes(
    merged: dict[str, Any],
    fitted: Sequence[dict[str, Any]],
    begin: dict[str, Any] | None,
    classes: Classes,
) -> None:
    """Counts of classes and margins for probabilities."""
    counts = [Classes(each["classes_"]).moved(each["_counts"], classes) for each in fitted]
    before = np.zeros(len(classes))
    if begin is not None:
        before = Classes(begin["classes_"]).moved(begin["_counts"], classes)
    merged["classes_"] = classes.labels
    merged["_counts"] = before + (np.array(counts) - before).sum(axis=0)
    merged["_classes_given"] = all(each["_classes_given"] for each in fitted)
    for name in ("_calibrator", "_typical"):
        merged.pop(name, None)
    if all("_calibrator" in each for each in fitted):
        merged["_calibrator"] = merge_calibrators(fitted, begin, classes)
        before_all = 0 if begin is None or "_typical" not in begin else begin["_typical"].met
        merged["_typical"] = merge_typical([each["_typical"] for each in fitted], before_all)
