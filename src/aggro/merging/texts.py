"""Models of texts put together: what their words were counted for, and their races."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from aggro.classes import Classes
from aggro.learner import Array, Learner
from aggro.merging.learners import merge_learners
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import wider
from aggro.merging.words import finder, keys_of, since, together
from aggro.persistence.record import Record
from aggro.reference_row import ReferenceRow
from aggro.selection.selection import ModelSelection
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner

FREE = ("C", "n_jobs", "random_state", "memory", "max_iter", "shuffle", "keep_names")


def merge_texts(
    learned: Sequence[Record],
    start: Record | None,
    weights: Sequence[float],
    known: Sequence[Record],
) -> Record:
    """Return models of texts as one; ``known`` are all fitted models, also empty ones."""
    first = learned[0]
    for each in known:
        _check_same(first, each)
    if first.params["forgetting"]:
        raise ValueError(
            f"Such models cannot be merged: forgetting={first.params['forgetting']} lets counts of "
            "documents forget by the order of the texts, which models learned apart do not have in "
            "common; use forgetting=0."
        )
    classes = [
        Classes(each.attributes["classes_"]) for each in known if "classes_" in each.attributes
    ]
    everybody = reduce(lambda some, more: some.admit(more.labels), classes) if classes else None
    if len(learned) == 1 and len(everybody or ()) == len(first.attributes.get("classes_", ())):
        return copy.deepcopy(first)
    fitted = [each.attributes for each in (*learned, start) if each]
    merged, learners = dict(fitted[0]), [each["_learner"] for each in fitted]
    if everybody is not None:
        own = [Classes(each["classes_"]) for each in fitted]
        learners = [_admitted(*pair, everybody) for pair in zip(learners, own, strict=True)]
        merged["classes_"] = everybody.labels
        merged["_classes_given"] = all(each.attributes["_classes_given"] for each in learned)
    begin = learners.pop() if start is not None else None
    merged["_learner"] = merge_text_learners(learners, begin, weights)
    return Record(first.name, first.params, merged)


def _check_same(first: Record, other: Record) -> None:
    for name, value in first.params.items():
        found = other.params.get(name, value)
        if name not in FREE and found != value:
            raise ValueError(
                f"The models differ in {name}: {value!r} and {found!r}; merge models "
                "with the same parameters."
            )
    mine, others = (each.attributes["_learner"].encoder for each in (first, other))
    if (mine.ranges, mine.kinds) != (others.ranges, others.kinds):
        raise ValueError(
            f"The models read texts in other ways: {_told(mine)} and {_told(others)}; choose "
            "ngram_range and idf, or merge models that still race, learned by partial_fit."
        )


def _told(encoder: Encoder) -> str:
    return f"ngram_range={encoder.ranges} by {' and '.join(encoder.kinds)}"


def _admitted(learner: TextLearner, known: Classes, classes: Classes) -> TextLearner:
    if len(known) == len(classes):
        return learner
    settings = replace(learner.settings, task=classes.task)
    return learner.add_classes(settings, known.among(classes), len(classes))


def merge_text_learners(
    learners: Sequence[TextLearner],
    start: TextLearner | None = None,
    weights: Sequence[float] | None = None,
) -> TextLearner:
    """Return one learner from several of the same classes and the same ways to read texts."""
    states = [each.encoder.state() for each in learners]
    if start is not None:
        begin = start.encoder.state()
        states = [begin, *(since(begin, state) for state in states)]
    first = learners[0]
    encoder = encoder_like(first.encoder, together(states))
    own = [moved(each, encoder) for each in learners]
    origin = (None, []) if start is None else moved(start, encoder)
    merged = copy.copy(first)
    selection = merge_learners([each for each, _ in own], origin[0], weights)
    assert isinstance(selection, ModelSelection)
    merged.selection = selection
    rows = zip(*(each for _, each in own), strict=True)
    known = [each.met for each in origin[1]] or [0] * len(encoder.choices)
    encoder.set_references([merge_typical(*pair) for pair in zip(rows, known, strict=False)])
    merged.selection.representations = encoder
    before = 0 if start is None else start.repeated
    merged.repeated = before + sum(each.repeated - before for each in learners)
    if first.calibrator is not None:
        records = [each.calibrator for each in learners if each.calibrator is not None]
        merged.calibrator = join_calibrators(records, None if start is None else start.calibrator)
    return merged


def encoder_like(encoder: Encoder, state: dict[str, Array]) -> Encoder:
    """Return an encoder of the same kind that knows other words."""
    new = Encoder.__new__(Encoder)
    new.__setstate__({**encoder.__getstate__(), "known": state})
    new.commit(examples=0)
    return new


def moved(learner: TextLearner, encoder: Encoder) -> tuple[ModelSelection, list[ReferenceRow]]:
    """Return a selection, and its reference rows, with the features of another encoder.

    The encoder knows all words of the learner.
    """
    known = {which: keys_of(encoder, which) for which, _ in encoder.choices}
    selection = copy.copy(learner.selection)
    places = [
        _places(learner, number, known[which]) for number, (which, _) in enumerate(encoder.choices)
    ]
    selection.learners = [
        _moved(each, places[each.representation], known[encoder.choices[each.representation][0]])
        for each in learner.selection.learners
    ]
    references = learner.encoder.references
    return selection, [
        renamed(each, places[number].__getitem__) for number, each in enumerate(references)
    ]


def _places(learner: TextLearner, number: int, known: Array) -> Array:
    """Return the feature among the known ones of each feature of a representation."""
    own = keys_of(learner.encoder, learner.encoder.choices[number][0])
    width = max(learner.selection.width(number), len(own))  # a failed call leaves features
    keys = np.full(width, -1, np.int64)
    keys[: len(own)] = own
    return finder(known)(keys)


def _moved(learner: Learner, places: Array, known: Array) -> Learner:
    width, places = len(known), places[: learner.features]
    used = np.flatnonzero(places >= 0)
    if not np.array_equal(places[used], used):
        wide: Learner = wider(learner, places, width)
        return wide
    return grown_copy(learner, width)  # all features stay where they are


def grown_copy(learner: Learner, features: int) -> Learner:
    """Return a copy with features that were never seen."""
    wide = copy.deepcopy(learner)
    wide.model.grow(features)
    return wide


def renamed(typical: ReferenceRow, new: Callable[[Array], Array]) -> ReferenceRow:
    """Return a typical example whose features have new numbers."""
    samples = tuple(_sorted(values, new(features)) for values, features in typical.samples)
    mean, features = _sorted(typical.mean, new(typical.features))
    return replace(typical, mean=mean, features=features, samples=samples)


def _sorted(values: Array, features: Array) -> tuple[Array, Array]:
    order = np.argsort(features, kind="stable")
    return values[order], features[order]
