"""Merging models of texts: word counts and model selections."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.estimators.passes import Passes
from aggro.learner import Array
from aggro.merging.learners import check_labels, check_same, wider
from aggro.merging.margins import join_calibrators, join_references
from aggro.merging.models import Member, Merge, admitted, all_classes
from aggro.merging.words import State, finder, keys_of, since, together
from aggro.persistence.record import Record
from aggro.reference_row import ReferenceRow
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner

FREE = (
    *("C", "n_jobs", "memory", "keep_names", "early_stopping", "validation_fraction"),
    *(each.name for each in fields(Passes)),
)


def merge_texts(merge: Merge) -> Any:
    """Return one model of texts from several."""
    from aggro.persistence.store import model_of

    first, classes = merge.first, all_classes(merge.known)
    for each in merge.known:
        _check(first.record, each.record)
    alone = len(merge.learned) == 1
    if not merge.known or (alone and _count(classes) == len(first.fitted.get("classes_", ()))):
        return copy.deepcopy(first.model)
    attributes = {**first.fitted, "_learner": _merge_learners(merge, classes)}
    if classes is not None:
        attributes["classes_"] = classes.labels
        attributes["_classes_given"] = all(each.fitted["_classes_given"] for each in merge.learned)
    return model_of(Record(first.record.name, first.record.params, attributes))


def _count(classes: Classes | None) -> int:
    return 0 if classes is None else len(classes)


def _check(first: Record, other: Record) -> None:
    """Raise unless a fitted model can be merged with the first."""
    check_same(first.params, other.params, FREE)
    if first.params["forgetting"]:
        raise ValueError(
            f"Such models cannot be merged: forgetting={first.params['forgetting']} lets counts of "
            "documents forget by the order of the texts, which models trained separately do not "
            "have in common; use forgetting=0."
        )
    mine, others = (each.attributes["_learner"].settings.task for each in (first, other))
    check_labels(mine == "multilabel", others == "multilabel")
    mine, others = (each.attributes["_learner"].encoder for each in (first, other))
    if (mine.ranges, mine.kinds) != (others.ranges, others.kinds):
        ways = [f"ngram_range={e.ranges} by {' and '.join(e.kinds)}" for e in (mine, others)]
        raise ValueError(
            f"The models read texts in other ways: {ways[0]} and {ways[1]}; choose ngram_range and "
            "idf, or merge models that still select, trained by partial_fit."
        )


def _merge_learners(merge: Merge, classes: Classes | None) -> TextLearner:
    """Return one learner of texts with all classes and words."""

    def fitted(member: Member) -> TextLearner:
        learner: TextLearner = member.fitted["_learner"]
        if classes is None:
            return learner
        known = Classes(member.fitted["classes_"])
        position = known.among(classes) if len(known) else np.empty(0, np.int64)
        grown: TextLearner = admitted(learner, position, len(classes))
        return grown

    learners = {id(each): fitted(each) for each in merge.parts}
    start = None if merge.start is None else learners[id(merge.start)]
    own = [learners[id(each)] for each in merge.learned]
    states = [each.encoder.state() for each in own]
    if start is not None:
        begin = start.encoder.state()
        states = [begin, *(since(begin, state) for state in states)]
    encoder = encoder_like(own[0].encoder, together(states))
    moved = {name: moved_to(encoder, each) for name, each in learners.items()}
    merged = copy.copy(own[0])
    merged.selection = merge.learner(lambda each: moved[id(each)][0])
    encoder.set_references(
        [
            join_references(rows, 0 if start is None else start.encoder.references[number].met)
            for number, rows in enumerate(
                zip(*(moved[id(each)][1] for each in merge.learned), strict=True)
            )
        ]
    )
    merged.selection.representations = encoder
    before = 0 if start is None else start.repeated
    merged.repeated = before + sum(each.repeated - before for each in own)
    if own[0].calibrator is not None:
        records = [each.calibrator for each in own if each.calibrator is not None]
        merged.calibrator = join_calibrators(records, None if start is None else start.calibrator)
    return merged


# -- features of another encoder -----------------------------------------------------------------


def encoder_like(encoder: Encoder, state: State) -> Encoder:
    """Return an encoder of the same kind that knows other words."""
    new = Encoder.__new__(Encoder)
    new.__setstate__({**encoder.__getstate__(), "known": state})
    new.prune(0)
    return new


def moved_to(encoder: Encoder, learner: TextLearner) -> tuple[Any, list[ReferenceRow]]:
    """Return the selection of a learner, and its reference rows, with an encoder's features.

    The encoder knows all words of the learner.
    """
    places, widths = [], []
    for number, (which, _) in enumerate(encoder.choices):
        known, own = keys_of(encoder, which), keys_of(learner.encoder, which)
        width = max(learner.selection.width(number), len(own))  # a failed call leaves features
        places.append(finder(known)(np.append(own, np.full(width - len(own), -1))))
        widths.append(len(known))
    references = enumerate(learner.encoder.references)
    rows = [renumbered(each, places[number].__getitem__) for number, each in references]
    return wider(learner.selection, places, widths), rows


def renumbered(row: ReferenceRow, new: Callable[[Array], Array]) -> ReferenceRow:
    """Return a reference row whose features have new numbers."""
    samples = tuple(_sorted(values, new(features)) for values, features in row.samples)
    mean, features = _sorted(row.mean, new(row.features))
    return replace(row, mean=mean, features=features, samples=samples)


def _sorted(values: Array, features: Array) -> tuple[Array, Array]:
    order = np.argsort(features, kind="stable")
    return values[order], features[order]
