"""``aggro.merge``: estimators, stream learners and model files merged into one model."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from aggro.calibration.recorder import Recorder
from aggro.checks import check_number
from aggro.classes import Classes, continued_labels
from aggro.io.strings import MOST_NAMES
from aggro.learner import Array
from aggro.merging.learners import merge_learners, wider
from aggro.merging.margins import join_recorders
from aggro.persistence.record import KERNELS, TEXTS, Record, bytes_of
from aggro.persistence.streams import STREAMS
from aggro.selection.common import features_of
from aggro.settings import LOSSES, check_settings, class_task
from aggro.variants import LINEAR

SAME = {"_multilabel": "kind of labels", "_flat": "shape of y", "_origin": "way data were read"}


def merge(
    models: Sequence[Any], weights: Sequence[float] | None = None, *, start: Any = None
) -> Any:
    """Return one model from several that were trained separately; they are not changed.

    Counts add up exactly: examples, mistakes, class means, scales, records, margins for
    probabilities. The result has all classes and features that some models know. The change of each
    weight since the common start is the mean of the models' changes, weighted by their update
    counts: how many steps moved it, or the precision that it gained.

    The order of the models does not matter: the result is the same, bit for bit. Of model
    selections, the candidate with the best recent record in all of them predicts. A model that has
    learned nothing (since the start) is neutral: the result is the merge of the others.

    A mean of changes goes as far as one model went, so where C is small, train each of S models
    with ``S * C``.

    Parameters
    ----------
    models : list of estimators, stream learners or paths of model files
        All of one kind, with the same parameters. In the Euclidean metric they need
        ``mergeable=True``, which counts the updates.
    weights : list of numbers, optional
        The influence of each model; 1 by default.
    start : estimator, stream learner or path, optional
        The common model from which all models continued: a copy, or the file that they were loaded
        from. By default they began untrained.

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
    from aggro.persistence.store import load, record_of

    if isinstance(models, (str, os.PathLike)) or not hasattr(models, "__len__") or not len(models):
        raise ValueError(f"models={models!r} is not valid; give a list of models to merge.")
    _check_weights(weights, len(models))
    everything = [*models, *([] if start is None else [start])]
    given = [load(each) if isinstance(each, (str, os.PathLike)) else each for each in everything]
    for each in given[1:]:
        if type(each) is not type(given[0]):
            raise ValueError(
                f"A {type(each).__name__} cannot be merged with a {type(given[0]).__name__}; give "
                "models of one kind."
            )
    members = [Member(each, record_of(each)) for each in given]
    begin = members.pop() if start is not None else None
    return _merge_function(members[0].record.name)(Merge.of(members, begin, weights))


def _merge_function(name: str) -> Callable[[Merge], Any]:
    """Return the function that merges one kind of model."""
    if name in LINEAR:
        return _merge_linear
    if name in STREAMS:
        from aggro.merging.streams import merge_streams

        return merge_streams
    if name in TEXTS:
        from aggro.merging.texts import merge_texts

        return merge_texts
    why = "give linear models, streams or models of texts"
    if name in KERNELS:
        why = (
            "its models are sums over remembered examples, and all examples of all models together "
            "are more than the budget; merge linear models"
        )
    raise ValueError(f"A {name} cannot be merged: {why}.")


def _check_weights(weights: Sequence[float] | None, count: int) -> None:
    """Raise unless there is one positive number for each model."""
    if weights is None:
        return
    if len(weights) != count:
        raise ValueError(f"There are {count} models but {len(weights)} weights; give one for each.")
    for weight in weights:
        check_number("weights", weight, above=0)
        if not np.isfinite(weight):
            raise ValueError("weights contains infinity; give finite numbers.")


@dataclass(frozen=True)
class Member:
    """A model to merge, and the same model as plain data."""

    model: Any
    record: Record

    @property
    def fitted(self) -> dict[str, Any]:
        """The fitted attributes."""
        return self.record.attributes

    @property
    def digest(self) -> bytes:
        """A hash of everything that makes up the model."""
        attributes = bytes_of(Record(self.record.name, {}, self.fitted))
        return hashlib.sha256(attributes + repr(self.record.params).encode()).digest()


@dataclass(frozen=True)
class Merge:
    """Models to merge, in an order that follows from their content.

    Sums and ties of floating-point numbers depend on the order of their terms. With one canonical
    order, ``merge([a, b])`` and ``merge([b, a])`` are the same model, bit for bit.

    Parameters
    ----------
    learned : list of Member
        The models that have learned since the start, those with the most examples first. Others are
        neutral; if there are only such models, the first one.
    weights : list of float
        The influence of each.
    start : Member or None
        Their common start, if it has learned anything.
    known : list of Member
        All fitted models, also those that are neutral, and the start.
    """

    learned: list[Member]
    weights: list[float]
    start: Member | None
    known: list[Member]

    @staticmethod
    def of(members: list[Member], start: Member | None, weights: Sequence[float] | None) -> Merge:
        """Return models in their order."""
        votes = [1.0] * len(members) if weights is None else list(map(float, weights))
        pairs = sorted(
            zip(members, votes, strict=True),
            key=lambda pair: (-pair[0].record.examples, pair[0].digest, pair[1]),
        )
        before = 0 if start is None else start.record.examples
        count = sum(each.record.examples > before for each in members) or 1
        members, votes = [member for member, _ in pairs], [vote for _, vote in pairs]
        if start is not None and not start.record.examples:
            start = None
        fitted = [each for each in members if "_learner" in each.fitted]
        known = [*fitted, *([] if start is None else [start])]
        return Merge(members[:count], votes[:count], start, known)

    @property
    def first(self) -> Member:
        """The first model, whose parameters and attributes the result has."""
        return self.learned[0]

    @property
    def parts(self) -> list[Member]:
        """The models that have learned, followed by the start."""
        return [*self.learned, *([] if self.start is None else [self.start])]

    def learner(self, fit: Callable[[Member], Any]) -> Any:
        """Return the merged learner; ``fit`` returns that of a model in the final shape."""
        learners = [fit(each) for each in self.parts]
        origin = learners.pop() if self.start is not None else None
        return merge_learners(learners, origin, self.weights)


