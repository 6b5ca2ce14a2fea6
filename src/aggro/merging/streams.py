"""Stream learners put together: the union of their names and classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.classes import in_order
from aggro.learner import Array
from aggro.merging.learners import merge_learners
from aggro.merging.margins import join_calibrators
from aggro.merging.order import in_canonical_order, that_learned
from aggro.merging.parts import wider
from aggro.selection.common import AnyLearner
from aggro.selection.selection import ModelSelection
from aggro.stream.selecting import StreamSelection


def merge_streams(streams: Sequence[Any], start: Any, weights: Sequence[float] | None) -> Any:
    """Return one stream learner that knows what all of them have learned since the start."""
    for stream in [*streams, *([] if start is None else [start])]:
        _check(stream, streams[0])
    streams, weights = in_canonical_order(streams, weights, _content)
    start = None if start is None or not start.examples else start
    learned, weights = that_learned(streams, weights, start)
    first = learned[0]
    if len(learned) == 1:  # a stream knows names and classes of examples alone
        return copy.deepcopy(first)
    everybody = [*learned, *([] if start is None else [start])]
    pieces = [stream._pieces() for stream in everybody]
    names = list(dict.fromkeys(name for known, *_ in pieces for name in known))
    classes = in_order(label for _, known, *_ in pieces for label in known)
    if first.max_features and not first._buckets and len(names) > first.max_features:
        raise ValueError(
            f"The streams know {len(names)} features together, and max_features="
            f"{first.max_features}; allow more of them."
        )
    found = {name: place for place, name in enumerate(names)}
    slots = first._buckets or max(len(names), 1)
    learners = [
        _fitted(stream, piece, found, slots, classes)
        for stream, piece in zip(everybody, pieces, strict=True)
    ]
    origin = learners.pop() if start is not None else None
    merged = merge_learners(learners, origin, weights)
    return _stream_of(first, learned, start, merged, names, classes, pieces[: len(learned)])


def _content(stream: Any) -> Any:
    """Return everything that makes up a stream learner."""
    record = stream._recorded().facts() if getattr(stream, "probability", False) else None
    return stream._get_params(), stream._pieces(), record


def _check(stream: Any, first: Any) -> None:
    """Raise unless a stream can be merged with the first."""
    mine, others = stream._get_params(), first._get_params()
    for name, value in mine.items():
        if name not in ("C", "random_state") and value != others.get(name):
            raise ValueError(
                f"The streams differ in {name}: {others.get(name)!r} and {value!r}; merge streams "
                "with the same parameters."
            )
    if (stream._selection is None) != (first._selection is None):
        raise ValueError(
            "Some streams select settings and others do not; call keep_best() on all or none."
        )
    if len(stream._dump(False)[2]["waiting_ends"]):
        raise ValueError("Some examples still wait for their batch to fill; call flush() first.")


def _fitted(
    stream: Any,
    pieces: tuple[list[Any], list[Any], Any, Any],
    found: dict[Any, int],
    slots: int,
    classes: list[Any],
) -> AnyLearner:
    """Return the learner of a stream with the features and classes of all."""
    names, own, model, _ = pieces
    learner: AnyLearner = model.learner if isinstance(model, StreamSelection) else model
    places = np.arange(slots)
    if not stream._buckets:  # a slot without a name was never used
        places = np.full(learner.features, -1)
        places[: len(names)] = [found[name] for name in names]
    learner = wider(learner, places, slots)
    if stream._regression or len(own) == len(classes):
        return learner
    position = np.array([classes.index(label) for label in own])
    return learner.add_classes(stream._settings(len(classes)), position, len(classes))


def _stream_of(
    first: Any,
    streams: Sequence[Any],
    start: Any,
    learner: AnyLearner,
    names: list[Any],
    classes: list[Any],
    pieces: Sequence[tuple[list[Any], list[Any], Any, dict[str, Array]]],
) -> Any:
    """Return a stream like the first around a learner."""
    merged = type(first)(**first._get_params())
    order, place = np.empty(0, np.int32), {name: slot for slot, name in enumerate(names)}
    ignored = {place[known[slot]] for known, _, _, arrays in pieces for slot in arrays["ignored"]}
    if first.max_features and not first._buckets:
        order = _recency(names, pieces)
    arrays = {**pieces[0][3], "recency": order}
    arrays["ignored"] = np.array(sorted(ignored), np.int32)
    model: AnyLearner | StreamSelection = learner
    if isinstance(learner, ModelSelection):
        entries = max(known.entries for _, _, known, _ in pieces)
        width = first._buckets or len(names)
        model = StreamSelection(learner, None, entries, width, width)
    merged._restore([] if first._buckets else names, classes, model, arrays)
    if getattr(first, "probability", False):
        _merge_records(merged, streams, start, classes)
    return merged


def _recency(
    names: list[Any], pieces: Sequence[tuple[list[Any], Any, Any, dict[str, Array]]]
) -> Array:
    """Return the features in the order of their last use, by how long ago that was in each."""
    place = {name: i for i, name in enumerate(names)}
    age = np.full(len(names), np.inf)
    for known, _, _, arrays in pieces:
        for ago, slot in enumerate(arrays["recency"][::-1].tolist()):
            age[place[known[slot]]] = min(age[place[known[slot]]], ago)
    return np.argsort(-age, kind="stable").astype(np.int32)


def _merge_records(merged: Any, streams: Sequence[Any], start: Any, classes: list[Any]) -> None:
    """Margins for probabilities."""
    records = []
    for stream in [*streams, *([] if start is None else [start])]:
        record = copy.copy(stream._recorded())
        if len(record.classes) < len(classes):
            settings = (stream._settings(len(known)) for known in (record.classes, classes))
            record, _ = record.admitted(classes, *settings)
        record.fit_map()
        records.append(record)
    begin = records.pop().calibrator if start is not None else None
    new = copy.copy(records[0])
    new.calibrator = join_calibrators([record.calibrator for record in records], begin)
    before = 0 if start is None else start._record.met
    new.met = before + sum(record.met - before for record in records)
    new.recent = [x for record in records for x in record.recent[-(128 // len(records)) :]]
    new.next_mean = new.met + 1  # the mean of all samples, at the next example
    merged._record = new
