"""Merging stream learners: the union of their names and classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from aggro.classes import in_order
from aggro.learner import Array
from aggro.merging.learners import check_labels, check_same, wider
from aggro.merging.margins import join_calibrators
from aggro.merging.models import Member, Merge, admitted, check_linear
from aggro.reference_row import RECENT
from aggro.selection.selection import ModelSelection
from aggro.stream.selecting import StreamSelection

FREE = ("C", "random_state")  # parameters that may differ


class Pieces:
    """A stream learner taken apart."""

    def __init__(self, member: Member) -> None:
        self.stream = member.model
        self.names, self.classes, self.model, self.arrays = member.model._pieces()

    @cached_property
    def learner(self) -> Any:
        """The learner, or model selection."""
        return self.model.learner if isinstance(self.model, StreamSelection) else self.model

    def fitted(self, slots: dict[Any, int], width: int, classes: list[Any]) -> Any:
        """Return the learner with the features and classes of all streams."""
        places = np.arange(width)
        if not self.stream._buckets:  # a slot without a name was never used
            places = np.full(self.learner.features, -1)
            places[: len(self.names)] = [slots[name] for name in self.names]
        wide = wider(self.learner, [places], [width])
        if self.stream._regression:
            return wide
        position = np.array([classes.index(label) for label in self.classes], np.int64)
        return admitted(wide, position, len(classes))


def merge_streams(merge: Merge) -> Any:
    """Return one stream learner from several."""
    first = merge.first.model
    for each in merge.known:
        _check(each.model, first)
    if len(merge.learned) == 1:  # a stream knows the names and classes of its examples alone
        return copy.deepcopy(first)
    pieces = {id(each): Pieces(each) for each in merge.parts}
    everything = list(pieces.values())
    for piece in everything:
        check_linear(piece.learner)
    names = list(dict.fromkeys(name for each in everything for name in each.names))
    classes = in_order(label for each in everything for label in each.classes)
    if first.max_features and not first._buckets and len(names) > first.max_features:
        raise ValueError(
            f"The streams know {len(names)} features together, and max_features="
            f"{first.max_features}; allow more of them."
        )
    slots, width = {name: slot for slot, name in enumerate(names)}, max(len(names), 1)
    width = first._buckets or width
    learner = merge.learner(lambda each: pieces[id(each)].fitted(slots, width, classes))
    merged = type(first)(**first._get_params())
    if isinstance(learner, ModelSelection):
        entries = max(each.model.entries for each in everything)
        learner = StreamSelection(learner, None, entries, *[first._buckets or len(names)] * 2)
    arrays = _arrays(first, everything, slots)
    merged._restore([] if first._buckets else names, classes, learner, arrays)
    if getattr(first, "probability", False):
        merged._record = _joined_record(merge, classes)
    return merged


def _check(stream: Any, first: Any) -> None:
    """Raise unless a stream can be merged with the first."""
    check_same(first._get_params(), stream._get_params(), FREE)
    if stream.examples and first.examples:
        check_labels(first._several, stream._several)
    if len(stream._dump(False)[2]["waiting_ends"]):
        raise ValueError("Some examples still wait for their batch to fill; call flush() first.")


def _arrays(first: Any, pieces: Sequence[Pieces], slots: dict[Any, int]) -> dict[str, Array]:
    """Return the ignored features, and the order of the last use of all features."""
    ignored = {slots[each.names[slot]] for each in pieces for slot in each.arrays["ignored"]}
    arrays = {**pieces[0].arrays, "recency": np.empty(0, np.int32)}
    arrays["ignored"] = np.array(sorted(ignored), np.int32)
    if first.max_features and not first._buckets:
        age = np.full(len(slots), np.inf)
        for each in pieces:
            for ago, slot in enumerate(each.arrays["recency"][::-1].tolist()):
                place = slots[each.names[slot]]
                age[place] = min(age[place], ago)
        arrays["recency"] = np.argsort(-age, kind="stable").astype(np.int32)
    return arrays


def _joined_record(merge: Merge, classes: list[Any]) -> Any:
    """Return the margins for probabilities of all streams."""
    records = []
    for stream in (each.model for each in merge.parts):
        record = copy.copy(stream._recorded())
        if len(record.classes) < len(classes):
            if stream._several:
                record, _ = record.relabelled(classes)
            else:
                settings = (stream._settings(len(known)) for known in (record.classes, classes))
                record, _ = record.with_classes(classes, *settings)
        record.flush()
        records.append(record)
    start = records.pop() if merge.start is not None else None
    before = 0 if start is None else start.met
    new, each = copy.copy(records[0]), RECENT // len(records)
    calibrators = [record.calibrator for record in records]
    new.calibrator = join_calibrators(calibrators, None if start is None else start.calibrator)
    new.met = before + sum(record.met - before for record in records)
    new.recent = [x for record in records for x in record.recent[-each:]]
    new.next_mean = new.met + 1  # the mean of all samples, at the next example
    return new