def admitted(learner: Any, position: Array, classes: int) -> Any:
    """Return a learner of any kind with more classes, or labels; ``position`` has its own."""
    if len(position) == classes:
        return learner
    if learner.settings.task == "multilabel":
        return learner.relabelled(continued_labels(position.tolist(), range(classes)))
    settings = replace(learner.settings, task=class_task(classes))
    check_settings(settings, LOSSES)
    return learner.add_classes(settings, position, classes)


def all_classes(members: Sequence[Member]) -> Classes | None:
    """Return the classes that some models know; none of regressions."""
    known = [each.fitted["classes_"] for each in members if "classes_" in each.fitted]
    known = [each for each in known if len(each)] or known[:1]  # sets of labels may be empty
    return reduce(Classes.admit, known[1:], Classes(known[0])) if known else None


# -- linear estimators ---------------------------------------------------------------------------


def _merge_linear(merge: Merge) -> Any:
    """Return linear estimators as one."""
    from aggro.persistence.store import model_of

    first, known = merge.first, [each.fitted for each in merge.known]
    if not known:
        return copy.deepcopy(first.model)
    _check_linear(known)
    names, classes = _feature_names(known), all_classes(merge.known)
    width = max(int(each["n_features_in_"]) for each in known) if names is None else len(names)
    found = {} if names is None else {name: place for place, name in enumerate(names.tolist())}

    def fit(member: Member) -> Any:
        fitted = member.fitted
        places = np.arange(fitted["_learner"].features)
        if names is not None:
            places = np.array([found[name] for name in fitted["feature_names_in_"].tolist()])
        wide = wider(fitted["_learner"], [places], [width])
        if classes is None:
            return wide
        return admitted(wide, Classes(fitted["classes_"]).among(classes), len(classes))

    learner, mine = merge.learner(fit), first.fitted
    if len(merge.learned) == 1 and _shape(learner) == _shape(mine["_learner"]):
        return copy.deepcopy(first.model)
    own = [each.fitted for each in merge.learned]
    new = {**mine, "_learner": learner, "n_features_in_": width}
    new["n_iter_"] = max(int(each.get("n_iter_", 1)) for each in own)
    new["_known_params"] = all(each.get("_known_params") is True for each in own)
    if names is not None:
        new["feature_names_in_"] = names
    hashed = sorted({name for each in known for name in each.get("_names", ())})
    if hashed:
        new["_names"] = hashed[:MOST_NAMES]
    if classes is not None:
        new |= _class_attributes(merge, classes)
    attributes = {name: value for name, value in new.items() if value is not None}
    return model_of(Record(first.record.name, first.record.params, attributes))


def _shape(learner: Any) -> tuple[int, int]:
    return learner.features, learner.classes


def _check_linear(known: Sequence[dict[str, Any]]) -> None:
    """Raise unless the models are linear and were trained on data of one kind."""
    for name, meaning in SAME.items():
        if any(each.get(name) != known[0].get(name) for each in known):
            raise ValueError(f"The models differ in the {meaning}; merge models of the same data.")
    for each in known:
        check_linear(each["_learner"])


def check_linear(learner: Any) -> None:
    """Raise if a learner has feature maps."""
    if features_of(learner) != "linear" or getattr(learner, "_encodes", False):
        raise ValueError(
            "Models of non-linear features cannot be merged, since each has a feature map of its "
            "own; train them with features='linear'."
        )


def _feature_names(fitted: Sequence[dict[str, Any]]) -> Array | None:
    """Return the names of all features: those of the first model, then what others add."""
    named = [each.get("feature_names_in_") for each in fitted]
    if all(names is None for names in named):
        return None
    if any(names is None for names in named):
        raise ValueError(
            "Some models know their features by name and others by position; train all of them on "
            "data frames, or none."
        )
    known = dict.fromkeys(name for names in named if names is not None for name in names.tolist())
    return np.array(list(known), dtype=object)


def _class_attributes(merge: Merge, classes: Classes) -> dict[str, Any]:
    """Return the attributes of a classifier: classes, their counts, margins for probabilities."""
    counts, recorders = [], []
    for each in merge.parts:
        fitted, own = each.fitted, Classes(each.fitted["classes_"])
        counts.append(own.moved(fitted["_counts"], classes))
        if "_calibrator" in fitted:
            recorder, old = (
                Recorder(fitted["_calibrator"], fitted["_reference"]),
                fitted["_learner"],
            )
            if len(own) < len(classes) and not recorder.calibrator.multilabel:
                shape = (old.settings, replace(old.settings, task=classes.task))
                recorder = recorder.grown(*shape, own.among(classes), len(classes))
            recorders.append(recorder)
    before = np.zeros(len(classes)) if merge.start is None else counts.pop()
    found = {
        "classes_": classes.labels,
        "_counts": before + (np.array(counts) - before).sum(axis=0),
        "_classes_given": all(each.fitted["_classes_given"] for each in merge.learned),
        **dict.fromkeys(("_calibrator", "_reference")),
    }
    if len(recorders) == len(merge.parts):
        origin = recorders.pop() if merge.start is not None else None
        joined = join_recorders(recorders, origin)
        found |= {"_calibrator": joined.calibrator, "_reference": joined.reference}
    return found
